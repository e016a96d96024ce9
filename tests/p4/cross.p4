// What comes in by port 0 leaves by port 1, and the other way round; a frame to the first address of `own` is dropped.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t eth; }
struct metadata {}

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.eth);
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    counter(2, CounterType.packets_and_bytes) crossed;
    action drop() { mark_to_drop(s); }
    table own {
        key = { h.eth.dst: exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        s.egress_spec = s.ingress_port ^ 1;
        crossed.count((bit<32>) s.ingress_port);
        own.apply();
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }

control Update(inout headers h, inout metadata m) { apply {} }

control Write(packet_out p, in headers h) { apply { p.emit(h.eth); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
