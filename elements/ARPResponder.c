/*
 * ARPResponder(IP/MASK [IP/MASK ...] ETH, ...) -- answers ARP queries
 *
 * Packets are ARP queries with their Ethernet header. A query for an address in one of the networks is answered, by output 0, with that argument's
 * ETH; the longest prefix decides. All other packets leave by output 1 if there is one, and are dropped otherwise.
 *
 * Handlers: table (read), lines IP/LEN ETH, longer prefixes first; lookup IP (read), the ETH that is answered; add IP/MASK ... ETH, remove IP/MASK (write).
 *
 * Example: answers for this host and, as a proxy, for a network behind it:
 *
 *     Classifier(12/0806 20/0001) -> ARPResponder(18.26.4.24 18.26.7.0/24 00-00-C0-AE-67-EF) -> ...
 *
 * Source: RFC 826. See also: ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ARPResponder, "1/1-2", "a/ah");
TABLE_PREFIX(entries, be32, mac_t, 65536);
CONFIG(ARP_ENTRIES, entries);

enum { NO_ANSWER };

enum { QUERY_LENGTH = sizeof(struct ether) + sizeof(struct arp) };

static bool is_query(const struct ether *ether, const struct arp *arp)
{
    return ether->type == htons(ETHERTYPE_ARP) && arp->hardware == htons(ARP_ETHER) && arp->protocol == htons(ETHERTYPE_IP)
        && arp->hardware_size == sizeof(mac_t) && arp->protocol_size == sizeof(be32) && arp->operation == htons(ARP_REQUEST);
}

static void answer(struct ether *ether, struct arp *arp, mac_t mac)
{
    be32 asked = arp->target_ip;

    ether->dst = arp->sender_mac;
    ether->src = mac;
    arp->operation = htons(ARP_REPLY);
    arp->target_mac = arp->sender_mac;
    arp->target_ip = arp->sender_ip;
    arp->sender_mac = mac;
    arp->sender_ip = asked;
}

/* Makes a query the answer; false if it is none, or nobody is asked for. */
static bool answered(void)
{
    struct ether *ether = header(struct ether, 0);
    struct arp *arp = header(struct arp, sizeof(struct ether));
    be32 asked = arp->target_ip;
    const mac_t *mac = is_query(ether, arp) ? table_find(entries, &asked) : 0;

    if (!mac)
        return false;
    answer(ether, arp, *mac);
    packet_trim(packet_length() - QUERY_LENGTH);
    return true;
}

void packet(int port)
{
    if (packet_length() >= QUERY_LENGTH && answered())
        emit(0);
    if (NOUTPUTS > 1)
        emit(1);
    drop(NO_ANSWER);
}
