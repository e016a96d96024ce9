/*
 * capture.c -- captures in and out for standalone applications: classic pcap, in this machine's byte order, micro- or nanoseconds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netvm_run.h"

enum { LONGEST_CAPTURED = 1 << 18 };
static const u32 MICROSECONDS = 0xa1b2c3d4, NANOSECONDS = 0xa1b23c4d;

struct file_header { u32 magic; u16 major, minor; u32 zone, accuracy, longest, link_type; };
struct record_header { u32 seconds, fraction, captured, wire; };

static u32 link_type;

static bool wrong_file(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

/* ---- In ---- */

static bool read_all(FILE *file, u32 unit, nv_record_taker *take, void *to)
{
    static u8 bytes[LONGEST_CAPTURED];
    struct record_header r;

    while (fread(&r, sizeof(r), 1, file) == 1) {
        struct nv_record record = { r.seconds * UINT64_C(1000000000) + (u64) r.fraction * unit, r.captured, r.wire };

        if (r.captured > sizeof(bytes) || fread(bytes, 1, r.captured, file) != r.captured)
            return false;
        take(to, &record, bytes);
    }
    return feof(file);
}

bool nv_read_records(const char *path, nv_record_taker *take, void *to)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    struct file_header header;
    bool complete;

    if (!file)
        return wrong_file(path, "cannot be opened");
    if (fread(&header, sizeof(header), 1, file) != 1 || (header.magic != MICROSECONDS && header.magic != NANOSECONDS)) {
        fclose(file);
        return wrong_file(path, "not a pcap file of this machine's byte order");
    }
    link_type = header.link_type;
    complete = read_all(file, header.magic == MICROSECONDS ? 1000 : 1, take, to);
    fclose(file);
    return complete || wrong_file(path, "ends within a packet");
}

u32 nv_link_type(void)
{
    return link_type ? link_type : 1;
}

/* ---- Out ---- */

FILE *nv_create_capture(const char *path, u32 link, u32 longest, bool micro)
{
    struct file_header header = { micro ? MICROSECONDS : NANOSECONDS, 2, 4, 0, 0, longest, link };
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");

    if (!file || fwrite(&header, sizeof(header), 1, file) != 1)
        wrong_file(path, "cannot be written");
    return file;
}

void nv_write_record(FILE *file, const struct nv_packet *packet, u32 captured, u32 wire, bool micro)
{
    u32 fraction = (u32) (packet->time % 1000000000);
    struct record_header r = { (u32) (packet->time / 1000000000), micro ? fraction / 1000 : fraction, captured, wire };

    fwrite(&r, sizeof(r), 1, file);
    fwrite(packet->data, 1, captured, file);
}

bool nv_close_record_file(FILE *file)
{
    bool written = !ferror(file);

    return fclose(file) == 0 && written;
}

#ifndef NV_DIRECT

/* ---- An application's only input and output ---- */

struct input { struct nv_element *to; int port; };
static FILE *output;

static void deliver(void *to, const struct nv_record *record, const void *bytes)
{
    struct input *input = to;

    nv_deliver(input->to, input->port, nv_packet_new(bytes, record->captured, record->wire, record->time));
}

bool nv_read_capture(const char *path, struct nv_element *to, int port)
{
    return nv_read_records(path, deliver, &(struct input) { to, port });
}

bool nv_open_capture(const char *path, u32 link)
{
    output = nv_create_capture(path, link, LONGEST_CAPTURED, false);
    return output != 0;
}

void nv_capture_packet(int port)
{
    (void) port;
    nv_write_record(output, nv_packet, nv_packet->length, nv_packet->length + nv_packet->missing, false);
}

bool nv_close_capture(void)
{
    return nv_close_record_file(output);
}

#endif
