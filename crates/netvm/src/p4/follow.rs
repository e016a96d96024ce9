//! A packet's way through a program: what the marks of a traced program tell of each pass, see
//! [`p4::marks`].

use super::passes::{Event, Following, Pass};
use super::{BigInt, Sent, Switch};
use netil::module::Entry;
use p4::marks::{Mark, MarkKind, Passed};
use p4::pipeline::{Match, TableMeta};

/// The most messages that are kept until they are taken.
const MOST_MESSAGES: usize = 1 << 16;

/// A message with values in the places of `{}`.
fn message(text: &str, values: &[BigInt]) -> String {
    let (mut out, mut values) = (String::new(), values.iter());
    let mut parts = text.split("{}");
    out += parts.next().unwrap_or_default();
    for part in parts {
        out += &values.next().map_or_else(|| "{}".to_owned(), ToString::to_string);
        out += part;
    }
    out
}

impl Switch {
    /// A packet comes in; what leaves, and what happens to it on the way. The program is one of
    /// [`super::load_traced`].
    pub fn follow(&mut self, number: u64, port: u32, bytes: &[u8], time_ns: u64) -> (Vec<Sent>, Vec<Pass>) {
        self.marks();
        self.following = Some(Following::default());
        self.name = number.to_string();
        let sent = self.receive(port, bytes, time_ns);
        (sent, self.following.take().map_or_else(Vec::new, |f| f.passes))
    }

    /// From now on what the program says by `log_msg` is kept for [`Self::logged`], and assertions
    /// that do not hold. The program is one of [`super::load_traced`].
    pub fn log(&mut self) {
        self.messages = Some(Vec::new());
    }

    /// What the program said since it was last asked, with the place; of more than 65,536 messages
    /// the first.
    pub fn logged(&mut self) -> Vec<(String, String)> {
        self.messages.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A pass ended.
    pub(super) fn passed(&mut self, part: &'static str, cause: &'static str, packet: &str, port: u32, end: impl FnOnce() -> String) {
        if self.following.is_none() {
            if self.messages.is_some() {
                let said = self.marks().into_iter().filter(|event| event.kind == MarkKind::Log).map(|event| (event.place, event.detail));
                let said: Vec<_> = said.collect();
                let kept = self.messages.get_or_insert_default();
                let room = MOST_MESSAGES.saturating_sub(kept.len());
                kept.extend(said.into_iter().take(room));
            }
            return;
        }
        let events = self.marks();
        let pass = Pass { packet: packet.to_owned(), part, cause, port, events, end: end() };
        if let Some(following) = &mut self.following {
            following.passes.push(pass);
        }
    }

    /// Takes the record of the last run.
    fn marks(&mut self) -> Vec<Event> {
        let Some(marks) = &self.pipeline.marks else { return Vec::new() };
        let passed = marks.take(&mut self.state.data);
        let mut keys: Option<(usize, Vec<BigInt>)> = None;
        let mut events = Vec::new();
        for Passed { mark, values } in passed {
            let mark = &marks.all[mark];
            let mut event = event(mark, &values);
            match mark.kind {
                MarkKind::Table(at) => keys = Some((at, values)),
                MarkKind::Hit => event.detail = keys.take().map_or_else(String::new, |(at, keys)| self.found(at, &keys)),
                MarkKind::Error => {
                    let number = values.first().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
                    event.detail = marks.errors.get(number).cloned().unwrap_or_default();
                    event.values.clear();
                }
                MarkKind::Log => event.detail = message(&mark.name, &values),
                _ => {}
            }
            events.push(event);
        }
        events
    }

    /// What the entry matches that is found for those keys.
    fn found(&self, table: usize, keys: &[BigInt]) -> String {
        let Some(meta) = self.pipeline.tables.get(table) else { return String::new() };
        let Some(table) = meta.table.and_then(|n| self.state.tables.get(n as usize)) else { return String::new() };
        let key = meta
            .keys
            .iter()
            .zip(keys)
            .filter(|(k, _)| k.kind != Match::Selector)
            .fold(BigInt::default(), |all, (k, v)| all | (v << k.shift));
        let rank = |e: &Entry| (e.priority, e.mask.iter().map(|m| m.count_ones()).sum::<u32>());
        let all = table.entries(0);
        let best = all.iter().filter(|e| &key & mask(e) == limbs(&e.key) & mask(e)).max_by_key(|e| rank(e));
        best.map_or_else(String::new, |entry| written(meta, entry))
    }
}

fn limbs(limbs: &[u64]) -> BigInt {
    let bytes: Vec<u8> = limbs.iter().flat_map(|l| l.to_le_bytes()).collect();
    BigInt::from_bytes_le(p4::Sign::Plus, &bytes)
}

/// The bits that an entry asks for; an exact one asks for all.
fn mask(entry: &Entry) -> BigInt {
    if entry.mask.is_empty() { (BigInt::from(1) << (64 * entry.key.len())) - 1 } else { limbs(&entry.mask) }
}

/// An entry's keys by their names.
fn written(meta: &TableMeta, entry: &Entry) -> String {
    let (value, mask) = (limbs(&entry.key), mask(entry));
    let one = |key: &p4::pipeline::KeyMeta| {
        let ones = (BigInt::from(1) << key.width) - 1;
        let (v, m) = ((&value >> key.shift) & &ones, (&mask >> key.shift) & &ones);
        let low = m.trailing_zeros().unwrap_or(u64::from(key.width));
        let prefix = u64::from(key.width) - low;
        match key.kind {
            _ if m == BigInt::default() => format!("{}: *", key.name),
            Match::Lpm => format!("{}: {v:#x}/{prefix}", key.name),
            _ if m == ones => format!("{}: {v:#x}", key.name),
            _ => format!("{}: {v:#x}&&&{m:#x}", key.name),
        }
    };
    let keys: Vec<String> = meta.keys.iter().filter(|k| k.kind != Match::Selector).map(one).collect();
    keys.join(", ")
}

fn event(mark: &Mark, values: &[BigInt]) -> Event {
    let show = |width: u32, value: &BigInt| if width == 1 { value.to_string() } else { format!("{value:#x}") };
    let named: Vec<(String, String)> = mark.values.iter().zip(values).map(|((name, width), v)| (name.clone(), show(*width, v))).collect();
    let mut event = Event {
        kind: mark.kind,
        name: mark.name.clone(),
        place: format!("{}:{}:{}", mark.file, mark.line, mark.column),
        values: named,
        changes: Vec::new(),
        detail: String::new(),
    };
    if mark.kind == MarkKind::Assign {
        let all = std::mem::take(&mut event.values);
        let (before, after) = all.split_at(all.len() / 2);
        let changed = before.iter().zip(after).filter(|(b, a)| b.1 != a.1 || before.len() == 1);
        event.changes = changed.map(|(b, a)| (a.0.clone(), b.1.clone(), a.1.clone())).collect();
    }
    event
}
