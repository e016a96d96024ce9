/*
 * dhcp.h -- messages of DHCP: what a client asks, and the options of an answer
 *
 * The message is at offset 0 of the packet. Options may go on in the fields for the file and the server's name (RFC 2132 9.3); one that is there twice
 * counts as it is last. Left out: options that are longer than 255 bytes (RFC 3396).
 *
 * Source: RFC 2131, 2132, 6842.
 */
#pragma once

struct dhcp {
    u8 op, htype, hlen, hops;
    be32 xid;
    be16 secs, flags;
    be32 ciaddr, yiaddr, siaddr, giaddr;
    mac_t chaddr;
    u8 chaddr_rest[10];
    u8 sname[64];
    u8 file[128];
    be32 cookie;
};

/* Where its fields are. */
enum { AT_CHADDR = 28, AT_SNAME = 44, AT_FILE = 108, AT_COOKIE = 236 };
enum { BOOT_REQUEST = 1, BOOT_REPLY = 2, HARDWARE_ETHER = 1, DHCP_COOKIE = 0x63825363, FLAG_BROADCAST = 0x8000 };
enum { SERVER_PORT = 67, CLIENT_PORT = 68 };
enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE, INFORM };
enum {
    OPTION_PAD = 0, OPTION_MASK = 1, OPTION_ROUTERS = 3, OPTION_DNS = 6, OPTION_DOMAIN = 15, OPTION_REQUESTED = 50, OPTION_LEASE_TIME = 51,
    OPTION_OVERLOAD = 52, OPTION_TYPE = 53, OPTION_SERVER = 54, OPTION_RENEWAL = 58, OPTION_REBINDING = 59, OPTION_CLIENT_ID = 61, OPTION_END = 255,
};
/* Options that fit into an answer, and how long a message is at least (RFC 1542 2.1). */
enum { MOST_OPTIONS = 440, LEAST_MESSAGE = 300, LONGEST_ID = 255 };

/* What the message's options say; 0 where they do not. */
struct asked { u8 type; u8 overload; u8 id_length; u32 id_at; u32 lease; be32 server; be32 requested; };
static struct asked asked;
static u8 asked_id[LONGEST_ID];

/* ---- Reading ---- */

static u32 number_at(u32 at)
{
    return ntohl(*header(be32, at));
}

static void read_option(u8 code, u32 at, u8 length)
{
    if (code == OPTION_TYPE && length == 1)
        asked.type = *header(u8, at);
    else if (code == OPTION_OVERLOAD && length == 1)
        asked.overload = *header(u8, at);
    else if (code == OPTION_SERVER && length == 4)
        asked.server = htonl(number_at(at));
    else if (code == OPTION_REQUESTED && length == 4)
        asked.requested = htonl(number_at(at));
    else if (code == OPTION_LEASE_TIME && length == 4)
        asked.lease = number_at(at);
    else if (code == OPTION_CLIENT_ID && length >= 2) {
        asked.id_at = at;
        asked.id_length = length;
    }
}

/* Options in those bytes; false if one goes beyond them. */
static bool read_area(u32 at, u32 end)
{
    const u8 *bytes = header_array(u8, 0, end);

    while (at < end && bytes[at] != OPTION_END) {
        u32 length = at + 1 < end ? bytes[at + 1] : 0;

        if (bytes[at] == OPTION_PAD) {
            at += 1;
            continue;
        }
        if (at + 2 + length > end)
            return false;
        read_option(bytes[at], at + 2, (u8) length);
        at += 2 + length;
    }
    return true;
}

/* Reads all options; false if they are damaged. */
static bool read_options(void)
{
    struct asked nothing = { 0 };

    asked = nothing;
    for (int area = 0; area < 3; area++) {
        u32 at = area == 0 ? (u32) sizeof(struct dhcp) : area == 1 ? AT_FILE : AT_SNAME;
        u32 end = area == 0 ? packet_length() : area == 1 ? AT_COOKIE : AT_FILE;

        if ((area == 0 || (asked.overload >> (area - 1) & 1) != 0) && !read_area(at, end))
            return false;
    }
    packet_read(asked_id, asked.id_at, asked.id_length);
    return true;
}

/* ---- Writing ---- */

/* Where the next option is written. */
static u32 option_at;

static void put_header(u8 code, u32 length)
{
    *header(u8, option_at) = code;
    *header(u8, option_at + 1) = (u8) length;
    option_at += 2;
}

static void put_address(be32 address)
{
    *header(be32, option_at) = address;
    option_at += 4;
}

static void put_number(u8 code, u32 number)
{
    put_header(code, 4);
    put_address(htonl(number));
}

/* Makes room for options of an answer, behind a message without names. */
static void begin_options(u8 type)
{
    static const u8 nothing[192];
    u32 room = (u32) sizeof(struct dhcp) + MOST_OPTIONS, length = packet_length();

    if (length < room)
        packet_put(room - length);
    else
        packet_trim(length - room);
    packet_write(AT_SNAME, nothing, sizeof(nothing));
    option_at = (u32) sizeof(struct dhcp);
    put_header(OPTION_TYPE, 1);
    *header(u8, option_at) = type;
    option_at += 1;
}

/* The client's identifier comes back (RFC 6842); the message ends. */
static void end_options(void)
{
    u32 length;

    if (asked.id_length > 0) {
        put_header(OPTION_CLIENT_ID, asked.id_length);
        packet_write(option_at, asked_id, asked.id_length);
        option_at += asked.id_length;
    }
    *header(u8, option_at) = OPTION_END;
    length = option_at + 1;
    while (length < LEAST_MESSAGE) {
        *header(u8, length) = OPTION_PAD;
        length += 1;
    }
    packet_trim(packet_length() - length);
}
