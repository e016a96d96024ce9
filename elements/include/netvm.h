/*
 * netvm.h -- the element language: what a packet-processing element written in C can use
 *
 * An element class is one file NAME.c that includes this header. netvm compiles such files itself and knows every name below; for editors,
 * gcc and clang this is an ordinary header, and elements/standalone is the small runtime behind it (elements/standalone/README.md).
 *
 * A file has, in any order: one ELEMENT, parameters, info fields, tables, static functions and data, and handlers, which netvm calls:
 *
 *   void init(void)         once, before the first packet
 *   void packet(int port)   a packet has come to that input, pushed or pulled
 *   void push(int port)     the same for classes whose inputs are push only
 *   void pull(int port)     a packet is asked for at that output; there is none before packet_ask, packet_take or packet_create gives one
 *   void timer(int n)       timer n is due; there is a packet only after packet_create or packet_take
 *
 * A handler ends with emit(port), drop(REASON), or at its end: then the packet is dropped without a reason. An access that the packet does not
 * have room for is a trap: it ends the handler, the packet is dropped and counted. Without a handler `pull`, a packet that is asked for is taken from the
 * input before and runs through `packet`; with it, whoever asks gets what `pull` emits at that output, or nothing.
 *
 * Arithmetic is C11's with a 32-bit int and wraps around; a u128 has no literals (write (u128) 1 << 100), and PARAM, READ and WRITE do not take it. Numbers in packets have the types be16, be32 and be64, which netvm keeps apart from
 * plain integers: only = == != & | ^ ~ and the conversions ntohs ... htonll work on them. Structs are packed. There are no unions, floats, bit-fields,
 * gotos, recursion, function pointers, heap and no C library.
 */
#ifndef NETVM_H
#define NETVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Types ---- */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
/* For compilers of C that have such numbers. */
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 u128 __attribute__((aligned(1)));
#endif
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
/* Numbers as packets have them: first byte most significant; at any address. */
typedef u16 be16 __attribute__((aligned(1)));
typedef u32 be32 __attribute__((aligned(1)));
typedef u64 be64 __attribute__((aligned(1)));
/* Values without arithmetic: =, equal(a, b), members of structs, keys of tables; of an in6_t ntoh128 makes a number. */
typedef struct mac { u8 byte[6]; } mac_t;
typedef struct in6 { u8 byte[16]; } in6_t;
/* The text of a parameter, for print_text. */
typedef const char *string;
#include "netvm_standalone.h"

/* Parameters ADDR/MASK, ADDR/LEN: network and mask. */
struct ip_prefix { be32 addr; be32 mask; };
struct ip6_prefix { in6_t addr; in6_t mask; };
/* One input of an address and port rewriter: CONFIG(REWRITE, ...). */
enum rewrite_kind { REWRITE_DROP, REWRITE_PASS, REWRITE_KEEP, REWRITE_PATTERN };
struct rewrite_spec {
    u32 kind;                   /* enum rewrite_kind */
    u32 forward, reply;         /* outputs of a flow's packets and of the replies' */
    be32 saddr, daddr;          /* what the pattern puts in; 0 keeps it */
    u16 sport_first, sport_last; /* 0 keeps it; more than one: a free one of them */
    be16 dport;                 /* 0 keeps it */
    bool sequential;            /* free ports are taken in order, not at random */
    bool random;                /* a free port at random, not the packet's own first */
    u32 pattern;                /* inputs with the same pattern have the same number */
    be32 saddr_last;            /* of addresses without ports: saddr to this, a free one of them */
};
/* For each input, what a mapper chooses from: a part of name_choices, if there are any, and of name_nodes, by which sources are spread over them; without nodes they are taken
 * in turn. A node has a place on a circle of hashes; the first one is for hashes behind all others. */
struct rewrite_mapper { u32 first; u32 count; u32 first_node; u32 nodes; };
struct rewrite_node { u32 place; u32 choice; };

/* ---- The class ---- */

/* ELEMENT(Class, "inputs/outputs", "processing"): Click's codes, e.g. ELEMENT(Paint, "1/1", "a/a"). Comes before the file's own structs. */
#define ELEMENT(class, ports, processing) NV_PACK NV_DECLARATION(ELEMENT)
/* ELEMENT_FLOW("x/y"): Click's flow code, where packets do not go from every input to every output. */
#define ELEMENT_FLOW(code) NV_DECLARATION(ELEMENT_FLOW)
/* FLOW_STATE(ADDRESSES): all that the element keeps of packets is found in tables by keys that have both addresses of the packet's IP header or, of an ICMP error, of the
 * header that it quotes, in any order. So instances on several cores may each have the flows between some addresses; numbers that handlers read are summed.
 * FLOW_STATE(PORTS, part, SOURCE, DESTINATION): all of it is found by keys that have the port of one end of the packet (the identifier of an ICMP query, what an ICMP error quotes):
 * for each input the end that counts. What it gives out are ports of its part (`struct share` of share.h), so instances on several cores may each have the flows of some ports. */
#define FLOW_STATE(...) NV_DECLARATION(FLOW_STATE)
/* PARAM(ctype, name, "KEYWORD", MODE): an argument, a constant of that name and type. MODE is REQUIRED, OPTIONAL(default), KEYWORD(default),
 * KEYWORD_REQUIRED, SAME_AS("OTHER") (OPTIONAL, else the argument of that keyword is read for this one, too), or GIVEN (ctype bool: was that keyword's argument
 * there?). */
#define PARAM(ctype, name, keyword, mode) extern const ctype name
/* PARAM_AS(SYNTAX, ctype, name, "KEYWORD", MODE): the same in a named syntax: SECONDS (as nanoseconds), BANDWIDTH (as bytes a
 * second), IPPORT, ETHERTYPE, IP_PROTOCOL, ICMP_TYPE, ICMP_CODE, ANNO (Click's place of an annotation), VLAN_TCI (the word ANNO is -1),
 * IP_OR_ANNO (the word DST_ANNO is 0.0.0.0), IP6_OR_ANNO (it is ::), ADDRESS_ANNO (the place of an annotation with four bytes; 0: the destination; to 12: in an IPv6 destination), HEX, FIXEDPOINT16, PACKET_TYPE (click.h), DSCP (0 to 63), ECT (a
 * truth value or 2), CONTENTS (0 NONE, 1 HEX, 2 ASCII), OUTFILE (a string: the file that the element prints
 * into, - for standard output; empty: standard error). */
#define PARAM_AS(syntax, ctype, name, keyword, mode) extern const ctype name
/* PARAM_LIST(ctype, name, "KEYWORD", MODE): one argument that is a list separated by spaces, as `static const ctype name[]` of name_count values;
 * defaults are written 0 and mean an empty list. */
#define PARAM_LIST(ctype, name, keyword, mode) NV_LIST(ctype, name)
/* PARAM_LIST_AS(SYNTAX, ctype, name, "KEYWORD", MODE): the same in a named syntax, each word by itself; BYTES, of u8, takes the whole argument: its bytes are the values. */
#define PARAM_LIST_AS(syntax, ctype, name, keyword, mode) NV_LIST(ctype, name)
/* CONFIG(SYNTAX, name): the remaining arguments as a whole; the named syntax makes functions, constants or table entries of them. */
#define CONFIG(syntax, name) NV_CONFIG_##syntax(name)
/* CONFIG_LIST(ctype, name): the remaining arguments as `static const ctype name[]` of name_count values. */
#define CONFIG_LIST(ctype, name) NV_LIST(ctype, name)
/* REQUIRE(condition, "words"): something that is so of parameters, NINPUTS and NOUTPUTS in every instance; the words tell what is wrong otherwise, and the configuration is refused. */
#define REQUIRE(condition, words) NV_DECLARATION(REQUIRE)
/* INFO(type, name): a field that travels with each packet; one name is one field in the whole application; 0 at arrival. */
#define INFO(type, name) typedef type nv_info_type_##name; extern const u32 nv_info_##name
/* info(name): that field of this packet, readable and writable. */
#define info(name) (*(nv_info_type_##name *) (nv_packet->info + nv_info_##name))
/* Inputs of this instance, and outputs that are connected. */
extern const int NINPUTS, NOUTPUTS;
/* output_is_push(port), input_is_push(port): does the connection there push? */
#define output_is_push(port) nv_output_is_push(&nv_self, port)
#define input_is_push(port) nv_input_is_push(&nv_self, port)

/* ---- Ends of a handler; only in handlers ---- */

/* emit(port): the packet leaves by that output; one that is not there drops it. */
#define emit(port) do { nv_emit(&nv_self, port); return; } while (0)
/* drop(REASON): the packet ends here; the enumerator's name is the reason that is counted. */
#define drop(reason) do { (void) (reason); nv_drop(&nv_self, #reason); return; } while (0)
/* clone(port): a copy of the packet leaves by that output, before the packet itself. */
#define clone(port) nv_clone(&nv_self, port)

/* ---- The packet ---- */

/* Bytes of the packet that are here. */
static inline u32 packet_length(void) { return nv_packet->length; }
/* Bytes that the packet has on the wire: those that are here, and what of it was not captured, which is missing still when it grows or shrinks. */
static inline u32 wire_length(void) { return nv_packet->length + nv_packet->missing; }
/* Says how many there are on the wire, at least those that are here. */
static inline void set_wire_length(u32 length) { nv_packet->missing = length > nv_packet->length ? length - nv_packet->length : 0; }
/* The packet's arrival; where there is no packet, as a timer's handler begins, the time that is due: nanoseconds since 1970. */
static inline u64 now(void) { return nv_now(); }
/* Sets the arrival time. */
static inline void set_time(u64 ns) { nv_packet->time = ns; }
/* A random number. */
u32 random32(void);
/* header(T, offset): a T * to the packet's bytes from offset; a trap if it does not have sizeof(T) bytes there. */
#define header(T, offset) ((T *) nv_header(offset, sizeof(T)))
/* header_array(T, offset, n): a T * to n of them. */
#define header_array(T, offset, n) ((T *) nv_header(offset, (u64) sizeof(T) * (n)))
/* Removes n bytes from the head. */
void packet_pull(u32 n);
/* Brings back n bytes that were pulled and not overwritten since. */
void packet_unpull(u32 n);
/* Grows by n zero bytes at the head. */
void packet_push(u32 n);
/* Removes n bytes from the tail. */
void packet_trim(u32 n);
/* Grows by n zero bytes at the tail. */
void packet_put(u32 n);
/* Replaces the packet by one of that many zero bytes, all info fields 0. */
void packet_create(u32 length);
/* Bytes pulled minus bytes pushed since the packet came into being: positions plus this stay true when the head moves. */
static inline i32 packet_moved(void) { return nv_packet->moved; }
/* Copies bytes within the packet; the two places may overlap. */
void packet_copy(u32 to, u32 from, u32 length);
/* packet_read(array, offset, length): copies packet bytes to the element's own array. */
void packet_read(void *array, u32 offset, u32 length);
/* packet_write(offset, array, length): copies an array's bytes to the packet. */
void packet_write(u32 offset, const void *array, u32 length);
/* Is there a packet? */
static inline bool packet_present(void) { return nv_packet != 0; }
/* Moves the packet to the end of holding queue q; false if the element holds 65,536 or 256 MiB already: then the packet stays. */
#define packet_hold(q) nv_hold(&nv_self, q)
/* Makes the oldest packet held in queue q the packet; false if there is none. */
#define packet_take(q) nv_take(&nv_self, q)
/* packet_ask(input): only in pull. Asks at that input, which must pull, for a packet and makes it the packet, in place of the one before; false if there is none. */
#define packet_ask(input) nv_ask(&nv_self, input)

/* ---- Numbers ---- */

/* Between packets' numbers and the machine's; with a constant they are constants. */
#define ntohs(x) NV_BE16(x)
#define ntohl(x) NV_BE32(x)
#define ntohll(x) NV_BE64(x)
#define htons(x) NV_BE16(x)
#define htonl(x) NV_BE32(x)
#define htonll(x) NV_BE64(x)
/* Between an in6_t and a number. */
#define ntoh128(x) nv_number(x)
#define hton128(x) nv_address(x)
/* text_is(string parameter, "literal"): the same text? A constant. */
#define text_is(text, literal) (__builtin_strcmp(text, literal) == 0)
/* equal(a, b): are two values of one type (structs too) the same? */
#define equal(a, b) NV_EQUAL(a, b)
/* The Internet checksum of packet bytes (RFC 1071), as a number: store it with htons. */
u16 checksum(u32 offset, u32 length);
/* Do those bytes, the checksum field included, sum to 0xffff? */
bool checksum_ok(u32 offset, u32 length);
/* checksum_update(sum, before, after): the checksum once one 16-bit word has changed (RFC 1624). */
u16 checksum_update(u16 sum, u16 before, u16 after);
/* CRC-32 (IEEE 802.3), CRC-32C (RFC 3720) and CRC-16/X.25 of packet bytes. */
u32 crc32(u32 offset, u32 length);
u32 crc32c(u32 offset, u32 length);
u16 crc16(u32 offset, u32 length);
/* STRINGS(name, "one", parameter, ...): texts to search packets for; parameters of the type string. */
#define STRINGS(name, ...) NV_STRINGS(name, __VA_ARGS__)
/* STRINGS_OF(name, list): the texts of a PARAM_LIST of the type string, which is for this and for list_count alone. */
#define STRINGS_OF(name, list) NV_STRINGS_OF(name, list)
/* strings_find(name, offset, length): of the texts that are in those bytes of the packet, as far as it has them, the number (from 0) of the one that ends first, of
 * several that end there the longest; -1 if there is none. */
#define strings_find(name, offset, length) NV_CAT(name, _nv_find)(offset, length)
/* strings_at, strings_end: where in the packet the text that strings_find finds begins, and one behind its last byte; -1 if there is none. */
#define strings_at(name, offset, length) NV_CAT(name, _nv_place)(offset, length, 0)
#define strings_end(name, offset, length) NV_CAT(name, _nv_place)(offset, length, 1)
/* REGEX(name, "expression"), or a parameter: a regular expression of bytes as Perl has them, without back-references and looking around; a dot is any byte. In native
 * programs POSIX extended ones. */
#define REGEX(name, expression) NV_REGEX(name, expression)
/* regex_found(name, offset, length): is it in those bytes of the packet, as far as it has them? ^ and $ are their ends. */
#define regex_found(name, offset, length) NV_CAT(name, _nv_found)(offset, length)
/* regex_at, regex_end: where in the packet it begins, and one behind its last byte; -1 if it is not there. Of several the first, as Perl prefers. */
#define regex_at(name, offset, length) NV_CAT(name, _nv_place)(offset, length, 0)
#define regex_end(name, offset, length) NV_CAT(name, _nv_place)(offset, length, 1)
/* Coprocessors by their names in quotes: those that the program has registered which runs the elements (netvm::coprocessors, netvm_coprocessor_register), and lookup, lookupnew,
 * lookup_ex and associative of the manual of NetIL. Each element has units of its own. Not in standalone programs. */
/* coprocessor_load(unit, "text"): in init(), gives it that text, which ends with a NUL for it; 0 if that is good. */
u32 coprocessor_load(const char *unit, const char *text) NV_ONLY_NETVM;
/* coprocessor_put(unit, register, value), coprocessor_get(unit, register): registers are constants. */
void coprocessor_put(const char *unit, u32 number, u32 value) NV_ONLY_NETVM;
u32 coprocessor_get(const char *unit, u32 number) NV_ONLY_NETVM;
/* coprocessor_show(unit): operations that follow in this run of the handler see the packet and its annotations. */
void coprocessor_show(const char *unit) NV_ONLY_NETVM;
/* coprocessor_run(unit, "operation"). */
void coprocessor_run(const char *unit, const char *operation) NV_ONLY_NETVM;
/* hash32(a, ...): MurmurHash3 of one to eight 32-bit numbers. */
#define hash32(...) nv_hash((const u32[]) { __VA_ARGS__ }, sizeof((const u32[]) { __VA_ARGS__ }) / sizeof(u32))

/* ---- Tables: the instance's own unless SCOPE says otherwise; capacity and timeout may be parameters ---- */

/* TABLE_EXACT(name, K, V, capacity, timeout_ns): an entry that is not refreshed for so long is gone; 0: never. */
#define TABLE_EXACT(name, K, V, capacity, timeout) NV_TABLE(NV_EXACT, name, K, V, capacity, timeout)
/* TABLE_PREFIX(name, K, V, capacity): the longest prefix. */
#define TABLE_PREFIX(name, K, V, capacity) NV_TABLE(NV_PREFIX, name, K, V, capacity, 0)
/* TABLE_TERNARY(name, K, V, capacity): value and mask; the highest priority. */
#define TABLE_TERNARY(name, K, V, capacity) NV_TABLE(NV_TERNARY, name, K, V, capacity, 0)
/* TABLE_RANGE(name, K, V, capacity): low to high; the highest priority. Its keys are numbers: integers, be16, be32, be64. */
#define TABLE_RANGE(name, K, V, capacity) NV_TABLE(NV_RANGE, name, K, V, capacity, 0)
/* SCOPE(name, ...): which elements have that table or static variable together, once it is declared. LOCAL: none. REGIONAL: all instances of the element, which here is
 * one. GLOBAL: all elements of the class. UNIVERSAL: all with a universal one of that name. They declare it alike, a variable with the same initial value, which it gets
 * once. REGIONAL(element, its name): it is that of the element that a string parameter or "..." names, a table with that one's capacity and timeout, a variable that has a
 * scope there, too, and need not have its initial value here; it is the element's own if the name is empty. In standalone programs of your own, each instance has its own. */
#define SCOPE(name, scope) NV_DECLARATION(SCOPE)
/* table_find(table, &key): a V * or 0. The entry counts as used now. It is valid until an insert or delete on the table, or the handler's end. */
#define table_find(t, k) ((__typeof__((t).nv_value)) nv_table_find((t).nv_table, NV_KEY(t, k), true))
/* table_peek(table, &key): the same, but the entry does not count as used. */
#define table_peek(t, k) ((__typeof__((t).nv_value)) nv_table_find((t).nv_table, NV_KEY(t, k), false))
/* table_insert(table, &key): that key's entry, new and zero if there was none; 0 if the table is full. Exact tables only. */
#define table_insert(t, k) ((__typeof__((t).nv_value)) nv_table_insert((t).nv_table, NV_KEY(t, k)))
/* table_delete(table, &key): was it there? Exact tables only. */
#define table_delete(t, k) nv_table_delete((t).nv_table, NV_KEY(t, k))

/* table_walk(table): a walk begins over the entries that are there now, by ascending keys; how many they are. Exact tables only. A table has one walk; it may go on in another run. */
#define table_walk(t) nv_table_walk((t).nv_table)
/* table_next(table, &key): goes on to the next entry that is still there, and writes its key to that variable; false if there is none: the variable is as it was. */
#define table_next(t, k) nv_table_next((t).nv_table, NV_KEY(t, k))
/* EXPIRED(table, function): `static void f(const K *key, const V *value)` is called for each entry that the table's timeout ends, when that has been taken out, in the order of
 * the ends, then of the keys; of those that end at once no packet comes between. Its now() is the last nanosecond of the entry. It may use tables and variables, print, and send
 * packets that it makes: packet_create(n), then clone(port). Not for entries that are deleted, and not for tables with a SCOPE. Each such table takes one of the timers, from the last on. */
#define EXPIRED(t, function) NV_EXPIRED(t, function)

/* ---- Read and write handlers, for people and scripts ---- */

/* READ(name, type, variable): shows a static variable. */
#define READ(name, type, variable) NV_READ(name, #name, NV_SHOW_##type(variable))
/* WRITE(name, type, variable): sets it. */
#define WRITE(name, type, variable) NV_WRITE(name, #name, (variable) = NV_PARSE_##type(text))
/* READ_CALL(name, type, function): shows what `type f(void)` returns; with type `text` what `void f(void)` prints. */
#define READ_CALL(name, type, function) NV_READ(name, #name, NV_SHOW_##type(function()))
/* READ_WITH(name, type, asked, function): shows what `type f(asked)` returns for the text behind the handler's name, a value of the type asked; that can be written
 * before, too. */
#define READ_WITH(name, type, asked, function) NV_READ(name, #name, NV_SHOW_##type(function(NV_PARSE_##asked(text))))
/* WRITE_CALL(name, type, function): calls `void f(type)`; with type `none` `void f(void)`. */
#define WRITE_CALL(name, type, function) NV_WRITE(name, #name, function(NV_PARSE_##type(text)))

/* ---- Timers ---- */

/* timer_set(n, when_ns): calls timer(n), n a constant below 16, when the clock reaches that time; 0 switches it off. */
#define timer_set(n, when) nv_timer_set(&nv_self, n, when)

/* ---- Output for people: standard error in packet handlers, the handler's value in text handlers ---- */

/* Text, usually with a "\n" where a line ends. */
void print(const char *literal);
/* A string parameter. */
void print_text(string text);
/* Decimal numbers. */
void print_uint(u64 value);
void print_int(i64 value);
/* Hexadecimal, lower case, with leading zeros to that many digits. */
void print_hex(u64 value, int digits);
/* Addresses: 18.26.4.24, 2001:db8::1, 00-11-22-33-44-55. */
void print_ip(be32 address);
void print_ip6(in6_t address);
void print_mac(mac_t address);
/* Packet bytes in hexadecimal, in groups of four. */
void print_bytes(u32 offset, u32 length);
/* The same as text, a dot for what is not printable ASCII, in groups of eight. */
void print_ascii(u32 offset, u32 length);
/* Seconds, a dot, six digits; nine where the last three are not 0. */
void print_time(u64 ns);

#endif
