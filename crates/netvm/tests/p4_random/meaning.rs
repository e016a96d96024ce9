//! What programs by chance do with a packet, the packets that go all ways through their parsers,
//! and their entries for a switch.

use super::Chance;
use super::program::{Entry, Program, Table};
use super::values::{Goes, World, wrap};
use netvm::p4::{BigInt, KeyMatch, Switch};
use std::fmt::Write as _;

fn matches(key: &KeyMatch, width: u32, value: &BigInt) -> bool {
    match key {
        KeyMatch::Value(v) => value == v,
        KeyMatch::Prefix(v, length) => (value ^ v) >> (width - length) == BigInt::from(0),
        KeyMatch::Mask(v, m) => value & m == *v,
        KeyMatch::Range(low, high) => low <= value && value <= high,
        KeyMatch::Any => true,
    }
}

impl Table {
    /// Applies it: whether there was a hit, the action, and where control goes.
    pub fn run(&self, w: &mut World) -> (bool, usize, Goes) {
        let values: Vec<BigInt> = self.keys.iter().map(|key| (key.value)(w)).collect();
        let hits = |e: &&Entry| e.keys.iter().zip(&self.keys).zip(&values).all(|((k, key), v)| matches(k, key.width, v));
        let length = |e: &Entry| e.keys.iter().map(|k| if let KeyMatch::Prefix(_, length) = k { *length } else { 0 }).sum::<u32>();
        let rank = |e: &&Entry| if self.is_ranked() { e.priority } else { length(e) };
        let found = self.entries[1..].iter().filter(hits).max_by_key(rank);
        let entry = found.unwrap_or(&self.entries[0]);
        let action = &self.actions[entry.action];
        for (param, arg) in action.params.iter().zip(&entry.args) {
            w.values[*param] = arg.clone();
        }
        (found.is_some(), entry.action, (action.body)(w))
    }

    pub fn is_ranked(&self) -> bool {
        self.keys.iter().any(|key| matches!(key.kind, "ternary" | "range" | "optional"))
    }
}

impl Program {
    /// What is entered into a switch.
    pub fn fill(&self, switch: &mut Switch) {
        for table in &self.tables {
            // A table that no packet can come to is not there.
            for entry in table.entries[1..].iter().filter(|_| switch.table(&table.name).is_ok()).collect::<Vec<_>>() {
                let args: Vec<(String, BigInt)> = entry.args.iter().map(|v| (String::new(), v.clone())).collect();
                switch.add(&table.name, &entry.keys, entry.priority, &table.actions[entry.action].name, &args).unwrap();
            }
        }
    }

    /// What is entered into a switch, as commands, for the tables that the switch has.
    pub fn commands(&self, switch: &Switch) -> String {
        let mut text = String::new();
        for table in self.tables.iter().filter(|table| switch.table(&table.name).is_ok()) {
            for entry in &table.entries[1..] {
                let keys: Vec<String> = (0..).zip(&table.keys).zip(&entry.keys).map(|((n, key), k)| command_key(n, key.width, k)).collect();
                let action = &table.actions[entry.action];
                let args: Vec<String> = action.params.iter().zip(&entry.args).map(|(p, v)| format!("{}:{v}", self.vars[*p].text)).collect();
                let priority = if table.is_ranked() { entry.priority.to_string() } else { String::new() };
                let _ = writeln!(text, "add {} {priority} {} {}({})", table.name, keys.join(" "), action.name, args.join(", "));
            }
        }
        text
    }

    /// A packet on each way through the parser: what makes each case of each state hold, if none
    /// before it does.
    pub fn packets(&self, chance: &mut Chance, most: usize) -> Vec<Vec<u8>> {
        let mut ways: Vec<(usize, Vec<(usize, BigInt)>)> = vec![(0, Vec::new())];
        let mut out = Vec::new();
        while let Some((at, way)) = ways.pop() {
            if at >= self.states.len() || out.len() + ways.len() > most {
                out.push(self.packet(chance, &way));
                continue;
            }
            for case in &self.states[at].cases {
                ways.push((case.to, [way.clone(), vec![(at, case.example.clone())]].concat()));
            }
        }
        out
    }

    fn packet(&self, chance: &mut Chance, way: &[(usize, BigInt)]) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        for (state, key) in way {
            let state = &self.states[*state];
            let header = &self.headers[state.header];
            for (n, width) in header.widths.iter().enumerate() {
                let value = if header.first + n == state.key { wrap(key, *width, false) } else { chance.number(*width) };
                bits.extend((0..*width).rev().map(|b| value.bit(u64::from(b))));
            }
        }
        let mut bytes = packed(&bits);
        bytes.extend((0..chance.below(12)).map(|n| n as u8));
        if chance.below(12) == 0 {
            bytes.truncate(chance.below(bytes.len() as u64 + 1) as usize);
        }
        bytes
    }

    /// Parses a packet: the world, how far it was read, and the states that it met.
    fn parsed(&self, packet: &[u8]) -> (World, usize, Vec<usize>) {
        let mut w = World { values: vec![BigInt::from(0); self.vars.len()], valid: vec![false; self.headers.len()] };
        let (mut at, mut state, mut met) = (0, 0, Vec::new());
        while state < self.states.len() {
            met.push(state);
            let s = &self.states[state];
            let header = &self.headers[s.header];
            let bytes = header.widths.iter().sum::<u32>() as usize / 8;
            let Some(taken) = packet.get(at..at + bytes) else { break };
            at += bytes;
            let (whole, mut low) = (BigInt::from_bytes_be(netvm::p4::Sign::Plus, taken), bytes as u32 * 8);
            for (n, width) in header.widths.iter().enumerate() {
                low -= width;
                let n = header.first + n;
                w.values[n] = wrap(&(&whole >> low), *width, self.vars[n].signed);
            }
            w.valid[s.header] = true;
            let key = &w.values[s.key];
            state = s.cases.iter().find(|case| (case.holds)(key)).map_or(self.states.len(), |case| case.to);
        }
        (w, at, met)
    }

    /// What leaves, and by which port; the states that the packet met.
    pub fn run(&self, packet: &[u8]) -> (u32, Vec<u8>, Vec<usize>) {
        let (mut w, at, met) = self.parsed(packet);
        let port = self.headers.iter().map(|h| h.widths.len()).sum::<usize>();
        // An exit leaves the port as it was before the body.
        let before = w.values[port].clone();
        let goes = (self.blocks[0])(&mut w);
        let sent = if goes == Goes::Exit { before } else { w.values[port].clone() };
        (self.blocks[1])(&mut w);
        let mut out = Vec::new();
        for (_, header) in self.headers.iter().enumerate().filter(|(h, _)| w.valid[*h]) {
            let mut bits: Vec<bool> = Vec::new();
            for (n, width) in header.widths.iter().enumerate() {
                let value = wrap(&w.values[header.first + n], *width, false);
                bits.extend((0..*width).rev().map(|b| value.bit(u64::from(b))));
            }
            out.extend(packed(&bits));
        }
        out.extend(&packet[at..]);
        (sent.iter_u64_digits().next().unwrap_or(0) as u32, out, met)
    }
}

/// A key of an entry as commands have it.
fn command_key(n: usize, width: u32, key: &KeyMatch) -> String {
    match key {
        KeyMatch::Value(v) => format!("k{n}:{v}"),
        KeyMatch::Prefix(v, length) => format!("k{n}:{v}/{length}"),
        KeyMatch::Range(low, high) => format!("k{n}:{low}->{high}"),
        KeyMatch::Mask(v, m) => {
            let bit = |b: u32| {
                if !m.bit(b.into()) {
                    '*'
                } else if v.bit(b.into()) {
                    '1'
                } else {
                    '0'
                }
            };
            format!("k{n}:0b{}", (0..width).rev().map(bit).collect::<String>())
        }
        KeyMatch::Any => String::new(),
    }
}

/// Bits in bytes.
fn packed(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|b| b.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}
