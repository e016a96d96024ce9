/*
 * LookupIP6Route(ADDR/LEN GATEWAY OUT, ...) -- routes IPv6 packets, by longest prefix
 *
 * The IPv6 destination annotation is looked up; the route with the longest prefix that fits decides. If its GATEWAY is not ::0, that becomes the
 * destination annotation. The packet leaves by output OUT, and is dropped if no route fits.
 *
 * Example: `CheckIP6Header -> LookupIP6Route(2001:db8::1/128 ::0 0, 2001:db8::/32 ::0 1, ::0/0 2001:db8::2 1)`
 *
 * `FILE NAME [DEVICE ...]` among the arguments stands for the routes of a file: lines `ADDR/LEN [GATEWAY] OUT`, what `ip route` prints, CSV or a router's dump
 * (MRT). Behind the name may stand what the file calls the devices of outputs 0, 1 and so on. What is unreachable there, or a blackhole, is dropped.
 * The routes of a file count where it stands; of routes to one prefix the last one counts.
 *
 * Handlers: table, the routes; lookup ADDR, the output and the gateway (read). add ADDR/LEN [GATEWAY] OUT; set, the same in place of a route that is there;
 * remove ADDR/LEN; ctrl, lines of these; flush: no routes are left (write).
 *
 * See also: CheckIP6Header, StaticIPLookup.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(LookupIP6Route, "1/-", "h/h");

struct route6 { in6_t gateway; u32 port; };
TABLE_PREFIX(routes, in6_t, struct route6, 1048576);
CONFIG(IP6_ROUTES, routes);

enum { NO_ROUTE };

static in6_t none;

void push(int port)
{
    in6_t address = info(dst_ip6);
    const struct route6 *route = table_find(routes, &address);

    if (!route)
        drop(NO_ROUTE);
    if (!equal(route->gateway, none))
        info(dst_ip6) = route->gateway;
    emit((int) route->port);
}
