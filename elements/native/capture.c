/*
 * capture.c -- captures in and out for native applications: classic pcap, in this machine's byte order, micro- or nanoseconds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netvm_run.h"

enum { LONGEST_CAPTURED = 1 << 18 };
static const u32 MICROSECONDS = 0xa1b2c3d4, NANOSECONDS = 0xa1b23c4d;

struct file_header { u32 magic; u16 major, minor; u32 zone, accuracy, longest, link_type; };
struct record_header { u32 seconds, fraction, captured, wire; };

static FILE *output;

static bool wrong(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

static bool read_packets(FILE *file, u32 unit, struct nv_element *to, int port)
{
    static u8 bytes[LONGEST_CAPTURED];
    struct record_header r;

    while (fread(&r, sizeof(r), 1, file) == 1) {
        u64 time = r.seconds * UINT64_C(1000000000) + (u64) r.fraction * unit;

        if (r.captured > sizeof(bytes) || fread(bytes, 1, r.captured, file) != r.captured)
            return false;
        nv_deliver(to, port, nv_packet_new(bytes, r.captured, r.wire, time));
    }
    return feof(file);
}

bool nv_read_capture(const char *path, struct nv_element *to, int port)
{
    FILE *file = fopen(path, "rb");
    struct file_header header;
    bool complete;

    if (!file)
        return wrong(path, "cannot be opened");
    if (fread(&header, sizeof(header), 1, file) != 1 || (header.magic != MICROSECONDS && header.magic != NANOSECONDS)) {
        fclose(file);
        return wrong(path, "not a pcap file of this machine's byte order");
    }
    complete = read_packets(file, header.magic == MICROSECONDS ? 1000 : 1, to, port);
    fclose(file);
    return complete || wrong(path, "ends within a packet");
}

bool nv_open_capture(const char *path, u32 link_type)
{
    struct file_header header = { NANOSECONDS, 2, 4, 0, 0, LONGEST_CAPTURED, link_type };

    output = fopen(path, "wb");
    return (output && fwrite(&header, sizeof(header), 1, output) == 1) || wrong(path, "cannot be written");
}

void nv_capture_packet(int port)
{
    u64 time = now();
    struct record_header r = { (u32) (time / 1000000000), (u32) (time % 1000000000), packet_length(), wire_length() };

    if (r.wire < r.captured)
        r.wire = r.captured;
    fwrite(&r, sizeof(r), 1, output);
    fwrite(nv_header(0, packet_length()), 1, packet_length(), output);
}

bool nv_close_capture(void)
{
    bool written = !ferror(output);

    return fclose(output) == 0 && written;
}
