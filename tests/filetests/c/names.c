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
=== words of C as names
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 while;
static u32 struct;
static u32 true;
struct sizeof { u8 a; };
struct s { u8 for; };
enum { if, B };
static void default(u32 n) { }
static void f(u32 goto) { }
void packet(int port)
{
    u32 return = 4;
    struct s *s = header(struct s, 0);
    s->switch = 1;
    emit(0);
}
=== names that netvm.h has
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 u8;
static u32 packet_length;
enum { emit, NOUTPUTS };
typedef u32 uint16_t;
typedef unsigned uint32_t;
PARAM(u32, now, "NOW", REQUIRED);
TABLE_EXACT(header, u32, u32, 4, 0);
static void string(void) { }
static void clone(void) { }
void packet(int port) { emit(0); }
=== locals may have the names of types and functions
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
typedef u32 word;
struct s { u32 string; word word; word more; };
static word f(u32 word, be16 u16) { word += 1; { typedef u8 word; word small = 255; } return word + sizeof(u16); }
static word g(word a);
static word g(word a) { word b = a; return (word) b; }
void packet(int port)
{
    word word = 3, other = (word) * 2;
    word += 1;
    word * other;
    for (u32 u8 = 0; u8 < 3; u8++)
        word += u8;
    u32 string = f(word, 0), now = 1;
    string++;
    { enum { be16 = 4 }; string += (be16) + 1; }
    be16 field = htons(string + now + g(other));
    *header(be16, 0) = field;
    emit(0);
}
=== copies for outputs that no element of the class has
#include <netvm.h>
ELEMENT(E, "1/1-2", "a/ah");
static void copy(int output) { if (NOUTPUTS > 1) clone(output); }
void packet(int port)
{
    if (NOUTPUTS > 1)
        clone(1);
    copy(1);
    clone(5);
    clone(-1);
    clone(1 + 1);
    emit(0);
}
=== structs before they are defined
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct later;
struct never;
struct node { u32 value; struct node *next; };
struct tree { u32 value; struct tree left, *right; struct tree more[2]; };
static u32 f(struct later *p);
struct later { u32 a; };
static u32 g(const struct later *p) { return p->a; }
void packet(int port)
{
    struct later;
    struct never x;
    g(header(struct later, 0));
    emit(0);
}
=== a struct that is announced
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct later;
struct later { u32 a; };
struct later;
static u32 g(const struct later *p) { return p->a; }
void packet(int port) { header(struct later, 0)->a = g(header(struct later, 4)); emit(0); }
=== typedefs of structs that come later
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct later;
typedef struct later later_t, *later_p;
typedef struct never never_t;
static u32 early(later_t *p);
struct later { u32 a; };
static u32 g(const later_t *p) { return p->a; }
static u32 h(later_p p) { return p->a; }
void packet(int port)
{
    later_p p = header(later_t, 0);
    h(p);
    g(p);
    never_t *n = 0;
    later_t copy = { misspelt };
    emit(0);
}
=== one of them as it should be
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
typedef struct later later_t;
struct later { u32 a; };
static u32 g(const later_t *p) { return p->a; }
void packet(int port) { later_t *p = header(later_t, 0); p->a = g(p); emit(0); }
