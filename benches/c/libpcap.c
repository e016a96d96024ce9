/* libpcap's side: its compiler as tcpdump uses it (optimised, Ethernet), its interpreter called once per packet. */
#include "packet.h"
#include <pcap/pcap.h>
#include <stdlib.h>

struct bpf_program *libpcap_compile(const char *expression, int snaplen)
{
    pcap_t *dead = pcap_open_dead(DLT_EN10MB, snaplen);
    struct bpf_program *program = malloc(sizeof *program);
    if (dead && program && pcap_compile(dead, program, expression, 1, 0) != 0) {
        free(program);
        program = NULL;
    }
    if (dead)
        pcap_close(dead);
    return program;
}

void libpcap_free(struct bpf_program *program)
{
    pcap_freecode(program);
    free(program);
}

void libpcap_run(const struct bpf_program *program, const struct packet *packets, size_t n, uint64_t *bits)
{
    for (size_t i = 0; i < n; i += 64) {
        size_t m = n - i < 64 ? n - i : 64;
        uint64_t word = 0;
        for (size_t j = 0; j < m; j++) {
            const struct packet *q = &packets[i + j];
            word |= (uint64_t)(bpf_filter(program->bf_insns, q->bytes, q->wire_len, q->len) != 0) << j;
        }
        bits[i / 64] = word;
    }
}

const char *libpcap_version(void) { return pcap_lib_version(); }
