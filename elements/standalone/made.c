/*
 * made.c -- a configuration in one program: InfiniteSource, TimedSource, and what RatedSource has of them
 */
#include "elements.h"

bool nv_made_may(const struct nv_made *made)
{
    return !made->idle && (made->limit < 0 || made->count < (u64) made->limit);
}

static bool is_over(const struct nv_made *made)
{
    return made->limit >= 0 && made->count >= (u64) made->limit;
}

/* The next packet, for which it must be time. At the limit it may ask for the end of the run. */
static struct nv_packet *make(struct nv_made *made)
{
    made->count += 1;
    nv_stops += made->stops && is_over(made);
    nv_moved = true;
    return nv_packet_new(made->data, made->length, made->length, nv_clock);
}

struct nv_packet *nv_infinite_pull(struct nv_infinite *source)
{
    struct nv_packet *packet = nv_made_may(&source->made) ? make(&source->made) : 0;

    if (packet && source->timeless)
        packet->time = 0;
    return packet;
}

enum nv_turned nv_infinite_turn(struct nv_infinite *source, bool is_full, nv_input *leave)
{
    nv_packet = is_full ? 0 : nv_infinite_pull(source);
    if (!nv_packet) {
        source->turn = 0;
        return NV_IDLE;
    }
    source->turn = (source->turn + 1) % source->burst;
    nv_guarded(leave, 0);
    return is_over(&source->made) || source->turn == 0 ? NV_DONE : NV_AGAIN;
}

/* ---- By time ---- */

void nv_timed_begin(struct nv_timed *source, struct nv_element *self)
{
    nv_timer_set(self, 0, nv_made_may(&source->made) ? nv_clock + source->interval : 0);
}

void nv_timed_make(struct nv_timed *source, struct nv_element *self)
{
    nv_packet = make(&source->made);
    if (nv_made_may(&source->made))
        nv_timer_set(self, 0, nv_fired + source->interval);
}

/* ---- At a rate ---- */

struct nv_packet *nv_rated_pull(struct nv_rated *source, struct nv_element *self)
{
    if (!nv_made_may(&source->made))
        return 0;
    if (nv_bucket_take(&source->bucket, 1))
        return make(&source->made);
    nv_wake_after(self, nv_bucket_wait(&source->bucket, 1));
    return 0;
}
