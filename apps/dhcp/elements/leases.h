/*
 * leases.h -- addresses of a network, who has them, and until when
 *
 * An address that was given once has an entry for good, and its last client with it, so that this one gets it again. Addresses that nobody has are in a list, those that are
 * free for longest first; all others are in a heap by the time when they become free. That is looked at when a message comes: there are no timers for leases.
 *
 * The file that includes this has the parameters first, last, my_network and capacity, and the table reserved of addresses that are for one client.
 */
#pragma once

enum { FREE, PINGED, OFFERED, LEASED, DECLINED, STATES };
enum { MOST_ADDRESSES = 65536, EXPIRED_AT_ONCE = 16 };

/* A client: its identifier or, if it has none or a longer one, hardware type and address, which is the usual identifier. */
enum { KEPT_ID = 31 };
struct client { u8 length; u8 id[KEPT_ID]; };
struct lease {
    struct client client;       /* who has it or had it; length 0: nobody */
    mac_t mac;
    u8 state;
    bool listed;
    u32 place;                  /* in the heap, from 1 */
    u64 ends;
    be32 before, after;         /* in the list */
};
TABLE_EXACT(addresses, be32, struct lease, capacity, 0);
TABLE_EXACT(clients, struct client, be32, capacity, 0);

static be32 heap[MOST_ADDRESSES + 1];
static u32 heap_size;
static be32 oldest, newest;
static u32 untouched;           /* the first address that was never given, if it is in the pool */
static u32 counts[STATES];

/* ---- The list of free addresses ---- */

static bool is_in_pool(be32 address)
{
    return ntohl(address) >= ntohl(first) && ntohl(address) <= ntohl(last) && address != my_network.addr;
}

static void unlist(be32 address)
{
    struct lease *lease = table_find(addresses, &address), *other;
    be32 before = lease->before, after = lease->after;

    lease->listed = false;
    other = table_find(addresses, &before);
    if (other)
        other->after = after;
    else
        oldest = after;
    other = table_find(addresses, &after);
    if (other)
        other->before = before;
    else
        newest = before;
}

static void enlist(be32 address)
{
    struct lease *lease = table_find(addresses, &address), *other;
    be32 before = newest;

    if (!is_in_pool(address))
        return;
    lease->listed = true;
    lease->before = before;
    lease->after = htonl(0);
    other = table_find(addresses, &before);
    if (other)
        other->after = address;
    else
        oldest = address;
    newest = address;
}

/* ---- The heap of others ---- */

static u64 ends_of(be32 address)
{
    return table_find(addresses, &address)->ends;
}

static void put_at(u32 place, be32 address)
{
    heap[place] = address;
    table_find(addresses, &address)->place = place;
}

/* Moves an address from a place that is empty now to where it belongs. */
static void sift(u32 place, be32 address)
{
    u64 ends = ends_of(address);

    while (place > 1 && ends_of(heap[place / 2]) > ends) {
        put_at(place, heap[place / 2]);
        place /= 2;
    }
    while (2 * place <= heap_size) {
        u32 child = 2 * place;

        if (child < heap_size && ends_of(heap[child + 1]) < ends_of(heap[child]))
            child += 1;
        if (ends_of(heap[child]) >= ends)
            break;
        put_at(place, heap[child]);
        place = child;
    }
    put_at(place, address);
}

/* Puts an address into the heap, or to its new place there; one that is free is taken out. */
static void arrange(be32 address)
{
    struct lease *lease = table_find(addresses, &address);
    u32 place = lease->place;

    if (lease->state == FREE) {
        be32 other = heap[heap_size];

        if (place == 0)
            return;
        lease->place = 0;
        heap_size -= 1;
        if (place > heap_size)
            return;
        address = other;
    } else if (place == 0) {
        heap_size += 1;
        place = heap_size;
    }
    sift(place, address);
}

/* ---- States ---- */

/* Puts an address that has an entry into a state until then. */
static void set_state(be32 address, u8 state, u64 ends)
{
    struct lease *lease = table_find(addresses, &address);

    counts[lease->state] -= 1;
    counts[state] += 1;
    if (lease->listed)
        unlist(address);
    lease->state = state;
    lease->ends = ends;
    arrange(address);
    if (state == FREE)
        enlist(address);
}

/* Frees addresses whose time is over, some at once. */
static void expire(u32 most)
{
    for (u32 n = 0; n < most && heap_size > 0; n++) {
        be32 address = heap[1];

        if (ends_of(address) > now())
            return;
        set_state(address, FREE, 0);
    }
}

/* Makes an entry for an address; 0 if there is no room. */
static struct lease *entry(be32 address)
{
    struct lease *lease = table_find(addresses, &address);

    if (lease)
        return lease;
    lease = table_insert(addresses, &address);
    counts[FREE] += lease != 0;
    return lease;
}

/* The client of an address has it no more; if there is one, another address becomes its own. */
static void disown(be32 address)
{
    struct lease *lease = table_find(addresses, &address);
    struct client nobody = { 0 }, client = lease->client;
    const be32 *own = client.length > 0 ? table_find(clients, &client) : 0;

    if (own && *own == address)
        table_delete(clients, &client);
    lease->client = nobody;
}

/* ---- Choosing ---- */

static bool is_taken(const struct lease *lease)
{
    return lease && lease->state != FREE && lease->ends > now();
}

/* Nobody has it, and it is for nobody else. */
static bool is_free(be32 address)
{
    return is_in_pool(address) && !table_find(reserved, &address) && !is_taken(table_find(addresses, &address));
}

/* An address that was never given, else the one that is free for longest; 0 if there is none. */
static be32 any_free(void)
{
    be32 address;

    while (untouched <= ntohl(last)) {
        address = htonl(untouched);
        if (!table_find(addresses, &address) && is_free(address))
            return address;
        untouched += 1;
    }
    address = oldest;
    while (address != htonl(0) && !is_free(address))
        address = table_find(addresses, &address)->after;
    return address;
}
