/*
 * schedule.c -- a configuration in one program: what runs next, and the time
 *
 * As netvm's reference schedule has it: tasks have their turns until none finds work, then comes the next arrival or timer. Arrivals make the time; where there are no
 * captures it begins at 1,000,000,000 s and goes on with timers, and by a microsecond with each round of tasks that had work. All packets are read before the
 * run, so that its time is that of the program alone.
 */
#include "elements.h"

/* Rounds of tasks after which the next event comes although there still is work; rounds after somebody has asked for the end; turns of a task in a round. */
enum { BUSY = 1 << 16, LAST_ROUNDS = 128, MOST_TURNS = 1 << 16, ROUND_NS = 1000, LEAST_TIMERS = 16 };

u32 nv_stops;
u64 nv_late;

static const struct nv_program *running;
static u64 passes;
static bool is_done, is_ending, has_begun;
static u32 busy, last_rounds;
/* Of the round of tasks: whose turn it is, and whether one had work. A trap leaves a round, which then goes on with the next task. */
static struct { int task; bool worked; } in_round;

/* ---- Tasks ---- */

static void give_turns(int task)
{
    enum nv_turned turned = NV_AGAIN;

    for (u32 n = 0; n < MOST_TURNS && turned == NV_AGAIN && nv_stops == 0; n++) {
        turned = nv_turn(task);
        nv_moved = nv_moved || turned != NV_IDLE;
        nv_settle();
    }
}

/* Each task once. True if one had work. */
static bool round_of_tasks(void)
{
    bool worked = in_round.worked || (in_round.task > 0 && nv_moved);

    nv_moved = false;
    if (in_round.task == 0 && nv_is_idle())
        return worked || nv_stops > 0;
    while (in_round.task < running->ntasks && nv_stops == 0) {
        give_turns(in_round.task++);
        in_round.worked = worked = worked || nv_moved;
        nv_moved = false;
    }
    in_round.task = 0;
    in_round.worked = false;
    return worked || nv_stops > 0;
}

/* What is on its way when the end is asked for goes on for some rounds. False at the end. */
static bool end_soon(void)
{
    if (!is_ending) {
        is_ending = true;
        last_rounds = LAST_ROUNDS;
    }
    nv_stops = 0;
    return round_of_tasks() && --last_rounds > 0;
}

/* ---- Time ---- */

static struct nv_element *due;

static void fire(int timer)
{
    nv_timer_run(due, timer);
    nv_end(due, true);
}

/* Runs the timers that are due, in the order of their times; not for ever, so that those that set themselves for the present keep nobody waiting. */
static bool run_timers(u64 time)
{
    size_t most = running->nelements > LEAST_TIMERS ? running->nelements : LEAST_TIMERS;
    bool ran = false;
    int timer;

    while (most-- > 0 && (due = nv_take_timer(running->elements, running->nelements, time, &timer))) {
        nv_guarded(fire, timer);
        nv_settle();
        ran = true;
        if (nv_stops > 0)
            break;
    }
    return ran;
}

/* The source whose packet comes next, or -1. */
static int next_source(void)
{
    int first = -1;

    for (size_t i = 0; i < running->nsources; i++)
        if (nv_source_comes(running->sources[i]) && (first < 0 || nv_source_time(running->sources[i]) < nv_source_time(running->sources[first])))
            first = (int) i;
    return first;
}

/* Time begins with the first packet of a capture: timers that were set before are due so long after that. */
static void begin_time(u64 time)
{
    u64 late = time > nv_clock ? time - nv_clock : 0;

    if (has_begun)
        return;
    has_begun = true;
    for (size_t i = 0; i < running->nelements; i++)
        for (int n = 0; n < NV_TIMERS; n++)
            running->elements[i]->timers[n] += running->elements[i]->timers[n] ? late : 0;
    nv_first_due += nv_first_due != UINT64_MAX ? late : 0;
    nv_clock += late;
    nv_late = late;
}

static void arrive(int number)
{
    struct nv_source *source = running->sources[number];

    nv_clock = nv_source_time(source) > nv_clock ? nv_source_time(source) : nv_clock;
    nv_packet = nv_source_take(source);
    nv_arrive(number);
    nv_settle();
}

/* The next arrival or timer. False at the end. */
static bool event(bool worked)
{
    int source = next_source();

    if (source >= 0)
        begin_time(nv_source_time(running->sources[source]));
    if (source >= 0 && nv_source_time(running->sources[source]) <= nv_first_due)
        arrive(source);
    else if (source < 0 && nv_stops > 0)
        return true;
    else if (nv_first_due != UINT64_MAX)
        run_timers(nv_first_due);
    else
        return worked || nv_stops > 0;
    return true;
}

static bool turn(void)
{
    bool worked;

    if (is_ending || nv_stops > 0)
        return end_soon();
    worked = round_of_tasks();
    worked = run_timers(nv_clock) || worked;
    busy = worked ? busy + 1 : 0;
    if (nv_stops > 0)
        return true;
    if (!worked || busy == BUSY) {
        busy = 0;
        return event(worked);
    }
    nv_clock += running->simulated ? ROUND_NS : 0;
    return true;
}

static void work(int unused)
{
    (void) unused;
    nv_settle();
    while (turn())
        continue;
    is_done = true;
}

void nv_begin(const struct nv_program *begun)
{
    running = begun;
    nv_clock = running->simulated ? UINT64_C(1000000000000000000) : 0;
}

void nv_run(u64 to)
{
    passes = to;
    is_ending = is_done = false;
    for (size_t i = 0; i < running->nsources; i++)
        nv_source_rewind(running->sources[i], passes);
    while (!is_done)
        nv_guarded(work, 0);
    nv_stops = 0;
}
