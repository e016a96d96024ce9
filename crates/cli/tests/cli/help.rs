//! The command line itself.

use super::tools::{run, snapshot};

#[test]
fn help_and_version_go_to_standard_output() {
    assert!(run("--version").good().starts_with("netvm 0."));
    snapshot("help", &run("help").good());
    for command in [
        "filter",
        "explain",
        "run",
        "check",
        "trace",
        "graph",
        "elements",
        "test",
        "asm",
        "disasm",
        "verify",
        "compile",
        "bench",
        "completions",
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
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(run(&format!("completions {shell}")).good().contains("engine"), "{shell}");
    }
}
