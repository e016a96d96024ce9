/*
 * IPAddrRewriter(INPUT, ..., INPUT, keywords) -- rewrites source addresses of IP packets
 *
 * Network address translation without ports: each inner address gets an outer one of its own for as long as it is used. A packet from an inner address
 * that is known is rewritten as before; one to an outer address that is taken, back to the inner one. Any other packet is handled as the
 * INPUT of its input says, of which there is one per input:
 *
 *   drop                                  it is dropped
 *   pass OUT                              it leaves unchanged, nothing is remembered
 *   keep FOUT ROUT                        its source stays and leaves by FOUT; packets to it leave by ROUT
 *   pattern SADDR - FOUT ROUT             its source becomes SADDR (- keeps it) and leaves by FOUT; packets to SADDR are turned back and leave by ROUT
 *   pattern SADDR-SADDR2 - FOUT ROUT      the same with an address of a range that is free, at random, in order with # behind; also SADDR/LEN
 *
 * If no address of a range is free, the packet is dropped; 1,024 are tried. Where SADDR is one address, the last who got it has it. The IP header must be marked. The checksums of IP, and of TCP and UDP in first fragments,
 * are updated (RFC 1624); the destination annotation becomes the new destination.
 *
 *   TIMEOUT             how long an idle address is known, 5 minutes
 *   MAPPING_CAPACITY    how many inner addresses are known at most, 65,536; CAPACITY is another name of it
 *   REPLY_ANNO          an annotation that packets to outer addresses get as the first packet from the inner one had it
 *
 * Patterns may have the fields of IPRewriter's; ports and DADDR have no part.
 *
 * Click's GUARANTEE and REAP_INTERVAL are taken, and change nothing: a mapping is there until it has timed out, however
 * many others come. Elements share no capacity.
 *
 * Handlers: mapping_failures (read), packets dropped because no address was free or the table was full; patterns (read), those of the inputs; table (read), lines
 * INNER => OUTER [*FOUT ROUT], and the other way round; size (read), how many addresses are known, capacity (read, write), how many may be: up to
 * MAPPING_CAPACITY, and those that are known stay; clear (write) forgets them.
 *
 * See also: IPRewriter, ICMPRewriter. Source: RFC 3022.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPAddrRewriter, "1-/1-", "h/h");
#include "flow.h"
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(65536));
PARAM(u32, mapping_capacity, "MAPPING_CAPACITY", KEYWORD(0));
PARAM(bool, mapping_capacity_given, "MAPPING_CAPACITY", GIVEN);
PARAM_AS(SECONDS, u64, guarantee, "GUARANTEE", KEYWORD(0));
PARAM_AS(SECONDS, u64, reap_interval, "REAP_INTERVAL", KEYWORD(0));
PARAM_AS(ANNO, int, reply_anno, "REPLY_ANNO", KEYWORD(-1));
CONFIG(REWRITE_ADDRESSES, inputs);

enum { INPUT_DROPS, NO_ADDRESS };
enum { MOST_TRIES = 1024, PATTERNS = 64, NO_ANNO = -1 };

/* By inner address and by outer address. */
TABLE_EXACT(inner, be32, struct mapped, MOST_MAPPINGS, timeout);
TABLE_EXACT(outer, be32, struct mapped, MOST_MAPPINGS, timeout);

static u64 mapping_failures;
static u32 next_address[PATTERNS];

/* ---- Choosing ---- */

static bool is_free(be32 address)
{
    return table_peek(outer, &address) == 0;
}

/* An address of the range that nobody has, or 0; the only one in any case. */
static be32 choose(const struct rewrite_spec *spec)
{
    u32 first = ntohl(spec->saddr), count = ntohl(spec->saddr_last) - first + 1, from;

    if (count <= 1)
        return spec->saddr;
    from = spec->sequential ? next_address[spec->pattern % PATTERNS] : random32() % count;
    for (u32 i = 0; i < count && i < MOST_TRIES; i++) {
        u32 chosen = (from + i) % count;

        if (is_free(htonl(first + chosen))) {
            next_address[spec->pattern % PATTERNS] = chosen + 1;
            return htonl(first + chosen);
        }
    }
    return htonl(0);
}

/* Who had the outer address has it no more. */
static void forget_older(be32 address)
{
    const struct mapped *older = table_peek(outer, &address);

    if (older) {
        be32 source = older->to;

        table_delete(inner, &source);
    }
}

static bool map(be32 source, int port)
{
    const struct rewrite_spec *spec = &inputs[port];
    be32 address = spec->kind == REWRITE_PATTERN && spec->saddr != htonl(0) ? choose(spec) : source;
    struct mapped *mapped;

    if (address == htonl(0))
        return false;
    forget_older(address);
    mapped = table_insert(inner, &source);
    if (!mapped)
        return false;
    mapped->to = address;
    mapped->output = spec->forward;
    mapped = table_insert(outer, &address);
    if (!mapped) {
        table_delete(inner, &source);
        return false;
    }
    mapped->to = source;
    mapped->output = spec->reply;
    mapped->is_reply = true;
    mapped->mark = reply_anno != NO_ANNO ? annotation(reply_anno) : 0;
    return true;
}

/* ---- Rewriting ---- */

static void set_source(u32 start, be32 to)
{
    struct ip *ip = header(struct ip, start);

    update_segment_checksum(start, ntohl(ip->src), ntohl(to));
    ip->checksum = htons(checksum_update32(ntohs(ip->checksum), ntohl(ip->src), ntohl(to)));
    ip->src = to;
    info(dst_ip) = ip->dst;
}

static void set_destination(u32 start, be32 to)
{
    struct ip *ip = header(struct ip, start);

    update_segment_checksum(start, ntohl(ip->dst), ntohl(to));
    ip->checksum = htons(checksum_update32(ntohs(ip->checksum), ntohl(ip->dst), ntohl(to)));
    ip->dst = to;
    info(dst_ip) = to;
}

/* Rewrites a packet of a known address; both mappings count as used. Returns its output, or -1 if it has none. */
static int rewrite_known(u32 start)
{
    be32 source = header(struct ip, start)->src, destination = header(struct ip, start)->dst;
    const struct mapped *mapped = table_find(inner, &source);
    bool is_forward = mapped != 0;
    be32 to;
    u32 output;

    if (!mapped)
        mapped = table_find(outer, &destination);
    if (!mapped)
        return -1;
    to = mapped->to;
    output = mapped->output;
    if (!is_forward && reply_anno != NO_ANNO)
        set_annotation(reply_anno, mapped->mark);
    if (is_forward) {
        table_find(outer, &to);
        set_source(start, to);
    } else {
        table_find(inner, &to);
        set_destination(start, to);
    }
    return (int) output;
}

void push(int port)
{
    u32 start = network_offset();
    be32 source = header(struct ip, start)->src;
    int output = rewrite_known(start);

    if (output < 0) {
        if (inputs[port].kind == REWRITE_PASS)
            emit((int) inputs[port].forward);
        if (inputs[port].kind == REWRITE_DROP)
            drop(INPUT_DROPS);
        if (!map(source, port)) {
            mapping_failures += 1;
            drop(NO_ADDRESS);
        }
        output = rewrite_known(start);
    }
    emit(output);
}

/* ---- Handlers ---- */

static void print_patterns(void)
{
    for (u32 i = 0; i < inputs_count; i++) {
        if (inputs[i].kind != REWRITE_PATTERN) {
            switch (inputs[i].kind) {
            case REWRITE_DROP: print("<drop>\n"); break;
            case REWRITE_PASS: print("<nochange>\n"); break;
            default: print("<keep>\n"); break;
            }
            continue;
        }
        if (inputs[i].saddr != htonl(0))
            print_ip(inputs[i].saddr);
        if (inputs[i].saddr_last != inputs[i].saddr) {
            print("-");
            print_ip(inputs[i].saddr_last);
        }
        if (inputs[i].saddr == htonl(0))
            print("-");
        print(" -\n");
    }
}

READ(mapping_failures, u64, mapping_failures);
READ_CALL(patterns, text, print_patterns);
