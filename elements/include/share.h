/*
 * share.h -- which ports are an instance's own, where several cores have an instance each: for FLOW_STATE(PORTS, ...)
 *
 * Only the runtime writes the variable. Packets find their instance by the same formula (crates/runtime/src/io/flow.rs).
 */
#pragma once

/* 2^32 divided by the golden ratio spreads ports that follow each other over all parts (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
static const u32 PORT_SPREAD = 0x9e3779b1;

/* Part `index` of `parts`; 0 of 0 are all ports. */
struct share { u32 index; u32 parts; };

static inline bool is_own_port(const struct share *share, be16 port)
{
    u32 hash = ntohs(port) * PORT_SPREAD >> 16;

    return hash * share->parts >> 16 == share->index;
}
