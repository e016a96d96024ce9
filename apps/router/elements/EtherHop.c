/*
 * EtherHop(SRC, NETWORK, IP[/MASK] ... ETH, ...) -- puts an Ethernet header before IP packets, by next hop
 *
 * What ARPQuerier does where the neighbours are known beforehand. The destination annotation names the next hop; its ETH of the arguments becomes the
 * destination of the Ethernet header. Packets from input N leave by output N; the source is SRC with N added to its last byte. Of several prefixes that fit
 * the longest counts. Packets to hops that are not named are dropped.
 *
 * The first 1,024 addresses of NETWORK are found without a search.
 *
 * Example: `EtherHop(02:00:00:08:00:00, 10.255.0.0/24, 10.255.0.1 02:00:00:09:00:01, 10.255.0.2 02:00:00:09:00:02)`
 *
 * See also: ARPQuerier, EtherEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherHop, "-/=", "h/h");
PARAM(mac_t, source, "SRC", REQUIRED);
PARAM(struct ip_prefix, network, "NETWORK", REQUIRED);
TABLE_PREFIX(neighbours, be32, mac_t, 4095);
CONFIG(ARP_ENTRIES, neighbours);

enum { NEAR = 1024 };
enum { NO_NEIGHBOUR };

struct hop { mac_t mac; bool is_known; u8 unused; };
static struct hop near[NEAR];

static u32 first_address(void)
{
    return ntohl(network.addr & network.mask);
}

void init(void)
{
    for (u32 i = 0; i < NEAR; i++) {
        be32 address = htonl(first_address() + i);
        const mac_t *mac = table_find(neighbours, &address);

        near[i].is_known = mac != 0;
        if (mac)
            near[i].mac = *mac;
    }
}

static void encapsulate(mac_t mac, int port)
{
    struct ether *ether;

    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->dst = mac;
    ether->src = source;
    ether->src.byte[5] += (u8)port;
    ether->type = htons(ETHERTYPE_IP);
    set_mac_header(0);
}

void push(int port)
{
    be32 address = info(dst_ip);
    u32 host = ntohl(address) - first_address();
    const mac_t *mac;

    if (host < NEAR && near[host].is_known) {
        encapsulate(near[host].mac, port);
        emit(port);
    }
    mac = table_find(neighbours, &address);
    if (mac) {
        encapsulate(*mac, port);
        emit(port);
    }
    drop(NO_NEIGHBOUR);
}
