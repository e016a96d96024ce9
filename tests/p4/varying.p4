// Fields of varying length that do not fit: which error of the parser that is.
#include <v1model.p4>

header h_t { bit<8> code; bit<16> bits; }
header v_t { bit<8> first; varbit<24> rest; }
struct H { h_t h; v_t v; }
struct M { }

parser Read(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        p.extract(h.h);
        p.extract(h.v, (bit<32>)h.h.bits);
        transition accept;
    }
}
control None(inout H h, inout M m) { apply { } }
control In(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (s.parser_error == error.PacketTooShort) { h.h.code = 1; }
        if (s.parser_error == error.HeaderTooShort) { h.h.code = 4; }
        if (s.parser_error == error.ParserInvalidArgument) { h.h.code = 6; }
    }
}
control Out(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control Write(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(Read(), None(), In(), Out(), None(), Write()) main;
