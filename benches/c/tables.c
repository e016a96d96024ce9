/*
 * Lookups in bursts: over netvm's tables, as compiled programs do them (netil's layout.rs), and over tables written by hand for the same job.
 *
 * Every function looks up `n` keys, refreshes what it finds where entries have timeouts, and gives the sum of the first four bytes of the values found.
 * `n` is a multiple of BURST.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BURST 256

static inline uint64_t load64(const uint8_t *at) { uint64_t v; memcpy(&v, at, 8); return v; }
static inline uint32_t load32(const uint8_t *at) { uint32_t v; memcpy(&v, at, 4); return v; }
static inline void store64(uint8_t *at, uint64_t v) { memcpy(at, &v, 8); }

/* Exact tables of netvm: flows, that is, keys of 104 bits, 11 bytes of value, a timeout. */
enum { CLOCK, MASK, BUCKETS, SEED0, SEED1, STASHED };
enum { KEY = 8, VALUE = 21, STRIDE = 32, PROBES = 64 };

struct flow { uint64_t low, high; };

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline uint8_t *home(uint64_t mask, uint64_t buckets, const uint64_t *seed, uint8_t *slots, const struct flow *key)
{
    uint64_t hash = fold(key->low ^ seed[0], key->high ^ seed[1]);
    uint64_t bucket = hash & mask;
    bucket &= bucket >= buckets ? mask >> 1 : mask;
    return slots + bucket * STRIDE;
}

static inline int is(const uint8_t *slot, const struct flow *key, uint64_t now)
{
    uint64_t high = (load64(slot + KEY + 8) ^ key->high) << 24;
    return load64(slot + KEY) == key->low && !high && load64(slot) > now;
}

static inline uint8_t *find(uint8_t *slot, const struct flow *key, uint64_t now)
{
    for (int i = 0; i < PROBES; i++, slot += STRIDE) {
        if (is(slot, key, now))
            return slot;
        if (!load64(slot))
            break;
    }
    return NULL; /* a program would now ask the table, had it entries in the stash */
}

uint64_t netvm_flows(uint64_t *head, uint8_t *slots, const struct flow *keys, size_t n, uint64_t now, uint64_t timeout)
{
    uint64_t sum = 0;
    uint8_t *at[BURST];
    const uint64_t mask = head[MASK], buckets = head[BUCKETS], seed[2] = { head[SEED0], head[SEED1] };
    for (; n; keys += BURST, n -= BURST) {
        for (int i = 0; i < BURST; i++) {
            at[i] = home(mask, buckets, seed, slots, &keys[i]);
            __builtin_prefetch(at[i], 1);
        }
        if (now + 2 > head[CLOCK])
            head[CLOCK] = now + 2;
        uint64_t clock = head[CLOCK], end = clock + timeout;
        for (int i = 0; i < BURST; i++) {
            uint8_t *slot = find(at[i], &keys[i], clock);
            if (!slot)
                continue;
            uint64_t state = load64(slot);
            store64(slot, state > end ? state : end);
            sum += load32(slot + VALUE);
        }
    }
    return sum;
}

/* By hand: slots of half a line, a power of 2 of them, a quarter in use at most; CRC32C; the time of last use in seconds; never takes anything out. */
struct hand { uint64_t low, high; uint32_t value; uint16_t rest[3]; uint16_t used; uint32_t seconds; };
struct hand_table { struct hand *slots; uint64_t mask; };

static inline uint32_t crc(const struct flow *key)
{
#ifdef __SSE4_2__
    return (uint32_t)__builtin_ia32_crc32di(__builtin_ia32_crc32di(0, key->low), key->high) * 2654435761u >> 8;
#else
    return (uint32_t)((key->low * 0x9e3779b97f4a7c15 ^ key->high) * 0xff51afd7ed558ccd >> 40);
#endif
}

/* Zeros in large pages; NULL if there is no memory. They stay until the program ends. */
static void *memory(size_t size)
{
    const size_t large = 2 << 20;
    uint8_t *all = mmap(NULL, size + large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    uint8_t *begin = (uint8_t *)(((uintptr_t)all + large - 1) & ~(uintptr_t)(large - 1));
#ifdef MADV_HUGEPAGE
    madvise(begin, size, MADV_HUGEPAGE);
#endif
    return begin;
}

/* `slots` is a power of 2. */
void *hand_flows_new(uint64_t slots)
{
    struct hand_table *table = malloc(sizeof *table);
    struct hand *begin = memory(slots * sizeof *begin);
    if (!table || !begin)
        abort();
    *table = (struct hand_table){ begin, slots - 1 };
    return table;
}

void hand_flows_insert(void *opaque, const struct flow *key, uint32_t value)
{
    struct hand_table *table = opaque;
    uint64_t at = crc(key) & table->mask;
    while (table->slots[at].used)
        at = (at + 1) & table->mask;
    table->slots[at] = (struct hand){ .low = key->low, .high = key->high, .value = value, .used = 1 };
}

uint64_t hand_flows(void *opaque, const struct flow *keys, size_t n, uint64_t now)
{
    struct hand_table *table = opaque;
    uint64_t sum = 0, at[BURST];
    for (; n; keys += BURST, n -= BURST) {
        for (int i = 0; i < BURST; i++) {
            at[i] = crc(&keys[i]) & table->mask;
            __builtin_prefetch(&table->slots[at[i]], 1);
        }
        for (int i = 0; i < BURST; i++) {
            for (uint64_t slot = at[i];; slot = (slot + 1) & table->mask) {
                struct hand *entry = &table->slots[slot];
                if (entry->low == keys[i].low && entry->high == keys[i].high && entry->used) {
                    entry->seconds = now / 1000000000;
                    sum += entry->value;
                    break;
                }
                if (!entry->used)
                    break;
            }
        }
    }
    return sum;
}

/* Routes: IPv4 prefixes, 8 bytes of value, a first level of 24 bits, handles of 16 bits as long as they suffice. */
enum { WIDE, DEFAULT };
enum { DEEPER = 0x8000, VALUE_STRIDE = 8 };

static inline uint32_t slot16(const uint8_t *slots, size_t at) { uint16_t v; memcpy(&v, slots + at * 2, 2); return v; }
static inline uint32_t slot32(const uint8_t *slots, size_t at) { return load32(slots + at * 4); }

static inline uint32_t route(const uint64_t *head, const uint8_t *index, const uint8_t *groups, uint32_t key)
{
    uint32_t handle;
    if (!head[WIDE]) {
        handle = slot16(index, key >> 8);
        if (__builtin_expect(handle & DEEPER, 0))
            handle = slot16(groups, (size_t)(handle & ~DEEPER) << 8 | (key & 255));
    } else {
        handle = slot32(index, key >> 8);
        if (handle >> 31)
            handle = slot32(groups, (size_t)(handle & 0x7fffffff) << 8 | (key & 255));
    }
    return handle ? handle : (uint32_t)head[DEFAULT];
}

uint64_t netvm_routes(const uint64_t *head, const uint8_t *values, const uint8_t *index, const uint8_t *groups, const uint32_t *keys, size_t n)
{
    uint64_t sum = 0;
    for (; n; keys += BURST, n -= BURST) {
        const int shift = head[WIDE] ? 2 : 1;
        for (int i = 0; i < BURST; i++)
            __builtin_prefetch(index + ((size_t)(keys[i] >> 8) << shift));
        for (int i = 0; i < BURST; i++) {
            uint32_t handle = route(head, index, groups, keys[i]);
            if (handle)
                sum += load32(values + (size_t)(handle - 1) * VALUE_STRIDE);
        }
    }
    return sum;
}

/* By hand: DIR-24-8 with next hops in an array; every route has at most 24 bits. */
struct hop { uint32_t gateway, port; };
struct hand_routes { uint16_t *index; struct hop hops[64]; };

void *hand_routes_new(void)
{
    struct hand_routes *table = calloc(1, sizeof *table);
    if (!table || !(table->index = memory(sizeof(uint16_t) << 24)))
        abort();
    return table;
}

/* Shorter prefixes before longer ones. */
void hand_routes_add(void *opaque, uint32_t prefix, uint32_t length, uint32_t hop)
{
    struct hand_routes *table = opaque;
    table->hops[hop] = (struct hop){ hop, hop };
    for (uint32_t i = 0; i < 1u << (24 - length); i++)
        table->index[(prefix >> 8) + i] = hop + 1;
}

uint64_t hand_routes(const void *opaque, const uint32_t *keys, size_t n)
{
    const struct hand_routes *table = opaque;
    uint64_t sum = 0;
    for (; n; keys += BURST, n -= BURST) {
        for (int i = 0; i < BURST; i++)
            __builtin_prefetch(&table->index[keys[i] >> 8]);
        for (int i = 0; i < BURST; i++) {
            uint16_t hop = table->index[keys[i] >> 8];
            if (hop)
                sum += table->hops[hop - 1].gateway;
        }
    }
    return sum;
}
