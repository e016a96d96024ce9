/*
 * Discard -- drops all packets
 *
 * Handlers: count (read), packets dropped; reset_counts (write), it becomes 0.
 *
 * The keywords ACTIVE and BURST of Click are left out.
 *
 * See also: Idle, ToDump.
 */
#include <netvm.h>

ELEMENT(Discard, "1/0", "a/a");

enum { DISCARDED };

static u64 count;

void packet(int port)
{
    count += 1;
    drop(DISCARDED);
}

static void reset_counts(void)
{
    count = 0;
}

READ(count, u64, count);
WRITE_CALL(reset_counts, none, reset_counts);
