/*
 * ShortOnly(LENGTH) -- lets packets pass that are no longer than a limit, and drops others
 *
 * A class that is not in the library, for programs that embed netvm (tests/abi.c).
 */
#include <netvm.h>

ELEMENT(ShortOnly, "1/1", "a/a");
PARAM(u32, limit, "LENGTH", REQUIRED);

enum { TOO_LONG };

void packet(int port)
{
    if (packet_length() <= limit)
        emit(0);
    drop(TOO_LONG);
}
