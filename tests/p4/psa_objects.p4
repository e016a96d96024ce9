// The objects of PSA: what each of them makes of ten bytes.
#include <psa.p4>

header h_t { bit<8> op; bit<32> a; bit<40> b; bit<32> result; }
struct H { h_t h; }
struct M {}
struct E {}
struct seen_t { bit<8> op; bit<32> a; }

parser InParser(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in E r, in E c) {
    InternetChecksum() sum;
    state start { p.extract(h.h); transition select(h.h.op) { 0: check; default: accept; } }
    state check {
        sum.clear();
        sum.add({ h.h.a });
        verify(sum.get() == h.h.result[15:0], error.HeaderTooShort);
        transition accept;
    }
}

control In(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;
    Hash<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) ones;
    Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) long;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) short;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) sums;
    InternetChecksum() ck;
    Register<bit<32>, bit<8>>(4, 0xdead) kept;
    Random<bit<32>>(7, 7) seven;
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) counted;
    Meter<bit<8>>(4, PSA_MeterType_t.PACKETS) metered;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) each;
    DirectMeter(PSA_MeterType_t.PACKETS) own;
    ActionProfile(16) profile;
    PSA_MeterColor_t color;
    action colored() { each.count(); color = own.execute(); }
    action colored_before() { color = own.execute(PSA_MeterColor_t.YELLOW); }
    table direct {
        key = { h.h.a: exact; }
        actions = { colored; colored_before; NoAction; }
        psa_direct_counter = each;
        psa_direct_meter = own;
        default_action = NoAction;
    }
    action set_a(bit<32> to) { h.h.result = to; }
    action set_b(bit<8> to) { h.h.result = h.h.result + (bit<32>) to; }
    table first { key = { h.h.a: exact; } actions = { set_a; NoAction; } psa_implementation = profile; }
    table second { key = { h.h.a: exact; } actions = { NoAction; set_b; } psa_implementation = profile; }
    apply {
        send_to_port(o, (PortId_t) 1);
        color = PSA_MeterColor_t.GREEN;
        if (h.h.op == 0) h.h.result = i.parser_error == error.HeaderTooShort ? 32w1 : 0;
        if (h.h.op == 1) h.h.result = crc32.get_hash({ h.h.a, h.h.b });
        if (h.h.op == 2) h.h.result = (bit<32>) crc16.get_hash({ h.h.a, h.h.b });
        if (h.h.op == 3) h.h.result = crc32.get_hash(32w100, { h.h.a, h.h.b }, 32w10);
        if (h.h.op == 4) { long.update(h.h.a); long.update({ h.h.b }); h.h.result = long.get(); }
        if (h.h.op == 5) { short.update({ h.h.a }); short.update({ h.h.b }); h.h.result = (bit<32>) short.get(); }
        if (h.h.op == 6) { sums.update({ h.h.a }); h.h.result = (bit<32>) sums.get(); }
        if (h.h.op == 7) {
            ck.add({ h.h.a });
            bit<16> state = ck.get_state();
            ck.subtract({ h.h.a[31:16] });
            h.h.result = ck.get() ++ state;
            ck.set_state(state);
            h.h.b = (bit<40>) ck.get();
        }
        if (h.h.op == 8) { h.h.result = kept.read(h.h.a[7:0]); kept.write(h.h.a[7:0], (bit<32>) h.h.b); }
        if (h.h.op == 9) h.h.result = seven.read();
        if (h.h.op == 10) counted.count(h.h.a[7:0]);
        if (h.h.op == 11) color = metered.execute(h.h.a[7:0]);
        if (h.h.op == 12) color = metered.execute(h.h.a[7:0], PSA_MeterColor_t.YELLOW);
        if (h.h.op == 13) direct.apply();
        if (h.h.op == 14) { first.apply(); second.apply(); }
        if (h.h.op == 16) h.h.result = (bit<32>) crc16.get_hash({ h.h.a[11:0] });
        if (h.h.op == 17) h.h.result = (bit<32>) ones.get_hash({ h.h.a });
        if (h.h.op >= 11 && h.h.op <= 13) {
            if (color == PSA_MeterColor_t.GREEN) h.h.result = 1;
            if (color == PSA_MeterColor_t.YELLOW) h.h.result = 2;
            if (color == PSA_MeterColor_t.RED) h.h.result = 3;
        }
    }
}

control InDeparser(packet_out p, out E c, out E r, out E n, inout H h, in M m, in psa_ingress_output_metadata_t o) {
    Digest<seen_t>() seen;
    apply {
        if (h.h.op == 15) seen.pack({ h.h.op, h.h.a });
        p.emit(h);
    }
}

parser OutParser(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in E n, in E c, in E e) {
    state start { transition accept; }
}
control Out(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply {} }
control OutDeparser(packet_out p, out E c, out E r, inout H h, in M m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t d) {
    apply { p.emit(h); }
}

IngressPipeline(InParser(), In(), InDeparser()) ingress_pipeline;
EgressPipeline(OutParser(), Out(), OutDeparser()) egress_pipeline;
PSA_Switch(ingress_pipeline, PacketReplicationEngine(), egress_pipeline, BufferingQueueingEngine()) main;
