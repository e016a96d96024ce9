/*
 * UDPRewriter(INPUT, ..., INPUT, keywords) -- rewrites addresses and ports of UDP packets
 *
 * IPRewriter with one limit for all flows, which are addresses and ports, whatever the protocol: UDP and also TCP. Other protocols leave by an input with `pass`, and are dropped
 * otherwise. INPUT is as there.
 *
 *   TIMEOUT                how long an idle flow is known, 5 minutes
 *   STREAMING_TIMEOUT      the same after three packets, some of them each way; TIMEOUT by default
 *   UDP_TIMEOUT, UDP_STREAMING_TIMEOUT  the same where those are not said
 *   MAPPING_CAPACITY       how many flows are known at most, 32,768; CAPACITY is another name of it
 *   REPLY_ANNO             an annotation that replies get as the flow's first packet had it
 *   DST_ANNO               false: the destination annotation stays
 *
 * Click's GUARANTEE, UDP_GUARANTEE and REAP_INTERVAL are taken, and change nothing: a mapping is there until it has timed out, however
 * many others come. Elements share no capacity.
 *
 * Handlers: mapping_failures (read), packets dropped because no port was free or the tables were full; patterns (read), those of the inputs;
 * table (read), a line FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS each way; lookup SADDR SPORT DADDR DPORT (read), what
 * becomes of such packets; size (read), how many flows are known, capacity (read, write), how many may be: up to
 * MAPPING_CAPACITY, and those that are known stay; clear (write) forgets them; map_source, map_destination and map (write) are for FTPPortMapper.
 *
 * See also: IPRewriter, TCPRewriter, ICMPRewriter. Source: RFC 3022.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(UDPRewriter, "1-/1-", "h/h");
#include "flow.h"
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(0));
PARAM(bool, timeout_given, "TIMEOUT", GIVEN);
PARAM_AS(SECONDS, u64, udp_timeout, "UDP_TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, streaming_timeout, "STREAMING_TIMEOUT", KEYWORD(0));
PARAM(bool, streaming_timeout_given, "STREAMING_TIMEOUT", GIVEN);
PARAM_AS(SECONDS, u64, udp_streaming_timeout, "UDP_STREAMING_TIMEOUT", KEYWORD(0));
PARAM(u32, capacity, "CAPACITY", KEYWORD(32768));
PARAM(u32, mapping_capacity, "MAPPING_CAPACITY", KEYWORD(0));
PARAM(bool, mapping_capacity_given, "MAPPING_CAPACITY", GIVEN);
PARAM_AS(SECONDS, u64, guarantee, "GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, udp_guarantee, "UDP_GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, reap_interval, "REAP_INTERVAL", KEYWORD(0));
PARAM(bool, sets_dst_anno, "DST_ANNO", KEYWORD(true));
PARAM_AS(ANNO, int, reply_anno, "REPLY_ANNO", KEYWORD(-1));
CONFIG(REWRITE, inputs);

enum { NO_ANNO = -1 };
#define MIXES true

#define BRIEF_TIME (timeout_given ? timeout : udp_timeout)
#define LASTING_TIME (streaming_timeout_given ? streaming_timeout : udp_streaming_timeout)

TABLE_EXACT(brief, struct flow, struct mapping, 2 * MOST_MAPPINGS, BRIEF_TIME);
TABLE_EXACT(lasting, struct flow, struct mapping, 2 * MOST_MAPPINGS, LASTING_TIME);

static bool handles(u8 protocol)
{
    return protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP;
}

static u64 time_limit(bool is_tcp, bool is_done, bool has_data, bool streams)
{
    return streams && LASTING_TIME != 0 ? LASTING_TIME : BRIEF_TIME;
}

static u64 brief_time(void)
{
    return BRIEF_TIME;
}

#include "rewriter.h"
#include "ports.h"
#include "segments.h"
