/*
 * UDPIPEncap(SRC, SPORT, DST, DPORT [, CHECKSUM]) -- puts UDP and IP headers before packets
 *
 * Ports are numbers or names. The IP header has no options, time to live 250, and an identification that counts up from 0; it is marked and DST becomes
 * the destination annotation. If DST is DST_ANNO, the annotation is the destination instead. CHECKSUM false: no UDP checksum; true by
 * default.
 *
 * Handlers: src, sport, dst, dport (read, write), the arguments; a dst of 0.0.0.0 is the annotation.
 *
 * Example: `UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 1234)`
 *
 * See also: IPEncap, Strip.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(UDPIPEncap, "1/1", "a/a");
PARAM(be32, source, "SRC", REQUIRED);
PARAM_AS(IPPORT, u16, source_port, "SPORT", REQUIRED);
PARAM_AS(IP_OR_ANNO, be32, destination, "DST", REQUIRED);
PARAM_AS(IPPORT, u16, destination_port, "DPORT", REQUIRED);
PARAM(bool, with_checksum, "CHECKSUM", OPTIONAL(true));

#include "udp_encap.h"

static u16 next_id;
static be32 current_source, current_destination;
static u16 current_sport, current_dport;

void init(void)
{
    current_source = source;
    current_destination = destination;
    current_sport = source_port;
    current_dport = destination_port;
}

void packet(int port)
{
    udp_encapsulate(current_sport, current_dport);
    ip_encapsulate(PROTOCOL_UDP, current_source, current_destination != htonl(0) ? current_destination : info(dst_ip), next_id);
    next_id += 1;
    if (with_checksum)
        set_udp_checksum();
    emit(0);
}

READ(src, be32, current_source);
WRITE(src, be32, current_source);
READ(sport, u16, current_sport);
WRITE(sport, u16, current_sport);
READ(dst, be32, current_destination);
WRITE(dst, be32, current_destination);
READ(dport, u16, current_dport);
WRITE(dport, u16, current_dport);
