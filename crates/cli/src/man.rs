//! Manual pages: what clap_mangen makes of options, and sections of our own where lines must stay
//! lines.

use clap::Command;
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::Path;

/// Writes a page per command.
pub(crate) fn write(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut command = crate::command();
    command.build();
    pages(dir, &command, "netvm")
}

fn pages(dir: &Path, command: &Command, name: &str) -> io::Result<()> {
    std::fs::write(dir.join(format!("{name}.1")), page(command, name)?)?;
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        pages(dir, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone()).title(name).source(format!("netvm {}", env!("CARGO_PKG_VERSION")));
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    section_of(&mut out, "SYNOPSIS", &synopsis(command, name))?;
    man.render_description_section(&mut out)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(&mut out)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    section(&mut out, "EXAMPLES", examples.trim_start_matches("Examples:\n"))?;
    section(&mut out, "EXIT STATUS", crate::EXIT_STATUS)?;
    section(&mut out, "ENVIRONMENT", crate::ENVIRONMENT)?;
    section(&mut out, "SEE ALSO", &see_also(command, name))?;
    Ok(out)
}

/// The command with its options; clap_mangen leaves out what values are called.
fn synopsis(command: &Command, name: &str) -> String {
    let shown = |arg: &clap::Arg| {
        let names = [arg.get_short().map(|c| format!("-{c}")), arg.get_long().map(|long| format!("--{long}"))];
        let names: Vec<String> = names.into_iter().flatten().map(|name| format!(r"\fB{}\fR", escaped(&name))).collect();
        let value = |name: &clap::builder::Str| format!(r"\fI{}\fR", escaped(name));
        let values: Vec<String> = match arg.get_action().takes_values() {
            true => arg.get_value_names().unwrap_or_default().iter().map(value).collect(),
            false => Vec::new(),
        };
        let all = [names.join("|"), values.join(" ")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let many = if arg.is_positional() && matches!(arg.get_action(), clap::ArgAction::Append) { " ..." } else { "" };
        if arg.is_required_set() { format!("{all}{many}") } else { format!("[{all}]{many}") }
    };
    let (places, options): (Vec<_>, Vec<_>) = command.get_arguments().filter(|arg| !arg.is_hide_set()).partition(|arg| arg.is_positional());
    let sub = if command.has_subcommands() { vec![r"\fICOMMAND\fR".to_owned()] } else { Vec::new() };
    let words = options.into_iter().chain(places).map(shown);
    format!(r"\fB{}\fR {}", escaped(&name.replace('-', " ")), words.chain(sub).collect::<Vec<_>>().join(" "))
}

fn see_also(command: &Command, name: &str) -> String {
    let subs = command.get_subcommands().filter(|c| c.get_name() != "help").map(|c| format!("{name}-{}(1)", c.get_name()));
    let others = ["pcap-filter(7)", "tcpdump(1)"].map(str::to_owned);
    let up = (name != "netvm").then(|| "netvm(1)".to_owned());
    up.into_iter().chain(subs).chain(others).collect::<Vec<_>>().join(", ")
}

/// A section of text that has its own requests.
fn section_of(out: &mut Vec<u8>, title: &str, text: &str) -> io::Result<()> {
    writeln!(out, ".SH \"{title}\"\n{text}")
}

/// A section whose lines stay as they are.
fn section(out: &mut Vec<u8>, title: &str, text: &str) -> io::Result<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    writeln!(out, ".SH \"{title}\"\n.nf")?;
    for line in text.lines() {
        writeln!(out, "{}", escaped(line))?;
    }
    writeln!(out, ".fi")
}

/// Text that roff takes for text: a full stop or an apostrophe at a line's beginning would be a
/// request.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', r"\e").replace('-', r"\-");
    if line.starts_with(['.', '\'']) { format!(r"\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let dir = std::env::temp_dir().join(format!("netvm-man-{}", std::process::id()));
        write(&dir).unwrap();
        let page = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        assert!(page("netvm.1").contains("EXIT STATUS"));
        assert!(page("netvm-filter.1").contains("tcp port 443"));
        assert!(page("netvm-bench-filter.1").contains("rounds"));
        assert!(page("netvm-run.1").contains(r"[\fB\-e\fR|\fB\-\-expression\fR \fICONFIG\fR]"));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn every_value_has_its_name_where_its_option_is() {
        let mut command = crate::command();
        command.build();
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let page = String::from_utf8(page(sub, &format!("netvm-{}", sub.get_name())).unwrap()).unwrap();
            let (synopsis, options) = page.split_once(".SH OPTIONS").unwrap();
            for arg in sub.get_arguments().filter(|arg| arg.get_action().takes_values() && !arg.is_hide_set()) {
                for name in arg.get_value_names().unwrap_or_default() {
                    let shown = format!(r"\fI{}\fR", escaped(name));
                    assert!(synopsis.contains(&shown) && options.contains(&escaped(name)), "{} {name}", sub.get_name());
                }
            }
        }
    }

    #[test]
    fn text_is_no_request() {
        assert_eq!(escaped(".x"), r"\&.x");
        assert_eq!(escaped(r"a -b \c"), r"a \-b \ec");
    }
}
