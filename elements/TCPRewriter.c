/*
 * TCPRewriter(INPUT, ..., INPUT, keywords) -- rewrites addresses and ports of TCP packets
 *
 * IPRewriter for TCP alone: other protocols leave by an input with `pass`, and are dropped otherwise. INPUT is as there.
 *
 *   TCP_TIMEOUT            how long an idle connection is known that had data both ways, 24 hours
 *   TCP_NODATA_TIMEOUT     the same without data both ways, 5 minutes
 *   TCP_DONE_TIMEOUT       the same after FIN or RST, 4 minutes
 *   MAPPING_CAPACITY       how many flows are known at most, 32,768; CAPACITY is another name of it
 *   REPLY_ANNO             an annotation that replies get as the flow's first packet had it
 *   DST_ANNO               false: the destination annotation stays
 *
 * Where an element before has made segments longer or shorter and says so, as FTPPortMapper does, sequence numbers and what acknowledges them are right behind here.
 *
 * Click's GUARANTEE, TCP_GUARANTEE and REAP_INTERVAL are taken, and change nothing: a mapping is there until it has timed out, however
 * many others come. Elements share no capacity.
 *
 * Handlers: mapping_failures (read), packets dropped because no port was free or the tables were full; patterns (read), those of the inputs;
 * table, tcp_table, udp_table (read), a line FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS each way; lookup SADDR SPORT DADDR DPORT and tcp_lookup (read), what
 * becomes of such packets; size (read), how many flows are known, capacity (read, write), how many may be: up to
 * MAPPING_CAPACITY, and those that are known stay; clear (write) forgets them. map_source, map_destination, map, shift_place and shift (write) are for FTPPortMapper.
 *
 * See also: IPRewriter, UDPRewriter, ICMPRewriter. Source: RFC 3022.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(TCPRewriter, "1-/1-", "h/h");
#include "flow.h"
PARAM_AS(SECONDS, u64, tcp_timeout, "TCP_TIMEOUT", KEYWORD(86400000000000));
PARAM_AS(SECONDS, u64, tcp_nodata_timeout, "TCP_NODATA_TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, tcp_done_timeout, "TCP_DONE_TIMEOUT", KEYWORD(240000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(32768));
PARAM(u32, mapping_capacity, "MAPPING_CAPACITY", KEYWORD(0));
PARAM(bool, mapping_capacity_given, "MAPPING_CAPACITY", GIVEN);
PARAM_AS(SECONDS, u64, guarantee, "GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, tcp_guarantee, "TCP_GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, reap_interval, "REAP_INTERVAL", KEYWORD(0));
PARAM(bool, sets_dst_anno, "DST_ANNO", KEYWORD(true));
PARAM_AS(ANNO, int, reply_anno, "REPLY_ANNO", KEYWORD(-1));
CONFIG(REWRITE, inputs);

enum { NO_ANNO = -1 };
#define MIXES false

TABLE_EXACT(brief, struct flow, struct mapping, 2 * MOST_MAPPINGS, tcp_nodata_timeout);
TABLE_EXACT(lasting, struct flow, struct mapping, 2 * MOST_MAPPINGS, tcp_timeout);

static bool handles(u8 protocol)
{
    return protocol == PROTOCOL_TCP;
}

static u64 time_limit(bool is_tcp, bool is_done, bool has_data, bool streams)
{
    return is_done ? tcp_done_timeout : has_data ? tcp_timeout : tcp_nodata_timeout;
}

static u64 brief_time(void)
{
    return tcp_nodata_timeout;
}

#define SHIFTS
#include "rewriter.h"
#include "sequence.h"
#include "ports.h"
#include "segments.h"
