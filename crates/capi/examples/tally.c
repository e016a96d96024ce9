/* tally NUMBER...: a coprocessor of a C program, used by an element that is a NetIL program.
 *
 *     cc tally.c $(pkg-config --cflags --libs netvm) -o tally
 *     ./tally program.netil 7 7 8
 *
 * Each number makes a packet that begins with that byte. The program lets through those that come at most twice: it asks the coprocessor
 * "tally" how often a number has come, which counts in an array. */
#include <netvm.h>
#include <stdio.h>
#include <stdlib.h>

/* A unit: how often each byte was noted. Each program that uses the coprocessor has one of its own. */
static void *make(void *context)
{
    (void)context;
    return calloc(256, sizeof(uint32_t));
}

/* The only operation: register 1 becomes how often register 0 has been noted. */
static int invoke(void *unit, uint32_t operation, uint32_t *registers, const uint8_t *packet, size_t len)
{
    uint32_t *counts = unit;
    (void)operation, (void)packet, (void)len;
    if (registers[0] > 255)
        return 2;
    registers[1] = ++counts[registers[0]];
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const operations[] = {"note"};
    netvm_coprocessor tally = {"tally", "counts numbers from 0 to 255", operations, 1, 2, 20, NULL, make, NULL, invoke, free};
    netvm_application *application;
    netvm_packet sent, packet = {NULL, 60, 0};
    uint8_t bytes[60] = {0}, room[65535];
    char configuration[512], *text;
    if (argc < 2)
        return 2;
    snprintf(configuration, sizeof configuration, "FromDevice(in) -> NetIL(%s) -> ToDevice(out);", argv[1]);
    if (netvm_coprocessor_register(&tally, &text) != NETVM_OK
        || netvm_application_open(configuration, NULL, &application, &text) != NETVM_OK) {
        fputs(text, stderr);
        netvm_string_free(text);
        return 1;
    }
    packet.data = bytes;
    for (int i = 2; i < argc; i++) {
        bytes[0] = (uint8_t)atoi(argv[i]);
        netvm_application_push(application, "in", &packet, NULL, 1);
    }
    netvm_application_run(application, 0);
    while (netvm_application_take(application, "out", room, sizeof room, &sent, NULL, 1) == 1)
        printf("passed: %d\n", sent.data[0]);
    netvm_application_free(application);
    return 0;
}
