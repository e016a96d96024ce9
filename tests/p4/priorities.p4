// Entries that say their priority, and entries that have one by their place.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> a; bit<8> b; bit<8> c; }
struct headers { data_t data; }
struct metadata { }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.data); transition accept; }
}
control Verify(inout headers h, inout metadata m) { apply { } }
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action first(bit<8> n) { h.data.b = n; }
    action second(bit<8> n) { h.data.c = n; }
    table largest {
        key = { h.data.a: ternary; }
        actions = { first; NoAction; }
        default_action = NoAction();
        priority_delta = 10;
        // 50, 40, 45 and 35: the third goes before the second.
        entries = {
            priority = 50: 0x11 &&& 0xff: first(1);
            0x10 &&& 0xf3: first(2);
            priority = 45: 0x14 &&& 0xff: first(3);
            0x10 &&& 0xf0: first(4);
        }
    }
    table smallest {
        key = { h.data.a: ternary; }
        actions = { second; NoAction; }
        default_action = NoAction();
        largest_priority_wins = false;
        // 7, 8 and 1: the last one goes first.
        entries = {
            priority = 7: 0x10 &&& 0xf0: second(1);
            _: second(2);
            priority = 1: 0x12 &&& 0xff: second(3);
        }
    }
    apply {
        s.egress_spec = 1;
        largest.apply();
        smallest.apply();
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers h, inout metadata m) { apply { } }
control Write(packet_out p, in headers h) { apply { p.emit(h.data); } }
V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
