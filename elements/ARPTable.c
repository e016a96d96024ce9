/*
 * ARPTable([keywords CAPACITY, ENTRY_CAPACITY, ENTRY_PACKET_CAPACITY, TIMEOUT, CAPACITY_SLIM_FACTOR]) -- Ethernet addresses that several ARPQueriers know
 *
 * Has no inputs and outputs. ARPQueriers that name it as their TABLE learn addresses together.
 *
 *   ENTRY_CAPACITY  addresses that are known at most, 65,536 by default
 *   TIMEOUT         how long an address is known, 5 minutes by default
 *
 * CAPACITY, ENTRY_PACKET_CAPACITY and CAPACITY_SLIM_FACTOR are taken and change nothing: packets wait in the ARPQueriers, which have arguments of these names.
 *
 * Handlers: table (read), lines IP 1 ETH SECONDS of the addresses that are known, the last since when; count (read) of them. insert IP ETH, delete IP,
 * clear (write) change what is known.
 *
 * Example: `t :: ARPTable;  ... -> ARPQuerier(1.0.0.1, 00:00:C0:AE:67:EF, TABLE t) -> ...`
 *
 * See also: ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ARPTable, "0/0", "a/a");
#include "neighbour.h"
PARAM(u32, capacity, "CAPACITY", KEYWORD(2048));
PARAM(u32, entry_capacity, "ENTRY_CAPACITY", KEYWORD(0));
PARAM(u32, entry_packet_capacity, "ENTRY_PACKET_CAPACITY", KEYWORD(0));
PARAM(u32, slim_factor, "CAPACITY_SLIM_FACTOR", KEYWORD(2));
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));

TABLE_EXACT(neighbours, be32, struct neighbour, entry_capacity == 0 ? 65536 : entry_capacity, timeout);
