// Every path of a packet through PSA, with the metadata that belongs to it. `what` says which one; `path` is what egress is told, `from` what came with the packet.
#include <psa.p4>

header h_t { bit<8> what; bit<8> value; bit<8> path; bit<8> from; bit<32> port; bit<16> instance; bit<8> class; }
struct H { h_t h; }
struct M { bit<8> came; bool again; }
struct told_t { bit<8> value; }

parser InParser(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in told_t resubmitted, in told_t recirculated) {
    state start {
        p.extract(h.h);
        m.came = 0;
        m.again = true;
        transition select(i.packet_path) {
            PSA_PacketPath_t.RESUBMIT: resubmit;
            PSA_PacketPath_t.RECIRCULATE: recirculate;
            default: first;
        }
    }
    state first { m.again = false; transition accept; }
    state resubmit { m.came = resubmitted.value; transition accept; }
    state recirculate { m.came = recirculated.value; transition accept; }
}

control In(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    apply {
        send_to_port(o, (PortId_t) 2);
        o.class_of_service = (ClassOfService_t) 3;
        if (h.h.what == 0) ingress_drop(o);
        if (h.h.what == 2 || h.h.what == 3) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 5; }
        if (h.h.what == 3) ingress_drop(o);
        if (h.h.what == 4 && !m.again) o.resubmit = true;
        if (h.h.what == 6 && !m.again) o.egress_port = PSA_PORT_RECIRCULATE;
        if (h.h.what == 7) multicast(o, (MulticastGroup_t) 0x12345);
        // A drop goes before resubmission and multicast.
        if (h.h.what == 8) { o.resubmit = true; o.multicast_group = (MulticastGroup_t) 0x12345; ingress_drop(o); }
        if (i.packet_path == PSA_PacketPath_t.RECIRCULATE) h.h.port = (bit<32>) (PortIdUint_t) i.ingress_port;
    }
}

control InDeparser(packet_out p, out told_t cloned, out told_t resubmitted, out told_t normal, inout H h, in M m, in psa_ingress_output_metadata_t o) {
    apply {
        if (psa_clone_i2e(o)) cloned.value = h.h.value + 1;
        if (psa_resubmit(o)) resubmitted.value = h.h.value + 2;
        if (psa_normal(o)) normal.value = m.came == 0 ? h.h.value + 3 : m.came;
        p.emit(h);
    }
}

parser OutParser(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in told_t normal, in told_t from_in, in told_t from_out) {
    state start {
        p.extract(h.h);
        transition select(i.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: in_clone;
            PSA_PacketPath_t.CLONE_E2E: out_clone;
            default: other;
        }
    }
    state in_clone { h.h.from = from_in.value; transition accept; }
    state out_clone { h.h.from = from_out.value; transition accept; }
    state other { h.h.from = normal.value; transition accept; }
}

control Out(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    apply {
        h.h.instance = (bit<16>) (EgressInstanceUint_t) i.instance;
        h.h.class = (bit<8>) (ClassOfServiceUint_t) i.class_of_service;
        if (i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) h.h.path = 1;
        else if (i.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST) h.h.path = 2;
        else if (i.packet_path == PSA_PacketPath_t.CLONE_I2E) h.h.path = 3;
        else if (i.packet_path == PSA_PacketPath_t.CLONE_E2E) h.h.path = 4;
        if (h.h.what == 5 && i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) {
            o.clone = true;
            o.clone_session_id = (CloneSessionId_t) 5;
            egress_drop(o);
        }
    }
}

control OutDeparser(packet_out p, out told_t cloned, out told_t recirculated, inout H h, in M m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t d) {
    apply {
        if (psa_clone_e2e(o)) cloned.value = h.h.value + 4;
        if (psa_recirculate(o, d)) recirculated.value = h.h.value + 5;
        p.emit(h);
    }
}

IngressPipeline(InParser(), In(), InDeparser()) ingress_pipeline;
EgressPipeline(OutParser(), Out(), OutDeparser()) egress_pipeline;
PSA_Switch(ingress_pipeline, PacketReplicationEngine(), egress_pipeline, BufferingQueueingEngine()) main;
