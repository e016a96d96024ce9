/*
 * IPFragmenter(MTU [, HONOR_DF, VERBOSE, keyword HEADROOM]) -- cuts large IP packets into fragments
 *
 * The packet begins with its marked IP header; what is before it stays with the first fragment only, so take it off first. A packet of at most MTU
 * bytes leaves unchanged by output 0. A larger one leaves there as fragments of at most MTU bytes (RFC 791 3.2), in order, with the packet's
 * annotations; options marked so are copied to all of them. If it must not be fragmented, or MTU has no room for its header and eight bytes, it leaves by output 1,
 * usually to an ICMPError (unreachable, needfrag), or is dropped; HONOR_DF false has it fragmented nevertheless, with a random identification, since its own need not be
 * unique (RFC 6864 4.1).
 *
 * VERBOSE true prints a line for each packet that is not fragmented. HEADROOM, free bytes before fragments, is taken and changes nothing: room is made when it is
 * asked for.
 *
 * Handlers: drops (read), packets that were not fragmented though they are larger; fragments (read), fragments made.
 *
 * See also: ICMPError.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPFragmenter, "1/1-2", "h/h");
PARAM(u32, mtu, "MTU", REQUIRED);
PARAM(bool, honors_df, "HONOR_DF", OPTIONAL(true));
PARAM(bool, verbose, "VERBOSE", OPTIONAL(false));
PARAM(u32, headroom, "HEADROOM", KEYWORD(28));
REQUIRE(mtu >= 8, "MTU is below 8");

enum { MUST_NOT_FRAGMENT, MTU_TOO_SMALL };
enum { LONGEST = 65536, MOST_OPTIONS = 40, OPTION_END = 0, OPTION_NOP = 1, COPIED = 0x80 };

static u64 drops, fragments;
static u8 payload[LONGEST];
static u8 options[MOST_OPTIONS];

/* Leaves in `options` those that all fragments have, padded to words; returns their length. */
static u32 keep_copied_options(u32 length)
{
    u32 kept = 0;

    for (u32 at = 0; at < length && options[at] != OPTION_END;) {
        u32 size = options[at] == OPTION_NOP ? 1 : at + 1 < length ? options[at + 1] : 0;

        if (size == 0 || at + size > length)
            break;
        if ((options[at] & COPIED) != 0)
            for (u32 i = 0; i < size; i++)
                options[kept++] = options[at + i];
        at += size;
    }
    while (kept % 4 != 0)
        options[kept++] = OPTION_END;
    return kept;
}

/* Makes the packet a fragment of so many payload bytes, from that byte on; `fragment` is its field without offset. */
static void make(u32 start, u32 header_length, u32 from, u32 size, u16 fragment)
{
    u32 length = start + header_length + size;
    struct ip *ip;

    if (packet_length() > length)
        packet_trim(packet_length() - length);
    else
        packet_put(length - packet_length());
    packet_write(start + header_length, &payload[from], size);
    ip = header(struct ip, start);
    ip->version_ihl = (u8) (4 << 4 | header_length / 4);
    ip->length = htons((u16) (header_length + size));
    ip->fragment = htons((u16) (fragment + from / 8));
    ip_set_checksum(start);
    fragments += 1;
}

/* Sends the first fragment, with all options; the next ones get those that are copied. Returns their header's length. */
static u32 send_first(u32 start, u32 header_length, u32 size, u16 fragment)
{
    u32 kept;

    make(start, header_length, 0, size, fragment);
    clone(0);
    packet_read(options, start + (u32) sizeof(struct ip), header_length - (u32) sizeof(struct ip));
    kept = keep_copied_options(header_length - (u32) sizeof(struct ip));
    packet_write(start + (u32) sizeof(struct ip), options, kept);
    return (u32) sizeof(struct ip) + kept;
}

/* Makes all fragments, sends all but the last. */
static void split(u32 start, u32 header_length, u32 total, u16 last_field)
{
    u16 field = (u16) (last_field | IP_MORE_FRAGMENTS);
    u32 size = (mtu - header_length) & ~7u, sent = size;

    header_length = send_first(start, header_length, size, field);
    size = (mtu - header_length) & ~7u;
    while (total - sent > mtu - header_length) {
        make(start, header_length, sent, size, field);
        clone(0);
        sent += size;
    }
    make(start, header_length, sent, total - sent, last_field);
}

static void count_drop(const struct ip *ip)
{
    drops += 1;
    if (!verbose)
        return;
    print("IPFragmenter(");
    print_uint(mtu);
    print(") DF ");
    print_ip(ip->src);
    print(" ");
    print_ip(ip->dst);
    print(" len=");
    print_uint(ntohs(ip->length));
    print("\n");
}

void push(int port)
{
    u32 start = network_offset();
    const struct ip *ip = header(struct ip, start);
    u32 length = ntohs(ip->length), header_length = ip_header_length(ip);
    u16 field = ntohs(ip->fragment);

    bool must_not = honors_df && (field & IP_DONT_FRAGMENT) != 0;

    if (length <= mtu)
        emit(0);
    if (must_not || mtu < header_length + 8 || header_length < sizeof(struct ip)) {
        count_drop(ip);
        if (NOUTPUTS > 1)
            emit(1);
        if (must_not)
            drop(MUST_NOT_FRAGMENT);
        drop(MTU_TOO_SMALL);
    }
    packet_read(payload, start + header_length, length - header_length);
    if ((field & IP_DONT_FRAGMENT) != 0)
        header(struct ip, start)->id = htons((u16) random32());
    split(start, header_length, length - header_length, field & ~IP_DONT_FRAGMENT);
    emit(0);
}

READ(drops, u64, drops);
READ(fragments, u64, fragments);
