/*
 * CheckARPHeader([OFFSET, keywords VERBOSE, DETAILS]) -- lets valid ARP packets pass
 *
 * The ARP header starts OFFSET bytes into the packet (0 by default). The packet must have the whole header with both pairs of addresses, as long as the header
 * says; hardware addresses of Ethernet must have 6 bytes, protocol addresses of IP 4 and of IPv6 16. Valid packets leave by output 0, the header marked as network header; others by output 1
 * if there is one, and are dropped otherwise.
 *
 *   VERBOSE  true: a line is printed for each packet that is not valid
 *   DETAILS  accepted; the details are always there
 *
 * Handlers: drops (read), packets that were not valid; drop_details (read), how many for which reason.
 *
 * Source: RFC 826. See also: ARPPrint, ARPResponder, ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(CheckARPHeader, "1/1-2", "a/ah");
PARAM(u32, start, "OFFSET", OPTIONAL(0));
PARAM(bool, verbose, "VERBOSE", KEYWORD(false));
PARAM(bool, details, "DETAILS", KEYWORD(false));

enum fault { VALID, TINY, TOO_SHORT, BAD_HARDWARE, BAD_PROTOCOL, FAULTS };

/* What comes before the addresses. */
struct arp_start { be16 hardware; be16 protocol; u8 hardware_size; u8 protocol_size; be16 operation; };

static void print_class(void)
{
    print("CheckARPHeader: ");
}

static void print_fault(enum fault fault)
{
    switch (fault) {
    case TINY: print("tiny packet"); break;
    case TOO_SHORT: print("too small for addresses"); break;
    case BAD_HARDWARE: print("bad hardware type/length"); break;
    default: print("bad protocol type/length"); break;
    }
}

#include "faults.h"

static u32 header_length(const struct arp_start *arp)
{
    return (u32) sizeof(struct arp_start) + 2 * (u32) arp->hardware_size + 2 * (u32) arp->protocol_size;
}

static bool is_bad_protocol(const struct arp_start *arp)
{
    if (arp->protocol == htons(ETHERTYPE_IP))
        return arp->protocol_size != sizeof(be32);
    return arp->protocol == htons(ETHERTYPE_IP6) && arp->protocol_size != sizeof(in6_t);
}

static enum fault check(void)
{
    const struct arp_start *arp;

    if (packet_length() < start || packet_length() - start < sizeof(struct arp_start))
        return TINY;
    arp = header(struct arp_start, start);
    if (packet_length() - start < header_length(arp))
        return TOO_SHORT;
    if (arp->hardware == htons(ARP_ETHER) && arp->hardware_size != sizeof(mac_t))
        return BAD_HARDWARE;
    return is_bad_protocol(arp) ? BAD_PROTOCOL : VALID;
}

void packet(int port)
{
    enum fault fault = check();

    if (fault == VALID) {
        set_network_header(start);
        set_transport_header(start + header_length(header(struct arp_start, start)));
        emit(0);
    }
    count_fault(fault);
    if (NOUTPUTS > 1)
        emit(1);
    switch (fault) {
    case TINY: drop(TINY);
    case TOO_SHORT: drop(TOO_SHORT);
    case BAD_HARDWARE: drop(BAD_HARDWARE);
    default: drop(BAD_PROTOCOL);
    }
}
