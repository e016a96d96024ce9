/* router FILE ROUTES ADDRESS...: by which outputs a router sends packets to these addresses.
 *
 *     cc router.c $(pkg-config --cflags --libs netvm) -o router
 *     ./router apps/router/forward.click apps/router/routes.txt 1.2.3.4 4.4.4.4
 *
 * The router is a configuration in a file, with element classes of its own in the folder elements beside it, and a parameter for its file of
 * routes. The program makes an IPv4 packet to each address, and prints how many left by each output. */
#include <netvm.h>
#include <stdio.h>
#include <string.h>

enum { ETHER = 14, SIZE = ETHER + 20 };

/* An Ethernet header and an IPv4 header without options, with its checksum; 0 if the address is none. */
static int frame(uint8_t *bytes, const char *address)
{
    static const uint8_t start[SIZE] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x99, 8, 0, 0x45, 0, 0, 20, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1};
    uint8_t *ip = bytes + ETHER;
    unsigned part[4];
    uint32_t sum = 0;
    if (sscanf(address, "%3u.%3u.%3u.%3u", &part[0], &part[1], &part[2], &part[3]) != 4)
        return 0;
    memcpy(bytes, start, sizeof start);
    for (int i = 0; i < 4; i++)
        ip[16 + i] = (uint8_t)part[i];
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16)) & 0xffff;
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const outputs[] = {"eth0", "eth1", "eth2", "eth3"};
    char routes[4096], *text;
    const char *const parameters[] = {routes};
    netvm_reading reading = {NULL, 0, parameters, 1};
    netvm_application *router;
    uint8_t bytes[SIZE], room[65535];
    netvm_packet sent, packet = {bytes, sizeof bytes, 0};
    if (argc < 3)
        return 2;
    snprintf(routes, sizeof routes, "ROUTES=%s", argv[2]);
    if (netvm_application_open_file(argv[1], &reading, NULL, &router, &text) != NETVM_OK) {
        fputs(text, stderr);
        netvm_string_free(text);
        return 1;
    }
    for (int i = 3; i < argc; i++)
        if (frame(bytes, argv[i]))
            netvm_application_push(router, "in", &packet, NULL, 1);
    netvm_application_run(router, 0);
    for (int i = 0; i < 4; i++) {
        int count = 0;
        while (netvm_application_take(router, outputs[i], room, sizeof room, &sent, NULL, 1) == 1)
            count++;
        printf("%s: %d\n", outputs[i], count);
    }
    netvm_application_free(router);
    return 0;
}
