// Numbers without bounds that are parameters: of constructors, and of controls.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> a; bit<64> b; int<64> c; }
struct headers { data_t data; }
struct metadata { }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.data); transition accept; }
}
control Verify(inout headers h, inout metadata m) { apply { } }
control Near(int n, inout bit<8> x) {
    apply {
        if (x == n) { x = n + 8w1; } else { x = 1 + n; }
    }
}
control Wide(inout bit<64> x, inout int<64> y)(int n) {
    apply {
        x = n * 2 - 1;
        y = y - n;
        if (y == n / 3) { y = 7; }
    }
}
control Add(inout bit<8> x)(bit<8> by) { apply { x = x + by; } }
control Twice(inout bit<8> x)(bit<8> by) {
    Add(by ^ 1) first;
    Add(by + by) second;
    apply { first.apply(x); second.apply(x); }
}
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Wide((1 << 40) + 3) wide;
    Twice(2) two;
    Twice(16) sixteen;
    apply {
        s.egress_spec = 1;
        // 3 and 4, and 17 and 32.
        if (h.data.b == 2) { two.apply(h.data.a); sixteen.apply(h.data.a); }
        else Near.apply(3, h.data.a);
        if (h.data.b == 0) { wide.apply(h.data.b, h.data.c); }
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers h, inout metadata m) { apply { } }
control Write(packet_out p, in headers h) { apply { p.emit(h.data); } }
V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
