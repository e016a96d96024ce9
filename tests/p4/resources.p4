// Entries of the program, entries that are not used for some time, registers of structures, and a selector: what controllers ask for.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t eth; }
struct metadata { }
struct place_t { bool known; bit<9> port; bit<16> type; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition accept; }
}
control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    register<place_t>(4) places;
    action_selector(HashAlgorithm.identity, 32w16, 32w8) ways;

    action drop() { mark_to_drop(s); }
    action to(bit<9> port) { s.egress_spec = port; }

    table fixed {
        key = { h.eth.type: ternary; h.eth.src: range; }
        actions = { to; drop; NoAction; }
        const entries = {
            (0x800 &&& 0xff00, _) : to(1);
            (_, 7 .. 9) : drop();
        }
    }
    table first {
        key = { h.eth.dst: lpm; }
        actions = { to; NoAction; }
        entries = { 0xa00000000000 &&& 0xff0000000000 : to(2); }
        size = 8;
        support_timeout = true;
    }
    table chosen {
        key = { h.eth.type: exact; h.eth.src[7:0]: selector; }
        actions = { to; drop; }
        implementation = ways;
    }
    apply {
        place_t place;
        places.read(place, (bit<32>)h.eth.dst[1:0]);
        if (place.known) {
            h.eth.type = place.type;
            s.egress_spec = place.port;
        }
        places.write(3, { h.eth.type == 0x900, s.ingress_port, h.eth.type });
        if (fixed.apply().miss) {
            if (first.apply().miss) { chosen.apply(); }
        }
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Update(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
