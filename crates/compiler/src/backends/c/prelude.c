
/* A packet: its captured bytes. */
struct nv_packet {
    const uint8_t *data;
    uint64_t len;
};

/* A burst of packets, and where their bits go: packet i has bit i % 64 of word i / 64. */
struct nv_burst {
    const struct nv_packet *packets;
    uint64_t count;
    uint64_t *selected;
    const uint32_t *wire_len;
    const uint64_t *time_ns;
    const uint8_t *data; /* initialised data */
    uint32_t budget;
};

/* Addresses have 32 bits: what lies behind is left out. */
NV_INLINE uint32_t nv_len(uint64_t len)
{
    return len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

/* What is read in place of a packet that is too short. */
static const uint8_t nv_zeros[256] __attribute__((unused));

/* Packets of which those whose bit is set have nv_zeros for their bytes. */
NV_INLINE const struct nv_packet *nv_safe(struct nv_packet *safe, const struct nv_packet *q, unsigned lanes, uint32_t bits)
{
    for (unsigned i = 0; i < lanes; i++)
        safe[i] = bits >> i & 1 ? (struct nv_packet){ nv_zeros, 0 } : q[i];
    return safe;
}
