/* Runs program.cl, of the current folder, on the packets of a pcap file from standard input, on
   the first device of the first OpenCL platform. Writes what became of each to standard output,
   and what leaves by an output to the file port-OUTPUT.pcap in the current folder. With -t it
   writes instead how many nanoseconds of the device a packet takes. Made by netvm. */
#define CL_TARGET_OPENCL_VERSION 120
#include "netvm.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A burst: so many packets, and so many bytes. */
enum { BURST = 4096, BYTES = 1 << 24, WORDS = 7, PORTS = 64 };

static uint8_t bytes[BYTES];
static cl_ulong offsets[BURST], times[BURST];
static cl_uint lengths[BURST], wire_lengths[BURST], results[BURST * WORDS];
static uint64_t before;
static cl_ulong spent;
static FILE *outputs[PORTS];
static uint32_t link_type;
static int swapped, nanoseconds, timed;

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;

static void stop(const char *what, cl_int code)
{
    fprintf(stderr, "%s: OpenCL's error %d\n", what, (int)code);
    exit(1);
}

static void must(const char *what, cl_int code)
{
    if (code != CL_SUCCESS)
        stop(what, code);
}

static char *source(void)
{
    FILE *file = fopen("program.cl", "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror("program.cl");
        exit(1);
    }
    const long size = ftell(file);
    char *text = size < 0 ? NULL : calloc((size_t)size + 1, 1);
    rewind(file);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror("program.cl");
        exit(1);
    }
    fclose(file);
    return text;
}

static void prepare(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    must("no platform", clGetPlatformIDs(1, &platform, NULL));
    must("no device", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must("context", code);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    must("queue", code);
    char *text = source();
    const char *parts[] = { text };
    cl_program program = clCreateProgramWithSource(context, 1, parts, NULL, &code);
    must("program", code);
    code = clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
    if (code != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fputs(log, stderr);
        stop("program.cl", code);
    }
    kernel = clCreateKernel(program, "netvm", &code);
    must("kernel", code);
    free(text);
}

static cl_mem buffer(cl_uint argument, size_t size, void *from)
{
    cl_int code;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size ? size : 1, from, &code);
    must("buffer", code);
    must("argument", clSetKernelArg(kernel, argument, sizeof made, &made));
    return made;
}

/* Runs a burst; packets and results are changed in place. */
static void run(cl_uint count, size_t size)
{
    const cl_uint input = NETVM_INPUT;
    const cl_ulong first = before;
    const size_t items = count;
    cl_mem made[] = { buffer(0, size, bytes),        buffer(1, count * sizeof *offsets, offsets), buffer(2, count * sizeof *lengths, lengths),
                      buffer(3, count * sizeof *wire_lengths, wire_lengths), buffer(4, count * sizeof *times, times),
                      buffer(8, count * WORDS * sizeof *results, results) };
    must("argument", clSetKernelArg(kernel, 5, sizeof count, &count));
    must("argument", clSetKernelArg(kernel, 6, sizeof input, &input));
    must("argument", clSetKernelArg(kernel, 7, sizeof first, &first));
    cl_event ran;
    cl_ulong start = 0, end = 0;
    must("run", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &ran));
    must("results", clEnqueueReadBuffer(queue, made[5], CL_TRUE, 0, count * WORDS * sizeof *results, results, 0, NULL, NULL));
    must("packets", clEnqueueReadBuffer(queue, made[0], CL_TRUE, 0, size ? size : 1, bytes, 0, NULL, NULL));
    clGetEventProfilingInfo(ran, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(ran, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(ran);
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++)
        clReleaseMemObject(made[i]);
    before += count, spent += end - start;
}

/* FNV-1a, for comparing. */
static uint64_t digest(const uint8_t *p, uint32_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

/* A word of a head, in the order of the file. */
static uint32_t word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return swapped ? __builtin_bswap32(v) : v;
}

static const char *why(uint32_t element, uint32_t value)
{
    static char code[32];
    const char *reason = netvm_reason(element, value);
    snprintf(code, sizeof code, "code %u", (unsigned)value);
    return reason                   ? reason
           : value == NETVM_NOWHERE   ? "output not connected"
           : value == NETVM_ROUNDS    ? "led back too often"
           : value == NETVM_DISCARDED ? "discarded"
           : value == 0               ? "dropped"
                                      : code;
}

static void save(uint32_t output, const uint8_t *packet, uint32_t len, uint32_t wire, uint64_t time)
{
    if (output >= PORTS)
        return;
    if (!outputs[output]) {
        char name[300], digits[3] = { (char)('0' + output / 10), (char)('0' + output % 10), 0 };
        snprintf(name, sizeof name, "port-%.250s.pcap", netvm_outputs[0] ? netvm_outputs[output] : digits);
        for (char *c = name; *c; c++)
            if (*c == '/')
                *c = '_';
        outputs[output] = fopen(name, "wb");
        if (!outputs[output]) {
            perror(name);
            exit(1);
        }
        const uint32_t head[] = { 0xa1b23c4d, 4 << 16 | 2, 0, 0, 1 << 18, link_type };
        fwrite(head, sizeof head, 1, outputs[output]);
    }
    const uint32_t head[] = { (uint32_t)(time / 1000000000), (uint32_t)(time % 1000000000), len, wire };
    fwrite(head, sizeof head, 1, outputs[output]);
    fwrite(packet, 1, len, outputs[output]);
}

static void tell(unsigned i)
{
    const cl_uint *r = results + i * WORDS;
    const uint32_t at = r[0], len = r[1], end = r[3], element = r[4], value = r[5], site = r[6];
    const uint8_t *packet = bytes + offsets[i] + at;
    if (end == NETVM_SENT) {
        if (netvm_inputs[0])
            printf("sent %s", netvm_outputs[value]);
        else
            printf("sent %u", (unsigned)value);
        printf(" %u %llx\n", (unsigned)len, (unsigned long long)digest(packet, len));
        save(value, packet, len, r[2], times[i]);
        return;
    }
    const char *what = end == NETVM_DROPPED ? "dropped" : "trapped";
    if (!netvm_inputs[0])
        printf("%s %u %u\n", what, (unsigned)value, (unsigned)site);
    else if (end == NETVM_DROPPED)
        printf("dropped %s %s\n", element == NETVM_NONE ? "-" : netvm_elements[element], why(element, value));
    else
        printf("trapped %s %u %u\n", netvm_elements[element], (unsigned)value, (unsigned)site);
}

static void burst(cl_uint count, size_t size)
{
    if (!count)
        return;
    run(count, size);
    for (unsigned i = 0; i < count && !timed; i++)
        tell(i);
}

int main(int argc, char **argv)
{
    uint8_t head[24];
    timed = argc > 1 && !strcmp(argv[1], "-t");
    if (fread(head, sizeof head, 1, stdin) != 1) {
        fputs("standard input is no pcap file\n", stderr);
        return 2;
    }
    uint32_t magic = word(head);
    swapped = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
    magic = word(head);
    nanoseconds = magic == 0xa1b23c4d;
    if (!nanoseconds && magic != 0xa1b2c3d4) {
        fputs("standard input is no pcap file\n", stderr);
        return 2;
    }
    link_type = word(head + 20);
    prepare();
    cl_uint count = 0;
    size_t size = 0;
    while (fread(head, 16, 1, stdin) == 1) {
        const uint32_t len = word(head + 8), wire = word(head + 12);
        if (len > NETVM_LONGEST) {
            fputs("a packet is too long\n", stderr);
            return 2;
        }
        if (count == BURST || size + len > BYTES) {
            burst(count, size);
            count = 0, size = 0;
        }
        if (fread(bytes + size, 1, len, stdin) != len)
            break;
        offsets[count] = size, lengths[count] = len, wire_lengths[count] = wire > len ? wire : len;
        times[count++] = (uint64_t)word(head) * 1000000000 + (uint64_t)word(head + 4) * (nanoseconds ? 1 : 1000);
        size += len;
    }
    burst(count, size);
    if (timed)
        printf("%.1f ns a packet\n", before ? (double)spent / (double)before : 0.0);
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
