//! The command line itself.

use super::tools::{run, snapshot};

#[test]
fn help_and_version_go_to_standard_output() {
    assert!(run("--version").good().starts_with("netvm 0."));
    snapshot("help", &run("help").good());
    for command in [
        "filter",
        "stats",
        "explain",
        "run",
        "check",
        "trace",
        "graph",
        "elements",
        "test",
        "simulate",
        "machines",
        "profile-conflicts",
        "synth",
        "asm",
        "disasm",
        "verify",
        "compile",
        "build",
        "targets",
        "xdp",
        "bench",
        "completions",
        "man",
    ] {
        assert!(run(&format!("{command} --help")).good().contains("Usage: netvm"), "{command}");
    }
    assert!(run("--help").good().contains("Exit status:"));
}

#[test]
fn wrong_command_lines_end_with_2() {
    assert!(run("filtr").bad(2).contains("'filter'"));
    assert!(run("filter tcp").bad(2).contains("--read <IN>"));
    assert!(run("filter -r a -c 0").bad(2).contains("0"));
    assert!(run("compile --filter tcp -y TOKENRING").bad(2).contains("not a link type"));
    assert!(run("filter -r - -r - tcp").bad(2).contains("only once"));
}

#[test]
fn every_shell_gets_completions_that_it_can_read() {
    let dir = super::tools::Dir::new("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = run(&format!("completions {shell}")).good();
        assert!(text.contains("engine"), "{shell}");
        let file = dir.write(shell, &text);
        let read: &[&str] = match shell {
            "bash" => &["bash", "--norc", "-n"],
            "zsh" => &["zsh", "-f", "-n"],
            // What is wrong with arguments of `complete` shows when it runs.
            "fish" => &["fish", "--no-config"],
            _ => continue,
        };
        match std::process::Command::new(read[0]).args(&read[1..]).arg(&file).env("HOME", dir.file("")).output() {
            Ok(out) => assert!(out.status.success() && out.stderr.is_empty(), "{shell}: {}", String::from_utf8_lossy(&out.stderr)),
            Err(error) => super::needs::missing(format_args!("{shell} ({error})")),
        }
    }
}

#[test]
fn run_takes_h_without_a_handler_for_help() {
    assert!(run("run -h").good().contains("Usage: netvm run"));
    assert!(run("run x.click -h").good().contains("Usage: netvm run"));
    assert!(run("run").bad(2).contains("FILE"));
    assert!(run("run -h c.count").bad(2).contains("a FILE or -e CONFIG is needed"));
}
