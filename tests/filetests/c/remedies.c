=== functions of netvm.h without their parentheses
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 before(void) { return packet + 14; }
void packet(int port)
{
    u32 length = packet_length;
    if (length > now) packet_pull;
    u8 first = packet[14];
    length = packet + before;
    emit;
    drop;
    emit(0);
}
=== arrays of arrays
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 t[3][2];
static u32 sum(u32 (*p)[2]);
static u32 use(u32 *p) { return *p; }
READ(t, u32, t);
void packet(int port) { use(t); use(&t); u32 x = t[1]; emit(0); }
=== one fault each
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
#define TWICE(x) ((x) + (x))
#define BOTH(x, y) ((x) + (y))
struct s { mac_t a; mac_t b; be16 c; be16 d; in6_t e; in6_t f; };
enum { BAD };
static u32 result(void) { return emit(0); }
static void none(void) { return drop(BAD); }
void packet(int port)
{
    struct s *s = header(struct s, 0);
    u32 x = TWICE(1, 2), y = BOTH(1) + 3;
    x = TWICE();
    if (s->a == s->b) emit(0);
    if (*s == *s) emit(0);
    if (s->c < s->d) emit(0);
    if (s->c >= 5) emit(0);
    if (s->e == s->f) emit(0);
    if (s->c + s->d) emit(0);
    printf("%u", x);
    puts("text");
    memcpy(s->a, "abc", 3);
    print(x);
    return emit(0);
}
=== wrong macros in conditions and declarations
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
#define TWICE(x) ((x) + (x))
#if TWICE(1, 2)
#endif
#if 1 + TWICE(1, 2) > 3
#endif
static u8 list[TWICE(1, 2)];
TWICE(1, 2);
void packet(int port) { TWICE(1, 2); list[TWICE(1, 2)] = 0; emit(TWICE(1, 2)); }
=== pointers where a copy was meant, and the other way round
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 a[8]; u8 ttl; };
TABLE_EXACT(flows, u32, u32, 4, 0);
void packet(int port)
{
    struct ip ip = header(struct ip, 14);
    u32 key = 1;
    u32 v = table_find(flows, &key);
    u8 b = header(u8, 0);
    v = header(u32, 4);
    ip->ttl = b;
    struct ip a = { 0 }, c;
    c = a + 1;
    c += a;
    v = -a;
    a++;
    if (a && !c) emit(0);
    emit(0);
}
=== helpers that would end the handler
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
enum { BAD };
void finish(int port) { if (port) drop(BAD); emit(0); }
void packet(int port) { finish(port); }
=== escapes
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void packet(int port) { u8 a = '\q', b = 'ab', c = '', d = '\xfff', e = 'é'; print("\q"); emit(0); }
=== functions before their definition
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
READ_CALL(total, u32, total);
static u32 first(u32 n) { return second(n) + third; }
static u32 second(u32 n) { return n; }
static u32 third;
SCOPE(shared, GLOBAL);
SCOPE(flows, GLOBAL);
static u32 shared;
TABLE_EXACT(flows, u32, u32, 4, 0);
static u32 total(void) { return first(1); }
READ(shared, u64, shared);
READ(pair, text, shared);
WRITE(wide, u16, shared);
static u32 list[2];
READ(list, u32, list);
struct part { u32 a; };
static u32 user(struct late *p) { return LATE; }
struct late { u32 a; };
enum { LATE };
void packet(int port)
{
    if (__builtin_expect(port > 1, 0)) drop(WORST);
    u32 n = __builtin_popcount(3);
    emit(0);
}
enum { WORST };
=== a pointer into the packet and to own data
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u8 own[16];
struct bytes { u8 list[2]; };
static struct bytes ours;
static u32 sum(const u8 *list, u32 n) { u32 s = 0; for (u32 i = 0; i < n; i++) s += list[i]; return s; }
void packet(int port)
{
    const u8 *p = header_array(u8, 0, 4);
    if (port)
        p = own;
    u32 s = p[port & 3] + sum(own, 3) + sum(p, 4);
    for (u32 i = 0; i < 4; i++)
        s += p[i];
    struct bytes *q = header(struct bytes, 0);
    if (port)
        q = &ours;
    emit(s + q->list[port & 1] + q->list[1]);
}
