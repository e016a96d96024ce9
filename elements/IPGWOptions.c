/*
 * IPGWOptions(MYADDR [, OTHERADDRS]) -- does with IP options what every router must
 *
 * Record Route and Timestamp options get this router's entry (RFC 791 3.1, RFC 1812 5.2.4); source routes are not its business. MYADDR is the router's
 * address on the interface that the packet leaves by, OTHERADDRS (separated by spaces) are its others: a Timestamp option with
 * given addresses is filled in for any of them. The IP header must be marked; its checksum is computed anew if something changed.
 *
 * A packet with a wrong option leaves by output 1 if there is one, with the annotation that says which byte is wrong, usually to an ICMPError
 * (parameterproblem); it is dropped otherwise.
 *
 * Handlers: drops (read), packets with a wrong option.
 *
 * See also: ICMPError.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPGWOptions, "1/1-2", "a/ah");
PARAM(be32, my_address, "MYADDR", REQUIRED);
PARAM_LIST(be32, other_addresses, "OTHERADDRS", OPTIONAL(0));

enum { BAD_OPTION };

static u64 drops;

static bool is_mine(be32 address)
{
    return address == my_address || ip_in_list(address, other_addresses, other_addresses_count);
}

#include "gw_options.h"

void packet(int port)
{
    u32 start = network_offset();
    u32 wrong;

    changed = false;
    wrong = process_all(start, ip_header_length(header(struct ip, start)));
    if (changed)
        ip_set_checksum(start);
    if (wrong == NOTHING_WRONG)
        emit(0);
    info(icmp_parameter_problem) = (u8) wrong;
    drops += 1;
    if (NOUTPUTS > 1)
        emit(1);
    drop(BAD_OPTION);
}

READ(drops, u64, drops);
