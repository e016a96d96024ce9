/*
 * Print([LABEL, MAXLENGTH, keywords CONTENTS, TIMESTAMP, ACTIVE]) -- prints packets in hexadecimal
 *
 * One line a packet: LABEL, the packet's length, and up to MAXLENGTH bytes (24 by default; negative: all). Packets leave unchanged.
 *
 *   CONTENTS   HEX (default) or NONE, also true or false
 *   TIMESTAMP  true: the arrival time too; false by default
 *   ACTIVE     false: nothing is printed; true by default
 *
 * Handlers: active (read/write). Left out: CONTENTS ASCII, PRINTANNO, HEADROOM.
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
PARAM(string, contents, "CONTENTS", KEYWORD("HEX"));
PARAM(bool, timestamp, "TIMESTAMP", KEYWORD(false));
PARAM(bool, active_at_start, "ACTIVE", KEYWORD(true));

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
    if (printed_length() > 0 && !text_is(contents, "NONE") && !text_is(contents, "false")) {
        print(" | ");
        print_bytes(0, printed_length());
    }
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
