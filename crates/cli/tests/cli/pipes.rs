//! Pipes: through, idle, broken, interrupted.

use super::tools::{Dir, ended, netvm, run};
use netvm::io::Capture;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

fn spawn(line: &str) -> Child {
    let mut command = netvm(line.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

#[test]
fn through_pipes_it_is_the_same() {
    let dir = Dir::new("through");
    for name in ["t.pcap", "t.pcapng", "t.pcap.gz", "t.pcap.zst"] {
        let trace = dir.trace(name, 1, 500);
        let bytes = fs::read(&trace).expect("the capture");
        let mut child = spawn("filter -r - -w - udp");
        let mut stdin = child.stdin.take().expect("a pipe");
        let feeder = std::thread::spawn(move || stdin.write_all(&bytes));
        let output = child.wait_with_output().expect("it ends");
        feeder.join().expect("fed").expect("all was read");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let piped = dir.write("piped.pcap", output.stdout);
        assert_eq!(run(&format!("filter -r {piped}")).good(), run(&format!("filter -r {trace} udp")).good(), "{name}");
    }
}

/// Reads in a thread what comes out, so that a test can give up waiting.
fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

#[test]
fn an_idle_pipe_is_flushed() {
    let dir = Dir::new("idle");
    let trace = dir.trace("t.pcap", 1, 3);
    let bytes = fs::read(&trace).expect("the capture");
    let second = 24 + 16 + u32::from_ne_bytes(bytes[32..36].try_into().expect("four bytes")) as usize;
    let mut child = spawn("filter -r -");
    let out = lines(&mut child);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&bytes[..second]).expect("a packet goes in");
    let first = out.recv_timeout(PATIENCE).expect("its line comes out while the pipe stays open");
    stdin.write_all(&bytes[second..]).expect("the rest goes in");
    drop(stdin);
    let rest: Vec<String> = out.iter().collect();
    let all = run(&format!("filter -r {trace}")).good();
    assert_eq!(format!("{first}\n{}\n", rest.join("\n")), all);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn an_idle_pipe_is_flushed_to_a_capture_too() {
    let dir = Dir::new("idle-capture");
    let bytes = fs::read(dir.trace("t.pcap", 1, 1)).expect("the capture");
    let mut child = spawn("filter -r - -w -");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&bytes).expect("a packet goes in");
    let (sender, receiver) = mpsc::channel();
    let expected = bytes.len();
    std::thread::spawn(move || {
        let mut got = vec![0; expected];
        let _ = sender.send(stdout.read_exact(&mut got).map(|()| got));
    });
    let got = receiver.recv_timeout(PATIENCE).expect("it comes out").expect("all of it");
    assert_eq!(got[24..], bytes[24..]);
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let dir = Dir::new("epipe");
    let trace = dir.trace("t.pcap", 1, 40_000);
    for line in [format!("filter -r {trace}"), format!("filter -r {trace} -w -"), format!("filter -r {trace} --json")] {
        let mut child = spawn(&line);
        let mut byte = [0];
        child.stdout.take().expect("a pipe").read_exact(&mut byte).expect("it begins");
        let ended = ended(child.wait_with_output().expect("it ends"));
        assert_eq!((ended.status, ended.err.as_str()), (141, ""), "{line}");
    }
}

fn interrupt(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

/// Waits until the program has read what was written: it prints the line for it.
fn started(line: &str, bytes: &[u8]) -> (Child, std::process::ChildStdin) {
    let mut child = spawn(line);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(bytes).expect("packets go in");
    std::thread::sleep(Duration::from_millis(500));
    (child, stdin)
}

#[test]
fn an_interrupt_finishes_the_output() {
    let dir = Dir::new("interrupt");
    let bytes = fs::read(dir.trace("t.pcap", 1, 20)).expect("the capture");
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let out = dir.file("out.pcap");
        let (child, stdin) = started(&format!("filter -r - -w {out} --count"), &bytes);
        interrupt(&child, signal);
        let ended = ended(child.wait_with_output().expect("it ends"));
        drop(stdin);
        assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (status, "20 packets\n", ""));
        let mut capture = Capture::open(&out).expect("the output is there");
        assert_eq!(capture.next_burst(100).expect("and whole").map(|b| b.len()), Some(20));
        fs::remove_file(&out).expect("removed");
    }
    assert_eq!(dir.names(), ["t.pcap"]);
}
