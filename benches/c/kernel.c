/* The kernel's side: its JIT's machine code for an XDP program, fetched, and that code run on packets in this process. */
#include "packet.h"
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int command, union bpf_attr *attr, uint32_t size) { return syscall(SYS_bpf, command, attr, size); }

/* A descriptor of the verified and compiled program, or minus the reason. */
static int load(const void *instructions, uint32_t count)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_XDP;
    attr.insns = (uint64_t)(uintptr_t)instructions;
    attr.insn_cnt = count;
    attr.license = (uint64_t)(uintptr_t) "MIT";
    long fd = bpf(BPF_PROG_LOAD, &attr, sizeof attr);
    return fd < 0 ? -errno : (int)fd;
}

/* The machine code's length, its bytes in `code` if it is no longer than `room`; 0 if the kernel does not show it; minus the reason. */
long kernel_compile(const void *instructions, uint32_t count, uint8_t *code, uint32_t room)
{
    int fd = load(instructions, count);
    if (fd < 0)
        return fd;
    struct bpf_prog_info info;
    memset(&info, 0, sizeof info);
    info.jited_prog_insns = (uint64_t)(uintptr_t)code;
    info.jited_prog_len = room;
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.info.bpf_fd = (uint32_t)fd;
    attr.info.info_len = sizeof info;
    attr.info.info = (uint64_t)(uintptr_t)&info;
    long result = bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr) < 0 ? -errno : (long)info.jited_prog_len;
    close(fd);
    /* Who may not see it finds the pointer gone. */
    return info.jited_prog_insns ? result : 0;
}

/* What the compiled program sees of a packet: the beginning of the kernel's struct xdp_buff. The rest is not read. */
struct xdp_buff {
    const uint8_t *data;
    const uint8_t *data_end;
    uint64_t rest[30];
};

typedef uint32_t program(const struct xdp_buff *, const void *instructions);

/* Fills in the buffer for each packet, as a driver does, and calls the program. */
void kernel_run(program *f, const struct packet *packets, size_t n, uint64_t *bits)
{
    struct xdp_buff buffer = {0};
    for (size_t i = 0; i < n; i += 64) {
        size_t m = n - i < 64 ? n - i : 64;
        uint64_t word = 0;
        for (size_t j = 0; j < m; j++) {
            const struct packet *q = &packets[i + j];
            buffer.data = q->bytes;
            buffer.data_end = q->bytes + q->len;
            word |= (uint64_t)(f(&buffer, NULL) == XDP_PASS) << j;
        }
        bits[i / 64] = word;
    }
}
