/*
 * table.c -- the native runtime's tables: hashed exact matching with timeouts, a binary trie for prefixes, lists for the rest
 *
 * A key is a row of bytes, the first most significant, which is what be types, mac_t and in6_t are in memory; ranges and prefixes of plain integers are
 * netvm's alone. An entry not used for the timeout is gone; the room of such entries is taken back when the table is full.
 */
#include <stdlib.h>
#include <string.h>

#include <netvm.h>

struct entry {
    struct entry *next;         /* in the same bucket, or of lower priority */
    u64 used;
    u32 priority;
    u8 *key, *mask;
    u64 value[];
};

struct node { struct node *child[2]; struct entry *entry; };

struct nv_table {
    enum nv_kind kind;
    u32 key, value, capacity, count;
    u64 timeout;
    u32 nbuckets;               /* a power of two */
    struct entry **buckets;
    struct node root;
};

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        abort();
    return memory;
}

struct nv_table *nv_table_new(enum nv_kind kind, u32 key, u32 value, u32 capacity, u64 timeout)
{
    struct nv_table *t = allocate(sizeof(*t));

    t->kind = kind;
    t->key = key;
    t->value = value;
    t->capacity = capacity;
    t->timeout = timeout;
    t->nbuckets = 1;
    while (kind == NV_EXACT && t->nbuckets < capacity && t->nbuckets < 1u << 24)
        t->nbuckets *= 2;
    t->buckets = allocate(t->nbuckets * sizeof(*t->buckets));
    return t;
}

static struct entry *entry_new(struct nv_table *t, const void *key, const void *mask)
{
    struct entry *e = allocate(sizeof(*e) + t->value + 8 + 2 * (size_t) t->key);

    e->key = (u8 *) e->value + (t->value + 7) / 8 * 8;
    e->mask = e->key + t->key;
    memcpy(e->key, key, t->key);
    if (mask)
        memcpy(e->mask, mask, t->key);
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

/* FNV-1a. */
static struct entry **bucket_of(const struct nv_table *t, const u8 *key)
{
    u64 hash = 0xcbf29ce484222325;

    for (u32 i = 0; i < t->key; i++)
        hash = (hash ^ key[i]) * 0x100000001b3;
    return &t->buckets[(hash ^ hash >> 32) & (t->nbuckets - 1)];
}

static void unlink_entry(struct nv_table *t, struct entry **at)
{
    struct entry *e = *at;

    *at = e->next;
    t->count -= 1;
    free(e);
}

/* The place of a key's entry, or of the end of its bucket; takes out what has expired on the way. */
static struct entry **exact_find(struct nv_table *t, const void *key)
{
    struct entry **at = bucket_of(t, key);

    while (*at && (!live(t, *at) || memcmp((*at)->key, key, t->key) != 0)) {
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

void *nv_table_insert(struct nv_table *t, const void *key)
{
    struct entry **at = exact_find(t, key);

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

/* ---- Prefix ---- */

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
            *child = allocate(sizeof(**child));
        node = *child;
    }
    return &node->entry;
}

/* ---- Ternary and range: by falling priority, equal ones in the order they came ---- */

static bool masked_equal(const struct nv_table *t, const struct entry *e, const u8 *key)
{
    for (u32 i = 0; i < t->key; i++)
        if ((key[i] ^ e->key[i]) & e->mask[i])
            return false;
    return true;
}

static bool matches(const struct nv_table *t, const struct entry *e, const u8 *key)
{
    if (t->kind == NV_TERNARY)
        return masked_equal(t, e, key);
    return memcmp(e->key, key, t->key) <= 0 && memcmp(key, e->mask, t->key) <= 0;
}

static struct entry *list_find(const struct nv_table *t, const u8 *key)
{
    struct entry *e = t->buckets[0];

    while (e && !matches(t, e, key))
        e = e->next;
    return e;
}

static struct entry **list_place(struct nv_table *t, const void *key, const void *mask, u32 priority)
{
    struct entry **at = &t->buckets[0];

    while (*at && (*at)->priority >= priority) {
        if ((*at)->priority == priority && !memcmp((*at)->key, key, t->key) && !memcmp((*at)->mask, mask, t->key))
            break;
        at = &(*at)->next;
    }
    return at;
}

static struct entry *list_add(struct nv_table *t, const void *key, const void *mask, u32 priority)
{
    struct entry **at = list_place(t, key, mask, priority);
    struct entry *e = *at;
    bool same = e && e->priority == priority && !memcmp(e->key, key, t->key) && !memcmp(e->mask, mask, t->key);

    if (same)
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

void *nv_table_find(struct nv_table *t, const void *key, bool refresh)
{
    struct entry *e = t->kind == NV_EXACT ? *exact_find(t, key) : t->kind == NV_PREFIX ? prefix_find(t, key) : list_find(t, key);

    if (!e)
        return 0;
    if (refresh)
        e->used = nv_now();
    return e->value;
}

static struct entry *prefix_add(struct nv_table *t, const void *key, const void *mask)
{
    struct entry **at = prefix_place(t, key, mask);

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
    e = t->kind == NV_PREFIX ? prefix_add(t, key, mask) : list_add(t, key, mask, priority);
    return e ? memcpy(e->value, value, t->value) : 0;
}
