/*
 * elements.h -- a configuration in one program: the elements that netvm itself has
 *
 * A struct is an element's arguments and state. Functions that take `before` pull at the element's inputs by it, those that take `leave` let the packet leave by an
 * output. What they mean is what the classes' manuals say (`netvm elements CLASS`).
 */
#ifndef NETVM_ELEMENTS_H
#define NETVM_ELEMENTS_H

#include "direct.h"

/* ---- ends.c: captures in and out ---- */

/* The stretch of time that is wanted of a capture, in nanoseconds; UINT64_MAX: not said. */
struct nv_window { u64 start, start_after, end, end_after, interval, first, begun; };
#define NV_ALWAYS { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX }

/* A device or a file that packets come from. */
struct nv_source {
    const char *device, *path;  /* one of them; of a device, the command line says the path */
    struct nv_window window;
    double sample;              /* the part of the packets that is taken */
    u64 seed;
    u32 longest;                /* bytes taken of each */
    bool idle, pulled, stops, told, ended;
    u32 link;
    u8 *bytes;                  /* records, one after the other */
    size_t size, room, at;
    u64 count, taken, passes, wanted, shift, first, last; /* shift: from one pass to the next, ns */
};

bool nv_source_open(struct nv_source *source);
/* The captures are to be given that often in all. */
void nv_source_rewind(struct nv_source *source, u64 passes);
/* Whether a packet arrives there; at the end of the capture it may ask for the end of the run. */
bool nv_source_comes(struct nv_source *source);
u64 nv_source_time(const struct nv_source *source);
struct nv_packet *nv_source_take(struct nv_source *source);
struct nv_packet *nv_source_pull(struct nv_source *source);
bool nv_source_has(const struct nv_source *source);
/* Where the IP header of the packet is, by the source's link type; -1 if it has none. */
int nv_source_ip(const struct nv_source *source);

/* A device or a file that packets go to; one without a path only counts them. */
struct nv_sink {
    const char *device, *path;
    u32 longest;                /* bytes kept of each */
    u32 link;                   /* link type; NV_ANY_LINK: that of what was read */
    bool micro, cut;            /* times in microseconds; lengths are those captured */
    FILE *file;
    u64 count;
};
enum { NV_ANY_LINK = 0xffff };

bool nv_sink_open(struct nv_sink *sink);
void nv_sink_write(struct nv_sink *sink);

/* ---- queues.c ---- */

enum nv_policy { NV_DROP_NEW, NV_DROP_OLD, NV_MIXED };

struct nv_queue {
    struct nv_packet **packets; /* a ring */
    u32 capacity, first, count, most;
    enum nv_policy policy;
    u64 drops;
};

/* The packet comes in; nv_packet is then the one that has to go for it, which may be itself, or null. */
void nv_queue_put(struct nv_queue *queue, int port);
struct nv_packet *nv_queue_take(struct nv_queue *queue);

struct nv_red {
    double least, most, probability, weight, average;
    bool gentle;
    struct nv_queue *const *queues; /* up to a null pointer */
    u64 seed, since, drops;
};

/* Whether the next packet is to be dropped. */
bool nv_red_drops(struct nv_red *red);
/* The next packet that is not; the others leave by output 1. */
struct nv_packet *nv_red_pull(struct nv_red *red, nv_pulled *before, nv_input *leave);

/* ---- moves.c: what pulls and pushes ---- */

struct nv_unqueue { i64 burst, limit, turn; bool idle; u64 count; };
enum nv_turned nv_unqueue_turn(struct nv_unqueue *unqueue, nv_pulled *before, nv_input *leave);

struct nv_discard { u32 burst, turn; bool idle; u64 count; };
enum nv_turned nv_discard_turn(struct nv_discard *discard, nv_pulled *before);

struct nv_timed_sink { u64 interval; };
void nv_timed_sink_next(struct nv_timed_sink *sink, struct nv_element *self);

/* Lets a copy of the packet leave by each output but the first, and gives it. */
struct nv_packet *nv_pull_tee(struct nv_packet *packet, int outputs, nv_input *leave);

/* ---- made.c: packets that are made ---- */

struct nv_made {
    const char *data;
    u32 length;
    i64 limit;                  /* negative: none */
    bool idle, stops;
    u64 count;
};

/* Whether one may be made now. */
bool nv_made_may(const struct nv_made *made);

struct nv_infinite { struct nv_made made; u64 burst, turn; bool timeless; };
struct nv_packet *nv_infinite_pull(struct nv_infinite *source);
enum nv_turned nv_infinite_turn(struct nv_infinite *source, bool is_full, nv_input *leave);

struct nv_timed { struct nv_made made; u64 interval; };
void nv_timed_begin(struct nv_timed *source, struct nv_element *self);
/* Makes the packet whose time it is, or null. */
void nv_timed_make(struct nv_timed *source, struct nv_element *self);

/* ---- rates.c: so many a second ---- */

/* Tokens are counted in billionths, so that rates and times multiply exactly. */
struct nv_bucket { u64 rate, capacity; unsigned __int128 tokens; u64 filled; bool begun; u64 late; };
#define NV_BUCKET(rate, capacity) { rate, capacity, (unsigned __int128) (capacity) * 1000000000, 0, false }

struct nv_rated { struct nv_made made; struct nv_bucket bucket; };
struct nv_packet *nv_rated_pull(struct nv_rated *source, struct nv_element *self);

/* Tokens by the run's clock. Takes so many, if they are there; how long until they are, UINT64_MAX for never. */
bool nv_bucket_take(struct nv_bucket *bucket, u64 count);
u64 nv_bucket_wait(struct nv_bucket *bucket, u64 count);
/* Sets the element's timer, which does nothing but let tasks run. */
void nv_wake_after(struct nv_element *self, u64 wait);

/* What lets packets, or bytes, through at a rate. */
struct nv_shaper { struct nv_bucket bucket; bool bytes; u64 owed; };
struct nv_packet *nv_shaper_pull(struct nv_shaper *shaper, struct nv_element *self, nv_pulled *before, int port);
/* The next packet of an unqueue with a rate, or null. */
struct nv_packet *nv_rated_unqueue_pull(struct nv_shaper *shaper, struct nv_element *self, nv_pulled *before);

struct nv_delay { u64 delay; struct nv_packet *held; };
struct nv_packet *nv_delay_pull(struct nv_delay *delay, struct nv_element *self, nv_pulled *before);

/* ---- scheds.c: which input a packet is pulled from ---- */

struct nv_in_turn { int inputs, next; };
struct nv_packet *nv_in_turn_pull(struct nv_in_turn *sched, nv_pulled *before);
struct nv_packet *nv_first_pull(int inputs, nv_pulled *before);

struct nv_client { u64 tickets, pass; };
struct nv_packet *nv_stride_pull(struct nv_client *clients, int inputs, nv_pulled *before);

/* Packets of each input, as many as `room` of each, in the order that they came. */
struct nv_sorted { struct nv_packet **held; u32 *counts; u32 room; int inputs; u64 last; bool disordered, stops, stopped; };
/* is_ready: whether something before an input may give a packet. */
struct nv_packet *nv_sorted_pull(struct nv_sorted *sched, nv_pulled *before, bool (*is_ready)(void));
bool nv_sorted_holds(const struct nv_sorted *sched);

#endif
