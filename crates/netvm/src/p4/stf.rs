//! STF, the simple test format of p4c: packets that come in, packets that are expected, and what the control plane does.
//!
//! ```text
//! packet PORT HEX...                 expect PORT [HEX...] [$]        no_packet      wait
//! add TABLE [PRIORITY] KEY:VALUE ... ACTION(ARG:NUMBER, ...)         setdefault TABLE ACTION(ARG:NUMBER, ...)
//! check_counter COUNTER(INDEX) [packets|bytes OP NUMBER]
//! mirroring_add SESSION PORT         mirroring_add_mc SESSION GROUP  mirroring_delete SESSION
//! mc_mgrp_create GROUP               mc_node_create RID PORT...      mc_node_associate GROUP NODE
//! register_write NAME INDEX VALUE    register_reset NAME             counter_write NAME INDEX PACKETS BYTES
//! ```
//!
//! In packets `*` is any nibble; an expected packet may go on unless `$` ends it. Each port that is named must give just what is expected of it, in that order. Of ternary entries the
//! higher priority wins.

use super::control::find;
use super::{BigInt, Sent, Switch};
use p4::entries::KeyMatch;
use p4::pipeline::{Match, TableMeta};
use std::collections::BTreeMap;

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
    /// What is not as it should be, with lines.
    pub wrong: Vec<String>,
    /// How many expectations there were.
    pub expected: usize,
}

struct Run<'a> {
    switch: &'a mut Switch,
    report: Report,
    /// By port: what is expected, and whether any number of any packets is.
    ports: BTreeMap<u16, (Vec<Expected>, bool)>,
    time_ns: u64,
    /// Entries that were given names: their tables, keys and priorities.
    handles: BTreeMap<String, netil::module::Entry>,
}

/// Runs a file on a program. A line that makes no sense is something wrong.
pub fn run(switch: &mut Switch, text: &str) -> Report {
    let mut run = Run { switch, report: Report::default(), ports: BTreeMap::new(), time_ns: 1_000_000_000, handles: BTreeMap::new() };
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

/// Fills tables and sets up groups and sessions: a file of the commands that are no packets.
///
/// # Errors
/// The first line that makes no sense, or is about packets.
pub fn configure(switch: &mut Switch, text: &str) -> Result<(), String> {
    let mut run = Run { switch, report: Report::default(), ports: BTreeMap::new(), time_ns: 0, handles: BTreeMap::new() };
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let about_packets = ["packet", "expect", "no_packet", "check_counter"].iter().any(|w| line.to_ascii_lowercase().starts_with(w));
        if about_packets {
            return Err(format!("line {}: this is for tests only", n + 1));
        }
        if !line.is_empty() {
            run.line(line, n + 1).map_err(|why| format!("line {}: {why}", n + 1))?;
        }
    }
    Ok(())
}

fn number<T: TryFrom<u64>>(word: Option<&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{what} is missing"))?;
    let value = match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => word.parse(),
    };
    value.ok().and_then(|v| T::try_from(v).ok()).ok_or_else(|| format!("`{word}` is no {what}"))
}

impl Run<'_> {
    fn line(&mut self, line: &str, at: usize) -> Result<(), String> {
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let mut words = rest.split_whitespace();
        match command.to_ascii_lowercase().as_str() {
            "packet" => self.packet(rest),
            "expect" => self.expect(rest, at),
            "no_packet"
            | "wait"
            | "remove"
            | "mirroring_get"
            | "counter_read"
            | "register_read"
            | "meter_get_rates"
            | "meter_set_rates"
            | "meter_array_set_rates" => Ok(()),
            "add" => self.add(rest),
            "setdefault" => {
                let (table, action) = rest.split_once(char::is_whitespace).ok_or("expected a table and an action")?;
                let (action, args) = action_of(action.trim())?;
                self.switch.set_default(&name(table), &action, &args)
            }
            "check_counter" => self.check_counter(rest),
            "mirroring_add" => {
                self.switch.mirroring_add(number(words.next(), "session")?, Some(number(words.next(), "port")?), None);
                Ok(())
            }
            "mirroring_add_mc" => {
                self.switch.mirroring_add(number(words.next(), "session")?, None, Some(number(words.next(), "group")?));
                Ok(())
            }
            "mirroring_delete" => {
                self.switch.mirroring_delete(number(words.next(), "session")?);
                Ok(())
            }
            "mc_mgrp_create" => {
                self.switch.group_create(number(words.next(), "group")?);
                Ok(())
            }
            "mc_node_create" => {
                let rid = number(words.next(), "number of a node")?;
                let ports = words.map(|w| number(Some(w), "port")).collect::<Result<_, _>>()?;
                self.switch.node_create(rid, ports);
                Ok(())
            }
            "mc_node_update" => {
                let handle = number(words.next(), "node")?;
                let ports = words.map(|w| number(Some(w), "port")).collect::<Result<_, _>>()?;
                self.switch.node_update(handle, ports)
            }
            "mc_node_associate" => self.switch.node_associate(number(words.next(), "group")?, number(words.next(), "node")?),
            "register_write" => {
                let register = words.next().ok_or("expected a register")?;
                let index = number(words.next(), "index")?;
                let value: u64 = number(words.next(), "value")?;
                self.switch.register_write(register, index, &BigInt::from(value))
            }
            "register_reset" => self.switch.register_reset(words.next().ok_or("expected a register")?),
            "counter_write" => {
                let counter = words.next().ok_or("expected a counter")?;
                let index = number(words.next(), "index")?;
                self.switch.counter_write(counter, index, number(words.next(), "number")?, number(words.next(), "number")?)
            }
            other => Err(format!("no command is called `{other}`")),
        }
    }

    fn packet(&mut self, rest: &str) -> Result<(), String> {
        let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let port = number(Some(port), "port")?;
        let digits: String = data.chars().filter(|c| !c.is_whitespace()).collect();
        if !digits.len().is_multiple_of(2) || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err("a packet is pairs of hexadecimal digits".to_owned());
        }
        let byte = |n: usize| u8::from_str_radix(&digits[n..n + 2], 16).unwrap_or(0);
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        self.ports.entry(port).or_default();
        self.time_ns += 1_000_000;
        let sent = self.switch.receive(port, &bytes, self.time_ns);
        self.report.sent.extend(sent);
        Ok(())
    }

    fn expect(&mut self, rest: &str, line: usize) -> Result<(), String> {
        let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let entry = self.ports.entry(number(Some(port), "port")?).or_default();
        self.report.expected += 1;
        let mut expected = Expected { nibbles: Vec::new(), exact: false, line };
        for c in data.chars().filter(|c| !c.is_whitespace()) {
            match (c, c.to_digit(16)) {
                ('*', _) => expected.nibbles.push(None),
                ('$', _) => expected.exact = true,
                (_, Some(digit)) => expected.nibbles.push(Some(digit as u8)),
                _ => return Err(format!("`{c}` is no hexadecimal digit")),
            }
        }
        if data.is_empty() {
            entry.1 = true;
        } else {
            entry.0.push(expected);
        }
        Ok(())
    }

    fn add(&mut self, rest: &str) -> Result<(), String> {
        let (table, rest) = rest.split_once(char::is_whitespace).ok_or("expected a table and an entry")?;
        let meta = self.switch.table(&name(table))?.clone();
        let open = rest.find('(').ok_or("expected ACTION(ARG:NUMBER, ...)")?;
        let start = rest[..open].trim_end().rfind(char::is_whitespace).map_or(0, |n| n + 1);
        let (action, args) = action_of(&rest[start..])?;
        let (mut priority, mut keys): (u32, BTreeMap<usize, KeyMatch>) = (1, BTreeMap::new());
        for word in rest[..start].split_whitespace() {
            match word.rsplit_once(':') {
                None => priority = number(Some(word), "priority")?,
                Some((key, value)) => {
                    let at = key_of(&meta, &name(key))?;
                    keys.insert(at, value_of(value, meta.keys[at].width, meta.keys[at].kind)?);
                }
            }
        }
        let mut all = Vec::new();
        for (n, key) in meta.keys.iter().enumerate().filter(|(_, k)| k.kind != Match::Selector) {
            match keys.remove(&n) {
                Some(value) => all.push(value),
                None if key.kind == Match::Exact => return Err(format!("the key `{}` is missing", key.name)),
                None => all.push(KeyMatch::Any),
            }
        }
        self.switch.add(&meta.name, &all, priority, &action, &args)?;
        if let (Some((_, handle)), Some(entry)) = (rest.rsplit_once('='), meta.entries(&all, priority, &[])?.pop()) {
            self.handles.insert(handle.trim().to_owned(), entry);
        }
        Ok(())
    }

    fn check_counter(&mut self, rest: &str) -> Result<(), String> {
        let (counter, test) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (counter, index) = counter.trim_end_matches(')').split_once('(').unwrap_or((counter, "0"));
        let (packets, bytes) = match index.strip_prefix('$').and_then(|handle| self.handles.get(handle)) {
            Some(entry) => self.switch.direct_counter(&name(counter), entry)?,
            None => self.switch.counter_read(&name(counter), number(Some(index), "index")?)?,
        };
        let mut words = test.split_whitespace();
        let Some(what) = words.next() else { return Ok(()) };
        let found = if what == "bytes" { bytes } else { packets };
        let (op, wanted) = (words.next().unwrap_or("=="), number::<u64>(words.next(), "number")?);
        let holds = match op {
            "==" => found == wanted,
            "!=" => found != wanted,
            "<" => found < wanted,
            "<=" => found <= wanted,
            ">" => found > wanted,
            ">=" => found >= wanted,
            _ => return Err(format!("`{op}` is no comparison")),
        };
        if holds { Ok(()) } else { Err(format!("{counter}({index}) {what} is {found}, and {op} {wanted} is expected")) }
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

/// A name without its quotes, `a$0` as `a[0]`.
fn name(text: &str) -> String {
    let text = text.trim_matches('"');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let digits = rest[at + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at - 1);
        out.push_str(&rest[..at]);
        if digits > 0 {
            out.push_str(&format!("[{}]", &rest[at + 1..at + 1 + digits]));
        } else {
            out.push('$');
        }
        rest = &rest[at + 1 + digits..];
    }
    out + rest
}

fn key_of(meta: &TableMeta, key: &str) -> Result<usize, String> {
    let ends = |k: &str| k == key || k.strip_suffix(key).is_some_and(|rest| rest.ends_with('.'));
    let valid = |k: &str| k.strip_suffix(".$valid$").is_some_and(ends) || ends(k.trim_end_matches('$'));
    let mut found = meta.keys.iter().enumerate().filter(|(_, k)| k.name == key || valid(&k.name));
    if let (Some((at, _)), None) = (found.next(), found.next()) {
        return Ok(at);
    }
    find(&meta.keys, |k| &k.name, key, "key").map(|k| k.0)
}

/// `ACTION(ARG:NUMBER, ...)`.
fn action_of(text: &str) -> Result<(String, Vec<(String, BigInt)>), String> {
    let (action, args) = text.split_once('(').unwrap_or((text, ")"));
    let args = args.split(')').next().unwrap_or("");
    let mut out = Vec::new();
    for arg in args.split(',').map(str::trim).filter(|a| !a.is_empty()) {
        let (param, value) = arg.rsplit_once(':').unwrap_or(("", arg));
        let (value, mask) = wild(value.trim())?;
        if mask.is_some() {
            return Err(format!("`{arg}` is no number"));
        }
        out.push((param.trim().to_owned(), value));
    }
    Ok((name(action.trim()), out))
}

/// A number, and the mask of the digits that are written where some are `*`.
fn wild(text: &str) -> Result<(BigInt, Option<BigInt>), String> {
    let (radix, bits, digits) = match text.get(..2) {
        Some("0x" | "0X") => (16, 4, &text[2..]),
        Some("0b" | "0B") => (2, 1, &text[2..]),
        _ => (10, 0, text),
    };
    let bad = || format!("`{text}` is no number");
    if !digits.contains('*') {
        return BigInt::parse_bytes(digits.as_bytes(), radix).map(|n| (n, None)).ok_or_else(bad);
    }
    if bits == 0 || digits.len() > 4096 {
        return Err(bad());
    }
    let (mut value, mut mask) = (BigInt::from(0), BigInt::from(0));
    for c in digits.chars() {
        let (digit, known) = if c == '*' { (0, 0) } else { (c.to_digit(radix).ok_or_else(bad)?, (1 << bits) - 1) };
        value = (value << bits) + digit;
        mask = (mask << bits) + known;
    }
    Ok((value, Some(mask)))
}

fn value_of(text: &str, width: u32, kind: Match) -> Result<KeyMatch, String> {
    if let Some((value, bits)) = text.split_once('/') {
        return Ok(KeyMatch::Prefix(wild(value)?.0, number(Some(bits), "prefix length")?));
    }
    if let Some((low, high)) = text.split_once("->") {
        return Ok(KeyMatch::Range(wild(low)?.0, wild(high)?.0));
    }
    let (value, mask) = wild(text)?;
    let written = |digits: &str, bits: u32| (digits.len() as u32 * bits).min(width.max(digits.len() as u32 * bits));
    Ok(match (kind, mask) {
        (Match::Exact | Match::Optional | Match::Selector, None) => KeyMatch::Value(value),
        (Match::Lpm, Some(mask)) => KeyMatch::Mask(value, mask),
        (Match::Lpm, None) => KeyMatch::Prefix(value, width),
        (Match::Range, None) => KeyMatch::Range(value.clone(), value),
        (_, Some(mask)) => KeyMatch::Mask(value, mask),
        (Match::Ternary, None) => {
            // The mask is as wide as the digits that are written.
            let bits = match text.get(..2) {
                Some("0x" | "0X") => written(&text[2..], 4),
                Some("0b" | "0B") => written(&text[2..], 1),
                _ => width,
            };
            let mask = (BigInt::from(1) << bits) - 1;
            KeyMatch::Mask(value, mask)
        }
    })
}
