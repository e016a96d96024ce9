// Layer 2 and 3 with an access list: own addresses, routes to next hops, next hops to frames, rules over addresses and ports.
#include <core.p4>
#include <v1model.p4>

#ifndef SIZE
#define SIZE 16384
#endif

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> sum;
    bit<32> src; bit<32> dst;
}
header ports_t { bit<16> src; bit<16> dst; }
struct headers { ethernet_t eth; ipv4_t ip; ports_t ports; }
struct metadata { bit<16> hop; bit<16> sport; bit<16> dport; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.eth);
        transition select(h.eth.type) {
            0x800: ip;
            default: accept;
        }
    }
    state ip {
        p.extract(h.ip);
        transition select(h.ip.ihl, h.ip.offset, h.ip.protocol) {
            (5, 0, 6): ports;
            (5, 0, 17): ports;
            default: accept;
        }
    }
    state ports {
        p.extract(h.ports);
        m.sport = h.ports.src;
        m.dport = h.ports.dst;
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) {
    apply {
        verify_checksum(h.ip.isValid(), { h.ip.version, h.ip.ihl, h.ip.tos, h.ip.length, h.ip.id, h.ip.flags, h.ip.offset, h.ip.ttl,
            h.ip.protocol, h.ip.src, h.ip.dst }, h.ip.sum, HashAlgorithm.csum16);
    }
}

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action permit() {}
    action route(bit<16> hop) { m.hop = hop; }
    action frame(bit<48> dst, bit<48> src, bit<9> port) {
        h.eth.dst = dst;
        h.eth.src = src;
        h.ip.ttl = h.ip.ttl - 1;
        s.egress_spec = port;
    }
    table own {
        key = { h.eth.dst: exact; }
        actions = { permit; drop; }
        size = 64;
        default_action = drop();
    }
    table routes {
        key = { h.ip.dst: lpm; }
        actions = { route; drop; }
        size = SIZE;
        default_action = drop();
    }
    table hops {
        key = { m.hop: exact; }
        actions = { frame; drop; }
        size = 1024;
        default_action = drop();
    }
    table rules {
        key = { h.ip.src: ternary; h.ip.dst: ternary; h.ip.protocol: ternary; m.sport: ternary; m.dport: ternary; }
        actions = { permit; drop; }
        size = 512;
        default_action = permit();
    }
    apply {
        if (!h.ip.isValid() || s.checksum_error == 1 || h.ip.ttl < 2) {
            drop();
        } else if (own.apply().hit) {
            routes.apply();
            hops.apply();
            rules.apply();
        } else {
            drop();
        }
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }

control Compute(inout headers h, inout metadata m) {
    apply {
        update_checksum(h.ip.isValid(), { h.ip.version, h.ip.ihl, h.ip.tos, h.ip.length, h.ip.id, h.ip.flags, h.ip.offset, h.ip.ttl,
            h.ip.protocol, h.ip.src, h.ip.dst }, h.ip.sum, HashAlgorithm.csum16);
    }
}

control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
