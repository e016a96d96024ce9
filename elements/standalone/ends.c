/*
 * ends.c -- a configuration in one program: FromDump, ToDump and their likes
 *
 * A source's packets are all read before the run, those that are not wanted left out; a record is as capture.c has it, with its bytes behind it, padded to eight.
 */
#include <stdlib.h>
#include <string.h>

#include "elements.h"

/* ---- In ---- */

enum place { BEFORE, WITHIN, BEHIND };

/* A limit so much behind a moment. */
static u64 after(u64 limit, u64 from)
{
    return limit > UINT64_MAX - from ? UINT64_MAX : from + limit;
}

static enum place place_of(struct nv_window *w, u64 time)
{
    u64 start;

    w->first = w->first == UINT64_MAX ? time : w->first;
    start = w->start != UINT64_MAX ? w->start : w->start_after != UINT64_MAX ? after(w->start_after, w->first) : 0;
    if (time < start)
        return BEFORE;
    w->begun = w->begun == UINT64_MAX ? time : w->begun;
    return time >= w->end || time >= after(w->end_after, w->first) || time >= after(w->interval, w->begun) ? BEHIND : WITHIN;
}

static bool is_sampled(struct nv_source *source)
{
    if (source->sample >= 1)
        return true;
    source->seed = source->seed * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    return (double) (source->seed >> 11) / (double) (UINT64_C(1) << 53) < source->sample;
}

static bool is_wanted(struct nv_source *source, u64 time)
{
    enum place place = source->ended ? BEHIND : place_of(&source->window, time);

    source->ended = place == BEHIND;
    return place == WITHIN && is_sampled(source);
}

/* Room for so many bytes more. */
static void source_room(struct nv_source *source, size_t size)
{
    if (source->size + size <= source->room)
        return;
    source->room = 2 * (source->size + size);
    source->bytes = realloc(source->bytes, source->room);
    if (!source->bytes)
        abort();
}

static void add_record(void *to, const struct nv_record *record, const void *bytes)
{
    struct nv_source *source = to;
    struct nv_record *kept;
    size_t size = sizeof(*record) + (record->captured + 7u) / 8 * 8;

    if (!is_wanted(source, record->time))
        return;
    source_room(source, size);
    kept = (struct nv_record *) (source->bytes + source->size);
    *kept = *record;
    kept->wire = record->wire > record->captured ? record->wire : record->captured;
    kept->captured = record->captured < source->longest ? record->captured : source->longest;
    memcpy(kept + 1, bytes, kept->captured);
    source->size += sizeof(*kept) + (kept->captured + 7u) / 8 * 8;
    source->first = source->count++ ? source->first : record->time;
    source->last = record->time;
}

bool nv_source_open(struct nv_source *source)
{
    u64 span;

    if (!source->path) {
        fprintf(stderr, "no capture stands for device '%s': %s=FILE\n", source->device, source->device);
        return false;
    }
    if (!nv_read_records(source->path, add_record, source))
        return false;
    source->link = nv_link_type();
    span = source->last - source->first;
    source->shift = source->count > 1 ? span + span / (source->count - 1) : 1;
    return true;
}

void nv_source_rewind(struct nv_source *source, u64 passes)
{
    source->wanted = passes;
    source->told = false;
    if (source->at == source->size)
        source->at = 0;
}

static const struct nv_record *next_of(const struct nv_source *source)
{
    return (const struct nv_record *) (source->bytes + source->at);
}

bool nv_source_has(const struct nv_source *source)
{
    return !source->idle && source->at < source->size;
}

bool nv_source_comes(struct nv_source *source)
{
    if (source->pulled || source->idle)
        return false;
    if (source->at == source->size && source->stops && !source->told) {
        source->told = true;
        nv_stops += 1;
    }
    return source->at < source->size;
}

u64 nv_source_time(const struct nv_source *source)
{
    return next_of(source)->time + source->passes * source->shift;
}

struct nv_packet *nv_source_take(struct nv_source *source)
{
    const struct nv_record *record = next_of(source);
    struct nv_packet *packet = nv_packet_new(record + 1, record->captured, record->wire, nv_source_time(source));

    source->taken += 1;
    source->at += sizeof(*record) + (record->captured + 7u) / 8 * 8;
    if (source->at == source->size && ++source->passes < source->wanted)
        source->at = 0;
    return packet;
}

struct nv_packet *nv_source_pull(struct nv_source *source)
{
    if (nv_source_has(source)) {
        nv_moved = true;
        return nv_source_take(source);
    }
    if (!source->idle && source->stops && !source->told) {
        source->told = true;
        nv_stops += 1;
    }
    return 0;
}

/* ---- IP ---- */

static u32 ethertype(u32 at)
{
    return at + 2 <= nv_packet->length ? (u32) nv_packet->data[at] << 8 | nv_packet->data[at + 1] : 0;
}

int nv_source_ip(const struct nv_source *source)
{
    enum { NO_LINK, ETHERNET, LOOP = 108, LINUX_COOKED = 113, RAW = 101, IP4 = 228, IP_TYPE = 0x0800, VLAN = 0x8100 };
    u32 at;
    u8 first;

    switch (source->link) {
    case ETHERNET:
        at = ethertype(12) == VLAN ? 18 : 14;
        break;
    case LINUX_COOKED: at = 16; break;
    case NO_LINK: case LOOP: at = 4; break;
    case RAW: case IP4: at = 0; break;
    default: return -1;
    }
    if ((source->link == ETHERNET || source->link == LINUX_COOKED) && ethertype(at - 2) != IP_TYPE)
        return -1;
    first = at < nv_packet->length ? nv_packet->data[at] : 0;
    return first >> 4 == 4 && (first & 15) >= 5 && nv_packet->length >= at + 20 ? (int) at : -1;
}

/* ---- Out ---- */

bool nv_sink_open(struct nv_sink *sink)
{
    if (!sink->path)
        return true;
    sink->file = nv_create_capture(sink->path, sink->link == NV_ANY_LINK ? nv_link_type() : sink->link, sink->longest, sink->micro);
    return sink->file != 0;
}

void nv_sink_write(struct nv_sink *sink)
{
    u32 kept = nv_packet->length < sink->longest ? nv_packet->length : sink->longest;

    sink->count += 1;
    if (sink->file)
        nv_write_record(sink->file, nv_packet, kept, sink->cut ? nv_packet->length : nv_packet->length + nv_packet->missing, sink->micro);
}
