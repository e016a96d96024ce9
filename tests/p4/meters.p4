// Meters and direct meters: the colour goes into the packet's first byte.
#include <core.p4>
#include <v1model.p4>

header tag_t { bit<8> colour; bit<8> entry; }
struct headers { tag_t tag; }
struct metadata { bit<2> colour; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.tag);
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    meter(4, MeterType.packets) packets;
    meter(2, MeterType.bytes) octets;
    direct_meter<bit<2>>(MeterType.packets) own;
    action by_packets(bit<32> index) { packets.execute_meter(index, m.colour); }
    action by_bytes(bit<32> index) { octets.execute_meter(index, m.colour); }
    action by_entry() { own.read(m.colour); }
    table choose {
        key = { h.tag.entry: exact; }
        actions = { by_packets; by_bytes; NoAction; }
        const default_action = NoAction;
    }
    table direct {
        key = { h.tag.entry: ternary; }
        actions = { by_entry; }
        default_action = by_entry;
        meters = own;
    }
    apply {
        m.colour = 3;
        if (!choose.apply().hit) {
            direct.apply();
        }
        h.tag.colour = 6w0 ++ m.colour;
        s.egress_spec = 1;
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Update(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
