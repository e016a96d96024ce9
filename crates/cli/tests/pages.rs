//! Pages that are true word for word: the README's tour, and the guide to the element language.
//! What stands in a block with a file's name is written there, every command of a `console` block
//! is run, and must print what stands behind it. `NETVM_BLESS=1` writes what is printed.

use netvm::io::synth::Mix;
use netvm::io::{LinkType, WriteOptions, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An empty folder that goes away with its owner.
struct WorkDir(PathBuf);

impl WorkDir {
    fn new(name: &str) -> Self {
        let place = std::env::temp_dir().join(format!("netvm-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        Self(place)
    }

    /// What a shell prints for a command, both streams.
    fn run(&self, command: &str) -> String {
        let programs = Path::new(env!("CARGO_BIN_EXE_netvm")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(&self.0).env("PATH", path).env("TZ", "UTC");
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The page with the output of every command as it is now, all in order; how many files were
/// written, and commands run.
fn rerun(page: &str, place: &WorkDir) -> (String, usize, usize) {
    let (mut now, mut files, mut commands) = (String::new(), 0, 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        now += &format!("{line}\n");
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let text: String = block.iter().map(|line| format!("{line}\n")).collect();
        if info == "console" {
            for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                now += &format!("$ {command}\n{}", place.run(command));
                commands += 1;
            }
        } else {
            if let Some((_, name)) = info.split_once(' ') {
                place.write(name, &text);
                files += 1;
            }
            now += &text;
        }
        now += "```\n";
    }
    (now, files, commands)
}

/// Holds a page against what happens, and gives how many files and commands there were.
fn hold(page: &str, place: &WorkDir) -> (usize, usize) {
    let path = root().join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (now, files, commands) = rerun(&text, place);
    if std::env::var_os("NETVM_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    } else {
        let differing = text.lines().zip(now.lines()).find(|(a, b)| a != b);
        assert!(text == now, "{page} is not what netvm prints; first difference: {differing:#?}\nrun with NETVM_BLESS=1");
    }
    (files, commands)
}

/// The capture that `make demo` makes, and the program beside it.
#[test]
fn the_tour_is_true_word_for_word() {
    let place = WorkDir::new("readme");
    fs::copy(root().join("docs/examples/once.netil"), place.0.join("once.netil")).unwrap();
    let capture = place.0.join("uplink.pcap");
    let mut writer = Writer::create(&capture, &WriteOptions::for_output(&capture, &[])).unwrap();
    for (time, frame) in Mix::new(1).take(50_000) {
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
    assert!(hold("README.md", &place).1 >= 10);
}

#[test]
fn the_guide_to_the_element_language_is_true_word_for_word() {
    let (files, commands) = hold("docs/element-language.md", &WorkDir::new("guide"));
    assert!(files >= 8 && commands >= 15, "{files} files, {commands} commands");
}

/// What every application is shown with.
#[test]
fn applications_do_what_their_pages_show() {
    for name in ["balancer", "classifier", "count", "dhcp", "firewall", "intruder", "nat", "router", "switch"] {
        let place = WorkDir::new(&format!("app-{name}"));
        std::os::unix::fs::symlink(root().join("apps").canonicalize().unwrap(), place.0.join("apps")).unwrap();
        assert!(hold(&format!("apps/{name}/README.md"), &place).1 >= 2, "{name}");
    }
}
