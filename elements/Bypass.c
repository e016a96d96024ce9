/*
 * Bypass([ACTIVE]) -- sends packets another way while that is wanted
 *
 * Packets go straight on, from input 0 to output 0. While ACTIVE is true, false by default, pushed packets leave by output 1, and packets are pulled from input 1. What
 * comes back goes on as if it had never been away: packets pushed into input 1 leave by output 0. Packets pulled at output 1 come from input 0, but not by a way that leads
 * back to input 1, since an element that is asked cannot be asked. Without a second port there is no other way.
 *
 *   INLINE    taken, and changes nothing: elements are compiled together anyhow
 *
 * Example: what comes by is printed while b.active is true.
 *
 *     from -> b :: Bypass -> to;  b[1] -> Print(seen) -> [1]b;
 *
 * Handlers: active (read, write).
 *
 * See also: Switch, InputSwitch.
 */
#include <netvm.h>

ELEMENT(Bypass, "1-2/1-2", "a/a");
PARAM(bool, active, "ACTIVE", OPTIONAL(false));
PARAM(bool, is_inline, "INLINE", KEYWORD(false));

static bool current;

void init(void)
{
    current = active;
}

void push(int port)
{
    emit(current && port == 0 && NOUTPUTS > 1 ? 1 : 0);
}

void pull(int port)
{
    if (packet_ask(current && port == 0 && NINPUTS > 1 ? 1 : 0))
        emit(port);
}

READ(active, bool, current);
WRITE(active, bool, current);
