=== forms of declarations
#include <netvm.h>
ELEMENT(E, "1:1", "a/q");
PARAM(u32, a, REQUIRED);
PARAM(u32, b, "B", REQUIERD);
PARAM(u32, c, "C", GIVEN);
PARAM(u32 *, d, "D", REQUIRED);
PARAM_AS(SECONDS, u64, e, "E", KEYWORD(x));
INFO(u32 *, i);
INFO(u8, j);
INFO(u16, j);
CONFIG("CLASSIFIER", f);
CONFIG(CLASSIFIER, f);
CONFIG(IPFILTER, g);
TABLE_EXACT(t, u32, u32, 4);
TABLE_PREFIX(u, u32 *, u32, 4);
TABLE_RANGE(v, in6_t, u32, 4);
TABLE_EXACT(w, u32, u8 *, 4, 0);
TABLE_TERNARY(x, u8, u8, packet_length());
SCOPE(u);
SCOPE(v, OURS);
SCOPE(w, GLOBAL(x));
SCOPE(x, REGIONAL(there, x));
SCOPE(y, GLOBAL);
REQUIRE(a < 4);
REQUIRE(nothing, "there is nothing");
void packet(int port) { emit(0); }
=== what is required is known before the element runs
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, a, "A", REQUIRED);
PARAM(string, s, "S", OPTIONAL("word"));
static u32 n;
REQUIRE(a < 4 && text_is(s, "word") && NOUTPUTS == 1, "no fault");
REQUIRE(n == 0, "there is a variable");
REQUIRE(packet_length() > 0, "there is a packet");
void packet(int port) { emit(0); }
--- values
a 3
=== tables
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct key { be32 a; be32 b; };
TABLE_EXACT(exact, struct key, u32, 4, 0);
TABLE_PREFIX(prefix, be32, u32, 4);
void packet(int port)
{
    be32 k = 0;
    struct key key = { 0, 0 };
    table_find(exact, &k);
    table_find(exact, key);
    table_find(exact, &key);
    table_find(exakt, &key);
    table_find(key, &key);
    table_insert(prefix, &k);
    *exact = 1;
    emit(0);
}
=== handlers for people
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, p, "P", OPTIONAL(1));
static u32 count;
static u16 rate(void) { return 1; }
static void reset(u32 n) { count = n; }
READ(count, u64, count);
READ(rate, u32, rate);
READ(p, u32, p);
READ_CALL(rate, u32, rate);
READ_CALL(none, u32, nothing);
WRITE_CALL(reset, none, reset);
WRITE_CALL(set, u32, reset);
WRITE_CALL(set, u32, reset);
READ_CALL(text, test, reset);
void packet(int port) { emit(0); }
=== parameters without values
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, n, "LENGTH", REQUIRED);
PARAM(u32, m, "MORE", OPTIONAL(4));
PARAM(mac_t, mac, "MAC", KEYWORD_REQUIRED);
void packet(int port) { packet_pull(n + m); emit(0); }
--- values
mac 1
=== what CONFIG makes is wrong
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
CONFIG(CLASSIFIER, classify);
void packet(int port) { emit(classify()); }
--- generated
static int classify(void)
{
    return classify_byte(0) == 8;
}
=== timers
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 n;
void timer(int t) { timer_set(n, 0); timer_set(16, 0); timer_set(15, now() + 1); }
=== searching
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, number, "N", KEYWORD(1));
STRINGS(none);
STRINGS(some, "one", number);
STRINGS(zero, "a\0b");
STRINGS(texts, "one", "two");
REGEX(two, "one", "two");
REGEX(expression, "one");
void init(void)
{
    regex_found(expression, 0, 4);
}
void packet(int port)
{
    strings_find(expression, 0, 4);
    regex_found(port, 0, 4);
    strings_find(text, 0, 4);
    emit(texts);
}
=== a scope of what is const, of nothing, and of a parameter
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, most, "MOST", OPTIONAL(1));
static const u32 known = 4;
SCOPE(known, GLOBAL);
SCOPE(most, GLOBAL);
SCOPE(nothing, GLOBAL);
void packet(int port) { emit(0); }
=== variables with scopes
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static u32 counts[4] = { 1, 2 };
SCOPE(counts, UNIVERSAL);
static mac_t last;
SCOPE(last, REGIONAL);
void packet(int port) { counts[packet_length() & 3] += 1; last = *header(mac_t, 0); emit(0); }
READ(last, mac_t, last);
=== copies beyond an array
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, n, "N", KEYWORD(12));
static u8 a[10];
static u8 b[10];
static u8 whole[16];
SCOPE(whole, GLOBAL);
static const u8 fixed[4] = { 1 };
static void fill(u8 *to, u32 length) { packet_read(to, 0, length); }
void packet(int port)
{
    u8 c[6];
    packet_read(a, 0, 20);
    packet_read(a, 0, 10);
    packet_read(&b[4], 0, 7);
    packet_write(0, b, n);
    packet_write(0, fixed, sizeof fixed + 1);
    packet_read(whole, 0, 17);
    packet_read(c, 1, 6);
    fill(c, 6);
    fill(&b[packet_length() & 7], 2);
    emit(0);
}
=== tables that hold nothing, or too much
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, n, "CAPACITY", KEYWORD(4000000000));
TABLE_EXACT(none, u32, u32, 0, 0);
TABLE_PREFIX(less, be32, u32, 2 - 3);
TABLE_EXACT(much, u32, u32, 67108865, 0);
TABLE_EXACT(most, u32, u32, 67108864, 0);
TABLE_EXACT(brief, u32, u32, 2 * n, 0);
TABLE_EXACT(lasting, u32, u32, 2 * n, 0);
void packet(int port) { emit(0); }
=== labels
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void packet(int port)
{
again:
    if (packet_length() > 4)
        goto again;
    switch (port) {
    case 0: packet_pull(1);
    default: emit(0);
    }
}
=== regular expressions that are none, or too large
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
REGEX(open, "a(b");
REGEX(back, "(a)\\1");
REGEX(large, "((a{1000}){1000}){1000}");
REGEX(bytes, "\xe9[a-z]\\.");
enum { NONE };
void packet(int port)
{
    if (regex_found(open, 0, 4) || regex_found(bytes, 0, 4))
        emit(0);
    drop(NONE);
}
=== a regular expression that is not asked for
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
REGEX(open, "(");
void packet(int port) { emit(0); }
