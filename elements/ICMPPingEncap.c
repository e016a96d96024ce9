/*
 * ICMPPingEncap(SRC, DST [, keyword IDENTIFIER]) -- makes packets the data of ICMP echo requests
 *
 * ICMP and IP headers are put before the packet: from SRC to DST, with IDENTIFIER (0 by default) and a sequence number that counts up from 1 and leaves out 0. Time to live is 255.
 *
 * Handlers: src, dst (read/write).
 *
 * Source: RFC 792. See also: ICMPPingResponder, ICMPError, ICMPIPEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMPPingEncap, "1/1", "a/a");
PARAM(be32, source, "SRC", REQUIRED);
PARAM(be32, destination, "DST", REQUIRED);
PARAM(u16, identifier, "IDENTIFIER", KEYWORD(0));

static be32 current_source, current_destination;
static u16 next_id = 1;

void init(void)
{
    current_source = source;
    current_destination = destination;
}

static void encapsulate_icmp(void)
{
    struct icmp_echo *icmp;

    packet_push(sizeof(struct icmp_echo));
    icmp = header(struct icmp_echo, 0);
    icmp->type = ICMP_ECHO;
    icmp->id = htons(identifier);
    icmp->seq = htons(next_id);
    icmp->checksum = htons(checksum(0, packet_length()));
}

void packet(int port)
{
    encapsulate_icmp();
    ip_encapsulate(PROTOCOL_ICMP, current_source, current_destination, next_id);
    header(struct ip, 0)->ttl = 255;
    ip_set_checksum(0);
    next_id = next_id == 0xffff ? 1 : (u16) (next_id + 1);
    emit(0);
}

READ(src, be32, current_source);
WRITE(src, be32, current_source);
READ(dst, be32, current_destination);
WRITE(dst, be32, current_destination);
