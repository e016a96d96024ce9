/*
 * CheckIP6Header([BADADDRS, OFFSET]) -- lets valid IPv6 packets pass
 *
 * The header starts OFFSET bytes into the packet (0 by default). It must be version 6 and whole, its length must fit the packet, and its source must be
 * neither multicast nor in the list BADADDRS. Valid packets leave by output 0: cut to their length, the header marked, their destination as
 * annotation. Others leave by output 1 if there is one, and are dropped otherwise.
 *
 * Handlers: drops (read), packets that were not valid.
 *
 * See also: DecIP6HLIM, LookupIP6Route.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(CheckIP6Header, "1/1-2", "a/ah");
PARAM_LIST(in6_t, bad_sources, "BADADDRS", OPTIONAL(0));
PARAM(u32, start, "OFFSET", OPTIONAL(0));

enum fault { VALID, TOO_SHORT, BAD_VERSION, BAD_LENGTH, BAD_SOURCE };
enum { SOURCE_AT = 8 };

static u64 drops;

static bool is_bad_source(const struct ip6 *ip6)
{
    for (u32 i = 0; i < bad_sources_count; i++)
        if (equal(ip6->src, bad_sources[i]))
            return true;
    return *header(u8, start + SOURCE_AT) == 0xff;
}

static enum fault check(void)
{
    const struct ip6 *ip6;

    if (packet_length() < start || packet_length() - start < sizeof(struct ip6))
        return TOO_SHORT;
    ip6 = header(struct ip6, start);
    if ((ip6->version_class_flow & htonl(0xf0000000)) != htonl(0x60000000))
        return BAD_VERSION;
    if (ntohs(ip6->length) > packet_length() - start - sizeof(struct ip6))
        return BAD_LENGTH;
    return is_bad_source(ip6) ? BAD_SOURCE : VALID;
}

static void accept(void)
{
    const struct ip6 *ip6 = header(struct ip6, start);
    u32 end = start + (u32) sizeof(struct ip6) + ntohs(ip6->length);

    set_network_header(start);
    set_transport_header(start + (u32) sizeof(struct ip6));
    info(dst_ip6) = ip6->dst;
    if (packet_length() > end)
        packet_trim(packet_length() - end);
}

void packet(int port)
{
    enum fault fault = check();

    if (fault == VALID) {
        accept();
        emit(0);
    }
    drops += 1;
    if (NOUTPUTS > 1)
        emit(1);
    switch (fault) {
    case TOO_SHORT: drop(TOO_SHORT);
    case BAD_VERSION: drop(BAD_VERSION);
    case BAD_LENGTH: drop(BAD_LENGTH);
    default: drop(BAD_SOURCE);
    }
}

READ(drops, u64, drops);
