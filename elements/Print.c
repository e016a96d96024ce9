/*
 * Print([LABEL, MAXLENGTH, keywords CONTENTS, TIMESTAMP, PRINTANNO, HEADROOM, ACTIVE]) -- prints packets in hexadecimal
 *
 * One line a packet: LABEL, the packet's length, and up to MAXLENGTH bytes (24 by default; negative: all). Packets leave unchanged.
 *
 *   CONTENTS   HEX (default), ASCII or NONE, also true or false
 *   TIMESTAMP  true: the arrival time too; false by default
 *   PRINTANNO  true: the 48 bytes of Click's annotations too; those that elements here have no place for are 0; false by default
 *   HEADROOM   true: (hN tN), by how many bytes the packet could grow at its head and at its tail; false by default
 *   ACTIVE     false: nothing is printed; true by default
 *
 * Handlers: active (read/write). Left out: CPU, which Click has in Linux's kernel only.
 *
 * Example: `Print(ok)` prints a UDP packet so:
 *
 *     ok:   28 | 4500001c 00000000 401166cf 01000001 02000002 000d000d
 *
 * See also: IPPrint.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Print, "1/1", "a/a");
PARAM(string, label, "LABEL", OPTIONAL(""));
PARAM(i32, max_length, "MAXLENGTH", OPTIONAL(24));
PARAM_AS(CONTENTS, u8, contents, "CONTENTS", KEYWORD(1));
PARAM(bool, timestamp, "TIMESTAMP", KEYWORD(false));
PARAM(bool, prints_annotations, "PRINTANNO", KEYWORD(false));
PARAM(bool, prints_room, "HEADROOM", KEYWORD(false));
PARAM(bool, active_at_start, "ACTIVE", KEYWORD(true));

enum { NONE, HEX, ASCII };
enum { LONGEST = 65535 };

static bool active;

void init(void)
{
    active = active_at_start;
}

static u32 printed_length(void)
{
    if (max_length < 0 || packet_length() < (u32) max_length)
        return packet_length();
    return (u32) max_length;
}

/* Byte by byte, as Click has them: numbers in network order, the others of the machine. */
static void print_annotations(void)
{
    u32 tag_or_user = info(vlan_tci) != 0 ? info(vlan_tci) : (u32) annotation(20) << 8 | annotation(21);

    print(" | ");
    print_hex(info(dst_ip) != htonl(0) ? ntohl(info(dst_ip)) : (u32) (ntoh128(info(dst_ip6)) >> 96), 8);
    for (int i = 4; i < 16; i++)
        print_hex(info(dst_ip6).byte[i], 2);
    for (int i = 16; i < 20; i++)
        print_hex(annotation(i), 2);
    print_hex(tag_or_user, 4);
    print_hex(annotation(22), 2);
    print_hex(annotation(23), 2);
    print("000000000000000000000000000000000000000000000000");
}

/* Room is made when it is asked for, at either end. */
static void print_rooms(void)
{
    print(" (h");
    print_uint(LONGEST - packet_length());
    print(" t");
    print_uint(LONGEST - packet_length());
    print(")");
}

static void print_contents(void)
{
    if (contents == NONE || printed_length() == 0)
        return;
    print(" | ");
    if (contents == HEX) {
        print_bytes(0, printed_length());
    } else {
        print(" ");
        print_ascii(0, printed_length());
    }
}

static void print_packet(void)
{
    if (!text_is(label, "")) {
        print_text(label);
        print(": ");
    }
    if (timestamp) {
        print_time(now());
        print(": ");
    }
    print_padded(packet_length());
    if (prints_room)
        print_rooms();
    if (prints_annotations)
        print_annotations();
    print_contents();
    print("\n");
}

void packet(int port)
{
    if (active)
        print_packet();
    emit(0);
}

READ(active, bool, active);
WRITE(active, bool, active);
