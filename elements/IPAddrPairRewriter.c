/*
 * IPAddrPairRewriter(INPUT, ..., INPUT, keywords) -- rewrites addresses of IP packets, for each pair of addresses
 *
 * Network address translation without ports, by pairs of source and destination: packets of a known pair are rewritten as before, and those of the reverse of what it
 * became are turned back. So one inner address may have several outer ones, and one outer address stands for several inner ones towards different destinations. Any other
 * packet is handled as the INPUT of its input says, of which there is one per input:
 *
 *   drop                                  it is dropped
 *   pass OUT                              it leaves unchanged, nothing is remembered
 *   keep FOUT ROUT                        the pair stays as it is and leaves by FOUT; replies leave by ROUT
 *   pattern SADDR DADDR FOUT ROUT         it gets these addresses (- keeps what there is) and leaves by FOUT; replies are turned back and leave by ROUT
 *   pattern SADDR-SADDR2 DADDR FOUT ROUT  the same with a source of a range that is free, at random, in order with # behind; also SADDR/LEN
 *
 * If no address of a range is free, the packet is dropped; 1,024 are tried. A pair that would have the replies of another one, where there is no range, takes them over; the
 * other is forgotten. The IP header must be marked. The checksums of IP, and of TCP and UDP in first fragments, are updated
 * (RFC 1624).
 *
 *   TIMEOUT             how long an idle pair is known, 5 minutes
 *   MAPPING_CAPACITY    how many pairs are known at most, 32,768; CAPACITY is another name of it
 *   REPLY_ANNO          an annotation that replies get as the pair's first packet had it
 *   DST_ANNO            false: the destination annotation stays
 *
 * Click's GUARANTEE and REAP_INTERVAL are taken, and change nothing: a mapping is there until it has timed out, however
 * many others come. Elements share no capacity.
 *
 * Handlers: mapping_failures (read), packets dropped because no address was free or the table was full; patterns (read), those of the inputs;
 * table, tcp_table, udp_table (read), a line FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS each way; lookup SADDR SPORT DADDR DPORT and tcp_lookup (read), what
 * becomes of such packets; size (read), how many flows are known, capacity (read, write), how many may be: up to
 * MAPPING_CAPACITY, and those that are known stay; clear (write) forgets them.
 *
 * See also: IPAddrRewriter, IPRewriter, ICMPRewriter. Source: RFC 3022.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPAddrPairRewriter, "1-/1-", "h/h");
#include "flow.h"
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(32768));
PARAM(u32, mapping_capacity, "MAPPING_CAPACITY", KEYWORD(0));
PARAM(bool, mapping_capacity_given, "MAPPING_CAPACITY", GIVEN);
PARAM_AS(SECONDS, u64, guarantee, "GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, reap_interval, "REAP_INTERVAL", KEYWORD(0));
PARAM(bool, sets_dst_anno, "DST_ANNO", KEYWORD(true));
PARAM_AS(ANNO, int, reply_anno, "REPLY_ANNO", KEYWORD(-1));
CONFIG(REWRITE_PAIRS, inputs);

enum { NO_ANNO = -1 };

TABLE_EXACT(brief, struct flow, struct mapping, 2 * MOST_MAPPINGS, timeout);
/* No pair lasts longer than others. */
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

/* A flow is a pair: its protocol and ports are 0. */
static bool has_flow(u32 start)
{
    return true;
}

static void read_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);

    this_flow.saddr = ip->src;
    this_flow.daddr = ip->dst;
}

static bool begins(void)
{
    return true;
}

static u8 of_replies(u8 protocol)
{
    return protocol;
}

static bool carries_data(u32 start)
{
    return false;
}

static bool ends_connection(u32 start)
{
    return false;
}

static void rewrite_transport(u32 transport)
{
    u32 start = network_offset();

    update_segment_checksum(start, ntohl(this_flow.saddr), ntohl(rewritten.saddr));
    update_segment_checksum(start, ntohl(this_flow.daddr), ntohl(rewritten.daddr));
}

/* The last source tried stays in `rewritten`. */
static bool choose_source(const struct rewrite_spec *spec)
{
    u32 first = ntohl(spec->saddr), count = ntohl(spec->saddr_last) - first + 1;
    u32 from = spec->sequential ? next_port[spec->pattern % PATTERNS] : random32();

    for (u32 i = 0; i < count && i < MOST_TRIES; i++) {
        u32 chosen = (from % count + i) % count;

        rewritten.saddr = htonl(first + chosen);
        if (is_free()) {
            next_port[spec->pattern % PATTERNS] = chosen + 1;
            return true;
        }
    }
    return false;
}

static bool apply_pattern(const struct rewrite_spec *spec)
{
    if (spec->daddr != htonl(0))
        rewritten.daddr = spec->daddr;
    if (spec->saddr != htonl(0))
        rewritten.saddr = spec->saddr;
    return spec->saddr == spec->saddr_last || choose_source(spec);
}

static void print_pattern(const struct rewrite_spec *spec)
{
    print_address(spec->saddr);
    if (spec->saddr_last != spec->saddr) {
        print("-");
        print_ip(spec->saddr_last);
    }
    print(" ");
    print_address(spec->daddr);
}
