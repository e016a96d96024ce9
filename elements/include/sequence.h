/*
 * sequence.h -- sequence numbers of TCP connections of which an element before the rewriter has made segments longer or shorter, for TCPRewriter
 *
 * Each direction has a list of places in its sender's numbers; from each on they are shifted, as is what the other end acknowledges, in selective acknowledgements (RFC 2018) too.
 * A place is forgotten once numbers have come that are 1G behind it: all are shifted then. At most MOST_SHIFTS are known; the oldest one goes for a new one.
 *
 * The class has declared `tcp_timeout`, and has included flow.h. Source: Click's TCPRewriter.
 */
enum { MOST_SHIFTS = 8, LONG_AGO = 1 << 30 };
enum { TCP_OPTION_END = 0, TCP_OPTION_NOP = 1, TCP_OPTION_SACK = 5, SACK_BLOCK = 8 };

struct shifts {
    i32 before;                 /* how far numbers are shifted before the first place */
    u32 count;
    u32 place[MOST_SHIFTS];
    i32 shift[MOST_SHIFTS];     /* all up to that place together */
};

/* By the flow of the direction, as it is before it is rewritten. */
TABLE_EXACT(shifted, struct flow, struct shifts, 2 * MOST_MAPPINGS, tcp_timeout);

/* So that connections are not looked up where there never was one. */
static bool is_any_shifted;

static inline bool is_behind(u32 number, u32 place)
{
    return (i32) (number - place) >= 0;
}

static inline i32 last_shift(const struct shifts *shifts)
{
    return shifts->count == 0 ? shifts->before : shifts->shift[shifts->count - 1];
}

static u32 shifted_sequence(const struct shifts *shifts, u32 sequence)
{
    for (u32 i = shifts->count; i > 0; i--)
        if (is_behind(sequence, shifts->place[i - 1]))
            return sequence + (u32) shifts->shift[i - 1];
    return sequence + (u32) shifts->before;
}

/* What the other end acknowledges, in its sender's numbers. */
static u32 shifted_back(const struct shifts *shifts, u32 acknowledged)
{
    for (u32 i = shifts->count; i > 0; i--)
        if (is_behind(acknowledged - (u32) shifts->shift[i - 1], shifts->place[i - 1]))
            return acknowledged - (u32) shifts->shift[i - 1];
    return acknowledged - (u32) shifts->before;
}

static void forget_oldest(struct shifts *shifts)
{
    shifts->before = shifts->shift[0];
    for (u32 i = 1; i < shifts->count; i++) {
        shifts->place[i - 1] = shifts->place[i];
        shifts->shift[i - 1] = shifts->shift[i];
    }
    shifts->count -= 1;
}

/* From that place of this_flow on, numbers are shifted so much more. Places come in their order; one that comes again is said anew. */
static void shift_from(u32 place, i32 by)
{
    struct shifts *shifts = table_insert(shifted, &this_flow);

    if (!shifts || (shifts->count > 0 && !is_behind(place, shifts->place[shifts->count - 1])))
        return;
    if (shifts->count > 0 && place == shifts->place[shifts->count - 1])
        shifts->count -= 1;
    while (shifts->count == MOST_SHIFTS || (shifts->count > 0 && is_behind(place, shifts->place[0] + LONG_AGO)))
        forget_oldest(shifts);
    shifts->shift[shifts->count] = last_shift(shifts) + by;
    shifts->place[shifts->count] = place;
    shifts->count += 1;
    is_any_shifted = true;
}

/* A checksum, once 32 bits at an offset from its beginning have changed: at odd offsets bytes have the other's weight. */
static u16 update_sum_at(u16 sum, u32 offset, u32 before, u32 after)
{
    if (offset % 2 == 0)
        return checksum_update32(sum, before, after);
    sum = (u16) (sum << 8 | sum >> 8);
    sum = checksum_update32(sum, before, after);
    return (u16) (sum << 8 | sum >> 8);
}

/* Shifts back the blocks of one option; returns the segment's checksum. */
static u16 shift_blocks(const struct shifts *shifts, u32 transport, u32 at, u32 end, u16 sum)
{
    for (; at < end; at += sizeof(be32)) {
        be32 *edge = header(be32, at);
        u32 before = ntohl(*edge), after = shifted_back(shifts, before);

        *edge = htonl(after);
        sum = update_sum_at(sum, at - transport, before, after);
    }
    return sum;
}

static void shift_selective(const struct shifts *shifts, u32 transport)
{
    struct tcp *tcp = header(struct tcp, transport);
    u32 at = transport + sizeof(struct tcp), end = transport + (u32) (tcp->data_offset >> 4) * 4;
    u16 sum = ntohs(tcp->checksum);

    while (at + 2 <= end && end <= packet_length()) {
        u8 kind = *header(u8, at);
        u32 length = kind == TCP_OPTION_NOP ? 1 : *header(u8, at + 1);

        if (kind == TCP_OPTION_END || length == 0 || at + length > end || (kind != TCP_OPTION_NOP && length < 2))
            break;
        if (kind == TCP_OPTION_SACK && length % SACK_BLOCK == 2)
            sum = shift_blocks(shifts, transport, at + 2, at + length, sum);
        at += length;
    }
    header(struct tcp, transport)->checksum = htons(sum);
}

static void shift_own(u32 transport)
{
    struct shifts *shifts = table_find(shifted, &this_flow);
    struct tcp *tcp = header(struct tcp, transport);
    u32 before = ntohl(tcp->seq), after;

    if (!shifts)
        return;
    if (shifts->count > 0 && is_behind(before, shifts->place[shifts->count - 1] + LONG_AGO)) {
        shifts->before = last_shift(shifts);
        shifts->count = 0;
    }
    after = shifted_sequence(shifts, before);
    tcp->seq = htonl(after);
    tcp->checksum = htons(checksum_update32(ntohs(tcp->checksum), before, after));
}

static void shift_others(u32 transport)
{
    const struct shifts *shifts = table_find(shifted, &replies);
    struct tcp *tcp = header(struct tcp, transport);
    u32 before = ntohl(tcp->ack), after;

    if (!shifts)
        return;
    after = shifted_back(shifts, before);
    tcp->ack = htonl(after);
    tcp->checksum = htons(checksum_update32(ntohs(tcp->checksum), before, after));
    shift_selective(shifts, transport);
}

/* The segment's own numbers, and those that it acknowledges. `replies` is the other direction. */
static void shift_numbers(u32 transport)
{
    if (!is_any_shifted)
        return;
    shift_own(transport);
    shift_others(transport);
}

/* ---- For FTPPortMapper: of the flow that map_source and map_destination name ---- */

static u32 place_of_next;

static void set_place(u32 place)
{
    place_of_next = place;
}

static void shift_at_place(i32 by)
{
    shift_from(place_of_next, by);
}

WRITE_CALL(shift_place, u32, set_place);
WRITE_CALL(shift, i32, shift_at_place);
