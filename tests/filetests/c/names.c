=== misspelt names have a proposal
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct header { be16 type; u8 code; };
static u32 counter;
INFO(u32, colour);
void packet(int port)
{
    struct header *h = header(struct header, 0);
    countr += 1;
    h->tpye = htons(1);
    info(color) = 2;
    packet_lenght();
    emit(0);
}
=== a type that is not there
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
uint23_t x;
static struct no_such y;
void packet(int port)
{
    foo bar = 1;
    u31 a = 2;
    emit(0);
}
=== an unknown declaration
#include <netvm.h>
ELEMNT(E, "1/1", "a/a");
=== an unknown handler
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void pakcet(int port) { emit(0); }
=== what is declared twice
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
ELEMENT(F, "1/1", "a/a");
static int a;
static u8 a;
static void f(void) {}
static void f(void) {}
struct s { u8 a; u16 a; };
struct s { u8 b; };
enum { A, B, A };
void packet(int port)
{
    int x = 1;
    int x = 2;
    { int x = 3; }
    emit(0);
}
=== a name of netvm.h
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static void print(void) {}
void packet(int port) { emit(0); }
=== no class
#include <netvm.h>
static int a;
=== no handler
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
=== two handlers for packets
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void packet(int port) { emit(0); }
void push(int port) { emit(0); }
=== a handler with other types
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
int packet(void) { emit(0); }
=== an info field without info
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
INFO(u8, paint);
void packet(int port) { paint = 1; emit(0); }
=== functions of the C library
#include <netvm.h>
#include <stdio.h>
#include <string.h>
#include "beside.h"
ELEMENT(E, "1/1", "a/a");
struct s { u8 a; u16 b; };
static int f(int n) { return n; }
void packet(int port)
{
    int (*g)(int) = f;
    struct s *s = header(struct s, 0);
    u8 *p = malloc(10);
    memcpy(s, p, 3);
    if (memcmp(s, p, 3) == 0)
        printf("same");
    print_uint(rand());
    print_uint(time(0));
    free(p);
    emit(0);
}
=== parameters declared again
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 f(u32 a, u32 b)
{
    u32 a = b;
    for (u32 b = 0; b < 4; b++) { u32 a = 3; b += a; }
    return a;
}
void packet(int port)
{
    typedef u8 port;
    f(1, 2);
    emit(0);
}
