/*
 * direct.h -- what a configuration in one C program is made with (`netvm compile FILE.click --emit standalone`)
 *
 * The program has, for an instance e, e_nv_in(port): a packet, nv_packet, comes to that input; e_nv_emit(port): it leaves by that output, which calls the element
 * behind; and e_nv_pull(port), where outputs are pulled: the next packet, or null. When a function of the first two kinds has returned, there is no packet. Of an
 * element of the runtime's, e_nv_before(input) is what is pulled at an input, e_nv_turn its turn as a task, and e_state what elements.h says of its class.
 */
#ifndef NETVM_DIRECT_H
#define NETVM_DIRECT_H

#include "netvm_run.h"

typedef void nv_input(int port);
typedef struct nv_packet *nv_pulled(int port);

struct nv_source;
struct nv_sink;

/* What came of a task's turn: nothing, something, or something with more to come in the same turn. */
enum nv_turned { NV_IDLE, NV_DONE, NV_AGAIN };

/* What nv_main runs. */
struct nv_program {
    struct nv_element *const *elements;
    struct nv_source *const *sources;
    struct nv_sink *const *sinks;
    size_t nelements, nsources, nsinks;
    int ntasks;
    bool simulated;             /* no capture's packets make the time */
};

/* The program itself: puts what the configuration says into tables; a packet, nv_packet, comes from that source; gives a task a turn. */
void nv_fill(void);
void nv_arrive(int source);
enum nv_turned nv_turn(int task);
/* No task would find anything, as far as that is known. */
bool nv_is_idle(void);

/* Copies that the running handler has made are those from nv_copies_from on. */
extern u32 nv_copies, nv_copies_from;
extern struct nv_packet *nv_given;
/* A packet moved since this was last set to false. */
extern bool nv_moved;
extern u64 nv_traps;
/* How many asked for the end of the run. */
extern u32 nv_stops;
/* By how much the clock went on when time began with the first packet. */
extern u64 nv_late;

int nv_main(int argc, char **argv, const struct nv_program *program);
/* Sets the clock to the beginning, for the init handlers. */
void nv_begin(const struct nv_program *program);
/* Runs until all sources have given their captures that often, or somebody has asked for the end. */
void nv_run(u64 passes);
/* Runs what may trap: the packet is lost then, and copies that were made before leave. */
void nv_guarded(nv_input *run, int port);
/* A packet from there, or null; what traps on its way is lost. */
struct nv_packet *nv_try_pull(nv_pulled *before, int port);
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
