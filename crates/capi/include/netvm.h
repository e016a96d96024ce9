/* netvm: filters, compiled to machine code, for bursts of packets.
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
 * Link with the flags of pkg-config --cflags --libs netvm. Expressions are those of pcap-filter(7).
 *
 * Threads: a filter is used by one thread at a time, and each of these functions counts as use; between calls it may pass to
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
};

/* The number of words that hold a bit for each of so many packets. */
#define NETVM_WORDS(count) (((size_t)(count) + 63) / 64)

/* A compiled filter. */
typedef struct netvm_filter netvm_filter;

/* A packet, lent for the time of a call. */
typedef struct netvm_packet {
    /* Its captured bytes; may be null if there are none. */
    const uint8_t *data;
    /* Their number. */
    uint32_t len;
    /* The number of bytes it had on the wire, for len, greater and less; 0 says that it was captured whole. */
    uint32_t wire_len;
} netvm_packet;

/* The version of the library, such as "0.1.0"; not to be freed. */
const char *netvm_version(void);

/* Compiles an expression for packets of a link type (DLT, such as 1 for Ethernet) and puts the filter into *filter, to be freed
 * by netvm_filter_free. engine is the name of an engine (interp, jit, aot), or null for the one that suits.
 *
 * On failure *filter is null, and *error what is wrong, in lines for people that end with a newline, to be freed by
 * netvm_string_free. On success *error is null. error itself may be null. */
int netvm_filter_compile(const char *expression, uint32_t link_type, const char *engine, netvm_filter **filter, char **error);

/* Makes the same filter for another thread and puts it into *other, to be freed by netvm_filter_free like the first, in
 * any order. *error is as in netvm_filter_compile. */
int netvm_filter_another(const netvm_filter *filter, netvm_filter **other, char **error);

/* Selects packets of a burst: bit i % 64 of words[i / 64] is set if packet i matches, and clear if not. words has room for
 * NETVM_WORDS(count) words; what is in them before does not matter, and bits past the last packet are clear afterwards. If the
 * function fails, the words say nothing. Both arrays may be null if count is 0. Some hundred packets at a time are best. */
int netvm_filter_select(netvm_filter *filter, const netvm_packet *packets, size_t count, uint64_t *words);

/* 1 if the packet matches, 0 if not, negative on failure. */
int netvm_filter_matches(netvm_filter *filter, const netvm_packet *packet);

/* What runs the filter at the moment, in words, such as "jit", to be freed by netvm_string_free; null if filter is null. */
char *netvm_filter_detail(const netvm_filter *filter);

/* Frees a filter; null is allowed. */
void netvm_filter_free(netvm_filter *filter);

/* Frees a string that this library made; null is allowed. */
void netvm_string_free(char *string);

#ifdef __cplusplus
}
#endif

#endif
