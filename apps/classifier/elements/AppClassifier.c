/*
 * AppClassifier([keywords OTHER, CAPACITY, HEADS, TIMEOUT]) -- tells the application protocol of TCP flows by what they begin with
 *
 * The IP header must be marked. All packets leave by output 0 unchanged; their paint annotation is the number of their flow's protocol (protocols.h), 0 as long as that is
 * open, 1 if no expression fits. Packets that are not TCP, and fragments, get 1.
 *
 * Regular expressions are tried on the first 500 bytes of each direction, put together in order: at every segment that adds to them, until one fits or neither direction can
 * have more. Segments may come in any order within these 500 bytes, twice, and overlap (what came first stays). A flow of which no SYN was seen begins with its first segment.
 *
 *   OTHER     an expression of yours, tried before all others: protocol "other"
 *   CAPACITY  flows at most, 65,536 by default; packets of others are painted 1
 *   HEADS     beginnings of one direction that are kept at most, 8,192 by default: of flows that one segment does not decide. Without room each segment is tried by itself
 *   TIMEOUT   how long a flow is known after its last packet, 300 seconds by default; beginnings are kept for a tenth of that
 *
 * Handlers: the tables flows and heads have count and list.
 *
 * Source: the paper of NetTM, Table 1; the idea of L7-filter (the expressions are other ones). See also: ProtocolCount, PaintSwitch, RegexFilter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(AppClassifier, "1/1", "a/a");
FLOW_STATE(ADDRESSES);
PARAM(string, other, "OTHER", KEYWORD(""));
PARAM(u32, capacity, "CAPACITY", KEYWORD(65536));
PARAM(u32, heads_capacity, "HEADS", KEYWORD(8192));
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));

#include "protocols.h"

enum { HEAD = 500, WORDS = 8 };

/* Both directions of a connection: the lower end first. */
struct flow { be32 low, high; be16 low_port, high_port; };
struct side { struct flow flow; bool from_high; };
struct known { u8 protocol; u8 ended; u32 packets; u64 bytes; };
/* What one direction begins with, which bytes of it there are, and how many of them without a gap. */
struct head { u32 base; u32 gathered; u64 present[WORDS]; u8 bytes[HEAD]; };
TABLE_EXACT(flows, struct flow, struct known, capacity, timeout);
TABLE_EXACT(heads, struct side, struct head, heads_capacity, timeout / 10);

REGEX(is_other, other);
REGEX(is_rtsp, "^(DESCRIBE|SETUP|PLAY|ANNOUNCE|OPTIONS) rtsp://|^RTSP/1\\.0 [1-5]");
REGEX(is_sip, "^(INVITE|REGISTER|OPTIONS|BYE|ACK|SUBSCRIBE|NOTIFY|MESSAGE) sips?:|^SIP/2\\.0 [1-6]");
REGEX(is_http, "^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT) [^ \r\n]+ HTTP/1\\.[01]|^HTTP/1\\.[01] [1-5][0-9][0-9]|^PRI \\* HTTP/2\\.0");
REGEX(is_tls, "^\x16\x03[\x01-\x04]..[\x01\x02]");
REGEX(is_ssh, "^SSH-[12]\\.[0-9]+-");
REGEX(is_smtp, "^220[ -][^\r\n]*SMTP|^(EHLO|HELO|ehlo|helo) ");
REGEX(is_ftp, "^220[ -][^\r\n]*FTP|^USER [^ \r\n]+\r\n");
REGEX(is_pop3, "^\\+OK |^CAPA\r\n|^APOP ");
REGEX(is_imap, "^\\* (OK|PREAUTH) |^[A-Za-z0-9]+ (CAPABILITY|LOGIN|STARTTLS)");
REGEX(is_irc, "^(CAP|PASS|NICK) [^\r\n]+\r?\n(NICK|USER) |^:[^ ]+ NOTICE ");
REGEX(is_xmpp, "<stream:stream[^>]* xmlns");
REGEX(is_bittorrent, "^\x13" "BitTorrent protocol");
REGEX(is_mqtt, "^\x10..?.\x04MQTT");
REGEX(is_redis, "^\\*[0-9]+\r\n\\$[0-9]+\r\n[A-Za-z]+\r\n");
REGEX(is_postgresql, "^.....\x03..user.");
REGEX(is_mysql, "^....\x0a[3-9]\\.[0-9]+\\.[0-9]");
REGEX(is_smb, "^.....SMB");
REGEX(is_vnc, "^RFB 00[1-4]\\.00[0-9]\n");
REGEX(is_git, "^[0-9a-f][0-9a-f][0-9a-f][0-9a-f]git-(upload|receive)-pack ");
REGEX(is_rsync, "^@RSYNCD: [0-9]");

static struct side side;
static struct head head;

/* The protocol that bytes of the packet fit, UNDECIDED if none. */
static u8 protocol_of(u32 at, u32 length)
{
    if (!text_is(other, "") && regex_found(is_other, at, length)) return OTHER;
    if (regex_found(is_tls, at, length)) return TLS;
    if (regex_found(is_rtsp, at, length)) return RTSP;
    if (regex_found(is_sip, at, length)) return SIP;
    if (regex_found(is_http, at, length)) return HTTP;
    if (regex_found(is_ssh, at, length)) return SSH;
    if (regex_found(is_smtp, at, length)) return SMTP;
    if (regex_found(is_ftp, at, length)) return FTP;
    if (regex_found(is_pop3, at, length)) return POP3;
    if (regex_found(is_imap, at, length)) return IMAP;
    if (regex_found(is_irc, at, length)) return IRC;
    if (regex_found(is_xmpp, at, length)) return XMPP;
    if (regex_found(is_bittorrent, at, length)) return BITTORRENT;
    if (regex_found(is_mqtt, at, length)) return MQTT;
    if (regex_found(is_redis, at, length)) return REDIS;
    if (regex_found(is_postgresql, at, length)) return POSTGRESQL;
    if (regex_found(is_mysql, at, length)) return MYSQL;
    if (regex_found(is_smb, at, length)) return SMB;
    if (regex_found(is_vnc, at, length)) return VNC;
    if (regex_found(is_git, at, length)) return GIT;
    return regex_found(is_rsync, at, length) ? RSYNC : UNDECIDED;
}

static void read_side(const struct ip *ip, const struct tcp *tcp)
{
    bool from_high = ntohl(ip->src) > ntohl(ip->dst) || (ip->src == ip->dst && ntohs(tcp->sport) > ntohs(tcp->dport));

    side.from_high = from_high;
    side.flow.low = from_high ? ip->dst : ip->src;
    side.flow.high = from_high ? ip->src : ip->dst;
    side.flow.low_port = from_high ? tcp->dport : tcp->sport;
    side.flow.high_port = from_high ? tcp->sport : tcp->dport;
}

/* ---- Beginnings ---- */

/* Counts the bytes that are there from the first one on. */
static void gather(void)
{
    u32 n = head.gathered;

    while (n < HEAD && (head.present[n / 64] >> (n % 64) & 1) != 0)
        n += 1;
    head.gathered = n;
}

/* Puts a segment's bytes where they belong in the beginning; those that are there stay. */
static void place(u32 from, u32 at, u32 length)
{
    const u8 *bytes = header_array(u8, at, length);

    for (u32 i = 0; i < length && from + i < HEAD; i++) {
        u32 n = from + i;

        if ((head.present[n / 64] >> (n % 64) & 1) == 0)
            head.bytes[n] = bytes[i];
        head.present[n / 64] |= (u64) 1 << (n % 64);
    }
    gather();
}

/* The beginning's bytes stand behind the packet for so long as they are searched. */
static u8 protocol_of_head(u32 length)
{
    u32 at = packet_length();
    u8 protocol;

    packet_put(length);
    packet_write(at, head.bytes, length);
    protocol = protocol_of(at, length);
    packet_trim(length);
    return protocol;
}

/* A direction begins with this byte. */
static void begin(u32 seq)
{
    struct head *kept = table_insert(heads, &side);

    if (!kept)
        return;
    kept->base = seq;
    kept->gathered = 0;
    /* With a computed index all words of an entry are one value, too wide for C. */
    kept->present[0] = 0;
    kept->present[1] = 0;
    kept->present[2] = 0;
    kept->present[3] = 0;
    kept->present[4] = 0;
    kept->present[5] = 0;
    kept->present[6] = 0;
    kept->present[7] = 0;
}

/* Adds a segment to its direction's beginning, and tries what there is then. A first segment is tried where it is. */
static u8 add(u32 seq, u32 at, u32 length)
{
    struct head *kept = table_find(heads, &side);
    u32 tried, from;
    u8 protocol;

    if (!kept) {
        begin(seq);
        kept = table_find(heads, &side);
    }
    from = kept ? seq - kept->base : 0;
    if (from >= HEAD)
        return UNDECIDED;
    tried = kept ? kept->gathered : 0;
    if (from == 0 && tried == 0) {
        tried = length < HEAD ? length : HEAD;
        protocol = protocol_of(at, tried);
        if (!kept || protocol != UNDECIDED)
            return protocol;
    }
    head = *kept;
    place(from, at, length);
    *kept = head;
    return head.gathered > tried ? protocol_of_head(head.gathered) : UNDECIDED;
}

/* ---- Flows ---- */

static bool head_is_full(void)
{
    const struct head *kept = table_find(heads, &side);

    return kept && kept->gathered == HEAD;
}

/* Neither direction's beginning is needed any more. */
static void forget_heads(void)
{
    table_delete(heads, &side);
    side.from_high = !side.from_high;
    table_delete(heads, &side);
}

/* What the packet adds to its flow; the protocol, if that is known now. */
static u8 follow(const struct ip *ip, u32 start)
{
    u32 transport = start + ip_header_length(ip), end = start + ntohs(ip->length);
    const struct tcp *tcp = header(struct tcp, transport);
    u32 data = transport + (tcp->data_offset >> 4) * 4u, seq = ntohl(tcp->seq);
    u8 flags = tcp->flags, protocol = UNDECIDED;
    u32 length = data < end && end <= packet_length() ? end - data : 0;
    struct known *known;

    if ((flags & (TCP_SYN | TCP_RST)) == TCP_SYN)
        begin(seq + 1);
    else if (length > 0)
        protocol = add(seq, data, length);
    known = table_find(flows, &side.flow);
    if ((flags & (TCP_FIN | TCP_RST)) != 0 || length >= HEAD || head_is_full())
        known->ended |= side.from_high ? 2 : 1;
    if ((flags & TCP_RST) != 0)
        known->ended = 3;
    if (protocol == UNDECIDED && known->ended == 3)
        protocol = UNKNOWN;
    return protocol;
}

/* The paint of a TCP packet. */
static u8 classify(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    const struct tcp *tcp = header(struct tcp, start + ip_header_length(ip));
    bool begins = (tcp->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
    struct known *known;
    u8 protocol;

    read_side(ip, tcp);
    known = table_insert(flows, &side.flow);
    if (!known)
        return UNKNOWN;
    if (begins && known->protocol != UNDECIDED) {
        struct known nothing = { 0 };

        *known = nothing;
    }
    if (known->protocol != UNDECIDED)
        return known->protocol;
    protocol = follow(ip, start);
    known = table_find(flows, &side.flow);
    if (protocol != UNDECIDED) {
        info(decides) = true;
        info(earlier_packets) = known->packets;
        info(earlier_bytes) = known->bytes;
        forget_heads();
    }
    known->protocol = protocol;
    known->packets += 1;
    known->bytes += wire_length();
    return protocol;
}

void packet(int port)
{
    u32 start = network_offset();
    const struct ip *ip = header(struct ip, start);

    info(paint) = ip->protocol == PROTOCOL_TCP && !ip_is_fragment(ip) ? classify(start) : UNKNOWN;
    emit(0);
}
