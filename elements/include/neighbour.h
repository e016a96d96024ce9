/*
 * neighbour.h -- what is known of the hosts of a network, by their IP addresses
 */
#pragma once

struct neighbour {
    mac_t mac;
    u64 learned;                /* when the last reply came, or the last question about it if that was later */
    u64 polled;                 /* when it was last asked for again */
};
