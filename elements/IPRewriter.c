/*
 * IPRewriter(INPUT, ..., INPUT, keywords) -- rewrites addresses and ports of TCP and UDP packets
 *
 * Network address and port translation. A flow (addresses, ports, protocol) that is known is rewritten as it was before, and so are its replies, back
 * to what they answer. The first packet of a flow is handled as the INPUT of its input says, of which there is one per input:
 *
 *   drop                                            it is dropped
 *   pass OUT                                        it leaves unchanged, nothing is remembered
 *   keep FOUT ROUT                                  the flow leaves unchanged by FOUT, replies by ROUT
 *   pattern SADDR SPORT DADDR DPORT FOUT ROUT       the flow gets these addresses and ports (- keeps what there is) and leaves by FOUT; replies are
 *                                                   turned back and leave by ROUT
 *
 * SPORT may be a range, 1024-65535: a port of it is taken that no other flow has, the packet's own if possible, else one at random. With # behind it
 * ports are taken in order, with ? always at random. If none is free (1,024 are tried), the packet is dropped. Without a range, a flow
 * that would have the replies of another one takes them over, and the other is forgotten. A pattern may have a name, given by IPRewriterPatterns.
 *
 * The IP header must be marked. Other protocols and later fragments leave by an input with `pass`, and are dropped otherwise. The destination
 * annotation becomes the new destination, unless DST_ANNO is false. Checksums are updated (RFC 1624).
 *
 *   TCP_TIMEOUT            how long an idle connection is known that had data both ways, 24 hours
 *   TCP_NODATA_TIMEOUT     the same without data both ways, 5 minutes
 *   TCP_DONE_TIMEOUT       the same after FIN or RST, 4 minutes
 *   UDP_TIMEOUT            UDP, 5 minutes
 *   UDP_STREAMING_TIMEOUT  UDP after three packets, some of them each way; UDP_TIMEOUT by default
 *   REPLY_ANNO             an annotation (PAINT, ...) that replies get as the flow's first packet had it
 *   MAPPING_CAPACITY       how many flows are known at most, 32,768; CAPACITY is another name of it
 *
 * Click's GUARANTEE, TCP_GUARANTEE, UDP_GUARANTEE and REAP_INTERVAL are taken, and change nothing: a mapping is there until it has timed out, however
 * many others come. Elements share no capacity.
 *
 * Handlers: mapping_failures (read), packets dropped because no port was free or the tables were full; patterns (read), those of the inputs;
 * table, tcp_table, udp_table (read), a line FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS each way; lookup SADDR SPORT DADDR DPORT and tcp_lookup (read), what
 * becomes of such packets; size (read), how many flows are known, capacity (read, write), how many may be: up to
 * MAPPING_CAPACITY, and those that are known stay; clear (write) forgets them; map_source, map_destination and map (write) are for FTPPortMapper.
 *
 * Example: hosts behind 1.0.0.1, which only they may call from:
 *
 *     rw :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1, drop);  inside -> rw -> outside;  outside -> [1]rw[1] -> inside;
 *
 * See also: TCPRewriter, UDPRewriter, IPAddrRewriter, ICMPRewriter. Source: RFC 3022.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPRewriter, "1-/1-", "h/h");
#include "flow.h"
PARAM_AS(SECONDS, u64, tcp_timeout, "TCP_TIMEOUT", KEYWORD(86400000000000));
PARAM_AS(SECONDS, u64, tcp_nodata_timeout, "TCP_NODATA_TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, tcp_done_timeout, "TCP_DONE_TIMEOUT", KEYWORD(240000000000));
PARAM_AS(SECONDS, u64, udp_timeout, "UDP_TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, udp_streaming_timeout, "UDP_STREAMING_TIMEOUT", KEYWORD(0));
PARAM(u32, capacity, "CAPACITY", KEYWORD(32768));
PARAM(u32, mapping_capacity, "MAPPING_CAPACITY", KEYWORD(0));
PARAM(bool, mapping_capacity_given, "MAPPING_CAPACITY", GIVEN);
PARAM_AS(SECONDS, u64, guarantee, "GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, tcp_guarantee, "TCP_GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, udp_guarantee, "UDP_GUARANTEE", KEYWORD(0));
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
    return protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP;
}

static u64 time_limit(bool is_tcp, bool is_done, bool has_data, bool streams)
{
    if (is_tcp)
        return is_done ? tcp_done_timeout : has_data ? tcp_timeout : tcp_nodata_timeout;
    return streams && udp_streaming_timeout != 0 ? udp_streaming_timeout : udp_timeout;
}

static u64 brief_time(void)
{
    return tcp_nodata_timeout;
}

#include "rewriter.h"
#include "ports.h"
#include "segments.h"
