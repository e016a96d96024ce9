/*
 * ICMPError(SRC, TYPE [, CODE, BADADDRS, MTU, keywords PMTU, USE_FIX_ANNO, SET_FIX_ANNO]) -- answers IP packets with ICMP errors
 *
 * The packet, whose IP header must be marked, becomes an ICMP error to its sender: from SRC, with TYPE and CODE (0 by default), and as much of the
 * packet as fits into MTU bytes (576 by default); packets are dropped where not even its headers fit. Types and codes are numbers or names: unreachable (net, host, protocol, port, needfrag),
 * sourcequench, redirect (net, host), timeexceeded (transit, reassembly), parameterproblem (erroratptr, missingopt, length).
 *
 * No error is sent about ICMP errors, later fragments, link-layer broadcasts and multicasts, packets to or from addresses that are not one host's,
 * and those in the list BADADDRS (RFC 1122 3.2.2, RFC 1812 4.3.2.7), and no redirect about packets with a source route (RFC 1812 5.2.7.2): such packets are dropped.
 *
 * A redirect names the destination annotation as gateway; a parameter problem the byte in its annotation; needfrag the PMTU. A source
 * route that the packet has gone is reversed for the error. The destination annotation becomes the sender, and fix_ip_src is set
 * (unless USE_FIX_ANNO or SET_FIX_ANNO, its other name, is false), so that FixIPSrc can put in the address of the interface that the error leaves by.
 *
 * Handlers: src, mtu, pmtu (read, write), the arguments.
 *
 * Example: `ttl :: DecIPTTL;  ttl[1] -> ICMPError(18.26.4.24, timeexceeded) -> ...`
 *
 * Source: RFC 792. See also: DecIPTTL, FixIPSrc, IPGWOptions, IPFragmenter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMPError, "1/1", "a/a");
/* Of an ICMP type. */
#define IS_ERROR(type) \
    ((type) == ICMP_UNREACHABLE || (type) == ICMP_SOURCE_QUENCH || (type) == ICMP_REDIRECT || (type) == ICMP_TIME_EXCEEDED || (type) == ICMP_PARAMETER_PROBLEM)

PARAM(be32, source, "SRC", REQUIRED);
PARAM_AS(ICMP_TYPE, u8, error_type, "TYPE", REQUIRED);
PARAM_AS(ICMP_CODE, u8, error_code, "CODE", OPTIONAL(0));
PARAM_LIST(be32, bad_addresses, "BADADDRS", OPTIONAL(0));
PARAM(u32, mtu, "MTU", OPTIONAL(576));
PARAM(u16, path_mtu, "PMTU", KEYWORD(0));
PARAM(bool, uses_fix, "USE_FIX_ANNO", KEYWORD(true));
PARAM(bool, sets_fix, "SET_FIX_ANNO", KEYWORD(true));
REQUIRE(IS_ERROR(error_type), "TYPE is not that of an error");

enum { NO_ERROR_ABOUT_THIS, MTU_TOO_SMALL };
enum { LONGEST = 4096, MOST_OPTIONS = 40, ERROR_TTL = 200, NEEDS_FRAGMENTATION = 4, ERROR_AT_POINTER = 0 };
enum { OPTION_END = 0, OPTION_NOP = 1, LOOSE_ROUTE = 131, STRICT_ROUTE = 137, FIRST_ADDRESS = 4 };

static u8 original[LONGEST];
static u8 route[MOST_OPTIONS];
static u16 next_id = 1;
static be32 current_source;
static u32 current_mtu;
static u16 current_path_mtu;

void init(void)
{
    current_source = source;
    current_mtu = mtu;
    current_path_mtu = path_mtu;
}

static bool is_error(u8 type)
{
    return IS_ERROR(type);
}

/* Not 0/8, not loopback, not multicast or above. */
static bool is_one_host(be32 address)
{
    u32 first = ntohl(address) >> 24;

    return first != 0 && first != 127 && first < 224;
}

/* Where the source route option begins in the packet, or 0. */
static u32 find_route(u32 start, u32 end)
{
    const u8 *bytes = header_array(u8, start, end);

    for (u32 at = sizeof(struct ip); at < end && bytes[at] != OPTION_END;) {
        u32 length = bytes[at] == OPTION_NOP ? 1 : at + 1 < end ? bytes[at + 1] : 0;

        if (length == 0 || at + length > end)
            return 0;
        if ((bytes[at] == LOOSE_ROUTE || bytes[at] == STRICT_ROUTE) && length >= 3)
            return start + at;
        at += length;
    }
    return 0;
}

static bool may_be_answered(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    if (!ip_is_first_fragment(ip) || !is_one_host(ip->src) || ntohl(ip->dst) >> 28 >= 14)
        return false;
    if (info(packet_type) == TO_BROADCAST || info(packet_type) == TO_MULTICAST)
        return false;
    if (ip_in_list(ip->src, bad_addresses, bad_addresses_count) || ip_in_list(ip->dst, bad_addresses, bad_addresses_count))
        return false;
    if (error_type == ICMP_REDIRECT && find_route(start, ip_header_length(ip)) != 0)
        return false;
    return ip->protocol != PROTOCOL_ICMP || (packet_length() > transport && !is_error(*header(u8, transport)));
}

/* Puts the addresses that were gone through into `route`, last first; returns the option's length in words of the header, as bytes. */
static u32 reverse_route(u32 at)
{
    u8 *option = header_array(u8, at, 3);
    u32 length = option[1], pointer = option[2] < length + 1 ? option[2] : length + 1;
    u32 gone = pointer < FIRST_ADDRESS ? 0 : (pointer - FIRST_ADDRESS) / 4;

    if (gone == 0)
        return 0;
    route[0] = option[0];
    route[1] = (u8) (3 + 4 * gone);
    route[2] = FIRST_ADDRESS;
    for (u32 i = 0; i < gone; i++)
        packet_read(&route[3 + 4 * i], at + 3 + 4 * (gone - 1 - i), 4);
    route[3 + 4 * gone] = OPTION_END;
    return 4 + 4 * gone;
}

/* What follows type, code and checksum. */
static be32 rest_of(be32 gateway, u8 wrong_byte)
{
    if (error_type == ICMP_REDIRECT)
        return gateway;
    if (error_type == ICMP_PARAMETER_PROBLEM && error_code == ERROR_AT_POINTER)
        return htonl((u32) wrong_byte << 24);
    if (error_type == ICMP_UNREACHABLE && error_code == NEEDS_FRAGMENTATION)
        return htonl(current_path_mtu);
    return htonl(0);
}

static void fill_ip(u32 header_length, be32 destination)
{
    struct ip *ip = header(struct ip, 0);

    ip->version_ihl = (u8) (4 << 4 | header_length / 4);
    ip->length = htons((u16) packet_length());
    ip->id = htons(next_id);
    ip->ttl = ERROR_TTL;
    ip->protocol = PROTOCOL_ICMP;
    ip->src = current_source;
    ip->dst = destination;
    packet_write(sizeof(struct ip), route, header_length - (u32) sizeof(struct ip));
    ip_set_checksum(0);
    next_id += 1;
}

static void fill_icmp(u32 at, u32 quoted, be32 rest)
{
    struct icmp *icmp = header(struct icmp, at);

    icmp->type = error_type;
    icmp->code = error_code;
    icmp->rest = rest;
    packet_write(at + (u32) sizeof(struct icmp), original, quoted);
    icmp->checksum = htons(checksum(at, (u32) sizeof(struct icmp) + quoted));
}

static u32 least(u32 a, u32 b)
{
    return a < b ? a : b;
}

/* Makes the packet the error about what it was; false if the MTU has no room for that. */
static bool answer(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    be32 sender = ip->src, rest = rest_of(info(dst_ip), info(icmp_parameter_problem));
    u32 option = find_route(start, ip_header_length(ip));
    u32 header_length = (u32) sizeof(struct ip) + (option != 0 ? reverse_route(option) : 0);
    u32 before = header_length + (u32) sizeof(struct icmp), quoted;

    if (current_mtu < before)
        return false;
    quoted = least(packet_length() - start, least(current_mtu - before, LONGEST));
    packet_read(original, start, quoted);
    packet_create(before + quoted);
    fill_icmp(header_length, quoted, rest);
    fill_ip(header_length, sender);
    mark_ip(0);
    info(dst_ip) = sender;
    info(fix_ip_src) = uses_fix && sets_fix;
    return true;
}

void packet(int port)
{
    u32 start = network_offset();

    if (!may_be_answered(start))
        drop(NO_ERROR_ABOUT_THIS);
    if (!answer(start))
        drop(MTU_TOO_SMALL);
    emit(0);
}

READ(src, be32, current_source);
WRITE(src, be32, current_source);
READ(mtu, u32, current_mtu);
WRITE(mtu, u32, current_mtu);
READ(pmtu, u16, current_path_mtu);
WRITE(pmtu, u16, current_path_mtu);
