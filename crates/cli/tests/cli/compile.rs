//! `netvm compile`, `asm`, `disasm`, `verify`: programs in all their forms.

use super::tools::{Dir, run, run_args};

const COUNTER: &str = "\
segment .metadata
  .netpe_name counter
  .datamem_size 4
ends
segment .push
  pop
  push 0
  umload.32
  inc1
  push 0
  mstore.32
  pkt.send out
ends
";

#[test]
fn every_stage_can_be_shown() {
    let dir = Dir::new("stages");
    let file = dir.write("counter.netil", COUNTER);
    for (stage, sign) in [("netil", "segment .push"), ("mir", "block0"), ("mir-opt", "block0"), ("clif", "function"), ("asm", "ret")] {
        let of_filter = run_args(&["compile", "--filter", "tcp port 80", "--emit", stage]).good();
        assert!(of_filter.contains(sign), "{stage}: {of_filter}");
        let of_program = run(&format!("compile {file} --emit {stage}")).good();
        assert!(of_program.contains(sign), "{stage}: {of_program}");
        let out = dir.file("out");
        run(&format!("compile {file} --emit {stage} -o {out}")).good();
        assert_eq!(std::fs::read_to_string(&out).expect("written"), of_program);
    }
}

#[test]
fn configurations_become_c_programs() {
    let dir = Dir::new("native");
    let file = dir.write("count.click", "define($N 1); FromDevice(eth0) -> Paint($N) -> c :: Counter -> Queue -> ToDevice(eth1);");
    let text = run(&format!("compile {file} N=7 --emit standalone")).good();
    assert_eq!(run(&format!("compile {file} N=7 --emit native")).good(), text);
    assert!(text.contains("color = 7;"), "the parameter is not in it");
    assert!(text.contains("/* c :: Counter */") && text.contains("int main(int argc"), "{text}");
    assert!(run(&format!("compile {file}")).bad(2).contains("--emit standalone"));
    assert!(run("compile --filter tcp --emit standalone").bad(1).contains("only configurations"));
    let refused = dir.write("end.click", "FromDevice(eth0) -> Discard; end :: Script(pause, stop);");
    assert!(run(&format!("compile {refused} --emit standalone")).bad(1).contains("end :: Script"));
}

#[test]
fn passes_are_timed() {
    let ended = run("compile --filter tcp --time-passes");
    assert_eq!(ended.status, 0);
    assert!(ended.err.contains("µs  fold") && ended.err.contains("all passes"), "{}", ended.err);
}

#[test]
fn the_optimiser_says_what_it_did_and_why() {
    let filter = "ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30";
    let ended = run_args(&["compile", "--filter", filter, "--explain-opt"]);
    assert_eq!((ended.status, ended.out.contains("segment .push")), (0, true));
    let told = |sign: &str| assert!(ended.err.contains(sign), "{sign} is not in\n{}", ended.err);
    ["lengths ", "length tests behind the one of", "compares ", "one of 8 bytes at 26", "one of 4 bytes at 20, masked"]
        .into_iter()
        .for_each(told);
    let less = run_args(&["compile", "--filter", filter, "--explain-opt", "--without", "compares"]);
    assert!(!less.err.contains("compares"), "{}", less.err);
}

#[test]
fn how_sets_and_switches_are_tested_is_told() {
    let dir = Dir::new("explained");
    let cases: String = (0..20).map(|i| format!("    {}: l{}\n", 100 + 2 * i, i % 3)).collect();
    let ends: String = (0..3).map(|i| format!("l{i}:\n  push {i}\n  push 0\n  mstore.32\n  ret 0\n")).collect();
    let source = format!(
        "segment .metadata\n.datamem_size 4\nends\nsegment .sets\n.set few, 32\n  1, 5, 9, 60, 63\nends\nsegment .push\n.maxstacksize 4\n  pop\n  \
         push 0\n  spload.32\n  set.has few\n  j.ne l0\n  push 4\n  spload.32\n  switch 20:\n{cases}    default: l0\n{ends}ends\n"
    );
    let file = dir.write("switch.netil", &source);
    let told = run(&format!("compile {file} --explain-opt")).err;
    for sign in [
        "set0 'few': bit test: 5 values in 5 ranges, span 63, density 8%",
        "jump table: 20 keys in 20 ranges to 3 places, span 39, density 51%",
    ] {
        assert!(told.contains(sign), "{sign} is not in\n{told}");
    }
}

#[test]
fn link_types_change_filters() {
    let of = |link: &str| run(&format!("compile --filter tcp --link-type {link}")).good();
    assert_ne!(of("EN10MB"), of("RAW"));
    assert_eq!(of("EN10MB"), run("compile --filter tcp").good());
    assert!(run("compile").bad(2).contains("--filter"));
}

#[test]
fn source_and_binary_form_say_the_same() {
    let dir = Dir::new("forms");
    let source = dir.write("counter.netil", COUNTER);
    let (binary, again) = (dir.file("counter.nvm"), dir.file("again.nvm"));
    run(&format!("asm {source} -o {binary}")).good();
    let text = run(&format!("disasm {binary}")).good();
    let from_text = dir.write("text.netil", &text);
    run(&format!("asm {from_text} -o {again}")).good();
    assert_eq!(std::fs::read(&binary).expect("written"), std::fs::read(&again).expect("written"));
    assert_eq!(dir.names(), ["again.nvm", "counter.netil", "counter.nvm", "text.netil"]);
}

#[test]
fn verification_tells_what_a_program_is() {
    let dir = Dir::new("verify");
    let file = dir.write("counter.netil", COUNTER);
    let text = run(&format!("verify {file}")).good();
    assert!(text.contains("(counter): verified") && text.contains("memory  data: 4 bytes"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&run(&format!("verify --json {file}")).good()).expect("JSON");
    assert_eq!((json["verified"].as_bool(), json["program"]["filter"].as_bool()), (Some(true), Some(false)));
}

#[test]
fn refused_programs_end_with_1() {
    let dir = Dir::new("refused");
    let file = dir.write("bad.netil", "segment .push\n  pop\n  pop\n  ret 1\nends\n");
    assert!(run(&format!("verify {file}")).bad(1).contains("bad.netil:3"));
    let ended = run(&format!("verify --json {file}"));
    assert_eq!((ended.status, ended.err.as_str()), (1, ""));
    assert!(ended.out.contains("\"verified\":false"));
    let out = dir.file("out.nvm");
    run(&format!("asm {file} -o {out}")).bad(1);
    assert_eq!(dir.names(), ["bad.netil"], "nothing is written");
    run(&format!("asm --no-verify {file} -o {out}")).good();
    assert!(run(&format!("run {out} --in x.pcap")).bad(1).contains("takes 1 stack elements"));
    assert!(run(&format!("disasm {}", dir.write("rubbish", [0, 1, 2, 0xff]))).bad(1).contains("neither NetIL source"));
}
