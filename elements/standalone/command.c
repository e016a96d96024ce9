/*
 * command.c -- a configuration in one program: its command line
 *
 * Usage: PROGRAM [--repeat N] [-h ELEMENT.HANDLER] [DEVICE=IN[,OUT]] ...
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elements.h"

static const struct nv_program *program;

static bool is_alike(const struct nv_sink *one, const struct nv_sink *other)
{
    return one->longest == other->longest && one->link == other->link && one->micro == other->micro;
}

/* What another sink writes for the same device already, both write. */
static bool open_sink(struct nv_sink *sink)
{
    for (size_t i = 0; i < program->nsinks; i++) {
        const struct nv_sink *other = program->sinks[i];

        if (!sink->device || !other->file || other->path != sink->path)
            continue;
        if (!is_alike(sink, other)) {
            fprintf(stderr, "another element writes device '%s' with other SNAPLEN, ENCAP or NANO\n", sink->device);
            return false;
        }
        sink->file = other->file;
        return true;
    }
    return nv_sink_open(sink);
}

static bool open_all(void)
{
    bool opened = true;

    for (size_t i = 0; i < program->nsources; i++)
        opened = nv_source_open(program->sources[i]) && opened;
    for (size_t i = 0; i < program->nsinks; i++)
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

/* Closes a file for all that write it. */
static bool close_file(FILE *file)
{
    for (size_t i = 0; i < program->nsinks; i++)
        if (program->sinks[i]->file == file)
            program->sinks[i]->file = 0;
    return nv_close_record_file(file);
}

static bool close_all(void)
{
    bool written = true;

    for (size_t i = 0; i < program->nsinks; i++)
        if (program->sinks[i]->file)
            written = close_file(program->sinks[i]->file) && written;
    return written;
}

/* Runs until all sources have given that many passes; nanoseconds of the processor's that it took. */
static double run(u64 passes)
{
    struct timespec begun, ended;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    nv_run(passes);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    return (double) (ended.tv_sec - begun.tv_sec) * 1e9 + (double) (ended.tv_nsec - begun.tv_nsec);
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
    nv_begin(program);
    nv_fill();
    for (size_t i = 0; i < program->nelements; i++)
        if (program->elements[i]->init)
            program->elements[i]->init();
    run_all(repeat);
    for (int i = 0; i < nhandlers; i++)
        done = show(handlers[i]) && done;
    if (nv_traps)
        fprintf(stderr, "%llu packets trapped\n", (unsigned long long) nv_traps);
    return close_all() && done ? 0 : 1;
}
