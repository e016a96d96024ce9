/*
 * search.c -- texts and regular expressions of the standalone runtime, in the plainest way
 *
 * Expressions are POSIX extended ones, of the GNU C library, compiled when they are first used.
 */
#define _GNU_SOURCE 1
/* In one file the elements are before this, and with them the packing of their structs, which is none of the library's. */
#pragma pack(push)
#pragma pack()
#include <regex.h>
#pragma pack(pop)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netvm.h>

/* Those bytes of the packet, as far as it has them. */
static const char *searched(u32 offset, u32 *length)
{
    u32 all = nv_packet ? nv_packet->length : 0;

    if (!nv_packet)
        nv_trap("no packet");
    if (offset > all)
        offset = all;
    if (*length > all - offset)
        *length = all - offset;
    return (const char *) nv_packet->data + offset;
}

/* The longest text that ends there. */
static int ends_at(const char *const *texts, size_t count, const char *bytes, u32 end)
{
    int found = -1;

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]);

        if (length <= end && memcmp(bytes + end - length, texts[i], length) == 0 && (found < 0 || length > strlen(texts[found])))
            found = (int) i;
    }
    return found;
}

int nv_strings_find(const char *const *texts, size_t count, u32 offset, u32 length)
{
    const char *bytes = searched(offset, &length);
    int found = -1;

    for (u32 end = 1; end <= length && found < 0; end++)
        found = ends_at(texts, count, bytes, end);
    return found;
}

int nv_strings_place(const char *const *texts, size_t count, u32 offset, u32 length, int end)
{
    const char *bytes = searched(offset, &length);

    for (u32 last = 1; last <= length; last++) {
        int found = ends_at(texts, count, bytes, last);

        if (found >= 0)
            return (int) (offset + last - (end ? 0 : (u32) strlen(texts[found])));
    }
    return -1;
}

static struct re_pattern_buffer *compiled_of(const char *expression)
{
    struct re_pattern_buffer *compiled = calloc(1, sizeof(*compiled));

    re_set_syntax(RE_SYNTAX_POSIX_EXTENDED & ~(reg_syntax_t) RE_DOT_NOT_NULL);
    if (!compiled || re_compile_pattern(expression, strlen(expression), compiled)) {
        fprintf(stderr, "%s: no regular expression\n", expression);
        exit(1);
    }
    compiled->newline_anchor = 0;
    return compiled;
}

bool nv_regex_found(void **compiled, const char *expression, u32 offset, u32 length)
{
    const char *bytes = searched(offset, &length);

    if (!*compiled)
        *compiled = compiled_of(expression);
    return re_search(*compiled, bytes, (int) length, 0, (int) length, 0) >= 0;
}

int nv_regex_place(void **compiled, const char *expression, u32 offset, u32 length, int end)
{
    const char *bytes = searched(offset, &length);
    struct re_registers places = { 0 };
    int found = -1;

    if (!*compiled)
        *compiled = compiled_of(expression);
    if (re_search(*compiled, bytes, (int) length, 0, (int) length, &places) >= 0)
        found = (int) offset + (end ? places.end[0] : places.start[0]);
    free(places.start);
    free(places.end);
    ((struct re_pattern_buffer *) *compiled)->regs_allocated = REGS_UNALLOCATED;
    return found;
}
