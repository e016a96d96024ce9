/*
 * SortedIPLookup(ADDR/MASK [GATEWAY] OUT, ...) -- routes IP packets by longest prefix
 *
 * Click's element of this name looks at one route after the other; here, how a table is kept is the runtime's choice.
 * The destination annotation is looked up; the route with the longest mask that fits decides. If the route has a GATEWAY, that becomes the
 * destination annotation. The packet leaves by output OUT, and is dropped if no route fits.
 *
 * Example: `SortedIPLookup(18.26.4.24/32 0, 18.26.4.0/24 1, 0.0.0.0/0 18.26.4.1 1)`
 *
 * `FILE NAME [DEVICE ...]` among the arguments stands for the routes of a file: lines `ADDR/LEN [GATEWAY] OUT`, what `ip route` prints, CSV or a router's dump
 * (MRT). Behind the name may stand what the file calls the devices of outputs 0, 1 and so on. What is unreachable there, or a blackhole, is dropped.
 * The routes of a file count where it stands; of routes to one prefix the last one counts.
 *
 * Handlers: table, the routes; lookup ADDR, the output and the gateway (read). add ADDR/MASK [GATEWAY] OUT; set, the same in place of a route that is there;
 * remove ADDR/MASK; ctrl, lines of these; flush: no routes are left (write).
 *
 * See also: StaticIPLookup, RadixIPLookup, RangeIPLookup.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SortedIPLookup, "1/-", "h/h");

struct route { be32 gateway; u32 port; };
TABLE_PREFIX(routes, be32, struct route, 65536);
CONFIG(IP_ROUTES, routes);

#include "ip_lookup.h"
