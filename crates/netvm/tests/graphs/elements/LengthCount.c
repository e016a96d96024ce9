/*
 * LengthCount([keyword LENGTHS]) -- counts packets and bytes by the length of the packet
 *
 *   LENGTHS  lengths that are counted
 *
 * Handlers: all, uncounted (read); length (write) chooses one: packets (read), sums (read) are of it.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(LengthCount, "1/1", "a/a");
PARAM(u32, lengths, "LENGTHS", KEYWORD(4096));

struct count { u64 packets; u32 bytes; };
TABLE_EXACT(counts, u16, struct count, lengths, 0);

static u64 all, uncounted;
static u16 chosen;

void packet(int port)
{
    u16 length = (u16) packet_length();
    struct count *count = table_insert(counts, &length);

    all += 1;
    if (!count) {
        uncounted += 1;
        emit(0);
    }
    count->packets += 1;
    count->bytes += wire_length();
    emit(0);
}

static u64 packets(void)
{
    struct count *count = table_peek(counts, &chosen);

    return count ? count->packets : 0;
}

static void print_sums(void)
{
    struct count *count = table_peek(counts, &chosen);

    print_uint(all);
    print(" ");
    print_uint(packets());
    print(" ");
    print_uint(count ? count->bytes : 0);
    print("\n");
}

READ(all, u64, all);
READ(uncounted, u64, uncounted);
WRITE(length, u16, chosen);
READ_CALL(packets, u64, packets);
READ_CALL(sums, text, print_sums);
