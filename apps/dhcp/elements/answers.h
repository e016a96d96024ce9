/*
 * answers.h -- what DhcpServer sends: answers to messages, and echo requests
 *
 * The message at offset 0 of the packet becomes its answer; what it says is in asked, what it gets in address and answer.
 *
 * Source: RFC 2131 4.1 and 4.3, RFC 792.
 */
#pragma once

static void put_parameters(void)
{
    u32 seconds = granted_seconds();

    if (asked.type != INFORM) {
        put_number(OPTION_LEASE_TIME, seconds);
        put_number(OPTION_RENEWAL, seconds / 2);
        put_number(OPTION_REBINDING, seconds - seconds / 8);
    }
    put_header(OPTION_MASK, 4);
    put_address(my_network.mask);
    if (routers_count > 0)
        put_header(OPTION_ROUTERS, 4 * routers_count);
    for (u32 i = 0; i < routers_count; i++)
        put_address(routers[i]);
    if (name_servers_count > 0)
        put_header(OPTION_DNS, 4 * name_servers_count);
    for (u32 i = 0; i < name_servers_count; i++)
        put_address(name_servers[i]);
    if (domain_count > 0) {
        put_header(OPTION_DOMAIN, domain_count);
        packet_write(option_at, domain, domain_count);
        option_at += domain_count;
    }
}

/* Makes the message its answer. */
static void make_answer(void)
{
    struct dhcp *dhcp;

    begin_options(answer);
    dhcp = header(struct dhcp, 0);
    dhcp->op = BOOT_REPLY;
    dhcp->hops = 0;
    dhcp->secs = htons(0);
    dhcp->yiaddr = address;
    dhcp->siaddr = htonl(0);
    if (answer != ACK)
        dhcp->ciaddr = htonl(0);
    if (answer == NAK && dhcp->giaddr != htonl(0))
        dhcp->flags |= htons(FLAG_BROADCAST);
    put_header(OPTION_SERVER, 4);
    put_address(my_network.addr);
    if (answer != NAK)
        put_parameters();
    end_options();
}

static void encapsulate(be32 to, u16 port)
{
    struct udp *udp;
    u32 length;

    packet_push(sizeof(struct udp));
    length = packet_length();
    udp = header(struct udp, 0);
    udp->sport = htons(SERVER_PORT);
    udp->dport = htons(port);
    udp->length = htons((u16) length);
    ip_id += 1;
    ip_encapsulate(PROTOCOL_UDP, my_network.addr, to, ip_id);
    udp = header(struct udp, sizeof(struct ip));
    udp->checksum = htons(checksum_not_zero(segment_checksum(header(struct ip, 0), sizeof(struct ip), length)));
}

/* Puts headers before an answer, and says by which output it leaves (RFC 2131 4.1). */
static int address_answer(void)
{
    static const u8 everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    const struct dhcp *dhcp = header(struct dhcp, 0);
    be32 relay = dhcp->giaddr, renews = dhcp->ciaddr;
    bool to_all = answer == NAK || (renews == htonl(0) && (dhcp->flags & htons(FLAG_BROADCAST)) != htons(0));
    struct ether *ether;

    if (relay != htonl(0) || (renews != htonl(0) && !is_here(renews))) {
        encapsulate(relay != htonl(0) ? relay : renews, relay != htonl(0) ? SERVER_PORT : CLIENT_PORT);
        return BY_ARP;
    }
    encapsulate(to_all ? htonl(0xffffffff) : renews != htonl(0) ? renews : address, CLIENT_PORT);
    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->src = my_mac;
    ether->dst = mac;
    ether->type = htons(ETHERTYPE_IP);
    if (to_all)
        packet_write(0, everybody, sizeof(everybody));
    set_mac_header(0);
    return TO_CLIENT;
}

/* ---- Echo requests ---- */

/* The message waits, and an echo request becomes the packet. */
static int begin_ping(void)
{
    u32 slot = next_ping % MOST_PINGS;
    u64 time = now();
    struct icmp_echo *icmp;

    if (!packet_hold(slot)) {
        set_state(address, FREE, 0);
        return TOO_MANY_PINGS;
    }
    packet_create(sizeof(struct icmp_echo));
    icmp = header(struct icmp_echo, 0);
    icmp->type = ICMP_ECHO;
    icmp->id = htons(PING_ID);
    icmp->seq = htons((u16) next_ping);
    icmp->checksum = htons(checksum(0, sizeof(struct icmp_echo)));
    ip_id += 1;
    ip_encapsulate(PROTOCOL_ICMP, my_network.addr, address, ip_id);
    pings[slot].address = address;
    pings[slot].ends = time + ping_time;
    pings[slot].is_open = true;
    if (first_ping == next_ping)
        timer_set(0, time + ping_time);
    next_ping += 1;
    waiting += 1;
    echo_requests += 1;
    return BY_ARP;
}

/* A host answers: its address is not leased for a while, and the message that waited becomes the packet. */
static int end_ping(void)
{
    u32 start = network_offset(), seq, slot;
    const struct ip *ip = header(struct ip, start);
    const struct icmp_echo *icmp = header(struct icmp_echo, start + ip_header_length(ip));
    be32 from = ip->src;
    const struct lease *lease = table_find(addresses, &from);
    u64 time = now();

    seq = ntohs(icmp->seq);
    slot = seq % MOST_PINGS;
    if (icmp->type != ICMP_ECHO_REPLY || icmp->id != htons(PING_ID) || !pings[slot].is_open || pings[slot].address != from || !lease)
        return NO_PING;
    pings[slot].is_open = false;
    waiting -= 1;
    conflicts += 1;
    if (lease->state == PINGED || lease->state == FREE) {
        disown(from);
        set_state(from, DECLINED, time + declined_time);
    }
    if (!packet_take(slot))
        return NO_PING;
    set_time(time);
    return TO_CLIENT;
}

/* Nobody has answered: the address is offered, if it still waits for that. */
static int offer_pinged(u32 slot)
{
    const struct lease *lease;

    address = pings[slot].address;
    lease = table_find(addresses, &address);
    if (!lease || lease->state != PINGED || !equal(lease->client, client))
        return OTHER_SERVER;
    set_state(address, OFFERED, now() + offer_time);
    answer = OFFER;
    offers += 1;
    return TO_CLIENT;
}
