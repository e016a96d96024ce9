/*
 * direct.c -- a configuration in one program: packets' ways through it, and their copies
 *
 * One packet at a time, in netvm's order: copies leave before the packet, each as far as it can go. A trap jumps out of all handlers to where the packet set out,
 * which is where something was guarded, and the run goes on there.
 */
#include <setjmp.h>
#include <stdlib.h>

#include "direct.h"

enum { MOST_ROUNDS = 16 };

struct way { nv_input *to; int port; struct nv_packet *packet; bool back; };

u32 nv_copies, nv_copies_from;
struct nv_packet *nv_given;
bool nv_moved;

static struct way *copies, *led_back;
static u32 room_for_copies, room_led_back, first_led_back, count_led_back;
static jmp_buf *trapped;
u64 nv_traps;

static void *enlarged(void *array, u32 *room, size_t size)
{
    *room = *room ? 2 * *room : 16;
    array = realloc(array, *room * size);
    if (!array)
        abort();
    return array;
}

void nv_trap(const char *what)
{
    (void) what;
    longjmp(*trapped, 1);
}

/* What is left of a trapped handler: its packet is lost, and copies that were made before leave. */
static void clear_trap(void)
{
    nv_traps += 1;
    nv_print_to(0);
    nv_packet_end();
    nv_packet_free(nv_take_given());
    nv_send_copies();
}

void nv_guarded(nv_input *run, int port)
{
    jmp_buf here, *outer = trapped;

    trapped = &here;
    if (setjmp(here) == 0)
        run(port);
    else
        clear_trap();
    trapped = outer;
}

struct nv_packet *nv_try_pull(nv_pulled *before, int port)
{
    struct nv_packet *own = nv_packet, *volatile got = 0;
    jmp_buf here, *outer = trapped;
    u32 from = nv_copies_from;

    nv_packet = 0;
    nv_copies_from = nv_copies;
    trapped = &here;
    if (setjmp(here) == 0)
        got = before(port);
    else
        clear_trap();
    trapped = outer;
    nv_copies_from = from;
    nv_packet = own;
    nv_moved = nv_moved || got;
    return got;
}

bool nv_ask_at(nv_pulled *before, int port)
{
    struct nv_packet *got = nv_try_pull(before, port);

    if (got) {
        nv_packet_free(nv_packet);
        nv_packet = got;
    }
    return got != 0;
}

static void copy_to(nv_input *to, int port, bool back)
{
    if (!nv_packet)
        nv_trap("no packet");
    if (nv_copies == room_for_copies)
        copies = enlarged(copies, &room_for_copies, sizeof(*copies));
    copies[nv_copies++] = (struct way) { to, port, nv_packet_copy(nv_packet), back };
}

void nv_copy_to(nv_input *to, int port)
{
    copy_to(to, port, false);
}

void nv_copy_back(nv_input *to, int port)
{
    copy_to(to, port, true);
}

void nv_send_copies(void)
{
    struct nv_packet *packet = nv_packet;
    u32 from = nv_copies_from, to = nv_copies;

    nv_copies_from = to;
    for (u32 i = from; i < to; i++) {
        nv_packet = copies[i].packet;
        if (copies[i].back)
            nv_lead_back(copies[i].to, copies[i].port);
        else
            nv_guarded(copies[i].to, copies[i].port);
    }
    nv_copies = nv_copies_from = from;
    nv_packet = packet;
}

void nv_lead_back(nv_input *to, int port)
{
    if (nv_packet->rounds++ >= MOST_ROUNDS) {
        nv_packet_end();
        return;
    }
    if (count_led_back == room_led_back)
        led_back = enlarged(led_back, &room_led_back, sizeof(*led_back));
    led_back[count_led_back++] = (struct way) { to, port, nv_packet, true };
    nv_packet = 0;
}

void nv_settle(void)
{
    while (first_led_back < count_led_back) {
        struct way way = led_back[first_led_back++];

        nv_packet = way.packet;
        nv_guarded(way.to, way.port);
    }
    first_led_back = count_led_back = 0;
}
