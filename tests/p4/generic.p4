// Everything that may have type parameters: structures, headers, functions, actions' calls of them, externs, types of controls and packages.
#include <core.p4>
#include <v1model.p4>

header pair_t<A, B> { A first; B second; }
header tail_t { bit<8> len; }
struct both_t<T> { T left; T right; }
struct nested_t<T, U> { both_t<T> both; U more; }
struct headers { pair_t<bit<8>, bit<16>> a; pair_t<bit<16>, bit<8>> b; tail_t tail; }
struct metadata { nested_t<bit<8>, bit<32>> n; }

// Types of controls and a package that nothing is made of, and one that is.
control Unused<H, M>(inout H h, in M m);
parser UnusedToo<H>(packet_in p, out H h);
package Ours<H, M>(UnusedToo<H> p, Unused<H, M> c);

T chosen<T>(in bool first, in T a, in T b) { return first ? a : b; }
void swap<T>(inout T a, inout T b) { T kept = a; a = b; b = kept; }
both_t<T> twice<T>(in T value) { return { value, value }; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.a);
        p.extract<pair_t<bit<16>, bit<8>>>(h.b);
        m.n.more = (bit<32>)p.lookahead<bit<8>>();
        p.extract(h.tail);
        transition accept;
    }
}
control Verify(inout headers h, inout metadata m) { apply { } }
control Add(inout both_t<bit<8>> x)(bit<8> by) { apply { x.left = x.left + by; x.right = x.right - by; } }
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    register<both_t<bit<8>>>(4) wide;
    register<bit<16>>(4) plain;
    Add(1) one;
    Add(5) five;
    apply {
        s.egress_spec = 1;
        m.n.both = twice(h.a.first);
        one.apply(m.n.both);
        five.apply(m.n.both);
        wide.write(1, m.n.both);
        both_t<bit<8>> back;
        wide.read(back, 1);
        plain.write(2, h.a.second);
        bit<16> second;
        plain.read(second, 2);
        swap(back.left, back.right);
        h.b.first = chosen(h.tail.len == 7, second, 0xffff);
        h.b.second = chosen<bit<8>>(m.n.more == 7, back.left, 0);
        h.a.first = back.right;
        both_t<pair_t<bit<8>, bit<16>>> headers_too;
        headers_too.left = h.a;
        h.a.second = headers_too.left.second + 1;
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers h, inout metadata m) { apply { } }
control Write(packet_out p, in headers h) { apply { p.emit(h.a); p.emit(h.b); p.emit(h.tail); } }
V1Switch<headers, metadata>(Read(), Verify(), In(), Out(), Compute(), Write()) main;
