=== numbers and fields in network order
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 version_ihl; u8 tos; be16 length; be32 src; };
void packet(int port)
{
    struct ip *ip = header(struct ip, 0);
    u32 n = ip->src;
    ip->length = 20;
    ip->length = ip->length + 1;
    if (ip->length == 40)
        ip->src = ip->length;
    if (ip->src < ip->src)
        ip->src = htonl(ntohl(ip->length));
    be32 net = ip->src & 0xff000000;
    ip->src = 0;
    ip->src = ip->src & htonl(0xff000000) | ~ip->src;
    if (ip->length != htons(20) && ip->src)
        switch (ip->length) { case 1: break; }
    ip->length += 1;
    hash32(ip->src);
    emit(ip->length);
}
=== pointers
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct ip { u8 a; be16 b; };
static u8 bytes[4];
static struct ip *kept;
struct holder { struct ip *ip; };
void packet(int port)
{
    struct ip *ip = header(struct ip, 0);
    struct ip ip2;
    ip.a = 1;
    ip2->a = 1;
    ip = ip + 1;
    ip++;
    u8 *p = &ip->b;
    u8 *q = (u8 *) ip;
    u8 **r = &p;
    p = 1;
    ip = header(ip, 0);
    if (ip == ip) emit(0);
    bytes = p;
    p = &1;
    *bytes[0] = 1;
    p = bytes;
    p = &bytes[2];
    bytes[4] = 1;
    emit(0);
}
=== structs and arrays
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct a { u8 x; };
struct b { u8 x; };
struct empty { };
static u8 none[0];
static u8 many[100000000];
static u8 list[2] = { 1, 2, 3 };
static struct a one = { .y = 1 };
static struct a two = { 1, 2 };
static int number = { 1, 2 };
static int computed = packet_length();
void packet(int port)
{
    struct a a;
    struct b b;
    a = b;
    if (a == a) emit(0);
    if (a) emit(0);
    a + 1;
    if (!equal(a, b)) emit(0);
    a.y = 1;
    port.x = 1;
    port[0] = 1;
    emit(0);
}
=== calls
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 f(u32 a, be16 b) { return a; }
static void g(void) {}
static int h(int x) { if (x) return 1; }
static void i(void) { return 1; }
static int j(void) { return; }
void packet(int port)
{
    f(1);
    f(1, 2);
    f(1, htons(2), 3);
    u32 x = g();
    g = 1;
    g;
    port();
    1();
    packet_pull();
    header(14, struct ip);
    print(1);
    print_text("x");
    emit(0);
}
=== constants
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, n, "N", OPTIONAL(0));
enum { A = 1 / 0, B = n };
static const u8 table[2] = { 1, 2 };
void packet(int port)
{
    const int c = 1;
    c = 2;
    n = 1;
    A = 1;
    table[0] = 1;
    u32 x = 1 << 32;
    x = x / 0;
    x = x % (1 - 1);
    x >>= 33;
    switch (port) { case 1: case 1: break; case n: break; }
    _Static_assert(sizeof(u32) == 3, "no");
    emit(0);
}
--- values
n 1
=== what C has and the language has not
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
union u { u8 a; };
struct s { u8 a : 3; };
static float f;
static char c;
static long l;
static int (*fp)(void);
extern int e;
int global;
static void v(int a, ...) {}
void packet(int port)
{
    goto end;
    1.5;
    "text";
    emit(0);
}
=== numbers by their C names
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static unsigned char a;
static unsigned short b;
static unsigned long long c;
static signed char d;
static unsigned int e;
static signed f;
static __int128 g;
void packet(int port) { long h; emit(0); }
=== numbers of 128 bits
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u128, wide, "WIDE", REQUIRED);
static u128 sum;
READ(sum, u128, sum);
static unsigned __int128 other;
static signed __int128 another;
void packet(int port)
{
    in6_t a = *header(in6_t, 0), b = *header(in6_t, 16);
    a = a & b;
    a = sum;
    sum = a;
    sum = ntoh128(a) << 128;
    sum = ntoh128(a) + 1 < ntoh128(b) ? sum : 0;
    a = hton128(sum / 0);
    if (a > b)
        emit(0);
    sum = htonl(7);
    hash32(sum);
}
