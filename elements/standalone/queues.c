/*
 * queues.c -- a configuration in one program: queues, and RED
 */
#include "elements.h"

/* ---- Queues ---- */

static u32 place_in(const struct nv_queue *queue, u32 at)
{
    return at < queue->capacity ? at : at - queue->capacity;
}

static void enter_last(struct nv_queue *queue)
{
    queue->packets[place_in(queue, queue->first + queue->count++)] = nv_packet;
}

static void enter_first(struct nv_queue *queue)
{
    queue->first = place_in(queue, queue->first + queue->capacity - 1);
    queue->packets[queue->first] = nv_packet;
    queue->count += 1;
}

static struct nv_packet *leave_last(struct nv_queue *queue)
{
    return queue->packets[place_in(queue, queue->first + --queue->count)];
}

static struct nv_packet *leave_first(struct nv_queue *queue)
{
    struct nv_packet *packet = queue->packets[queue->first];

    queue->first = place_in(queue, queue->first + 1);
    queue->count -= 1;
    return packet;
}

void nv_queue_put(struct nv_queue *queue, int port)
{
    struct nv_packet *gone = 0;

    if (queue->count == queue->capacity) {
        queue->drops += 1;
        if (queue->capacity == 0 || queue->policy == NV_DROP_NEW || (queue->policy == NV_MIXED && port == 0))
            return;
        gone = queue->policy == NV_DROP_OLD ? leave_first(queue) : leave_last(queue);
    }
    if (port == 0)
        enter_last(queue);
    else
        enter_first(queue);
    queue->most = queue->count > queue->most ? queue->count : queue->most;
    nv_packet = gone;
}

struct nv_packet *nv_queue_take(struct nv_queue *queue)
{
    if (queue->count == 0)
        return 0;
    nv_moved = true;
    return leave_first(queue);
}

/* ---- RED: Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, 1993, and the gentle variant ---- */

static const double LEAST_SPAN = 1e-9;

static double at_least(double number, double least)
{
    return number > least ? number : least;
}

static double chance(const struct nv_red *red)
{
    double span = at_least(red->most - red->least, LEAST_SPAN);

    if (red->average <= red->least)
        return 0;
    if (red->average < red->most)
        return red->probability * (red->average - red->least) / span;
    if (red->gentle && red->average < 2 * red->most)
        return red->probability + (1 - red->probability) * (red->average - red->most) / at_least(red->most, LEAST_SPAN);
    return 1;
}

/* From 0 to 1 (splitmix64). */
static double random_part(struct nv_red *red)
{
    u64 z = red->seed += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double) ((z ^ (z >> 31)) >> 11) / (double) (UINT64_C(1) << 53);
}

/* Whether a packet is dropped that is that likely to be, the more likely the longer none was. */
static bool is_hit(struct nv_red *red, double likely)
{
    double weighed;

    red->since += 1;
    weighed = (double) red->since * likely;
    weighed = weighed < 1 - 1e-9 ? weighed : 1 - 1e-9;
    return likely >= 1 || random_part(red) < likely / (1 - weighed);
}

bool nv_red_drops(struct nv_red *red)
{
    double length = 0, likely;

    for (struct nv_queue *const *queue = red->queues; *queue; queue++)
        length += (*queue)->count;
    red->average += (length - red->average) * red->weight;
    likely = chance(red);
    if (likely > 0 && !is_hit(red, likely))
        return false;
    red->since = 0;
    red->drops += likely > 0;
    return likely > 0;
}

struct nv_packet *nv_red_pull(struct nv_red *red, nv_pulled *before, nv_input *leave)
{
    struct nv_packet *packet;

    while ((packet = nv_try_pull(before, 0)) && nv_red_drops(red)) {
        nv_packet = packet;
        nv_guarded(leave, 1);
    }
    return packet;
}
