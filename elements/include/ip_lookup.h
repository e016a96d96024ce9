/*
 * ip_lookup.h -- the body of the elements that route IP packets by the destination annotation
 *
 * The class that includes this has declared
 *
 *   routes    a table of be32 to struct route { be32 gateway; u32 port; }: where to, and the output
 *
 * It is included once, after that.
 */

enum { NO_ROUTE };

void push(int port)
{
    be32 address = info(dst_ip);
    const struct route *route = table_find(routes, &address);

    if (!route)
        drop(NO_ROUTE);
    if (route->gateway != htonl(0))
        info(dst_ip) = route->gateway;
    emit((int) route->port);
}
