/*
 * LookupIPRouteMP(ADDR/MASK [GATEWAY] OUT, ...) -- routes IP packets by the configuration's table, as StaticIPLookup does
 *
 * The destination annotation is looked up; the route with the longest mask that fits decides. If the route has a GATEWAY, that becomes the
 * destination annotation. The packet leaves by output OUT, and is dropped if no route fits.
 *
 * Example: `LookupIPRouteMP(18.26.4.24/32 0, 18.26.4.0/24 1, 0.0.0.0/0 18.26.4.1 1)`
 *
 * `FILE NAME [DEVICE ...]` among the arguments stands for the routes of a file: lines `ADDR/LEN [GATEWAY] OUT`, what `ip route` prints, CSV or a router's dump
 * (MRT). Behind the name may stand what the file calls the devices of outputs 0, 1 and so on. What is unreachable there, or a blackhole, is dropped.
 * The routes of a file count where it stands; of routes to one prefix the last one counts.
 *
 * Handlers: table, the routes; lookup ADDR, the output and the gateway (read). Click's has no more; here routes come and go as those of LinearIPLookup do, by add, set,
 * remove, ctrl and flush (write).
 *
 * See also: RadixIPLookup, DirectIPLookup, RangeIPLookup.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(LookupIPRouteMP, "1/-", "h/h");

struct route { be32 gateway; u32 port; };
TABLE_PREFIX(routes, be32, struct route, 65536);
CONFIG(IP_ROUTES, routes);

#include "ip_lookup.h"
