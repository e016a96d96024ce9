/*
 * Maglev(SRC, BACKENDS, keywords SIZE, TIMEOUT, CONNECTIONS) -- spreads connections over servers by consistent hashing
 *
 * Takes frames with IP packets to an address that all servers have as their own, the IP header marked. Each gets the Ethernet address of a server as
 * destination and SRC as source; servers answer clients directly. All packets of a connection (addresses, ports, protocol) go to the server that its first one
 * went to, for as long as that is in use. A new connection goes where a table of hashes says; when servers go or come, nearly all of it stays as it was.
 *
 *   SRC          this machine's Ethernet address
 *   BACKENDS     the servers' Ethernet addresses, separated by spaces, at most 254
 *   SIZE         of the table: a prime much larger than the number of servers, 65,537 by default and at most
 *   TIMEOUT      how long a connection is known after its last packet, 300 seconds
 *   CONNECTIONS  that are known at most, 1,048,576; further ones go where the table says
 *
 * ICMP errors go to the server whose packet they quote, fragments where the first one of their datagram went.
 *
 * Handlers: disable, enable (write): the number of a server, from 0, that is no longer or again in use; counts (read): frames and slots of the table
 * for each server; known (read), packets of connections that were known.
 *
 * Source: Eisenbud et al., Maglev: A Fast and Reliable Software Network Load Balancer, NSDI 2016, section 3.4. See also: HashSwitch.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Maglev, "1/1", "h/h");
FLOW_STATE(ADDRESSES);
PARAM(mac_t, source, "SRC", REQUIRED);
PARAM_LIST(mac_t, backends, "BACKENDS", REQUIRED);
PARAM(u32, size, "SIZE", KEYWORD(65537));
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CONNECTIONS", KEYWORD(1048576));

enum { NO_BACKEND, NO_CONNECTION, NO_FIRST_FRAGMENT };
enum { LARGEST = 65537, MOST = 254, NOBODY = 255, MOST_STEPS = 850000 };

struct connection { be32 client; be32 service; be16 client_port; be16 service_port; u8 protocol; };
TABLE_EXACT(connections, struct connection, u8, capacity, timeout);

struct datagram { be32 src; be32 dst; be16 id; u8 protocol; };
TABLE_EXACT(datagrams, struct datagram, u8, 8192, 30000000000);

struct ports { be16 sport; be16 dport; };
/* The next place in a server's order of slots. */
struct turn { u32 place; u32 skip; };

static struct connection connection;
static struct datagram datagram;
static u64 known;
static u8 slots[LARGEST];
static struct turn turns[MOST];
static bool is_disabled[MOST];
static u64 frames[MOST];
static u32 steps;

/* ---- The table of hashes ---- */

static u32 table_size(void)
{
    return size < 2 ? 2 : size > LARGEST ? LARGEST : size;
}

static u32 servers(void)
{
    u32 count = backends_count;

    return count > MOST ? MOST : count;
}

/* Each server prefers slots in an order of its own: offset, offset + skip, and so on. */
static void begin_turns(void)
{
    for (u32 i = 0; i < servers(); i++) {
        mac_t mac = backends[i];
        u32 high = (u32) mac.byte[0] << 8 | mac.byte[1];
        u32 low = (u32) mac.byte[2] << 24 | (u32) mac.byte[3] << 16 | (u32) mac.byte[4] << 8 | mac.byte[5];

        turns[i].place = hash32(high, low) % table_size();
        turns[i].skip = hash32(low, high, 1) % (table_size() - 1) + 1;
    }
}

/* The server takes the first slot in its order that is free. */
static void take_slot(u32 server)
{
    u32 place = turns[server].place;

    while (slots[place] != NOBODY && steps < MOST_STEPS) {
        place = (place + turns[server].skip) % table_size();
        steps += 1;
    }
    if (slots[place] == NOBODY)
        slots[place] = (u8) server;
    turns[server].place = (place + turns[server].skip) % table_size();
}

static bool is_anybody_there(void)
{
    for (u32 i = 0; i < servers(); i++)
        if (!is_disabled[i])
            return true;
    return false;
}

/* A slot that nobody has found in time gets the server of the slot before. */
static void fill_gaps(void)
{
    for (u32 i = 1; i < table_size(); i++)
        if (slots[i] == NOBODY)
            slots[i] = slots[i - 1];
    if (slots[0] == NOBODY)
        slots[0] = slots[table_size() - 1];
}

/* Servers take slots in turn until there are none. */
static void fill(void)
{
    u32 taken = 0;

    for (u32 i = 0; i < table_size(); i++)
        slots[i] = NOBODY;
    if (!is_anybody_there())
        return;
    steps = 0;
    begin_turns();
    while (taken < table_size() && steps < MOST_STEPS)
        for (u32 i = 0; i < servers() && taken < table_size(); i++)
            if (!is_disabled[i]) {
                take_slot(i);
                taken += 1;
            }
    fill_gaps();
}

void init(void)
{
    fill();
}

/* ---- Packets ---- */

/* Puts the connection of the packet at `start` there, which goes to the service, or comes from it. */
static void read_connection(u32 start, bool to_service)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    be16 sport = htons(0), dport = htons(0);

    if (ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) {
        sport = header(struct ports, transport)->sport;
        dport = header(struct ports, transport)->dport;
    }
    connection.client = to_service ? ip->src : ip->dst;
    connection.service = to_service ? ip->dst : ip->src;
    connection.client_port = to_service ? sport : dport;
    connection.service_port = to_service ? dport : sport;
    connection.protocol = ip->protocol;
}

static u32 hashed(void)
{
    u32 ports = (u32) ntohs(connection.client_port) << 16 | ntohs(connection.service_port);

    return slots[hash32(ntohl(connection.client), ntohl(connection.service), ports, connection.protocol) % table_size()];
}

/* The server of the connection; NOBODY if none is in use. */
static u32 choose(void)
{
    u8 *chosen = table_find(connections, &connection);
    u32 server;

    if (chosen && *chosen < MOST && !is_disabled[*chosen]) {
        known += 1;
        return *chosen;
    }
    server = hashed();
    chosen = table_insert(connections, &connection);
    if (chosen)
        *chosen = (u8) server;
    return server;
}

static bool is_error(u8 type)
{
    return type == ICMP_UNREACHABLE || type == ICMP_SOURCE_QUENCH || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER_PROBLEM;
}

/* The server whose packet an ICMP error quotes. */
static u32 choose_by_quote(u32 transport)
{
    u32 quote = transport + (u32) sizeof(struct icmp);
    const u8 *chosen;

    read_connection(quote, false);
    chosen = table_peek(connections, &connection);
    return chosen ? *chosen : NOBODY;
}

static u32 choose_for(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    if (ip->protocol == PROTOCOL_ICMP && is_error(header(struct icmp, transport)->type))
        return choose_by_quote(transport);
    read_connection(start, true);
    return choose();
}

static void read_datagram(u32 start)
{
    const struct ip *ip = header(struct ip, start);

    datagram.src = ip->src;
    datagram.dst = ip->dst;
    datagram.id = ip->id;
    datagram.protocol = ip->protocol;
}

/* The same for fragments, too: those behind the first go where that went. */
static u32 choose_for_any(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    bool is_fragment = ip_is_fragment(ip), is_first = ip_is_first_fragment(ip);
    u32 server;
    u8 *chosen;

    if (!is_first) {
        read_datagram(start);
        chosen = table_find(datagrams, &datagram);
        return chosen ? *chosen : NOBODY;
    }
    server = choose_for(start);
    if (!is_fragment)
        return server;
    read_datagram(start);
    chosen = table_insert(datagrams, &datagram);
    if (chosen)
        *chosen = (u8) server;
    return server;
}

void push(int port)
{
    u32 start = network_offset(), server = choose_for_any(start);
    struct ether *ether;

    if (server >= MOST) {
        if (!is_anybody_there())
            drop(NO_BACKEND);
        if (ip_is_fragment(header(struct ip, start)))
            drop(NO_FIRST_FRAGMENT);
        drop(NO_CONNECTION);
    }
    ether = header(struct ether, 0);
    ether->dst = backends[server];
    ether->src = source;
    frames[server] += 1;
    emit(0);
}

/* ---- Handlers ---- */

static void disable(u32 server)
{
    if (server < MOST)
        is_disabled[server] = true;
    fill();
}

static void enable(u32 server)
{
    if (server < MOST)
        is_disabled[server] = false;
    fill();
}

static u32 slots_of(u32 server)
{
    u32 count = 0;

    for (u32 i = 0; i < table_size(); i++)
        if (slots[i] == server)
            count += 1;
    return count;
}

static void print_counts(void)
{
    for (u32 i = 0; i < servers(); i++) {
        print_mac(backends[i]);
        print(" ");
        print_uint(frames[i]);
        print(" ");
        print_uint(slots_of(i));
        print("\n");
    }
}

WRITE_CALL(disable, u32, disable);
WRITE_CALL(enable, u32, enable);
READ_CALL(counts, text, print_counts);
READ(known, u64, known);
