/* What the hand-written applications share and is not called for each packet (burst.h). */
#include "burst.h"

#include <stdlib.h>
#include <sys/mman.h>

void *fresh(size_t size)
{
    const size_t page = 2 << 20;
    uint8_t *all = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        abort();
    uint8_t *begin = (uint8_t *)(((uintptr_t)all + page - 1) & ~(uintptr_t)(page - 1));
#ifdef MADV_HUGEPAGE
    madvise(begin, size, MADV_HUGEPAGE);
#endif
    return begin;
}

void *large(size_t size)
{
    return memset(fresh(size), 0, size);
}

struct ports *ports_new(void)
{
    struct ports *ports = calloc(1, sizeof *ports);
    if (!ports)
        abort();
    ports->buffers = large((size_t)BUFFERS * STRIDE);
    return ports;
}

/* Forgets what has been counted as sent and dropped; `kept` is where packets are kept from now on, PORTS of them, or null. */
void ports_reset(struct ports *ports, struct kept *kept)
{
    ports->dropped = 0;
    memset(ports->sent, 0, sizeof ports->sent);
    ports->kept = kept;
}

void ports_counts(const struct ports *ports, uint64_t *sent, uint64_t *dropped)
{
    memcpy(sent, ports->sent, sizeof ports->sent);
    *dropped = ports->dropped;
}

void keep(struct ports *ports, const uint64_t *before)
{
    for (int port = 0; port < PORTS; port++)
        for (uint64_t at = before[port]; at < ports->sent[port]; at++) {
            struct kept *kept = &ports->kept[port];
            if (kept->count < kept->room)
                memcpy(kept->packets + kept->count * SLOT, ports->queue[port][at % QUEUE], SLOT);
            kept->count++;
        }
}
