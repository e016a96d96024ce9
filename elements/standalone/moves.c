/*
 * moves.c -- a configuration in one program: Unqueue, Discard, TimedSink, PullTee
 */
#include "elements.h"

enum nv_turned nv_unqueue_turn(struct nv_unqueue *unqueue, nv_pulled *before, nv_input *leave)
{
    bool may = !unqueue->idle && (unqueue->limit < 0 || unqueue->count < (u64) unqueue->limit), ends;

    nv_packet = may ? nv_try_pull(before, 0) : 0;
    if (!nv_packet) {
        unqueue->turn = 0;
        return NV_IDLE;
    }
    unqueue->count += 1;
    unqueue->turn += 1;
    ends = unqueue->burst >= 0 && unqueue->turn >= unqueue->burst;
    if (ends)
        unqueue->turn = 0;
    nv_guarded(leave, 0);
    return ends ? NV_DONE : NV_AGAIN;
}

enum nv_turned nv_discard_turn(struct nv_discard *discard, nv_pulled *before)
{
    struct nv_packet *packet = discard->idle ? 0 : nv_try_pull(before, 0);

    if (!packet) {
        discard->turn = 0;
        return NV_IDLE;
    }
    nv_packet_free(packet);
    discard->count += 1;
    discard->turn = (discard->turn + 1) % discard->burst;
    return discard->turn == 0 ? NV_DONE : NV_AGAIN;
}

void nv_timed_sink_next(struct nv_timed_sink *sink, struct nv_element *self)
{
    nv_timer_set(self, 0, (nv_fired ? nv_fired : nv_clock) + sink->interval);
}

struct nv_packet *nv_pull_tee(struct nv_packet *packet, int outputs, nv_input *leave)
{
    struct nv_packet *own = nv_packet;

    for (int port = 1; packet && port < outputs; port++) {
        nv_packet = nv_packet_copy(packet);
        nv_guarded(leave, port);
    }
    nv_packet = own;
    return packet;
}
