/*
 * rates.c -- a configuration in one program: token buckets by its clock, and what lets packets through at a rate or after some time
 */
#include "elements.h"

typedef unsigned __int128 tokens;

static const u32 UNIT = 1000000000;

/* ---- The bucket, full at the beginning ---- */

static void fill_bucket(struct nv_bucket *bucket)
{
    /* Time did not pass when it began with the first packet. */
    u64 now = nv_clock - (nv_late - bucket->late), passed = bucket->begun && now > bucket->filled ? now - bucket->filled : 0;
    tokens more = (tokens) bucket->rate * passed, most = (tokens) bucket->capacity * UNIT;

    bucket->begun = true;
    bucket->filled = nv_clock;
    bucket->late = nv_late;
    bucket->tokens = bucket->tokens + more < most ? bucket->tokens + more : most;
}

static bool bucket_has(struct nv_bucket *bucket, u64 count)
{
    fill_bucket(bucket);
    return bucket->tokens >= (tokens) count * UNIT;
}

bool nv_bucket_take(struct nv_bucket *bucket, u64 count)
{
    bool enough = bucket_has(bucket, count);

    bucket->tokens -= enough ? (tokens) count * UNIT : 0;
    return enough;
}

u64 nv_bucket_wait(struct nv_bucket *bucket, u64 count)
{
    tokens wanted = (tokens) (count < bucket->capacity ? count : bucket->capacity) * UNIT, wait;

    if (bucket_has(bucket, count) || bucket->tokens >= wanted)
        return 0;
    if (bucket->rate == 0)
        return UINT64_MAX;
    wait = (wanted - bucket->tokens + bucket->rate - 1) / bucket->rate;
    return wait < UINT64_MAX ? (u64) wait : UINT64_MAX;
}

void nv_wake_after(struct nv_element *self, u64 wait)
{
    nv_timer_set(self, 0, wait < UINT64_MAX - nv_clock ? nv_clock + wait : 0);
}

/* ---- Shapers ---- */

/* Pays what is owed; true if a packet may go. */
static bool shaper_may(struct nv_shaper *shaper)
{
    while (shaper->owed > 0 && nv_bucket_take(&shaper->bucket, 1))
        shaper->owed -= 1;
    return shaper->owed == 0 && bucket_has(&shaper->bucket, 1);
}

/* How long until a packet may go. */
static u64 wait_of(struct nv_shaper *shaper)
{
    return nv_bucket_wait(&shaper->bucket, shaper->owed > 1 ? shaper->owed : 1);
}

/* Pays for a packet, or owes it. */
static void pay(struct nv_shaper *shaper, const struct nv_packet *packet)
{
    u64 price = shaper->bytes ? packet->length : 1;

    if (!nv_bucket_take(&shaper->bucket, price))
        shaper->owed = price;
}

struct nv_packet *nv_shaper_pull(struct nv_shaper *shaper, struct nv_element *self, nv_pulled *before, int port)
{
    bool goes = shaper_may(shaper);
    struct nv_packet *packet;
    u64 wait;

    if (port == 1)
        return goes ? 0 : nv_try_pull(before, 0);
    if (!goes) {
        wait = wait_of(shaper);
        nv_wake_after(self, wait > 1 ? wait : 1);
        return 0;
    }
    packet = nv_try_pull(before, 0);
    if (packet)
        pay(shaper, packet);
    return packet;
}

struct nv_packet *nv_rated_unqueue_pull(struct nv_shaper *shaper, struct nv_element *self, nv_pulled *before)
{
    struct nv_packet *packet;
    u64 wait;

    if (!shaper_may(shaper)) {
        wait = wait_of(shaper);
        nv_wake_after(self, wait < UINT64_MAX ? wait + 1 : wait);
        return 0;
    }
    packet = nv_try_pull(before, 0);
    if (packet) {
        pay(shaper, packet);
        shaper_may(shaper);
    }
    return packet;
}

struct nv_packet *nv_delay_pull(struct nv_delay *delay, struct nv_element *self, nv_pulled *before)
{
    struct nv_packet *packet;

    if (!delay->held)
        delay->held = nv_try_pull(before, 0);
    packet = delay->held;
    if (!packet)
        return 0;
    if (packet->time + delay->delay > nv_clock) {
        nv_timer_set(self, 0, packet->time + delay->delay);
        return 0;
    }
    delay->held = 0;
    packet->time = nv_clock;
    return packet;
}
