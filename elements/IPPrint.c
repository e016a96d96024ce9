/*
 * IPPrint([LABEL, keywords CONTENTS, PAYLOAD, MAXLENGTH, ID, TTL, TOS, LENGTH, TIMESTAMP, AGGREGATE, PAINT, ETHER, SWAP, OUTFILE, ACTIVE]) -- prints IP packets for people
 *
 * One line a packet, much as tcpdump writes it; the IP header must be marked. Packets leave unchanged.
 *
 *   CONTENTS, PAYLOAD     HEX, ASCII: lines with the packet's bytes, or those behind its TCP, UDP or IP header, follow; NONE by default
 *   MAXLENGTH             so many bytes of them, 1,500 by default; -1: all
 *   ID, TTL, TOS, LENGTH  true: these fields too; false by default
 *   TIMESTAMP             true (default): the arrival time
 *   AGGREGATE             true: the aggregate annotation, which FromIPSummaryDump sets; false by default
 *   PAINT                 true: the paint annotation; false by default
 *   ETHER                 true: the addresses of the Ethernet header right before the IP header, if it is there; false by default
 *   SWAP                  false: identification and sequence number of ICMP echos are in the other byte order; true by default
 *   OUTFILE               the file that is printed into instead of standard error; - is standard output
 *   ACTIVE                false: nothing is printed
 *
 * Of TCP there are flags, sequence numbers from and to, in parentheses what they span, the bytes that are here and the IP length, then acknowledgement and
 * window; of this packet only the headers were captured:
 *
 *     1.000020: 1.0.0.1.10 > 1.0.0.2.20: . 0:1440(1440,60,1500) ack 0 win 0
 *
 * Handlers: active (read/write).
 *
 * See also: Print, CheckIPHeader; ToIPSummaryDump, whose lines are for programs.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPPrint, "1/1", "a/a");
PARAM(string, label, "LABEL", OPTIONAL(""));
PARAM_AS(CONTENTS, u8, contents, "CONTENTS", KEYWORD(0));
PARAM_AS(CONTENTS, u8, contents_of_payload, "PAYLOAD", KEYWORD(0));
PARAM(i32, max_length, "MAXLENGTH", KEYWORD(1500));
PARAM(bool, with_id, "ID", KEYWORD(false));
PARAM(bool, with_ttl, "TTL", KEYWORD(false));
PARAM(bool, with_tos, "TOS", KEYWORD(false));
PARAM(bool, with_length, "LENGTH", KEYWORD(false));
PARAM(bool, with_time, "TIMESTAMP", KEYWORD(true));
PARAM(bool, with_aggregate, "AGGREGATE", KEYWORD(false));
PARAM(bool, with_paint, "PAINT", KEYWORD(false));
PARAM(bool, with_ether, "ETHER", KEYWORD(false));
PARAM(bool, network_order, "SWAP", KEYWORD(true));
PARAM_AS(OUTFILE, string, file, "OUTFILE", KEYWORD(""));
PARAM(bool, active_at_start, "ACTIVE", KEYWORD(true));

enum { NONE, HEX, ASCII };
enum { BYTES_A_LINE = 24, SIGNS_A_LINE = 48 };

static bool active;

void init(void)
{
    active = active_at_start;
}

/* ---- Pieces ---- */

static void print_fields(const struct ip *ip)
{
    if (with_id) {
        print("id ");
        print_uint(ntohs(ip->id));
        print(" ");
    }
    if (with_ttl) {
        print("ttl ");
        print_uint(ip->ttl);
        print(" ");
    }
    if (with_tos) {
        print("tos ");
        print_uint(ip->tos);
        print(" ");
    }
    if (with_length) {
        print("length ");
        print_uint(ntohs(ip->length));
        print(" ");
    }
}

static void print_ether(void)
{
    const struct ether *ether;

    if (network_offset() < sizeof(struct ether) || network_offset() > packet_length())
        return;
    ether = header(struct ether, network_offset() - sizeof(struct ether));
    print_mac(ether->src);
    print(" > ");
    print_mac(ether->dst);
    print(": ");
}

static void print_prefix(void)
{
    if (!text_is(label, "")) {
        print_text(label);
        print(": ");
    }
    if (with_time) {
        print_time(now());
        print(": ");
    }
    if (with_aggregate) {
        print("#");
        print_uint(info(aggregate));
    }
    if (with_paint) {
        if (with_aggregate)
            print(".");
        else
            print("paint ");
        print_uint(info(paint));
    }
    if (with_aggregate || with_paint)
        print(": ");
    if (with_ether)
        print_ether();
}

static void print_hosts(const struct ip *ip)
{
    print_ip(ip->src);
    print(" > ");
    print_ip(ip->dst);
    print(": ");
}

static void print_hosts_and_ports(const struct ip *ip, be16 sport, be16 dport)
{
    print_ip(ip->src);
    print(".");
    print_uint(ntohs(sport));
    print(" > ");
    print_ip(ip->dst);
    print(".");
    print_uint(ntohs(dport));
    print(": ");
}

/* ---- TCP ---- */

static void print_flags(u8 flags)
{
    if ((flags & TCP_SYN) != 0)
        print("S");
    if ((flags & TCP_FIN) != 0)
        print("F");
    if ((flags & TCP_RST) != 0)
        print("R");
    if ((flags & TCP_PSH) != 0)
        print("P");
    if ((flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_PSH)) == 0)
        print(".");
    print(" ");
}

/* SYN and FIN have a place in the sequence, too. */
static void print_sequence(const struct ip *ip, const struct tcp *tcp)
{
    u32 headers = ip_header_length(ip) + (u32) (tcp->data_offset >> 4) * 4, length = ntohs(ip->length);
    u32 data = length > headers ? length - headers : 0, seq = ntohl(tcp->seq);
    u32 marks = ((tcp->flags & TCP_SYN) != 0 ? 1u : 0u) + ((tcp->flags & TCP_FIN) != 0 ? 1u : 0u);

    print_uint(seq);
    print(":");
    print_uint(seq + data + marks);
    print("(");
    print_uint(data + marks);
    print(",");
    print_uint(packet_length());
    print(",");
    print_uint(length);
    print(")");
}

static void print_tcp(const struct ip *ip, u32 transport)
{
    const struct tcp *tcp;

    if (packet_length() < transport + sizeof(struct tcp)) {
        print_hosts(ip);
        print("truncated-tcp");
        return;
    }
    tcp = header(struct tcp, transport);
    print_hosts_and_ports(ip, tcp->sport, tcp->dport);
    print_flags(tcp->flags);
    print_sequence(ip, tcp);
    if ((tcp->flags & TCP_ACK) != 0) {
        print(" ack ");
        print_uint(ntohl(tcp->ack));
    }
    print(" win ");
    print_uint(ntohs(tcp->window));
}

/* ---- UDP ---- */

static void print_udp(const struct ip *ip, u32 transport)
{
    const struct udp *udp;

    if (packet_length() < transport + sizeof(struct udp)) {
        print_hosts(ip);
        print("truncated-udp");
        return;
    }
    udp = header(struct udp, transport);
    print_hosts_and_ports(ip, udp->sport, udp->dport);
    print("udp ");
    print_uint(ntohs(udp->length));
}

/* ---- ICMP ---- */

static u16 in_order(be16 number)
{
    u16 value = ntohs(number);

    return network_order ? value : (u16) (value << 8 | value >> 8);
}

static void print_echo(u32 transport)
{
    const struct icmp_echo *echo = header(struct icmp_echo, transport);

    if (echo->type == ICMP_ECHO)
        print("icmp echo (");
    else
        print("icmp echo-reply (");
    print_uint(in_order(echo->id));
    print(", ");
    print_uint(in_order(echo->seq));
    print(")");
}

static void print_unreachable(u8 code, u32 transport)
{
    print("icmp ");
    if (packet_length() >= transport + sizeof(struct icmp) + sizeof(struct ip)) {
        print_ip(header(struct ip, transport + (u32) sizeof(struct icmp))->dst);
        print(" ");
    }
    print("unreachable ");
    switch (code) {
    case 0: print("net"); break;
    case 1: print("host"); break;
    case 2: print("protocol"); break;
    case 3: print("port"); break;
    case 4: print("needfrag"); break;
    default: print_uint(code); break;
    }
}

static void print_type(u8 type)
{
    print("icmp ");
    switch (type) {
    case ICMP_SOURCE_QUENCH: print("sourcequench"); break;
    case ICMP_REDIRECT: print("redirect"); break;
    case ICMP_TIME_EXCEEDED: print("timeexceeded"); break;
    case ICMP_PARAMETER_PROBLEM: print("parameterproblem"); break;
    case ICMP_TIMESTAMP: print("timestamp"); break;
    case ICMP_TIMESTAMP_REPLY: print("timestamp-reply"); break;
    default: print("type "); print_uint(type); break;
    }
}

static void print_code(u8 type, u8 code)
{
    if (type == ICMP_TIME_EXCEEDED && code == 0)
        print(" transit");
    else if (type == ICMP_TIME_EXCEEDED && code == 1)
        print(" reassembly");
    else if (type == ICMP_REDIRECT && code == 0)
        print(" net");
    else if (type == ICMP_REDIRECT && code == 1)
        print(" host");
    else if (code != 0) {
        print(" code ");
        print_uint(code);
    }
}

static void print_icmp(const struct ip *ip, u32 transport)
{
    const struct icmp *icmp;

    print_hosts(ip);
    if (packet_length() < transport + sizeof(struct icmp)) {
        print("truncated-icmp");
        return;
    }
    icmp = header(struct icmp, transport);
    if (icmp->type == ICMP_ECHO || icmp->type == ICMP_ECHO_REPLY)
        print_echo(transport);
    else if (icmp->type == ICMP_UNREACHABLE)
        print_unreachable(icmp->code, transport);
    else {
        print_type(icmp->type);
        print_code(icmp->type, icmp->code);
    }
}

/* ---- The line ---- */

static void print_later_fragment(const struct ip *ip)
{
    print_hosts(ip);
    switch (ip->protocol) {
    case PROTOCOL_TCP: print("tcp"); break;
    case PROTOCOL_UDP: print("udp"); break;
    case PROTOCOL_ICMP: print("icmp"); break;
    default: print("ip-proto-"); print_uint(ip->protocol); break;
    }
}

static void print_transport(const struct ip *ip, u32 transport)
{
    if (!ip_is_first_fragment(ip))
        print_later_fragment(ip);
    else if (ip->protocol == PROTOCOL_TCP)
        print_tcp(ip, transport);
    else if (ip->protocol == PROTOCOL_UDP)
        print_udp(ip, transport);
    else if (ip->protocol == PROTOCOL_ICMP)
        print_icmp(ip, transport);
    else
        print_later_fragment(ip);
}

static void print_fragment(const struct ip *ip)
{
    print(" (frag ");
    print_uint(ntohs(ip->id));
    print(":");
    print_uint(ntohs(ip->length) - ip_header_length(ip));
    print("@");
    print_uint((u32) (ntohs(ip->fragment) & IP_OFFSET) * 8);
    if ((ip->fragment & htons(IP_MORE_FRAGMENTS)) != 0)
        print("+");
    print(")");
}

static void print_lines(u32 at, u8 form)
{
    u32 end = packet_length(), most = form == HEX ? BYTES_A_LINE : SIGNS_A_LINE;

    if (max_length >= 0 && end > at && end - at > (u32) max_length)
        end = at + (u32) max_length;
    while (at < end) {
        u32 length = end - at < most ? end - at : most;

        print("\n  ");
        if (form == HEX)
            print_bytes(at, length);
        else
            print_ascii(at, length);
        at += length;
    }
}

/* Where what a packet carries begins: behind the TCP or UDP header, if that is here, otherwise behind the IP header. */
static u32 payload(const struct ip *ip, u32 transport)
{
    if (ip_is_first_fragment(ip) && ip->protocol == PROTOCOL_UDP)
        return transport + (u32) sizeof(struct udp);
    if (ip_is_first_fragment(ip) && ip->protocol == PROTOCOL_TCP && packet_length() >= transport + sizeof(struct tcp))
        return transport + (u32) (header(struct tcp, transport)->data_offset >> 4) * 4;
    return transport;
}

void packet(int port)
{
    if (active) {
        u32 start = network_offset();
        const struct ip *ip = header(struct ip, start);

        print_prefix();
        print_fields(ip);
        print_transport(ip, start + ip_header_length(ip));
        if (ip_is_fragment(ip))
            print_fragment(ip);
        if (contents != NONE)
            print_lines(0, contents);
        else if (contents_of_payload != NONE)
            print_lines(payload(ip, start + ip_header_length(ip)), contents_of_payload);
        print("\n");
    }
    emit(0);
}

READ(active, bool, active);
WRITE(active, bool, active);
