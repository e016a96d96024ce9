/* DPDK's side: libpcap's program, converted to eBPF and compiled by rte_bpf, called once per packet with an mbuf. */
#include "packet.h"
#include <pcap/pcap.h>
#include <rte_bpf.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_version.h>

struct bpf_program *libpcap_compile(const char *expression, int snaplen);
void libpcap_free(struct bpf_program *program);

/* DPDK's environment: rte_bpf takes its memory from there. No devices, no huge pages, no files. Whether it could be had. */
int dpdk_begin(const char *processor)
{
    const char *arguments[] = {
        "netvm-bench", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "--log-level=critical", "-m", "64", "-l", processor,
    };
    return rte_eal_init(sizeof arguments / sizeof *arguments, (char **)(uintptr_t)arguments) >= 0;
}

const char *dpdk_version(void) { return rte_version(); }

/* NULL if it refuses the program, or has no compiler for this machine. */
struct rte_bpf *dpdk_compile(const char *expression, int snaplen)
{
    struct bpf_program *program = libpcap_compile(expression, snaplen);
    if (!program)
        return NULL;
    struct rte_bpf_prm *converted = rte_bpf_convert(program);
    libpcap_free(program);
    if (!converted)
        return NULL;
    struct rte_bpf *bpf = rte_bpf_load(converted);
    rte_free(converted);
    struct rte_bpf_jit jit;
    if (bpf && (rte_bpf_get_jit(bpf, &jit) != 0 || !jit.func)) {
        rte_bpf_destroy(bpf);
        bpf = NULL;
    }
    return bpf;
}

void dpdk_free(struct rte_bpf *bpf) { rte_bpf_destroy(bpf); }

/* Fills in an mbuf for each packet and calls the compiled program. One mbuf: a prepared one for each packet takes longer, by the cache it takes. */
void dpdk_run(const struct rte_bpf *bpf, const struct packet *packets, size_t n, uint64_t *bits)
{
    struct rte_bpf_jit jit;
    rte_bpf_get_jit(bpf, &jit);
    struct rte_mbuf mbuf = {.nb_segs = 1};
    for (size_t i = 0; i < n; i += 64) {
        size_t m = n - i < 64 ? n - i : 64;
        uint64_t word = 0;
        for (size_t j = 0; j < m; j++) {
            const struct packet *q = &packets[i + j];
            mbuf.buf_addr = (void *)(uintptr_t)q->bytes;
            mbuf.data_len = (uint16_t)q->len;
            mbuf.pkt_len = q->len;
            word |= (uint64_t)(jit.func(&mbuf) != 0) << j;
        }
        bits[i / 64] = word;
    }
}
