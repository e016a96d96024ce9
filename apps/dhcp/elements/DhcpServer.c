/*
 * DhcpServer(IP, ETH, FIRST, LAST, keywords LEASE, PING, OFFER, DECLINED, ROUTERS, DNS, DOMAIN, MACS, HOSTS) -- leases addresses to the hosts of a network
 *
 * Input 0 takes IP packets with DHCP messages, their IP header marked; input 1 ICMP echo replies. Answers to hosts of this Ethernet leave by output 0, with Ethernet
 * header. Output 1 has IP packets for addresses that are to be found by ARP, with destination annotation: echo requests, answers to relays and to hosts that renew.
 *
 *   IP, ETH      this server's addresses, IP/LEN, or one name of both; IP/LEN is the network
 *   FIRST, LAST  the addresses that are leased, at most 60,000
 *   LEASE        how long, 1 hour by default; a client gets less if it asks for less
 *   PING         how long an answer to an echo request is waited for before an address is offered, 500 ms by default; 0: nobody asks
 *   OFFER        how long an offered address is kept for the client, 1 minute by default
 *   DECLINED     how long an address is not leased that another host has, 10 minutes by default
 *   ROUTERS, DNS, DOMAIN   what clients are told besides, at most eight routers and eight name servers
 *   MACS, HOSTS  reservations: Ethernet addresses of hosts, and the address of each, in the network. Nobody else gets these
 *
 * A client gets, in this order: the address that is reserved for it, the one that it has or had, the one that it asks for, one that nobody had, the one that is free for
 * longest (RFC 2131 4.3.1). Before a client gets an address that it does not have, the server asks by ICMP whether somebody has it; at most 4,096 messages wait for that. An
 * address that answers is not leased for DECLINED, and the next one is tried.
 *
 * Handlers: active, offered, declined (read): addresses that clients have, are offered, that are not leased; discovers, requests, offers, acks, naks, declines, releases,
 * informs, pings, conflicts (read): messages, echo requests, and addresses that answered; waiting (read): messages that wait for that; list (read): lines ADDRESS ETH SECONDS of leases; reserve_for ETH, reserve ADDRESS,
 * unreserve ADDRESS (write): a reservation for that host; leases there are end as they would.
 *
 * Source: RFC 2131, 2132; apps/dhcp/README.md tells what is left out.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(DhcpServer, "2/2", "h/h");
PARAM(struct ip_prefix, my_network, "IP", REQUIRED);
PARAM(mac_t, my_mac, "ETH", SAME_AS("IP"));
PARAM(be32, first, "FIRST", REQUIRED);
PARAM(be32, last, "LAST", REQUIRED);
PARAM_AS(SECONDS, u64, lease_time, "LEASE", KEYWORD(3600000000000));
PARAM_AS(SECONDS, u64, ping_time, "PING", KEYWORD(500000000));
PARAM_AS(SECONDS, u64, offer_time, "OFFER", KEYWORD(60000000000));
PARAM_AS(SECONDS, u64, declined_time, "DECLINED", KEYWORD(600000000000));
PARAM_LIST(be32, routers, "ROUTERS", KEYWORD(0));
PARAM_LIST(be32, name_servers, "DNS", KEYWORD(0));
PARAM_LIST_AS(BYTES, u8, domain, "DOMAIN", KEYWORD(0));
PARAM_LIST(mac_t, reserved_macs, "MACS", KEYWORD(0));
PARAM_LIST(be32, reserved_hosts, "HOSTS", KEYWORD(0));

enum { MOST_RESERVED = 4096, capacity = 60000 + MOST_RESERVED };
REQUIRE(ntohl(first) <= ntohl(last), "FIRST is above LAST");
REQUIRE(ntohl(last) - ntohl(first) < 60000, "there are more than 60000 addresses from FIRST to LAST");
REQUIRE(((first ^ my_network.addr) & my_network.mask) == htonl(0), "FIRST is not in the network of IP");
REQUIRE(((last ^ my_network.addr) & my_network.mask) == htonl(0), "LAST is not in the network of IP");
REQUIRE(reserved_macs_count == reserved_hosts_count, "there are not as many HOSTS as MACS");
REQUIRE(reserved_macs_count <= MOST_RESERVED, "there are more than 4096 reservations");
REQUIRE(routers_count <= 8 && name_servers_count <= 8, "there are more than eight ROUTERS or DNS");
REQUIRE(domain_count <= 64, "DOMAIN is longer than 64 bytes");
REQUIRE(lease_time >= 1000000000 && lease_time / 1000000000 <= 0xfffffffe, "LEASE is shorter than a second or too long");

/* Reservations, by the host and by the address. */
TABLE_EXACT(reservations, mac_t, be32, MOST_RESERVED, 0);
TABLE_EXACT(reserved, be32, mac_t, MOST_RESERVED, 0);

#include "dhcp.h"
#include "leases.h"

/* Where a packet goes, or why it goes nowhere. */
enum {
    TO_CLIENT, BY_ARP, WAITS, NEEDS_NO_ANSWER, NOT_DHCP, NOT_ETHERNET, BAD_OPTIONS, BAD_REQUEST, OTHER_SERVER, OTHER_NETWORK, UNKNOWN_CLIENT, NO_ADDRESS, PING_PENDING,
    TOO_MANY_PINGS, NO_PING,
};
enum { DHCP_INPUT, ECHO_INPUT };
enum { MOST_PINGS = 4096, PING_ID = 0x6470, SHORTEST_LEASE = 60 };

/* Echo requests whose answers are waited for, in their order; a message waits in the holding queue of the same number. */
struct ping { be32 address; u64 ends; bool is_open; };
static struct ping pings[MOST_PINGS];
static u32 first_ping, next_ping, waiting;

static struct client client;
static mac_t mac;
static mac_t reserve_for;
static u16 ip_id;
/* What the message at hand does: an address changes its state until then; an answer is sent, or an echo request. */
static be32 address;
static bool changes, gives_up, asks;
static u8 state, answer;
static u64 until;
static u64 messages[INFORM + 1], offers, acks, naks, echo_requests, conflicts;

static void reserve_one(mac_t host, be32 at)
{
    be32 *own = table_insert(reservations, &host);
    mac_t *owner = table_insert(reserved, &at);

    if (own)
        *own = at;
    if (owner)
        *owner = host;
}

void init(void)
{
    untouched = ntohl(first);
    for (u32 i = 0; i < reserved_macs_count; i++)
        reserve_one(reserved_macs[i], reserved_hosts[i]);
}

/* ---- Clients ---- */

static bool is_here(be32 at)
{
    return ((at ^ my_network.addr) & my_network.mask) == htonl(0);
}

static void read_client(void)
{
    const struct dhcp *dhcp = header(struct dhcp, 0);
    struct client nobody = { 0 };

    mac = dhcp->chaddr;
    client = nobody;
    if (asked.id_length >= 2 && asked.id_length <= KEPT_ID) {
        client.length = asked.id_length;
        packet_read(client.id, asked.id_at, asked.id_length);
        return;
    }
    client.length = 1 + sizeof(mac_t);
    client.id[0] = HARDWARE_ETHER;
    packet_read(&client.id[1], AT_CHADDR, sizeof(mac_t));
}

/* The address that the client has or had; 0 if none. */
static be32 own_address(void)
{
    const be32 *own = table_find(clients, &client);

    return own ? *own : htonl(0);
}

/* May this client have that address? It is in the pool or reserved for it, and for nobody else, and nobody else has it. */
static bool may_have(be32 wanted)
{
    const mac_t *owner = table_find(reserved, &wanted);
    const struct lease *lease;

    if (owner ? !equal(*owner, mac) : !is_in_pool(wanted))
        return false;
    lease = table_find(addresses, &wanted);
    return !is_taken(lease) || (lease->state != DECLINED && equal(lease->client, client));
}

/* The address for this client; 0 if there is none. */
static be32 choose(void)
{
    const be32 *reservation = table_find(reservations, &mac);
    be32 own = own_address();

    if (reservation)
        return may_have(*reservation) ? *reservation : htonl(0);
    if (own != htonl(0) && may_have(own))
        return own;
    return is_free(asked.requested) ? asked.requested : any_free();
}

/* ---- Messages: what they do, and whether they are answered ---- */

static int change(be32 which, u8 to, u64 end)
{
    changes = true;
    address = which;
    state = to;
    until = end;
    return NEEDS_NO_ANSWER;
}

static u32 granted_seconds(void)
{
    u32 most = (u32) (lease_time / 1000000000), least = most < SHORTEST_LEASE ? most : SHORTEST_LEASE;

    return asked.lease == 0 || asked.lease > most ? most : asked.lease < least ? least : asked.lease;
}

static int refuse(void)
{
    address = htonl(0);
    answer = NAK;
    naks += 1;
    return TO_CLIENT;
}

static int grant(be32 wanted)
{
    if (!may_have(wanted))
        return refuse();
    change(wanted, LEASED, now() + (u64) granted_seconds() * 1000000000);
    answer = ACK;
    acks += 1;
    return TO_CLIENT;
}

static int discover(void)
{
    be32 chosen = choose();
    const struct lease *lease = table_find(addresses, &chosen);
    bool has = is_taken(lease);

    if (chosen == htonl(0))
        return NO_ADDRESS;
    if (has && lease->state == PINGED)
        return PING_PENDING;
    if (!has && ping_time > 0) {
        if (next_ping - first_ping >= MOST_PINGS)
            return TOO_MANY_PINGS;
        change(chosen, PINGED, now() + 2 * ping_time);
        asks = true;
        return WAITS;
    }
    address = chosen;
    if (!has || lease->state == OFFERED)
        change(chosen, OFFERED, now() + offer_time);
    answer = OFFER;
    offers += 1;
    return TO_CLIENT;
}

/* What an offer, a lease or a check of one was meant for goes back. */
static int give_back(void)
{
    be32 own = own_address();
    const struct lease *lease = table_find(addresses, &own);

    if (is_taken(lease) && (lease->state == OFFERED || lease->state == PINGED))
        change(own, FREE, 0);
    return OTHER_SERVER;
}

static int request(void)
{
    const struct dhcp *dhcp = header(struct dhcp, 0);
    be32 own = own_address(), wanted = asked.requested != htonl(0) ? asked.requested : dhcp->ciaddr;
    const struct lease *lease = table_find(addresses, &wanted);

    if (asked.server != htonl(0) && asked.server != my_network.addr)
        return give_back();
    if (wanted == htonl(0))
        return BAD_REQUEST;
    if (own == wanted && lease && (lease->state != PINGED || !is_taken(lease)))
        return grant(wanted);
    /* Whoever was told to ask here, is on another network or has another address hears that; of others nothing is known (RFC 2131 4.3.2). */
    if (asked.server != htonl(0) || !is_here(wanted) || own != htonl(0) || is_taken(lease))
        return refuse();
    return UNKNOWN_CLIENT;
}

static int decline(void)
{
    if (asked.server != htonl(0) && asked.server != my_network.addr)
        return OTHER_SERVER;
    if (asked.requested == htonl(0) || own_address() != asked.requested)
        return UNKNOWN_CLIENT;
    gives_up = true;
    return change(asked.requested, DECLINED, now() + declined_time);
}

static int release(void)
{
    be32 own = own_address();
    const struct lease *lease = table_find(addresses, &own);

    if (asked.server != htonl(0) && asked.server != my_network.addr)
        return OTHER_SERVER;
    if (own == htonl(0) || own != header(struct dhcp, 0)->ciaddr || !is_taken(lease) || lease->state != LEASED)
        return UNKNOWN_CLIENT;
    return change(own, FREE, 0);
}

static int inform(void)
{
    if (header(struct dhcp, 0)->ciaddr == htonl(0))
        return BAD_REQUEST;
    address = htonl(0);
    answer = ACK;
    acks += 1;
    return TO_CLIENT;
}

/* What becomes of the message. */
static int consider(void)
{
    be32 relay = header(struct dhcp, 0)->giaddr;

    changes = gives_up = asks = false;
    answer = 0;
    if (relay != htonl(0) && !is_here(relay))
        return OTHER_NETWORK;
    switch (asked.type) {
    case DISCOVER: return discover();
    case REQUEST: return request();
    case DECLINE: return decline();
    case RELEASE: return release();
    case INFORM: return inform();
    default: return NOT_DHCP;
    }
}

/* Takes from the client the address that it has, unless it is this one. */
static void leave_former(void)
{
    be32 former = own_address();
    const struct lease *lease;

    if (former == htonl(0) || former == address)
        return;
    disown(former);
    lease = table_find(addresses, &former);
    if (lease->state != DECLINED)
        set_state(former, FREE, 0);
}

/* The address becomes the client's. False if there is no room. */
static bool become_owner(void)
{
    struct lease *lease = table_find(addresses, &address);
    be32 *own;

    if (equal(lease->client, client)) {
        lease->mac = mac;
        return true;
    }
    disown(address);
    leave_former();
    own = table_insert(clients, &client);
    if (!own)
        return false;
    *own = address;
    lease = table_find(addresses, &address);
    lease->client = client;
    lease->mac = mac;
    return true;
}

/* Does to the address what the message does. False if there is no room. */
static bool apply(void)
{
    if (!changes)
        return true;
    if (!entry(address))
        return false;
    if (gives_up)
        disown(address);
    else if (!become_owner())
        return false;
    set_state(address, state, until);
    return true;
}

#include "answers.h"

/* ---- Packets ---- */

/* Takes off all before the message and behind it; says what is wrong with it. */
static int arrive(void)
{
    u32 at = transport_offset();
    u32 length = ntohs(header(struct udp, at)->length);
    const struct dhcp *dhcp;

    if (length < sizeof(struct udp) + sizeof(struct dhcp) || packet_length() < at + length)
        return NOT_DHCP;
    packet_trim(packet_length() - at - length);
    packet_pull(at + (u32) sizeof(struct udp));
    dhcp = header(struct dhcp, 0);
    if (dhcp->op != BOOT_REQUEST || dhcp->cookie != htonl(DHCP_COOKIE))
        return NOT_DHCP;
    return dhcp->htype == HARDWARE_ETHER && dhcp->hlen == sizeof(mac_t) ? TO_CLIENT : NOT_ETHERNET;
}

/* What becomes of a message that is whole. */
static int serve(bool is_new)
{
    int to;

    if (!read_options())
        return BAD_OPTIONS;
    read_client();
    if (is_new && asked.type <= INFORM)
        messages[asked.type] += 1;
    expire(EXPIRED_AT_ONCE);
    to = consider();
    if (!apply())
        return NO_ADDRESS;
    return asks ? begin_ping() : to;
}

void push(int port)
{
    int to = port == ECHO_INPUT ? end_ping() : arrive();

    if (to == TO_CLIENT)
        to = serve(port == DHCP_INPUT);
    if (to == TO_CLIENT) {
        make_answer();
        to = address_answer();
    }
    switch (to) {
    case TO_CLIENT: emit(TO_CLIENT);
    case BY_ARP: emit(BY_ARP);
    case NEEDS_NO_ANSWER: drop(NEEDS_NO_ANSWER);
    case NOT_ETHERNET: drop(NOT_ETHERNET);
    case BAD_OPTIONS: drop(BAD_OPTIONS);
    case BAD_REQUEST: drop(BAD_REQUEST);
    case OTHER_SERVER: drop(OTHER_SERVER);
    case OTHER_NETWORK: drop(OTHER_NETWORK);
    case UNKNOWN_CLIENT: drop(UNKNOWN_CLIENT);
    case NO_ADDRESS: drop(NO_ADDRESS);
    case PING_PENDING: drop(PING_PENDING);
    case TOO_MANY_PINGS: drop(TOO_MANY_PINGS);
    case NO_PING: drop(NO_PING);
    default: drop(NOT_DHCP);
    }
}

/* The oldest echo request has had its time. */
void timer(int n)
{
    u32 slot = first_ping % MOST_PINGS;
    u64 time = now();

    first_ping += 1;
    if (first_ping != next_ping)
        timer_set(0, pings[first_ping % MOST_PINGS].ends);
    if (!pings[slot].is_open)
        return;
    pings[slot].is_open = false;
    waiting -= 1;
    if (!packet_take(slot) || !read_options())
        return;
    set_time(time);
    read_client();
    if (offer_pinged(slot) != TO_CLIENT)
        drop(OTHER_SERVER);
    make_answer();
    switch (address_answer()) {
    case BY_ARP: emit(BY_ARP);
    default: emit(TO_CLIENT);
    }
}

/* ---- Handlers ---- */

static void print_lease(be32 at)
{
    const struct lease *lease = table_peek(addresses, &at);

    if (!lease || lease->state != LEASED || lease->ends <= now())
        return;
    print_ip(at);
    print(" ");
    print_mac(lease->mac);
    print(" ");
    print_uint((lease->ends - now()) / 1000000000);
    print("\n");
}

/* In the order of addresses; reservations outside of the pool last. */
static void print_leases(void)
{
    for (u32 at = ntohl(first); at <= ntohl(last); at++)
        print_lease(htonl(at));
    for (u32 i = 0; i < reserved_hosts_count; i++)
        if (!is_in_pool(reserved_hosts[i]))
            print_lease(reserved_hosts[i]);
}

static u32 count_of(u8 which)
{
    expire(MOST_ADDRESSES);
    return counts[which];
}

static u32 active(void) { return count_of(LEASED); }
static u32 offered(void) { return count_of(OFFERED); }
static u32 declined(void) { return count_of(DECLINED); }
static u64 discovers(void) { return messages[DISCOVER]; }
static u64 requests(void) { return messages[REQUEST]; }
static u64 declines(void) { return messages[DECLINE]; }
static u64 releases(void) { return messages[RELEASE]; }
static u64 informs(void) { return messages[INFORM]; }

static void reserve(be32 at)
{
    reserve_one(reserve_for, at);
}

static void unreserve(be32 at)
{
    const mac_t *owner = table_find(reserved, &at);
    mac_t host;

    if (!owner)
        return;
    host = *owner;
    table_delete(reserved, &at);
    table_delete(reservations, &host);
}

READ_CALL(active, u32, active);
READ_CALL(offered, u32, offered);
READ_CALL(declined, u32, declined);
READ_CALL(discovers, u64, discovers);
READ_CALL(requests, u64, requests);
READ_CALL(declines, u64, declines);
READ_CALL(releases, u64, releases);
READ_CALL(informs, u64, informs);
READ(offers, u64, offers);
READ(acks, u64, acks);
READ(naks, u64, naks);
READ(pings, u64, echo_requests);
READ(conflicts, u64, conflicts);
READ(waiting, u32, waiting);
READ_CALL(list, text, print_leases);
WRITE(reserve_for, mac_t, reserve_for);
WRITE_CALL(reserve, be32, reserve);
WRITE_CALL(unreserve, be32, unreserve);
