// The application of PVPP's evaluation (its Figure 4): routes to next hops, next hops to destination addresses, ports to source addresses, a table each.
#include <core.p4>
#include <v1model.p4>

#ifndef SIZE
#define SIZE 1024
#endif

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> sum;
    bit<32> src; bit<32> dst;
}
struct headers { ethernet_t eth; ipv4_t ip; }
struct metadata { bit<32> hop; bit<9> port; bit<16> length; }

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
        m.length = h.ip.length;
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action set_hop(bit<32> hop, bit<9> port) {
        m.hop = hop;
        m.port = port;
        h.ip.ttl = h.ip.ttl - 1;
    }
    action set_dmac(bit<48> dmac) { h.eth.dst = dmac; }
    action set_smac(bit<48> smac) { h.eth.src = smac; }
    action leave() { s.egress_spec = m.port; }
    table ipv4_match {
        key = { h.ip.dst: lpm; }
        actions = { set_hop; drop; }
        size = SIZE;
        default_action = drop();
    }
    table dest_mac {
        key = { m.hop: exact; }
        actions = { set_dmac; drop; }
        size = 256;
        default_action = drop();
    }
    table source_mac {
        key = { m.port: exact; }
        actions = { set_smac; drop; }
        size = 64;
        default_action = drop();
    }
    // As p4c's output has it: a table without keys that selects the interface.
    table output {
        actions = { leave; }
        const default_action = leave();
    }
    apply {
        if (h.ip.isValid()) {
            ipv4_match.apply();
            output.apply();
            dest_mac.apply();
            source_mac.apply();
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
