/*
 * IP6NDAdvertiser(IP/MASK [IP/MASK ...] ETH, ...) -- answers neighbour solicitations
 *
 * Packets are neighbour solicitations of ICMPv6 with their Ethernet header. One for an address in one of the networks is answered with an advertisement of that argument's ETH; the
 * longest prefix decides. All other packets are dropped, and so are those with another hop limit than 255, or with a wrong checksum.
 *
 * Example: `Classifier(12/86dd 20/3aff 54/87) -> IP6NDAdvertiser(2001:db8::1/128 2001:db8:1::/64 00:00:C0:AE:67:EF) -> ...`
 *
 * Source: RFC 4861 4.4, 7.2. See also: IP6NDSolicitor, ARPResponder.
 */
#include <netvm.h>
#include "click.h"
#include "icmp6.h"

ELEMENT(IP6NDAdvertiser, "1/1", "a/a");
TABLE_PREFIX(entries, in6_t, mac_t, 65536);
CONFIG(ND_ENTRIES, entries);

enum { NO_ANSWER };
enum { IP6_AT = sizeof(struct ether), MESSAGE_AT = sizeof(struct ether) + sizeof(struct ip6), LENGTH = MESSAGE_AT + sizeof(struct neighbour_message) };

static bool is_solicitation(void)
{
    const struct ether *ether = header(struct ether, 0);
    const struct ip6 *ip6 = header(struct ip6, IP6_AT);
    const struct neighbour_message *message = header(struct neighbour_message, MESSAGE_AT);

    return ether->type == htons(ETHERTYPE_IP6) && ip6->next_header == PROTOCOL_ICMP6 && ip6->hop_limit == HOP_LIMIT
        && message->type == ICMP6_SOLICITATION && message->code == 0
        && ip6_checksum(IP6_AT, MESSAGE_AT, sizeof(struct neighbour_message)) == 0;
}

static void answer(mac_t mac)
{
    const struct ether *asked = header(struct ether, 0);
    mac_t asker = asked->src;
    in6_t asker_ip = header(struct ip6, IP6_AT)->src, target = header(struct neighbour_message, MESSAGE_AT)->target;
    struct ether *ether;
    struct neighbour_message *message;

    packet_create(LENGTH);
    ether = header(struct ether, 0);
    ether->dst = asker;
    ether->src = mac;
    ether->type = htons(ETHERTYPE_IP6);
    ip6_fill(IP6_AT, PROTOCOL_ICMP6, target, asker_ip);
    message = header(struct neighbour_message, MESSAGE_AT);
    message->type = ICMP6_ADVERTISEMENT;
    message->flags = htonl(ROUTER_SOLICITED);
    message->target = target;
    message->option = TARGET_OPTION;
    message->option_words = 1;
    message->mac = mac;
    message->checksum = htons(ip6_checksum(IP6_AT, MESSAGE_AT, sizeof(struct neighbour_message)));
}

void packet(int port)
{
    const mac_t *entry;
    in6_t target;

    if (packet_length() < LENGTH || !is_solicitation())
        drop(NO_ANSWER);
    target = header(struct neighbour_message, MESSAGE_AT)->target;
    entry = table_find(entries, &target);
    if (!entry)
        drop(NO_ANSWER);
    answer(*entry);
    emit(0);
}
