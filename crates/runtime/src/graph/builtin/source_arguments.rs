//! The arguments of elements that read captures and devices.

use super::super::text;
use super::Setup;

/// Arguments of sources that have a name.
#[rustfmt::skip]
pub const KEYWORDS: &[&str] = &[
    "STOP", "TIMING", "SAMPLE", "FORCE_IP", "START", "START_AFTER", "END", "END_AFTER", "INTERVAL", "END_CALL", "ACTIVE", "FILEPOS", "MMAP",
    "PROMISC", "SNAPLEN", "SNIFFER", "BPF_FILTER", "METHOD", "CAPTURE", "PROTOCOL", "OUTBOUND", "HEADROOM", "BURST", "ENCAP", "TIMESTAMP",
    "LENGTH", "ALIGNMENT", "QUIET", "TIMING_FNT", "ALLOW_NONEXISTENT", "UP_CALL", "DOWN_CALL", "PER_NODE",
];

/// What arguments without a name are, by class. Behind PollDevice's device stood PROMISC before
/// Click had a keyword for that; a truth value that is no number is still that.
pub fn positional(class: &str, arguments: &[String]) -> &'static [&'static str] {
    let is_word = |text: &String| text::boolean(text).is_some() && text::integer(text).is_none();
    match class {
        "FromDump" => &["FILENAME", "TIMING"],
        "PollDevice" if arguments.get(1).is_some_and(is_word) => &["DEVNAME", "PROMISC", "BURST"],
        "PollDevice" => &["DEVNAME", "BURST"],
        _ => &["DEVNAME", "PROMISC", "SNAPLEN"],
    }
}

/// Whether packets are pulled from the element.
pub(super) fn is_pulled(setup: &Setup<'_>) -> bool {
    setup.output_pulled.first() == Some(&true)
}

/// The device of FromDevice and ToDevice without arguments is 0, as in ClickOS.
pub(super) fn first_device(_: &str, given: &[String]) -> Option<String> {
    given.iter().all(|argument| argument.trim().is_empty()).then(|| "0".to_owned())
}
