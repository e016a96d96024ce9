/*
 * Leases() -- a server of leases that are in an array, searched from its beginning
 *
 * A request names a client by its Ethernet address. The client's lease is renewed if it has one; else a free or expired one is taken. Frames of Ethernet; one of 16 packets polls the whole
 * array for what has expired, as the server's timer would.
 *
 * Source: the program UDHCP of the NetTM paper, table 1. Left out: the protocol, and pings before a lease is given.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Leases, "1/1", "a/ah");

enum { LEASES = 64, SECONDS = 60 };
static u32 owner[LEASES], until[LEASES];
static u32 expired;

static void poll(u32 time)
{
    for (int i = 0; i < LEASES; i++)
        if (owner[i] != 0 && until[i] < time)
            owner[i] = 0;
}

void packet(int port)
{
    const u8 *source = header_array(u8, 6, 6);
    u32 client = source[2] << 24 | source[3] << 16 | source[4] << 8 | source[5];
    u32 time = now() / 1000000000;
    int found = -1, spare = -1;

    for (int i = 0; i < LEASES; i++) {
        if (owner[i] == client) {
            found = i;
            break;
        }
        if (spare < 0 && owner[i] == 0)
            spare = i;
    }
    if (found >= 0) {
        if (until[found] < time + SECONDS / 2)
            until[found] = time + SECONDS;
    } else if (spare >= 0) {
        owner[spare] = client;
        until[spare] = time + SECONDS;
    }
    if ((client & 15) == 0)
        poll(time);
    emit(0);
}
