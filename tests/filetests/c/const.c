=== what a pointer to const leads to
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct part { u8 bytes[4]; mac_t mac; };
struct whole { u32 n; struct part part; };
static struct whole data;
static void one(const u32 *p) { *p = 9; p[1] += 2; p = p; }
static void list(const u32 p[2]) { p[0]++; p = &p[1]; }
static const struct whole *same(void) { return &data; }
void packet(int port)
{
    const struct whole *view = header(struct whole, 0);
    struct whole const *other = view;
    struct whole *const fixed = header(struct whole, 0);
    view->n = 1;
    view->part.bytes[1] = 1;
    view->part.mac.byte[1] = 1;
    *view = data;
    other->n--;
    same()->n = 1;
    (port ? view : fixed)->n = 1;
    fixed->n = 2;
    fixed = 0;
    other = fixed;
    one(&data.n);
    list(&view->n);
    emit(0);
}
=== a pointer to const where one that writes is wanted
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct s { u32 n; u8 bytes[4]; };
PARAM(u32, number, "N", OPTIONAL(1));
PARAM_LIST(u32, numbers, "L", OPTIONAL(0));
TABLE_EXACT(table, u32, u32, 4, 0);
static const u32 fixed[2] = { 1, 2 };
static u8 bytes[4];
static u32 sum(const u32 *from) { return from[0] + from[1]; }
static void fill(u32 *to) { to[0] = 1; }
static u32 *through(const u32 *p) { return p; }
static u32 total(u32 *of) { return *of; }
void packet(int port)
{
    const struct s *view = header(struct s, 0);
    struct s *write = view;
    const u8 *own = bytes;
    struct s copy = *view;
    write = view;
    write = port ? header(struct s, 0) : view;
    fill(fixed);
    fill(&fixed[1]);
    fill(&number);
    fill(numbers);
    fill(&view->n);
    fill(&copy.n);
    total(fixed);
    packet_read(own, 0, 4);
    packet_read(view->bytes, 0, 4);
    packet_write(0, own, 4);
    table_find(table, &fixed[0]);
    fill((u32 *) &copy.n);
    sum(fixed);
    sum(&copy.n);
    emit(0);
}
=== const pointers as they are meant
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct s { u32 n; mac_t mac; };
PARAM_LIST(u32, numbers, "L", OPTIONAL(0));
TABLE_EXACT(table, u32, struct s, 4, 0);
static const u32 fixed[2] = { 1, 2 };
static u32 sum(const u32 *from, u32 count) { u32 n = 0; for (u32 i = 0; i < count; i++) n += from[i]; return n; }
static const struct s *either(const struct s *a, struct s *b, bool first) { return first ? a : b; }
void packet(int port)
{
    struct s *view = header(struct s, 0);
    const struct s *again = view;
    u32 copy[2];
    const u32 key = 4;
    const struct s *entry = table_find(table, &key);
    if (entry && entry->n == sum(fixed, 2) + sum(numbers, numbers_count))
        view->n = either(again, view, port == 0)->n;
    copy[0] = view->n;
    copy[1] = 3;
    again = (const struct s *) view;
    ((struct s *) again)->n = sum(copy, 2);
    emit(0);
}
=== members and views that are const
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
struct s { const u32 n; u8 const bytes[4]; u32 free; const mac_t mac; };
static const struct s initial = { 1, { 1, 2, 3, 4 }, 2, {{ 0 }} };
static struct s own = { 3, { 0 }, 4, {{ 0 }} };
static u32 last(u8 *bytes) { return bytes[3]; }
void packet(int port)
{
    const struct s *view = header(const struct s, 0);
    struct s *write = header(const struct s, 0);
    header(const struct s, 0)->free = 1;
    own.n = 1;
    own.bytes[1] = 1;
    own.mac.byte[0] = 1;
    own.free = initial.n + view->n + last(own.bytes);
    emit(0);
}
