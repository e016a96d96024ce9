// The length of packets that get headers and lose some: ingress sees what came in, egress what it has become.
#include <v1model.p4>

header h_t { bit<8> op; bit<16> in_length; bit<16> out_length; }
header x_t { bit<32> x; }
header v_t { bit<8> bytes; varbit<32> data; }
struct H { h_t h; x_t x; v_t v; }
struct M { @field_list(0) bit<8> unused; }

parser Read(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        p.extract(h.h);
        transition select(h.h.op) {
            2: with_x;
            3: with_v;
            default: accept;
        }
    }
    state with_x { p.extract(h.x); transition accept; }
    state with_v {
        p.extract(h.v, (bit<32>)(p.lookahead<bit<8>>() << 3));
        transition accept;
    }
}
control None(inout H h, inout M m) { apply { } }
control In(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (h.h.op == 1 || h.h.op == 5 || h.h.op == 6) { h.x.setValid(); }
        if (h.h.op == 1) { h.x.setValid(); }
        if (h.h.op == 2) { h.x.setInvalid(); h.x.setInvalid(); }
        if (h.h.op == 3) { h.v.setInvalid(); }
        if (h.h.op == 5) { s.mcast_grp = 7; }
        h.h.in_length = (bit<16>)s.packet_length;
    }
}
control Out(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        h.h.out_length = (bit<16>)s.packet_length;
        if (h.h.op == 4 && s.instance_type == 0) {
            h.x.setValid();
            clone(CloneType.E2E, 5);
        }
        if (h.h.op == 6 && s.instance_type == 0) { h.h.op = 7; recirculate_preserving_field_list(0); }
    }
}
control Write(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(Read(), None(), In(), Out(), None(), Write()) main;
