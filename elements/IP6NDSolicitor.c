/*
 * IP6NDSolicitor(IP, ETH) -- finds Ethernet addresses of IPv6 neighbours
 *
 * IPv6 packets come in on input 0 with their next hop as IPv6 destination annotation, and leave by output 0 with an Ethernet header. If the hop's address is not known, a
 * neighbour solicitation leaves by output 1, or by output 0 if there is no other, and the packet waits; of several the last one does. Input 1 takes neighbour
 * advertisements with their Ethernet header, learns from those that were asked for, and sends what has waited.
 *
 *   IP, ETH   this host's addresses
 *
 * An address is known for two minutes after it was learned, and asked for again while it is used after one. Packets wait for at most 4,096 addresses.
 *
 * Handlers: stats (read), packets lost and solicitations sent; neighbours.count, neighbours.list (read), the addresses that are known or asked for.
 *
 * Source: RFC 4861 4.3, 7.2. See also: IP6NDAdvertiser, ARPQuerier.
 */
#include <netvm.h>
#include "click.h"
#include "icmp6.h"

ELEMENT(IP6NDSolicitor, "2/1-2", "h/h");
ELEMENT_FLOW("xy/x");
PARAM(in6_t, my_address, "IP", REQUIRED);
PARAM(mac_t, my_mac, "ETH", REQUIRED);

enum { NO_ADVERTISEMENT, TOO_MANY_WAIT };
enum { IP6_AT = sizeof(struct ether), MESSAGE_AT = sizeof(struct ether) + sizeof(struct ip6), LENGTH = MESSAGE_AT + sizeof(struct neighbour_message) };
enum { SLOTS = 4096, ASIDE = SLOTS };
static const u64 POLL_NS = 60000000000;
static const u64 INTERVAL_NS = 15000000000;

struct neighbour6 { mac_t mac; bool known; u32 slot; u64 learned; u64 polled; };
TABLE_EXACT(neighbours, in6_t, struct neighbour6, 65536, 120000000000);

static u32 next_slot;
static u64 queries, drops;

static void encapsulate(mac_t mac)
{
    struct ether *ether;

    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->dst = mac;
    ether->src = my_mac;
    ether->type = htons(ETHERTYPE_IP6);
    set_mac_header(0);
}

/* The solicited-node multicast address (RFC 4291 2.7.1). */
static in6_t group_of(in6_t address)
{
    return hton128(((u128) 0xff020000 << 96) | ((u128) 0x1ff << 24) | (ntoh128(address) & 0xffffff));
}

struct group_mac { be16 prefix; be32 group; };

/* Makes the packet a solicitation. */
static void make_query(in6_t address)
{
    struct ether *ether;
    struct group_mac *to;
    struct neighbour_message *message;

    packet_create(LENGTH);
    ether = header(struct ether, 0);
    ether->src = my_mac;
    ether->type = htons(ETHERTYPE_IP6);
    to = header(struct group_mac, 0);
    to->prefix = htons(0x3333);
    to->group = htonl(0xff000000 | (u32) (ntoh128(address) & 0xffffff));
    ip6_fill(IP6_AT, PROTOCOL_ICMP6, my_address, group_of(address));
    message = header(struct neighbour_message, MESSAGE_AT);
    message->type = ICMP6_SOLICITATION;
    message->target = address;
    message->option = SOURCE_OPTION;
    message->option_words = 1;
    message->mac = my_mac;
    message->checksum = htons(ip6_checksum(IP6_AT, MESSAGE_AT, sizeof(struct neighbour_message)));
    queries += 1;
}

static int query_output(void)
{
    return NOUTPUTS > 1 ? 1 : 0;
}

/* Asks for an address while the packet is put aside. */
static void poll(in6_t address)
{
    if (!packet_hold(ASIDE))
        return;
    make_query(address);
    clone(query_output());
    packet_take(ASIDE);
}

/* The packet waits in that slot, in place of the one before. */
static bool wait(u32 slot)
{
    if (!packet_hold(ASIDE))
        return false;
    if (packet_take(slot))
        drops += 1;
    packet_take(ASIDE);
    return packet_hold(slot);
}

static bool is_old(const struct neighbour6 *neighbour)
{
    return now() - neighbour->learned > POLL_NS && now() - neighbour->polled > INTERVAL_NS;
}

/* The slot of an address that is asked for; SLOTS if there is no room for it. */
static u32 slot_of(in6_t address)
{
    struct neighbour6 *neighbour = table_insert(neighbours, &address);

    if (!neighbour)
        return SLOTS;
    if (neighbour->slot == 0) {
        neighbour->slot = next_slot + 1;
        next_slot = (next_slot + 1) % SLOTS;
    }
    return neighbour->slot - 1;
}

static bool is_advertisement(void)
{
    const struct ether *ether = header(struct ether, 0);
    const struct ip6 *ip6 = header(struct ip6, IP6_AT);

    return ether->type == htons(ETHERTYPE_IP6) && ip6->next_header == PROTOCOL_ICMP6
        && header(struct neighbour_message, MESSAGE_AT)->type == ICMP6_ADVERTISEMENT;
}

/* Learns an address that was asked for; true if the packet is now the one that has waited, with its header. */
static bool learn(void)
{
    const struct neighbour_message *message = header(struct neighbour_message, MESSAGE_AT);
    in6_t address = message->target;
    mac_t mac = message->mac;
    struct neighbour6 *neighbour = table_peek(neighbours, &address);
    u32 slot;

    if (!neighbour)
        return false;
    neighbour = table_insert(neighbours, &address);
    if (!neighbour)
        return false;
    neighbour->mac = mac;
    neighbour->known = true;
    neighbour->learned = now();
    neighbour->polled = now();
    slot = neighbour->slot - 1;
    if (!packet_take(slot))
        return false;
    encapsulate(mac);
    return true;
}

void push(int port)
{
    in6_t address = info(dst_ip6);
    struct neighbour6 *neighbour;
    u32 slot;

    if (port == 1) {
        if (packet_length() < LENGTH || !is_advertisement())
            drop(NO_ADVERTISEMENT);
        if (learn())
            emit(0);
        return;
    }
    neighbour = table_peek(neighbours, &address);
    if (neighbour && neighbour->known) {
        mac_t mac = neighbour->mac;

        if (is_old(neighbour)) {
            neighbour->polled = now();
            poll(address);
        }
        encapsulate(mac);
        emit(0);
    }
    slot = slot_of(address);
    if (slot == SLOTS || !wait(slot)) {
        drops += 1;
        drop(TOO_MANY_WAIT);
    }
    make_query(address);
    emit(query_output());
}

static void print_stats(void)
{
    print_uint(drops);
    print(" packets killed\n");
    print_uint(queries);
    print(" ND Solicitation Message sent\n");
}

READ_CALL(stats, text, print_stats);
