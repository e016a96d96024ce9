// State of packets: a register by flow, counters, and a meter by destination, which drops what is red.
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
struct metadata { bit<16> flow; bit<32> seen; bit<2> color; }

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
    register<bit<32>>(65536) packets;
    counter(512, CounterType.packets_and_bytes) arrived;
    meter(1024, MeterType.bytes) limits;
    apply {
        if (!h.ip.isValid()) {
            mark_to_drop(s);
        } else {
            hash(m.flow, HashAlgorithm.crc16, 16w0, { h.ip.src, h.ip.dst }, 32w65536);
            packets.read(m.seen, (bit<32>) m.flow);
            packets.write((bit<32>) m.flow, m.seen + 1);
            arrived.count((bit<32>) s.ingress_port);
            limits.execute_meter((bit<32>) h.ip.dst[9:0], m.color);
            s.egress_spec = 1;
            if (m.color == 2) {
                mark_to_drop(s);
            }
        }
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }

control Compute(inout headers h, inout metadata m) { apply {} }

control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
