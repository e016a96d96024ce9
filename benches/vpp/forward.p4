// The benchmark of the PVPP paper (its figure 4): IPv4 forwarding by destination, with the addresses of Ethernet from two more tables.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> sum;
    bit<32> src; bit<32> dst;
}
struct headers { ethernet_t eth; ipv4_t ip; }
struct metadata { bit<32> hop; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.eth);
        transition select(h.eth.type) { 0x800: ip; default: accept; }
    }
    state ip { p.extract(h.ip); transition accept; }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action to(bit<32> hop, bit<9> port) {
        m.hop = hop;
        s.egress_spec = port;
        h.ip.ttl = h.ip.ttl - 1;
    }
    action rewrite_dmac(bit<48> mac) { h.eth.dst = mac; }
    action rewrite_smac(bit<48> mac) { h.eth.src = mac; }
    table ipv4_match { key = { h.ip.dst: lpm; } actions = { to; drop; } size = 1024; default_action = drop(); }
    table dest_mac { key = { m.hop: exact; } actions = { rewrite_dmac; drop; } size = 64; default_action = drop(); }
    table source_mac { key = { s.egress_spec: exact; } actions = { rewrite_smac; drop; } size = 16; default_action = drop(); }
    apply {
        if (h.ip.isValid()) {
            ipv4_match.apply();
            dest_mac.apply();
            source_mac.apply();
        } else {
            drop();
        }
    }
}

control Eg(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Compute(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Eg(), Compute(), Write()) main;
