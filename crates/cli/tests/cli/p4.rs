//! P4 programs from outside: run, traced, and what the control plane says.

use super::tools::{Dir, run_args};
use netvm::io::{LinkType, Timestamp};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/");

/// An Ethernet frame from a source.
fn frame(source: u8) -> (Timestamp, Vec<u8>) {
    let mut bytes = vec![0; 16];
    (bytes[11], bytes[12]) = (source, 8);
    (Timestamp::from_nanos(1, 0), bytes)
}

#[test]
fn digests_and_registers_are_printed_behind_a_run() {
    let dir = Dir::new("p4-run");
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[frame(2), frame(3)]);
    let entries = dir.write("entries.txt", "add known src:00:00:00:00:00:02 NoAction()\n");
    let then = dir.write("then.txt", "register_read sums\n");
    let program = format!("{FOLDER}learn.p4");
    let (input, out) = (format!("3={capture}"), format!("1={}", dir.file("out.pcap")));
    let args = ["run", &program, "--entries", &entries, "--in", &input, "--out", &out, "--digests", "--then", &then];
    assert_eq!(run_args(&args).good(), "digest seen_t at 0 us: src=0x3 port=0x3\nsums = 0, 0, 32, 0\n");
    let wrong = dir.write("wrong.txt", "add known sr:1 NoAction()\n");
    assert!(run_args(&["run", &program, "--entries", &wrong, "--in", &input]).bad(1).contains("line 1: there is no key `sr`"));
    let other = run_args(&["run", "x.netil", "--digests"]).bad(2);
    assert!(other.contains("--digests"), "{other}");
}

#[test]
fn a_packet_is_traced_through_parser_tables_and_actions() {
    let dir = Dir::new("p4-trace");
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[frame(2), frame(3)]);
    let entries = dir.write("entries.txt", "add known src:00:00:00:00:00:02 NoAction()\n");
    let program = format!("{FOLDER}learn.p4");
    let input = format!("3={capture}");
    let base = ["trace", &program, "--entries", &entries, "--in", &input];
    let first = run_args(&[&base[..], &["--packet", "1"]].concat()).good();
    for wanted in [
        "state start",
        "extract h.eth: ",
        "table In.known: h.eth.src=0x2",
        "hit h.eth.src: 0x2",
        "action NoAction()",
        "sent by port 1, 16 bytes",
    ] {
        assert!(first.contains(wanted), "{wanted}: {first}");
    }
    let second = run_args(&[&base[..], &["--packet", "2", "--json"]].concat()).good();
    let json: serde_json::Value = serde_json::from_str(&second).expect("JSON");
    let events = json["steps"][0]["events"].as_array().expect("events");
    let kinds: Vec<&str> = events.iter().filter_map(|e| e["kind"].as_str()).collect();
    assert!(kinds.contains(&"miss") && !kinds.contains(&"hit"), "{kinds:?}");
    let written = events.iter().find(|e| e["name"] == "s.egress_spec").expect("an assignment");
    assert_eq!(written["changes"][0], serde_json::json!({"field": "s.egress_spec", "before": "0x0", "after": "0x1"}));
    assert!(written["place"].as_str().is_some_and(|p| p.ends_with("learn.p4:32:9")), "{written}");
    assert!(run_args(&[&base[..], &["--packet", "9"]].concat()).bad(1).contains("there is no packet 9: 2 arrived"));
    assert!(run_args(&["trace", &program]).bad(2).contains("say which packets"));
}

#[test]
fn a_program_in_json_is_a_program() {
    let dir = Dir::new("p4-json");
    let program = format!("{FOLDER}bmv2_old.json");
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[(Timestamp::from_nanos(1, 0), vec![1, 0xf1, 0xaa])]);
    let entries = dir.write("entries.txt", "table_add route go 1 0 => 1\n");
    let input = format!("3={capture}");
    let told = run_args(&["trace", &program, "--entries", &entries, "--in", &input, "--packet", "1"]).good();
    for wanted in
        ["table route: m.v=0x1", "action go(port=0x1)", "old.p4:12:5", "standard_metadata.egress_spec 0x0 → 0x1", "sent by port 1, 3 bytes"]
    {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let (out, map) = (dir.file("out.pcap"), format!("0={capture},{}", dir.file("lost.pcap")));
    let to = format!("1={out}");
    run_args(&["run", &program, "--entries", &entries, "--in", &input, "--out", &to]).good();
    assert_eq!(packets(&out), [[1, 0xf0, 0xaa]]);
    let mapped = dir.file("mapped.pcap");
    run_args(&["run", &program, "--entries", &entries, "--map", &map, "--map", &format!("1={capture},{mapped}")]).good();
    assert_eq!(packets(&mapped), [[1, 0xf0, 0xaa], [1, 0xf0, 0xaa]]);
    assert!(run_args(&["compile", &program, "--emit", "p4"]).good().contains("table route {"));
    assert!(run_args(&["compile", &program, "--emit", "p4info"]).good().contains("name: \"route\""));
    let drawn = dir.file("a.dot");
    run_args(&["graph", &program, "-o", &drawn]).good();
    assert!(std::fs::read_to_string(&drawn).unwrap().contains("table route"));
    let wrong = std::fs::read_to_string(&program).unwrap().replace("\"init_table\": \"route\"", "\"init_table\": \"root\"");
    let told = run_args(&["check", &dir.write("wrong.json", &wrong)]).bad(1);
    assert!(told.contains("pipelines[0].init_table: nothing is called `root` in this pipeline") && told.contains("wrong.json:"), "{told}");
}

#[test]
fn what_a_program_cannot_mean_is_a_warning() {
    let dir = Dir::new("p4-check");
    let text = std::fs::read_to_string(format!("{FOLDER}learn.p4")).unwrap();
    assert_eq!(run_args(&["check", &format!("{FOLDER}learn.p4")]).good(), "");
    let program = dir.write("idle.p4", text.replace("register<bit<32>>(4) sums;", "register<bit<32>>(4) sums; action idle() {}"));
    let told = run_args(&["check", &program]);
    assert_eq!((told.status, told.out.as_str()), (0, ""));
    for wanted in ["warning: the action `idle` is never used", "idle.p4:20:39", "^^^^", "no table has it, and nothing calls it"] {
        assert!(told.err.contains(wanted), "{wanted}: {}", told.err);
    }
    let json = run_args(&["check", &program, "--json"]).good();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let expected = serde_json::json!([{"file": program, "line": 20, "column": 39, "message": "the action `idle` is never used"}]);
    assert_eq!(json["warnings"], expected);
    let entries = dir.write("entries.txt", "add known src:00:00:00:00:00:02 NoAction()\nadd unknown src:1 NoAction()\n");
    assert!(run_args(&["check", &program, "--entries", &entries]).bad(1).contains("line 2: there is no table `unknown`"));
    assert!(run_args(&["check", "x.click", "--entries", &entries]).bad(2).contains("--entries is for a P4 program"));
}

#[test]
fn a_program_for_psa_runs() {
    let dir = Dir::new("p4-psa");
    let mut packet = vec![0; 13];
    packet[0] = 1;
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[(Timestamp::from_nanos(1, 0), packet)]);
    let (program, input, out) = (format!("{FOLDER}psa_paths.p4"), format!("4294967293={capture}"), format!("2={}", dir.file("out.pcap")));
    let run = run_args(&["run", &program, "--in", &input, "--out", &out, "--json"]).good();
    assert_eq!(run, "{\"dropped\":0,\"packets\":1,\"sent\":{\"2\":1}}\n");
    let traced = run_args(&["trace", &program, "--in", &input, "--packet", "1"]).good();
    for wanted in ["state first", "action send_to_port(", "to port 2", "state other", "sent by port 2, 13 bytes"] {
        assert!(traced.contains(wanted), "{wanted}: {traced}");
    }
    assert!(run_args(&["run", &program, "--in", &format!("4294967295={capture}")]).bad(2).contains("ports are 0 to 4294967294"));
}

/// The packets of a capture that is written.
fn packets(path: &str) -> Vec<Vec<u8>> {
    let mut capture = netvm::io::Capture::open(path).expect("the capture");
    let mut all = Vec::new();
    while let Some(burst) = capture.next_burst(256).expect("packets") {
        all.extend(burst.packets().iter().map(|packet| packet.to_vec()));
    }
    all
}

#[test]
fn a_program_between_devices_sends_what_it_sends_between_captures() {
    let dir = Dir::new("p4-map");
    let (first, second) = (dir.trace("a.pcap", 1, 500), dir.trace("b.pcap", 2, 700));
    let own: String = packets(&first)[7][..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let entries = dir.write("entries.txt", format!("add own h.eth.dst:0x{own} drop()\n"));
    let program = format!("{FOLDER}cross.p4");
    let base = ["run", &program, "--entries", &entries];
    let [a, b] = ["a", "b"].map(|name| dir.file(&format!("in-{name}.pcap")));
    let ports = [format!("0={first}"), format!("1={second}"), format!("0={a}"), format!("1={b}")];
    run_args(&[&base[..], &["--in", &ports[0], "--in", &ports[1], "--out", &ports[2], "--out", &ports[3]]].concat()).good();
    let (wanted, more) = (packets(&a), packets(&b));
    assert!(wanted.len() > 100 && more.len() > 100, "{} {}", wanted.len(), more.len());
    for engine in [&["--engine", "interp"][..], &["--engine", "jit"], &["--engine", "jit", "--place", "rtc:2"]] {
        let [c, d] = ["c", "d"].map(|name| dir.file(&format!("map-{name}.pcap")));
        let maps = [format!("0={first},{c}"), format!("1={second},{d}")];
        let told = run_args(&[&base[..], engine, &["--map", &maps[0], "--map", &maps[1], "--stats"]].concat());
        assert!(told.status == 0 && told.err.contains("dropped by the program"), "{}", told.err);
        assert!(packets(&c) == wanted && packets(&d) == more, "{engine:?}");
    }
    let out = format!("2=,{}", dir.file("none.pcap"));
    let told = run_args(&[&base[..], &["--map", &out, "--map", &ports[0]]].concat());
    assert!(told.status == 0 && told.err.contains("none of 500 packets came out"), "{}", told.err);
    assert!(packets(&dir.file("none.pcap")).is_empty());
    let refused = |args: &[&str]| run_args(&[&base[..], args].concat()).bad(2);
    assert!(refused(&["--map", &ports[0], "--digests"]).contains("with --digests all of --map are interfaces"));
    assert!(refused(&["--map", "x=a.pcap"]).contains("ports are 0 to 510"));
    let learn = format!("{FOLDER}learn.p4");
    assert!(run_args(&["run", &learn, "--map", &ports[0]]).bad(1).contains("`digest` needs the switch around a program"));
}

#[test]
fn what_a_program_says_is_told_where_it_is_asked_for() {
    let dir = Dir::new("p4-log");
    let (program, test) = (format!("{FOLDER}bmv2.json"), format!("{FOLDER}bmv2.stf"));
    assert!(!run_args(&["test", &program, &test]).good().contains("x is 7"));
    let told = run_args(&["test", &program, &test, "--log"]).good();
    assert!(told.lines().any(|line| line.ends_with(": x is 7")), "{told}");
    let learn = std::fs::read_to_string(format!("{FOLDER}learn.p4")).unwrap();
    let says = "log_msg(\"{} by {}\", { h.eth.src, s.ingress_port }); assert(h.eth.src != 2);";
    let text = learn.replace("s.egress_spec = 1;", &format!("s.egress_spec = 1; {says}"));
    assert_ne!(text, learn);
    let program = dir.write("says.p4", &text);
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[frame(2), frame(3)]);
    let input = format!("3={capture}");
    let base = ["run", &program, "--in", &input];
    assert_eq!(run_args(&base).good(), "");
    for engine in ["interp", "jit"] {
        let told = run_args(&[&base[..], &["--log", "--engine", engine]].concat()).good();
        let lines: Vec<&str> = told.lines().map(|line| line.split_once(": ").map_or("", |(_, text)| text)).collect();
        assert_eq!(lines, ["2 by 3", "assert does not hold: h.eth.src != 2", "3 by 3"], "{told}");
    }
    let json = run_args(&[&base[..], &["--log", "--json"]].concat()).good();
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).expect("JSON");
    assert_eq!(first["log"], "2 by 3");
    assert!(run_args(&[&["trace"], &base[1..], &["--packet", "1"]].concat()).good().contains("says: 2 by 3"));
}

#[test]
fn a_program_is_drawn_with_its_traffic() {
    let dir = Dir::new("p4-traffic");
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[frame(2), frame(3), frame(2), frame(4)]);
    let entries = dir.write("entries.txt", "add known src:00:00:00:00:00:02 NoAction()\n");
    let (program, input, dot) = (format!("{FOLDER}learn.p4"), format!("3={capture}"), dir.file("a.dot"));
    run_args(&["graph", &program, "--entries", &entries, "--in", &input, "-o", &dot]).good();
    let text = std::fs::read_to_string(&dot).expect("the graph");
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {text}")).to_owned();
    assert!(line("table known").contains("| 4, 100 %"), "{text}");
    assert!(line("label=\"start").contains("4, 100 %"), "{text}");
    assert!(run_args(&["graph", "x.click", "--in", &input, "-o", &dot]).bad(2).contains("--in is for P4 programs"));
}

#[test]
fn a_program_is_drawn() {
    let dir = Dir::new("p4-graph");
    let program = format!("{FOLDER}forward.p4");
    let (svg, dot) = (dir.file("a.svg"), dir.file("a.dot"));
    run_args(&["graph", &program, "-o", &svg]).good();
    let picture = std::fs::read_to_string(&svg).expect("the picture");
    for wanted in ["<svg ", ">parser Read<", ">control In<", ">table routes<", ">accept<", ">0x800<", "extract"] {
        assert!(picture.contains(wanted), "{wanted}: {picture}");
    }
    run_args(&["graph", &program, "-o", &dot]).good();
    let text = std::fs::read_to_string(&dot).expect("the graph");
    assert!(
        text.starts_with("digraph program {") && text.contains("label=\"parser Read\"") && text.contains("[label=\"0x800\"]"),
        "{text}"
    );
    assert!(run_args(&["graph", &program, "--expand", "-o", &svg]).bad(2).contains("--expand is for configurations"));
}

/// The number that a P4Info gives to what has that name.
fn number_of(info: &str, name: &str) -> String {
    let before = &info[..info.find(&format!("name: \"{name}\"")).expect(name)];
    before.rsplit("id: ").next().and_then(|rest| rest.split_whitespace().next()).expect("a number").to_owned()
}

#[test]
fn entries_as_protobuf_text_are_read_wherever_entries_are() {
    let dir = Dir::new("p4-protobuf");
    let program = format!("{FOLDER}forward.p4");
    let info = run_args(&["compile", &program, "--emit", "p4info"]).good();
    let [table, action] = ["In.routes", "In.to"].map(|name| number_of(&info, name));
    let update = |value: &str| {
        let key = format!("match {{ field_id: 1 lpm {{ value: \"{value}\" prefix_len: 16 }} }}");
        let params = "params { param_id: 1 value: \"\\x05\" } params { param_id: 2 value: \"\\x01\" }";
        format!(
            "updates {{ type: INSERT entity {{ table_entry {{ table_id: {table} {key} action {{ action {{ action_id: {action} {params} }} }} }} }} }}\n"
        )
    };
    let (good, wrong) = (dir.write("good.txtpb", update("\\x0a\\x01\\x00\\x00")), dir.write("wrong.txtpb", update("\\x0a\\x01\\x00\\x01")));
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    packet.extend([0x45, 0, 0, 0x18, 0, 1, 0, 0, 0x40, 0x11, 0x65, 0xce, 10, 0, 0, 1, 10, 1, 1, 5, 1, 2, 3, 4]);
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[(Timestamp::from_nanos(1, 0), packet)]);
    let [between, mapped, linked] = ["between", "mapped", "linked"].map(|name| dir.file(&format!("{name}.pcap")));
    run_args(&["run", &program, "--entries", &good, "--in", &format!("0={capture}"), "--out", &format!("1={between}")]).good();
    let maps = [format!("0={capture}"), format!("1=,{mapped}")];
    run_args(&["run", &program, "--entries", &good, "--map", &maps[0], "--map", &maps[1]]).good();
    let graph = format!(
        "FromDump(\"{capture}\", STOP true) -> p :: P4(\"{program}\", ENTRIES \"{good}\"); p [0] -> Discard; p [1] -> ToDump(\"{linked}\")"
    );
    run_args(&["run", "-e", &graph]).good();
    assert_eq!(packets(&between).len(), 1);
    assert!(packets(&mapped) == packets(&between) && packets(&linked) == packets(&between));
    run_args(&["check", &program, "--entries", &good]);
    for args in [&["check"][..], &["run", "--map", &maps[0], "--map", &maps[1]]] {
        let told = run_args(&[args, &[&program, "--entries", &wrong]].concat()).bad(1);
        assert!(told.contains("wrong.txtpb: line 1: h.ip.dst: the bits behind the prefix are zeros"), "{told}");
    }
}

#[test]
fn a_run_without_packets_says_so() {
    let told = run_args(&["run", &format!("{FOLDER}forward.p4")]).bad(2);
    assert!(told.contains("no packets come in: --in PORT=CAPTURE"), "{told}");
}

#[test]
fn of_standard_metadata_a_trace_tells_what_changed() {
    let dir = Dir::new("p4-drop");
    let capture = dir.capture("in.pcap", LinkType::EN10MB, &[frame(2)]);
    let told = run_args(&["trace", &format!("{FOLDER}forward.p4"), "--in", &format!("0={capture}"), "--packet", "1"]).good();
    assert!(told.contains("mark_to_drop(s)\n") && told.contains("s.egress_spec 0x0 → 0x1ff\n"), "{told}");
    assert!(!told.contains("enq_qdepth"), "{told}");
}
