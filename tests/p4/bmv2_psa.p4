// What p4c-bm2-psa made bmv2_psa.json of: registers, counters, meters, hashes, checksums, clones, groups and resubmission as psa_switch has them.
#include <core.p4>
#include <bmv2/psa.p4>
typedef bit<48> mac_t;
header eth_t { mac_t dst; mac_t src; bit<16> type; }
header ip_t { bit<8> a; bit<8> n; bit<16> sum; bit<32> w; }
struct empty_t { }
struct H { eth_t eth; ip_t ip; }
struct M { bit<8> k; bit<32> h; bit<16> count; }
struct learn_t { mac_t src; PortId_t port; }
parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in empty_t a, in empty_t b) {
  InternetChecksum() ck;
  state start { p.extract(h.eth); transition select(h.eth.type) { 0x800: ip; default: accept; } }
  state ip { p.extract(h.ip); ck.clear(); ck.add({h.ip.a, h.ip.n, h.ip.w}); verify(h.ip.sum == ck.get(), error.HeaderTooShort); transition accept; }
}
control IC(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
  Register<bit<16>, bit<32>>(8) seen;
  Counter<bit<32>, bit<32>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) arrived;
  DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) used;
  Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc;
  Meter<bit<32>>(2, PSA_MeterType_t.PACKETS) lim;
  action to(PortId_t port) { send_to_port(o, port); }
  action to_counted(PortId_t port) { used.count(); send_to_port(o, port); }
  action many(MulticastGroup_t g) { multicast(o, g); }
  action none() { ingress_drop(o); }
  table fwd { key = { h.eth.dst: exact; } actions = { to_counted; many; none; } default_action = none(); psa_direct_counter = used; }
  table rules { key = { h.eth.src: ternary; h.eth.type: ternary; } actions = { to; NoAction; } const entries = { (0x1 &&& 0xff, _): to((PortId_t)9); } default_action = NoAction(); }
  table pick { key = { h.ip.a: exact; } actions = { to; none; NoAction; } }
  apply {
    arrived.count((bit<32>)(PortIdUint_t)i.ingress_port);
    m.count = seen.read((bit<32>)(PortIdUint_t)i.ingress_port);
    m.count = m.count + 1;
    seen.write((bit<32>)(PortIdUint_t)i.ingress_port, m.count);
    PSA_MeterColor_t c = lim.execute(1);
    fwd.apply();
    rules.apply();
    if (h.ip.isValid()) {
      pick.apply();
      h.ip.w = crc.get_hash({ h.eth.src });
      if (i.parser_error != error.NoError) { h.ip.n = 0xee; }
      if (c == PSA_MeterColor_t.GREEN) { h.ip.a = h.ip.a + 1; }
      if (h.ip.n == 7) { o.clone = true; o.clone_session_id = (CloneSessionId_t)5; }
      if (h.ip.n == 8 && i.packet_path != PSA_PacketPath_t.RESUBMIT) { o.resubmit = true; }
    }
  }
}
control ID(packet_out p, out empty_t a, out empty_t b, out empty_t c, inout H h, in M m, in psa_ingress_output_metadata_t o) {
  InternetChecksum() ck;
  apply { ck.clear(); ck.add({h.ip.a, h.ip.n, h.ip.w}); h.ip.sum = ck.get(); p.emit(h); }
}
parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in empty_t a, in empty_t b, in empty_t c) {
  state start { p.extract(h.eth); transition select(h.eth.type) { 0x800: ip; default: accept; } }
  state ip { p.extract(h.ip); transition accept; }
}
control EC(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
  apply {
    if (i.packet_path == PSA_PacketPath_t.CLONE_I2E) { h.eth.type = 0xc1; }
    if (i.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST) { h.eth.src[15:0] = (bit<16>)(EgressInstanceUint_t)i.instance; }
    if (h.eth.type == 0x999) { egress_drop(o); }
  }
}
control ED(packet_out p, out empty_t a, out empty_t b, inout H h, in M m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) { apply { p.emit(h); } }
IngressPipeline(IP(), IC(), ID()) ip;
EgressPipeline(EP(), EC(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
