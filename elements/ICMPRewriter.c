/*
 * ICMPRewriter(MAPS, [keywords DST_ANNO, REPLY_ANNO]) -- rewrites ICMP errors about packets that were rewritten
 *
 * An ICMP error quotes the packet that it is about, and goes to who that was from. If a rewriter of the configuration had changed addresses or ports of that
 * packet, the error is about what it became; this element turns that back, in the quotation and in the error's own destination, so that
 * the first sender gets it as if nobody had rewritten anything. MAPS are the names of rewriters, separated by spaces; the first that knows the packet counts.
 * They are IPRewriter, TCPRewriter, UDPRewriter, ICMPPingRewriter, IPAddrRewriter and classes with the same tables.
 *
 * The IP header must be marked. Errors are unreachable, time exceeded, parameter problem, source quench and redirect. What was rewritten leaves by output 0; if
 * MAPS says ELEMENT:OUTPUT, by that output and those behind it, as replies leave that element by its own. Other ICMP packets leave by output 1 if there are just
 * two and MAPS says none, and are dropped otherwise, as is what is not ICMP. Checksums are updated (RFC 1624). Mappings do not count as used.
 *
 *   DST_ANNO      false: the destination annotation stays; else it becomes the new destination
 *   REPLY_ANNO    an annotation that errors get as the flow's first packet had it, if the rewriter has kept it
 *
 * Example: errors from outside about what `rw` had sent there.
 *
 *     outside -> c :: IPClassifier(icmp type 3 or 11, -) -> ICMPRewriter(rw) -> inside;  c[1] -> [1]rw;
 *
 * See also: IPRewriter, IPAddrRewriter. Source: RFC 792, RFC 3022 section 4.3, RFC 5508 section 4.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMPRewriter, "1/1-", "h/h");
#include "flow.h"
PARAM(bool, sets_dst_anno, "DST_ANNO", KEYWORD(true));
PARAM_AS(ANNO, int, reply_anno, "REPLY_ANNO", KEYWORD(-1));

enum { NOT_ICMP, NOT_MAPPED };
/* Where checksums are in segments. */
enum { TCP_CHECKSUM = 16, UDP_CHECKSUM = 6 };

/* The packet that replies to the quoted one, and what a rewriter would make of it. */
static struct flow replies, rewritten;
/* `replies` as UDPRewriter knows it, whose flows are all of one protocol. */
static struct flow quadruple;
/* The output that is left by. */
static u32 output;

/* ---- What was found of a mapping; `first` is what outputs are counted from, -1: they make no difference ---- */

static bool take(u32 by, int first)
{
    output = first < 0 ? 0 : (u32) first + by;
    return true;
}

static bool take_flow(const struct mapping *mapping, int first)
{
    if (!is_live(mapping))
        return false;
    rewritten = mapping->to;
    if (mapping->is_reply && reply_anno >= 0)
        set_annotation(reply_anno, mapping->mark);
    return take(mapping->output, first);
}

static bool take_quadruple(const struct mapping *mapping, int first)
{
    return (replies.protocol == PROTOCOL_TCP || replies.protocol == PROTOCOL_UDP) && take_flow(mapping, first);
}

static void set_mark(const struct mapped *mapped)
{
    if (mapped->is_reply && reply_anno >= 0)
        set_annotation(reply_anno, mapped->mark);
}

static bool take_source(const struct mapped *mapped, int first)
{
    if (!mapped)
        return false;
    rewritten = replies;
    rewritten.saddr = mapped->to;
    set_mark(mapped);
    return take(mapped->output, first);
}

static bool take_destination(const struct mapped *mapped, int first)
{
    if (!mapped)
        return false;
    rewritten = replies;
    rewritten.daddr = mapped->to;
    set_mark(mapped);
    return take(mapped->output, first);
}

CONFIG(REWRITERS, maps);

/* ---- The quotation ---- */

static bool is_error(u8 type)
{
    return type == ICMP_UNREACHABLE || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER_PROBLEM || type == ICMP_SOURCE_QUENCH ||
           type == ICMP_REDIRECT;
}

/* The first eight bytes of TCP or UDP are quoted, which have the ports. */
static bool has_ports(u32 quoted)
{
    const struct ip *ip = header(struct ip, quoted);

    return (ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) && ip_is_first_fragment(ip) &&
           packet_length() >= quoted + ip_header_length(ip) + sizeof(struct udp);
}

/* So is the identifier of a ping. */
static bool has_identifier(u32 quoted)
{
    const struct ip *ip = header(struct ip, quoted);
    u32 echo = quoted + ip_header_length(ip);
    u8 type;

    if (ip->protocol != PROTOCOL_ICMP || !ip_is_first_fragment(ip) || packet_length() < echo + sizeof(struct icmp_echo))
        return false;
    type = header(struct icmp_echo, echo)->type;
    return type == ICMP_ECHO || type == ICMP_ECHO_REPLY;
}

static void read_identifier(u32 echo)
{
    const struct icmp_echo *quoted = header(struct icmp_echo, echo);

    if (quoted->type == ICMP_ECHO) {
        replies.protocol = PING_REPLIES;
        replies.dport = quoted->id;
    } else {
        replies.protocol = PING_REQUESTS;
        replies.sport = quoted->id;
    }
}

static bool read_replies(u32 icmp)
{
    u32 quoted = icmp + sizeof(struct icmp);
    const struct ip *ip;

    if (!is_error(header(struct icmp, icmp)->type) || packet_length() < quoted + sizeof(struct ip))
        return false;
    ip = header(struct ip, quoted);
    if (ip->version_ihl >> 4 != 4 || ip_header_length(ip) < sizeof(struct ip))
        return false;
    replies.saddr = ip->dst;
    replies.daddr = ip->src;
    replies.protocol = ip->protocol;
    replies.sport = htons(0);
    replies.dport = htons(0);
    if (has_ports(quoted)) {
        const struct ports *ports = header(struct ports, quoted + ip_header_length(ip));

        replies.sport = ports->dport;
        replies.dport = ports->sport;
    } else if (has_identifier(quoted)) {
        read_identifier(quoted + ip_header_length(ip));
    }
    quadruple = replies;
    quadruple.protocol = PROTOCOL_UDP;
    return true;
}

/* ---- Rewriting: what is changed changes the error's checksum, too, checksums in the quotation included ---- */

static u16 addresses(u16 sum)
{
    sum = checksum_update32(sum, ntohl(replies.saddr), ntohl(rewritten.saddr));
    return checksum_update32(sum, ntohl(replies.daddr), ntohl(rewritten.daddr));
}

static u16 ports(u16 sum)
{
    sum = checksum_update(sum, ntohs(replies.sport), ntohs(rewritten.sport));
    return checksum_update(sum, ntohs(replies.dport), ntohs(rewritten.dport));
}

/* The checksum of the quoted segment, if it is there; returns the error's. */
static u16 set_segment_checksum(u32 transport, bool is_tcp, u16 sum)
{
    u32 at = transport + (is_tcp ? TCP_CHECKSUM : UDP_CHECKSUM);
    be16 *field;
    u16 before, after;

    if (packet_length() < at + sizeof(be16))
        return sum;
    field = header(be16, at);
    before = ntohs(*field);
    if (!is_tcp && before == 0)
        return sum;
    after = ports(addresses(before));
    if (!is_tcp && after == 0)
        after = 0xffff;
    *field = htons(after);
    return checksum_update(sum, before, after);
}

/* Identifier and checksum of the quoted ping; returns the error's checksum. */
static u16 rewrite_identifier(u32 at, u16 sum)
{
    struct icmp_echo *echo = header(struct icmp_echo, at);
    u16 before = ntohs(echo->checksum), after = checksum_not_zero(ports(before));

    echo->id = replies.protocol == PING_REPLIES ? rewritten.dport : rewritten.sport;
    echo->checksum = htons(after);
    return checksum_update(ports(sum), before, after);
}

/* Returns the error's checksum. */
static u16 rewrite_quotation(u32 quoted, u16 sum)
{
    struct ip *ip = header(struct ip, quoted);
    u16 before = ntohs(ip->checksum), after = addresses(before);

    ip->src = rewritten.daddr;
    ip->dst = rewritten.saddr;
    ip->checksum = htons(after);
    sum = checksum_update(addresses(sum), before, after);
    if (has_ports(quoted)) {
        u32 transport = quoted + ip_header_length(ip);
        struct ports *quoted_ports = header(struct ports, transport);

        quoted_ports->sport = rewritten.dport;
        quoted_ports->dport = rewritten.sport;
        sum = set_segment_checksum(transport, ip->protocol == PROTOCOL_TCP, ports(sum));
    } else if (has_identifier(quoted)) {
        sum = rewrite_identifier(quoted + ip_header_length(ip), sum);
    }
    return sum;
}

static void rewrite(u32 start, u32 icmp)
{
    struct ip *ip = header(struct ip, start);
    struct icmp *error = header(struct icmp, icmp);

    error->checksum = htons(rewrite_quotation(icmp + sizeof(struct icmp), ntohs(error->checksum)));
    if (ip->dst != replies.daddr)
        return;
    ip->checksum = htons(checksum_update32(ntohs(ip->checksum), ntohl(ip->dst), ntohl(rewritten.daddr)));
    ip->dst = rewritten.daddr;
    if (sets_dst_anno)
        info(dst_ip) = rewritten.daddr;
}

void push(int port)
{
    u32 start = network_offset(), icmp;
    const struct ip *ip = header(struct ip, start);

    if (ip->protocol != PROTOCOL_ICMP || !ip_is_first_fragment(ip))
        drop(NOT_ICMP);
    icmp = start + ip_header_length(ip);
    if (!read_replies(icmp) || !maps_find()) {
        if (NOUTPUTS == 2 && !maps_say_outputs)
            emit(1);
        drop(NOT_MAPPED);
    }
    rewrite(start, icmp);
    emit((int) output);
}
