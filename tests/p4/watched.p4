// A value set with masks and ranges, clones, direct counters and meters: what controllers write as a whole, and take back.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t eth; }
struct metadata { bit<1> is_wanted; bit<2> color; }
struct member_t { @match(ternary) bit<16> type; @match(range) bit<8> last; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    value_set<member_t>(2) wanted;
    state start {
        p.extract(h.eth);
        transition select(h.eth.type, h.eth.src[7:0]) {
            wanted: take;
            default: accept;
        }
    }
    state take { m.is_wanted = 1; transition accept; }
}
control Verify(inout headers h, inout metadata m) { apply {} }
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets) used;
    direct_meter<bit<2>>(MeterType.packets) rates;
    counter(3, CounterType.packets) ways;
    action to(bit<9> port) { rates.read(m.color); s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table any {
        key = { h.eth.type: ternary; }
        actions = { to; drop; }
        counters = used;
        meters = rates;
    }
    apply {
        ways.count((bit<32>)m.is_wanted);
        any.apply();
        if (m.is_wanted == 1) { clone(CloneType.I2E, 5); }
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Compute(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;
