/*
 * rewriter.h -- the body of IPRewriter, TCPRewriter and UDPRewriter: network address and port translation (RFC 3022)
 *
 * The class that includes this has declared
 *
 *   sets_dst_anno, reply_anno           parameters; NO_ANNO: an annotation that is none
 *   inputs                              what to do with new flows: CONFIG(REWRITE, inputs)
 *   brief, lasting                      tables from struct flow to struct mapping
 *   u64 brief_time(void)                for how long `brief` keeps what is not used
 *   bool handles(u8 protocol)           is that protocol rewritten here?
 *   u64 time_limit(bool is_tcp, bool is_done, bool has_data, bool streams)
 *
 * Mappings whose limit is at most brief_time() are in the first table, others in the other, so that flows that never came to anything do not fill the table
 * for as long as a connection may be idle. Both mappings of a flow are always in the same table and used at the same time.
 *
 * Source: RFC 3022, RFC 1624; Click's manual of IPRewriter. Left out: mappers (other elements that choose mappings) and guarantees: when the tables
 * are full, new flows are dropped.
 */

enum { NOT_REWRITTEN, INPUT_DROPS, NO_ROOM };
enum { MOST_TRIES = 1024, PATTERNS = 64 };

static u64 mapping_failures;
static u32 next_port[PATTERNS];
/* The packet's flow, what it becomes, and the flow of replies to that. */
static struct flow this_flow, rewritten, replies;
/* A mapping on its way from table to table. */
static struct mapping kept;

/* ---- The packet's flow ---- */

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
    this_flow.protocol = ip->protocol;
}

static void find_replies(void)
{
    replies.saddr = rewritten.daddr;
    replies.daddr = rewritten.saddr;
    replies.sport = rewritten.dport;
    replies.dport = rewritten.sport;
    replies.protocol = rewritten.protocol;
}

/* ---- Mappings ---- */

static bool is_mapped(void)
{
    return is_live(table_peek(brief, &this_flow)) || is_live(table_peek(lasting, &this_flow));
}

/* No packet that is rewritten already would look like a reply to what this would become. */
static bool is_free(void)
{
    find_replies();
    return !is_live(table_peek(brief, &replies)) && !is_live(table_peek(lasting, &replies));
}

static u32 first_try(const struct rewrite_spec *spec)
{
    u32 own = ntohs(this_flow.sport), first = spec->sport_first, count = spec->sport_last - first + 1u;

    if (spec->sequential)
        return next_port[spec->pattern % PATTERNS] % count;
    if (!spec->random && own >= first && own <= spec->sport_last)
        return own - first;
    return random32() % count;
}

/* Finds a source port that is free; ports after the first tried are tried in order. */
static bool choose_port(const struct rewrite_spec *spec)
{
    u32 count = spec->sport_last - spec->sport_first + 1u, first = first_try(spec);

    for (u32 i = 0; i < count && i < MOST_TRIES; i++) {
        u32 chosen = (first + i) % count;

        rewritten.sport = htons((u16) (spec->sport_first + chosen));
        if (is_free()) {
            next_port[spec->pattern % PATTERNS] = chosen + 1;
            return true;
        }
    }
    return false;
}

static bool apply_pattern(const struct rewrite_spec *spec)
{
    if (spec->saddr != htonl(0))
        rewritten.saddr = spec->saddr;
    if (spec->daddr != htonl(0))
        rewritten.daddr = spec->daddr;
    if (spec->dport != htons(0))
        rewritten.dport = spec->dport;
    if (spec->sport_first != 0)
        return choose_port(spec);
    return is_free();
}

static void fill_new(struct mapping *mapping, u32 output, bool is_reply)
{
    mapping->output = output;
    mapping->is_reply = is_reply;
    mapping->mark = reply_anno == NO_ANNO ? 0 : annotation(reply_anno);
    mapping->used = now();
    mapping->limit = brief_time();
    mapping->packets = 0;
    mapping->has_data = false;
    mapping->is_done = false;
}

/* Both directions, or neither. */
static bool insert_both(u32 forward, u32 reply)
{
    struct mapping *mapping = table_insert(brief, &this_flow);

    if (!mapping)
        return false;
    fill_new(mapping, forward, false);
    mapping->to = rewritten;
    find_replies();
    mapping = table_insert(brief, &replies);
    if (!mapping) {
        table_delete(brief, &this_flow);
        return false;
    }
    fill_new(mapping, reply, true);
    mapping->to.saddr = this_flow.daddr;
    mapping->to.daddr = this_flow.saddr;
    mapping->to.sport = this_flow.dport;
    mapping->to.dport = this_flow.sport;
    mapping->to.protocol = this_flow.protocol;
    return true;
}

/* What is left of an older flow with the same name goes. */
static void forget(void)
{
    table_delete(brief, &this_flow);
    table_delete(lasting, &this_flow);
    find_replies();
    table_delete(brief, &replies);
    table_delete(lasting, &replies);
}

static bool map(int port)
{
    const struct rewrite_spec *spec = &inputs[port];

    rewritten = this_flow;
    if (spec->kind == REWRITE_PATTERN && !apply_pattern(spec))
        return false;
    forget();
    return insert_both(spec->forward, spec->reply);
}

/* ---- What a packet says about its flow ---- */

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

static struct mapping *mapping_of_flow(void)
{
    struct mapping *mapping = table_find(lasting, &this_flow);

    return mapping ? mapping : table_find(brief, &this_flow);
}

static struct mapping *mapping_of_replies(void)
{
    struct mapping *mapping = table_find(lasting, &replies);

    return mapping ? mapping : table_find(brief, &replies);
}

/* Moves one mapping from table to table, for as long as it will be there now. */
static void move_flow(bool lasts)
{
    struct mapping *moved;

    kept = *mapping_of_flow();
    if (lasts) {
        table_delete(brief, &this_flow);
        moved = table_insert(lasting, &this_flow);
    } else {
        table_delete(lasting, &this_flow);
        moved = table_insert(brief, &this_flow);
    }
    if (moved)
        *moved = kept;
}

static void move_replies(bool lasts)
{
    struct mapping *moved;

    kept = *mapping_of_replies();
    if (lasts) {
        table_delete(brief, &replies);
        moved = table_insert(lasting, &replies);
    } else {
        table_delete(lasting, &replies);
        moved = table_insert(brief, &replies);
    }
    if (moved)
        *moved = kept;
}

/* Notes the packet in both mappings; leaves what it becomes in `rewritten`. Returns its output. */
static u32 note(u32 start)
{
    struct mapping *own = mapping_of_flow(), *other;
    bool is_tcp = this_flow.protocol == PROTOCOL_TCP;
    u64 limit;
    u32 output = own->output;

    rewritten = own->to;
    if (own->is_reply && reply_anno != NO_ANNO)
        set_annotation(reply_anno, own->mark);
    find_replies();
    other = mapping_of_replies();
    if (!other)
        return output;
    own->packets += 1;
    own->has_data = own->has_data || (is_tcp && carries_data(start));
    own->is_done = own->is_done || (is_tcp && ends_connection(start));
    other->is_done = own->is_done;
    limit = time_limit(is_tcp, own->is_done, own->has_data && other->has_data,
                       own->packets > 0 && other->packets > 0 && own->packets + other->packets >= 3);
    own->used = now();
    other->used = own->used;
    if ((own->limit > brief_time()) != (limit > brief_time())) {
        own->limit = limit;
        other->limit = limit;
        move_flow(limit > brief_time());
        move_replies(limit > brief_time());
        return output;
    }
    own->limit = limit;
    other->limit = limit;
    return output;
}

/* ---- Rewriting ---- */

static u16 update_for_addresses(u16 sum)
{
    sum = checksum_update32(sum, ntohl(this_flow.saddr), ntohl(rewritten.saddr));
    return checksum_update32(sum, ntohl(this_flow.daddr), ntohl(rewritten.daddr));
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
}

static void rewrite(u32 start)
{
    struct ip *ip = header(struct ip, start);

    ip->src = rewritten.saddr;
    ip->dst = rewritten.daddr;
    ip->checksum = htons(update_for_addresses(ntohs(ip->checksum)));
    if (sets_dst_anno)
        info(dst_ip) = rewritten.daddr;
    if (this_flow.protocol == PROTOCOL_TCP)
        rewrite_tcp(start + ip_header_length(ip));
    else
        rewrite_udp(start + ip_header_length(ip));
}

void push(int port)
{
    u32 start = network_offset(), kind = inputs[port].kind, output;
    bool is_flow = has_flow(start), is_new = false;

    if (is_flow)
        read_flow(start);
    if (!is_flow || !is_mapped()) {
        if (kind == REWRITE_PASS)
            emit((int) inputs[port].forward);
        if (!is_flow)
            drop(NOT_REWRITTEN);
        if (kind == REWRITE_DROP)
            drop(INPUT_DROPS);
        if (!map(port)) {
            mapping_failures += 1;
            drop(NO_ROOM);
        }
        is_new = true;
    }
    output = note(start);
    rewrite(start);
    /* A flow that is its own reply has one mapping only, that of replies. */
    emit((int) (is_new ? inputs[port].forward : output));
}

/* ---- Handlers ---- */

static void print_address(be32 address)
{
    if (address == htonl(0))
        print("-");
    else
        print_ip(address);
}

static void print_port(u32 number)
{
    if (number == 0)
        print("-");
    else
        print_uint(number);
}

static void print_pattern(const struct rewrite_spec *spec)
{
    print_address(spec->saddr);
    print(" ");
    print_port(spec->sport_first);
    if (spec->sport_last != spec->sport_first) {
        print("-");
        print_port(spec->sport_last);
    }
    print(" ");
    print_address(spec->daddr);
    print(" ");
    print_port(ntohs(spec->dport));
    print("\n");
}

static void print_patterns(void)
{
    for (u32 i = 0; i < inputs_count; i++)
        if (inputs[i].kind == REWRITE_PATTERN)
            print_pattern(&inputs[i]);
}

READ(mapping_failures, u64, mapping_failures);
READ_CALL(patterns, text, print_patterns);
