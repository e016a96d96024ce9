//! Scripts that hear signals.

use super::tools::{Dir, ended, netvm, run_args};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn configuration(text: &str) -> super::tools::Ended {
    run_args(&["run", "-e", text])
}

#[test]
fn a_signal_is_heard_once_until_the_script_has_ended() {
    let ended = configuration(
        "Script(print 'a', set y $(kill USR1 $$), set y $(kill USR1 $$), print 'b', wait 1ms, set y $(kill 10 $$), wait 1ms, print 'c', stop); \
         Script(TYPE SIGNAL USR1 USR2, print 'heard', end)",
    );
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, "a\nb\nheard\nheard\nc\n", ""));
}

#[test]
fn a_signal_that_is_no_longer_heard_does_what_it_does() {
    let ended = configuration(
        "Script(set y $(kill USR1 $$), wait 1ms, print 'b', set y $(kill USR1 $$), wait 1ms, print 'never', stop); Script(TYPE SIGNAL USR1, print 'heard', exit)",
    );
    assert_eq!((ended.status, ended.out.as_str()), (-1, "heard\nb\n"));
}

#[test]
fn an_interrupt_that_is_heard_does_not_end_the_run() {
    let dir = Dir::new("heard");
    let (ready, told) = (dir.file("ready"), dir.file("told"));
    let text = format!(
        "Script(print >{ready} $$, wait 20s, print late, stop); Script(TYPE SIGNAL INT, print >>{told} 'one', stop); Script(TYPE SIGNAL INT, print >>{told} 'two')"
    );
    let begun = Instant::now();
    let child = netvm(["run", "-e", &text]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    while fs::read_to_string(&ready).unwrap_or_default().is_empty() && begun.elapsed() < Duration::from_secs(15) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    let ended = ended(child.wait_with_output().expect("it ends"));
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
    assert_eq!(fs::read_to_string(&told).expect("it was heard"), "one\ntwo\n");
}

#[test]
fn other_processes_and_other_signals_are_refused() {
    for (text, wanted) in [
        ("Script(set y $(kill TERM 1), stop)", "kill: 1 is not this process, which is $$"),
        ("Script(set y $(kill KILL $$), stop)", "'KILL' is no signal that can be heard"),
        ("Script(set y $(kill), stop)", "kill: expected a signal and processes"),
        ("Script(TYPE SIGNAL SEGV, stop)", "'SEGV' is no signal that can be heard"),
        ("Script(TYPE SIGNAL, stop)", "TYPE SIGNAL wants the names of signals behind it"),
    ] {
        let ended = configuration(text);
        assert!(ended.err.contains(wanted), "{text}: {}", ended.err);
    }
}
