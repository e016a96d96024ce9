/* hops TTL...: what a router does to the time to live of packets, by a configuration of elements within a C program.
 *
 *     cc hops.c $(pkg-config --cflags --libs netvm) -o hops
 *     ./hops 64 1
 *
 * Each argument is a time to live; the program makes an IPv4 packet with it, lets it through the elements, and prints what came out. */
#include <netvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char configuration[] =
    "FromDevice(in) -> CheckIPHeader -> ttl :: DecIPTTL -> ToDevice(out);\n"
    "ttl[1] -> expired :: Counter -> Discard;\n";

/* An IPv4 header without options, and its checksum. */
static void header(uint8_t *bytes, uint8_t ttl)
{
    static const uint8_t start[20] = {0x45, 0, 0, 20, 0, 1, 0, 0, 0, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1};
    uint32_t sum = 0;
    memcpy(bytes, start, sizeof start);
    bytes[8] = ttl;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16)) & 0xffff;
    bytes[10] = (uint8_t)(sum >> 8);
    bytes[11] = (uint8_t)sum;
}

int main(int argc, char **argv)
{
    netvm_application *router;
    char *text;
    uint8_t bytes[20], room[65535];
    netvm_packet sent, packet = {bytes, sizeof bytes, 0};
    if (netvm_application_open(configuration, NULL, &router, &text) != NETVM_OK) {
        fputs(text, stderr);
        netvm_string_free(text);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        header(bytes, (uint8_t)atoi(argv[i]));
        netvm_application_push(router, "in", &packet, NULL, 1);
    }
    netvm_application_run(router, 0);
    while (netvm_application_take(router, "out", room, sizeof room, &sent, NULL, 1) == 1)
        printf("forwarded with %d\n", sent.data[8]);
    if (netvm_application_read(router, "expired.count", NULL, &text) == NETVM_OK)
        printf("expired: %s\n", text);
    netvm_string_free(text);
    netvm_application_free(router);
    return 0;
}
