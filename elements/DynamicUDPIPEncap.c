/*
 * DynamicUDPIPEncap(SRC, SPORT, DST, DPORT [, CHECKSUM, INTERVAL]) -- puts UDP and IP headers before packets, with ports that count up
 *
 * After each INTERVAL packets both ports become one more, and 0 after 65535; INTERVAL 0, the default, keeps them. All else is as UDPIPEncap does it: time to live 250, an identification that counts up from
 * 0, the IP header marked, DST as the destination annotation. CHECKSUM false: no UDP checksum; true by default.
 *
 * Example: `DynamicUDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 1234, 1, 10)`
 *
 * See also: UDPIPEncap, IPEncap, Strip.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(DynamicUDPIPEncap, "1/1", "a/a");
PARAM(be32, source, "SRC", REQUIRED);
PARAM_AS(IPPORT, u16, source_port, "SPORT", REQUIRED);
PARAM(be32, destination, "DST", REQUIRED);
PARAM_AS(IPPORT, u16, destination_port, "DPORT", REQUIRED);
PARAM(bool, with_checksum, "CHECKSUM", OPTIONAL(true));
PARAM(u32, interval, "INTERVAL", OPTIONAL(0));

#include "udp_encap.h"

static u16 next_id;
static u16 current_sport, current_dport;
static u32 in_interval;

void init(void)
{
    current_sport = source_port;
    current_dport = destination_port;
}

static void count(void)
{
    in_interval += 1;
    if (interval == 0 || in_interval != interval)
        return;
    in_interval = 0;
    current_sport += 1;
    current_dport += 1;
}

void packet(int port)
{
    udp_encapsulate(current_sport, current_dport);
    ip_encapsulate(PROTOCOL_UDP, source, destination, next_id);
    next_id += 1;
    if (with_checksum)
        set_udp_checksum();
    count();
    emit(0);
}
