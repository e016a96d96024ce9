//! The README's tour: every `console` block is run, and must print what stands there. `NETVM_BLESS=1` writes what is printed.

use netvm::io::synth::Mix;
use netvm::io::{LinkType, Plan, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The capture that `make demo` makes, and the program beside it.
fn place(root: &Path) -> PathBuf {
    let place = std::env::temp_dir().join(format!("netvm-readme-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    fs::copy(root.join("docs/examples/once.netil"), place.join("once.netil")).unwrap();
    let capture = place.join("uplink.pcap");
    let mut writer = Writer::create(&capture, &Plan::for_output(&capture, &[])).unwrap();
    for (time, frame) in Mix::new(1).take(50_000) {
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
    place
}

/// What a shell prints for a command, both streams.
fn run(command: &str, place: &Path) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_netvm")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(place).env("PATH", path).env("TZ", "UTC");
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// The page with the output of every command in a `console` block as it is now.
fn rerun(page: &str, place: &Path) -> String {
    let mut now = String::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        }
        let command = line.strip_prefix("$ ").filter(|_| inside);
        if !inside || line.starts_with("```") || command.is_some() {
            now.push_str(line);
            now.push('\n');
        }
        now.push_str(&command.map(|c| run(c, place)).unwrap_or_default());
    }
    now
}

#[test]
fn the_tour_is_true_word_for_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = root.join("README.md");
    let page = fs::read_to_string(&readme).unwrap();
    let place = place(&root);
    let now = rerun(&page, &place);
    fs::remove_dir_all(&place).unwrap();
    if std::env::var_os("NETVM_BLESS").is_some() {
        fs::write(&readme, &now).unwrap();
    } else {
        let differing = page.lines().zip(now.lines()).find(|(a, b)| a != b);
        assert!(page == now, "README.md is not what netvm prints; first difference: {differing:#?}\nrun with NETVM_BLESS=1");
    }
}
