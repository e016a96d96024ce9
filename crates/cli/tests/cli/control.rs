//! `netvm run --control` and `netvm ctl`, and Click's protocol: a running configuration asked and
//! changed, by clients that behave and others.

use super::tools::{Dir, netvm};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// It runs until it is told to end.
const ENDLESS: &str = "RatedSource(DATA abcdef, RATE 5000) -> c :: Counter -> s :: Switch(0); s[0] -> d :: Discard; s[1] -> e :: Discard;
    Idle -> rt :: RadixIPLookup(10.0.0.0/8 0) -> Discard;";

/// A run that is ended when the test is.
struct Running {
    child: Child,
    socket: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(config: &str, socket: &Path, more: &[&str]) -> Self {
        Self::of(&["-e", config], socket, more)
    }

    fn of(configuration: &[&str], socket: &Path, more: &[&str]) -> Self {
        let control = format!("--control={}", socket.display());
        let mut command = netvm(["run", &control]);
        let child = command.args(configuration).args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let running = Self { child, socket: socket.to_owned() };
        running.wait(|| UnixStream::connect(socket).is_ok());
        running
    }

    fn wait(&self, until: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !until() {
            assert!(Instant::now() < end, "it takes too long");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn ctl(&self, args: &[&str]) -> Output {
        ctl(&self.socket, args)
    }

    fn says(&self, args: &[&str]) -> String {
        let output = self.ctl(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, args: &[&str]) -> String {
        let output = self.ctl(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn number(&self, handler: &str) -> u64 {
        self.says(&["read", handler]).trim().parse().unwrap()
    }
}

fn ctl(socket: &Path, args: &[&str]) -> Output {
    let socket = socket.display().to_string();
    netvm([&["ctl", "--socket", &socket], args].concat()).output().unwrap()
}

#[test]
fn another_version_takes_over_while_packets_flow() {
    let dir = Dir::new("replace");
    let run = Running::start(ENDLESS, &PathBuf::from(dir.file("c.sock")), &[]);
    run.wait(|| run.number("c.count") > 100);
    run.says(&["write", "rt.add", "10.9.0.0/16 0"]);
    let (next, wrong) = (dir.file("next.click"), dir.file("wrong.click"));
    std::fs::write(&next, ENDLESS.replace("-> s ::", "-> n :: Counter -> s ::")).unwrap();
    std::fs::write(&wrong, ENDLESS.replace("Counter", "Cuonter")).unwrap();
    let plan = run.says(&["replace", "--plan", &next]);
    assert!(plan.contains("would be made: n\n") && !plan.contains("pause"), "{plan}");
    assert!(run.fails(&["read", "n.count"]).contains("no element named 'n'"));
    let before = run.number("c.count");
    let told = run.says(&["replace", &next]);
    assert!(told.contains("\nmade: n\n") && told.contains("\npause ") && told.contains(" ms, prepared in "), "{told}");
    run.wait(|| run.number("n.count") > 100);
    // Packets flow between two readings.
    let passed = run.number("n.count");
    assert!(run.number("c.count") >= before + passed - 1);
    assert!(run.says(&["read", "rt.table"]).contains("10.9.0.0/16"), "routes that were added stay");
    let why = run.fails(&["replace", &wrong]);
    assert!(why.contains("no element class `Cuonter`"), "{why}");
    let count = run.number("n.count");
    run.wait(|| run.number("n.count") > count);
    assert!(run.says(&["replace", "--json", &next]).contains(r#""made":[]"#));
    assert_eq!(run.ctl(&["replace", &next, "nonsense"]).status.code(), Some(2));
    assert!(run.fails(&["replace", "/nonexistent"]).contains("/nonexistent"));
}

#[test]
fn a_run_is_asked_changed_and_ended() {
    let dir = Dir::new("control");
    let mut run = Running::start(ENDLESS, &PathBuf::from(dir.file("c.sock")), &[]);
    run.wait(|| run.number("c.count") > 100);
    assert_eq!(std::fs::metadata(&run.socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(run.says(&["list"]).contains("c :: Counter\n"));
    let handlers = run.says(&["list", "c"]);
    assert!(handlers.contains("count\tr\n") && handlers.contains("reset\tw\n"), "{handlers}");
    assert!(run.says(&["list", "c", "--json"]).contains(r#""class":"Counter""#));
    assert_eq!(run.number("e.count"), 0);
    run.says(&["write", "s.switch", "1"]);
    run.wait(|| run.number("e.count") > 0);
    let stopped = run.number("d.count");
    assert_eq!(run.says(&["read", "d.count", "s.switch"]), format!("d.count:\n{stopped}\n\ns.switch:\n1\n\n"));
    let stats = run.says(&["stats", "--json"]);
    assert!(stats.contains(r#""name":"c""#) && stats.contains(r#""arrived""#), "{stats}");
    let stats = run.says(&["stats"]);
    assert!(stats.contains("c :: Counter\t") && stats.contains("\nthread main\t"), "{stats}");
    for (args, why) in [
        (&["read", "x.count"][..], "no element named 'x'"),
        (&["read", "c.cuont"], "no handler named 'c.cuont'"),
        (&["write", "c.count", "1"], "can only be read"),
        (&["list", "x"], "no element named 'x'"),
    ] {
        assert!(run.fails(args).contains(why), "{args:?}: {}", run.fails(args));
    }
    run.says(&["stop"]);
    assert!(run.child.wait().unwrap().success());
    assert!(!run.socket.exists());
    assert!(String::from_utf8_lossy(&ctl(&run.socket, &["list"]).stderr).contains("c.sock"));
}

/// Tables, counters and scripts of a P4 program that is an element.
#[test]
fn tables_of_a_p4_program_are_changed_while_it_runs() {
    let dir = Dir::new("control-p4");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/p4/forward.p4");
    let source = "RatedSource(DATA abcdef, RATE 5000)";
    let config = format!("{source} -> p :: P4(\"{}\"); p [0] -> Discard; p [1] -> Discard;", program.display());
    let mut run = Running::start(&config, &PathBuf::from(dir.file("c.sock")), &[]);
    let right = "table_add routes to 0x0a010000/16 => 0x0a0000000005 1";
    assert_eq!(run.says(&["table", "add", "routes", "h.ip.dst:10.2.0.0/16", "drop()"]), "");
    assert!(run.says(&["table", "list"]).starts_with("In.routes\t1\th.ip.dst:lpm\t"));
    std::fs::write(dir.file("script.txt"), format!("# a script\n{right}\nregister_reset none\n")).unwrap();
    let told = run.fails(&["--bmv2", &dir.file("script.txt").to_string()]);
    assert!(told.contains("line 3: there is no register `none`: the program has none; nothing of the file was done"), "{told}");
    assert_eq!(run.says(&["table", "dump", "routes"]).lines().count(), 2);
    std::fs::write(dir.file("script.txt"), format!("{right}\n")).unwrap();
    assert!(run.says(&["--bmv2", &dir.file("script.txt").to_string()]).contains("handle 1"));
    let dump = run.says(&["table", "dump", "routes"]);
    assert!(dump.contains("add In.routes h.ip.dst:0xa010000/16 In.to(mac:0xa0000000005, port:0x1) # handle 1\n"), "{dump}");
    run.says(&["table", "modify", "routes", "drop", "1"]);
    run.says(&["table", "set-default", "routes", "to(mac:1, port:1)"]);
    assert!(run.says(&["table", "dump"]).contains("setdefault In.routes In.to(mac:0x1, port:0x1)\n"));
    run.says(&["table", "clear", "routes"]);
    assert_eq!(run.says(&["p4", "counter_read", "sent", "3"]), "sent[3]: 0 packets, 0 bytes\n");
    assert!(run.fails(&["p4", "counter_read", "sent"]).contains("index"));
    assert!(run.fails(&["--program", "x", "table", "list"]).contains("no element named 'x'"));
    run.says(&["stop"]);
    assert!(run.child.wait().unwrap().success());
}

#[test]
fn top_shows_rates_as_text_where_there_is_no_terminal() {
    let dir = Dir::new("control-top");
    let run = Running::start(ENDLESS, &PathBuf::from(dir.file("c.sock")), &[]);
    run.wait(|| run.number("c.count") > 100);
    let top = |args: &[&str]| netvm([&["top", "--socket", &run.socket.display().to_string()], args].concat()).output().unwrap();
    let shown = top(&["--count", "2", "--interval", "0.3"]);
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let text = String::from_utf8(shown.stdout).unwrap();
    let counters: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).filter(|words: &Vec<&str>| words.first() == Some(&"c")).collect();
    // The first table has no rates, as nothing is known of the time before it.
    assert!(counters.len() == 2 && counters[0][2] == "-" && counters[1][2] != "-" && counters[1][2] != "0", "{text}");
    assert!(text.contains("packets arrived in") && text.contains("element"), "{text}");
    // How old the run is, not this connection.
    std::thread::sleep(Duration::from_millis(200));
    let first = String::from_utf8(top(&["--batch", "-n", "1"]).stdout).unwrap();
    assert!(first.contains("packets arrived in") && !first.contains("arrived in 0.0 s"), "{first}");
    let refused = top(&["--interval", "0"]);
    assert!(refused.status.code() == Some(2) && String::from_utf8_lossy(&refused.stderr).contains("--interval takes seconds"));
}

#[test]
fn tables_are_loaded_from_files() {
    let dir = Dir::new("control-load");
    let run = Running::start(ENDLESS, &PathBuf::from(dir.file("c.sock")), &[]);
    // More than a megabyte of requests.
    let routes: Vec<String> = (0..20_000).map(|n| format!("10.{}.{}.0/24 0", n / 256, n % 256)).collect();
    let file = PathBuf::from(dir.file("routes.txt"));
    std::fs::write(&file, format!("# routes\n\n{}\n", routes.join("\n"))).unwrap();
    run.says(&["load", "rt.add", &file.display().to_string()]);
    assert_eq!(run.says(&["read", "rt.table"]).lines().count(), routes.len() + 1);
    std::fs::write(&file, "192.168.0.0/16 0\nnonsense\n192.168.1.0/24 0\n").unwrap();
    let told = run.fails(&["load", "rt.add", &file.display().to_string()]);
    assert!(told.contains("routes.txt:2: ") && told.contains("nothing was written"), "{told}");
    let table = run.says(&["read", "rt.table"]);
    assert!(!table.contains("192.168.0.0/16") && !table.contains("192.168.1.0/24"), "all or nothing");
    assert_eq!(table.lines().count(), routes.len() + 1, "and all that was there before");
    let more: Vec<String> = (0..20_000).map(|n| format!("11.{}.{}.0/24 0", n / 256, n % 256)).collect();
    std::fs::write(&file, format!("{}\nnonsense\n", more.join("\n"))).unwrap();
    let told = run.fails(&["load", "rt.add", &file.display().to_string()]);
    assert!(told.contains("routes.txt:20001: ") && told.contains("nothing was written"), "{told}");
    assert_eq!(run.says(&["read", "rt.table"]).lines().count(), routes.len() + 1, "all or nothing, however many");
    let told = run.fails(&["table", "dump", "rt.nosuch"]);
    assert!(told.contains("no table is called rt.nosuch; there are rt.routes"), "{told}");
    // What cannot be taken back is no part of such a batch.
    let request = r#"{"op":"batch","atomic":true,"requests":[{"op":"write","handler":"c.reset","text":""}]}"#;
    let answers = talk(&run.socket, format!("{request}\n").as_bytes(), 2);
    assert!(answers[1].contains("cannot be taken back"), "{answers:?}");
}

/// What is told of entries by the names of their fields is what elements in C have, and what is
/// added so is what they use.
#[test]
fn entries_are_told_and_added_by_the_names_of_their_fields() {
    let dir = Dir::new("control-fields");
    for engine in ["interp", "jit", "aot"] {
        let run = Running::start(ENDLESS, &PathBuf::from(dir.file("c.sock")), &["--engine", engine]);
        run.says(&["write", "rt.add", "10.9.0.0/16 192.0.2.9 0"]);
        let told = run.says(&["table", "dump", "rt.routes"]);
        assert_eq!(told, "key=10.0.0.0/8 -> gateway=0.0.0.0 port=0\nkey=10.9.0.0/16 -> gateway=192.0.2.9 port=0\n");
        assert_eq!(run.says(&["table", "list"]), "rt.routes\t2\n");
        run.says(&["table", "add", "rt.routes", "key=198.51.100.0/24 -> gateway=192.0.2.17 port=0"]);
        let table = run.says(&["read", "rt.table"]);
        assert!(table.contains("198.51.100.0/24\t192.0.2.17\t0"), "{table}");
        assert_eq!(run.says(&["read", "rt.routes.count"]).trim(), "3");
        run.says(&["table", "delete", "rt.routes", "key=10.9.0.0/16"]);
        assert!(!run.says(&["table", "dump", "rt.routes"]).contains("10.9.0.0"));
        run.says(&["stop"]);
    }
}

/// Tables of which replicas have parts are told as one; an entry that was added to all is one.
#[test]
fn tables_in_replicas_are_one_table() {
    for order in ["total", "flow"] {
        is_one_table(order);
    }
}

fn is_one_table(order: &str) {
    let dir = Dir::new(&format!("control-replicas-{order}"));
    let capture = dir.file("in.pcap");
    assert!(netvm(["synth", &capture, "--src", "10.1.0.0/24", "--dst", "198.51.100.0/24", "-c", "500"]).status().unwrap().success());
    let firewall = format!("{}/../../apps/firewall/firewall.click", env!("CARGO_MANIFEST_DIR"));
    let (inside, outside) = (format!("inside=mem:{capture}:1000000"), format!("outside=mem:{capture}:1"));
    // In compiled C time would pass so fast that an entry ends before it is read.
    let placed = ["--place", "rtc:2", "--order", order, "--engine", "jit"];
    let run = Running::of(&[&firewall, "--map", &inside, "--map", &outside], &PathBuf::from(dir.file("c.sock")), &placed);
    // All have come once, and none is new.
    let arrived = || serde_json::from_str::<serde_json::Value>(&run.says(&["stats", "--json"])).unwrap()["arrived"].as_u64().unwrap();
    run.wait(|| arrived() > 20_000);
    // Entries expire meanwhile: what was read twice is looked at when it was the same.
    let dump = || run.says(&["table", "dump", "known.brief"]);
    let is_counted = || {
        let (before, dump, count) = (run.number("known.brief.count"), dump(), run.number("known.brief.count"));
        before == count && dump.lines().count() as u64 == count
    };
    run.wait(is_counted);
    assert!(dump().lines().count() > 100, "{}", dump());
    let entry = "inside=10.1.0.77 outside=198.51.100.77 inside_port=7 outside_port=77 protocol=17 -> began_inside=1 is_answered=0 closes=0";
    run.says(&["table", "add", "known.brief", entry]);
    run.wait(is_counted);
    assert_eq!(dump().lines().filter(|line| *line == entry).count(), 1);
    let stats = run.says(&["stats"]);
    let replica = stats.lines().find(|line| line.starts_with("thread replica 1\t")).unwrap_or_else(|| panic!("{stats}"));
    assert!(replica.contains(" ns/packet") && (order == "flow" || replica.ends_with(" epochs wait")), "{replica}");
    run.says(&["stop"]);
}

/// Sources give no more, and what waits goes on before the run ends.
#[test]
fn a_run_is_drained() {
    let dir = Dir::new("control-drain");
    let config = "InfiniteSource(LIMIT -1) -> q :: Queue(100000) -> RatedUnqueue(2000) -> c :: Counter -> Discard;";
    let mut run = Running::start(config, &PathBuf::from(dir.file("c.sock")), &[]);
    run.wait(|| run.number("q.length") > 1000);
    let told = run.says(&["drain", "--within", "0.3"]);
    assert!(told.contains("give no more packets") && told.contains("packets still wait after 0.3 s"), "{told}");
    assert!(run.child.wait().unwrap().success());
    let config = "InfiniteSource(LIMIT -1) -> q :: Queue(500) -> Unqueue -> c :: Counter -> Discard;";
    let mut run = Running::start(config, &PathBuf::from(dir.file("d.sock")), &[]);
    run.wait(|| run.number("c.count") > 100);
    assert!(run.says(&["drain"]).contains("nothing waits; the run ends"));
    assert!(run.child.wait().unwrap().success());
}

#[test]
fn a_socket_that_a_killed_run_left_is_taken() {
    let dir = Dir::new("control-killed");
    let socket = PathBuf::from(dir.file("c.sock"));
    let mut first = Running::start(ENDLESS, &socket, &[]);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(socket.exists());
    let second = Running::start(ENDLESS, &socket, &[]);
    assert!(second.says(&["read", "c.class"]).contains("Counter"));
    // One that is in use is not.
    let control = format!("--control={}", socket.display());
    let third = netvm(["run", "-e", ENDLESS, &control]).output().unwrap();
    assert_eq!(third.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&third.stderr).contains("in use"));
}

/// What a client says, and the answers that come.
fn talk(socket: &Path, lines: &[u8], answers: usize) -> Vec<String> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let from = BufReader::new(stream.try_clone().unwrap());
    // The server may have hung up.
    let _ = stream.write_all(lines);
    from.lines().take(answers).map_while(Result::ok).collect()
}

#[test]
fn hostile_clients_are_answered_or_hung_up_on() {
    let dir = Dir::new("control-hostile");
    let run = Running::start(ENDLESS, &PathBuf::from(dir.file("c.sock")), &[]);
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    for (line, answer) in [
        (&b"{\n"[..], "not JSON"),
        (b"[]\n", "has no op"),
        (br#"{"op":"fly","id":7}"#, ""),
        (b"{\"op\":\"fly\",\"id\":7}\n", "no op 'fly'"),
        (b"{\"op\":\"read\"}\n", "names no handler"),
        (b"{\"op\":\"read\",\"handler\":7}\n", "names no handler"),
        (b"{\"op\":\"batch\"}\n", "has a list"),
        (b"{\"op\":\"batch\",\"requests\":[{\"op\":\"batch\",\"requests\":[]}]}\n", "a batch has no batches"),
        (&deep, "not JSON"),
    ] {
        let answers = talk(&run.socket, line, if answer.is_empty() { 1 } else { 2 });
        assert!(answers[0].contains(r#""protocol":1"#), "{answers:?}");
        assert!(answer.is_empty() || answers[1].contains(answer), "{answers:?}");
    }
    let with_id = talk(&run.socket, b"{\"op\":\"read\",\"handler\":\"c.class\",\"id\":[1]}\n", 2);
    assert_eq!(with_id[1], r#"{"id":[1],"ok":"Counter"}"#);
    // A line without end, and bytes that are no text.
    assert_eq!(talk(&run.socket, &vec![b'x'; 3 << 20], 9).len(), 1);
    assert_eq!(talk(&run.socket, b"\xff\xfe\n", 9).len(), 1);
    let many: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(&run.socket).unwrap()).collect();
    let refused = many.iter().filter(|stream| {
        let mut text = String::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        BufReader::new(*stream).read_line(&mut text).is_ok() && text.contains("too many")
    });
    assert!(refused.count() >= 20);
    drop(many);
    run.wait(|| run.ctl(&["read", "c.class"]).status.success());
}

#[test]
fn clicks_protocol_is_spoken_where_a_configuration_asks_for_it() {
    let dir = Dir::new("control-click");
    let socket = PathBuf::from(dir.file("click.sock"));
    let doors = format!("{ENDLESS} ControlSocket(unix, {}); ControlSocket(unix, {}r, READONLY true)", socket.display(), socket.display());
    let mut command = netvm(["run", "-e", &doors]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let run = Running { child, socket: socket.clone() };
    let other = PathBuf::from(dir.file("click.sockr"));
    run.wait(|| UnixStream::connect(&socket).is_ok() && UnixStream::connect(&other).is_ok());
    let lines = b"READ c.class\r\nWRITE s.switch 1\nREAD s.switch\nREAD x.y\nREAD c.nothing\nCHECKREAD c.count\nCHECKWRITE c.count\nFLY c.count\nREAD\nWRITEDATA s.switch 1\n0QUIT\n";
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(lines).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let wanted = "Click::ControlSocket/1.3\r\n200 Read handler 'c.class' OK\r\nDATA 7\r\nCounter200 Write handler 's.switch' OK\r\n200 Read handler 's.switch' OK\r\nDATA 1\r\n1";
    assert!(text.starts_with(wanted), "{text}");
    for line in [
        "510 no element named 'x'\r\n",
        "511 no handler named 'c.nothing'",
        "200 Read handler 'c.count' OK\r\n511 No write handler",
        "501 Command 'FLY'",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.ends_with("500 Wrong number of arguments to 'READ'\r\n200 Write handler 's.switch' OK\r\n200 Goodbye!\r\n"), "{text}");
    let refused = talk(&other, b"WRITE s.switch 1\nREAD c.class\n", 3);
    assert!(refused[1].starts_with("530 Permission denied") && refused[2].starts_with("200 Read"), "{refused:?}");
}

/// A port of this machine speaks it as well: that of an element, and that of `click -p`.
#[test]
fn clicks_protocol_is_spoken_at_ports() {
    let dir = Dir::new("control-tcp");
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (own, given) = (free(), free());
    let element = format!("{ENDLESS} ControlSocket(TCP, {});", own.port());
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_netvm"), dir.file("click")).unwrap();
    let mut click = Command::new(dir.file("click"));
    click.args(["-p", &given.port().to_string(), "-e", ENDLESS]);
    for (mut command, address) in [(netvm(["run", "-e", &element]), own), (click, given)] {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let run = Running { child, socket: PathBuf::new() };
        run.wait(|| std::net::TcpStream::connect(address).is_ok());
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(b"WRITE s.switch 1\nREAD s.switch\nQUIT\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let wanted = "Click::ControlSocket/1.3\r\n200 Write handler 's.switch' OK\r\n200 Read handler 's.switch' OK\r\nDATA 1\r\n1";
        assert!(text.starts_with(wanted) && text.ends_with("200 Goodbye!\r\n"), "{command:?}: {text}");
    }
}

/// Two sources of datagrams, of which one is dropped.
const RECORDED: &str = "s1 :: RatedSource(LENGTH 20, RATE 500) -> UDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 22) -> in :: Null;
    s2 :: RatedSource(LENGTH 20, RATE 500) -> UDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 80) -> in;
    in -> f :: IPFilter(deny dst port 22, allow all) -> d :: Discard;";

#[test]
fn the_last_packets_are_asked_for_while_they_are_recorded() {
    let dir = Dir::new("control-why");
    let run = Running::start(RECORDED, &PathBuf::from(dir.file("c.sock")), &["--record=64"]);
    run.wait(|| run.says(&["why"]).starts_with("64 of the last 64 packets match\n"));
    let told = run.says(&["why", "-n", "1"]);
    assert!(told.contains(" f :: IPFilter  dropped: DENIED\n") && told.contains(" d :: Discard\n"), "{told}");
    assert_eq!(told.matches("\nPacket ").count(), 1, "{told}");
    assert!(told.contains("→ in → f → d\n") || told.contains("→ in → f  dropped: DENIED\n"), "{told}");
    assert!(run.says(&["why", "less 10"]).starts_with("0 of the last 64"));
    let all: serde_json::Value = serde_json::from_str(&run.says(&["why", "--json", "-n", "64"])).unwrap();
    assert!(run.fails(&["why", "dst prt 443"]).contains("unknown word `prt`"));
    // What a run writes when it crashes is asked in the same way.
    let file = dir.file("crash.json");
    std::fs::write(&file, all["packets"].to_string()).unwrap();
    let later = run.says(&["why", "--file", &file, "-n", "0"]);
    assert!(later.starts_with("64 of the last 64 packets match\n") && later.contains("dropped: DENIED"), "{later}");
    std::fs::write(&file, "{}").unwrap();
    assert!(run.fails(&["why", "--file", &file]).contains("not what a run writes"));
    let plain = Running::start(RECORDED, &PathBuf::from(dir.file("p.sock")), &["--record=0"]);
    assert!(plain.fails(&["why"]).contains("--record=0"));
}

#[test]
fn packets_are_recorded_where_nobody_has_asked_for_it() {
    let dir = Dir::new("control-why-usual");
    let run = Running::start(RECORDED, &PathBuf::from(dir.file("u.sock")), &[]);
    run.wait(|| run.says(&["why", "-n", "0"]).lines().count() == 3);
    let told = run.says(&["why", "-n", "1"]);
    assert!(told.contains("packets match\n") && told.contains("dropped: DENIED\n") && told.contains(" d :: Discard\n"), "{told}");
}

/// A packet goes through several threads: its way is put together, also when there are more
/// replicas, and behind another version.
#[test]
fn ways_of_packets_lead_through_threads() {
    let dir = Dir::new("control-why-threads");
    let capture = dir.file("in.pcap");
    assert!(netvm(["synth", &capture, "--src", "10.1.0.0/24", "--dst", "198.51.100.0/24", "-c", "500"]).status().unwrap().success());
    let config = "FromDevice(in) -> c :: Classifier(12/0800, -); c[1] -> Discard; c[0] -> Strip(14) -> h :: CheckIPHeader -> q :: Queue -> u :: Unqueue -> d :: Discard;";
    let (device, file) = (format!("in=mem:{capture}:1000000"), dir.write("first.click", config));
    let run = Running::of(&[&file, "--map", &device], &PathBuf::from(dir.file("c.sock")), &["--place", "rtc:2"]);
    let ways = |run: &Running| -> Vec<String> {
        let told: serde_json::Value = serde_json::from_str(&run.says(&["why", "--json", "-n", "4096"])).unwrap();
        let way = |it: &serde_json::Value| {
            let way = it["way"].as_array().unwrap().iter().map(|name| name.as_str().unwrap_or("…"));
            way.chain([it["thread"].as_str().unwrap()]).collect::<Vec<&str>>().join(" ")
        };
        told["packets"].as_array().unwrap().iter().map(way).collect()
    };
    let has = |run: &Running, way: &str| ways(run).iter().any(|it| it.contains(way));
    run.wait(|| ["0", "1"].iter().all(|n| has(&run, &format!("FromDevice@1 c Strip@4 h q u d replica {n}"))));
    assert!(run.says(&["why", "-n", "1"]).contains(" of replica "));
    assert!(run.says(&["replicas", "3"]).starts_with("3 replicas"));
    run.wait(|| has(&run, "FromDevice@1 c Strip@4 h q u d replica 2"));
    let next = dir.write("next.click", config.replace("h :: CheckIPHeader", "h :: CheckIPHeader -> n :: Null"));
    assert!(run.says(&["replace", &next]).contains("\nmade: n\n"));
    run.wait(|| has(&run, "FromDevice@1 c Strip@4 h n q u d replica 2"));
    run.says(&["stop"]);
}

/// Stages in order come and go, by the words of `--place`; what elements have counted stays.
#[test]
fn a_run_is_placed_in_another_way() {
    let dir = Dir::new("control-place");
    let capture = dir.file("in.pcap");
    assert!(netvm(["synth", &capture, "-c", "500"]).status().unwrap().success());
    let config = "FromDevice(in) -> Strip(2) -> a :: Counter -> b :: Counter -> q :: Queue(1000000) -> Discard;";
    let (device, file) = (format!("in=mem:{capture}:1000000"), dir.write("p.click", config));
    let run = Running::of(&[&file, "--map", &device], &PathBuf::from(dir.file("c.sock")), &["--place", "rtc:2"]);
    let stages = || run.says(&["threads"]).lines().filter(|line| line.starts_with("in order ")).count() - 1;
    assert_eq!(stages(), 0);
    run.wait(|| run.number("a.count") > 10_000);
    assert_eq!(run.says(&["place", "--plan", "pipeline:4"]), "6 elements would go on\n");
    assert_eq!(stages(), 0);
    let said = run.says(&["place", "pipeline"]);
    assert!(said.starts_with("6 elements went on\npause ") && said.lines().count() == 2, "{said}");
    assert!(stages() == 1 && run.number("a.count") > 10_000);
    let written = dir.write("b.place", "replicas 1\ncut b\npin sources 0\n");
    let told: serde_json::Value = serde_json::from_str(&run.says(&["place", "--json", &written])).unwrap();
    assert!(told["made"].as_array().unwrap().is_empty() && told["pause_us"].as_u64().unwrap() > 0, "{told}");
    assert_eq!(stages(), 2);
    let threads = run.says(&["threads"]);
    assert!(threads.lines().any(|line| line.starts_with("sources ") && line.split_whitespace().nth(2) == Some("0")), "{threads}");
    run.says(&["place", "rtc:3"]);
    run.wait(|| run.says(&["replicas"]).starts_with("3 replicas"));
    assert_eq!(stages(), 0);
    assert!(run.fails(&["place", "rtc:0"]).contains("rtc takes from 1 to 256 replicas"));
    assert!(run.fails(&["place", "nonsense"]).contains("expected auto, pipeline, pipeline:N"));
    assert!(run.fails(&["place", "pipeline:2"]).contains("nothing is for replicas in the new one"));
    let (a, b) = (run.number("a.count"), run.number("b.count"));
    assert!(a > 10_000 && b > 10_000);
    run.says(&["stop"]);
    let one = Running::start(RECORDED, &PathBuf::from(dir.file("u.sock")), &[]);
    assert!(one.fails(&["place", "rtc:2"]).contains("the configuration runs on one thread"));
}

#[test]
fn prometheus_reads_statistics_over_http() {
    let mut command = netvm(["run", "-e", RECORDED, "--metrics=127.0.0.1:0"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut run = Running { child, socket: PathBuf::new() };
    let mut told = String::new();
    BufReader::new(run.child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let address =
        told.trim().strip_prefix("metrics http://").and_then(|rest| rest.strip_suffix("/metrics")).expect("an address").to_owned();
    let ask = |request: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let get = |more: &str| ask(&format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n{more}\r\n"));
    run.wait(|| get("").contains("netvm_element_drops_total{element=\"f\",class=\"IPFilter\",reason=\"DENIED\"} "));
    let answer = get("");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("netvm_") && value.parse::<f64>().is_ok(), "{line}");
    }
    let open = get("Accept: application/openmetrics-text; version=1.0.0\r\n");
    assert!(open.contains("application/openmetrics-text") && open.ends_with("# EOF\n"), "{open}");
    assert!(ask("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask("DELETE /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

/// Each thread of a run has its packets, its time, and how much waits for it.
#[test]
fn prometheus_reads_of_each_thread() {
    let dir = Dir::new("control-metrics-threads");
    let capture = dir.file("in.pcap");
    assert!(netvm(["synth", &capture, "--src", "10.1.0.0/24", "--dst", "198.51.100.0/24", "-c", "500"]).status().unwrap().success());
    let (map, config) = (format!("in=mem:{capture}:1000000"), "FromDevice(in) -> Strip(14) -> CheckIPHeader -> q :: Queue -> Discard;");
    let mut command = netvm(["run", "-e", config, "--map", &map, "--place", "rtc:2", "--metrics=127.0.0.1:0"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut run = Running { child, socket: PathBuf::new() };
    let mut told = String::new();
    BufReader::new(run.child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let address = told.trim().strip_prefix("metrics http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap().to_owned();
    let value = |metric: &str, thread: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let begins = format!("netvm_thread_{metric}{{thread=\"{thread}\",");
        answer.lines().find(|line| line.starts_with(&begins)).and_then(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
    };
    for thread in ["sources", "replica 0", "replica 1", "in order"] {
        run.wait(|| value("packets_total", thread).is_some_and(|packets| packets > 10_000.0));
        assert!(value("cpu_seconds_total", thread).is_some_and(|seconds| seconds > 0.0), "{thread}");
        assert!(value("nanoseconds_per_packet", thread).is_some_and(|ns| ns > 0.0), "{thread}");
        let waits = ["waiting_epochs", "room_epochs"].map(|metric| value(metric, thread).is_some());
        assert_eq!(waits, [thread != "sources"; 2], "{thread}");
    }
}

#[test]
fn without_a_socket_it_is_said_how_to_name_one() {
    let dir = Dir::new("control-none");
    let output = netvm(["ctl", "list"]).env("XDG_RUNTIME_DIR", PathBuf::from(dir.file(""))).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no configuration runs with --control"));
    let mut command: Command = netvm(["run", "-e", ENDLESS, "--control"]);
    let child = command.env("XDG_RUNTIME_DIR", PathBuf::from(dir.file(""))).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut run = Running { child, socket: PathBuf::new() };
    let mut told = String::new();
    BufReader::new(run.child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.starts_with("control socket "), "{told}");
    let found = netvm(["ctl", "read", "c.class"]).env("XDG_RUNTIME_DIR", PathBuf::from(dir.file(""))).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "Counter\n");
}
