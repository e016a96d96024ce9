/*
 * CheckIPHeader([OFFSET, keywords INTERFACES, BADSRC, GOODDST, CHECKSUM, VERBOSE, DETAILS]) -- lets valid IP packets pass
 *
 * The IP header starts OFFSET bytes into the packet (0 by default). It must be version 4, whole, with a length that fits header and packet, its checksum
 * right, and its source must be one that a packet may have (RFC 1812, 5.2.2 and 5.3.7). Valid packets leave by output 0: cut to their IP length,
 * headers marked, and with their destination as annotation. Others leave by output 1 if there is one, and are dropped otherwise.
 *
 *   CHECKSUM    is the checksum looked at? true by default
 *   BADSRC      source addresses that no packet may have
 *   GOODDST     packets to these addresses may have any source
 *   INTERFACES  the router's addresses with their networks, as in 18.26.4.9/24: their broadcast addresses, 0.0.0.0 and 255.255.255.255 become
 *               bad sources, and the addresses themselves good destinations; an address without a network is itself a bad source, too
 *   VERBOSE     true: a line is printed for each packet that is not valid
 *   DETAILS     accepted; the details are always there
 *
 * Older configurations have the bad sources as first argument, OFFSET as second: `CheckIPHeader(18.26.4.255 18.26.7.255, 14)`. Then 0.0.0.0 and 255.255.255.255 are bad, too.
 *
 * Handlers: drops (read), packets that were not valid; drop_details (read), how many for which reason.
 *
 * See also: MarkIPHeader, CheckTCPHeader, CheckUDPHeader, CheckICMPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(CheckIPHeader, "1/1-2", "a/ah");
PARAM(u32, offset, "OFFSET", KEYWORD(0));
PARAM_LIST(struct ip_prefix, interfaces, "INTERFACES", KEYWORD(0));
PARAM_LIST(be32, bad_sources, "BADSRC", KEYWORD(0));
PARAM_LIST(be32, good_destinations, "GOODDST", KEYWORD(0));
PARAM(bool, checks_sum, "CHECKSUM", KEYWORD(true));
PARAM(bool, verbose, "VERBOSE", KEYWORD(false));
PARAM(bool, details, "DETAILS", KEYWORD(false));
CONFIG(BAD_SOURCES, older);

static void print_class(void)
{
    print("CheckIPHeader: ");
}

#include "check_ip.h"
