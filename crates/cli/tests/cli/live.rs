//! `netvm filter -i`: in a network namespace with a veth pair, where tests may make one (root).

use super::tools::{Dir, Ended, ended, netvm, run};
use netvm::io::live::Injector;
use netvm::io::{Capture, Damage, Precision, ReadError, synth};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// What the frames of these tests come from, whatever else the kernel sends.
const OURS: &str = "ether src 02:00:00:00:00:07";
const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 7];

/// A network namespace with the interfaces `left` and `right`, which are connected.
pub struct Space(pub String);

impl Space {
    /// Makes one; tells why not, where that cannot be.
    pub fn new(name: &str) -> Option<Self> {
        let space = Self(format!("netvm-{}-{name}", std::process::id()));
        if !ip(&["-V"]) {
            super::needs::missing("iproute2");
            return None;
        }
        if !rustix::process::geteuid().is_root() || !ip(&["netns", "add", &space.0]) {
            eprintln!("skipped: a network namespace needs root");
            return None;
        }
        let veth = ["link", "add", "left", "mtu", "9000", "type", "veth", "peer", "name", "right", "mtu", "9000"];
        let made = space.ip(&veth) && ["lo", "left", "right"].iter().all(|link| space.ip(&["link", "set", link, "up"]));
        if !made {
            eprintln!("skipped: the kernel has no virtual Ethernet pairs");
        }
        made.then(|| space.carries());
        made.then_some(space)
    }

    pub fn ip(&self, args: &[&str]) -> bool {
        ip(&[&["-n", &self.0], args].concat())
    }

    /// Waits until the interfaces carry packets: the kernel drops what is sent before.
    fn carries(&self) {
        let end = Instant::now() + PATIENCE;
        let up = |link| {
            let shown = Command::new("ip").args(["-n", &self.0, "link", "show", link]).output().expect("iproute2");
            String::from_utf8_lossy(&shown.stdout).contains("state UP")
        };
        while !["left", "right"].into_iter().all(up) {
            assert!(Instant::now() < end, "the interfaces come up");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Does something inside; programs that are started there are inside, too.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let space = File::open(format!("/run/netns/{}", self.0)).expect("the namespace");
        std::thread::scope(|scope| {
            let work = || {
                move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).expect("the thread moves");
                work()
            };
            scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.0]);
    }
}

pub fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A program that captures, from the moment on when it does.
pub struct Capturing {
    pub child: Child,
    out: mpsc::Receiver<String>,
    err: mpsc::Receiver<String>,
}

impl Capturing {
    pub fn begin(command: Command) -> Self {
        Self::when(command, "listening on")
    }

    /// Waits until the program says that.
    pub fn when(mut command: Command, said: &str) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (out, err) = (lines(child.stdout.take()), lines(child.stderr.take()));
        let capturing = Self { child, out, err };
        while !capturing.err.recv_timeout(PATIENCE).expect("the program captures").contains(said) {}
        capturing
    }

    fn line(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("a line comes while the program goes on")
    }

    pub fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill").success());
    }

    /// The end, which must come soon.
    pub fn end(mut self) -> Ended {
        let rest = |lines: &mpsc::Receiver<String>| {
            let mut text = String::new();
            while let Ok(line) = lines.recv_timeout(PATIENCE) {
                text += &line;
                text.push('\n');
            }
            text
        };
        let (out, err) = (rest(&self.out), rest(&self.err));
        // One that closed its streams has its status already; one that did not is stuck.
        let _ = self.child.kill();
        let status = self.child.wait().expect("it ends").code().unwrap_or(-1);
        Ended { status, out, err }
    }
}

/// A test that fails leaves no program behind.
impl Drop for Capturing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let stream = BufReader::new(stream.expect("a pipe"));
    std::thread::spawn(move || stream.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

/// Frames of all sorts, some with one VLAN tag, some with two.
pub fn frames() -> Vec<Vec<u8>> {
    let tag = |frame: &mut Vec<u8>, tag: [u8; 4]| drop(frame.splice(12..12, tag));
    let mut frames: Vec<Vec<u8>> = synth::mixed_trace(5, 700).into_iter().map(|(_, frame)| frame).collect();
    for (i, frame) in frames.iter_mut().enumerate() {
        frame[6..12].copy_from_slice(&SOURCE);
        if i % 3 == 0 {
            tag(frame, [0x81, 0, 0xa0, (i % 7) as u8]);
        }
        if i % 6 == 0 {
            tag(frame, [0x88, 0xa8, 0, 9]);
        }
    }
    frames
}

/// Captured bytes and length on the wire of each packet.
fn packets(path: &str) -> Vec<(Vec<u8>, u32)> {
    let mut capture = Capture::open(path).expect("a capture");
    let mut all = Vec::new();
    while let Some(burst) = capture.next_burst(4096).expect("a whole one") {
        assert_eq!(burst.precision(), Precision::Nano);
        all.extend(burst.records().map(|record| (record.data.to_vec(), record.wire_len())));
    }
    all
}

fn filter(args: &[&str]) -> Command {
    netvm([&["filter"], args].concat())
}

fn tcpdump(args: &[&str]) -> Option<Command> {
    Command::new("tcpdump").arg("--version").output().ok()?;
    let mut command = Command::new("tcpdump");
    command.args(["-Z", "root", "--nano", "-U"]).args(args);
    Some(command)
}

#[test]
fn what_was_sent_is_captured_as_by_tcpdump() {
    let Some(space) = Space::new("veth") else { return };
    let dir = Dir::new("live");
    let (ours, theirs) = (dir.file("ours.pcap"), dir.file("theirs.pcap"));
    let frames = frames();
    let count = frames.len().to_string();
    let tags = frames.iter().filter(|frame| matches!(frame[12..14], [0x81, 0] | [0x88, 0xa8])).count();
    assert!(tags >= 234);
    let tagged = format!("{OURS} and vlan");
    let (first, lines) = space.inside(|| {
        let first = Capturing::begin(filter(&["-i", "right", "-w", &ours, "-c", &count, OURS]));
        let reference = tcpdump(&["-i", "right", "-w", &theirs, "-c", &count, OURS]).map(Capturing::begin);
        let lines = Capturing::begin(filter(&["-i", "right", "-p", "-t", "-e", &tagged]));
        let injector = Injector::open("left").expect("an interface to send on");
        frames.iter().for_each(|frame| injector.send(frame).expect("a frame is sent"));
        if let Some(reference) = reference {
            assert_eq!(reference.end().status, 0);
        }
        let first = first.end();
        // They are in the ring, but may be handed over a little later than those of the others.
        let mut text: String = (0..tags).map(|_| lines.line() + "\n").collect();
        lines.signal("-TERM");
        let lines = lines.end();
        text += &lines.out;
        (first, Ended { out: text, ..lines })
    });
    assert_eq!((first.status, first.out.as_str()), (0, ""), "{}", first.err);
    let got = packets(&ours);
    let expected: Vec<_> = frames.into_iter().map(|frame| (frame.len() as u32, frame)).map(|(len, frame)| (frame, len)).collect();
    assert!(got == expected, "{} packets of {}", got.len(), expected.len());
    match fs::exists(&theirs).expect("a look") {
        true => assert!(got == packets(&theirs), "tcpdump captured something else"),
        false => super::needs::missing("tcpdump"),
    }
    assert_eq!(lines.status, 0, "{}", lines.err);
    assert_eq!(lines.out, run(&format!("filter -t -e -r {ours} {tagged}")).good(), "live and file agree");
}

#[test]
fn lines_come_at_once_and_an_interrupt_is_a_good_end() {
    let Some(space) = Space::new("lo") else { return };
    let ended = space.inside(|| {
        let capturing = Capturing::begin(filter(&["-i", "lo", "-t", "udp port 9"]));
        let socket = UdpSocket::bind("127.0.0.1:4000").expect("a socket");
        for size in [1, 2] {
            // Nobody listens there, which the second send may tell.
            let _ = socket.send_to(&[0; 9][..size], "127.0.0.1:9").or_else(|_| socket.send_to(&[0; 9][..size], "127.0.0.1:9"));
            assert_eq!(capturing.line(), format!("IP 127.0.0.1.4000 > 127.0.0.1.9: UDP, length {size}"));
        }
        capturing.signal("-INT");
        capturing.end()
    });
    assert_eq!((ended.status, ended.out.as_str()), (0, ""), "no packet twice; {}", ended.err);
    let told: Vec<&str> = ended.err.lines().collect();
    assert_eq!((told[0], told[2]), ("2 packets captured", "0 packets dropped by kernel"));
    let received = told[1].strip_suffix(" packets received by filter").expect("what was received");
    assert_eq!(received, "4", "those going out, too, and none of other kinds");
}

/// The kernel drops what the filter does not want, unless it took a tag off.
#[test]
fn the_kernel_filters_what_it_can() {
    let Some(space) = Space::new("kernel") else { return };
    let frames = frames();
    let tagged = frames.iter().filter(|frame| matches!(frame[12..14], [0x81, 0] | [0x88, 0xa8])).count();
    let counted = |expression: &str, wanted: &dyn Fn(&[u8]) -> bool| {
        let wanted = frames.iter().filter(|frame| wanted(frame)).count();
        let count = wanted.to_string();
        let ended = space.inside(|| {
            let capturing = Capturing::begin(filter(&["-i", "right", "-t", "-c", &count, &format!("{OURS} and ({expression})")]));
            let injector = Injector::open("left").expect("an interface to send on");
            frames.iter().for_each(|frame| injector.send(frame).expect("a frame is sent"));
            capturing.end()
        });
        assert_eq!((ended.status, ended.out.lines().count()), (0, wanted), "{expression}: {}", ended.err);
        let line = ended.err.lines().find_map(|line| line.strip_suffix(" packets received by filter")).expect("a count");
        (wanted, line.parse::<usize>().expect("a number"))
    };
    let ip = |frame: &[u8]| frame[12..14] == [8, 0];
    let (wanted, received) = counted("ip", &ip);
    assert!(wanted > 100 && received <= wanted + tagged && received < frames.len(), "{received} for {wanted} and {tagged} tagged");
    let (wanted, received) = counted("vlan", &|frame| matches!(frame[12..14], [0x81, 0] | [0x88, 0xa8]));
    assert!(received <= wanted, "nothing else: {received} for {wanted}");
    // The kernel has no loops.
    let (wanted, received) = counted("ip or ip protochain 250", &ip);
    assert!(received > wanted, "{received} for {wanted}");
}

#[test]
fn an_interface_that_goes_away_ends_the_capture() {
    let Some(space) = Space::new("gone") else { return };
    let dir = Dir::new("gone");
    let out = dir.file("out.pcap");
    let ended = space.inside(|| {
        let capturing = Capturing::begin(filter(&["-i", "right", "-w", &out, OURS]));
        let injector = Injector::open("left").expect("an interface to send on");
        injector.send(&[&[0xff; 6][..], &SOURCE, &[0x88, 0xb5], &[1; 50]].concat()).expect("a frame is sent");
        grown(&out, 1);
        assert!(space.ip(&["link", "set", "right", "down"]));
        std::thread::sleep(Duration::from_millis(400));
        assert!(space.ip(&["link", "set", "right", "up"]), "to go down is not the end");
        space.carries();
        injector.send(&[&[0xff; 6][..], &SOURCE, &[0x88, 0xb5], &[2; 50]].concat()).expect("a frame is sent");
        assert!(space.ip(&["link", "del", "left"]));
        capturing.end()
    });
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("right: the interface is gone"), "{}", ended.err);
    assert_eq!(packets(&out).len(), 2, "what came before is whole");
}

#[test]
fn what_is_wrong_with_an_interface_is_told() {
    assert!(run("filter -i nosuch0 tcp").bad(1).contains("nosuch0: there is no such interface"));
    assert!(run("filter -i an-interface-with-a-long-name").bad(1).contains("there is no such interface"));
    assert!(run("filter -i lo -r a.pcap").bad(2).contains("cannot be used with"));
    assert!(run("filter -p -r a.pcap").bad(2).contains("cannot be used with"));
    assert!(run("filter -i lo -y RAW").bad(2).contains("no packets of type RAW"));
    assert!(run("filter -i 999").bad(1).contains("no interface of that number"));
    assert!(run("filter -i lo -s 262145").bad(2).contains("262144"));
    let Some(space) = Space::new("down") else { return };
    assert!(space.ip(&["link", "set", "right", "down"]));
    assert!(space.inside(|| run("filter -i right")).bad(1).contains("right: the interface is down"));
    assert_eq!(space.inside(|| run("filter -d -i right tcp")).good(), run("filter -d tcp").good());
}

#[test]
fn without_privilege_the_remedy_is_told() {
    let mut command = filter(&["-i", "lo", "-c", "1"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    match command.output() {
        Ok(output) => {
            let told = ended(output).bad(1);
            assert!(told.contains("lo: capturing needs CAP_NET_RAW: run as root or `setcap cap_net_raw+ep $(command -v netvm)`"), "{told}");
        }
        Err(error) => eprintln!("skipped: nobody else may run the program: {error}"),
    }
}

/// A frame of ours with so many bytes after the header.
pub fn frame(number: u8, len: usize) -> Vec<u8> {
    [&[0xff; 6][..], &SOURCE, &[0x88, 0xb5], &vec![number; len]].concat()
}

/// Waits until a capture that grows has so many packets; one that is read in part does not count.
pub fn grown(path: &str, count: usize) {
    let end = Instant::now() + PATIENCE;
    let have = || {
        let (mut capture, mut have) = (Capture::open(path).expect("a capture from the beginning on"), 0);
        loop {
            match capture.next_burst(4096) {
                Ok(Some(burst)) => have += burst.len(),
                Ok(None) | Err(ReadError::Damaged { damage: Damage::Cut { .. }, .. }) => return have,
                Err(error) => panic!("whole records: {error}"),
            }
        }
    };
    while have() < count {
        assert!(Instant::now() < end, "the file grows to {count} packets, it has {}", have());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_capture_grows_under_its_name_and_outlives_its_program() {
    let Some(space) = Space::new("grow") else { return };
    let dir = Dir::new("grow");
    for name in ["a.pcap", "a.pcapng", "a.pcap.gz", "a.pcap.zst"] {
        for (signal, status) in [("-HUP", 0), ("-TERM", 0), ("-INT", 0), ("-KILL", -1)] {
            let out = dir.write(name, "what was there before");
            let ended = space.inside(|| {
                let capturing = Capturing::begin(filter(&["-i", "right", "-w", &out, OURS]));
                if !name.ends_with("z") && !name.ends_with("t") {
                    grown(&out, 0);
                }
                let injector = Injector::open("left").expect("an interface to send on");
                (0..9).for_each(|number| injector.send(&frame(number, 60)).expect("a frame is sent"));
                let end = Instant::now() + PATIENCE;
                // A reader finds whole records, compressed or not, while the program goes on.
                let have = || Capture::open(&out).ok().and_then(|mut capture| capture.next_burst(99).ok()?.map(|burst| burst.len()));
                while have() != Some(9) {
                    assert!(Instant::now() < end, "{name} {:?}", have());
                    std::thread::sleep(Duration::from_millis(20));
                }
                capturing.signal(signal);
                capturing.end()
            });
            assert_eq!(ended.status, status, "{name} {signal}: {}", ended.err);
            assert_eq!(ended.err.contains("9 packets captured"), status == 0, "{}", ended.err);
        }
    }
}

#[test]
fn nohup_goes_on_and_usr1_tells_counts() {
    let Some(space) = Space::new("asked") else { return };
    let dir = Dir::new("asked");
    let out = dir.file("out.pcap");
    let ended = space.inside(|| {
        let program = env!("CARGO_BIN_EXE_netvm");
        let mut command = Command::new("nohup");
        command.args([program, "filter", "-i", "right", "-w", &out, OURS]);
        let capturing = Capturing::begin(command);
        let injector = Injector::open("left").expect("an interface to send on");
        capturing.signal("-HUP");
        injector.send(&frame(1, 60)).expect("a frame is sent");
        grown(&out, 1);
        capturing.signal("-USR1");
        let told = capturing.err.recv_timeout(PATIENCE).expect("counts");
        assert!(told.starts_with("netvm: 1 packet captured, ") && told.ends_with("0 packets dropped by kernel"), "{told}");
        injector.send(&frame(2, 60)).expect("a frame is sent");
        grown(&out, 2);
        capturing.signal("-USR2");
        capturing.signal("-TERM");
        capturing.end()
    });
    assert_eq!(ended.status, 0);
    assert_eq!(packets(&out).len(), 2);
}

#[test]
fn what_fits_on_a_full_disk_stays() {
    let Some(space) = Space::new("full") else { return };
    let dir = Dir::new("full");
    let disk = dir.file("disk");
    fs::create_dir(&disk).expect("a folder");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=100k", "tmpfs", &disk]).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no tmpfs can be mounted");
        return;
    }
    for name in ["out.pcap", "out.pcapng"] {
        let out = format!("{disk}/{name}");
        let ended = space.inside(|| {
            let capturing = Capturing::begin(filter(&["-i", "right", "-w", &out, OURS]));
            let injector = Injector::open("left").expect("an interface to send on");
            (0..200).for_each(|number| injector.send(&frame(number, 1000)).expect("a frame is sent"));
            capturing.end()
        });
        let have = packets(&out);
        fs::remove_file(&out).expect("removed");
        assert_eq!(ended.status, 1, "{}", ended.err);
        assert!(ended.err.contains("No space left on device (os error 28); the packets that fitted are in it"), "{}", ended.err);
        assert!(ended.err.contains("packets captured"), "{}", ended.err);
        assert!((80..100).contains(&have.len()), "{}", have.len());
        assert!(have.iter().enumerate().all(|(i, (bytes, _))| *bytes == frame(i as u8, 1000)));
    }
    assert!(Command::new("umount").arg(&disk).status().is_ok_and(|status| status.success()));
}

#[test]
fn options_of_tcpdump_do_what_they_do_there() {
    let Some(space) = Space::new("options") else { return };
    let dir = Dir::new("options");
    let names = ["s", "in", "out", "any", "sll"].map(|name| dir.file(&format!("{name}.pcap")));
    let [short, coming, going, any, sll] = &names;
    let runs: [&[&str]; 5] = [
        &["-i", "right", "-s", "20", "-B", "1024", "--immediate-mode", "-j", "host", "-O", "-w", short],
        &["-i", "right", "-Q", "in", "-w", coming],
        &["--interface", "right", "--direction", "out", "-w", going],
        &["-i", "any", "--print", "-t", "-l", "-w", any],
        &["-i", "any", "-y", "LINUX_SLL", "--snapshot-length=200", "--packet-buffered", "-w", sll],
    ];
    let printed = space.inside(|| {
        let begin = |args: &&[&str]| Capturing::begin(filter(&[args, &["greater", "1000"][..]].concat()));
        let all: Vec<Capturing> = runs.iter().map(begin).collect();
        let [left, right] = ["left", "right"].map(|name| Injector::open(name).expect("an interface to send on"));
        left.send(&frame(1, 1000)).expect("a frame is sent");
        right.send(&frame(2, 1000)).expect("a frame is sent");
        for (name, count) in names.iter().zip([2, 1, 1, 4, 4]) {
            grown(name, count);
        }
        all.iter().for_each(|capturing| capturing.signal("-TERM"));
        all.into_iter().map(|capturing| capturing.end().out).collect::<Vec<_>>()
    });
    let len = |path: &str| packets(path).into_iter().map(|(bytes, wire)| (bytes.len(), wire)).collect::<Vec<_>>();
    assert_eq!(len(short), [(20, 1014); 2]);
    assert_eq!(packets(coming), [(frame(1, 1000), 1014)]);
    assert_eq!(packets(going), [(frame(2, 1000), 1014)]);
    assert_eq!(len(any), [(1020, 1020); 4]);
    assert_eq!(len(sll), [(200, 1016); 4]);
    let file = Capture::open(any).expect("a capture").info().link_types;
    assert_eq!(file, [netvm::io::LinkType::LINUX_SLL2]);
    assert_eq!(printed.iter().map(|text| text.lines().count() > 0).collect::<Vec<_>>(), [false, false, false, true, false]);
}

#[test]
fn what_there_is_is_listed() {
    let Some(space) = Space::new("list") else { return };
    let (ours, theirs) = space.inside(|| {
        let theirs = Command::new("tcpdump").arg("-D").output().ok().map(|output| ended(output).out);
        (run("filter -D").good(), theirs)
    });
    let names = |text: &str| -> Vec<String> {
        let known = |line: &&str| ["left", "right", "any", "lo"].iter().any(|name| line.contains(&format!(".{name} ")));
        text.lines().filter(known).map(|line| line.replace(", Connected", "")).collect()
    };
    assert_eq!(names(&ours).len(), 4, "{ours}");
    if let Some(theirs) = theirs {
        assert_eq!(names(&ours), names(&theirs));
    }
    assert_eq!(run("filter -L -i lo").good(), "Data link types for lo (use option -y to set):\n  EN10MB (Ethernet)\n");
    let any = "Data link types for any (use option -y to set):\n  LINUX_SLL (Linux cooked v1)\n  LINUX_SLL2 (Linux cooked v2)\n";
    assert_eq!(run("filter --list-data-link-types -i any").good(), any);
    assert_eq!(run("filter -J -i lo").good(), "Time stamp types for lo (use option -j to set):\n  host (Host)\n");
}

#[test]
fn another_user_goes_on_with_the_capture() {
    let Some(space) = Space::new("user") else { return };
    let dir = Dir::new("user");
    let out = dir.file("out.pcap");
    std::os::unix::fs::chown(dir.file(""), Some(65_534), None).expect("the folder is theirs");
    space.inside(|| {
        let capturing = Capturing::begin(filter(&["-i", "right", "-Z", "nobody", "-w", &out, OURS]));
        Injector::open("left").expect("an interface").send(&frame(1, 60)).expect("a frame is sent");
        grown(&out, 1);
        let status = fs::read_to_string(format!("/proc/{}/status", capturing.child.id())).expect("its status");
        assert!(status.contains("Uid:\t65534\t65534\t65534"), "{status}");
        capturing.signal("-TERM");
        assert_eq!(capturing.end().status, 0);
    });
    use std::os::unix::fs::MetadataExt;
    assert_eq!(fs::metadata(&out).expect("the file").uid(), 65_534);
    // Where only root may write, root makes the file, and gives it to the user.
    let closed = Dir::new("user-closed");
    let out = closed.file("out.pcap");
    space.inside(|| {
        let capturing = Capturing::begin(filter(&["-i", "right", "-Z", "nobody", "-w", &out, OURS]));
        Injector::open("left").expect("an interface").send(&frame(1, 60)).expect("a frame is sent");
        grown(&out, 1);
        capturing.signal("-TERM");
        assert_eq!(capturing.end().status, 0);
    });
    assert_eq!(fs::metadata(&out).expect("the file").uid(), 65_534);
    assert!(run("filter -i lo -c 1 -Z no-such-user").bad(1).contains("no such user"));
}

/// The names that tcpdump shows: those of this machine.
#[test]
fn interfaces_have_their_names_where_all_are_captured_on() {
    let Some(space) = Space::new("names") else { return };
    let ended = space.inside(|| {
        let capturing = Capturing::begin(filter(&["-i", "any", "-t", "-c", "2", "ether proto 0x88b5"]));
        Injector::open("left").expect("an interface").send(&frame(1, 60)).expect("a frame is sent");
        capturing.end()
    });
    assert!(ended.out.contains("left  Out ") && ended.out.contains("right B "), "{}", ended.out);
}

#[test]
fn time_stamps_that_are_not_there_are_a_warning() {
    let Some(space) = Space::new("stamps") else { return };
    let ended = space.inside(|| {
        let capturing = Capturing::when(filter(&["-i", "right", "-j", "adapter", "-c", "1", OURS]), "time stamps of type adapter");
        while !capturing.err.recv_timeout(PATIENCE).expect("it captures").contains("listening on") {}
        Injector::open("left").expect("an interface").send(&frame(1, 60)).expect("a frame is sent");
        capturing.end()
    });
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(run("filter -i lo -j rubber").bad(2).contains("adapter"));
}

/// A command that takes its time and removes its file: only then the next of that name begins.
#[test]
fn a_file_is_not_begun_while_a_command_works_on_its_name() {
    let Some(space) = Space::new("commands") else { return };
    let dir = Dir::new("commands");
    let out = dir.file("out.pcap");
    let script = dir.write("keep", format!("#!/bin/sh\nsleep 0.3\ntail -c +25 \"$1\" >>{}\nrm \"$1\"\n", dir.file("kept")));
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    let ended = space.inside(|| {
        let capturing = Capturing::when(filter(&["-i", "right", "-G", "1", "-z", &script, "-w", &out, "-U", OURS]), "replace each other");
        while !capturing.err.recv_timeout(PATIENCE).expect("it captures").contains("listening on") {}
        let injector = Injector::open("left").expect("an interface to send on");
        for number in 0..30 {
            injector.send(&frame(number, 60)).expect("a frame is sent");
            std::thread::sleep(Duration::from_millis(100));
        }
        // What comes while a command is waited for is in the kernel until then.
        std::thread::sleep(Duration::from_secs(1));
        capturing.signal("-TERM");
        capturing.end()
    });
    assert_eq!(ended.status, 0, "{}", ended.err);
    let end = Instant::now() + PATIENCE;
    // What the command fails with is kept under another name.
    let stays = Dir::new("commands-failed");
    let out_of = |name: &str| stays.file(name);
    let ended = space.inside(|| {
        let capturing = Capturing::when(filter(&["-i", "right", "-G", "1", "-z", "false", "-w", &out_of("f.pcap"), OURS]), "listening on");
        let injector = Injector::open("left").expect("an interface to send on");
        for number in 0..15 {
            injector.send(&frame(number, 60)).expect("a frame is sent");
            std::thread::sleep(Duration::from_millis(200));
        }
        capturing.signal("-TERM");
        capturing.end()
    });
    assert!(ended.err.contains("-z false failed with ") && ended.err.contains("it is now "), "{}", ended.err);
    assert!(stays.names().len() >= 2, "{:?}", stays.names());
    assert_eq!(stays.names().iter().map(|name| packets(&out_of(name)).len()).sum::<usize>(), 15);
    // The last command may still run. Each record is 16 + 74 bytes, behind the file's header of 24.
    let have = || {
        let size = |path: &str| fs::metadata(path).map_or(0, |file| file.len());
        (size(&dir.file("kept")) + size(&out).saturating_sub(24)) / 90
    };
    while have() < 30 {
        assert!(Instant::now() < end, "{} of 30 packets are left", have());
        std::thread::sleep(Duration::from_millis(50));
    }
}
