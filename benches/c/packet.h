/* What the C sides are given: packets of a burst, and a bit per packet to set, least significant first. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct packet {
    const uint8_t *bytes;
    uint32_t len;
    uint32_t wire_len;
};
