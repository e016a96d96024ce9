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
=== arrays of arrays
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 t[3][2];
static u32 sum(u32 (*p)[2]);
static u32 use(u32 *p) { return *p; }
READ(t, u32, t);
void packet(int port) { use(t); use(&t); u32 x = t[1]; emit(0); }
