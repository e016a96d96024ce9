/*
 * netvm_standalone.h -- what stands behind netvm.h when gcc or clang compiles elements; netvm itself does not read this file
 *
 * An application is one translation unit, made by a generator (netvm compile --emit standalone; by hand: elements/standalone/example/paint.c). For each instance it defines
 *
 *   nv_self             as a macro: the name of the instance's struct nv_element
 *   NINPUTS, NOUTPUTS   as macros
 *   parameters          as `static const`: the declarations of PARAM then refer to them
 *
 * and a macro INSTANCE_name for every name at the file level of the element, so that two instances do not share it; then it includes the element.
 * Such a macro also renames members and locals, evenly within the element, but not those of headers: a name at file level must not
 * be that of a member in click.h. nv_info_NAME, the offset of an info field, is defined once for all instances.
 *
 * Info fields, header views and entries alias each other: compile with -fno-strict-aliasing and, for wrapping arithmetic, -fwrapv.
 */
#ifndef NETVM_STANDALONE_H
#define NETVM_STANDALONE_H

/* What programs cannot do that run without netvm. */
#ifdef __has_attribute
#if __has_attribute(error)
#define NV_ONLY_NETVM __attribute__((error("standalone programs have no coprocessors")))
#endif
#endif
#ifndef NV_ONLY_NETVM
#define NV_ONLY_NETVM
#endif

/* Most handlers have no use for the port. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifndef NV_INFO_BYTES
#define NV_INFO_BYTES 512
#endif

enum {
    NV_TIMERS = 16,
    NV_HELD = 65536,            /* packets held by one element */
};

struct nv_packet {
    u8 *data;                   /* the first byte; within buffer */
    u32 length;
    u32 missing;                /* bytes behind its end that were not captured */
    u64 time;
    i32 moved;
    u32 pulled;                 /* bytes before data that packet_unpull may bring back */
    u8 *buffer;
    u32 size;                   /* of buffer */
    u32 queue;                  /* where it is held */
    u32 rounds;                 /* how often it was led back */
    struct nv_packet *next;     /* the one held after it */
    u8 info[NV_INFO_BYTES] __attribute__((aligned(8)));
    u8 usual[];                 /* the buffer of a packet that is not too long for it */
};

struct nv_element;
struct nv_output {
    struct nv_element *to;      /* null: not connected */
    int port;
};

struct nv_handler {
    const char *name;
    void (*run)(const char *text);
    bool writes;
    struct nv_handler *next;
};

/* Of a table with EXPIRED. */
struct nv_expiry {
    struct nv_table *table;
    struct nv_element *self;
    void (*call)(const void *key, const void *value);
    int timer;
    bool is_set;
    struct nv_expiry *next;
};

struct nv_element {
    const char *name;
    void (*init)(void), (*packet)(int port), (*timer)(int n), (*pull)(int port); /* null: none */
    const struct nv_output *outputs;
    int noutputs;
    u64 timers[NV_TIMERS];
    struct nv_packet *held, *waiting; /* waiting: before inputs that pull */
    u32 nheld;
    struct nv_handler *handlers;
    u64 drops, traps, ended;    /* ended: the handler's end dropped the packet */
    const char *reason;         /* of the last drop */
    struct nv_expiry *expiries;
};

enum nv_kind { NV_EXACT, NV_PREFIX, NV_TERNARY, NV_RANGE };
struct nv_table;

/* The packet that the running handler has, or null. */
extern struct nv_packet *nv_packet;
/* The time of the last packet or timer; no timer is due before nv_first_due; when the last timer that ran was due, 0 if none ran. */
extern u64 nv_clock, nv_first_due, nv_fired;
/* The instance, where no generator has made nv_self a macro: a file on its own, as an editor sees it. */
extern struct nv_element nv_self;

_Noreturn void nv_trap(const char *what);
void nv_drop(struct nv_element *self, const char *reason);
bool nv_hold(struct nv_element *self, u32 queue);
bool nv_take(struct nv_element *self, u32 queue);
#ifdef NV_DIRECT
/* A whole configuration in one file: each instance has functions of its own, which call the elements behind it. */
#define nv_emit(self, port) NV_CAT(nv_self, _nv_emit)(port)
#define nv_clone(self, port) NV_CAT(nv_self, _nv_clone)(port)
#define nv_ask(self, input) NV_CAT(nv_self, _nv_ask)(input)
#define nv_output_is_push(self, port) NV_CAT(nv_self, _nv_output_is_push)(port)
#define nv_input_is_push(self, port) NV_CAT(nv_self, _nv_input_is_push)(port)
#else
void nv_emit(struct nv_element *self, int port);
void nv_clone(struct nv_element *self, int port);
bool nv_ask(struct nv_element *self, int input);
bool nv_output_is_push(const struct nv_element *self, int port);
bool nv_input_is_push(const struct nv_element *self, int port);
#endif
u32 nv_hash(const u32 *words, size_t count);

struct nv_table *nv_table_new(enum nv_kind kind, u32 key, u32 value, u32 capacity, u64 timeout);
void *nv_table_find(struct nv_table *table, const void *key, bool refresh);
void *nv_table_insert(struct nv_table *table, const void *key);
bool nv_table_delete(struct nv_table *table, const void *key);
u32 nv_table_walk(struct nv_table *table);
bool nv_table_next(struct nv_table *table, void *key);
void nv_table_expires(struct nv_table *table, struct nv_expiry *expiry);
/* Enters rows of key, mask, priority (most significant byte first) and value, without gaps. */
void nv_table_fill(struct nv_table *table, const char *rows, size_t count);
/* Enters what configuration or a person says: mask is a prefix's or ternary entry's mask, or the high end of a range. Null: full. */
void *nv_table_add(struct nv_table *table, const void *key, const void *mask, u32 priority, const void *value);

void nv_register(struct nv_element *self, struct nv_handler *handler);
u64 nv_parse_number(const char *text);
bool nv_parse_bool(const char *text);
be32 nv_parse_ip(const char *text);
in6_t nv_parse_ip6(const char *text);
mac_t nv_parse_mac(const char *text);

static inline u64 nv_now(void)
{
    return nv_packet ? nv_packet->time : nv_clock;
}

static inline void nv_timer_set(struct nv_element *self, u32 n, u64 when)
{
    self->timers[n] = when;
    if (when && when < nv_first_due)
        nv_first_due = when;
}

static inline u8 *nv_header(u32 offset, u64 size)
{
    if (!nv_packet || offset > nv_packet->length || size > nv_packet->length - offset)
        nv_trap("access beyond the packet's end");
    return nv_packet->data + offset;
}

#define NV_PASTE(a, b) a##b
#define NV_CAT(a, b) NV_PASTE(a, b)
/* Structs of elements are packed; the header structs of click.h have no gaps anyway, as their members may be at any address. */
#define NV_PACK _Pragma("pack(1)")
/* Takes the semicolon that follows a declaration. */
#define NV_DECLARATION(word) struct nv_declaration

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NV_BE16(x) ((u16) __builtin_bswap16(x))
#define NV_BE32(x) ((u32) __builtin_bswap32(x))
#define NV_BE64(x) ((u64) __builtin_bswap64(x))
#else
#define NV_BE16(x) ((u16) (x))
#define NV_BE32(x) ((u32) (x))
#define NV_BE64(x) ((u64) (x))
#endif

#ifdef __SIZEOF_INT128__
static inline u128 nv_number(in6_t address)
{
    u64 half[2];

    __builtin_memcpy(half, address.byte, sizeof(half));
    return (u128) NV_BE64(half[0]) << 64 | NV_BE64(half[1]);
}

static inline in6_t nv_address(u128 number)
{
    const u64 half[2] = { NV_BE64((u64) (number >> 64)), NV_BE64((u64) number) };
    in6_t address;

    __builtin_memcpy(address.byte, half, sizeof(half));
    return address;
}
#endif

#define NV_EQUAL(a, b) __extension__ ({ \
        const __typeof__(a) nv_a = (a), nv_b = (b); \
        __builtin_memcmp(&nv_a, &nv_b, sizeof(nv_a)) == 0; })

/* A table is a pointer with its key's and value's types beside it. */
#define NV_TABLE(kind, name, K, V, capacity, timeout) \
    static struct { struct nv_table *nv_table; K *nv_key; V *nv_value; } name; \
    __attribute__((constructor)) static void NV_CAT(name, _setup)(void) \
    { \
        name.nv_table = nv_table_new(kind, sizeof(K), sizeof(V), capacity, timeout); \
    } \
    struct nv_declaration
#define NV_KEY(t, k) (1 ? (k) : (t).nv_key)
#define NV_EXPIRED(name, function) \
    static void NV_CAT(name, _nv_expired)(const void *key, const void *value) \
    { \
        function((__typeof__(name.nv_key)) key, (__typeof__(name.nv_value)) value); \
    } \
    __attribute__((constructor)) static void NV_CAT(name, _nv_expired_setup)(void) \
    { \
        static struct nv_expiry expiry = { .self = &nv_self, .call = NV_CAT(name, _nv_expired) }; \
        nv_table_expires(name.nv_table, &expiry); \
    } \
    struct nv_declaration

/* What is searched for is found by a function of its own. */
int nv_strings_find(const char *const *texts, size_t count, u32 offset, u32 length);
int nv_strings_place(const char *const *texts, size_t count, u32 offset, u32 length, int end);
bool nv_regex_found(void **compiled, const char *expression, u32 offset, u32 length);
int nv_regex_place(void **compiled, const char *expression, u32 offset, u32 length, int end);
#define NV_STRINGS(name, ...) \
    __attribute__((unused)) static int NV_CAT(name, _nv_find)(u32 offset, u32 length) \
    { \
        const char *const texts[] = { __VA_ARGS__ }; \
        return nv_strings_find(texts, sizeof(texts) / sizeof(*texts), offset, length); \
    } \
    __attribute__((unused)) static int NV_CAT(name, _nv_place)(u32 offset, u32 length, int end) \
    { \
        const char *const texts[] = { __VA_ARGS__ }; \
        return nv_strings_place(texts, sizeof(texts) / sizeof(*texts), offset, length, end); \
    } \
    struct nv_declaration
#define NV_STRINGS_OF(name, list) \
    __attribute__((unused)) static int NV_CAT(name, _nv_find)(u32 offset, u32 length) \
    { \
        return nv_strings_find(list, NV_CAT(list, _count), offset, length); \
    } \
    __attribute__((unused)) static int NV_CAT(name, _nv_place)(u32 offset, u32 length, int end) \
    { \
        return nv_strings_place(list, NV_CAT(list, _count), offset, length, end); \
    } \
    struct nv_declaration
#define NV_REGEX(name, expression) \
    __attribute__((unused)) static bool NV_CAT(name, _nv_found)(u32 offset, u32 length) \
    { \
        static void *compiled; \
        return nv_regex_found(&compiled, expression, offset, length); \
    } \
    __attribute__((unused)) static int NV_CAT(name, _nv_place)(u32 offset, u32 length, int end) \
    { \
        static void *compiled; \
        return nv_regex_place(&compiled, expression, offset, length, end); \
    } \
    struct nv_declaration

#define NV_READ(id, title, show) \
    NV_HANDLER(_read_, id, title, false, (void) text; show)
#define NV_WRITE(id, title, set) \
    NV_HANDLER(_write_, id, title, true, (void) text; set)
#define NV_HANDLER(kind, id, title, is_write, does) \
    static void NV_CAT(nv_self, kind##id)(const char *text) \
    { \
        does; \
    } \
    __attribute__((constructor)) static void NV_CAT(nv_self, kind##id##_setup)(void) \
    { \
        static struct nv_handler nv_handler = { title, NV_CAT(nv_self, kind##id), is_write, 0 }; \
        nv_register(&nv_self, &nv_handler); \
    } \
    struct nv_declaration

#define NV_SHOW_u8(x) print_uint(x)
#define NV_SHOW_u16(x) print_uint(x)
#define NV_SHOW_u32(x) print_uint(x)
#define NV_SHOW_u64(x) print_uint(x)
#define NV_SHOW_i8(x) print_int(x)
#define NV_SHOW_i16(x) print_int(x)
#define NV_SHOW_i32(x) print_int(x)
#define NV_SHOW_i64(x) print_int(x)
#define NV_SHOW_int(x) print_int(x)
#define NV_SHOW_bool(x) print((x) ? "true" : "false")
#define NV_SHOW__Bool(x) print((x) ? "true" : "false")
#define NV_SHOW_unsigned(x) print_uint(x)
#define NV_SHOW_size_t(x) print_uint(x)
#define NV_SHOW_uint8_t(x) print_uint(x)
#define NV_SHOW_uint16_t(x) print_uint(x)
#define NV_SHOW_uint32_t(x) print_uint(x)
#define NV_SHOW_uint64_t(x) print_uint(x)
#define NV_SHOW_int8_t(x) print_int(x)
#define NV_SHOW_int16_t(x) print_int(x)
#define NV_SHOW_int32_t(x) print_int(x)
#define NV_SHOW_int64_t(x) print_int(x)
#define NV_SHOW_be16(x) print_uint(ntohs(x))
#define NV_SHOW_be64(x) print_uint(ntohll(x))
#define NV_SHOW_be32(x) print_ip(x)
#define NV_SHOW_in6_t(x) print_ip6(x)
#define NV_SHOW_mac_t(x) print_mac(x)
#define NV_SHOW_text(x) x

#define NV_PARSE_u8(t) (u8) nv_parse_number(t)
#define NV_PARSE_u16(t) (u16) nv_parse_number(t)
#define NV_PARSE_u32(t) (u32) nv_parse_number(t)
#define NV_PARSE_u64(t) nv_parse_number(t)
#define NV_PARSE_i8(t) (i8) nv_parse_number(t)
#define NV_PARSE_i16(t) (i16) nv_parse_number(t)
#define NV_PARSE_i32(t) (i32) nv_parse_number(t)
#define NV_PARSE_i64(t) (i64) nv_parse_number(t)
#define NV_PARSE_int(t) (int) nv_parse_number(t)
#define NV_PARSE_bool(t) nv_parse_bool(t)
#define NV_PARSE__Bool(t) nv_parse_bool(t)
#define NV_PARSE_unsigned(t) (unsigned) nv_parse_number(t)
#define NV_PARSE_size_t(t) nv_parse_number(t)
#define NV_PARSE_uint8_t(t) (u8) nv_parse_number(t)
#define NV_PARSE_uint16_t(t) (u16) nv_parse_number(t)
#define NV_PARSE_uint32_t(t) (u32) nv_parse_number(t)
#define NV_PARSE_uint64_t(t) nv_parse_number(t)
#define NV_PARSE_int8_t(t) (i8) nv_parse_number(t)
#define NV_PARSE_int16_t(t) (i16) nv_parse_number(t)
#define NV_PARSE_int32_t(t) (i32) nv_parse_number(t)
#define NV_PARSE_int64_t(t) (i64) nv_parse_number(t)
#define NV_PARSE_be16(t) htons((u16) nv_parse_number(t))
#define NV_PARSE_be64(t) htonll(nv_parse_number(t))
#define NV_PARSE_be32(t) nv_parse_ip(t)
#define NV_PARSE_in6_t(t) nv_parse_ip6(t)
#define NV_PARSE_mac_t(t) nv_parse_mac(t)
#define NV_PARSE_none(t)

/* What the generator has put before the element (functions, constants) or puts behind it (entries of tables). */
#define NV_CONFIG_CLASSIFIER(name) int name(void); void NV_CAT(name, _program)(void)
#define NV_CONFIG_IPCLASSIFIER(name) int name(void); void NV_CAT(name, _program)(void)
#define NV_CONFIG_IPFILTER(name) int name(void); void NV_CAT(name, _program)(void)
#define NV_CONFIG_IP_ROUTES(name) NV_DECLARATION(IP_ROUTES)
#define NV_CONFIG_IP6_ROUTES(name) NV_DECLARATION(IP6_ROUTES)
#define NV_CONFIG_RANGE_ROUTES(name) NV_DECLARATION(RANGE_ROUTES)
#define NV_CONFIG_ARP_ENTRIES(name) NV_DECLARATION(ARP_ENTRIES)
#define NV_CONFIG_ND_ENTRIES(name) NV_DECLARATION(ND_ENTRIES)
#define NV_CONFIG_MAPPER(name) enum { NV_CAT(name, _count) = 1 }
#ifdef NV_GENERATED
#define NV_CONFIG_REWRITE(name) extern const struct rewrite_spec name[]
#define NV_LIST(ctype, name) extern const ctype name[]
#else
#define NV_CONFIG_REWRITE(name) \
    extern const struct rewrite_spec name[], NV_CAT(name, _choices)[]; \
    extern const struct rewrite_mapper NV_CAT(name, _mappers)[]; \
    extern const struct rewrite_node NV_CAT(name, _nodes)[]; \
    enum { NV_CAT(name, _count) = 1, NV_CAT(name, _choices_count) = 1 }
#define NV_LIST(ctype, name) extern const ctype name[]; enum { NV_CAT(name, _count) = 1 }
#endif
#define NV_CONFIG_REWRITE_ADDRESSES(name) NV_CONFIG_REWRITE(name)
#define NV_CONFIG_REWRITE_PAIRS(name) NV_CONFIG_REWRITE(name)
#define NV_CONFIG_REWRITE_PINGS(name) NV_CONFIG_REWRITE(name)
#define NV_CONFIG_ADDRESS_PLACE(name) extern const be32 NV_CAT(name, _address); enum { NV_CAT(name, _given), NV_CAT(name, _offset) }
#define NV_CONFIG_BAD_SOURCES(name) NV_LIST(be32, name); enum { NV_CAT(name, _given), NV_CAT(name, _offset) }
#define NV_CONFIG_RISING(name) NV_LIST(u32, name)
#define NV_CONFIG_RISING_BANDWIDTHS(name) NV_LIST(u64, name)
#define NV_CONFIG_STRINGS(name) int NV_CAT(name, _nv_find)(u32 offset, u32 length); int NV_CAT(name, _nv_place)(u32 offset, u32 length, int end); enum { NV_CAT(name, _count) }
#define NV_CONFIG_REWRITERS(name) \
    enum { NV_CAT(name, _say_outputs) }; \
    static bool NV_CAT(name, _find)(void) \
    { \
        return take_flow(0, -1) || take_quadruple(0, -1) || take_source(0, -1) || take_destination(0, -1); \
    } \
    struct nv_declaration

#endif
