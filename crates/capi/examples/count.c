/* count EXPRESSION FILE [ENGINE]: the number of packets of a classic pcap file that match.
 *
 *     cc count.c $(pkg-config --cflags --libs netvm) -o count
 *     ./count 'tcp port 80' capture.pcap
 *
 * The file is read whole; packets go to the filter in bursts, which point into it. */
#include <netvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 256, FILE_HEADER = 24, RECORD_HEADER = 16 };

struct capture {
    uint8_t *bytes;
    size_t size;
    size_t at;   /* where the next record begins */
    int swapped; /* written by a machine of the other byte order */
};

static uint32_t word(const struct capture *in, size_t at)
{
    uint32_t x;
    memcpy(&x, in->bytes + at, sizeof x);
    return in->swapped ? x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24 : x;
}

static int read_file(struct capture *in, const char *name)
{
    FILE *file = fopen(name, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= FILE_HEADER && (in->bytes = malloc((size_t)size)) != NULL) {
        rewind(file);
        in->size = fread(in->bytes, 1, (size_t)size, file);
    }
    if (file)
        fclose(file);
    return in->size >= FILE_HEADER;
}

/* Knows the file by its first word: times in microseconds or nanoseconds, in either byte order. */
static int begin(struct capture *in)
{
    in->at = FILE_HEADER;
    for (in->swapped = 0; in->swapped < 2; in->swapped++) {
        uint32_t magic = word(in, 0);
        if (magic == 0xa1b2c3d4 || magic == 0xa1b23c4d)
            return 1;
    }
    return 0;
}

/* The next packets, at most BURST; the last may be cut off by the file's end and is left out then. */
static size_t next_burst(struct capture *in, netvm_packet *packets)
{
    size_t n = 0;
    while (n < BURST && in->size - in->at >= RECORD_HEADER) {
        uint32_t len = word(in, in->at + 8);
        if (len > in->size - in->at - RECORD_HEADER)
            break;
        packets[n].data = in->bytes + in->at + RECORD_HEADER;
        packets[n].len = len;
        packets[n].wire_len = word(in, in->at + 12);
        in->at += RECORD_HEADER + len;
        n++;
    }
    return n;
}

static unsigned ones(uint64_t x)
{
    unsigned n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

static int count(struct capture *in, netvm_filter *filter, unsigned long *matched)
{
    netvm_packet packets[BURST];
    uint64_t words[NETVM_WORDS(BURST)];
    size_t n, i;
    while ((n = next_burst(in, packets)) > 0) {
        int status = netvm_filter_select(filter, packets, n, words);
        if (status != NETVM_OK)
            return status;
        for (i = 0; i < NETVM_WORDS(n); i++)
            *matched += ones(words[i]);
    }
    return NETVM_OK;
}

int main(int argc, char **argv)
{
    struct capture in = {NULL, 0, 0, 0};
    netvm_filter *filter = NULL;
    char *error = NULL;
    unsigned long matched = 0;
    int status;

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: count EXPRESSION FILE [ENGINE]\n");
        return 2;
    }
    if (!read_file(&in, argv[2]) || !begin(&in)) {
        fprintf(stderr, "error: %s is not a pcap file that can be read\n", argv[2]);
        free(in.bytes);
        return 1;
    }
    /* The upper bits of the link type's word say other things. */
    if (netvm_filter_compile(argv[1], word(&in, 20) & 0xffff, argc > 3 ? argv[3] : NULL, &filter, &error) != NETVM_OK) {
        fputs(error, stderr);
        netvm_string_free(error);
        free(in.bytes);
        return 2;
    }
    status = count(&in, filter, &matched);
    netvm_filter_free(filter);
    free(in.bytes);
    if (status != NETVM_OK) {
        fprintf(stderr, "error: netvm failed with %d\n", status);
        return 1;
    }
    printf("%lu\n", matched);
    return 0;
}
