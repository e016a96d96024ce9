=== before the first case of a switch
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void packet(int port)
{
    switch (port) { u32 a; typedef u8 byte; byte b = 3; case 1: a = 1; b = a; }
    switch (port) { port = 1; case 1: break; }
    switch (port) emit(0);
    switch (port) default: case 1: emit(0);
    switch (port) case 1: case 1: emit(0);
}
=== no semicolon behind a struct or an enum
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
enum { TOO_LONG, TOO_SHORT }
static u32 x;
struct inner { u8 a; }
PARAM(u32, n, "N", OPTIONAL(1));
struct outer {
    struct part { u8 b; }
    u32 c;
}
typedef u32 word;
struct foo { u32 a; }
void packet(int port)
{
    word w = n + x;
    struct local { u32 a; }
    u32 b = sizeof(struct outer) + sizeof(struct part) + sizeof(struct inner) + w;
    struct fine { u32 a; } const fine = { b };
    if (fine.a > 1)
        drop(TOO_LONG);
    emit(0);
}
=== parentheses that are not closed
#include <netvm.h>
#include "ip.h"
ELEMENT(E, "1/1", "a/a");
PARAM(u32, n, "N", REQUIRED;
void packet(int port)
{
    struct ip *ip = header(struct ip, 14;
    if (ip->ttl > (n + 1) {
        packet_pull((n + 1;
        ip->ttl = 1;
    }
    u32 x = (ip->ttl + 1;
    while (x > 1 {
        x--;
    }
    if (x; n) emit(0);
    packet_pull(n x);
    emit(x;
}
--- ip.h
struct ip { u8 a[8]; u8 ttl; };
=== braces and else
#include <netvm.h>
ELEMENT(E, "1/2", "a/a");
static u32 x;
static void one(int port)
{
    if (port > 1) {
        x = 1;
        u32 y = x;
    else
        x = 2;
    if (port > 1) {
        while (x) { x--; }
    else if (x) {
        x = 3;
    else {
        x = 4;
    }
}
static void two(int port)
{
    if (port)
        x = 1;
        x = 2;
    else
        x = 3;
    if (port) { x = 1; };
    else if (x) { x = 2; }
    else { x = 3; }
}
void packet(int port) { one(port); two(port); emit(0); }
=== what could not be read is not also unknown
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
TABLE_EXACT(flows, u32, u32, 4);
TABLE_EXACT(more, u32, 4, 0);
TABLE_EXACT(again, u32, u32, 1000, 0, 1);
STRINGS(words);
typedef unsigned char byte;
struct key { byte a; u32 b : 3; };
enum reasons { FIRST, SECOND 3, THIRD };
static u32 count __attribute__((unused));
static __attribute__((noinline)) u32 f(u32 x) { return x + y; }
static inline u32 g(u32 x) __attribute__((always_inline));
static byte kind;
READ(count, u32, count);
void packet(int port)
{
    struct key key = { 0, 1 };
    u32 port_number = 3 4;
    u64 * const volatile p = 0;
    table_find(flows, &key);
    table_find(more, &key);
    table_find(again, &key);
    strings_find(words, 0, 4);
    count += f(port_number) + g(1) + *p + kind;
    if (kind == FIRST)
        drop(THIRD);
    misspelt = 1;
    emit(0);
}
=== ends that are missing
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 x;
static void f(u32 a { x = a; }
static u32 g(u32 a) { return a
static u32 h(u32 a) { return a; }
void packet(int port)
{
    for (int i = 0; i < 3; i++ {
        x++;
    }
    if (x == 1 {
        x = 2;
    }
    do { x++; } while (x < 3;
    switch (port {
    case 1: break;
    }
    u8 list[4;
    list[1 = 3;
    struct s { u8 a; } s = { 1 ;
    x = h(1;
    emit(0)
}
=== semicolons and a brace before the next function
#include <netvm.h>
ELEMENT(E, "1/1", "a/a")
PARAM(u32, n, "N", REQUIRED)
static u32 x
void packet(int port)
{
    while (x) {
        x--;
    emit(0);
}
static u32 y;
=== several braces are not closed
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 x;
static u32 one(u32 a)
{
    for (u32 i = 0; i < a; i++) {
        if (i > 2) {
            x++;
    }
    return x;
static const u32 *two(const u32 *a)
{
    if (*a) {
        x++;
    return a;
}
void packet(int port)
{
    x = one(x) + *two(&x);
    emit(0);
}
