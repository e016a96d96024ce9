/*
 * netvm.c -- the standalone runtime: packets, and their way through the elements
 *
 * Packets of usual size come from those that were freed. A handler's packets leave when it has ended: the copies made by clone first, each with all that comes of
 * it, then the packet itself. Jobs wait on a stack, so that a path of any length needs no C stack. A trap jumps out of the handler, which loses its packet; copies
 * that left before stay sent. Connections push; packets that elements ask for are put before their inputs by the application. With NV_DIRECT, packets' ways are in direct.c.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netvm_run.h"

enum { ROOM = 128, USUAL = 2240, LONGEST = 1 << 18 };

struct nv_packet *nv_packet;
u64 nv_clock, nv_first_due = UINT64_MAX, nv_fired;

static struct nv_packet *unused;
static u64 random_state = 1;

void *nv_allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory) {
        fputs("netvm: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* ---- Packets ---- */

/* A packet with room for so many bytes. */
static struct nv_packet *with_room(u32 size)
{
    struct nv_packet *packet = unused;

    if (packet)
        unused = packet->next;
    else
        packet = nv_allocate(sizeof(*packet) + USUAL);
    packet->buffer = size <= USUAL ? packet->usual : nv_allocate(size);
    packet->size = size <= USUAL ? USUAL : size;
    return packet;
}

struct nv_packet *nv_packet_new(const void *bytes, u32 length, u32 wire, u64 time)
{
    struct nv_packet *packet = with_room(length + 2 * ROOM);

    packet->data = packet->buffer + ROOM;
    packet->length = length;
    packet->missing = wire > length ? wire - length : 0;
    packet->time = time;
    packet->moved = 0;
    packet->pulled = packet->rounds = 0;
    memset(packet->info, 0, sizeof(packet->info));
    if (bytes)
        memcpy(packet->data, bytes, length);
    else
        memset(packet->data, 0, length);
    return packet;
}

static void free_buffer(struct nv_packet *packet)
{
    if (packet->buffer != packet->usual)
        free(packet->buffer);
}

void nv_packet_free(struct nv_packet *packet)
{
    if (!packet)
        return;
    free_buffer(packet);
    packet->next = unused;
    unused = packet;
}

struct nv_packet *nv_packet_copy(const struct nv_packet *packet)
{
    struct nv_packet *copy = with_room(packet->size);
    u32 head = (u32) (packet->data - packet->buffer);

    copy->data = copy->buffer + head;
    copy->length = packet->length;
    copy->missing = packet->missing;
    copy->time = packet->time;
    copy->moved = packet->moved;
    copy->pulled = packet->pulled;
    copy->rounds = packet->rounds;
    memcpy(copy->info, packet->info, sizeof(copy->info));
    memcpy(copy->data - copy->pulled, packet->data - packet->pulled, packet->pulled + packet->length);
    return copy;
}

static void need(bool holds, const char *what)
{
    if (!holds)
        nv_trap(what);
}

/* Makes room for that many bytes before and behind the packet. */
static void make_room(u32 before, u32 behind)
{
    struct nv_packet *p = nv_packet;
    u32 head = (u32) (p->data - p->buffer);
    u64 size = (u64) p->size + before + behind;
    u8 *buffer;

    need(size <= LONGEST, "packet too long");
    buffer = nv_allocate(size);
    memcpy(buffer + before, p->buffer, p->size);
    free_buffer(p);
    p->buffer = buffer;
    p->size = (u32) size;
    p->data = buffer + before + head;
}

void packet_pull(u32 n)
{
    need(nv_packet && n <= nv_packet->length, "pull beyond the packet's end");
    nv_packet->data += n;
    nv_packet->length -= n;
    nv_packet->moved += (i32) n;
    nv_packet->pulled += n;
}

void packet_unpull(u32 n)
{
    need(nv_packet && n <= nv_packet->pulled, "nothing to bring back");
    nv_packet->data -= n;
    nv_packet->length += n;
    nv_packet->moved -= (i32) n;
    nv_packet->pulled -= n;
}

void packet_push(u32 n)
{
    need(nv_packet && n <= LONGEST, "packet too long");
    if (n > (u32) (nv_packet->data - nv_packet->buffer))
        make_room(n + ROOM, 0);
    nv_packet->data -= n;
    nv_packet->length += n;
    nv_packet->moved -= (i32) n;
    nv_packet->pulled = nv_packet->pulled > n ? nv_packet->pulled - n : 0;
    memset(nv_packet->data, 0, n);
}

void packet_trim(u32 n)
{
    need(nv_packet && n <= nv_packet->length, "trim beyond the packet's head");
    nv_packet->length -= n;
}

void packet_put(u32 n)
{
    need(nv_packet && n <= LONGEST, "packet too long");
    if (n > nv_packet->size - nv_packet->length - (u32) (nv_packet->data - nv_packet->buffer))
        make_room(0, n + ROOM);
    memset(nv_packet->data + nv_packet->length, 0, n);
    nv_packet->length += n;
}

void packet_create(u32 length)
{
    u64 time = nv_now();

    need(length <= LONGEST, "packet too long");
    nv_packet_free(nv_packet);
    nv_packet = nv_packet_new(0, length, length, time);
}

void packet_copy(u32 to, u32 from, u32 length)
{
    u8 *target = nv_header(to, length);

    memmove(target, nv_header(from, length), length);
}

void packet_read(void *array, u32 offset, u32 length)
{
    memcpy(array, nv_header(offset, length), length);
}

void packet_write(u32 offset, const void *array, u32 length)
{
    memcpy(nv_header(offset, length), array, length);
}

u32 random32(void)
{
    u64 z = random_state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (u32) ((z ^ (z >> 31)) >> 32);
}

/* ---- Ends of handlers ---- */

void nv_drop(struct nv_element *self, const char *reason)
{
    self->drops += 1;
    self->reason = reason;
    nv_packet_free(nv_packet);
    nv_packet = 0;
}

/* Puts the packet at the end of a list in which several queues are. */
static void put_last(struct nv_packet **end, struct nv_packet *packet, u32 queue)
{
    while (*end)
        end = &(*end)->next;
    packet->queue = queue;
    packet->next = 0;
    *end = packet;
}

/* Makes the first packet of a queue the packet. */
static bool take_first(struct nv_packet **at, u32 queue)
{
    while (*at && (*at)->queue != queue)
        at = &(*at)->next;
    if (!*at)
        return false;
    nv_packet_free(nv_packet);
    nv_packet = *at;
    *at = nv_packet->next;
    return true;
}

bool nv_hold(struct nv_element *self, u32 queue)
{
    need(nv_packet, "no packet");
    if (self->nheld == NV_HELD)
        return false;
    put_last(&self->held, nv_packet, queue);
    nv_packet = 0;
    self->nheld += 1;
    return true;
}

bool nv_take(struct nv_element *self, u32 queue)
{
    if (!take_first(&self->held, queue))
        return false;
    self->nheld -= 1;
    return true;
}

/* ---- Timers ---- */

/* The element with the timer that was due first; the clock is then where that was, and nv_first_due where the next one is. */
struct nv_element *nv_take_timer(struct nv_element *const *elements, size_t count, u64 time, int *timer)
{
    struct nv_element *first = 0;
    u64 when = UINT64_MAX, next = UINT64_MAX;

    if (nv_first_due > time)
        return 0;
    for (size_t i = 0; i < count; i++)
        for (int n = 0; n < NV_TIMERS; n++) {
            u64 due = elements[i]->timers[n];

            if (due && due < when) {
                next = when;
                when = due;
                first = elements[i];
                *timer = n;
            } else if (due && due < next) {
                next = due;
            }
        }
    nv_first_due = first && when <= time ? next : when;
    if (!first || when > time)
        return 0;
    nv_clock = when > nv_clock ? when : nv_clock;
    nv_fired = when;
    first->timers[*timer] = 0;
    return first;
}

#ifndef NV_DIRECT

/* ---- Packets on their way ---- */

struct job { struct nv_element *to; int port; struct nv_packet *packet; };
struct jobs { struct job *job; size_t count, room; };

static struct jobs waiting, sent;
static struct nv_element *const *application;
static size_t instances;
static jmp_buf trapped;

static void put_job(struct jobs *jobs, struct job job)
{
    if (jobs->count == jobs->room) {
        jobs->room = jobs->room ? 2 * jobs->room : 16;
        jobs->job = realloc(jobs->job, jobs->room * sizeof(job));
        if (!jobs->job)
            abort();
    }
    jobs->job[jobs->count++] = job;
}

void nv_trap(const char *what)
{
    (void) what;
    longjmp(trapped, 1);
}

static const struct nv_output *output_of(const struct nv_element *self, int port)
{
    bool there = port >= 0 && port < self->noutputs && self->outputs[port].to;

    return there ? &self->outputs[port] : 0;
}

static void send(struct nv_element *self, int port, struct nv_packet *packet)
{
    const struct nv_output *output = output_of(self, port);

    if (output)
        put_job(&sent, (struct job) { output->to, output->port, packet });
    else
        nv_packet_free(packet);
}

void nv_emit(struct nv_element *self, int port)
{
    need(nv_packet, "no packet");
    send(self, port, nv_packet);
    nv_packet = 0;
}

void nv_clone(struct nv_element *self, int port)
{
    need(nv_packet, "no packet");
    if (output_of(self, port))
        send(self, port, nv_packet_copy(nv_packet));
}

bool nv_ask(struct nv_element *self, int input)
{
    return take_first(&self->waiting, (u32) input);
}

bool nv_output_is_push(const struct nv_element *self, int port)
{
    return output_of(self, port) != 0;
}

bool nv_input_is_push(const struct nv_element *self, int port)
{
    (void) self;
    (void) port;
    return true;
}

/* Puts what a handler has sent on the stack, what it sent first on top. */
static void queue_sent(void)
{
    while (sent.count > 0)
        put_job(&waiting, sent.job[--sent.count]);
}

static void trap_of(struct nv_element *element)
{
    element->traps += 1;
    nv_packet_free(nv_packet);
    nv_packet = 0;
}

static void run(struct nv_element *element, void (*handler)(int), int argument, struct nv_packet *packet)
{
    nv_packet = packet;
    if (setjmp(trapped) == 0)
        handler(argument);
    else
        trap_of(element);
    if (nv_packet)
        element->ended += 1;
    nv_packet_free(nv_packet);
    nv_packet = 0;
    queue_sent();
}

static void run_waiting(void)
{
    while (waiting.count > 0) {
        struct job job = waiting.job[--waiting.count];

        run(job.to, job.to->packet, job.port, job.packet);
    }
}

static struct nv_element *due;

static void run_timer(int timer)
{
    nv_timer_run(due, timer);
}

void nv_advance(u64 time)
{
    int timer;

    while ((due = nv_take_timer(application, instances, time, &timer))) {
        run(due, run_timer, timer, 0);
        run_waiting();
    }
    nv_clock = time;
}

void nv_deliver(struct nv_element *to, int port, struct nv_packet *packet)
{
    nv_advance(packet->time);
    put_job(&waiting, (struct job) { to, port, packet });
    run_waiting();
}

void nv_put_before(struct nv_element *to, int input, struct nv_packet *packet)
{
    put_last(&to->waiting, packet, (u32) input);
}

void nv_request(struct nv_element *to, int port)
{
    run(to, to->pull, port, 0);
    run_waiting();
}

void nv_start(struct nv_element *const *elements, size_t count)
{
    application = elements;
    instances = count;
    for (size_t i = 0; i < count; i++)
        if (elements[i]->init)
            elements[i]->init();
}

#endif
