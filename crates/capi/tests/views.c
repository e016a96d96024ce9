/* views PROGRAM ENGINE: a coprocessor whose operations see packet and annotations, and is used by an element that is a NetIL program. Prints what the unit saw of each
 * packet. */
#include <netvm.h>
#include <stdio.h>
#include <stdlib.h>

static void *make(void *context)
{
    return context;
}

/* Register 0 becomes how many bytes of the packet there are, register 1 the sum of its annotations; 255 for what is not shown. */
static int invoke(void *unit, uint32_t operation, uint32_t *registers, const struct netvm_views *views)
{
    uint32_t sum = 0;
    (void)unit, (void)operation;
    for (size_t i = 0; views->info && i < views->info_len; i++)
        sum += views->info[i];
    registers[0] = views->packet ? (uint32_t)views->packet_len : 255;
    registers[1] = views->info ? sum : 255;
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const operations[] = {"look"};
    static int unit;
    netvm_coprocessor look = {"look", NULL, operations, 1, 2, 20, &unit, make, NULL, NULL, NULL};
    netvm_application *application;
    netvm_packet sent, packet = {NULL, 60, 0};
    uint8_t bytes[60] = {0}, room[65535];
    char configuration[512], *text;
    if (argc < 3 || netvm_coprocessor_register_views(&look, NULL, NULL) != NETVM_ARGUMENT
        || netvm_coprocessor_register_views(NULL, invoke, NULL) != NETVM_ARGUMENT
        || netvm_coprocessor_register(&look, NULL) != NETVM_ARGUMENT)
        return 2;
    snprintf(configuration, sizeof configuration, "FromDevice(in) -> Paint(7) -> NetIL(%s) -> ToDevice(out);", argv[1]);
    if (netvm_coprocessor_register_views(&look, invoke, &text) != NETVM_OK
        || netvm_application_open(configuration, argv[2], &application, &text) != NETVM_OK) {
        fputs(text, stderr);
        netvm_string_free(text);
        return 1;
    }
    packet.data = bytes;
    for (bytes[0] = 0; bytes[0] < 3; bytes[0]++)
        netvm_application_push(application, "in", &packet, NULL, 1);
    netvm_application_run(application, 0);
    while (netvm_application_take(application, "out", room, sizeof room, &sent, NULL, 1) == 1)
        printf("%d: %d %d\n", sent.data[0], sent.data[1], sent.data[2]);
    netvm_application_free(application);
    return 0;
}
