/* Verdicts of the installed libpcap, for the tests beside it.
 *
 * Reads commands from standard input, writes answers to standard output; all numbers are 32-bit, host order.
 *   'P' count, then count times: wire length, captured length, bytes     packets for the filters to come
 *   'L' link type, swapped                                               a capture file of that link type and byte order
 *   'F' optimisers, length, text                                         compile and run; bit 0: without, bit 1: with optimiser
 *   'B' kernel, count, then count times: code, jt, jf, k                 run a program, by libpcap's machine or by the kernel's
 *   'I' count, instructions as before                                    print a program: a number, and so many bytes of text
 *   'N' length, text                                                     how long libpcap's optimised code is: 0 and a number, or an error
 * An answer has, for each optimiser asked for, a number and so many bytes: 0 and one byte per packet (1 accepted, 0 not,
 * 2 no end), or the length of an error message, and the message.
 */
#define _GNU_SOURCE
#include <pcap/pcap.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct packet { uint32_t wire, captured; unsigned char *bytes; };
static struct packet *packets;
static uint32_t count;
static pcap_t *capture;
static sigjmp_buf too_long;

static uint32_t number(void) {
    uint32_t n;
    if (fread(&n, 4, 1, stdin) != 1) exit(0);
    return n;
}

static unsigned char *bytes(uint32_t n) {
    unsigned char *b = malloc(n + 1);
    if (n != 0 && fread(b, n, 1, stdin) != 1) exit(1);
    b[n] = 0;
    return b;
}

static void put(uint32_t n) { fwrite(&n, 4, 1, stdout); }

static void read_packets(void) {
    for (uint32_t i = 0; i < count; i++) free(packets[i].bytes);
    count = number();
    packets = realloc(packets, (count + 1) * sizeof *packets);
    for (uint32_t i = 0; i < count; i++) {
        packets[i].wire = number();
        packets[i].captured = number();
        packets[i].bytes = bytes(packets[i].captured);
    }
}

/* A capture file without packets, so that libpcap knows it is not a live capture. */
static void open_capture(void) {
    static uint32_t header[6];
    uint32_t link = number(), swapped = number();
    uint32_t native[6] = {0xa1b2c3d4, 0x00040002, 0, 0, 262144, link};
    for (int i = 0; i < 6; i++) header[i] = swapped ? __builtin_bswap32(native[i]) : native[i];
    if (swapped) header[1] = 0x04000200;
    char why[PCAP_ERRBUF_SIZE];
    if (capture) pcap_close(capture);
    capture = pcap_fopen_offline(fmemopen(header, sizeof header, "rb"), why);
    if (!capture) { fprintf(stderr, "%s\n", why); exit(1); }
}

/* libpcap's machine reads registers that no one has set; make them 0, as far as that can be had. */
static __attribute__((noinline)) void clear_stack(void) {
    volatile unsigned char stack[2048];
    for (size_t i = 0; i < sizeof stack; i++) stack[i] = 0;
}

static void on_alarm(int s) { (void)s; siglongjmp(too_long, 1); }

static unsigned char run(struct bpf_program *program, struct packet *p) {
    static const struct itimerval limit = {{0, 0}, {0, 20000}}, off;
    if (sigsetjmp(too_long, 1)) return 2;
    setitimer(ITIMER_REAL, &limit, NULL);
    clear_stack();
    unsigned char verdict = bpf_filter(program->bf_insns, p->bytes, p->wire, p->captured) != 0;
    setitimer(ITIMER_REAL, &off, NULL);
    return verdict;
}

static unsigned char run_fast(struct bpf_program *program, struct packet *p) {
    clear_stack();
    return bpf_filter(program->bf_insns, p->bytes, p->wire, p->captured) != 0;
}

static int loops(struct bpf_program *program) {
    for (u_int i = 0; i < program->bf_len; i++) {
        struct bpf_insn *in = &program->bf_insns[i];
        if (in->code == (BPF_JMP | BPF_JA) && (int32_t)in->k < 0) return 1;
    }
    return 0;
}

static void filter(const char *text, int optimise) {
    struct bpf_program program;
    if (pcap_compile(capture, &program, text, optimise, 0) != 0) {
        const char *why = pcap_geterr(capture);
        put(strlen(why));
        fwrite(why, strlen(why), 1, stdout);
        return;
    }
    put(0);
    int slow = loops(&program);
    for (uint32_t i = 0; i < count; i++) {
        putchar(slow ? run(&program, &packets[i]) : run_fast(&program, &packets[i]));
    }
    pcap_freecode(&program);
}

static struct bpf_program read_program(void) {
    struct bpf_program program = {number(), NULL};
    program.bf_insns = calloc(program.bf_len + 1, sizeof *program.bf_insns);
    for (u_int i = 0; i < program.bf_len; i++) {
        struct bpf_insn *in = &program.bf_insns[i];
        in->code = number();
        in->jt = number();
        in->jf = number();
        in->k = number();
    }
    return program;
}

static void refuse(const char *why) {
    put(strlen(why));
    fwrite(why, strlen(why), 1, stdout);
}

/* `struct sock_fprog` and `struct sock_filter` are laid out as libpcap's types; what the filter drops never arrives. Only whole packets
 * are sent: what the kernel filters has one length. */
static void run_in_kernel(struct bpf_program *program) {
    int pair[2], buffer = 1 << 20;
    struct { unsigned short len; struct bpf_insn *filter; } attached = {program->bf_len, program->bf_insns};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) != 0) exit(1);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    if (setsockopt(pair[1], SOL_SOCKET, 26 /* SO_ATTACH_FILTER */, &attached, sizeof attached) != 0) {
        refuse("the kernel refuses the program");
    } else {
        static unsigned char room[1 << 17];
        put(0);
        for (uint32_t i = 0; i < count; i++) {
            struct packet *p = &packets[i];
            int sent = p->wire == p->captured && send(pair[0], p->bytes, p->captured, 0) == (ssize_t)p->captured;
            putchar(sent && recv(pair[1], room, sizeof room, 0) >= 0);
        }
    }
    close(pair[0]);
    close(pair[1]);
}

static void run_program(void) {
    uint32_t kernel = number();
    struct bpf_program program = read_program();
    if (kernel) {
        run_in_kernel(&program);
    } else if (!bpf_validate(program.bf_insns, program.bf_len)) {
        refuse("libpcap refuses the program");
    } else {
        put(0);
        for (uint32_t i = 0; i < count; i++) {
            putchar(bpf_filter(program.bf_insns, packets[i].bytes, packets[i].wire, packets[i].captured) != 0);
        }
    }
    free(program.bf_insns);
    fflush(stdout);
}

static void print_program(void) {
    struct bpf_program program = read_program();
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (u_int i = 0; i < program.bf_len; i++) fprintf(out, "%s\n", bpf_image(&program.bf_insns[i], i));
    fclose(out);
    put(length);
    fwrite(text, length, 1, stdout);
    fflush(stdout);
    free(program.bf_insns);
    free(text);
}

static void measure(void) {
    struct bpf_program program;
    char *text = (char *)bytes(number());
    if (pcap_compile(capture, &program, text, 1, 0) != 0) {
        refuse(pcap_geterr(capture));
    } else {
        put(0);
        put(program.bf_len);
        pcap_freecode(&program);
    }
    free(text);
    fflush(stdout);
}

int main(int argc, char **argv) {
    /* libpcap recurses once per test: long filters need a long stack, which takes a new process. */
    struct rlimit stack = {1u << 30, RLIM_INFINITY};
    if (argc < 2 && (getrlimit(RLIMIT_STACK, &stack) == 0)) {
        stack.rlim_cur = stack.rlim_max;
        if (setrlimit(RLIMIT_STACK, &stack) == 0) execl(argv[0], argv[0], "again", (char *)NULL);
    }
    signal(SIGALRM, on_alarm);
    for (int command; (command = getchar()) != EOF;) {
        if (command == 'P') read_packets();
        if (command == 'L') open_capture();
        if (command == 'B') run_program();
        if (command == 'I') print_program();
        if (command == 'N') measure();
        if (command == 'F') {
            uint32_t optimisers = number(), length = number();
            char *text = (char *)bytes(length);
            if (optimisers & 1) filter(text, 0);
            if (optimisers & 2) filter(text, 1);
            free(text);
            fflush(stdout);
        }
    }
    return 0;
}
