/*
 * Pipeliner([keywords CAPACITY, BLOCKING, ALWAYS_UP, THREAD, ...]) -- lets another core go on with packets
 *
 * Packets leave unchanged and at once: how elements are spread over cores is said by `netvm run --place`, and no queue of their own is needed for it. The arguments are taken, and change
 * nothing.
 *
 * See also: Queue, PushNull. Source: the manual of FastClick's element.
 */
#include <netvm.h>

ELEMENT(Pipeliner, "1-/=", "h/h");
ELEMENT_FLOW("#/#");
PARAM(u32, capacity, "CAPACITY", OPTIONAL(1024));
PARAM(bool, blocking, "BLOCKING", KEYWORD(true));
PARAM(bool, always_up, "ALWAYS_UP", KEYWORD(false));
PARAM(bool, nouseless, "NOUSELESS", KEYWORD(true));
PARAM(u32, prefetch, "PREFETCH", KEYWORD(0));
PARAM(bool, verbose, "VERBOSE", KEYWORD(true));
PARAM(int, thread, "THREAD", KEYWORD(-1));

static u64 count;

void push(int port)
{
    count += 1;
    emit(port);
}

READ(count, u64, count);
