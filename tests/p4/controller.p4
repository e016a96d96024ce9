// Ports by destination addresses, a controller that gets and sends packets, digests, counters, registers and a selector.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU = 510;

@controller_header("packet_in")
header packet_in_t { bit<9> ingress_port; bit<7> _pad; }
@controller_header("packet_out")
header packet_out_t { bit<9> egress_port; bit<7> _pad; }
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { packet_in_t in_; packet_out_t out_; ethernet_t eth; }
struct metadata { bit<2> color; }
struct seen_t { bit<48> src; bit<9> port; }

parser Read(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        transition select(s.ingress_port) {
            CPU: from_controller;
            default: ethernet;
        }
    }
    state from_controller {
        p.extract(h.out_);
        transition ethernet;
    }
    state ethernet {
        p.extract(h.eth);
        transition accept;
    }
}

control Verify(inout headers h, inout metadata m) { apply {} }

control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) arrived;
    register<bit<32>>(8) last;
    meter(4, MeterType.packets) limits;
    direct_counter(CounterType.packets_and_bytes) used;
    action_selector(HashAlgorithm.crc16, 32w16, 32w16) ways;

    action drop() { mark_to_drop(s); }
    action to(bit<9> port) { s.egress_spec = port; }
    action spread(bit<16> group) { s.mcast_grp = group; }
    action tell() { s.egress_spec = CPU; }

    table forward {
        key = { h.eth.dst: exact; }
        actions = { to; spread; tell; drop; }
        size = 64;
        counters = used;
        default_action = drop();
    }
    table rules {
        key = { h.eth.src: ternary; h.eth.type: range; }
        actions = { drop; NoAction; }
        size = 16;
    }
    table chosen {
        key = { h.eth.type: exact; h.eth.src: selector; }
        actions = { to; drop; }
        implementation = ways;
    }
    apply {
        if (h.out_.isValid()) {
            s.egress_spec = h.out_.egress_port;
            h.out_.setInvalid();
        } else {
            arrived.count((bit<32>)s.ingress_port);
            last.write((bit<32>)s.ingress_port, (bit<32>)h.eth.type);
            limits.execute_meter(0, m.color);
            digest<seen_t>(1, { h.eth.src, s.ingress_port });
            forward.apply();
            chosen.apply();
            rules.apply();
        }
    }
}

control Out(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        if (s.egress_port == CPU) {
            h.in_.setValid();
            h.in_.ingress_port = s.ingress_port;
            h.in_._pad = 0;
        }
    }
}
control Update(inout headers h, inout metadata m) { apply {} }
control Write(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(Read(), Verify(), In(), Out(), Update(), Write()) main;
