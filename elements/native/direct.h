/*
 * direct.h -- what a configuration in one C program is made with (`netvm compile FILE.click --emit native`)
 *
 * The program has, for an instance e, e_in(port): a packet, nv_packet, comes to that input; e_emit(port): it leaves by that output, which calls the element
 * behind; and e_pull(port), where outputs are pulled: the next packet, or null. When a function of the first two kinds has returned, there is no packet.
 */
#ifndef NETVM_DIRECT_H
#define NETVM_DIRECT_H

#include "netvm_run.h"

typedef void nv_input(int port);
typedef struct nv_packet *nv_pulled(int port);

/* A device or a file that packets come from. */
struct nv_source {
    const char *device, *path;  /* one of them; of a device, the command line says the path */
    u8 *bytes;                  /* records, one after the other */
    size_t size, at;
    u64 count, passes, shift, first, last; /* shift: from one pass to the next, ns */
};

/* A device or a file that packets go to; one without a path only counts them. */
struct nv_sink {
    const char *device, *path;
    u32 longest;                /* bytes kept of each; 0: all */
    u32 link;                   /* link type; 0: that of what was read */
    FILE *file;
    u64 count;
};

struct nv_queue {
    struct nv_packet **packets; /* a ring */
    u32 capacity, first, count;
};

/* What nv_main runs. */
struct nv_program {
    struct nv_element *const *elements;
    struct nv_source *const *sources;
    struct nv_sink *const *sinks;
    size_t nelements, nsources, nsinks;
};

/* The program itself: puts what the configuration says into tables; a packet comes from that source; gives each element that pulls by itself a
 * turn, and tells whether one moved a packet. */
void nv_fill(void);
void nv_arrive(int source);
bool nv_round(void);

/* Copies that the running handler has made are those from nv_copies_from on. */
extern u32 nv_copies, nv_copies_from;
extern struct nv_packet *nv_given;
/* A packet was taken from a queue since this was last set to false. */
extern bool nv_moved;

int nv_main(int argc, char **argv, const struct nv_program *program);
/* A copy of the packet will go there when the handler ends. */
void nv_copy_to(nv_input *to, int port);
/* The same where packets are led back. */
void nv_copy_back(nv_input *to, int port);
/* Sends the running handler's copies, in order. */
void nv_send_copies(void);
/* Asks at that output for a packet, which takes the place of the running handler's; false if there is none. */
bool nv_ask_at(nv_pulled *before, int port);
/* The packet goes there when all else that came of the arrival is done; one that was led back 16 times is dropped. */
void nv_lead_back(nv_input *to, int port);
/* Moves what was led back. */
void nv_settle(void);
/* Puts the packet into a queue; false: it is full. */
bool nv_queue_put(struct nv_queue *queue);
struct nv_packet *nv_queue_take(struct nv_queue *queue);
/* Takes the packet to its end. */
void nv_sink_take(struct nv_sink *sink);

static inline void nv_packet_end(void)
{
    nv_packet_free(nv_packet);
    nv_packet = 0;
}

/* The packet leaves by an output that is pulled. */
static inline void nv_give(void)
{
    nv_packet_free(nv_given);
    nv_given = nv_packet;
    nv_packet = 0;
}

static inline struct nv_packet *nv_take_given(void)
{
    struct nv_packet *given = nv_given;

    nv_given = 0;
    return given;
}

/* A handler has ended: its copies leave, and a packet that it kept is dropped. */
static inline void nv_end(struct nv_element *self, bool copies)
{
    if (copies && nv_copies != nv_copies_from)
        nv_send_copies();
    if (nv_packet) {
        self->ended += 1;
        nv_packet_end();
    }
}

#endif
