
/* Tables that the host fills: prefixes, ranges and ternary entries come and go between vectors, and what packets look up is made of them again. */
#include <stdlib.h>

/* An entry: the key, and its mask or, of a range, the last key. Of those that match one with the highest rank is found, and among equals the one that came first. */
struct nv_given {
    uint64_t key[2], other[2], order;
    uint32_t rank, there;
};

struct nv_filled {
    struct nv_given *given; /* by handle, counted from 0 */
    uint8_t *values;
    uint32_t kind, capacity, stride, bits;
    struct nv_ranges *ranges; /* of prefixes and ranges, with room for twice as many and one */
    uint64_t (*start)[2];
    uint32_t *entry;
    struct nv_rule *rules; /* of ternary entries */
    uint32_t *rule_count;
    uint32_t *sorted, *heap; /* room for all handles */
    uint64_t orders;
};

static nv_key nv_given_low(const struct nv_given *g)
{
    return nv_wide(g->key[0], g->key[1]);
}

/* The last key that an entry of a prefix or a range matches. */
static nv_key nv_given_high(const struct nv_filled *t, const struct nv_given *g)
{
    const nv_key other = nv_wide(g->other[0], g->other[1]), all = ~(nv_key)0 >> (128 - t->bits);
    return t->kind == NETVM_RANGE ? other : nv_given_low(g) | (all & ~other);
}

static int nv_is_better(const struct nv_given *a, const struct nv_given *b)
{
    return a->rank != b->rank ? a->rank > b->rank : a->order < b->order;
}

/* What is compared while handles are sorted; one thread does that. */
static const struct nv_filled *nv_sorted_table;

static int nv_by_low(const void *a, const void *b)
{
    const struct nv_given *g = nv_sorted_table->given;
    const nv_key x = nv_given_low(&g[*(const uint32_t *)a]), y = nv_given_low(&g[*(const uint32_t *)b]);
    return x < y ? -1 : x > y;
}

static int nv_by_rank(const void *a, const void *b)
{
    const struct nv_given *g = nv_sorted_table->given;
    return nv_is_better(&g[*(const uint32_t *)a], &g[*(const uint32_t *)b]) ? -1 : 1;
}

static int nv_by_key(const void *a, const void *b)
{
    const uint64_t *p = a, *q = b;
    const nv_key x = nv_wide(p[0], p[1]), y = nv_wide(q[0], q[1]);
    return x < y ? -1 : x > y;
}

/* The handles of all entries in that order; how many there are. */
static uint32_t nv_sort(const struct nv_filled *t, int (*order)(const void *, const void *))
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->given[i].there)
            t->sorted[n++] = i;
    nv_sorted_table = t;
    qsort(t->sorted, n, sizeof *t->sorted, order);
    return n;
}

/* A heap of handles, the best entry first. */
static void nv_heap_put(const struct nv_filled *t, uint32_t *count, uint32_t handle)
{
    uint32_t at = (*count)++;
    for (; at > 0 && nv_is_better(&t->given[handle], &t->given[t->heap[(at - 1) / 2]]); at = (at - 1) / 2)
        t->heap[at] = t->heap[(at - 1) / 2];
    t->heap[at] = handle;
}

static void nv_heap_take(const struct nv_filled *t, uint32_t *count)
{
    const uint32_t last = t->heap[--*count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < *count; at = child) {
        if (child + 1 < *count && nv_is_better(&t->given[t->heap[child + 1]], &t->given[t->heap[child]]))
            child++;
        if (nv_is_better(&t->given[last], &t->given[t->heap[child]]))
            break;
        t->heap[at] = t->heap[child];
    }
    t->heap[at] = last;
}

/* The places where an entry begins or has ended, in order, from 0 on; written where the ranges will be. */
static uint32_t nv_bounds(const struct nv_filled *t, uint32_t count)
{
    uint32_t n = 0;
    t->start[n][0] = 0, t->start[n++][1] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct nv_given *g = &t->given[t->sorted[i]];
        const nv_key behind = nv_given_high(t, g) + 1;
        t->start[n][0] = g->key[0], t->start[n++][1] = g->key[1];
        if (behind)
            t->start[n][0] = (uint64_t)behind, t->start[n++][1] = (uint64_t)(behind >> 64);
    }
    qsort(t->start, n, sizeof *t->start, nv_by_key);
    return n;
}

/* Ranges in order, each with the best of the entries that have begun and not ended. */
static void nv_make_ranges(struct nv_filled *t)
{
    const uint32_t count = nv_sort(t, nv_by_low), bounds = nv_bounds(t, count);
    uint32_t next = 0, open = 0, made = 0;
    for (uint32_t i = 0; i < bounds; i++) {
        const nv_key at = nv_wide(t->start[i][0], t->start[i][1]);
        if (i + 1 < bounds && at == nv_wide(t->start[i + 1][0], t->start[i + 1][1]))
            continue;
        for (; next < count && nv_given_low(&t->given[t->sorted[next]]) <= at; next++)
            nv_heap_put(t, &open, t->sorted[next]);
        while (open && nv_given_high(t, &t->given[t->heap[0]]) < at)
            nv_heap_take(t, &open);
        const uint32_t best = open ? t->heap[0] + 1 : 0;
        if (made && t->entry[made - 1] == best)
            continue;
        t->start[made][0] = (uint64_t)at, t->start[made][1] = (uint64_t)(at >> 64);
        t->entry[made++] = best;
    }
    t->ranges->count = made;
}

static void nv_make_rules(struct nv_filled *t)
{
    const uint32_t count = nv_sort(t, nv_by_rank);
    for (uint32_t i = 0; i < count; i++) {
        const struct nv_given *g = &t->given[t->sorted[i]];
        t->rules[i] = (struct nv_rule){ { g->key[0], g->key[1] }, { g->other[0], g->other[1] }, t->sorted[i] + 1 };
    }
    *t->rule_count = count;
}

static void nv_make(struct nv_filled *t)
{
    if (t->kind == NETVM_TERNARY)
        nv_make_rules(t);
    else
        nv_make_ranges(t);
}

/* The place of an entry with that key, mask and rank, or a free one, or the capacity if there is none. */
static uint32_t nv_place(const struct nv_filled *t, nv_key key, nv_key other, uint32_t rank, int *known)
{
    uint32_t spare = t->capacity;
    *known = 0;
    for (uint32_t i = 0; i < t->capacity; i++) {
        const struct nv_given *g = &t->given[i];
        if (!g->there) {
            spare = spare < i ? spare : i;
        } else if (nv_given_low(g) == key && nv_wide(g->other[0], g->other[1]) == other && g->rank == rank) {
            *known = 1;
            return i;
        }
    }
    return spare;
}

/* What a key and its mask are in the table, and the rank; what is wrong, or 0. */
static int nv_suits(const struct nv_filled *t, nv_key *key, nv_key other, uint32_t *rank)
{
    const nv_key all = ~(nv_key)0 >> (128 - t->bits), wild = all & ~other;
    if (*key & ~all || other & ~all || (t->kind == NETVM_RANGE && *key > other) || (t->kind == NETVM_PREFIX && wild & (wild + 1)))
        return NETVM_UNSUITED;
    if (t->kind != NETVM_RANGE)
        *key &= other;
    for (*rank = t->kind == NETVM_PREFIX ? 0 : *rank; t->kind == NETVM_PREFIX && other; other &= other - 1)
        ++*rank;
    return 0;
}

__attribute__((unused)) static int nv_fill(struct nv_filled *t, nv_key key, nv_key other, uint32_t rank, const uint8_t *value, uint32_t bytes)
{
    int known, wrong = nv_suits(t, &key, other, &rank);
    if (wrong)
        return wrong;
    const uint32_t at = nv_place(t, key, other, rank, &known);
    if (at == t->capacity)
        return NETVM_FULL;
    memset(t->values + (size_t)at * t->stride, 0, t->stride);
    memcpy(t->values + (size_t)at * t->stride, value, bytes);
    if (known)
        return 0;
    t->given[at] = (struct nv_given){ { (uint64_t)key, (uint64_t)(key >> 64) }, { (uint64_t)other, (uint64_t)(other >> 64) }, t->orders++, rank, 1 };
    nv_make(t);
    return 0;
}

__attribute__((unused)) static int nv_empty(struct nv_filled *t, nv_key key, nv_key other, uint32_t rank)
{
    int known, wrong = nv_suits(t, &key, other, &rank);
    if (wrong)
        return wrong;
    const uint32_t at = nv_place(t, key, other, rank, &known);
    if (!known)
        return NETVM_MISSING;
    t->given[at].there = 0;
    nv_make(t);
    return 0;
}

__attribute__((unused)) static int nv_filled_list(const struct nv_filled *t, uint32_t *at, uint32_t key, uint32_t bytes, struct netvm_entry *e)
{
    for (; *at < t->capacity; ++*at) {
        const struct nv_given *g = &t->given[*at];
        if (!g->there)
            continue;
        nv_tell(e, g->key[0], g->key[1], key, t->values + (size_t)*at * t->stride, bytes);
        for (uint32_t i = 0; i < key; i++)
            e->other[key - 1 - i] = (uint8_t)(g->other[i / 8] >> 8 * (i % 8));
        e->priority = t->kind == NETVM_PREFIX ? 0 : g->rank;
        ++*at;
        return 1;
    }
    return 0;
}

/* Entries of exact tables that do not time out. */
__attribute__((unused)) static int nv_open_fill(const struct nv_open *x, struct nv_opened *t, uint32_t bits, nv_key key, const uint8_t *value, uint32_t bytes)
{
    if (key >> bits)
        return NETVM_UNSUITED;
    const uint32_t at = nv_open_insert(x, t, (uint64_t)key);
    if (!at)
        return NETVM_FULL;
    memcpy(x->places + (size_t)(at - 1) * x->words + 1, value, bytes);
    return 0;
}

__attribute__((unused)) static int nv_open_empty(const struct nv_open *x, struct nv_opened *t, uint32_t bits, nv_key key)
{
    return !(key >> bits) && nv_open_remove(x, t, (uint64_t)key) ? 0 : NETVM_MISSING;
}

/* The same of those with longer keys, or whose entries time out: what a host enters stays, as what is there from the start. */
__attribute__((unused)) static int nv_exact_fill(struct nv_exact *t, nv_key key, const uint8_t *value, uint32_t bytes)
{
    const uint32_t at = nv_insert(t, key, 0);
    if (!at)
        return NETVM_FULL;
    nv_unorder(t, at);
    t->slots[at].used = NV_FOR_EVER;
    memcpy(t->values + (size_t)(at - 1) * t->stride, value, bytes);
    return 0;
}

NV_INLINE nv_key nv_number_of(const uint8_t *bytes, uint32_t n)
{
    nv_key number = 0;
    for (uint32_t i = 0; i < n; i++)
        number = number << 8 | bytes[i];
    return number;
}
