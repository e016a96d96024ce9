/*
 * ARPQuerier(IP, ETH, keywords TABLE, CAPACITY, ENTRY_CAPACITY, ENTRY_PACKET_CAPACITY, TIMEOUT, POLL_TIMEOUT, BROADCAST, BROADCAST_POLL) -- finds Ethernet addresses by ARP
 *
 * IP packets come in on input 0 with their next hop as destination annotation, and leave by output 0 with an Ethernet header. If the hop's address
 * is not known, a query leaves by output 1 (by output 0 if there is no other), at most ten a second for one address, after ten without an
 * answer one in two seconds, and the packet waits.
 * Input 1 takes ARP replies with their Ethernet header, learns from them, and sends what has waited.
 *
 *   IP, ETH         this host's addresses, or one name of both; IP/LEN also gives the network's broadcast address
 *   TABLE           an ARPTable, or another ARPQuerier: the addresses that are known are its own, with its ENTRY_CAPACITY and TIMEOUT. Packets wait where they came in, until
 *                   a reply, or another packet to that address, comes there
 *   CAPACITY        packets that wait at most, 2048 by default, up to 65,000; 0: 65,000. If there are more, the oldest are dropped
 *   CAPACITY_SLIM_FACTOR  how many are dropped then: all but CAPACITY - CAPACITY / CAPACITY_SLIM_FACTOR; 2 by default
 *   ENTRY_CAPACITY  addresses that are known at most, 65,536 by default; another is not learned before one has timed out, and asked for again for every packet
 *   ENTRY_PACKET_CAPACITY  packets that wait for one address at most, more are dropped; 0, the default: CAPACITY
 *   TIMEOUT         how long an address is known, 5 minutes by default; packets wait as long for an answer
 *   POLL_TIMEOUT    age from which it is asked for again while it is still used, 1 minute by default; 0: never
 *   BROADCAST       the broadcast address of this network, instead of that of IP/LEN
 *   BROADCAST_POLL  true: such questions go to all, not to the known address; false by default
 *
 * Packets to 0.0.0.0 are dropped; those to broadcast addresses go to FF-FF-FF-FF-FF-FF, those to multicast addresses to 01-00-5E-xx-yy-zz (RFC 1112 6.4).
 * With a reply 1,000 of the packets that wait for the address are sent at once, the rest before the next packets to it.
 * Packets wait for at most 65,536 addresses; another one takes the place of the oldest.
 *
 * Handlers: queries, responses, drops, length (read): queries sent, replies seen, packets lost, packets waiting; stats (read), some of these as text; ipaddr
 * (read, write), this host's address in queries; broadcast (read, write), the broadcast address; table (read), lines IP 1 ETH SECONDS of the addresses that are known, the last since when; count (read) of them.
 * insert IP ETH, delete IP, clear (write) change what is known.
 *
 * Example: `c :: Classifier(12/0806 20/0002, ...);  c[0] -> [1]arp :: ARPQuerier(18.26.4.24, 00:00:C0:AE:67:EF) -> ...`
 *
 * Source: RFC 826, RFC 1122 2.3.2. See also: ARPTable, ARPResponder, EtherEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ARPQuerier, "2/1-2", "h/h");
#include "neighbour.h"
ELEMENT_FLOW("xy/x");
enum { MOST_HELD = 65000 };
PARAM(struct ip_prefix, my_network, "IP", REQUIRED);
PARAM(mac_t, my_mac, "ETH", SAME_AS("IP"));
PARAM(string, others_table, "TABLE", KEYWORD(""));
PARAM(u32, capacity, "CAPACITY", KEYWORD(2048));
PARAM(u32, slot_capacity, "ENTRY_PACKET_CAPACITY", KEYWORD(0));
PARAM(u32, entry_capacity, "ENTRY_CAPACITY", KEYWORD(0));
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, poll_timeout, "POLL_TIMEOUT", KEYWORD(60000000000));
PARAM(be32, other_broadcast, "BROADCAST", KEYWORD(0));
PARAM(u32, slim_factor, "CAPACITY_SLIM_FACTOR", KEYWORD(2));
PARAM(bool, polls_all, "BROADCAST_POLL", KEYWORD(false));

REQUIRE(slim_factor > 0, "CAPACITY_SLIM_FACTOR is 0");
REQUIRE(capacity <= MOST_HELD, "CAPACITY is above 65000");

enum { NO_DESTINATION, NO_REPLY, TOO_MANY_WAIT };
enum { ASIDE = 0, SENT_AT_ONCE = 1000, MOST_EMPTY = 4096, QUERY_INTERVAL_NS = 100000000, IMPATIENT = 10 };
/* Between questions that nobody answers. */
static const u64 LONG_INTERVAL_NS = 2000000000;

TABLE_EXACT(neighbours, be32, struct neighbour, entry_capacity == 0 ? 65536 : entry_capacity, timeout);
SCOPE(neighbours, REGIONAL(others_table, neighbours));

/* Addresses that are asked for, in a list from the oldest on; 0.0.0.0 ends it. Packets wait in the holding queue of the address's number. */
struct question { be32 before; be32 after; u32 waiting; u32 questions; u64 asked; u64 used; };
TABLE_EXACT(unanswered, be32, struct question, 65536, 0);
static be32 oldest, newest;
static u32 held, open_questions;
static u64 queries, responses, drops;
static be32 current_address, broadcast;

static const u8 everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

void init(void)
{
    current_address = my_network.addr;
    broadcast = htonl(0xffffffff);
    if (other_broadcast != htonl(0))
        broadcast = other_broadcast;
    else if (ntohl(my_network.mask) < 0xfffffffe)
        broadcast = my_network.addr | ~my_network.mask;
}

/* ---- Ethernet headers ---- */

static void encapsulate(void)
{
    struct ether *ether;

    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->src = my_mac;
    ether->type = htons(ETHERTYPE_IP);
    set_mac_header(0);
}

static void encapsulate_to(mac_t mac)
{
    encapsulate();
    header(struct ether, 0)->dst = mac;
}

static void encapsulate_to_all(void)
{
    encapsulate();
    packet_write(0, everybody, sizeof(everybody));
}

struct group_mac { be16 prefix; be32 group; };

/* 01-00-5E and the lower 23 bits of the address. */
static void encapsulate_to_group(be32 address)
{
    struct group_mac *to;

    encapsulate();
    to = header(struct group_mac, 0);
    to->prefix = htons(0x0100);
    to->group = htonl(0x5e000000) | (address & htonl(0x007fffff));
}

static bool is_broadcast(be32 address)
{
    return address == htonl(0xffffffff) || address == broadcast;
}

/* ---- Queries ---- */

/* Makes the packet a query to everybody; a VLAN annotation stays. */
static void make_query(be32 address, u16 tci)
{
    struct ether *ether;
    struct arp *arp;

    packet_create(sizeof(struct ether) + sizeof(struct arp));
    packet_write(0, everybody, sizeof(everybody));
    ether = header(struct ether, 0);
    ether->src = my_mac;
    ether->type = htons(ETHERTYPE_ARP);
    arp = header(struct arp, sizeof(struct ether));
    arp->hardware = htons(ARP_ETHER);
    arp->protocol = htons(ETHERTYPE_IP);
    arp->hardware_size = sizeof(mac_t);
    arp->protocol_size = sizeof(be32);
    arp->operation = htons(ARP_REQUEST);
    arp->sender_mac = my_mac;
    arp->sender_ip = current_address;
    arp->target_ip = address;
    info(vlan_tci) = tci;
    set_mac_header(0);
    set_network_header(sizeof(struct ether));
    queries += 1;
}

static bool is_old(const struct neighbour *neighbour)
{
    u64 time = now();

    if (poll_timeout == 0 || time - neighbour->learned < poll_timeout)
        return false;
    return neighbour->polled <= neighbour->learned || time - neighbour->polled >= QUERY_INTERVAL_NS;
}

/* ---- Waiting ---- */

/* Takes an address out of the list. */
static void unlink_question(be32 address)
{
    struct question *gone = table_find(unanswered, &address), *other;
    be32 before = gone->before, after = gone->after;

    other = table_find(unanswered, &before);
    if (other)
        other->after = after;
    else
        oldest = after;
    other = table_find(unanswered, &after);
    if (other)
        other->before = before;
    else
        newest = before;
}

/* Drops packets of an address until so many packets are held; there must be no packet. */
static void drop_until(be32 address, u32 most)
{
    struct question *question = table_find(unanswered, &address);

    while (held > most && packet_take(ntohl(address))) {
        question->waiting -= 1;
        drops += 1;
        held -= 1;
    }
}

/* Nothing waits for that address any more. */
static void end_question(be32 address)
{
    unlink_question(address);
    if (table_delete(unanswered, &address))
        open_questions -= 1;
}

/* There must be no packet. */
static void forget(be32 address)
{
    struct question *question = table_find(unanswered, &address);

    drop_until(address, held - question->waiting);
    end_question(address);
}

static bool has_expired(be32 address)
{
    const struct question *question = table_find(unanswered, &address);

    return question && timeout != 0 && now() > question->used && now() - question->used > timeout;
}

/* Forgets what nobody has asked for during TIMEOUT, and the oldest if there is no room for another address; the packet is put aside meanwhile. */
static void make_room(bool full)
{
    if (!(full || has_expired(oldest)) || !packet_hold(ASIDE))
        return;
    if (full)
        forget(oldest);
    while (has_expired(oldest))
        forget(oldest);
    packet_take(ASIDE);
}

/* The entry of an address that is asked for, at the end of the list if it is new. */
static struct question *ask_for(be32 address)
{
    struct question *question = table_find(unanswered, &address), *last;
    be32 before;

    if (question)
        return question;
    question = table_insert(unanswered, &address);
    if (!question) {
        make_room(true);
        question = table_insert(unanswered, &address);
    }
    open_questions += 1;
    before = newest;
    question->before = before;
    newest = address;
    last = table_find(unanswered, &before);
    if (last)
        last->after = address;
    else
        oldest = address;
    return table_find(unanswered, &address);
}

/* Drops the oldest packets. Addresses stay, unless there are so many that looking for the next packets would take long. The packet is put aside meanwhile. */
static void slim(be32 kept)
{
    u32 limit = capacity == 0 ? MOST_HELD : capacity, most = limit - limit / slim_factor;

    if (held < limit || !packet_hold(ASIDE))
        return;
    most = most == 0 ? 0 : most - 1;
    for (be32 address = oldest; held > most && address != htonl(0);) {
        const struct question *question = table_find(unanswered, &address);
        be32 next = question->after;

        drop_until(address, most);
        if (question->waiting == 0 && address != kept && open_questions > MOST_EMPTY)
            forget(address);
        address = next;
    }
    packet_take(ASIDE);
}

/* The packet waits; false if there is no room. */
static bool wait(be32 address)
{
    struct question *question = ask_for(address);

    if (slot_capacity != 0 && question->waiting >= slot_capacity)
        return false;
    slim(address);
    question = table_find(unanswered, &address);
    question->used = now();
    if (!packet_hold(ntohl(address)))
        return false;
    question->waiting += 1;
    held += 1;
    return true;
}

/* ---- Input 0: packets ---- */

static int query_output(void)
{
    return NOUTPUTS > 1 ? 1 : 0;
}

/* Asks for an address that is known but old; the packet is put aside meanwhile. */
static void poll(be32 address, mac_t mac)
{
    u16 tci = info(vlan_tci);

    if (!packet_hold(ASIDE))
        return;
    make_query(address, tci);
    if (!polls_all) {
        header(struct ether, 0)->dst = mac;
        header(struct arp, sizeof(struct ether))->target_mac = mac;
    }
    clone(query_output());
    packet_take(ASIDE);
}

/* Sends packets that have waited for an address until so many are left, or many are sent; there must be no packet. Returns how many are left. */
static u32 send_until(be32 address, mac_t mac, u32 left)
{
    struct question *question = table_find(unanswered, &address);

    question->questions = 0;
    for (u32 sent = 0; sent < SENT_AT_ONCE && question->waiting > left; sent++) {
        packet_take(ntohl(address));
        encapsulate_to(mac);
        clone(0);
        question->waiting -= 1;
        held -= 1;
    }
    return question->waiting;
}

/* Sends what waits for an address that has become known elsewhere, or was too much for one reply; the packet is put aside meanwhile. */
static void send_others(be32 address, mac_t mac)
{
    if (!table_find(unanswered, &address) || !packet_hold(ASIDE))
        return;
    if (send_until(address, mac, 0) == 0)
        forget(address);
    packet_take(ASIDE);
}

/* The entry of an address to which packets are just sent: it is known and not old, and nothing waits. */
static const struct neighbour *settled(be32 address)
{
    const struct neighbour *neighbour = table_peek(neighbours, &address);

    if (!neighbour || held > 0 || is_old(neighbour) || is_broadcast(address) || ip_is_multicast(address))
        return 0;
    return neighbour;
}

/* Puts the header before a packet whose hop's Ethernet address is known; false if it is not. */
static bool resolve(be32 address)
{
    struct neighbour *neighbour = table_peek(neighbours, &address);
    mac_t mac;
    bool old;

    if (!neighbour)
        return false;
    mac = neighbour->mac;
    old = is_old(neighbour);
    if (old)
        neighbour->polled = now();
    if (held > 0)
        send_others(address, mac);
    encapsulate_to(mac);
    if (old)
        poll(address, mac);
    return true;
}

static bool send_now(be32 address)
{
    if (is_broadcast(address)) {
        encapsulate_to_all();
        return true;
    }
    if (ip_is_multicast(address)) {
        encapsulate_to_group(address);
        return true;
    }
    return resolve(address);
}

static bool may_ask(be32 address)
{
    struct question *question = table_find(unanswered, &address);
    u64 time = now(), interval = question->questions < IMPATIENT ? QUERY_INTERVAL_NS : LONG_INTERVAL_NS;

    if (question->questions > 0 && time - question->asked < interval)
        return false;
    question->questions += 1;
    question->asked = time;
    return true;
}

/* ---- Input 1: replies ---- */

static bool is_reply(void)
{
    const struct ether *ether = header(struct ether, 0);
    const struct arp *arp = header(struct arp, sizeof(struct ether));

    return ether->type == htons(ETHERTYPE_ARP) && arp->hardware == htons(ARP_ETHER) && arp->protocol == htons(ETHERTYPE_IP)
        && arp->hardware_size == sizeof(mac_t) && arp->protocol_size == sizeof(be32) && arp->operation == htons(ARP_REPLY)
        && arp->sender_ip != htonl(0) && (*header(u8, sizeof(struct ether) + 8) & 1) == 0;
}

static void learn(be32 address, mac_t mac)
{
    struct neighbour *neighbour = table_insert(neighbours, &address);

    responses += 1;
    if (neighbour) {
        neighbour->mac = mac;
        /* A reply is no older than its question, whatever its time says. */
        neighbour->learned = now() > neighbour->polled ? now() : neighbour->polled;
    }
}

/* Sends what has waited but for the last, which becomes the packet; false if nothing has, or more has than is sent at once. */
static bool send_waiting(be32 address, mac_t mac)
{
    const struct question *question = table_find(unanswered, &address);
    u32 left;

    if (!question)
        return false;
    left = question->waiting == 0 ? 0 : send_until(address, mac, 1);
    if (left > 1)
        return false;
    if (left == 1) {
        packet_take(ntohl(address));
        encapsulate_to(mac);
        held -= 1;
    }
    end_question(address);
    return left == 1;
}

/* Learns from the reply; true if the packet is now the last of those that waited for it. */
static bool take_reply(void)
{
    const struct arp *arp = header(struct arp, sizeof(struct ether));
    be32 address = arp->sender_ip;
    mac_t mac = arp->sender_mac;

    learn(address, mac);
    return send_waiting(address, mac);
}

/* ---- Handlers ---- */

void push(int port)
{
    be32 address = info(dst_ip);
    u16 tci = info(vlan_tci);
    const struct neighbour *neighbour = port == 0 ? settled(address) : 0;

    /* What is common stands by itself, for machines that can do no more. */
    if (neighbour) {
        encapsulate_to(neighbour->mac);
        emit(0);
    }
    if (port == 1) {
        if (!is_reply())
            drop(NO_REPLY);
        if (take_reply())
            emit(0);
        return;
    }
    if (address == htonl(0)) {
        drops += 1;
        drop(NO_DESTINATION);
    }
    if (send_now(address))
        emit(0);
    make_room(false);
    if (!wait(address)) {
        drops += 1;
        drop(TOO_MANY_WAIT);
    }
    if (may_ask(address)) {
        make_query(address, tci);
        emit(query_output());
    }
}

static void print_stats(void)
{
    print_uint(drops);
    print(" packets killed\n");
    print_uint(queries);
    print(" ARP queries sent\n");
}

READ_CALL(stats, text, print_stats);
READ(queries, u64, queries);
READ(responses, u64, responses);
READ(drops, u64, drops);
READ(length, u32, held);
READ(broadcast, be32, broadcast);
WRITE(broadcast, be32, broadcast);
READ(ipaddr, be32, current_address);
WRITE(ipaddr, be32, current_address);
