// Learning addresses: a digest for each source that is not known.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t eth; }
struct metadata {}
struct seen_t { bit<48> src; bit<9> port; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.eth);
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    register<bit<32>>(4) sums;
    action learn() { digest<seen_t>(1, { h.eth.src, s.ingress_port }); }
    table known {
        key = { h.eth.src: exact; }
        actions = { learn; NoAction; }
        default_action = learn;
    }
    apply {
        known.apply();
        bit<32> n;
        sums.read(n, 2);
        sums.write(2, n + s.packet_length);
        s.egress_spec = 1;
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Update(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
