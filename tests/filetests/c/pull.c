=== asking elsewhere than in pull
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static bool get(void) { return packet_ask(0); }
void packet(int port)
{
    if (get())
        emit(0);
}
void pull(int port)
{
    if (get())
        emit(port);
}
=== a view used behind a question
#include <netvm.h>
ELEMENT(E, "2/1", "l/l");
void pull(int port)
{
    u8 *first;
    if (!packet_ask(0))
        return;
    first = header(u8, 0);
    if (*first == 1 && packet_ask(1))
        *first = 2;
    emit(port);
}
--- ports
ll/l
=== an entry used behind a question
#include <netvm.h>
ELEMENT(E, "1/1", "l/l");
TABLE_EXACT(counts, u8, u32, 8, 0);
void pull(int port)
{
    u8 key = 1;
    u32 *count = table_insert(counts, &key);
    if (count && packet_ask(port))
        *count += 1;
    if (packet_present())
        emit(port);
}
--- ports
l/l
=== a packet for another than who asked
#include <netvm.h>
ELEMENT(E, "1/3", "l/llh");
void pull(int port)
{
    if (packet_ask(0) && packet_length() > 4)
        emit(2);
    if (packet_length() > 3)
        emit(1);
    if (packet_length() > 2)
        emit(packet_length() & 1);
    emit(port);
}
--- ports
l/llh
=== the port is what it is
#include <netvm.h>
ELEMENT(E, "1/1", "l/l");
void pull(int port)
{
    port = 0;
    if (packet_ask(0))
        emit(port);
}
--- ports
l/l
=== other types
#include <netvm.h>
ELEMENT(E, "1/1", "l/l");
int pull(void)
{
    return packet_ask(0);
}
--- ports
l/l
=== inputs that are computed, or not there, or push
#include <netvm.h>
ELEMENT(E, "3/2", "llh/ll");
static int next;
void push(int port)
{
    packet_hold(0);
}
void pull(int port)
{
    next = (next + 1) % NINPUTS;
    if (packet_ask(next) || packet_ask(2) || packet_ask(7) || packet_ask(-1) || packet_take(0))
        emit(port);
}
--- ports
llh/ll
