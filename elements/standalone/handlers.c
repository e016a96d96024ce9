/*
 * handlers.c -- the standalone runtime's read and write handlers, and output for people
 *
 * What elements print goes to standard error; while a read handler runs, it is gathered and becomes the handler's value. IPv6 addresses are
 * printed as RFC 5952 says.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netvm_run.h"

static FILE *gathered, *usual;

static FILE *out(void)
{
    return gathered ? gathered : usual ? usual : stderr;
}

void nv_print_to(FILE *stream)
{
    usual = stream;
}

FILE *nv_print_file(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

    if (!file) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
    return file;
}

/* ---- Handlers ---- */

void nv_register(struct nv_element *self, struct nv_handler *handler)
{
    handler->next = self->handlers;
    self->handlers = handler;
}

static const struct nv_handler *find(const struct nv_element *element, const char *name, bool writes)
{
    const struct nv_handler *handler = element->handlers;

    while (handler && (handler->writes != writes || strcmp(handler->name, name) != 0))
        handler = handler->next;
    return handler;
}

char *nv_read_handler(struct nv_element *element, const char *name)
{
    const struct nv_handler *handler = find(element, name, false);
    char *text = 0;
    size_t length;

    if (!handler)
        return 0;
    gathered = open_memstream(&text, &length);
    if (!gathered)
        return 0;
    handler->run("");
    fclose(gathered);
    gathered = 0;
    return text;
}

bool nv_write_handler(struct nv_element *element, const char *name, const char *text)
{
    const struct nv_handler *handler = find(element, name, true);

    if (handler)
        handler->run(text);
    return handler != 0;
}

u64 nv_parse_number(const char *text)
{
    return *text == '-' ? (u64) strtoll(text, 0, 0) : strtoull(text, 0, 0);
}

bool nv_parse_bool(const char *text)
{
    return strcmp(text, "true") == 0 || strcmp(text, "yes") == 0 || strcmp(text, "1") == 0;
}

be32 nv_parse_ip(const char *text)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (sscanf(text, "%u.%u.%u.%u", &a, &b, &c, &d) != 4)
        return 0;
    return htonl(a << 24 | b << 16 | c << 8 | d);
}

/* Of the system's header, which has functions and macros with names that elements use. */
int inet_pton(int family, const char *text, void *address);

in6_t nv_parse_ip6(const char *text)
{
    enum { FAMILY_IP6 = 10 };
    in6_t address = { { 0 } };

    if (inet_pton(FAMILY_IP6, text, &address) != 1)
        memset(&address, 0, sizeof address);
    return address;
}

mac_t nv_parse_mac(const char *text)
{
    unsigned b[6];
    mac_t mac = { { 0 } };

    if (sscanf(text, "%x%*[:-]%x%*[:-]%x%*[:-]%x%*[:-]%x%*[:-]%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) == 6)
        for (int i = 0; i < 6; i++)
            mac.byte[i] = (u8) b[i];
    return mac;
}

/* ---- Output ---- */

void print(const char *literal)
{
    fputs(literal, out());
}

void print_text(string text)
{
    fputs(text, out());
}

void print_uint(u64 value)
{
    fprintf(out(), "%llu", (unsigned long long) value);
}

void print_int(i64 value)
{
    fprintf(out(), "%lld", (long long) value);
}

void print_hex(u64 value, int digits)
{
    fprintf(out(), "%0*llx", digits, (unsigned long long) value);
}

void print_ip(be32 address)
{
    u32 a = ntohl(address);

    fprintf(out(), "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

static u32 group(in6_t address, int i)
{
    return (u32) address.byte[2 * i] << 8 | address.byte[2 * i + 1];
}

static int zeros_from(in6_t address, int start)
{
    int end = start;

    while (end < 8 && group(address, end) == 0)
        end += 1;
    return end - start;
}

void print_ip6(in6_t address)
{
    int longest = 0;

    for (int i = 1; i < 8; i++)
        if (zeros_from(address, i) > zeros_from(address, longest))
            longest = i;
    for (int i = 0; i < 8;) {
        bool skips = i == longest && zeros_from(address, i) > 1;

        if (skips) {
            print("::");
            i += zeros_from(address, i);
            continue;
        }
        fprintf(out(), "%s%x", i == 0 || (i == longest + zeros_from(address, longest) && zeros_from(address, longest) > 1) ? "" : ":", group(address, i));
        i += 1;
    }
}

void print_mac(mac_t address)
{
    for (int i = 0; i < 6; i++)
        fprintf(out(), "%s%02X", i ? "-" : "", address.byte[i]);
}

void print_bytes(u32 offset, u32 length)
{
    const u8 *bytes = nv_header(offset, length);

    for (u32 i = 0; i < length; i++)
        fprintf(out(), "%s%02x", i && i % 4 == 0 ? " " : "", bytes[i]);
}

void print_ascii(u32 offset, u32 length)
{
    const u8 *bytes = nv_header(offset, length);

    for (u32 i = 0; i < length; i++)
        fprintf(out(), "%s%c", i && i % 8 == 0 ? " " : "", bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.');
}

void print_time(u64 ns)
{
    unsigned long long seconds = ns / 1000000000, rest = ns % 1000000000;

    if (rest % 1000 == 0)
        fprintf(out(), "%llu.%06llu", seconds, rest / 1000);
    else
        fprintf(out(), "%llu.%09llu", seconds, rest);
}
