/*
 * stations.h -- on which port of a switch stations are, learned from their frames
 *
 * The class that includes this has declared timeout, 0 for nothing is learned, and capacity. Group addresses are never learned (IEEE 802.1D, 7.8).
 */

TABLE_EXACT(stations, mac_t, u32, capacity, timeout);

/* The first bit on the wire, the lowest of the first byte. */
static bool is_group(mac_t mac)
{
    return (mac.byte[0] & 1) != 0;
}

static void learn(const struct ether *ether, int port)
{
    mac_t source = ether->src;
    u32 *station;

    if (is_group(ether->src))
        return;
    station = table_insert(stations, &source);
    if (station)
        *station = (u32) port;
}

static int port_of(const struct ether *ether)
{
    mac_t destination = ether->dst;
    const u32 *station = table_peek(stations, &destination);

    return station ? (int) *station : -1;
}

/* Learns from a frame that came by that port; the port of its destination, or -1. */
static int learn_and_find(int port)
{
    const struct ether *ether = header(struct ether, 0);

    if (timeout == 0)
        return -1;
    learn(ether, port);
    return port_of(ether);
}
