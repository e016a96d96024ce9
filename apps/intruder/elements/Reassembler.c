/*
 * Reassembler(PORT, [keywords MESSAGES, TIMEOUT]) -- puts messages together whose fragments come in any order
 *
 * The IP header must be marked. UDP packets to PORT carry fragments of messages: flow (32 bits), number of the message in it (16), number of the fragment from 0, number of fragments
 * (at most 4), place of its first byte in the message, length of the message (8 each; at most 128), and the bytes. Each packet leaves by output 0 as it came; the last of a message is
 * preceded by the whole message, a packet by itself, at output 1: its flow and number, six bytes, and its text. Other packets leave by output 0.
 *
 *   MESSAGES  messages that are put together at a time, 4,096 by default; fragments of others are counted and pass
 *   TIMEOUT   how long fragments are kept after the last of them, 10 seconds by default
 *
 * A fragment that came before, that does not fit to the others, or goes beyond the message is counted and passes; what came first stays. Bytes are kept in arrays of the message's entry.
 *
 * Handlers: messages, repeated, damaged, no_room (read): whole messages; fragments that came again, that do not fit, for which there is no room.
 *
 * Source: the paper of NetTM, Table 1 (Intruder2, after Intruder of STAMP). See also: SignatureSearch.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Reassembler, "1/2", "h/h");
PARAM(u16, to_port, "PORT", REQUIRED);
PARAM(u32, capacity, "MESSAGES", KEYWORD(4096));
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(10000000000));

enum { LONGEST = 128, MOST_FRAGMENTS = 4 };

struct fragment { be32 flow; be16 message; u8 number, count, place, length; };
struct key { be32 flow; be16 message; };
/* What there is of a message: which fragments, how many bytes, and these. */
struct message { u8 count, length, there, filled; u8 bytes[LONGEST]; };
TABLE_EXACT(messages_by_key, struct key, struct message, capacity, timeout);

static struct key key;
static struct message message;
static u64 messages, repeated, damaged, no_room;

/* Where a fragment begins, 0 if the packet carries none. */
static u32 fragment_at(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 at = start + ip_header_length(ip);

    if (ip->protocol != PROTOCOL_UDP || ip_is_fragment(ip) || packet_length() < at + sizeof(struct udp) + sizeof(struct fragment))
        return 0;
    return header(struct udp, at)->dport == htons(to_port) ? at + (u32) sizeof(struct udp) : 0;
}

/* Does the fragment, of so many bytes, fit into a message of these numbers? */
static bool fits(const struct fragment *fragment, u32 bytes)
{
    return fragment->count >= 1 && fragment->count <= MOST_FRAGMENTS && fragment->number < fragment->count && fragment->length <= LONGEST
        && bytes > 0 && fragment->place + bytes <= fragment->length;
}

static void copy(u32 from, u32 bytes, u32 to)
{
    const u8 *text = header_array(u8, from, bytes);

    for (u32 i = 0; i < bytes && to + i < LONGEST; i++)
        message.bytes[to + i] = text[i];
}

/* Adds a fragment of so many bytes; true if its message is whole now. */
static bool add(u32 at, u32 bytes)
{
    const struct fragment *fragment = header(struct fragment, at);
    u8 bit = (u8) (1 << fragment->number);
    struct message *kept = table_insert(messages_by_key, &key);

    if (!kept) {
        no_room += 1;
        return false;
    }
    message = *kept;
    if ((message.there & bit) != 0) {
        repeated += 1;
        return false;
    }
    if (message.there != 0 && (message.count != fragment->count || message.length != fragment->length)) {
        damaged += 1;
        return false;
    }
    message.count = fragment->count;
    message.length = fragment->length;
    message.there |= bit;
    message.filled += (u8) bytes;
    copy(at + (u32) sizeof(struct fragment), bytes, fragment->place);
    *kept = message;
    return message.there == (1 << message.count) - 1;
}

/* The packet becomes the whole message, as a copy that leaves before it. No message is longer than LONGEST; the limit shows that. */
static void send_message(void)
{
    u32 length = message.length < LONGEST ? message.length : LONGEST;

    if (!packet_hold(0))
        return;
    packet_create(sizeof(struct key) + length);
    *header(struct key, 0) = key;
    packet_write(sizeof(struct key), message.bytes, length);
    clone(1);
    packet_take(0);
}

void push(int port)
{
    u32 at = fragment_at(network_offset()), end = network_offset() + ntohs(header(struct ip, network_offset())->length), bytes;
    const struct fragment *fragment;

    if (at == 0 || end > packet_length())
        emit(0);
    fragment = header(struct fragment, at);
    bytes = end - at - (u32) sizeof(struct fragment);
    if (end < at + sizeof(struct fragment) || !fits(fragment, bytes)) {
        damaged += 1;
        emit(0);
    }
    key.flow = fragment->flow;
    key.message = fragment->message;
    if (!add(at, bytes))
        emit(0);
    table_delete(messages_by_key, &key);
    if (message.filled != message.length) {
        damaged += 1;
        emit(0);
    }
    messages += 1;
    send_message();
    emit(0);
}

READ(messages, u64, messages);
READ(repeated, u64, repeated);
READ(damaged, u64, damaged);
READ(no_room, u64, no_room);
