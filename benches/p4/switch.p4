// A switch whose stations the control plane knows: ports by destination addresses, unknown ones to all.
#include <core.p4>
#include <v1model.p4>

#ifndef SIZE
#define SIZE 8192
#endif

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
    action to(bit<9> port) { s.egress_spec = port; }
    action all() { s.mcast_grp = 1; }
    table stations {
        key = { h.eth.dst: exact; }
        actions = { to; all; }
        size = SIZE;
        default_action = all();
    }
    apply { stations.apply(); }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        if (s.egress_port == s.ingress_port) {
            mark_to_drop(s);
        }
    }
}

control Compute(inout headers h, inout metadata m) { apply {} }

control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
