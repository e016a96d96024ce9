/* abc NUMBER: stages with queues between them, as in the NRTE paper (section 3): a = A(); b = B(a); C(b).
 *
 *     cc abc.c $(pkg-config --cflags --libs netvm) -o abc
 *     ./abc 100000
 *
 * A makes packets with the numbers up to NUMBER, B squares them on two threads, a configuration of elements counts them, and C adds up
 * what comes and looks whether each flow is in order. While packets flow, B's threads move to another core, and one is taken out. */
#include <netvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOWS = 8, SIZE = 60 };

/* A number in a packet: the one that A put there, or its square. */
enum { NUMBER = 0, SQUARE = 8 };

static uint64_t get(const netvm_item *item, int at)
{
    uint64_t value;
    memcpy(&value, item->data + at, sizeof value);
    return value;
}

struct numbers {
    uint64_t next, last;
};

/* A, the explicit stage: sends a packet, and says whether there is more. */
static int a(void *context, netvm_outlets *out)
{
    struct numbers *numbers = context;
    uint8_t bytes[SIZE] = {0};
    netvm_item item = {bytes, SIZE, SIZE, 0, 0};
    if (numbers->next > numbers->last)
        return -1;
    memcpy(bytes + NUMBER, &numbers->next, sizeof numbers->next);
    numbers->next++;
    netvm_outlets_send(out, 0, &item);
    return 1;
}

/* B: squares each number, where the packet is. */
static void b(void *unit, netvm_item *items, size_t count, netvm_outlets *out)
{
    (void)unit;
    for (size_t i = 0; i < count; i++) {
        uint64_t square = get(&items[i], NUMBER) * get(&items[i], NUMBER);
        memcpy(items[i].data + SQUARE, &square, sizeof square);
    }
    netvm_outlets_forward_all(out, 0);
}

/* The flow of a packet: all of one flow go to the same replica of B, in order. */
static uint64_t flow(void *context, const netvm_item *item)
{
    (void)context;
    return get(item, NUMBER) % FLOWS;
}

struct sums {
    uint64_t packets, sum, last[FLOWS];
    int in_order;
};

/* C: adds up. It is one thread, so needs no lock. */
static void c(void *unit, netvm_item *items, size_t count, netvm_outlets *out)
{
    struct sums *sums = unit;
    (void)out;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = get(&items[i], NUMBER), *last = &sums->last[number % FLOWS];
        sums->in_order &= *last < number;
        *last = number;
        sums->sum += get(&items[i], SQUARE);
        sums->packets++;
    }
}

static int fails(char *error)
{
    fputs(error, stderr);
    netvm_string_free(error);
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const to_b[] = {"b"}, *const to_count[] = {"count"};
    struct numbers numbers = {1, argc > 1 ? strtoull(argv[1], NULL, 10) : 1000};
    struct sums sums = {0, 0, {0}, 1};
    netvm_stage stage_c = {0}, stage_count = {0}, stage_b = {0};
    netvm_pipeline *pipeline;
    netvm_counts counts;
    uint64_t pause, squared = 0;
    char *text;

    stage_c.name = "c", stage_c.run = c, stage_c.context = &sums;
    stage_count.name = "count", stage_count.configuration = "FromDevice(b) -> n :: Counter -> ToDevice(c);";
    stage_b.name = "b", stage_b.run = b, stage_b.to = to_count, stage_b.to_count = 1;
    stage_b.replicas = 2, stage_b.most = 3, stage_b.flow = flow;
    if (netvm_pipeline_open(&pipeline, &text) != NETVM_OK
        || netvm_pipeline_stage(pipeline, &stage_c, &text) != NETVM_OK
        || netvm_pipeline_stage(pipeline, &stage_count, &text) != NETVM_OK
        || netvm_pipeline_stage(pipeline, &stage_b, &text) != NETVM_OK
        || netvm_pipeline_input(pipeline, "a", to_b, 1, a, &numbers, &text) != NETVM_OK
        || netvm_pipeline_start(pipeline, &text) != NETVM_OK)
        return fails(text);
    /* These may come too late, when a thread has gone through all packets. */
    if (netvm_pipeline_move(pipeline, "b", 0, 0, &pause, &text) != NETVM_OK)
        netvm_string_free(text);
    if (netvm_pipeline_replicas(pipeline, "b", 1, &pause, &text) != NETVM_OK)
        netvm_string_free(text);
    if (netvm_pipeline_wait(pipeline, &text) != NETVM_OK)
        return fails(text);
    for (uint32_t replica = 0; replica < 3; replica++)
        if (netvm_pipeline_counts(pipeline, "b", replica, &counts) == NETVM_OK)
            squared += counts.packets;
    netvm_pipeline_free(pipeline);
    printf("b: %llu packets, c: %llu packets, sum %llu, %s\n", (unsigned long long)squared, (unsigned long long)sums.packets,
           (unsigned long long)sums.sum, sums.in_order ? "in order" : "out of order");
    return 0;
}
