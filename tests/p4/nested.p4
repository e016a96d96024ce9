// A table that is applied in the key of another one, and a select without keys.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> a; bit<8> b; bit<16> c; }
struct headers { data_t h; }
struct metadata { }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.h);
        transition select() { default: accept; }
    }
}
control Verify(inout headers h, inout metadata m) { apply { } }
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action one() { h.h.b = 7; }
    action two() { h.h.c = 9; }
    action set(bit<16> c) { h.h.c = c; }
    table inner {
        key = { h.h.a: exact; }
        actions = { one; NoAction; }
        const entries = { 1: one(); }
        default_action = NoAction();
    }
    table outer {
        key = { inner.apply().hit: exact @name("hit"); h.h.b: exact; }
        actions = { set; two; }
        const entries = { (true, 7): set(5); (false, 0): set(6); }
        default_action = two();
    }
    apply { s.egress_spec = 1; outer.apply(); }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers h, inout metadata m) { apply { } }
control Write(packet_out p, in headers h) { apply { p.emit(h.h); } }
V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
