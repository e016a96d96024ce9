//! Syslog (RFC 3164): facility and severity. With `-v` the message is not shown.

use super::view::{Printed, View};
use super::{Line, put};

#[rustfmt::skip]
const FACILITIES: [&str; 24] = [
    "kernel", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "security", "console",
    "cron", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];
const SEVERITIES: [&str; 8] = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];
const MAX_DIGITS: usize = 3;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "syslog";
    let (mut at, mut priority) = (1, 0_u16);
    let mut good = view.u8(0)? == b'<';
    while good && at <= MAX_DIGITS && view.u8(at)?.is_ascii_digit() {
        priority = priority * 10 + u16::from(view.u8(at)? - b'0');
        at += 1;
    }
    good = good && view.u8(at)? == b'>';
    if !good {
        line.invalid();
        return Ok(());
    }
    let (facility, severity) = (priority >> 3 & 0x7f, SEVERITIES[usize::from(priority & 7)]);
    let facility = FACILITIES.get(usize::from(facility)).map_or_else(|| format!("unknown ({facility})"), |name| (*name).to_owned());
    match line.style.verbose {
        0 => put!(line, "SYSLOG {facility}.{severity}, length: {}", view.len()),
        _ => put!(line, "SYSLOG, length: {}", view.len()),
    }
    Ok(())
}
