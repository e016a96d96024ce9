//! STF, the simple test format of p4c: packets that come in, packets that are expected, and what
//! the control plane does.
//!
//! ```text
//! packet PORT HEX...                 expect PORT [HEX...] [$]        no_packet
//! check_counter COUNTER(INDEX) [packets|bytes OP NUMBER]             and the commands of [`commands`]
//! ```
//!
//! In packets `*` is any nibble; an expected packet may go on unless `$` ends it. Each port that is
//! named must give just what is expected of it, in that order. Of ternary entries the higher
//! priority wins.

use super::error::{SwitchError, invalid};
use super::values::{name, number};
use super::{Arrived, Departures, Sent, Switch, commands};
use std::collections::BTreeMap;

/// Bytes of Ethernet's frame check sequence, which hardware counts and simple_switch does not.
pub const FRAME_CHECK: u64 = 4;

/// A packet that is expected: nibbles, `None` for any, and whether it ends there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expected {
    nibbles: Vec<Option<u8>>,
    exact: bool,
    line: usize,
}

/// What a file came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All that left, in order.
    pub sent: Vec<Sent>,
    /// What commands told.
    pub told: Vec<String>,
    /// What is not as it should be, with lines.
    pub wrong: Vec<String>,
    /// How many expectations there were.
    pub expected: usize,
}

struct Run<'a> {
    switch: &'a mut Switch,
    report: Report,
    /// By port: what is expected, and whether any number of any packets is.
    ports: BTreeMap<u32, (Vec<Expected>, bool)>,
    time_ns: u64,
    /// Entries that were given names.
    handles: BTreeMap<String, u64>,
    /// Bytes that counters are to have of each packet besides its own.
    overhead: u64,
}

/// Runs a file on a program. A line that makes no sense is something wrong.
pub fn run(switch: &mut Switch, text: &str) -> Report {
    run_with_overhead(switch, text, 0)
}

/// Runs a file on a program, with so many bytes of each packet besides its own where counters of
/// bytes are checked: [`FRAME_CHECK`] for tests of hardware.
pub fn run_with_overhead(switch: &mut Switch, text: &str, overhead: u64) -> Report {
    let mut run =
        Run { switch, report: Report::default(), ports: BTreeMap::new(), time_ns: 1_000_000_000, handles: BTreeMap::new(), overhead };
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Err(why) = run.line(line, n + 1) {
            run.report.wrong.push(format!("line {}: {why}", n + 1));
        }
    }
    run.judge();
    run.report
}

/// Fills tables, sets up groups and sessions, reads counters and registers: a file of the commands
/// that are no packets. What they told.
///
/// # Errors
/// The first line that makes no sense, or is about packets.
pub fn configure(switch: &mut Switch, text: &str) -> Result<Vec<String>, SwitchError> {
    let mut told = Vec::new();
    for (n, line) in text.lines().enumerate() {
        told.extend(command(switch, line).map_err(|why| why.at(format_args!("line {}", n + 1)))?);
    }
    Ok(told)
}

/// One line of such a file.
pub(super) fn command(switch: &mut Switch, line: &str) -> Result<Vec<String>, SwitchError> {
    let line = line.split('#').next().unwrap_or("").trim();
    let about_packets = ["packet", "expect", "no_packet", "check_counter"].iter().any(|w| line.to_ascii_lowercase().starts_with(w));
    if about_packets {
        return Err(invalid("this is for tests only"));
    }
    let mut run = Run { switch, report: Report::default(), ports: BTreeMap::new(), time_ns: 0, handles: BTreeMap::new(), overhead: 0 };
    if !line.is_empty() {
        run.line(line, 0)?;
    }
    Ok(run.report.told)
}

impl Run<'_> {
    fn line(&mut self, line: &str, at: usize) -> Result<(), SwitchError> {
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match command.to_ascii_lowercase().as_str() {
            "packet" => self.packet(rest),
            "expect" => self.expect(rest, at),
            "no_packet" => Ok(()),
            // An extension: so many microseconds pass.
            "wait" if !rest.is_empty() => {
                self.time_ns += number::<u32>(Some(rest), "number of microseconds").map(u64::from)? * 1000;
                Ok(())
            }
            "check_counter" => self.check_counter(rest),
            "add" => {
                let (_, handle) = commands::add(self.switch, rest)?;
                if let Some((_, named)) = rest.rsplit_once('=') {
                    self.handles.insert(named.trim().to_owned(), handle);
                }
                Ok(())
            }
            _ => commands::run(self.switch, line).map(|told| self.report.told.extend(told)),
        }
    }

    fn packet(&mut self, rest: &str) -> Result<(), SwitchError> {
        let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let port = number(Some(port).filter(|port| !port.is_empty()), "port")?;
        let digits: String = data.chars().filter(|c| !c.is_whitespace()).collect();
        if !digits.len().is_multiple_of(2) || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(invalid("a packet is pairs of hexadecimal digits"));
        }
        let byte = |n: usize| u8::from_str_radix(&digits[n..n + 2], 16).unwrap_or(0);
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        self.ports.entry(port).or_default();
        self.time_ns += 1_000_000;
        // As a burst of one, which is run as those are that come from interfaces.
        let mut left = Departures::default();
        self.switch.receive_all(&[Arrived { port, bytes: &bytes, time_ns: self.time_ns }], &mut left);
        self.report.sent.extend(left.iter().map(|left| Sent { port: left.port, bytes: left.bytes.to_vec() }));
        Ok(())
    }

    fn expect(&mut self, rest: &str, line: usize) -> Result<(), SwitchError> {
        let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let entry = self.ports.entry(number(Some(port).filter(|port| !port.is_empty()), "port")?).or_default();
        self.report.expected += 1;
        let mut expected = Expected { nibbles: Vec::new(), exact: false, line };
        for c in data.chars().filter(|c| !c.is_whitespace()) {
            match (c, c.to_digit(16)) {
                ('*', _) => expected.nibbles.push(None),
                ('$', _) => expected.exact = true,
                (_, Some(digit)) => expected.nibbles.push(Some(digit as u8)),
                _ => return Err(invalid(format!("`{c}` is no hexadecimal digit"))),
            }
        }
        if data.is_empty() {
            entry.1 = true;
        } else {
            entry.0.push(expected);
        }
        Ok(())
    }

    fn check_counter(&mut self, rest: &str) -> Result<(), SwitchError> {
        let (counter, test) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (counter, index) = counter.trim_end_matches(')').split_once('(').unwrap_or((counter, "0"));
        let (packets, bytes) = match index.strip_prefix('$').and_then(|handle| self.handles.get(handle)) {
            Some(handle) => self.switch.direct_counter(&name(counter), *handle)?,
            None => commands::read_counter(self.switch, &name(counter), number(Some(index), "index")?)?,
        };
        let mut words = test.split_whitespace();
        let Some(what) = words.next() else { return Ok(()) };
        let found = match what {
            "bytes" => bytes + self.overhead * packets,
            "packets" => packets,
            other => return Err(invalid(format!("`{other}` is neither packets nor bytes"))),
        };
        let (op, wanted) = (words.next().unwrap_or("=="), number::<u64>(words.next(), "number")?);
        let holds = match op {
            "==" => found == wanted,
            "!=" => found != wanted,
            "<" => found < wanted,
            "<=" => found <= wanted,
            ">" => found > wanted,
            ">=" => found >= wanted,
            _ => return Err(invalid(format!("`{op}` is no comparison"))),
        };
        if holds { Ok(()) } else { Err(invalid(format!("{counter}({index}) {what} is {found}, and {op} {wanted} is expected"))) }
    }

    fn judge(&mut self) {
        for (port, (expected, any)) in &self.ports {
            let sent: Vec<&Sent> = self.report.sent.iter().filter(|s| s.port == *port).collect();
            if *any && expected.is_empty() {
                continue;
            }
            if sent.len() != expected.len() && !*any {
                self.report.wrong.push(format!("port {port}: {} packets are expected, and {} left", expected.len(), sent.len()));
            }
            for (expected, sent) in expected.iter().zip(&sent) {
                if let Some(why) = differs(expected, &sent.bytes) {
                    self.report.wrong.push(format!("line {}: port {port}: {why}", expected.line));
                }
            }
        }
    }
}

fn differs(expected: &Expected, bytes: &[u8]) -> Option<String> {
    let nibbles: Vec<u8> = bytes.iter().flat_map(|b| [b >> 4, b & 15]).collect();
    let hex = || nibbles.iter().filter_map(|n| char::from_digit(u32::from(*n), 16)).collect::<String>();
    if nibbles.len() < expected.nibbles.len() || expected.exact && nibbles.len() != expected.nibbles.len() {
        return Some(format!("{} bytes are expected, and {} left: {}", expected.nibbles.len() / 2, bytes.len(), hex()));
    }
    let at = expected.nibbles.iter().zip(&nibbles).position(|(want, is)| want.is_some_and(|w| w != *is))?;
    Some(format!("byte {} differs: {}", at / 2, hex()))
}
