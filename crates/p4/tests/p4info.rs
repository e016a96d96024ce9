//! P4Info: numbers, names and text as p4c gives them.

use netvm_p4::{Reading, p4info};
use std::path::Path;

fn made(text: &str) -> String {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    p4info::text(&p4info(Path::new("t.p4"), text, reading).unwrap())
}

/// What stands under the first line that is this one.
fn object<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let mut lines = text.lines().skip_while(|line| *line != first).map(str::trim);
    let mut all = Vec::new();
    let mut depth = 0;
    for line in &mut lines {
        depth += i32::from(line.ends_with('{')) - i32::from(line == "}");
        all.push(line);
        if depth == 0 {
            break;
        }
    }
    all
}

#[test]
fn tables_and_actions_have_the_numbers_of_their_names() {
    let text = made(include_str!("../../../tests/p4/forward.p4"));
    assert!(text.starts_with(
        "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\npkg_info {\n  arch: \"v1model\"\n}\n"
    ));
    let table = object(&text, "tables {").join(" ");
    assert!(table.contains("name: \"In.routes\" alias: \"routes\""), "{table}");
    assert!(table.contains("match_fields { id: 1 name: \"h.ip.dst\" bitwidth: 32 match_type: LPM }"), "{table}");
    assert!(table.ends_with("size: 1000 }"), "{table}");
    let action = object(&text, "actions {").join(" ");
    assert!(action.contains("name: \"In.drop\" alias: \"drop\""), "{action}");
    let counter = object(&text, "counters {").join(" ");
    assert!(counter.contains("name: \"In.sent\" alias: \"sent\" } spec { unit: BOTH } size: 512"), "{counter}");
    let ends = text.matches("\n}\n").count();
    assert_eq!(ends, 1 + 1 + 2 + 1 + 1, "package, table, two actions, counter, types:\n{text}");
}

#[test]
fn what_controllers_see_is_told() {
    let text = made(include_str!("../../../tests/p4/controller.p4"));
    let header = object(&text, "controller_packet_metadata {").join(" ");
    assert!(header.contains("name: \"packet_in\" alias: \"packet_in\" annotations: \"@controller_header(\\\"packet_in\\\")\""), "{header}");
    assert!(header.contains("metadata { id: 1 name: \"ingress_port\" bitwidth: 9 }"), "{header}");
    let profile = object(&text, "action_profiles {").join(" ");
    assert!(profile.contains("with_selector: true size: 16"), "{profile}");
    let digest = object(&text, "digests {").join(" ");
    assert!(digest.contains("type_spec { struct { name: \"seen_t\" } }"), "{digest}");
    let types = object(&text, "type_info {").join(" ");
    assert!(
        types.contains("key: \"seen_t\" value { members { name: \"src\" type_spec { bitstring { bit { bitwidth: 48 } } } }"),
        "{types}"
    );
    assert_eq!(text.matches("NoAction").count(), 2, "name and alias of one action");
    assert!(text.contains("id: 21257015"), "{text}");
}

#[test]
fn annotations_are_kept() {
    let program = include_str!("../../../tests/p4/forward.p4")
        .replace("table routes {", "@id(5) @brief(\"ways\") @custom(1, \"x\") @kv[a=1+1, b=true] table routes {");
    let text = made(&program);
    let table = object(&text, "tables {").join(" ");
    let preamble = "preamble { id: 33554437 name: \"In.routes\" alias: \"routes\" annotations: \"@custom(1 , \\\"x\\\")\" doc { brief: \"ways\" } \
        structured_annotations { name: \"kv\" kv_pair_list { kv_pairs { key: \"a\" value { int64_value: 2 } } kv_pairs { key: \"b\" value { bool_value: true } } } } }";
    assert!(table.contains(preamble), "{table}");
}

/// A program for PSA is checked and described, though it is not run.
#[test]
fn programs_for_psa_are_described() {
    let program = "
        #include <psa.p4>
        header h_t { bit<16> a; }
        struct H { h_t h; }
        struct M {}
        struct E {}
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in E r, in E c) { state start { p.extract(h.h); transition accept; } }
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
            Counter<bit<32>, PortId_t>(8, PSA_CounterType_t.PACKETS) c;
            Register<bit<16>, bit<4>>(16) r;
            apply { c.count(i.ingress_port); r.write(1, h.h.a); send_to_port(o, i.ingress_port); }
        }
        control ID(packet_out p, out E a, out E b, out E c, inout H h, in M m, in psa_ingress_output_metadata_t i) { apply { p.emit(h); } }
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in E n, in E a, in E b) { state start { transition accept; } }
        control G(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply {} }
        control GD(packet_out p, out E a, out E b, inout H h, in M m, in psa_egress_output_metadata_t i, in psa_egress_deparser_input_metadata_t d) { apply {} }
        IngressPipeline(IP(), I(), ID()) ip;
        EgressPipeline(EP(), G(), GD()) ep;
        PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
    ";
    let text = made(program);
    assert!(text.contains("arch: \"psa\""), "{text}");
    let counter = object(&text, "counters {").join(" ");
    assert!(
        counter.contains("name: \"I.c\" alias: \"c\" } spec { unit: PACKETS } size: 8 index_type_name { name: \"PortId_t\" }"),
        "{counter}"
    );
    let register = object(&text, "registers {").join(" ");
    assert!(register.contains("type_spec { bitstring { bit { bitwidth: 16 } } } size: 16"), "{register}");
}
