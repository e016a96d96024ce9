/*
 * ICMPIPEncap(SRC, DST, TYPE [, CODE, keyword IDENTIFIER]) -- makes packets the data of ICMP messages
 *
 * ICMP and IP headers are put before the packet: from SRC to DST, with TYPE and CODE, numbers or names (see ICMPError). Messages that have them get
 * IDENTIFIER (0 by default) and a sequence number that counts up from 0.
 *
 * Handlers: src, dst (read/write).
 *
 * Source: RFC 792. See also: ICMPPingResponder, ICMPError, ICMPPingEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMPIPEncap, "1/1", "a/a");
PARAM(be32, source, "SRC", REQUIRED);
PARAM(be32, destination, "DST", REQUIRED);
PARAM_AS(ICMP_TYPE, u8, message_type, "TYPE", REQUIRED);
PARAM_AS(ICMP_CODE, u8, message_code, "CODE", OPTIONAL(0));
PARAM(u16, identifier, "IDENTIFIER", KEYWORD(0));

static be32 current_source, current_destination;
static u16 next_id, sequence;

void init(void)
{
    current_source = source;
    current_destination = destination;
}

static bool has_sequence(void)
{
    return message_type == ICMP_ECHO || message_type == ICMP_ECHO_REPLY || (message_type >= ICMP_TIMESTAMP && message_type <= ICMP_INFO_REPLY);
}

static void encapsulate_icmp(void)
{
    struct icmp_echo *icmp;

    packet_push(sizeof(struct icmp_echo));
    icmp = header(struct icmp_echo, 0);
    icmp->type = message_type;
    icmp->code = message_code;
    if (has_sequence()) {
        icmp->id = htons(identifier);
        icmp->seq = htons(sequence);
        sequence += 1;
    }
    icmp->checksum = htons(checksum(0, packet_length()));
}

void packet(int port)
{
    encapsulate_icmp();
    ip_encapsulate(PROTOCOL_ICMP, current_source, current_destination, next_id);
    next_id += 1;
    emit(0);
}

READ(src, be32, current_source);
WRITE(src, be32, current_source);
READ(dst, be32, current_destination);
WRITE(dst, be32, current_destination);
