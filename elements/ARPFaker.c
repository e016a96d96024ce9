/*
 * ARPFaker(DSTIP, DSTETH, SRCIP, SRCETH) -- says again and again which Ethernet address somebody has
 *
 * Every ten seconds an ARP reply to DSTIP at DSTETH leaves, from the beginning on: SRCIP is at SRCETH.
 *
 * Example: `ARPFaker(18.26.4.1, 0:e0:2b:b:1a:0, 18.26.4.99, 0:a0:c9:9c:fd:9c) -> to`
 *
 * See also: ARPResponder, ARPQuerier. Source: RFC 826.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ARPFaker, "0/1", "a/h");
PARAM(be32, dst_address, "DSTIP", REQUIRED);
PARAM(mac_t, dst_mac, "DSTETH", REQUIRED);
PARAM(be32, src_address, "SRCIP", REQUIRED);
PARAM(mac_t, src_mac, "SRCETH", REQUIRED);

#define INTERVAL 10000000000

void init(void)
{
    timer_set(0, 1);
}

static void fill(struct arp *arp)
{
    arp->hardware = htons(ARP_ETHER);
    arp->protocol = htons(ETHERTYPE_IP);
    arp->hardware_size = sizeof(mac_t);
    arp->protocol_size = sizeof(be32);
    arp->operation = htons(ARP_REPLY);
    arp->sender_mac = src_mac;
    arp->sender_ip = src_address;
    arp->target_mac = dst_mac;
    arp->target_ip = dst_address;
}

void timer(int n)
{
    struct ether *ether;

    timer_set(0, now() + INTERVAL);
    packet_create(sizeof(struct ether) + sizeof(struct arp));
    ether = header(struct ether, 0);
    ether->dst = dst_mac;
    ether->src = src_mac;
    ether->type = htons(ETHERTYPE_ARP);
    fill(header(struct arp, sizeof(struct ether)));
    emit(0);
}
