/*
 * Wide -- computes with numbers of 128 bits
 *
 * Takes 32 bytes of each packet as two numbers, and puts what comes of them in the place of the first; packets that are too short pass as they are.
 *
 * Handlers: high, low (read): the sum of what was computed; known (read): different second numbers
 */
#include <netvm.h>

ELEMENT(Wide, "1/1", "a/a");

struct pair { in6_t a, b; };
TABLE_EXACT(numbers, u128, u32, 100000, 0);

static const u128 ones = ~(u128) 0;
static u128 sum;
static u64 high, low, known;

static u128 mixed(u128 a, u128 b)
{
    u32 by = (u32) b & 127;
    u128 n = (a & ~b) + (a | b) * 3 - (a ^ b << 77) + (b >> 9);

    n += (a << by) - (b >> by) + a / (b >> 64 | 1) + b % (a >> by | 1);
    n ^= (u128) (i64) a + (u8) b + ones;
    if (a < b || a == (u64) a)
        n = -n;
    return n > (u128) 1 << 126 ? n >> 1 : n;
}

static void count(u128 b)
{
    u32 *times = table_insert(numbers, &b);

    if (times && (*times)++ == 0)
        known += 1;
}

void packet(int port)
{
    if (packet_length() < 14 + sizeof(struct pair))
        emit(0);
    struct pair *pair = header(struct pair, 14);
    u128 b = ntoh128(pair->b), n = mixed(ntoh128(pair->a), b);

    count(b);
    pair->a = hton128(n);
    sum += n;
    high = (u64) (sum >> 64);
    low = (u64) sum;
    emit(0);
}

READ(high, u64, high);
READ(low, u64, low);
READ(known, u64, known);
