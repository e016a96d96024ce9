// Value sets, of one key and of two, which choose the port; and checks whose parameters change.
#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> kind; bit<24> value; bit<16> short; bit<32> long; }
struct headers { data_t data; }
struct metadata { bit<9> port; }
struct pair_t { bit<8> kind; bit<8> high; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    value_set<bit<8>>(4) kinds;
    value_set<pair_t>(8) pairs;
    state start {
        p.extract(h.data);
        transition select(h.data.kind) {
            kinds: two;
            default: next;
        }
    }
    state two {
        m.port = 2;
        transition accept;
    }
    state next {
        transition select(h.data.kind, h.data.value[23:16]) {
            pairs: three;
            (_, _): one;
        }
    }
    state three {
        m.port = 3;
        transition accept;
    }
    state one {
        m.port = 1;
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = m.port;
        hash(h.data.short, HashAlgorithm.crc16_custom, 16w0, { h.data.value }, 17w0x10000);
        hash(h.data.long, HashAlgorithm.crc32_custom, 32w0, { h.data.value }, 33w0x100000000);
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Update(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
