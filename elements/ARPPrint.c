/*
 * ARPPrint([LABEL, keywords TIMESTAMP, ETHER, ACTIVE]) -- prints ARP packets for people
 *
 * One line a packet, much as tcpdump writes it; the ARP header must be marked as network header. Packets leave unchanged.
 *
 *   TIMESTAMP  true (default): the arrival time
 *   ETHER      true: the addresses of the marked Ethernet header; false by default
 *   ACTIVE     false: nothing is printed
 *
 * Handlers: active (read/write).
 *
 * Source: RFC 826. See also: Print, IPPrint.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ARPPrint, "1/1", "a/a");
PARAM(string, label, "LABEL", OPTIONAL(""));
PARAM(bool, with_time, "TIMESTAMP", KEYWORD(true));
PARAM(bool, with_ether, "ETHER", KEYWORD(false));
PARAM(bool, active_at_start, "ACTIVE", KEYWORD(true));

static bool active;

void init(void)
{
    active = active_at_start;
}

static void print_ether(void)
{
    const struct ether *ether = header(struct ether, mac_offset());

    print_mac(ether->src);
    print(" > ");
    print_mac(ether->dst);
    print(": ");
}

static void print_prefix(void)
{
    if (!text_is(label, "")) {
        print_text(label);
        print(": ");
    }
    if (with_time) {
        print_time(now());
        print(": ");
    }
    if (with_ether)
        print_ether();
}

static void print_request(const struct arp *arp)
{
    print("arp who-has ");
    print_ip(arp->target_ip);
    print(" tell ");
    print_ip(arp->sender_ip);
}

static void print_reply(const struct arp *arp)
{
    print("arp reply ");
    print_ip(arp->sender_ip);
    print(" is-at ");
    print_mac(arp->sender_mac);
}

static void print_arp(u32 start)
{
    const struct arp *arp;

    if (packet_length() < start + sizeof(struct arp)) {
        print("truncated-arp");
        return;
    }
    arp = header(struct arp, start);
    if (arp->operation == htons(ARP_REQUEST))
        print_request(arp);
    else if (arp->operation == htons(ARP_REPLY))
        print_reply(arp);
    else {
        print("arp-#");
        print_uint(ntohs(arp->operation));
    }
}

void packet(int port)
{
    if (active) {
        print_prefix();
        print_arp(network_offset());
        print("\n");
    }
    emit(0);
}

READ(active, bool, active);
WRITE(active, bool, active);
