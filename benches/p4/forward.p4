// IPv4 forwarding: the function of the tutorials' exercise `basic`.
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
struct metadata {}

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
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action to(bit<48> mac, bit<9> port) {
        s.egress_spec = port;
        h.eth.src = h.eth.dst;
        h.eth.dst = mac;
        h.ip.ttl = h.ip.ttl - 1;
    }
    table routes {
        key = { h.ip.dst: lpm; }
        actions = { to; drop; NoAction; }
        size = SIZE;
        default_action = drop();
    }
    apply {
        if (h.ip.isValid()) {
            routes.apply();
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
