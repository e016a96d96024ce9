//! What is meant by command lines that other programs would take: hints for faults that the parser
//! of arguments can only call unexpected.

use crate::failure::Failure;
use clap::error::{ContextKind, ContextValue};
use std::path::Path;

/// Options of tcpdump that are not here, and why.
#[rustfmt::skip]
const OF_TCPDUMP: &[(&str, &str)] = &[
    ("-I", "monitor mode is a setting of the interface: `iw dev IF set type monitor`, then capture on it"),
    ("-H", "802.11s mesh headers are not decoded"),
    ("-a", "addresses are always numbers"),
    ("-b", "numbers of autonomous systems are printed without a dot"),
    ("-E", "ESP is not decrypted; its SPI and sequence number are printed"),
    ("-M", "TCP signatures are shown, not checked"),
    ("-u", "NFS is not decoded"),
    ("-m", "SNMP objects are printed as numbers"),
];

/// The error, with a hint where the arguments are those of another program.
pub(crate) fn explained(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let of_command = text(ContextKind::InvalidSubcommand).and_then(|word| of_command(&word));
    let is_filter = std::env::args().nth(1).is_some_and(|word| word == "filter");
    let of_option = || text(ContextKind::InvalidArg).filter(|_| is_filter).and_then(|option| of_option(&option));
    if let Some(hint) = of_command.or_else(of_option) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

fn of_command(word: &str) -> Option<String> {
    Some(match word {
        "tcpdump" | "tshark" => "`netvm filter` takes the options of tcpdump".to_owned(),
        "click" => {
            "`netvm run FILE.click` runs a configuration; a link to netvm that is called click takes the options of click".to_owned()
        }
        _ if is_capture(word) => format!("`netvm filter -r {word}` prints the packets of a capture"),
        _ if Path::new(word).extension().is_some_and(|end| ["click", "netil", "nvm", "p4"].iter().any(|known| end == *known)) => {
            format!("`netvm run {word}` runs it")
        }
        _ => return None,
    })
}

fn of_option(option: &str) -> Option<String> {
    OF_TCPDUMP.iter().find(|(known, _)| *known == option).map(|(known, why)| format!("there is no {known} here: {why}"))
}

/// Whether a file is a capture, by its name.
fn is_capture(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    [".pcap", ".pcapng", ".cap", ".dmp"].iter().any(|end| plain.ends_with(end))
}

/// A capture that stands where a program is wanted.
pub(crate) fn no_program(file: &Path) -> Option<Failure> {
    let name = file.display().to_string();
    is_capture(&name).then(|| {
        Failure::usage(format_args!("{name} is a capture, not a program: `netvm filter -r {name}` prints its packets, `netvm run FILE.click --map DEVICE={name}` runs them"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_known_by_their_names() {
        assert!(["a.pcap", "a.PCAPNG", "dir/a.cap.gz", "a.pcap.zst"].into_iter().all(is_capture));
        assert!(["a.click", "pcap", "a.pcap.txt", ""].into_iter().all(|name| !is_capture(name)));
    }
}
