=== structs before ELEMENT
#include <netvm.h>
struct packed_anyway { u16 a; u16 b; u32 c; be32 d; mac_t e; u16 f; };
struct gap { u8 flags; u32 vni; };
struct short_end { u32 a; u8 b; };
struct inner { u8 a; struct packed_anyway b; };
ELEMENT(E, "1/1", "a/a");
struct behind { u8 flags; u32 vni; };
void packet(int port) { emit(0); }
=== members of structs without names
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct a { u8 first; struct { u16 second; u8 third; }; u8 second; };
struct b { struct { u8 x; }; struct { u8 x; }; };
static struct a a;
void packet(int port) { a.thirt = 1; emit(0); }
=== enumerators
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
enum { CLASS_E = 0xf0000000, MOST = 0x7fffffff, TOO_MANY, LEAST = -2147483648, LESS = -2147483649 };
enum nobody kind;
void packet(int port) { enum nothing n; emit(0); }
=== values of one type
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void packet(int port)
{
    u8 a = 1;
    i8 b = 1;

    if (equal(a, b))
        emit(0);
}
=== keys of ranges
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
TABLE_RANGE(t, i32, u32, 16);
void packet(int port) { emit(0); }
=== forms of what comes in twos
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
TABLE_TERNARY(a, u32);
TABLE_RANGE(b, u32);
TABLE_PREFIX(c, u32);
WRITE(d);
WRITE_CALL(e);
void packet(int port) { emit(0); }
=== initial values
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct pair { u8 a; u8 b; };
static const u8 all[2][2] = { 1, 2, 3, 4, 5 };
static const struct pair three = { 1, 2, 3 };
static const u8 beyond[2] = { [2] = 1 };
static const mac_t seven = { 1, 2, 3, 4, 5, 6, 7 };
void packet(int port) { emit(0); }
=== a parameter as an index
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, place, "PLACE", REQUIRED);
static u32 first[4];
void packet(int port)
{
    if (place < 4)
        first[place] = 1;
    first[place] = 1;
    emit(0);
}
--- values
place 4
