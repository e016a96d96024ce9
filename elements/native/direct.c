/*
 * direct.c -- a configuration in one program: its way through time, copies, queues, devices, the command line
 *
 * One packet at a time, in netvm's order: an arrival goes as far as it is pushed; then elements that pull have their turns until none finds a packet; then comes
 * the next arrival or timer. A trap jumps out of all handlers to where the packet set out, and the run goes on there. All packets are read before
 * the run, so that its time is that of the program alone.
 *
 * Usage: PROGRAM [--repeat N] [-h ELEMENT.HANDLER] [DEVICE=IN[,OUT]] ...
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "direct.h"

enum { MOST_ROUNDS = 16 };

struct way { nv_input *to; int port; struct nv_packet *packet; bool back; };

u32 nv_copies, nv_copies_from;
struct nv_packet *nv_given;
bool nv_moved;

static struct way *copies, *led_back;
static u32 room_for_copies, room_led_back, first_led_back, count_led_back;
static jmp_buf *trapped;
static u64 traps, passes = 1;
static bool is_done;
static const struct nv_program *program;

/* ---- Ways ---- */

static void *enlarged(void *array, u32 *room, size_t size)
{
    *room = *room ? 2 * *room : 16;
    array = realloc(array, *room * size);
    if (!array)
        abort();
    return array;
}

void nv_trap(const char *what)
{
    (void) what;
    longjmp(*trapped, 1);
}

/* Runs what may trap; the packet is lost then, and copies that were made before leave. */
static void guarded(nv_input *run, int port)
{
    jmp_buf here, *outer = trapped;

    trapped = &here;
    if (setjmp(here) == 0) {
        run(port);
    } else {
        traps += 1;
        nv_packet_end();
        nv_packet_free(nv_take_given());
        nv_send_copies();
    }
    trapped = outer;
}

bool nv_ask_at(nv_pulled *before, int port)
{
    struct nv_packet *own = nv_packet, *volatile got = 0;
    jmp_buf here, *outer = trapped;
    u32 from = nv_copies_from;

    nv_packet = 0;
    nv_copies_from = nv_copies;
    trapped = &here;
    if (setjmp(here) == 0) {
        got = before(port);
    } else {
        traps += 1;
        nv_packet_end();
        nv_packet_free(nv_take_given());
        nv_send_copies();
    }
    trapped = outer;
    nv_copies_from = from;
    nv_packet = got ? got : own;
    if (got)
        nv_packet_free(own);
    return got != 0;
}

static void copy_to(nv_input *to, int port, bool back)
{
    if (!nv_packet)
        nv_trap("no packet");
    if (nv_copies == room_for_copies)
        copies = enlarged(copies, &room_for_copies, sizeof(*copies));
    copies[nv_copies++] = (struct way) { to, port, nv_packet_copy(nv_packet), back };
}

void nv_copy_to(nv_input *to, int port)
{
    copy_to(to, port, false);
}

void nv_copy_back(nv_input *to, int port)
{
    copy_to(to, port, true);
}

void nv_send_copies(void)
{
    struct nv_packet *packet = nv_packet;
    u32 from = nv_copies_from, to = nv_copies;

    nv_copies_from = to;
    for (u32 i = from; i < to; i++) {
        nv_packet = copies[i].packet;
        if (copies[i].back)
            nv_lead_back(copies[i].to, copies[i].port);
        else
            guarded(copies[i].to, copies[i].port);
    }
    nv_copies = nv_copies_from = from;
    nv_packet = packet;
}

void nv_lead_back(nv_input *to, int port)
{
    if (nv_packet->rounds++ >= MOST_ROUNDS) {
        nv_packet_end();
        return;
    }
    if (count_led_back == room_led_back)
        led_back = enlarged(led_back, &room_led_back, sizeof(*led_back));
    led_back[count_led_back++] = (struct way) { to, port, nv_packet, true };
    nv_packet = 0;
}

void nv_settle(void)
{
    while (first_led_back < count_led_back) {
        struct way way = led_back[first_led_back++];

        nv_packet = way.packet;
        guarded(way.to, way.port);
    }
    first_led_back = count_led_back = 0;
}

bool nv_queue_put(struct nv_queue *queue)
{
    u32 at = queue->first + queue->count;

    if (queue->count == queue->capacity)
        return false;
    queue->packets[at < queue->capacity ? at : at - queue->capacity] = nv_packet;
    queue->count += 1;
    nv_packet = 0;
    return true;
}

struct nv_packet *nv_queue_take(struct nv_queue *queue)
{
    struct nv_packet *packet;

    if (queue->count == 0)
        return 0;
    nv_moved = true;
    packet = queue->packets[queue->first];
    queue->first = queue->first + 1 < queue->capacity ? queue->first + 1 : 0;
    queue->count -= 1;
    return packet;
}

void nv_sink_take(struct nv_sink *sink)
{
    sink->count += 1;
    if (sink->file)
        nv_write_record(sink->file, nv_packet, sink->longest);
    nv_packet_end();
}

/* ---- Time ---- */

static const struct nv_record *next_of(const struct nv_source *source)
{
    return source->at < source->size ? (const struct nv_record *) (source->bytes + source->at) : 0;
}

static u64 time_of(const struct nv_source *source)
{
    return next_of(source)->time + source->passes * source->shift;
}

/* The source whose packet comes next, or -1. */
static int next_source(void)
{
    int first = -1;

    for (size_t i = 0; i < program->nsources; i++)
        if (next_of(program->sources[i]) && (first < 0 || time_of(program->sources[i]) < time_of(program->sources[first])))
            first = (int) i;
    return first;
}

static void arrive(int source)
{
    struct nv_source *from = program->sources[source];
    const struct nv_record *record = next_of(from);

    nv_clock = time_of(from);
    nv_packet = nv_packet_new(record + 1, record->captured, record->wire, nv_clock);
    from->at += sizeof(*record) + (record->captured + 7u) / 8 * 8;
    if (from->at == from->size && ++from->passes < passes)
        from->at = 0;
    nv_arrive(source);
    nv_settle();
}

static bool run_timers(u64 time)
{
    struct nv_element *element;
    bool ran = false;
    int timer;

    while ((element = nv_take_timer(program->elements, program->nelements, time, &timer))) {
        element->timer(timer);
        nv_end(element, true);
        nv_settle();
        ran = true;
    }
    return ran;
}

static void work(int unused)
{
    (void) unused;
    nv_settle();
    for (;;) {
        int source;

        while (nv_round() || run_timers(nv_clock))
            continue;
        source = next_source();
        if (source >= 0 && time_of(program->sources[source]) <= nv_first_due)
            arrive(source);
        else if (nv_first_due != UINT64_MAX)
            nv_clock = nv_first_due;
        else
            break;
    }
    is_done = true;
}

/* Runs until all sources have given that many passes; nanoseconds of the processor's that it took. */
static double run(u64 to)
{
    struct timespec begun, ended;

    passes = to;
    for (size_t i = 0; i < program->nsources; i++)
        if (program->sources[i]->size)
            program->sources[i]->at = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    for (is_done = false; !is_done;)
        guarded(work, 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    return (double) (ended.tv_sec - begun.tv_sec) * 1e9 + (double) (ended.tv_nsec - begun.tv_nsec);
}

/* ---- The command line ---- */

static void add_record(void *to, const struct nv_record *record, const void *bytes)
{
    struct nv_source *source = to;
    size_t size = sizeof(*record) + (record->captured + 7u) / 8 * 8;

    source->bytes = realloc(source->bytes, source->size + size);
    if (!source->bytes)
        abort();
    memcpy(source->bytes + source->size, record, sizeof(*record));
    memcpy(source->bytes + source->size + sizeof(*record), bytes, record->captured);
    source->size += size;
    source->first = source->count++ ? source->first : record->time;
    source->last = record->time;
}

static bool open_source(struct nv_source *source)
{
    u64 span;

    if (!source->path) {
        fprintf(stderr, "no capture stands for device '%s': %s=FILE\n", source->device, source->device);
        return false;
    }
    if (!nv_read_records(source->path, add_record, source))
        return false;
    span = source->last - source->first;
    source->shift = source->count > 1 ? span + span / (source->count - 1) : 1;
    return true;
}

static bool open_sink(struct nv_sink *sink)
{
    sink->file = nv_create_capture(sink->path, sink->link ? sink->link : nv_link_type(), sink->longest);
    return sink->file != 0;
}

static bool open_all(void)
{
    bool opened = true;

    for (size_t i = 0; i < program->nsources; i++)
        opened = open_source(program->sources[i]) && opened;
    for (size_t i = 0; i < program->nsinks; i++)
        if (program->sinks[i]->path)
            opened = open_sink(program->sinks[i]) && opened;
    return opened;
}

/* DEVICE=IN[,OUT]; of a device that is not read, DEVICE=OUT. The text is cut at the signs. */
static bool map_device(char *text)
{
    char *input = strchr(text, '='), *output = input ? strchr(input, ',') : 0;
    bool is_read = false, is_written = false;

    if (!input)
        return false;
    *input++ = 0;
    if (output)
        *output++ = 0;
    for (size_t i = 0; i < program->nsources; i++)
        if (program->sources[i]->device && strcmp(program->sources[i]->device, text) == 0) {
            program->sources[i]->path = input;
            is_read = true;
        }
    output = output || is_read ? output : input;
    for (size_t i = 0; i < program->nsinks && output; i++)
        if (program->sinks[i]->device && strcmp(program->sinks[i]->device, text) == 0) {
            program->sinks[i]->path = output;
            is_written = true;
        }
    return is_read || is_written;
}

/* Prints a handler. False if there is no such one. */
static bool show(char *name)
{
    char *handler = strrchr(name, '.'), *value = 0;
    bool found;

    if (handler)
        *handler++ = 0;
    for (size_t i = 0; i < program->nelements && handler; i++)
        if (strcmp(program->elements[i]->name, name) == 0)
            value = nv_read_handler(program->elements[i], handler);
    found = value != 0;
    if (found)
        printf("%s.%s: %s\n", name, handler, value);
    else
        fprintf(stderr, "%s%s%s: no such handler\n", name, handler ? "." : "", handler ? handler : "");
    free(value);
    return found;
}

static int wrong(const char *name)
{
    fprintf(stderr, "usage: %s [--repeat N] [-h ELEMENT.HANDLER] [DEVICE=IN[,OUT]] ...\n", name);
    return 2;
}

static bool close_all(void)
{
    bool written = true;

    for (size_t i = 0; i < program->nsinks; i++)
        if (program->sinks[i]->file)
            written = nv_close_record_file(program->sinks[i]->file) && written;
    return written;
}

/* The packets once, and then `repeat` times more, which are timed. */
static void run_all(u64 repeat)
{
    u64 count = 0;
    double took;

    run(1);
    if (repeat == 0)
        return;
    took = run(1 + repeat);
    for (size_t i = 0; i < program->nsources; i++)
        count += program->sources[i]->count * repeat;
    printf("%llu packets, %.2f ns each\n", (unsigned long long) count, count ? took / (double) count : 0.0);
}

int nv_main(int argc, char **argv, const struct nv_program *main_program)
{
    char *handlers[64];
    int nhandlers = 0;
    u64 repeat = 0;
    bool done = true;

    program = main_program;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeat = strtoull(argv[++i], 0, 10);
        else if (strcmp(argv[i], "-h") == 0 && i + 1 < argc && nhandlers < 64)
            handlers[nhandlers++] = argv[++i];
        else if (!map_device(argv[i]))
            return wrong(argv[0]);
    }
    if (!open_all())
        return 1;
    nv_fill();
    for (size_t i = 0; i < program->nelements; i++)
        if (program->elements[i]->init)
            program->elements[i]->init();
    run_all(repeat);
    for (int i = 0; i < nhandlers; i++)
        done = show(handlers[i]) && done;
    if (traps)
        fprintf(stderr, "%llu packets trapped\n", (unsigned long long) traps);
    return close_all() && done ? 0 : 1;
}
