/*
 * ICMPPingRewriter(INPUT, ..., INPUT, keywords) -- rewrites addresses and identifiers of ICMP echo requests and replies
 *
 * So that pings pass a gateway that translates addresses. The IP header must be marked. A request that belongs to no known flow (addresses and identifier) begins one as
 * INPUT says for the input that it came by:
 *
 *   pattern SADDR DADDR IDENT FOUTPUT ROUTPUT   puts these in; - keeps what there is. IDENT may be a range, of which a free one is taken, the packet's own if it is
 *                                               one; with # behind it they are taken in order, with ? at random. Requests leave by FOUTPUT, replies by ROUTPUT
 *   keep FOUTPUT ROUTPUT                        the flow is known, and stays as it is
 *   drop                                        it is dropped
 *   pass OUTPUT                                 it leaves by that output as it is, and so does everything else that belongs to no flow
 *
 * Replies to what a request became are turned back; where IDENT is no range, to that of the last flow which became the same. Replies that nobody waits for, and what is no echo, are dropped where INPUT is not `pass`. Checksums are updated
 * (RFC 1624).
 *
 *   TIMEOUT                how long an idle flow is known, 5 minutes
 *   MAPPING_CAPACITY       how many flows are known at most, 32,768; CAPACITY is another name of it
 *   REPLY_ANNO             an annotation that replies get as the flow's first packet had it
 *   DST_ANNO               false: the destination annotation stays
 *
 * Click's GUARANTEE and REAP_INTERVAL are taken, and change nothing: a mapping is there until it has timed out, however
 * many others come. Elements share no capacity.
 *
 * Handlers: mapping_failures (read), packets dropped because no identifier was free or the table was full; patterns (read), those of the inputs;
 * table, tcp_table, udp_table (read), a line FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS each way; lookup SADDR SPORT DADDR DPORT and tcp_lookup (read), what
 * becomes of such packets; size (read), how many flows are known, capacity (read, write), how many may be: up to
 * MAPPING_CAPACITY, and those that are known stay; clear (write) forgets them.
 *
 * See also: IPRewriter, ICMPRewriter, ICMPPingResponder. Source: RFC 792, RFC 5508 section 3.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMPPingRewriter, "1-/1-", "h/h");
#include "flow.h"
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(32768));
PARAM(u32, mapping_capacity, "MAPPING_CAPACITY", KEYWORD(0));
PARAM(bool, mapping_capacity_given, "MAPPING_CAPACITY", GIVEN);
PARAM_AS(SECONDS, u64, guarantee, "GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, reap_interval, "REAP_INTERVAL", KEYWORD(0));
PARAM(bool, sets_dst_anno, "DST_ANNO", KEYWORD(true));
PARAM_AS(ANNO, int, reply_anno, "REPLY_ANNO", KEYWORD(-1));
CONFIG(REWRITE_PINGS, inputs);

enum { NO_ANNO = -1 };

TABLE_EXACT(brief, struct flow, struct mapping, 2 * MOST_MAPPINGS, timeout);
/* No ping lasts longer than others. */
TABLE_EXACT(lasting, struct flow, struct mapping, 1, 0);

static u64 time_limit(bool is_tcp, bool is_done, bool has_data, bool streams)
{
    return timeout;
}

static u64 brief_time(void)
{
    return timeout;
}

#include "rewriter.h"
#include "ports.h"

static bool has_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    u8 type;

    if (ip->protocol != PROTOCOL_ICMP || !ip_is_first_fragment(ip) || packet_length() < transport + sizeof(struct icmp_echo))
        return false;
    type = header(struct icmp_echo, transport)->type;
    return type == ICMP_ECHO || type == ICMP_ECHO_REPLY;
}

static void read_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    const struct icmp_echo *echo = header(struct icmp_echo, start + ip_header_length(ip));
    bool asks = echo->type == ICMP_ECHO;

    this_flow.saddr = ip->src;
    this_flow.daddr = ip->dst;
    this_flow.sport = asks ? echo->id : htons(0);
    this_flow.dport = asks ? htons(0) : echo->id;
    this_flow.protocol = asks ? PING_REQUESTS : PING_REPLIES;
}

static bool begins(void)
{
    return this_flow.protocol == PING_REQUESTS;
}

static u8 of_replies(u8 protocol)
{
    return protocol == PING_REQUESTS ? PING_REPLIES : PING_REQUESTS;
}

static bool carries_data(u32 start)
{
    return false;
}

static bool ends_connection(u32 start)
{
    return false;
}

/* Addresses are not in this checksum. */
static void rewrite_transport(u32 transport)
{
    struct icmp_echo *echo = header(struct icmp_echo, transport);
    be16 id = this_flow.protocol == PING_REQUESTS ? rewritten.sport : rewritten.dport;

    echo->checksum = htons(checksum_not_zero(checksum_update(ntohs(echo->checksum), ntohs(echo->id), ntohs(id))));
    echo->id = id;
}
