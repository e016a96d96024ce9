/*
 * flow.h -- flows of TCP and UDP packets and pings, and what rewriters know of them: for their tables, and for others who look into these
 *
 * A flow is one direction: addresses, ports, protocol. Each flow that is rewritten has a mapping to what becomes of it; the flow of the replies has
 * the mapping that turns that round.
 */
#pragma once

struct flow { be32 saddr; be32 daddr; be16 sport; be16 dport; u8 protocol; };

/* Flows of pings have these protocols; requests have their identifier as source port, replies as destination port. */
enum { PING_REQUESTS = PROTOCOL_ICMP, PING_REPLIES = 255 };

struct mapping {
    struct flow to;
    u32 output;
    u64 used;                   /* when a packet of either direction was last seen */
    u64 limit;                  /* how long after that it is there, nanoseconds */
    u32 packets;                /* of this direction */
    bool has_data;              /* TCP payload was seen in this direction */
    bool is_done;               /* a TCP connection that ends: FIN or RST was seen */
    bool is_reply;
    u8 mark;                    /* of the flow's first packet, for replies */
    u8 input;                   /* that the flow began at */
};

/* CAPACITY and MAPPING_CAPACITY are names of one argument. */
#define MOST_MAPPINGS (mapping_capacity_given ? mapping_capacity : capacity)

/* What becomes of an address, where only addresses are rewritten. */
struct mapped {
    be32 to;
    u32 output;
    bool is_reply;
    u8 mark;                    /* of the first packet, for replies */
};

/* A mapping that there is, and that has not timed out. */
static inline bool is_live(const struct mapping *mapping)
{
    u64 time = now();

    return mapping && (time < mapping->used || time - mapping->used < mapping->limit);
}

/* The ports of TCP and UDP are in the same place; this is as far as their checksums, too. */
struct ports { be16 sport; be16 dport; };
