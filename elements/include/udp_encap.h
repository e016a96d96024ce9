/*
 * udp_encap.h -- a UDP header before a packet, and its checksum when the IP header is there, too
 */
#pragma once

static inline void udp_encapsulate(u16 sport, u16 dport)
{
    struct udp *udp;

    packet_push(sizeof(struct udp));
    udp = header(struct udp, 0);
    udp->sport = htons(sport);
    udp->dport = htons(dport);
    udp->length = htons((u16) packet_length());
}

/* Of a packet that begins with an IP header without options. */
static inline void set_udp_checksum(void)
{
    struct udp *udp = header(struct udp, sizeof(struct ip));
    u16 sum = segment_checksum(header(struct ip, 0), sizeof(struct ip), ntohs(udp->length));

    udp->checksum = htons(sum == 0 ? 0xffff : sum);
}
