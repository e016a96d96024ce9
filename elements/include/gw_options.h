/*
 * gw_options.h -- what every router must do with IP options (RFC 791 3.1, RFC 1812 5.2.4)
 *
 * The class that includes this has declared my_address, the router's address on the interface that packets leave by, and is_mine(address). process_all sets
 * `changed` where the header's checksum is no longer right.
 */

enum { OPTION_END = 0, OPTION_NOP = 1, OPTION_ROUTE = 7, OPTION_TIMESTAMP = 68 };
enum { TIMES_ONLY = 0, ADDRESSES_TOO = 1, ADDRESSES_GIVEN = 3 };
enum { NOTHING_WRONG = 0 };

static bool changed;

/* Milliseconds since midnight, Universal Time. */
static u32 time_of_day(void)
{
    return (u32) (now() / 1000000 % 86400000);
}

/* The functions for options get the option's offset in the packet; they return which of its bytes is wrong, counted from 1, or 0. */
static u32 record_route(u32 at, u32 length)
{
    u8 *option = header_array(u8, at, length);
    u32 pointer = length > 2 ? option[2] : 0;

    if (pointer < 4)
        return 3;
    if (pointer > length)
        return NOTHING_WRONG;
    if (pointer + 3 > length)
        return 3;
    *header(be32, at + pointer - 1) = my_address;
    option[2] = (u8) (pointer + 4);
    changed = true;
    return NOTHING_WRONG;
}

/* The upper half of the fourth byte counts routers that found no room; it must not overflow. */
static u32 count_overflow(u8 *option)
{
    if (option[3] >> 4 == 15)
        return 4;
    option[3] += 0x10;
    changed = true;
    return NOTHING_WRONG;
}

static void put_time(u8 *option, u32 at, u32 end)
{
    *header(be32, at) = htonl(time_of_day());
    option[2] = (u8) end;
    changed = true;
}

static u32 put_timestamp(u8 *option, u32 at, u32 pointer, u32 kind)
{
    be32 *address = header(be32, at + pointer - 1);

    if (kind == TIMES_ONLY)
        put_time(option, at + pointer - 1, pointer + 4);
    else if (kind == ADDRESSES_TOO || is_mine(*address)) {
        if (kind == ADDRESSES_TOO)
            *address = my_address;
        put_time(option, at + pointer + 3, pointer + 8);
    }
    return NOTHING_WRONG;
}

static u32 timestamp(u32 at, u32 length)
{
    u8 *option = header_array(u8, at, length);
    u32 pointer = length > 3 ? option[2] : 0, kind = length > 3 ? option[3] & 15u : 0;
    u32 room = kind == TIMES_ONLY ? 4 : 8;

    if (pointer < 5)
        return 3;
    if (kind != TIMES_ONLY && kind != ADDRESSES_TOO && kind != ADDRESSES_GIVEN)
        return 4;
    if (pointer > length)
        return count_overflow(option);
    if (pointer - 1 + room > length)
        return 3;
    return put_timestamp(option, at, pointer, kind);
}

static u32 process(u8 type, u32 at, u32 length)
{
    if (type == OPTION_ROUTE)
        return record_route(at, length);
    if (type == OPTION_TIMESTAMP)
        return timestamp(at, length);
    return NOTHING_WRONG;
}

/* Goes through all options; returns the offset of the wrong byte in the header, or 0. */
static u32 process_all(u32 start, u32 end)
{
    const u8 *bytes = header_array(u8, start, end);
    u32 at = sizeof(struct ip);

    while (at < end && bytes[at] != OPTION_END) {
        u32 length = bytes[at] == OPTION_NOP ? 1 : at + 1 < end ? bytes[at + 1] : 0;
        u32 wrong;

        if (bytes[at] != OPTION_NOP && (length < 2 || at + length > end))
            return at + 1;
        wrong = process(bytes[at], start + at, length);
        if (wrong != NOTHING_WRONG)
            return at + wrong - 1;
        at += length;
    }
    return NOTHING_WRONG;
}
