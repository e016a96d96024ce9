// Packets that are cut: in ingress, in egress, in both, and what becomes of copies.
#include <v1model.p4>

header h_t { bit<8> ingress; bit<8> egress; bit<16> group; }
struct H { h_t h; }
struct M { }

parser Read(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control None(inout H h, inout M m) { apply { } }
control In(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        s.mcast_grp = h.h.group;
        if (h.h.ingress != 0) { truncate((bit<32>)h.h.ingress); }
    }
}
control Out(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        if (h.h.egress != 0) { truncate((bit<32>)h.h.egress); }
    }
}
control Write(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(Read(), None(), In(), Out(), None(), Write()) main;
