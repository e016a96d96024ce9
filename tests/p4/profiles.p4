// Action profiles and selectors: the port comes from a member, of a group by the hash of the flow.
#include <core.p4>
#include <v1model.p4>

header flow_t { bit<8> route; bit<16> flow; }
struct headers { flow_t flow; }
struct metadata {}

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.flow);
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc16, 32w16, 32w16) ways;
    action_profile(4) marks;
    action to(bit<9> port) { s.egress_spec = port; }
    action mark(bit<8> value) { h.flow.route = value; }
    table routes {
        key = { h.flow.route: exact; h.flow.flow: selector; }
        actions = { to; NoAction; }
        const default_action = NoAction;
        implementation = ways;
    }
    table marked {
        key = { h.flow.route: lpm; }
        actions = { mark; NoAction; }
        default_action = NoAction;
        implementation = marks;
    }
    apply {
        s.egress_spec = 9;
        routes.apply();
        marked.apply();
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Update(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
