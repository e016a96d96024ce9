/*
 * check_ip.h -- the body of CheckIPHeader and CheckIPHeader2
 *
 * The class that includes this has declared
 *
 *   offset                                      where the IP header begins, in bytes
 *   older                                       the same and bad sources, by arguments without keywords: CONFIG(BAD_SOURCES, older)
 *   interfaces, bad_sources, good_destinations  lists of networks and addresses
 *   checks_sum, verbose                         is the checksum looked at? are invalid packets told?
 *   void print_class(void)                      prints the class's name and a colon
 *
 * It is included once, after these. Source: RFC 791, 1122 (3.2.1), 1812 (5.2.2, 5.3.7), 3021.
 */

enum fault { VALID, TOO_SHORT, BAD_VERSION, BAD_HEADER_LENGTH, BAD_LENGTH, BAD_CHECKSUM, BAD_SOURCE, FAULTS };

/* Where the IP header begins. */
#define start (older_given ? (u32) older_offset : offset)

/* The last address of a network is its broadcast address; of one address, that itself, which no other host has. Networks of two have none (RFC 3021). */
static bool is_last(be32 address, be32 network, be32 mask)
{
    return ntohl(mask) != 0xfffffffe && address == (network | ~mask);
}

static bool is_bad_source(be32 address)
{
    for (u32 i = 0; i < interfaces_count; i++)
        if (is_last(address, interfaces[i].addr, interfaces[i].mask))
            return true;
    if (interfaces_count > 0 && (address == htonl(0) || address == htonl(0xffffffff)))
        return true;
    return ip_in_list(address, bad_sources, bad_sources_count) || ip_in_list(address, older, older_count);
}

static bool is_good_destination(be32 address)
{
    for (u32 i = 0; i < interfaces_count; i++)
        if (address == interfaces[i].addr)
            return true;
    return ip_in_list(address, good_destinations, good_destinations_count);
}

/* Of a header that is so long, in a packet that says it is so long, whether it is all there and nothing in it is wrong. That the packet is no shorter than any header
 * follows from the last of the lengths; said by itself it tells the compiler, too, which then looks no more whether later elements' headers are there. */
static enum fault check_header(const struct ip *ip, u32 header_length, u32 length)
{
    if (length > packet_length() - start || length < sizeof(struct ip) || length < header_length)
        return BAD_LENGTH;
    if (checks_sum && !checksum_ok(start, header_length))
        return BAD_CHECKSUM;
    if (is_bad_source(ip->src) && !is_good_destination(ip->dst))
        return BAD_SOURCE;
    return VALID;
}

static bool has_header(void)
{
    return packet_length() >= start && packet_length() - start >= sizeof(struct ip);
}

/* One without options, which is the usual case: with a length that is known the checksum takes few instructions. */
static bool has_short_header(void)
{
    return has_header() && header(struct ip, start)->version_ihl == 0x45;
}

/* The same of any packet with another header or none. */
static enum fault check_other(void)
{
    const struct ip *ip;

    if (!has_header())
        return TOO_SHORT;
    ip = header(struct ip, start);
    if (ip->version_ihl >> 4 != 4)
        return BAD_VERSION;
    if (ip_header_length(ip) < sizeof(struct ip))
        return BAD_HEADER_LENGTH;
    return check_header(ip, ip_header_length(ip), ntohs(ip->length));
}

/* Marks a header that is so long; what the frame has behind a packet that is so long goes. */
static void accept(u32 header_length, u32 length)
{
    const struct ip *ip = header(struct ip, start);

    set_network_header(start);
    set_transport_header(start + header_length);
    info(dst_ip) = ip->dst;
    if (packet_length() - start != length)
        packet_trim(packet_length() - start - length);
}

static void print_fault(enum fault fault)
{
    switch (fault) {
    case TOO_SHORT: print("tiny packet"); break;
    case BAD_VERSION: print("bad IP version"); break;
    case BAD_HEADER_LENGTH: print("bad IP header length"); break;
    case BAD_LENGTH: print("bad IP length"); break;
    case BAD_CHECKSUM: print("bad IP checksum"); break;
    default: print("bad source address"); break;
    }
}

#include "faults.h"

void packet(int port)
{
    enum fault fault;

    if (has_short_header()) {
        const struct ip *ip = header(struct ip, start);

        fault = check_header(ip, sizeof(struct ip), ntohs(ip->length));
        if (fault == VALID) {
            accept(sizeof(struct ip), ntohs(ip->length));
            emit(0);
        }
    } else {
        fault = check_other();
        if (fault == VALID) {
            const struct ip *ip = header(struct ip, start);

            accept(ip_header_length(ip), ntohs(ip->length));
            emit(0);
        }
    }
    count_fault(fault);
    if (NOUTPUTS > 1)
        emit(1);
    switch (fault) {
    case TOO_SHORT: drop(TOO_SHORT);
    case BAD_VERSION: drop(BAD_VERSION);
    case BAD_HEADER_LENGTH: drop(BAD_HEADER_LENGTH);
    case BAD_LENGTH: drop(BAD_LENGTH);
    case BAD_CHECKSUM: drop(BAD_CHECKSUM);
    default: drop(BAD_SOURCE);
    }
}
