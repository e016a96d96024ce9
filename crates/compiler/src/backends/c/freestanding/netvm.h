/* A program for a processor without an operating system: packets go in, what becomes of each
   comes out. Made by netvm. */
#ifndef NETVM_H
#define NETVM_H

#include <stddef.h>
#include <stdint.h>

/* The longest packet that there may be; bytes before a packet with which programs that put
   headers in front need move nothing; a buffer that holds whatever a program makes of a packet,
   and what it may bring back. */
enum { NETVM_LONGEST = 65535, NETVM_HEADROOM = 128, NETVM_BUFFER = NETVM_LONGEST + 1025 };

/* What became of a packet. */
enum netvm_end { NETVM_SENT, NETVM_DROPPED, NETVM_TRAPPED };

/* A packet in a buffer. Programs that make packets longer may end with a trap "no room" if it
   has fewer than NETVM_BUFFER bytes. */
struct netvm_packet {
    uint8_t *buffer;
    uint32_t size;     /* bytes of the buffer */
    uint32_t at;       /* where the packet begins; small programs for MIPS and RISC-V are fastest if its address is 2 modulo 4, and one built with NETVM_ALIGNED defined needs that */
    uint32_t len;      /* its bytes */
    uint32_t wire_len; /* what it had on the wire, at least len */
    uint32_t input;    /* the input by which it comes: its number; of a program alone, its port */
    uint64_t time_ns;  /* when it came, since 1970 */
    /* Written by netvm_run, with at, len, wire_len and time_ns. */
    enum netvm_end end;
    uint32_t element;  /* the element that it left, or where it was dropped or trapped */
    uint32_t value;    /* sent: the output; dropped: the reason; trapped: the kind (low byte) and detail */
    uint32_t site;     /* trapped: the instruction of NetIL */
};

/* No element; reasons that are no element's: an output that leads nowhere, led back too often,
   dropped as is meant. */
#define NETVM_NONE UINT32_MAX
#define NETVM_NOWHERE UINT32_MAX
#define NETVM_ROUNDS (UINT32_MAX - 1)
#define NETVM_DISCARDED (UINT32_MAX - 2)

/* Seeds the hashes of tables. What begins with numbers that nobody can guess has tables that
   nobody can make slow; netvm_run begins with fixed ones if this was not called. May be called
   again at any time. */
void netvm_start(uint64_t a, uint64_t b);

/* Programs that copy packets have so many buffers of NETVM_BUFFER bytes for copies that wait; a
   handler that needs one more ends with the trap "no room". May be given to the compiler. */
#ifndef NETVM_COPIES
#define NETVM_COPIES 32
#endif

/* Whether the program copies packets. */
extern const int netvm_copies;

/* Told of each copy when it has left, or was dropped or trapped, before the packet is; the copy is
   there until this returns. One that does nothing is there, which the caller's replaces. */
void netvm_copied(const struct netvm_packet *copy);

/* Runs the program for each packet, one after the other. Not for several processors at once:
   they would share memory and tables. */
void netvm_run(struct netvm_packet *packets, size_t count);

/* A program that is built in groups of elements (Octeon: --nodes): packets are work entries in
   the queues of groups. netvm_run is one core that subscribes to all groups; cores that subscribe to
   some call netvm_work. */
struct netvm_work {
    struct netvm_work *next;
    uint32_t group;
    uint32_t tag;
    int atomic; /* one entry with that tag is run at a time; else they are run together and keep their order */
};

/* How many groups there are, 64 at most; packets come in at group 0. */
extern const uint32_t netvm_groups;

/* Makes a packet a work entry of group 0; false if no entry is free. The packet is there until its
   end is told. */
int netvm_arrive(struct netvm_packet *packet);

/* Runs the next entry of those groups (a bit for each), up to its end or to another group; false
   if there is none. */
int netvm_work(uint64_t groups);

/* The scheduler: puts an entry into the queue of its group, and takes the next one of some groups.
   There are plain queues for one core, which a board's own functions replace. */
void netvm_submit(struct netvm_work *work);
struct netvm_work *netvm_get_work(uint64_t groups);

/* The names of an application's inputs, outputs and elements, by number; each list ends with 0.
   A program alone is one element, and its ports have numbers. */
extern const char *const netvm_inputs[], *const netvm_outputs[], *const netvm_elements[];

/* What an element calls a reason to drop; 0 if it has no name for it. */
const char *netvm_reason(uint32_t element, uint32_t reason);

/* An element's data memory, and its bytes. */
uint8_t *netvm_data(uint32_t element);
uint32_t netvm_data_size(uint32_t element);

/* How many tables an element has. */
uint32_t netvm_tables(uint32_t element);

/* An entry of a table: its key in so many bytes, the most significant first, and its value. Of tables that a host fills also
   the mask, or of a range the last key, and of ranges and ternary entries the priority. */
struct netvm_entry {
    uint8_t key[16], other[16];
    uint32_t key_bytes, value_bytes, priority;
    uint8_t *value;
};

/* The next entry of a table, the first if *at is 0; false if there is none. Entries keep their
   places until packets are run. */
int netvm_entry(uint32_t element, uint32_t table, uint32_t *at, struct netvm_entry *entry);

/* Tables that a host fills while no packet is run: there for VPP only. */
enum netvm_kind { NETVM_EXACT, NETVM_PREFIX, NETVM_RANGE, NETVM_TERNARY };
struct netvm_table {
    const char *name;
    enum netvm_kind kind;
    uint32_t key_bytes, value_bytes, capacity;
};

/* What a table is; false if there is none of that number. */
int netvm_table(uint32_t element, uint32_t table, struct netvm_table *t);

/* Enters an entry, or gives it another value if there is one with this key, mask and priority; takes it out. What is entered so
   does not time out. Not 0: the table is full; there is no such entry; the mask of a prefix has gaps, or a range ends before it
   begins. */
enum { NETVM_FULL = 1, NETVM_MISSING, NETVM_UNSUITED };
int netvm_add(uint32_t element, uint32_t table, const struct netvm_entry *entry);
int netvm_delete(uint32_t element, uint32_t table, const struct netvm_entry *entry);

#endif
