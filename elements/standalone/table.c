/*
 * table.c -- the standalone runtime's tables: hashed exact matching with timeouts, tries for prefixes, hashing by masks for ternary matches, lists for ranges
 *
 * A key is a row of bytes, the first most significant, which is what be types, mac_t and in6_t are in memory; ranges and prefixes of plain integers are
 * netvm's alone, and walks over plain integers go by their bytes in memory. Prefixes of four bytes have an array of their first 24 bits, and arrays of the last 8 where there are longer ones (Gupta, Lin, McKeown 1998);
 * others a binary trie. Ternary entries are hashed, those of each mask for themselves; the masks are looked into by falling priority of their best entry, until none
 * can be better (tuple space search: Srinivasan, Suri, Varghese 1999). An entry not used for the timeout is gone; the room of such entries is taken back when the
 * table is full.
 */
#define _DEFAULT_SOURCE 1
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "netvm_run.h"

struct entry {
    struct entry *next;         /* in the same bucket, or of lower priority */
    u64 used;
    u32 priority;
    u64 value[];                /* behind it key and mask */
};

struct node { struct node *child[2]; struct entry *entry; };

/* The entries of a ternary mask. */
struct shape {
    struct shape *next;         /* whose best priority is lower, or the same */
    u32 best, count, nbuckets;  /* nbuckets: a power of two */
    struct entry **buckets;
    u8 mask[];
};

enum { DIRECT_KEY = 4, LAST = 256, MOST_KEY = 256, MOST_VALUE = 4096 };
static const u32 DEEPER = 1u << 31;

/* Of prefixes of four bytes: numbers of entries, 0 for none; or DEEPER and the number of an array of LAST. An entry's priority is its prefix's length. */
struct direct { u32 *first, *last; u32 arrays; };

struct nv_table {
    enum nv_kind kind;
    u32 key, value, capacity, count;
    u64 timeout;
    u32 nbuckets;               /* a power of two */
    struct entry **buckets;
    u8 *entries;                /* room for capacity + 1, each of stride bytes; the first is nobody's */
    u32 stride, taken;
    struct entry *unused;
    struct node root;
    struct direct direct;
    struct shape *shapes;
    u8 *walk;                   /* keys of a walk, and where it is among them */
    u32 walk_count, walk_at;
    struct nv_expiry *expiry;
};

/* Zeros that stay until the program ends, in large pages where the system has them. */
static void *large(size_t size)
{
    const size_t page = 2 << 20;
    u8 *memory = mmap(0, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    memory += page - (uintptr_t) memory % page;
#ifdef MADV_HUGEPAGE
    madvise(memory, size, MADV_HUGEPAGE);
#endif
    return memory;
}

struct nv_table *nv_table_new(enum nv_kind kind, u32 key, u32 value, u32 capacity, u64 timeout)
{
    struct nv_table *t = nv_allocate(sizeof(*t));

    t->kind = kind;
    t->key = key;
    t->value = value;
    t->capacity = capacity;
    t->timeout = timeout;
    t->nbuckets = 1;
    while (kind == NV_EXACT && t->nbuckets < capacity && t->nbuckets < 1u << 24)
        t->nbuckets *= 2;
    t->buckets = large(t->nbuckets * sizeof(*t->buckets));
    t->stride = (u32) (sizeof(struct entry) + (value + 7) / 8 * 8 + (2 * key + 7) / 8 * 8);
    t->entries = large((size_t) t->stride * (capacity + 1));
    if (kind == NV_PREFIX && key == DIRECT_KEY)
        t->direct.first = large(sizeof(u32) << 24);
    return t;
}

static struct entry *entry_at(const struct nv_table *t, u32 number)
{
    return (struct entry *) (t->entries + (size_t) number * t->stride);
}

static u8 *key_of(const struct nv_table *t, const struct entry *e)
{
    return (u8 *) e->value + (t->value + 7) / 8 * 8;
}

static u8 *mask_of(const struct nv_table *t, const struct entry *e)
{
    return key_of(t, e) + t->key;
}

/* There is room for it: fewer entries than the capacity are in use. */
static struct entry *entry_new(struct nv_table *t, const void *key, const void *mask)
{
    struct entry *e = t->unused;

    if (e)
        t->unused = e->next;
    else
        e = entry_at(t, ++t->taken);
    memset(e, 0, t->stride);
    memcpy(key_of(t, e), key, t->key);
    if (mask)
        memcpy(mask_of(t, e), mask, t->key);
    e->used = nv_now();
    t->count += 1;
    return e;
}

static bool live(const struct nv_table *t, const struct entry *e)
{
    u64 time = nv_now();

    return t->timeout == 0 || time <= e->used || time - e->used < t->timeout;
}

/* ---- Exact ---- */

/* Eight bytes at a time, by multiplication with an odd number. */
static u64 hash_of(const u8 *key, u32 length)
{
    u64 hash = length, word;

    for (; length > 8; length -= 8, key += 8) {
        memcpy(&word, key, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, key, length);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

static struct entry **bucket_of(const struct nv_table *t, const u8 *key)
{
    return &t->buckets[hash_of(key, t->key) & (t->nbuckets - 1)];
}

static void unlink_entry(struct nv_table *t, struct entry **at)
{
    struct entry *e = *at;

    *at = e->next;
    t->count -= 1;
    e->next = t->unused;
    t->unused = e;
}

/* The place of a key's entry, or of the end of its bucket; takes out what has expired on the way. */
static struct entry **exact_find(struct nv_table *t, const void *key)
{
    struct entry **at = bucket_of(t, key);

    while (*at && (!live(t, *at) || memcmp(key_of(t, *at), key, t->key) != 0)) {
        if (live(t, *at))
            at = &(*at)->next;
        else
            unlink_entry(t, at);
    }
    return at;
}

static void reclaim(struct nv_table *t)
{
    for (u32 i = 0; i < t->nbuckets; i++)
        for (struct entry **at = &t->buckets[i]; *at;) {
            if (live(t, *at))
                at = &(*at)->next;
            else
                unlink_entry(t, at);
        }
}

static void watch(struct nv_table *t);

void *nv_table_insert(struct nv_table *t, const void *key)
{
    struct entry **at = exact_find(t, key);

    if (t->expiry && !t->expiry->is_set)
        watch(t);

    if (!*at && t->count >= t->capacity) {
        reclaim(t);
        at = exact_find(t, key);
    }
    if (!*at && t->count >= t->capacity)
        return 0;
    if (!*at)
        *at = entry_new(t, key, 0);
    (*at)->used = nv_now();
    return (*at)->value;
}

bool nv_table_delete(struct nv_table *t, const void *key)
{
    struct entry **at = exact_find(t, key);

    if (!*at)
        return false;
    unlink_entry(t, at);
    return true;
}

/* ---- Walks ---- */

static u32 key_bytes;

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, key_bytes);
}

/* The keys of live entries that end by then, in the order of their bytes. */
static u32 list_keys(struct nv_table *t, u64 end)
{
    u32 count = 0;

    t->walk = realloc(t->walk, ((size_t) t->count + 1) * t->key);
    if (!t->walk)
        abort();
    for (u32 i = 0; i < t->nbuckets; i++)
        for (struct entry *e = t->buckets[i]; e; e = e->next)
            if (live(t, e) && (end == UINT64_MAX || (t->timeout && e->used + t->timeout <= end)))
                memcpy(t->walk + (size_t) count++ * t->key, key_of(t, e), t->key);
    key_bytes = t->key;
    qsort(t->walk, count, t->key, compare_keys);
    t->walk_count = count;
    t->walk_at = 0;
    return count;
}

u32 nv_table_walk(struct nv_table *t)
{
    return list_keys(t, UINT64_MAX);
}

bool nv_table_next(struct nv_table *t, void *key)
{
    while (t->walk_at < t->walk_count) {
        const u8 *next = t->walk + (size_t) t->walk_at++ * t->key;

        if (*exact_find(t, next)) {
            memcpy(key, next, t->key);
            return true;
        }
    }
    return false;
}

/* ---- Entries that end by the timeout ---- */

void nv_table_expires(struct nv_table *t, struct nv_expiry *expiry)
{
    expiry->timer = NV_TIMERS - 1;
    for (const struct nv_expiry *other = expiry->self->expiries; other; other = other->next)
        expiry->timer -= 1;
    expiry->table = t;
    expiry->next = expiry->self->expiries;
    expiry->self->expiries = expiry;
    t->expiry = t->timeout ? expiry : 0;
}

/* When the first of the live entries ends. */
static u64 deadline(const struct nv_table *t)
{
    u64 first = UINT64_MAX;

    for (u32 i = 0; i < t->nbuckets; i++)
        for (const struct entry *e = t->buckets[i]; e; e = e->next)
            if (live(t, e) && e->used + t->timeout < first)
                first = e->used + t->timeout;
    return first;
}

static void watch(struct nv_table *t)
{
    u64 own = nv_now() + t->timeout, others = deadline(t);

    t->expiry->is_set = true;
    nv_timer_set(t->expiry->self, (u32) t->expiry->timer, (own < others ? own : others) - 1);
}

/* The timer is due in the last nanosecond of what ends next. */
static void expire(struct nv_element *self, struct nv_expiry *expiry)
{
    struct nv_table *t = expiry->table;
    u8 key[MOST_KEY], value[MOST_VALUE] __attribute__((aligned(8)));
    u64 next;

    list_keys(t, nv_now() + 1);
    while (nv_table_next(t, key)) {
        memcpy(value, (*exact_find(t, key))->value, t->value);
        nv_table_delete(t, key);
        /* A trap leaves the rest to another run. */
        nv_timer_set(self, (u32) expiry->timer, nv_now());
        expiry->call(key, value);
    }
    next = deadline(t);
    expiry->is_set = next < UINT64_MAX;
    nv_timer_set(self, (u32) expiry->timer, expiry->is_set ? next - 1 : 0);
    if (nv_packet) {
        nv_packet_free(nv_packet);
        nv_packet = 0;
    }
}

void nv_timer_run(struct nv_element *self, int timer)
{
    for (struct nv_expiry *expiry = self->expiries; expiry; expiry = expiry->next)
        if (expiry->timer == timer) {
            expire(self, expiry);
            return;
        }
    self->timer(timer);
}

/* ---- Prefixes of four bytes ---- */

static u32 number_of(const void *bytes)
{
    be32 number;

    memcpy(&number, bytes, sizeof(number));
    return ntohl(number);
}

static struct entry *direct_find(const struct nv_table *t, const void *key)
{
    u32 number = number_of(key), slot = t->direct.first[number >> 8];

    if (slot & DEEPER)
        slot = t->direct.last[(slot & ~DEEPER) * LAST + (number & 255)];
    return slot ? entry_at(t, slot) : 0;
}

/* The array behind a slot; what was there fills it if it is new. */
static u32 *direct_array(struct nv_table *t, u32 *slot)
{
    struct direct *d = &t->direct;

    if (!(*slot & DEEPER)) {
        if ((d->arrays & (d->arrays - 1)) == 0)
            d->last = realloc(d->last, (d->arrays ? 2 * (size_t) d->arrays : 1) * LAST * sizeof(u32));
        if (!d->last)
            abort();
        for (u32 i = 0; i < LAST; i++)
            d->last[d->arrays * LAST + i] = *slot;
        *slot = DEEPER | d->arrays++;
    }
    return &d->last[(*slot & ~DEEPER) * LAST];
}

/* Puts an entry into slots where no longer prefix is. */
static void direct_put(struct nv_table *t, u32 *slots, u32 count, u32 entry)
{
    for (u32 i = 0; i < count; i++)
        if (slots[i] & DEEPER)
            direct_put(t, direct_array(t, &slots[i]), LAST, entry);
        else if (!slots[i] || entry_at(t, slots[i])->priority <= entry_at(t, entry)->priority)
            slots[i] = entry;
}

static struct entry *direct_add(struct nv_table *t, const void *key, const void *mask)
{
    u32 number = number_of(key) & number_of(mask), length = (u32) __builtin_popcount(number_of(mask));
    u32 *slot = &t->direct.first[number >> 8];
    struct entry *e = direct_find(t, key);

    if (e && e->priority == length)
        return e;
    if (t->count >= t->capacity)
        return 0;
    e = entry_new(t, key, mask);
    e->priority = length;
    if (length > 24)
        direct_put(t, direct_array(t, slot) + (number & 255), 1u << (32 - length), t->taken);
    else
        direct_put(t, slot, 1u << (24 - length), t->taken);
    return e;
}

/* ---- Other prefixes ---- */

static u32 bit(const u8 *key, u32 i)
{
    return key[i / 8] >> (7 - i % 8) & 1;
}

static struct entry *prefix_find(const struct nv_table *t, const u8 *key)
{
    const struct node *node = &t->root;
    struct entry *longest = node->entry;

    for (u32 i = 0; i < 8 * t->key; i++) {
        node = node->child[bit(key, i)];
        if (!node)
            break;
        if (node->entry)
            longest = node->entry;
    }
    return longest;
}

static struct entry **prefix_place(struct nv_table *t, const u8 *key, const u8 *mask)
{
    struct node *node = &t->root;

    for (u32 i = 0; i < 8 * t->key && bit(mask, i); i++) {
        struct node **child = &node->child[bit(key, i)];

        if (!*child)
            *child = nv_allocate(sizeof(**child));
        node = *child;
    }
    return &node->entry;
}

/* ---- Ternary: an entry comes before those that were entered later ---- */

enum { FIRST_BUCKETS = 16 };

static void put_mask(const struct nv_table *t, const u8 *mask, const u8 *key, u8 *masked)
{
    for (u32 i = 0; i < t->key; i++)
        masked[i] = key[i] & mask[i];
}

static struct entry **shape_bucket(const struct nv_table *t, const struct shape *s, const u8 *masked)
{
    return &s->buckets[hash_of(masked, t->key) & (s->nbuckets - 1)];
}

static bool is_better(const struct entry *a, const struct entry *b)
{
    return !b || a->priority > b->priority || (a->priority == b->priority && a < b);
}

static struct entry *ternary_find(const struct nv_table *t, const u8 *key)
{
    struct entry *best = 0;
    u8 masked[MOST_KEY];

    for (const struct shape *s = t->shapes; s && (!best || s->best >= best->priority); s = s->next) {
        put_mask(t, s->mask, key, masked);
        for (struct entry *e = *shape_bucket(t, s, masked); e; e = e->next)
            if (is_better(e, best) && memcmp(key_of(t, e), masked, t->key) == 0)
                best = e;
    }
    return best;
}

/* Twice as many buckets. */
static void shape_grow(const struct nv_table *t, struct shape *s)
{
    struct entry **old = s->buckets;
    u32 count = s->nbuckets;

    s->nbuckets = 2 * count;
    s->buckets = nv_allocate(s->nbuckets * sizeof(*s->buckets));
    for (u32 i = 0; i < count; i++)
        for (struct entry *e = old[i], *next; e; e = next) {
            struct entry **at = shape_bucket(t, s, key_of(t, e));

            next = e->next;
            e->next = *at;
            *at = e;
        }
    free(old);
}

/* The shape of a mask, taken out of the list, or a new one. */
static struct shape *shape_take(struct nv_table *t, const u8 *mask)
{
    struct shape *s;

    for (struct shape **at = &t->shapes; *at; at = &(*at)->next)
        if (memcmp((*at)->mask, mask, t->key) == 0) {
            s = *at;
            *at = s->next;
            return s;
        }
    s = nv_allocate(sizeof(*s) + t->key);
    memcpy(s->mask, mask, t->key);
    s->nbuckets = FIRST_BUCKETS;
    s->buckets = nv_allocate(s->nbuckets * sizeof(*s->buckets));
    return s;
}

static void shape_put(struct nv_table *t, struct shape *s)
{
    struct shape **at = &t->shapes;

    while (*at && (*at)->best >= s->best)
        at = &(*at)->next;
    s->next = *at;
    *at = s;
}

static struct entry *shape_add(struct nv_table *t, struct shape *s, const u8 *masked, u32 priority)
{
    struct entry **at = shape_bucket(t, s, masked), *e;

    for (e = *at; e; e = e->next)
        if (e->priority == priority && memcmp(key_of(t, e), masked, t->key) == 0)
            return e;
    if (t->count >= t->capacity)
        return 0;
    e = entry_new(t, masked, s->mask);
    e->priority = priority;
    e->next = *at;
    *at = e;
    if (s->best < priority)
        s->best = priority;
    if (++s->count > s->nbuckets)
        shape_grow(t, s);
    return e;
}

static struct entry *ternary_add(struct nv_table *t, const u8 *key, const u8 *mask, u32 priority)
{
    struct shape *s = shape_take(t, mask);
    u8 masked[MOST_KEY];
    struct entry *e;

    put_mask(t, mask, key, masked);
    e = shape_add(t, s, masked, priority);
    shape_put(t, s);
    return e;
}

/* ---- Ranges: by falling priority, equal ones in the order they came ---- */

static bool matches(const struct nv_table *t, const struct entry *e, const u8 *key)
{
    return memcmp(key_of(t, e), key, t->key) <= 0 && memcmp(key, mask_of(t, e), t->key) <= 0;
}

static struct entry *list_find(const struct nv_table *t, const u8 *key)
{
    struct entry *e = t->buckets[0];

    while (e && !matches(t, e, key))
        e = e->next;
    return e;
}

static bool is_same(const struct nv_table *t, const struct entry *e, const void *key, const void *mask, u32 priority)
{
    return e->priority == priority && !memcmp(key_of(t, e), key, t->key) && !memcmp(mask_of(t, e), mask, t->key);
}

static struct entry **list_place(struct nv_table *t, const void *key, const void *mask, u32 priority)
{
    struct entry **at = &t->buckets[0];

    while (*at && (*at)->priority >= priority && !is_same(t, *at, key, mask, priority))
        at = &(*at)->next;
    return at;
}

static struct entry *list_add(struct nv_table *t, const void *key, const void *mask, u32 priority)
{
    struct entry **at = list_place(t, key, mask, priority);
    struct entry *e = *at;

    if (e && is_same(t, e, key, mask, priority))
        return e;
    if (t->count >= t->capacity)
        return 0;
    e = entry_new(t, key, mask);
    e->priority = priority;
    e->next = *at;
    *at = e;
    return e;
}

/* ---- All kinds ---- */

static struct entry *find_entry(struct nv_table *t, const void *key)
{
    if (t->kind == NV_EXACT)
        return *exact_find(t, key);
    if (t->direct.first)
        return direct_find(t, key);
    if (t->kind == NV_PREFIX)
        return prefix_find(t, key);
    return t->kind == NV_TERNARY ? ternary_find(t, key) : list_find(t, key);
}

void *nv_table_find(struct nv_table *t, const void *key, bool refresh)
{
    struct entry *e = find_entry(t, key);

    if (!e)
        return 0;
    if (refresh)
        e->used = nv_now();
    return e->value;
}

static struct entry *prefix_add(struct nv_table *t, const void *key, const void *mask)
{
    struct entry **at;

    if (t->direct.first)
        return direct_add(t, key, mask);
    at = prefix_place(t, key, mask);
    if (!*at && t->count < t->capacity)
        *at = entry_new(t, key, mask);
    return *at;
}

void *nv_table_add(struct nv_table *t, const void *key, const void *mask, u32 priority, const void *value)
{
    struct entry *e;

    if (t->kind == NV_EXACT) {
        void *place = nv_table_insert(t, key);

        return place ? memcpy(place, value, t->value) : 0;
    }
    if (t->kind == NV_PREFIX)
        e = prefix_add(t, key, mask);
    else
        e = t->kind == NV_TERNARY ? ternary_add(t, key, mask, priority) : list_add(t, key, mask, priority);
    return e ? memcpy(e->value, value, t->value) : 0;
}

void nv_table_fill(struct nv_table *t, const char *rows, size_t count)
{
    const u8 *row = (const u8 *) rows;

    for (; count > 0; count--, row += 2 * t->key + 4 + t->value) {
        const u8 *priority = row + 2 * t->key;

        nv_table_add(t, row, row + t->key, (u32) priority[0] << 24 | priority[1] << 16 | priority[2] << 8 | priority[3], priority + 4);
    }
}
