/*
 * Tally -- counts packets: its own, those of its class, and those of all that count
 *
 * Handlers: own, class, all (read); bytes (read), of the packets of its class by length; all (write).
 */
#include <netvm.h>

ELEMENT(Tally, "1/1", "a/a");

enum { SHORT = 100, LONG = 1000 };

static u32 own;
static u64 of_class[3];
SCOPE(of_class, GLOBAL);
static u64 everybodys = 1000;
SCOPE(everybodys, UNIVERSAL);

/* A pointer to what others have as well. */
static void add(u64 *sum, u32 more)
{
    *sum += more;
}

void init(void)
{
    everybodys += 1;
}

void packet(int port)
{
    u32 length = packet_length();

    own += 1;
    everybodys += 1;
    add(&of_class[length < SHORT ? 0 : length < LONG ? 1 : 2], length);
    emit(0);
}

static u64 short_and_long(void)
{
    return of_class[0] * 1000000000 + of_class[1] + of_class[2];
}

READ(own, u32, own);
READ(all, u64, everybodys);
WRITE(all, u64, everybodys);
READ_CALL(bytes, u64, short_and_long);
