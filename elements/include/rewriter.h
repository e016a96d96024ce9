/*
 * rewriter.h -- the body of IPRewriter, TCPRewriter, UDPRewriter, ICMPPingRewriter and IPAddrPairRewriter: network address and port translation (RFC 3022)
 *
 * What a flow is in a packet, the class says behind this, by the functions that are declared first; for TCP and UDP that is
 * segments.h, and ports.h for patterns with ports. Before it has declared
 *
 *   sets_dst_anno, reply_anno           parameters; NO_ANNO: an annotation that is none
 *   inputs                              what to do with new flows: CONFIG(REWRITE, inputs)
 *   brief, lasting                      tables from struct flow to struct mapping
 *   u64 brief_time(void)                for how long `brief` keeps what is not used
 *   u64 time_limit(bool is_tcp, bool is_done, bool has_data, bool streams)
 *
 * Mappings whose limit is at most brief_time() are in the first table, others in the other, so that flows that never came to anything do not fill the table
 * for as long as a connection may be idle. Both mappings of a flow are always in the same table and used at the same time.
 *
 * Source: RFC 3022, RFC 1624; Click's manual of IPRewriter. A mapper chooses among several patterns for an input. Left out: guarantees: when the tables
 * are full, new flows are dropped.
 */

enum { NOT_REWRITTEN, INPUT_DROPS, NO_ROOM };
enum { MOST_TRIES = 1024, PATTERNS = 64 };

static u64 mapping_failures;
static u32 next_port[PATTERNS];
/* Of each input with a mapper that takes patterns in turn; and the output of the pattern that the last new flow got. */
static u32 next_choice[PATTERNS], chosen_forward;
/* The packet's flow, what it becomes, and the flow of replies to that. */
static struct flow this_flow, rewritten, replies;
/* The other direction of an older flow. */
static struct flow partner;
/* A mapping on its way from table to table. */
static struct mapping kept;

/* ---- What the class says of packets ---- */

/* Is the packet one that may be rewritten? Then its flow goes to this_flow. */
static bool has_flow(u32 start);
static void read_flow(u32 start);
/* May a flow begin with this_flow? */
static bool begins(void);
/* What a flow's protocol is in its replies. */
static u8 of_replies(u8 protocol);
/* Of TCP: does the packet carry data, or end the connection? */
static bool carries_data(u32 start);
static bool ends_connection(u32 start);
/* Changes ports or what stands for them to those of `rewritten`, and the checksum there. */
static void rewrite_transport(u32 transport);
/* Makes `rewritten`, which is this_flow, what a pattern says; false if nothing of its range is free. */
static bool apply_pattern(const struct rewrite_spec *spec);
static void print_pattern(const struct rewrite_spec *spec);

static void find_replies(void)
{
    replies.saddr = rewritten.daddr;
    replies.daddr = rewritten.saddr;
    replies.sport = rewritten.dport;
    replies.dport = rewritten.sport;
    replies.protocol = of_replies(rewritten.protocol);
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

static void fill_new(struct mapping *mapping, int input, u32 output, bool is_reply)
{
    mapping->input = (u8) input;
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
static bool insert_both(int input, const struct rewrite_spec *spec)
{
    struct mapping *mapping = table_insert(brief, &this_flow);

    if (!mapping)
        return false;
    fill_new(mapping, input, spec->forward, false);
    mapping->to = rewritten;
    find_replies();
    mapping = table_insert(brief, &replies);
    if (!mapping) {
        table_delete(brief, &this_flow);
        return false;
    }
    fill_new(mapping, input, spec->reply, true);
    mapping->to.saddr = this_flow.daddr;
    mapping->to.daddr = this_flow.saddr;
    mapping->to.sport = this_flow.dport;
    mapping->to.dport = this_flow.sport;
    mapping->to.protocol = of_replies(this_flow.protocol);
    return true;
}

/* Of a mapping of `replies`: its other direction goes to `partner`. */
static bool has_partner(const struct mapping *mapping)
{
    if (!is_live(mapping))
        return false;
    partner.saddr = mapping->to.daddr;
    partner.daddr = mapping->to.saddr;
    partner.sport = mapping->to.dport;
    partner.dport = mapping->to.sport;
    partner.protocol = of_replies(mapping->to.protocol);
    return true;
}

/* Is that a mapping whose other direction is `replies`? */
static bool is_partner(const struct mapping *mapping)
{
    return mapping && mapping->to.saddr == replies.daddr && mapping->to.daddr == replies.saddr && mapping->to.sport == replies.dport
        && mapping->to.dport == replies.sport && mapping->to.protocol == of_replies(replies.protocol);
}

/* The older flow that has these replies goes, both ways: they are the new one's. */
static void forget_older(void)
{
    if (has_partner(table_peek(brief, &replies)) || has_partner(table_peek(lasting, &replies))) {
        if (is_partner(table_peek(brief, &partner)))
            table_delete(brief, &partner);
        if (is_partner(table_peek(lasting, &partner)))
            table_delete(lasting, &partner);
    }
    table_delete(brief, &replies);
    table_delete(lasting, &replies);
}

/* What is left of older flows with the same names goes. */
static void forget(void)
{
    table_delete(brief, &this_flow);
    table_delete(lasting, &this_flow);
    find_replies();
    if (table_peek(brief, &replies) || table_peek(lasting, &replies))
        forget_older();
}

static bool map_as(int port, const struct rewrite_spec *spec)
{
    rewritten = this_flow;
    if (spec->kind == REWRITE_PATTERN && !apply_pattern(spec))
        return false;
    forget();
    chosen_forward = spec->forward;
    return insert_both(port, spec);
}

/* The choice of the first place behind the hash of the source, in Click's way, so that sources go where Click sends them. */
static u32 choice_by_source(const struct rewrite_mapper *mapper)
{
    u32 low = mapper->first_node + 1, high = mapper->first_node + mapper->nodes, address = ntohl(this_flow.saddr);
    u32 hash = (address >> 24) | (address >> 8 & 0xff00) | (address << 8 & 0xff0000) | address << 24;

    hash = hash * ((hash & 0xff) << 24 | 1) % 0x7fffffff;
    while (low < high) {
        u32 middle = (low + high) / 2;

        if (inputs_nodes[middle].place < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return inputs_nodes[low < mapper->first_node + mapper->nodes ? low : mapper->first_node].choice;
}

/* A mapper may have patterns for a rewriter with more outputs. */
static bool has_outputs(const struct rewrite_spec *spec)
{
    return spec->forward < (u32) NOUTPUTS && spec->reply < (u32) NOUTPUTS;
}

static bool map_by_source(int port, const struct rewrite_mapper *mapper)
{
    const struct rewrite_spec *spec = &inputs_choices[mapper->first + choice_by_source(mapper)];

    return has_outputs(spec) && map_as(port, spec);
}

static bool map(int port)
{
    const struct rewrite_mapper *mapper = &inputs_mappers[port];

    if (inputs_choices_count == 0 || mapper->count == 0)
        return map_as(port, &inputs[port]);
    if (mapper->nodes != 0)
        return map_by_source(port, mapper);
    for (u32 i = 0; i < mapper->count; i++) {
        u32 choice = next_choice[(u32) port % PATTERNS] % mapper->count;

        next_choice[(u32) port % PATTERNS] = choice + 1;
        if (!has_outputs(&inputs_choices[mapper->first + choice]))
            return false;
        if (map_as(port, &inputs_choices[mapper->first + choice]))
            return true;
    }
    return false;
}

/* ---- Packets of a flow ---- */

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

static void rewrite(u32 start)
{
    struct ip *ip = header(struct ip, start);

    ip->src = rewritten.saddr;
    ip->dst = rewritten.daddr;
    ip->checksum = htons(update_for_addresses(ntohs(ip->checksum)));
    if (sets_dst_anno)
        info(dst_ip) = rewritten.daddr;
    rewrite_transport(start + ip_header_length(ip));
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
        if (!is_flow || !begins())
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
    emit((int) (!is_new ? output : inputs_choices_count == 0 ? inputs[port].forward : chosen_forward));
}

/* ---- Handlers ---- */

static void print_address(be32 address)
{
    if (address == htonl(0))
        print("-");
    else
        print_ip(address);
}

/* One line an input. The runtime puts behind it how many flows began there. */
static void print_patterns(void)
{
    for (u32 i = 0; i < inputs_count; i++) {
        if (inputs_choices_count != 0 && inputs_mappers[i].count != 0) {
            print("<mapper>\n");
            continue;
        }
        switch (inputs[i].kind) {
        case REWRITE_DROP: print("<drop>"); break;
        case REWRITE_PASS: print("<nochange>"); break;
        case REWRITE_KEEP: print("<keep>"); break;
        default: print_pattern(&inputs[i]); break;
        }
        print("\n");
    }
}

READ(mapping_failures, u64, mapping_failures);
READ_CALL(patterns, text, print_patterns);
