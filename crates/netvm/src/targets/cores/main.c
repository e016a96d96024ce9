/* Tries a program: reads packets from pcap files, INPUT=FILE of the arguments or standard input,
   in the order of their times; runs them, writes what became of each to standard output, and
   what leaves by an output to the file port-OUTPUT.pcap in the current folder. Needs four calls
   of Linux and no library, so that it runs under QEMU's user emulation; a board has its own
   main. Made by netvm. */
#include "netvm.h"

#if defined(__x86_64__)
enum { SYS_READ = 0, SYS_WRITE = 1, SYS_EXIT = 60, SYS_OPENAT = 257, CREATE = 0x241 };
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call netvm_main\n");

static long call(long n, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93, SYS_OPENAT = 56, CREATE = 0x241 };
__asm__(".globl _start\n_start:\n mov x0, sp\n b netvm_main\n");

static long call(long n, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#elif defined(__riscv)
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93, SYS_OPENAT = 56, CREATE = 0x241 };
__asm__(".globl _start\n_start:\n .option push\n .option norelax\n la gp, __global_pointer$\n .option pop\n mv a0, sp\n tail netvm_main\n");

static long call(long n, long a, long b, long c, long d)
{
    register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3) : "memory");
    return a0;
}
#elif defined(__mips64)
enum { SYS_READ = 5000, SYS_WRITE = 5001, SYS_EXIT = 5058, SYS_OPENAT = 5247, CREATE = 0x301 };
__asm__(".globl __start\n.globl _start\n__start:\n_start:\n .set push\n .set noreorder\n jal netvm_main\n move $4, $29\n .set pop\n");

static long call(long n, long a, long b, long c, long d)
{
    register long v0 __asm__("$2") = n, a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c, a3 __asm__("$7") = d;
    __asm__ volatile("syscall"
                     : "+r"(v0), "+r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo", "memory");
    return a3 ? -1 : v0;
}
#else
#error "no calls of Linux are known here for this processor"
#endif

enum { BURST = 16, PORTS = 64, TEXT = 1 << 14 };

static uint8_t buffers[BURST][NETVM_BUFFER];
static struct netvm_packet packets[BURST];
static char text[TEXT];
static uint32_t written;
static long files[PORTS];
static uint8_t link_type[4];

/* A file that is read: its form, and the head of its next packet, if there is one. */
struct source {
    long file;
    uint32_t input;
    int swapped, nanoseconds, more;
    uint64_t time;
    uint32_t len, wire;
};

static struct source sources[PORTS];
static unsigned source_count;

static __attribute__((noreturn)) void leave(int status)
{
    for (;;)
        call(SYS_EXIT, status, 0, 0, 0);
}

static void put_all(long file, const void *from, size_t n)
{
    const uint8_t *p = from;
    while (n > 0) {
        long done = call(SYS_WRITE, file, (long)p, (long)n, 0);
        if (done <= 0)
            leave(3);
        p += done, n -= (size_t)done;
    }
}

/* So many bytes; false at the end of the file. */
static int get(long file, void *to, size_t n)
{
    uint8_t *p = to;
    while (n > 0) {
        long got = call(SYS_READ, file, (long)p, (long)n, 0);
        if (got <= 0)
            return 0;
        p += got, n -= (size_t)got;
    }
    return 1;
}

static void flush(void)
{
    put_all(1, text, written);
    written = 0;
}

static void say(const char *what)
{
    while (*what) {
        if (written == TEXT)
            flush();
        text[written++] = *what++;
    }
}

static void number(uint64_t v, unsigned base)
{
    char digits[24], *p = digits + sizeof digits;
    *--p = 0;
    do
        *--p = "0123456789abcdef"[v % base];
    while (v /= base);
    say(" ");
    say(p);
}

/* FNV-1a, for comparing. */
static uint64_t digest(const uint8_t *p, uint32_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static uint32_t word(const uint8_t *p, int swapped)
{
    uint32_t v = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    return swapped ? __builtin_bswap32(v) : v;
}

static void put_word(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24), p[1] = (uint8_t)(v >> 16), p[2] = (uint8_t)(v >> 8), p[3] = (uint8_t)v;
}

/* A port's file, opened by its first packet. */
static long file_of(uint32_t port)
{
    if (files[port])
        return files[port];
    char name[280] = "port-", digits[3] = { (char)('0' + port / 10), (char)('0' + port % 10), 0 };
    const char *of = netvm_outputs[0] ? netvm_outputs[port] : digits, *end = ".pcap";
    unsigned n = 5;
    for (; *of && n < 260; of++)
        name[n++] = *of == '/' || *of <= ' ' ? '_' : *of;
    for (; *end; end++)
        name[n++] = *end;
    files[port] = call(SYS_OPENAT, -100, (long)name, CREATE, 0644);
    if (files[port] < 0)
        leave(4);
    uint8_t head[24] = { 0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0 };
    for (int i = 0; i < 4; i++)
        head[20 + i] = link_type[i];
    put_all(files[port], head, sizeof head);
    return files[port];
}

static void save(const struct netvm_packet *k)
{
    uint8_t head[16];
    if (k->value >= PORTS)
        return;
    put_word(head, (uint32_t)(k->time_ns / 1000000000)), put_word(head + 4, (uint32_t)(k->time_ns % 1000000000));
    put_word(head + 8, k->len), put_word(head + 12, k->wire_len);
    const long file = file_of(k->value);
    put_all(file, head, sizeof head);
    put_all(file, k->buffer + k->at, k->len);
}

/* Why a packet was dropped. */
static void why(const struct netvm_packet *k)
{
    const char *reason = netvm_reason(k->element, k->value);
    if (!reason)
        reason = k->value == NETVM_NOWHERE     ? "output not connected"
                 : k->value == NETVM_ROUNDS    ? "led back too often"
                 : k->value == NETVM_DISCARDED ? "discarded"
                 : k->value == 0               ? "dropped"
                                               : 0;
    say(reason ? " " : " code");
    if (reason)
        say(reason);
    else
        number(k->value, 10);
}

/* In an application inputs, outputs and elements have names. */
static void tell_named(const struct netvm_packet *k)
{
    say(k->end == NETVM_SENT ? "sent " : k->end == NETVM_DROPPED ? "dropped " : "trapped ");
    say(k->end == NETVM_SENT ? netvm_outputs[k->value] : k->element == NETVM_NONE ? "-" : netvm_elements[k->element]);
    if (k->end == NETVM_DROPPED)
        return why(k);
    number(k->end == NETVM_SENT ? k->len : k->value, 10);
    if (k->end == NETVM_SENT)
        number(digest(k->buffer + k->at, k->len), 16);
    else
        number(k->site, 10);
}

static void tell(const struct netvm_packet *k)
{
    if (netvm_inputs[0]) {
        tell_named(k);
        return say("\n");
    }
    say(k->end == NETVM_SENT ? "sent" : k->end == NETVM_DROPPED ? "dropped" : "trapped");
    number(k->value, 10);
    number(k->end == NETVM_SENT ? k->len : k->site, 10);
    if (k->end == NETVM_SENT)
        number(digest(k->buffer + k->at, k->len), 16);
    say("\n");
}

/* Reads the head of a file's next packet. */
static void advance(struct source *s)
{
    uint8_t head[16];
    s->more = get(s->file, head, sizeof head);
    if (!s->more)
        return;
    s->len = word(head + 8, s->swapped), s->wire = word(head + 12, s->swapped);
    s->time = (uint64_t)word(head, s->swapped) * 1000000000 + (uint64_t)word(head + 4, s->swapped) * (s->nanoseconds ? 1 : 1000);
    if (s->len > NETVM_LONGEST)
        leave(2);
}

/* The packet that comes next. */
static int next(unsigned i)
{
    struct source *first = 0;
    for (unsigned n = 0; n < source_count; n++)
        if (sources[n].more && (!first || sources[n].time < first->time))
            first = &sources[n];
    if (!first)
        return 0;
    const uint32_t len = first->len, wire = first->wire;
    if (!get(first->file, buffers[i] + NETVM_HEADROOM + i % 2 * 2, len))
        leave(2);
    packets[i] = (struct netvm_packet){ .buffer = buffers[i], .size = NETVM_BUFFER, .at = NETVM_HEADROOM + i % 2 * 2, .len = len, .wire_len = wire > len ? wire : len,
                                        .input = first->input, .time_ns = first->time, .end = NETVM_DROPPED };
    advance(first);
    return 1;
}

static void open_source(long file, uint32_t input)
{
    uint8_t head[24];
    if (file < 0 || source_count == PORTS || !get(file, head, sizeof head))
        leave(2);
    struct source *s = &sources[source_count++];
    uint32_t magic = word(head, 0);
    s->file = file, s->input = input;
    s->swapped = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
    magic = word(head, s->swapped);
    s->nanoseconds = magic == 0xa1b23c4d;
    if (!s->nanoseconds && magic != 0xa1b2c3d4)
        leave(2);
    put_word(link_type, word(head + 20, s->swapped));
    advance(s);
}

/* INPUT=FILE */
static void open_argument(const char *text)
{
    for (uint32_t input = 0; netvm_inputs[input]; input++) {
        const char *name = netvm_inputs[input], *rest = text;
        while (*name && *name == *rest)
            name++, rest++;
        if (!*name && *rest == '=')
            return open_source(call(SYS_OPENAT, -100, (long)(rest + 1), 0, 0), input);
    }
    static const char usage[] = "usage: program < FILE, or program INPUT=FILE ... of a configuration\n";
    put_all(2, usage, sizeof usage - 1);
    leave(2);
}

/* The entries of a table, in no order: their number and the sum of their digests. */
static void tell_table(uint32_t element, uint32_t table)
{
    uint64_t count = 0, sum = 0;
    struct netvm_entry e;
    for (uint32_t at = 0; netvm_entry(element, table, &at, &e); count++)
        sum += digest(e.key, e.key_bytes) * 31 + digest(e.value, e.value_bytes);
    say("table");
    number(element, 10), number(table, 10), number(count, 10), number(sum, 16);
    say("\n");
}

static void tell_memory(void)
{
    for (uint32_t element = 0; netvm_elements[element]; element++) {
        say("data");
        number(element, 10), number(netvm_data_size(element), 10), number(digest(netvm_data(element), netvm_data_size(element)), 16);
        say("\n");
        for (uint32_t table = 0; table < netvm_tables(element); table++)
            tell_table(element, table);
    }
}

/* A copy has left, before its packet. */
void netvm_copied(const struct netvm_packet *copy)
{
    if (copy->end == NETVM_SENT)
        save(copy);
    if (!netvm_inputs[0])
        say("copy ");
    tell(copy);
}

/* Runs packets and tells what became of each; where there are copies one by one, for these are told at once. */
static void run(unsigned count)
{
    if (!netvm_copies)
        netvm_run(packets, count);
    for (unsigned i = 0; i < count; i++) {
        if (netvm_copies)
            netvm_run(&packets[i], 1);
        if (packets[i].end == NETVM_SENT)
            save(&packets[i]);
        tell(&packets[i]);
    }
}

__attribute__((used, noreturn)) void netvm_main(const long *stack)
{
    unsigned count;
    const char *const *arguments = (const char *const *)(stack + 1);
    if (stack[0] < 2)
        open_source(0, NETVM_INPUT);
    for (long n = 1; n < stack[0]; n++)
        open_argument(arguments[n]);
    do {
        for (count = 0; count < BURST && next(count); count++)
            ;
        run(count);
    } while (count == BURST);
    tell_memory();
    flush();
    leave(0);
}
