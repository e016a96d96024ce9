//! `netvm filter`: what is selected, counted, told.

use super::tools::{Dir, netvm, raw_ip, run, run_args, snapshot};
use netvm::io::LinkType;

#[test]
fn a_line_per_packet() {
    let dir = Dir::new("lines");
    let trace = dir.trace("t.pcap", 7, 40);
    snapshot("filter-lines", &run(&format!("filter -r {trace}")).good());
    snapshot("filter-e", &run(&format!("filter -e -r {trace} -c 12")).good());
    snapshot("filter-vv-number", &run(&format!("filter -vv -# -r {trace} -c 12")).good());
    snapshot("filter-X", &run(&format!("filter -q -X -r {trace} -c 3")).good());
    snapshot("filter-json", &run(&format!("filter --json -r {trace} udp")).good());
}

#[test]
fn json_names_the_ends_of_packets() {
    let dir = Dir::new("json");
    let trace = dir.trace("t.pcap", 1, 300);
    let lines = run(&format!("filter --json -r {trace} host 10.1.1.1 and tcp")).good();
    assert!(lines.lines().count() > 1);
    for line in lines.lines() {
        let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(json["protocol"], 6);
        assert!(json["source"] == "10.1.1.1" || json["destination"] == "10.1.1.1", "{line}");
        let text = format!("IP {}.{} > ", json["source"].as_str().expect("an address"), json["source_port"]);
        assert!(json["text"].as_str().expect("text").starts_with(&text), "{line}");
    }
}

#[test]
fn words_of_an_expression_need_no_quotes() {
    let dir = Dir::new("words");
    let trace = dir.trace("t.pcap", 1, 500);
    let count = |line: &str| run(&format!("filter --count {line}")).good();
    let quoted = run_args(&["filter", "-r", &trace, "--count", "tcp port 443 or tcp port 80"]).good();
    assert_eq!(count(&format!("-r {trace} tcp port 443 or tcp port 80")), quoted);
    assert_eq!(count(&format!("tcp port 443 -r {trace} or tcp port 80")), quoted);
    assert_ne!(quoted, "0 packets\n");
    let file = dir.write("expr", "tcp port 443 # web\nor tcp port 80\n");
    assert_eq!(count(&format!("-r {trace} -F {file}")), quoted);
    assert_eq!(
        count(&format!("-r {trace} ip[6] - 1 = 63 and tcp")),
        run_args(&["filter", "--count", "-r", &trace, "ip[6]-1=63 and tcp"]).good()
    );
}

#[test]
fn engines_select_the_same_packets() {
    let dir = Dir::new("engines");
    let trace = dir.trace("t.pcap", 3, 2000);
    for expression in ["tcp", "udp port 53", "greater 500 and ip6", "tcp[tcpflags] & tcp-syn != 0", "vlan", ""] {
        let lines = |engine: &str| run(&format!("filter -r {trace} --engine {engine} {expression}")).good();
        assert_eq!(lines("interp"), lines("jit"), "{expression}");
    }
}

#[test]
fn a_maximum_ends_the_run() {
    let dir = Dir::new("maximum");
    let (a, b) = (dir.trace("a.pcap", 1, 600), dir.trace("b.pcap", 2, 600));
    let all = run(&format!("filter -r {a} -r {b} tcp")).good();
    for max in [1, 7, 64, 300, 500, 5000] {
        let lines = run(&format!("filter -r {a} -r {b} -c {max} tcp")).good();
        let expected: String = all.split_inclusive('\n').take(max).collect();
        assert_eq!(lines, expected, "-c {max}");
    }
    let out = dir.file("out.pcap");
    assert_eq!(run(&format!("filter -r {a} -c 9 -w {out} --count tcp")).good(), "9 packets\n");
    assert_eq!(run(&format!("filter -r {out} --count")).good(), "9 packets\n");
}

#[test]
fn no_match_is_no_failure() {
    let dir = Dir::new("none");
    let trace = dir.trace("t.pcap", 1, 100);
    assert_eq!(run(&format!("filter -r {trace} host 192.0.2.77")).good(), "");
    assert_eq!(run(&format!("filter -r {trace} --count host 192.0.2.77")).good(), "0 packets\n");
}

#[test]
fn wrong_expressions_are_shown_with_their_place() {
    let dir = Dir::new("wrong");
    let trace = dir.trace("t.pcap", 1, 10);
    let told = run(&format!("filter -r {trace} -w {} prot 80", dir.file("out.pcap"))).bad(2);
    assert_eq!(told, "error: unknown word `prot`\n1 | prot 80\n  | ^^^^\nhelp: did you mean `port 80`?\n");
    assert_eq!(dir.names(), ["t.pcap"]);
}

#[test]
fn colours_come_only_when_asked_for() {
    let line = |color: &str| run(&format!("filter -d --color {color} prot 80")).bad(2);
    assert!(!line("auto").contains('\x1b'));
    assert!(!line("never").contains('\x1b'));
    assert!(line("always").contains("\x1b["));
}

/// The numbers are those of tcpdump 4.99 for the same expression.
#[test]
fn classic_bpf_is_printed_as_tcpdump_prints_it() {
    let dir = Dir::new("dump");
    let raw = dir.capture("raw.pcap", LinkType::RAW, &raw_ip(1, 20));
    let text = "(000) ldh      [12]\n(001) jeq      #0x806           jt 2\tjf 3\n(002) ret      #262144\n(003) ret      #0\n";
    assert_eq!(run("filter -d arp").good(), text);
    assert_eq!(
        run("filter -dd arp").good(),
        "{ 0x28, 0, 0, 0x0000000c },\n{ 0x15, 0, 1, 0x00000806 },\n{ 0x6, 0, 0, 0x00040000 },\n{ 0x6, 0, 0, 0x00000000 },\n"
    );
    assert_eq!(run("filter -ddd arp").good(), "4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n");
    let of_raw = run(&format!("filter -d -r {raw} tcp port 80")).good();
    assert_ne!(of_raw, run("filter -d tcp port 80").good(), "the link type of the capture counts");
    assert_eq!(run("filter -d -y RAW tcp port 80").good(), of_raw);
    let told = run("filter -d ip protochain 6").bad(1);
    assert!(told.contains("there is no classic BPF for this filter: `protochain` is a loop"), "{told}");
}

#[test]
fn statistics_are_told_apart_from_the_output() {
    let dir = Dir::new("stats");
    let trace = dir.trace("t.pcap", 1, 300);
    let ended = run(&format!("filter -r {trace} --count --stats tcp"));
    assert_eq!(ended.status, 0);
    assert!(ended.out.ends_with(" packets\n") && ended.out.lines().count() == 1);
    assert!(ended.err.starts_with("read      300 packets, "), "{}", ended.err);
    let json = run(&format!("filter -r {trace} --stats --json tcp")).good();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["statistics"]["read"]["packets"], 300);
    assert_eq!(json["packets"], json["statistics"]["selected"]["packets"]);
    assert_eq!(json["filter"], "tcp");
}

#[test]
fn times_follow_the_time_zone() {
    let dir = Dir::new("zone");
    let trace = dir.trace("t.pcap", 1, 1);
    let line = |zone: &str| {
        let output = netvm(["filter", "-tttt", "-r", &trace]).env("TZ", zone).output().expect("the program starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(line("UTC").starts_with("2023-11-14 22:13:20."), "{}", line("UTC"));
    if std::path::Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        assert!(line("Asia/Tokyo").starts_with("2023-11-15 07:13:20."), "{}", line("Asia/Tokyo"));
    }
}

/// Files long enough to be read in groups, whole and damaged.
#[test]
fn several_threads_and_mappings_give_what_one_and_copies_give() {
    let dir = Dir::new("threads");
    let trace = dir.trace("t.pcap", 5, 24_000);
    let bytes = std::fs::read(&trace).expect("the capture");
    assert!(bytes.len() > 12 << 20, "{}", bytes.len());
    let cut = dir.write("cut.pcap", &bytes[..bytes.len() - 9]);
    for expression in ["", "tcp port 443", "udp or arp", "host 192.0.2.77"] {
        for options in ["", "--count", "--json -c 900", "-c 4321", "--count --stats --json", "-w -"] {
            let with = |reading: &str| {
                let ended = run(&format!("filter -r {trace} -r {cut} {reading} {options} {expression}"));
                // Times differ, and what ran; counts do not.
                let told = ended.out.split("\"seconds\"").next().unwrap_or_default().to_owned();
                (ended.status, told, ended.err)
            };
            let one = with("--threads 1 --no-mmap");
            let same = ["--threads 1", "--threads 2", "--threads 2 --no-mmap"].iter().all(|reading| with(reading) == one);
            assert!(same, "{options} {expression}: {} {}", one.0, one.2);
        }
    }
    assert!(run(&format!("filter -r {trace} --threads 0")).bad(2).contains("--threads"));
}

#[test]
fn inputs_are_named_as_shells_and_lists_name_them() {
    let dir = Dir::new("named");
    let (a, b) = (dir.trace("a.pcap", 1, 50), dir.trace("b.pcap", 2, 50));
    let both = run(&format!("filter -r {a} -r {b} tcp")).good();
    assert!(!both.is_empty());
    for line in [format!("-r {a} {b} tcp"), format!("{a} {b} tcp"), format!("-V {}", dir.write("list", format!("{a}\n{b}\n\n")) + " tcp")] {
        assert_eq!(run(&format!("filter {line}")).good(), both, "{line}");
    }
    assert!(run("filter --version").good().starts_with("netvm"));
    assert!(run(&format!("filter -V {}", dir.file("absent"))).bad(1).contains("absent"));
}

#[test]
fn a_file_and_an_expression_must_both_match() {
    let dir = Dir::new("both");
    let trace = dir.trace("t.pcap", 1, 500);
    let file = dir.write("expr", "tcp or # two of them\nudp");
    let count = |line: &str| run(&format!("filter -r {trace} --count {line}")).good();
    assert_eq!(
        count(&format!("-F {file} port 443 or port 53")),
        run_args(&["filter", "-r", &trace, "--count", "(tcp or udp) and (port 443 or port 53)"]).good()
    );
    assert_eq!(count(&format!("-F {}", dir.write("empty", ""))), count(""));
    assert_eq!(count(&format!("-F {} tcp", dir.write("comments", "# nothing"))), count("tcp"));
    assert!(run(&format!("filter -r {trace} -F {file} prot 80")).bad(2).contains("1 | prot 80"));
}

#[test]
fn times_are_cut_out() {
    let dir = Dir::new("slice");
    let trace = dir.trace("t.pcap", 1, 400);
    let all = run(&format!("filter -tt -r {trace}")).good();
    let time = |line: &str| line.split(' ').next().expect("a time").to_owned();
    let lines: Vec<&str> = all.lines().collect();
    let (from, to) = (time(lines[100]), time(lines[300]));
    let expected: Vec<&str> = lines.iter().copied().filter(|line| time(line) >= from && time(line) < to).collect();
    assert!(expected.len() > 100);
    let sliced = run(&format!("filter -tt -S -r {trace} --from {from} --to {to} --count")).good();
    assert_eq!(sliced, format!("{} packets\n", expected.len()));
    assert!(run(&format!("filter -r {trace} --from yesterday")).bad(2).contains("not a time"));
}

/// Files with which the command fails are not lost at once, and are as bounded as the others.
#[test]
fn of_files_that_a_command_fails_with_one_of_each_name_is_kept() {
    let dir = Dir::new("rotate-failed");
    let trace = dir.trace("t.pcap", 1, 3000);
    let ours = Dir::new("rotate-failed-ours");
    // There is such a file already, which is nobody's to replace.
    ours.write("o.pcap1.1", "mine");
    let ended = run(&format!("filter -r {trace} -w {} -C 50k -W 3 -z false", ours.file("o.pcap")));
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(ended.err.matches("-z false failed with ").count() > 6, "several laps: {}", ended.err);
    let names = ["o.pcap0", "o.pcap0.1", "o.pcap1", "o.pcap1.1", "o.pcap1.2", "o.pcap2", "o.pcap2.1"];
    assert_eq!(ours.names(), names);
    assert_eq!(std::fs::read_to_string(ours.file("o.pcap1.1")).unwrap(), "mine");
}

/// Files with the names and packets that tcpdump gives them.
#[test]
fn outputs_go_on_in_other_files_as_those_of_tcpdump() {
    let dir = Dir::new("rotate");
    // 12 MB: tcpdump 4.99.3 counts in millions of bytes only.
    let trace = dir.trace("t.pcap", 1, 40_000);
    for options in ["-C 1", "-C 100", "-C 1 -W 3", "-C 1 -W 12", "-G 3600 -C 2"] {
        let (ours, theirs) = (Dir::new("rotate-ours"), Dir::new("rotate-theirs"));
        let ended = run(&format!("filter -r {trace} -w {} {options}", ours.file("o.pcap")));
        assert_eq!((ended.status, ended.err.contains("replace each other")), (0, options.contains("-G")), "{}", ended.err);
        let mut tcpdump = std::process::Command::new("tcpdump");
        // Run by root it becomes another user, who may not write there.
        if rustix::process::geteuid().is_root() {
            tcpdump.args(["-Z", "root"]);
        }
        tcpdump.args(["-r", &trace, "-w", &theirs.file("o.pcap")]).args(options.split(' '));
        let Ok(output) = tcpdump.output() else { return super::needs::missing("tcpdump") };
        assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(ours.names(), theirs.names(), "{options}");
        assert_eq!(ours.names().len() > 2, options != "-C 100", "{options}");
        for name in ours.names() {
            let read = |dir: &Dir| std::fs::read(dir.file(&name)).expect("the file");
            assert!(read(&ours)[24..] == read(&theirs)[24..], "{options} {name}");
        }
    }
    let small = Dir::new("rotate-small");
    run(&format!("filter -c 3000 -r {trace} -w {} -C 100k", small.file("o.pcap"))).good();
    assert!((5..20).contains(&small.names().len()), "{:?}", small.names());
    assert!(run(&format!("filter -r {trace} -w {} -W 3", dir.file("x.pcap"))).bad(2).contains("-W counts files"));
    assert!(run(&format!("filter -r {trace} -w - -C 3")).bad(2).contains("one file"));
}

#[test]
fn files_by_time_have_it_in_their_names_and_go_to_a_command() {
    let dir = Dir::new("by-time");
    let packets: Vec<_> = (0..10).map(|n| (netvm::io::Timestamp::from_micros(1_700_000_000 + n, 0), vec![n as u8; 60])).collect();
    let trace = dir.capture("t.pcap", LinkType::EN10MB, &packets);
    let out = Dir::new("by-time-out");
    run(&format!("filter -r {trace} -w {} -G 4 -z gzip", out.file("%H%M%S.pcap"))).good();
    let expected = ["221320.pcap.gz", "221324.pcap.gz", "221328.pcap"];
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while out.names() != expected {
        assert!(std::time::Instant::now() < end, "{:?}", out.names());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for (name, count) in expected.iter().zip([4, 4, 2]) {
        assert_eq!(run(&format!("filter --count -r {}", out.file(name))).good(), format!("{count} packets\n"), "{name}");
    }
    let few = Dir::new("by-time-few");
    let told = run(&format!("filter -r {trace} -w {} -G 4 -W 2", few.file("%S.pcap")));
    assert_eq!((told.status, told.err.as_str()), (0, "Maximum file limit reached: 2\n"));
    assert_eq!(few.names(), ["20.pcap", "24.pcap"]);
}

#[test]
fn captures_are_merged_by_time() {
    let dir = Dir::new("merge");
    let at = |time: i64, name: u8| (netvm::io::Timestamp::from_micros(time, 0), vec![name; 60]);
    let a = dir.capture("a.pcap", LinkType::EN10MB, &[at(1, 10), at(2, 11), at(9, 12), at(3, 13), at(9, 14)]);
    let b = dir.capture("b.pcapng", LinkType::EN10MB, &[at(2, 20), at(3, 21), at(4, 22), at(9, 23)]);
    let c = dir.capture("c.pcap", LinkType::EN10MB, &[at(0, 30), at(100, 31)]);
    let empty = dir.capture("d.pcap", LinkType::EN10MB, &[]);
    let first = |line: &str| -> Vec<u64> {
        let lines = run(&format!("filter -tt -xx -q {line}")).good();
        lines
            .lines()
            .filter_map(|line| line.trim().strip_prefix("0x0000:"))
            .map(|line| u64::from_str_radix(&line.trim()[..2], 16).expect("a byte"))
            .collect()
    };
    let expected = [30, 10, 11, 20, 21, 22, 12, 13, 14, 23, 31];
    assert_eq!(first(&format!("--merge -r {a} -r {b} -r {c} -r {empty}")), expected);
    let out = dir.file("out.pcap");
    run(&format!("filter --merge {a} {b} {c} -w {out}")).good();
    assert_eq!(first(&format!("-r {out}")), expected);
    // Long ones, so that bursts are cut, and a damaged one.
    let (x, y) = (dir.trace("x.pcap", 1, 3000), dir.trace("y.pcapng", 2, 3000));
    let bytes = std::fs::read(&y).expect("the capture");
    let cut = dir.write("cut.pcapng", &bytes[..bytes.len() - 5]);
    let ended = run(&format!("filter --merge -tt -S -r {x} -r {cut}"));
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("cut.pcapng: "), "{}", ended.err);
    let mut both = run(&format!("filter -tt -S -r {x}")).good() + &run(&format!("filter -tt -S -r {y}")).good();
    assert_eq!(ended.out.lines().count() + 1, both.lines().count());
    both = both.lines().take(5999).map(|line| line.to_owned() + "\n").collect();
    let time = |line: &&str| line[..17].to_owned();
    let mut sorted: Vec<&str> = both.lines().collect();
    sorted.sort_by_key(time);
    assert!(ended.out.lines().eq(sorted));
}

#[test]
fn a_list_of_addresses_is_a_filter_and_may_be_combined_with_an_expression() {
    let dir = Dir::new("list");
    let capture = dir.trace("in.pcap", 3, 2000);
    let count = |args: &[&str]| run_args(&[&["filter", "-r", &capture, "--count"], args].concat()).good();
    let list = dir.write("list.txt", "# published today\n10.0.0.0/8 ; private\n\n2001:db8::/32\n192.0.2.1-192.0.2.6\n");
    let expression = "net 10.0.0.0/8 or net 2001:db8::/32 or net 192.0.2.1/32 or net 192.0.2.2/31 or net 192.0.2.4/31 or host 192.0.2.6";
    assert_eq!(count(&["-F", &list]), count(&[expression]));
    assert_eq!(count(&["-F", &list, "udp"]), count(&[&format!("({expression}) and udp")]));
    assert_ne!(count(&["-F", &list]), count(&["-F", &list, "udp"]), "the expression narrows the list");
    let bad = dir.write("bad.txt", "192.0.2.1\n# a name\nexample.com\n");
    assert!(run(&format!("filter -F {bad} -r x")).bad(2).contains("bad.txt: line 3: `example.com` is no address"));
    let comments = dir.write("comments.txt", "# nothing today\n");
    let all = run(&format!("filter -F {comments} -r {capture} --count"));
    assert!(all.status == 0 && all.err.contains("only comments"), "{}", all.err);
    let program = dir.write("program.txt", "tcp # an expression\nport 443\n");
    assert_eq!(count(&["-F", &program]), count(&["tcp port 443"]), "what is no list stays an expression");
}

#[test]
fn a_term_that_can_never_hold_is_a_warning() {
    let dir = Dir::new("never");
    let trace = dir.trace("t.pcap", 1, 50);
    let ended = run(&format!("filter -r {trace} --count tcp and udp port 53"));
    assert_eq!((ended.status, ended.out.as_str()), (0, "0 packets\n"));
    let warning = "warning: expression rejects all packets: this term can never hold\n1 | tcp and udp port 53\n  |         ^^^^^^^^^^^\n";
    assert!(ended.err.contains(warning), "{}", ended.err);
    let told = run("explain tcp and udp port 53").good();
    assert!(told.contains("(never)") && told.contains("Note: expression rejects all packets"), "{told}");
    assert_eq!(run(&format!("filter -r {trace} --count tcp")).err, "");
}

#[test]
fn hosts_have_the_addresses_that_a_file_gives_them() {
    let dir = Dir::new("filter-hosts");
    let trace = dir.file("t.pcap");
    run(&format!("synth {trace} -c 100 --ether 02:00:00:00:00:07 --src 10.0.3.0/24 --dst 192.0.2.80")).good();
    let hosts = dir.write("hosts", "192.0.2.80 server\n2001:db8::80 server\n10.9.9.9 other # comment\n");
    let count = |expression: &str| run_args(&["filter", "-r", &trace, "--hosts", &hosts, "--count", expression]).good();
    assert_eq!(count("dst host server"), "100 packets\n");
    assert_eq!(count("src host server or other"), "0 packets\n");
    assert_eq!(count("ip host SERVER and not host other"), "100 packets\n");
    assert_eq!(count("ip6 host server"), "0 packets\n");
    // The machine's own file is read where that has no such name; the name is in every one.
    assert_eq!(count("dst host server and not host localhost"), "100 packets\n");
    let told = run_args(&["filter", "-r", &trace, "--hosts", &hosts, "host no-such-host"]).bad(2);
    assert!(told.contains("no host `no-such-host` in the given file of hosts or in /etc/hosts, and nothing else"), "{told}");
    let told = run_args(&["filter", "-r", &trace, "host no-such-host"]).bad(2);
    assert!(told.contains("no host `no-such-host` in /etc/hosts, and nothing else is looked up"), "{told}");
    let wrong = dir.write("wrong", "server 192.0.2.80\n");
    assert!(run(&format!("filter -r {trace} --hosts {wrong} tcp")).bad(1).contains("line 1: 'server' is not an address"));
}

/// The lines are those of tcpdump 4.99.3 with -T.
#[test]
fn payloads_are_printed_as_what_they_are_said_to_be() {
    let dir = Dir::new("filter-type");
    let mut packet = vec![0x45, 0, 0, 57, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34, 0x56, 0x78, 0, 37, 0, 0];
    packet.extend(*b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x00\x00\x01\x00\x01");
    packet.resize(57, 0);
    let file = dir.capture("t.pcap", LinkType::RAW, &[(netvm::io::Timestamp::default(), packet)]);
    let ends = "IP 10.0.0.1.4660 > 10.0.0.2.22136: ";
    assert_eq!(run(&format!("filter -t -r {file}")).good(), format!("{ends}UDP, length 29\n"));
    assert_eq!(run(&format!("filter -t -T domain -r {file}")).good(), format!("{ends}7+ A? example. (29)\n"));
    assert!(run(&format!("filter -t -T vxlan -r {file}")).good().starts_with(&format!("{ends}VXLAN, flags [invalid] (0x00), vni 256")));
    assert!(run(&format!("filter -T nonsense -r {file}")).bad(2).contains("possible values: aodv, carp, cnfp, domain, gtp, lmp, pgm"));
}

#[test]
fn command_lines_of_other_programs_are_explained() {
    for (line, hint) in [
        ("trace.pcap.gz", "`netvm filter -r trace.pcap.gz`"),
        ("tcpdump -i lo", "`netvm filter` takes the options of tcpdump"),
        ("click x.click", "`netvm run FILE.click`"),
        ("router.click", "`netvm run router.click`"),
        ("run one.pcap", "`netvm filter -r one.pcap`"),
        ("filter -I -i lo", "iw dev IF set type monitor"),
        ("filter -E secret -r x", "ESP is not decrypted"),
        ("filter -M secret -r x", "not checked"),
    ] {
        let told = run(line).bad(2);
        assert!(told.contains(hint), "{line}: {told}");
    }
    let dir = Dir::new("foreign");
    let capture = dir.trace("in.pcap", 3, 20);
    assert_eq!(run(&format!("filter -f -t -r {capture}")).good(), run(&format!("filter -t -r {capture}")).good());
}
