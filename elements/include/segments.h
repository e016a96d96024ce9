/*
 * segments.h -- what flows of TCP and UDP are, for rewriter.h
 *
 * The class has declared
 *
 *   bool handles(u8 protocol)           is that protocol rewritten here?
 *   MIXES                               is a flow addresses and ports, whatever its protocol?
 *   SHIFTS                              are sequence numbers shifted? Then sequence.h has been included.
 */

/* This packet's. */
static bool is_tcp_segment(u32 start)
{
    return header(struct ip, start)->protocol == PROTOCOL_TCP;
}

static bool has_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    u32 least = ip->protocol == PROTOCOL_TCP ? sizeof(struct tcp) : sizeof(struct udp);

    return handles(ip->protocol) && ip_is_first_fragment(ip) && packet_length() >= transport + least;
}

static void read_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    const struct ports *ports = header(struct ports, start + ip_header_length(ip));

    this_flow.saddr = ip->src;
    this_flow.daddr = ip->dst;
    this_flow.sport = ports->sport;
    this_flow.dport = ports->dport;
    this_flow.protocol = MIXES ? PROTOCOL_UDP : ip->protocol;
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
    const struct ip *ip = header(struct ip, start);
    const struct tcp *tcp = header(struct tcp, start + ip_header_length(ip));

    return ntohs(ip->length) > ip_header_length(ip) + (u32) (tcp->data_offset >> 4) * 4;
}

static bool ends_connection(u32 start)
{
    const struct ip *ip = header(struct ip, start);

    return (header(struct tcp, start + ip_header_length(ip))->flags & (TCP_FIN | TCP_RST)) != 0;
}

static u16 update_for_all(u16 sum)
{
    sum = checksum_update(sum, ntohs(this_flow.sport), ntohs(rewritten.sport));
    sum = checksum_update(sum, ntohs(this_flow.dport), ntohs(rewritten.dport));
    return update_for_addresses(sum);
}

static void rewrite_udp(u32 transport)
{
    struct udp *udp = header(struct udp, transport);
    u16 sum = update_for_all(ntohs(udp->checksum));

    udp->sport = rewritten.sport;
    udp->dport = rewritten.dport;
    if (udp->checksum != htons(0))
        udp->checksum = htons(sum == 0 ? 0xffff : sum);
}

static void rewrite_tcp(u32 transport)
{
    struct tcp *tcp = header(struct tcp, transport);

    tcp->sport = rewritten.sport;
    tcp->dport = rewritten.dport;
    tcp->checksum = htons(update_for_all(ntohs(tcp->checksum)));
#ifdef SHIFTS
    shift_numbers(transport);
#endif
}

static void rewrite_transport(u32 transport)
{
    if (MIXES ? is_tcp_segment(network_offset()) : this_flow.protocol == PROTOCOL_TCP)
        rewrite_tcp(transport);
    else
        rewrite_udp(transport);
}

/* ---- Flows that other elements want, such as FTPPortMapper: it writes source and destination, address and port of 16 bits behind it, then the input ---- */

static void name_source(u64 source)
{
    this_flow.saddr = htonl((u32) (source >> 16));
    this_flow.sport = htons((u16) source);
    this_flow.protocol = MIXES ? PROTOCOL_UDP : PROTOCOL_TCP;
}

static void name_destination(u64 destination)
{
    this_flow.daddr = htonl((u32) (destination >> 16));
    this_flow.dport = htons((u16) destination);
}

static void map_named(u32 port)
{
    if (port >= inputs_count || is_mapped() || inputs[port].kind == REWRITE_PASS || inputs[port].kind == REWRITE_DROP)
        return;
    if (!map((int) port))
        mapping_failures += 1;
}

WRITE_CALL(map_source, u64, name_source);
WRITE_CALL(map_destination, u64, name_destination);
WRITE_CALL(map, u32, map_named);
