// A register counts packets of each kind; ternary and range keys decide; a clone of each tenth packet goes to a monitor; groups replicate.
#include <core.p4>
#include <v1model.p4>

header kind_t { bit<8> kind; bit<8> value; bit<16> count; }
header label_t { bit<7> label; bool last; }
struct headers { kind_t kind; label_t[3] labels; }
struct metadata { @field_list(1) bit<8> seen; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        p.extract(h.kind);
        transition select(h.kind.kind) {
            0x10 .. 0x1f: labels;
            default: accept;
        }
    }
    state labels {
        p.extract(h.labels.next);
        transition select(h.labels.last.last) {
            true: accept;
            false: labels;
        }
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    register<bit<16>>(256) counts;
    action send(bit<9> port) { s.egress_spec = port; }
    action group(bit<16> number) { s.mcast_grp = number; }
    action drop() { mark_to_drop(s); }
    action pop() { h.labels.pop_front(1); s.egress_spec = 4; }
    table ways {
        key = { h.kind.kind: ternary; h.kind.value: range; }
        actions = { send; group; pop; drop; }
        default_action = drop();
        const entries = {
            (0x10 &&& 0xf0, _): pop();
            (1, 0 .. 99): send(1);
            (1, _): send(2);
            (2, _): group(7);
        }
    }
    apply {
        bit<16> now;
        counts.read(now, (bit<32>)h.kind.kind);
        now = now |+| 1;
        counts.write((bit<32>)h.kind.kind, now);
        h.kind.count = now;
        if (h.kind.kind == 3) {
            m.seen = h.kind.value;
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            send(3);
        } else if (!ways.apply().hit) {
            h.kind.setInvalid();
        }
    }
}

control Eg(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        if (s.instance_type == 1) {
            h.kind.value = m.seen + 1;
        }
        if (s.egress_rid != 0) {
            h.kind.value = (bit<8>)s.egress_rid;
        }
    }
}

control Compute(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h.kind); p.emit(h.labels); } }

V1Switch(Read(), Verify(), In(), Eg(), Compute(), Write()) main;
