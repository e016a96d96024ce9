/*
 * scheds.c -- a configuration in one program: which input a packet is pulled from
 */
#include "elements.h"

struct nv_packet *nv_in_turn_pull(struct nv_in_turn *sched, nv_pulled *before)
{
    for (int tried = 0; tried < sched->inputs; tried++) {
        int input = (sched->next + tried) % sched->inputs;
        struct nv_packet *packet = nv_try_pull(before, input);

        if (packet) {
            sched->next = (input + 1) % sched->inputs;
            return packet;
        }
    }
    return 0;
}

struct nv_packet *nv_first_pull(int inputs, nv_pulled *before)
{
    struct nv_packet *packet = 0;

    for (int input = 0; input < inputs && !packet; input++)
        packet = nv_try_pull(before, input);
    return packet;
}

/* ---- By tickets: Waldspurger and Weihl, Stride Scheduling, 1995 ---- */

enum { STRIDE1 = 1 << 16 };

/* The input behind that one in the order of passes, of equal ones the first; -1 if it is the last. Passes as they were before this pull are in `passes`. */
static int next_client(const struct nv_client *clients, const u64 *passes, int inputs, int last)
{
    int next = -1;

    for (int i = 0; i < inputs; i++) {
        bool is_later = last < 0 || passes[i] > passes[last] || (passes[i] == passes[last] && i > last);

        if (clients[i].tickets > 0 && is_later && (next < 0 || passes[i] < passes[next]))
            next = i;
    }
    return next;
}

struct nv_packet *nv_stride_pull(struct nv_client *clients, int inputs, nv_pulled *before)
{
    struct nv_packet *packet = 0;
    u64 passes[inputs];

    for (int i = 0; i < inputs; i++)
        passes[i] = clients[i].pass;
    for (int i = next_client(clients, passes, inputs, -1); i >= 0 && !packet; i = next_client(clients, passes, inputs, i)) {
        packet = nv_try_pull(before, i);
        clients[i].pass += STRIDE1 / clients[i].tickets;
    }
    return packet;
}

/* ---- By packets' times ---- */

static void fill_input(struct nv_sorted *sched, nv_pulled *before, int input)
{
    struct nv_packet *packet;

    while (sched->counts[input] < sched->room && (packet = nv_try_pull(before, input)))
        sched->held[(size_t) input * sched->room + sched->counts[input]++] = packet;
}

/* Takes the packet of an input at that place. */
static struct nv_packet *take_held(struct nv_sorted *sched, int input, u32 at)
{
    struct nv_packet **held = sched->held + (size_t) input * sched->room, *packet = held[at];

    sched->counts[input] -= 1;
    for (; at < sched->counts[input]; at++)
        held[at] = held[at + 1];
    return packet;
}

/* The earliest packet of all, of those of the same time that of the first input; null if there is none. */
static struct nv_packet *take_earliest(struct nv_sorted *sched)
{
    u64 earliest = UINT64_MAX;
    int input = -1;
    u32 place = 0;

    for (int i = 0; i < sched->inputs; i++)
        for (u32 at = 0; at < sched->counts[i]; at++) {
            u64 time = sched->held[(size_t) i * sched->room + at]->time;

            if (input < 0 || time < earliest) {
                earliest = time;
                input = i;
                place = at;
            }
        }
    return input < 0 ? 0 : take_held(sched, input, place);
}

struct nv_packet *nv_sorted_pull(struct nv_sorted *sched, nv_pulled *before, bool (*is_ready)(void))
{
    struct nv_packet *packet;

    for (int input = 0; input < sched->inputs; input++)
        fill_input(sched, before, input);
    packet = take_earliest(sched);
    if (packet) {
        sched->disordered = sched->disordered || packet->time < sched->last;
        sched->last = packet->time;
        sched->stopped = false;
    } else if (sched->stops && !sched->stopped && !is_ready()) {
        sched->stopped = true;
        nv_stops += 1;
    }
    return packet;
}

bool nv_sorted_holds(const struct nv_sorted *sched)
{
    for (int input = 0; input < sched->inputs; input++)
        if (sched->counts[input] > 0)
            return true;
    return false;
}
