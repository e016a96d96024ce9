// Packets are dropped by way of parameters: what is said of a copy counts when it is copied back.
#include <v1model.p4>

header h_t { bit<8> way; }
struct H { h_t h; }
struct M { }

action drop(inout standard_metadata_t s) { mark_to_drop(s); }
action drop_copy(in standard_metadata_t s) {
    standard_metadata_t copy = s;
    mark_to_drop(copy);
}
control Inner(inout standard_metadata_t s) {
    apply { mark_to_drop(s); }
}

parser Read(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control None(inout H h, inout M m) { apply { } }
control In(inout H h, inout M m, inout standard_metadata_t s) {
    Inner() inner;
    apply {
        s.egress_spec = 1;
        if (h.h.way == 1) { drop(s); }
        else if (h.h.way == 2) { inner.apply(s); }
        else if (h.h.way == 3) { drop_copy(s); }
        else if (h.h.way == 4) { mark_to_drop(s); s.egress_spec = 2; }
    }
}
control Out(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        if (h.h.way == 5) { drop(s); }
    }
}
control Write(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(Read(), None(), In(), Out(), None(), Write()) main;
