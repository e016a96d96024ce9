=== functions of netvm.h without their parentheses
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 before(void) { return packet + 14; }
void packet(int port)
{
    u32 length = packet_length;
    if (length > now) packet_pull;
    u8 first = packet[14];
    length = packet + before;
    emit;
    drop;
    emit(0);
}
