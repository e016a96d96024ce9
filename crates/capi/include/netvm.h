/* netvm: filters, compiled to machine code, for bursts of packets; and configurations of elements, packets in and out by calls;
 * and stages, functions of the program or configurations, on threads with queues between them.
 *
 *     netvm_filter *filter;
 *     char *error;
 *     if (netvm_filter_compile("tcp port 80", 1, NULL, &filter, &error) != NETVM_OK) {
 *         fputs(error, stderr);
 *         netvm_string_free(error);
 *         return 1;
 *     }
 *     netvm_filter_select(filter, packets, 256, words);
 *     netvm_filter_free(filter);
 *
 *     netvm_application *router;
 *     if (netvm_application_open("FromDevice(in) -> Strip(14) -> CheckIPHeader -> ToDevice(out);", NULL, &router, &error) != NETVM_OK)
 *         ...
 *     netvm_application_push(router, "in", packets, times, 256);
 *     netvm_application_run(router, 0);
 *     n = netvm_application_take(router, "out", room, sizeof room, packets, times, 256);
 *
 *     static const char *const parameters[] = {"ROUTES=FILE routes.txt"};
 *     netvm_reading reading = {NULL, 0, parameters, 1};
 *     if (netvm_application_open_file("router.click", &reading, NULL, &router, &error) != NETVM_OK)
 *         ...
 *
 *     netvm_pipeline_stage(pipeline, &last, &error);
 *     netvm_pipeline_stage(pipeline, &first, &error);
 *     netvm_pipeline_input(pipeline, "in", to, 1, input, context, &error);
 *     netvm_pipeline_start(pipeline, &error);
 *     netvm_pipeline_wait(pipeline, &error);
 *
 * Link with the flags of pkg-config --cflags --libs netvm. Expressions are those of pcap-filter(7).
 *
 * Threads: a filter, an application or a pipeline is used by one thread at a time, and each of these functions counts as use; between calls it may pass to
 * another thread. For several threads at once make one each by netvm_filter_another: what was compiled is shared.
 *
 * Processes: the engine that is chosen when none is named (engine NULL) may run the system's C compiler in a child process, from a
 * thread of its own, once a filter has seen some millions of packets. A program that must not have children, or that waits for any child
 * with wait(), names the engine "jit".
 *
 * Errors: functions return NETVM_OK or more if they did what they are for, and a negative number if not. A null pointer where the text
 * does not allow it is such an error. On NETVM_PANIC, a bug in netvm, free the filter.
 *
 * This file is generated: see crates/capi/src/lib.rs. */
#ifndef NETVM_H
#define NETVM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; that of the library is netvm_version(). */
#define NETVM_VERSION "0.1.0"

/* What functions return that can fail. */
enum {
    /* Done. */
    NETVM_OK = 0,
    /* An argument is wrong: null where it may not be, not UTF-8, no such engine. */
    NETVM_ARGUMENT = -1,
    /* The expression is wrong, or has no meaning on the link type. */
    NETVM_EXPRESSION = -2,
    /* The engine cannot run it: for aot, because there is no C compiler, or it failed. */
    NETVM_ENGINE = -3,
    /* A bug in netvm. */
    NETVM_PANIC = -4,
    /* The configuration is wrong. */
    NETVM_CONFIGURATION = -5,
    /* There is no such device or handler, or it refuses. */
    NETVM_REFUSED = -6,
};

/* The number of words that hold a bit for each of so many packets. */
#define NETVM_WORDS(count) (((size_t)(count) + 63) / 64)

/* A compiled filter. */
typedef struct netvm_filter netvm_filter;

/* A configuration of elements that runs. */
typedef struct netvm_application netvm_application;

/* Makes a unit of a coprocessor, for one program; null if it cannot. May be called by several threads. */
typedef void *(*netvm_unit_make)(void *context);

/* Takes initialised data, which is not kept; 0 if it is good, else a number that the program gets. */
typedef uint32_t (*netvm_unit_init)(void *unit, const uint8_t *data, size_t len);

/* Runs an operation by its place in the list. There are as many registers as the descriptor says. The packet is null if the program did
 * not show it. Returns 0, or what the program traps with: 1, the packet is needed; 2, a register holds what is of no use; 3, a table is
 * full; 4, the unit was not initialised. Other numbers are as 2. */
typedef int (*netvm_unit_invoke)(void *unit, uint32_t operation, uint32_t *registers, const uint8_t *packet, size_t len);

struct netvm_views;

/* The same of a unit that sees more than the packet; the views are there for the call. */
typedef int (*netvm_unit_invoke_views)(void *unit, uint32_t operation, uint32_t *registers, const struct netvm_views *views);

/* Frees a unit. */
typedef void (*netvm_unit_free)(void *unit);

/* Stages on threads. */
typedef struct netvm_pipeline netvm_pipeline;

/* What a stage or an input sends by, for the time of a call. */
typedef struct netvm_outlets netvm_outlets;

struct netvm_item;

/* Makes the unit of a replica, in the thread of the replica; null if it cannot. */
typedef void *(*netvm_stage_make)(void *context, uint32_t replica);

/* Works on packets, in order, and sends on what is to go on; what it does not forward ends there. The packets are there for the call. */
typedef void (*netvm_stage_run)(void *unit, struct netvm_item *items, size_t count, netvm_outlets *outlets);

/* Tells the flow of a packet; called by the threads that send. */
typedef uint64_t (*netvm_stage_flow)(void *context, const struct netvm_item *item);

/* An input: sends some packets and returns 1 if there are more, 0 if there are none at present (it is called again within about a
 * millisecond), -1 if there are none any more. */
typedef int (*netvm_input_run)(void *context, netvm_outlets *outlets);

/* A packet, lent for the time of a call. */
typedef struct netvm_packet {
    /* Its captured bytes; may be null if there are none. */
    const uint8_t *data;
    /* Their number. */
    uint32_t len;
    /* How many bytes it had on the wire, for len, greater, less; 0: all were captured. */
    uint32_t wire_len;
} netvm_packet;

/* A coprocessor for netvm_coprocessor_register: what programs may ask of it, and who
 * answers. All of it is copied but context. */
typedef struct netvm_coprocessor {
    /* Its name in programs, such as .use_coprocessor NAME. */
    const char *name;
    /* What it does, for people; may be null. */
    const char *doc;
    /* The names of its operations. */
    const char *const *operations;
    /* Their number, from 1 to 16. */
    uint32_t operation_count;
    /* The number of its registers, at most 32. */
    uint32_t registers;
    /* What an operation costs in cycles, about. */
    uint32_t cost;
    /* Handed to make. */
    void *context;
    /* Each program that uses the coprocessor has its own unit, for one thread at a time. */
    netvm_unit_make make;
    /* Null if there is nothing to initialise: data are then good. */
    netvm_unit_init init;
    /* Does the work; what it does must depend on nothing but what the unit was given before. */
    netvm_unit_invoke invoke;
    /* Null if there is nothing to free. */
    netvm_unit_free free;
} netvm_coprocessor;

/* What an operation of a coprocessor sees, for reading and for the time of the call. Fields
 * may be added behind the last one. */
typedef struct netvm_views {
    /* The packet; null if the program did not show it. */
    const uint8_t *packet;
    /* Its length. */
    size_t packet_len;
    /* The packet's annotations, as many bytes as the program declares (.info_size); null if
     * the program did not show the packet. */
    const uint8_t *info;
    /* Their number. */
    size_t info_len;
} netvm_views;

/* A packet of a burst. */
typedef struct netvm_item {
    /* Its bytes, which may be changed. */
    uint8_t *data;
    /* Their number, which may be made smaller before the packet is forwarded. */
    uint32_t len;
    /* The number of bytes it had on the wire, at least len. */
    uint32_t wire_len;
    /* When it came, in nanoseconds since 1970. */
    uint64_t time;
    /* A number of the program's own, which goes through stages that are functions. */
    uint64_t tag;
} netvm_item;

/* How a configuration is read: by netvm_application_open_with, netvm_application_open_file
 * and netvm_pipeline_stage_with. All of it is copied. */
typedef struct netvm_reading {
    /* Folders with element classes, looked into before the library that is built in; each has
     * to be there. */
    const char *const *elements;
    /* Their number. */
    uint32_t elements_count;
    /* Values of parameters, each as NAME=VALUE; they win over those that the configuration
     * defines. A parameter that the configuration does not use has no effect. */
    const char *const *parameters;
    /* Their number. */
    uint32_t parameters_count;
} netvm_reading;

/* A stage for netvm_pipeline_stage: a function or a configuration, copied but for context. */
typedef struct netvm_stage {
    /* Its name. */
    const char *name;
    /* The names of the stages that it sends to, which have been registered: its outputs, from
     * 0. Nothing of a configuration, whose devices say it: ToDevice(c) sends to the stage c. */
    const char *const *to;
    /* Their number. */
    uint32_t to_count;
    /* The number of its replicas, each on a thread of its own; 0 stands for 1. */
    uint32_t replicas;
    /* If more than replicas, their number may change up to this while packets flow. */
    uint32_t most;
    /* Tells the flow of a packet: packets of one flow come to one replica, in order. Null:
     * those between the same two IP addresses. */
    netvm_stage_flow flow;
    /* Handed to make and flow. */
    void *context;
    /* Makes the unit of a replica, in its thread; null if run gets the context itself. */
    netvm_stage_make make;
    /* The work; null of a configuration. */
    netvm_stage_run run;
    /* Frees a unit that make made, at the end; may be null. */
    netvm_unit_free free;
    /* A configuration of elements with one device that is read, if run is null. */
    const char *configuration;
    /* Its engine, null for the one that suits. */
    const char *engine;
} netvm_stage;

/* What netvm_pipeline_counts tells of a thread. */
typedef struct netvm_counts {
    /* Packets that came to it. */
    uint64_t packets;
    /* The bursts that they came in. */
    uint64_t bursts;
    /* Packets that it sent, as far as they have gone on. */
    uint64_t sent;
    /* Packets that it sent to a stage that had failed. */
    uint64_t lost;
    /* Bursts that wait for it. */
    uint32_t waiting;
    /* 1 if packets go to it at present. */
    uint32_t active;
    /* The core that it was moved to, -1 if it was to none. */
    int core;
} netvm_counts;

/* The version of the library, such as "0.1.0"; not to be freed. */
const char *netvm_version(void);

/* Compiles an expression for packets of a link type (DLT, such as 1 for Ethernet) and puts the
 * filter into *filter, to be freed by netvm_filter_free. engine is the name of an engine
 * (interp, jit, aot), or null for the one that suits.
 *
 * On failure *filter is null, and *error what is wrong, in lines for people that end with
 * a newline, to be freed by netvm_string_free. On success *error is null. error itself
 * may be null. */
int netvm_filter_compile(const char *expression, uint32_t link_type, const char *engine, netvm_filter **filter, char **error);

/* Makes the same filter for another thread and puts it into *other, to be freed by
 * netvm_filter_free like the first, in any order. *error is as in netvm_filter_compile. */
int netvm_filter_another(const netvm_filter *filter, netvm_filter **other, char **error);

/* Selects packets of a burst: bit i % 64 of words[i / 64] is set if packet i matches, and
 * clear if not. words has room for NETVM_WORDS(count) words; what is in them before does
 * not matter, and bits past the last packet are clear afterwards. If the function fails, the
 * words say nothing. Both arrays may be null if count is 0. Some hundred packets at a time
 * are best. */
int netvm_filter_select(netvm_filter *filter, const netvm_packet *packets, size_t count, uint64_t *words);

/* 1 if the packet matches, 0 if not, negative on failure. */
int netvm_filter_matches(netvm_filter *filter, const netvm_packet *packet);

/* What runs the filter at the moment, in words, such as "jit", to be freed by
 * netvm_string_free; null if filter is null. */
char *netvm_filter_detail(const netvm_filter *filter);

/* Frees a filter; null is allowed. */
void netvm_filter_free(netvm_filter *filter);

/* Lets NetIL programs, also those that are elements (NetIL(FILE)), use a coprocessor of the
 * caller's, as long as the process lives. At most 64 can be registered, and names differ.
 * *error is as in netvm_filter_compile. */
int netvm_coprocessor_register(const netvm_coprocessor *coprocessor, char **error);

/* Registers a coprocessor as netvm_coprocessor_register does, but its operations see more
 * than the packet: invoke runs them in place of the structure's, which may be null. */
int netvm_coprocessor_register_views(const netvm_coprocessor *coprocessor, netvm_unit_invoke_views invoke, char **error);

/* Reads a configuration of elements in Click's language and puts what runs it into
 * *application, to be freed by netvm_application_free. Its devices are queues: packets for
 * FromDevice(NAME) come by netvm_application_push, those that ToDevice(NAME) sends are
 * taken by netvm_application_take. engine and *error are as in netvm_filter_compile.
 * An application is for one thread at a time. */
int netvm_application_open(const char *configuration, const char *engine, netvm_application **application, char **error);

/* Reads a configuration as netvm_application_open does, with the folders of element classes
 * and the parameters of reading, which may be null. */
int netvm_application_open_with(const char *configuration, const netvm_reading *reading, const char *engine, netvm_application **application, char **error);

/* Reads the configuration in a file as netvm_application_open_with does. Messages name the
 * file. The folder elements beside it, if it is there, is looked into for element classes,
 * after those of reading. A file that cannot be read is NETVM_CONFIGURATION. */
int netvm_application_open_file(const char *path, const netvm_reading *reading, const char *engine, netvm_application **application, char **error);

/* Lets packets come by a device, in order; they wait for netvm_application_run. times has
 * when each comes, in nanoseconds since 1970; a time before that of an earlier packet is that
 * packet's, and times may be null. How many packets were taken, fewer than count if the
 * queue is full; negative on failure. Nothing of the packets is kept by reference. */
int netvm_application_push(netvm_application *application, const char *device, const netvm_packet *packets, const uint64_t *times, size_t count);

/* Runs all packets that have come, and timers that are due at that time or the last packet's,
 * whichever is later; 0: the last packet's. 1: the run has ended, 0: not, negative: failure. */
int netvm_application_run(netvm_application *application, uint64_t until);

/* Takes packets that were sent by a device, in order, as many as there is room for: count
 * packets, and size bytes at room into which packets[i].data points then. times, which
 * may be null, gets when each came. How many were taken, negative on failure; a packet has
 * 65,535 bytes at most. */
int netvm_application_take(netvm_application *application, const char *device, uint8_t *room, size_t size, netvm_packet *packets, uint64_t *times, size_t count);

/* What a handler such as "counter.count" says, asked about a text that may be null; *text
 * gets it, or what is wrong, to be freed by netvm_string_free. */
int netvm_application_read(netvm_application *application, const char *handler, const char *argument, char **text);

/* Writes a handler; *error is as in netvm_filter_compile. */
int netvm_application_write(netvm_application *application, const char *handler, const char *value, char **error);

/* Frees an application; null is allowed. */
void netvm_application_free(netvm_application *application);

/* Makes a pipeline without stages, freed by netvm_pipeline_free: for one thread at a time. */
int netvm_pipeline_open(netvm_pipeline **pipeline, char **error);

/* Registers a stage with the queue before it; stages are registered from the last to the
 * first. *error is as in netvm_filter_compile, also below. */
int netvm_pipeline_stage(netvm_pipeline *pipeline, const netvm_stage *stage, char **error);

/* Registers a stage as netvm_pipeline_stage does; if it is a configuration, that is read
 * with the folders of element classes and the parameters of reading, which may be null. For
 * a function it has to be null. */
int netvm_pipeline_stage_with(netvm_pipeline *pipeline, const netvm_stage *stage, const netvm_reading *reading, char **error);

/* Registers an input, which sends to so many stages; a thread calls function with context. */
int netvm_pipeline_input(netvm_pipeline *pipeline, const char *name, const char *const *to, uint32_t to_count, netvm_input_run function, void *context, char **error);

/* Begins a thread for each input and replica; packets flow when all are ready. It starts once. */
int netvm_pipeline_start(netvm_pipeline *pipeline, char **error);

/* Lets an input (replica 0) or a replica of a stage run on one core only, or on any if core
 * is negative, while packets flow. For how many nanoseconds it did nothing else comes to
 * *pause, which may be null. */
int netvm_pipeline_move(const netvm_pipeline *pipeline, const char *stage, uint32_t replica, int core, uint64_t *pause, char **error);

/* So many replicas of a stage get packets from now on. For that the inputs wait until nothing
 * is on the way, for *pause nanoseconds. */
int netvm_pipeline_replicas(const netvm_pipeline *pipeline, const char *stage, uint32_t replicas, uint64_t *pause, char **error);

/* Packets for a stage go to its replicas by that function, with context, from now on; null:
 * by their two IP addresses. For that the inputs wait until nothing is on the way, for
 * *pause nanoseconds. What replicas keep of flows stays where it is. */
int netvm_pipeline_flow(const netvm_pipeline *pipeline, const char *stage, netvm_stage_flow flow, void *context, uint64_t *pause, char **error);

/* What there is to say of an input (replica 0) or a replica of a stage. */
int netvm_pipeline_counts(const netvm_pipeline *pipeline, const char *stage, uint32_t replica, netvm_counts *counts);

/* What a handler of a replica that is a configuration says, as netvm_application_read. */
int netvm_pipeline_read(const netvm_pipeline *pipeline, const char *stage, uint32_t replica, const char *handler, const char *argument, char **text);

/* Writes a handler of a replica that is a configuration. */
int netvm_pipeline_write(const netvm_pipeline *pipeline, const char *stage, uint32_t replica, const char *handler, const char *value, char **error);

/* Asks all inputs to end; what has come still goes through. */
int netvm_pipeline_stop(const netvm_pipeline *pipeline);

/* 1 if everything has gone through, 0 if not, negative on failure. */
int netvm_pipeline_has_ended(const netvm_pipeline *pipeline);

/* Waits until everything has gone through, which it does when all inputs have ended. Then the
 * pipeline still tells its counts, and nothing else. */
int netvm_pipeline_wait(netvm_pipeline *pipeline, char **error);

/* Asks a pipeline to end, waits for that and frees it; null is allowed. */
void netvm_pipeline_free(netvm_pipeline *pipeline);

/* Sends a packet of the burst that a stage was called with, by its place, as it is then; its
 * bytes are copied. Waits as long as there is no room. */
int netvm_outlets_forward(netvm_outlets *outlets, uint32_t output, size_t index);

/* Sends all packets of the burst that a stage was called with, as they are then. To a single
 * replica they are not copied. The burst is empty afterwards. */
int netvm_outlets_forward_all(netvm_outlets *outlets, uint32_t output);

/* Sends a packet of the caller's memory, which is copied. */
int netvm_outlets_send(netvm_outlets *outlets, uint32_t output, const netvm_item *item);

/* 1 if the run is to end, for an input that sends packets in a loop of its own; 0 if not. */
int netvm_outlets_stopping(const netvm_outlets *outlets);

/* Frees a string that this library made; null is allowed. */
void netvm_string_free(char *string);

#ifdef __cplusplus
}
#endif

#endif
