=== a view used after the packet moved
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 a; be16 b; };
void packet(int port)
{
    struct ip *ip = header(struct ip, 0);
    packet_pull(14);
    ip->a = 1;
    emit(0);
}
=== in a loop
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 a; be16 b; };
void packet(int port)
{
    struct ip *ip = header(struct ip, 0);
    for (int i = 0; i < 4; i++) {
        if (ip->a == i)
            packet_push(4);
    }
    emit(0);
}
=== in a loop that ends when it moves the packet
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 a; be16 b; };
void packet(int port)
{
    struct ip *ip = header(struct ip, 0);
    for (int i = 0; i < 4; i++) {
        if (ip->a == i) {
            packet_push(4);
            emit(0);
        }
    }
    packet_push(1);
    ip = header(struct ip, 0);
    ip->a = 1;
    emit(0);
}
=== on one of two ways, by functions
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 a; be16 b; };
static void strip(u32 n) { if (n > 3) packet_pull(n); }
static u8 first(const struct ip *ip) { return ip->a; }
void packet(int port)
{
    struct ip *ip = header(struct ip, 0);
    struct ip *kept = ip;
    if (ip->a)
        strip(ip->a);
    first(kept);
    emit(0);
}
=== an entry used after an insert
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
TABLE_EXACT(flows, u32, u32, 16, 0);
TABLE_EXACT(others, u32, u32, 16, 0);
void packet(int port)
{
    u32 k = 1, k2 = 2;
    u32 *a = table_find(flows, &k);
    u32 *b = table_find(others, &k);
    if (a == 0)
        a = table_insert(flows, &k);
    table_delete(flows, &k2);
    if (a)
        *a = 1;
    if (b)
        *b = 1;
    emit(0);
}
=== ends of handlers elsewhere
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
enum { BAD };
static void f(void) { emit(0); drop(BAD); }
void init(void) { packet_pull(1); drop(BAD); }
void packet(int port)
{
    f();
    int x = emit(0);
    emit(1);
    emit(-1);
    drop(1);
    drop(WORSE);
    drop(x);
    break;
    continue;
    case 1:
    emit(0, 1);
}
=== what init cannot do
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
INFO(u8, paint);
struct ip { u8 a; be16 b; };
void init(void)
{
    packet_pull(1);
    info(paint) = 1;
    header(struct ip, 0)->a = 1;
    print_uint(now());
}
void packet(int port) { emit(0); }
=== recursion
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static int f(int n);
static int g(int n) { return n ? f(n - 1) : 0; }
static int f(int n) { return g(n) + h(n); }
static int missing(void);
void packet(int port) { f(3); missing(); emit(0); }
=== pointers that change their memory
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct s { u8 a; be16 b; };
static struct s own;
static const struct s fixed = { 1, 0 };
TABLE_EXACT(table, u8, struct s, 4, 0);
static struct s *local(void) { struct s s = { 1, 0 }; return &s; }
void packet(int port)
{
    struct s *p = header(struct s, 0);
    p = &own;
    const struct s *q = 0;
    q = &own;
    struct s *r = (struct s *) &fixed;
    r->a = 1;
    struct s *none;
    none->a = 1;
    struct s *null = 0;
    null->a = 1;
    u8 k = 1;
    p = table_find(table, &k);
    local()->a = 1;
    emit(0);
}
