/*
 * script.c -- runs one instance of an element by commands, for tests; the application says which (script.h)
 *
 * Commands come by standard input, one a line: `at NANOSECONDS`, `in PORT HEX NAME=VALUE ...`, `wait PORT HEX NAME=VALUE ...`, `ask PORT`,
 * `write HANDLER VALUE`, `read HANDLER`. After each, what happened is written to standard output, one a line (`print LINE`, `out PORT HEX NAME=VALUE ...`, `drop REASON`, `trap`, `value VALUE`), and
 * then a line with a dot.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

enum { LONGEST_LINE = 1 << 18, OUTPUTS = 64 };

static struct nv_element *instance;
static struct nv_element sinks[OUTPUTS];
static struct nv_output outputs[OUTPUTS];
static u64 drops, traps, ended;
static FILE *stream;
static char *printed;
static size_t printed_length, shown;

/* ---- Annotations ---- */

/* A number's bytes are reversed, so that all values are written most significant byte first. */
static u8 *byte_of(const struct nv_field *field, struct nv_packet *packet, u32 i)
{
    bool reversed = field->kind == 'n' && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

    return &packet->info[field->offset + (reversed ? field->size - 1 - i : i)];
}

static void set_number(const struct nv_field *field, struct nv_packet *packet, u64 value)
{
    for (u32 i = 0; i < field->size; i++)
        *byte_of(field, packet, i) = (u8) (value >> 8 * (field->size - 1 - i));
}

static u64 number(const struct nv_field *field, struct nv_packet *packet)
{
    u64 value = 0;

    for (u32 i = 0; i < field->size; i++)
        value = value << 8 | *byte_of(field, packet, i);
    return value;
}

static void set_field(const struct nv_field *field, struct nv_packet *packet, const char *value)
{
    if (field->kind == 'n')
        set_number(field, packet, strtoull(value, 0, 0));
    else if (field->kind == 'a')
        set_number(field, packet, ntohl(nv_parse_ip(value)));
    else
        for (u32 i = 0; i < field->size && value[2 * i]; i++)
            sscanf(value + 2 * i, "%2hhx", &packet->info[field->offset + i]);
}

static void show_field(const struct nv_field *field, struct nv_packet *packet)
{
    u32 set = 0;

    for (u32 i = 0; i < field->size; i++)
        set |= packet->info[field->offset + i];
    if (!set)
        return;
    printf(" %s=", field->name);
    if (field->kind == 'n')
        printf("%llu", (unsigned long long) number(field, packet));
    else if (field->kind == 'a')
        printf("%u.%u.%u.%u", *byte_of(field, packet, 0), *byte_of(field, packet, 1), *byte_of(field, packet, 2), *byte_of(field, packet, 3));
    else
        for (u32 i = 0; i < field->size; i++)
            printf("%02x", *byte_of(field, packet, i));
}

/* ---- What happens ---- */

/* What the element has printed so far, as lines of their own. */
static void show_printed(void)
{
    char *rest, *line;

    fflush(stream);
    for (line = strtok_r(printed + shown, "\n", &rest); line; line = strtok_r(0, "\n", &rest))
        printf("print %s\n", line);
    shown = printed_length;
}

static void sink(int port)
{
    show_printed();
    printf("out %d ", port);
    for (u32 i = 0; i < packet_length(); i++)
        printf("%02x", nv_packet->data[i]);
    for (size_t i = 0; i < nv_nfields; i++)
        show_field(&nv_fields[i], nv_packet);
    printf(" time_ns=%llu\n", (unsigned long long) nv_packet->time);
}

static void show_ends(void)
{
    for (; drops < instance->drops; drops++)
        printf("drop %s\n", instance->reason);
    for (; traps < instance->traps; traps++)
        printf("trap\n");
    for (; ended < instance->ended; ended++)
        printf("drop\n");
}

/* ---- Commands ---- */

static void put_in(char *rest, bool waits)
{
    static u8 bytes[LONGEST_LINE];
    char *word = strtok(rest, " ");
    int port = atoi(word);
    u32 length = 0;
    struct nv_packet *packet;

    word = strtok(0, " ");
    for (; word && !strchr(word, '='); word = strtok(0, " "))
        for (; word[0] && word[1]; word += 2)
            sscanf(word, "%2hhx", &bytes[length++]);
    packet = nv_packet_new(bytes, length, length, nv_clock);
    for (; word; word = strtok(0, " "))
        for (size_t i = 0; i < nv_nfields; i++)
            if (strncmp(word, nv_fields[i].name, strcspn(word, "=")) == 0 && !nv_fields[i].name[strcspn(word, "=")])
                set_field(&nv_fields[i], packet, strchr(word, '=') + 1);
    if (!waits && !instance->pull)
        return nv_deliver(instance, port, packet);
    nv_put_before(instance, port, packet);
    if (!waits)
        nv_request(instance, 0);
}

static void read_value(const char *name)
{
    char *value = nv_read_handler(instance, name);
    size_t length = value ? strlen(value) : 0;

    if (length && value[length - 1] == '\n')
        value[length - 1] = 0;
    printf("value ");
    for (const char *at = value ? value : "no such handler"; *at; at++)
        printf(*at == '\n' ? "\\n" : *at == '\t' ? "\\t" : "%c", *at);
    printf("\n");
    free(value);
}

static void write_value(char *rest)
{
    char *value = strchr(rest, ' ');

    if (value)
        *value++ = 0;
    if (!nv_write_handler(instance, rest, value ? value : ""))
        printf("value no such handler\n");
}

static void command(char *line)
{
    char *rest = strchr(line, ' ');

    if (!rest)
        return;
    *rest++ = 0;
    if (strcmp(line, "at") == 0)
        nv_advance(strtoull(rest, 0, 10));
    else if (strcmp(line, "in") == 0)
        put_in(rest, false);
    else if (strcmp(line, "wait") == 0)
        put_in(rest, true);
    else if (strcmp(line, "ask") == 0)
        nv_request(instance, atoi(rest));
    else if (strcmp(line, "read") == 0)
        read_value(rest);
    else if (strcmp(line, "write") == 0)
        write_value(rest);
}

static void run(char *line)
{
    stream = open_memstream(&printed, &printed_length);
    shown = 0;
    nv_print_to(stream);
    command(line);
    show_printed();
    nv_print_to(stderr);
    fclose(stream);
    free(printed);
    show_ends();
    printf(".\n");
}

static void connect_outputs(void)
{
    for (int i = 0; i < instance->noutputs && i < OUTPUTS; i++) {
        sinks[i].packet = sink;
        outputs[i] = (struct nv_output) { &sinks[i], i };
    }
    instance->outputs = outputs;
}

int main(int argc, char **argv)
{
    static char line[LONGEST_LINE];

    instance = nv_instances[argc > 1 ? atoi(argv[1]) : 0];
    connect_outputs();
    nv_clock = 1000000000;
    nv_start(&instance, 1);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        run(line);
    }
    return 0;
}
