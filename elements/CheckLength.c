/*
 * CheckLength(LENGTH [, keyword USE_EXTRA_LENGTH]) -- lets packets pass that are no longer than a limit
 *
 * Packets of at most LENGTH bytes leave by output 0. Longer ones leave by output 1 if there is one, and are dropped otherwise. With USE_EXTRA_LENGTH true
 * (false by default) the length is that on the wire, which may be more than a capture has.
 *
 * Handlers: length (read, write), the limit.
 *
 * See also: Truncate, IPFragmenter.
 */
#include <netvm.h>

ELEMENT(CheckLength, "1/1-2", "a/ah");
PARAM(u32, limit, "LENGTH", REQUIRED);
PARAM(bool, on_wire, "USE_EXTRA_LENGTH", KEYWORD(false));

enum { TOO_LONG };

static u32 current_limit;

void init(void)
{
    current_limit = limit;
}

void packet(int port)
{
    u32 length = on_wire ? wire_length() : packet_length();

    if (length <= current_limit)
        emit(0);
    if (NOUTPUTS > 1)
        emit(1);
    drop(TOO_LONG);
}

READ(length, u32, current_limit);
WRITE(length, u32, current_limit);
