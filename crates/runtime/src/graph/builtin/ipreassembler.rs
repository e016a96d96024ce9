//! IPReassembler: fragments of IP packets are held until a packet is whole (RFC 791 3.2, RFC 815).
//!
//! What is held is bounded by HIMEM: when more is there, the packets whose fragments came first go,
//! until a quarter is free. Of bytes that two fragments have, the later one's count, as in Click.
//! Leaves out MAX_MTU_ANNO.

use super::super::summary::checksum;
use super::super::{Args, ElementError, HandlerError, Packet};
use super::facts::HEADERS;
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, element_handlers};
use netil::fields::fragment::{MORE, OFFSET};
use std::collections::HashMap;
use std::fmt::Write as _;

/// How long fragments wait for others.
const LIFETIME: u64 = 30_000_000_000;
/// Bytes that a packet takes besides its own, and that are used before the first of them.
const OVERHEAD: usize = 40;
const IP: usize = 20;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "IPReassembler",
    ports: "1/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { holds_packets: true, annotations: HEADERS, ..Facts::OWN },
    manual: "IPReassembler([HIMEM]) -- makes whole packets of IP fragments\n\n\
             The IP header must be marked. Packets that are no fragments pass. Others are held until all fragments of a packet are there, which then leaves by output 0 with the headers and \
             annotations of its first one, and the time of the one that came last. What is not whole 30 s after its last fragment, or does not fit into HIMEM bytes (262,144), is dropped; \
             with output 1 what is there of it leaves by that.\nHandlers: dump r, what was seen and what is held.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &[], &["HIMEM", "MAX_MTU_ANNO"])?;
        if args.has("MAX_MTU_ANNO") {
            return Err(ElementError::argument("MAX_MTU_ANNO is not there"));
        }
        Ok(Box::new(Reassembler { limit: args.count("HIMEM", 256 << 10, 1 << 30)? as usize, ..Reassembler::default() }))
    },
};

/// Addresses, identification, protocol.
type Key = ([u8; 8], u16, u8);

/// A packet that is not whole.
struct Part {
    /// The first fragment, or one that has no more than a header: what is before the data.
    head: Packet,
    has_first: bool,
    /// Bytes of the IP header in the head, and where it is.
    header: (usize, usize),
    data: Vec<u8>,
    /// What is there, from and to, in order and apart.
    there: Vec<(usize, usize)>,
    /// Where the packet ends, if that is known.
    end: Option<usize>,
    /// When the last fragment came, and in which order packets began.
    time: u64,
    number: u64,
}

/// A fragment: where its header is, and which bytes of the packet it has.
struct Fragment {
    at: usize,
    header: usize,
    from: usize,
    to: usize,
    more: bool,
}

#[derive(Default)]
struct Reassembler {
    limit: usize,
    parts: HashMap<Key, Part>,
    used: usize,
    next: u64,
    /// Before that, nothing has waited too long.
    quiet_until: u64,
    seen: u64,
    good: u64,
    failed: u64,
    bad: u64,
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The fragment that a packet is: none if it is whole, an error if it is none that can be.
fn fragment(packet: &Packet, at: usize) -> Result<Option<(Key, Fragment)>, ()> {
    let ip = packet.buffer.bytes().get(at..).filter(|ip| ip.len() >= IP).ok_or(())?;
    let (flags, header, total) = (be16(ip, 6), usize::from(ip[0] & 15) * 4, usize::from(be16(ip, 2)));
    if flags & (MORE | OFFSET) == 0 {
        return Ok(None);
    }
    let (from, more) = (usize::from(flags & OFFSET) * 8, flags & MORE != 0);
    let to = from + total.checked_sub(header).ok_or(())?;
    if header < IP || to > 0xffff || to <= from || (more && to % 8 != 0) || ip.len() < total {
        return Err(());
    }
    let mut addresses = [0; 8];
    addresses.copy_from_slice(&ip[12..20]);
    Ok(Some(((addresses, be16(ip, 4), ip[9]), Fragment { at, header, from, to, more })))
}

impl Part {
    fn new(packet: &Packet, fragment: &Fragment, number: u64) -> Self {
        let head = packet.clone();
        Self {
            head,
            has_first: false,
            header: (fragment.at, fragment.header),
            data: Vec::new(),
            there: Vec::new(),
            end: None,
            time: 0,
            number,
        }
    }

    fn add(&mut self, packet: &Packet, fragment: &Fragment) {
        let start = fragment.at + fragment.header;
        let bytes = &packet.buffer.bytes()[start..start + fragment.to - fragment.from];
        self.data.resize(self.data.len().max(fragment.to), 0);
        self.data[fragment.from..fragment.to].copy_from_slice(bytes);
        if !fragment.more {
            self.end = Some(fragment.to);
        }
        if fragment.from == 0 {
            (self.head, self.has_first, self.header) = (packet.clone(), true, (fragment.at, fragment.header));
        }
        self.time = packet.buffer.time_ns;
        self.there.push((fragment.from, fragment.to));
        self.there.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for &(from, to) in &self.there {
            match merged.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => merged.push((from, to)),
            }
        }
        self.there = merged;
    }

    fn is_whole(&self) -> bool {
        self.has_first && self.end.is_some_and(|end| self.there == [(0, end)])
    }

    fn used(&self) -> usize {
        OVERHEAD + self.data.len()
    }

    /// The packet, as far as it is there.
    fn packet(self, ctx: &Ctx<'_>) -> Packet {
        let (at, header) = self.header;
        let mut head = self.head.buffer.bytes()[..at + header].to_vec();
        let total = u16::try_from(header + self.data.len()).unwrap_or(u16::MAX).to_be_bytes();
        head[at + 2..at + 4].copy_from_slice(&total);
        let flags = be16(&head, at + 6) & !(MORE | OFFSET) | if self.end.is_some() { 0 } else { MORE };
        head[at + 6..at + 8].copy_from_slice(&flags.to_be_bytes());
        head[at + 10..at + 12].fill(0);
        let sum = checksum(&head[at..], 0).to_be_bytes();
        head[at + 10..at + 12].copy_from_slice(&sum);
        let mut packet = ctx.packet(&[head, self.data].concat());
        packet.buffer.time_ns = self.time;
        packet.buffer.info = self.head.buffer.info.clone();
        packet.buffer.number = self.head.buffer.number;
        (packet.link, packet.rounds) = (self.head.link, self.head.rounds);
        packet.mark_headers(ctx.info(), at, at + header);
        packet
    }
}

impl Reassembler {
    /// The packet, or the one that it makes whole.
    fn take(&mut self, packet: Packet, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let at = packet.header(ctx.info(), "network_header", "has_network_header").unwrap_or(usize::MAX);
        let (key, fragment) = match fragment(&packet, at) {
            Ok(Some(found)) => found,
            Ok(None) => return Some(packet),
            Err(()) => {
                self.bad += 1;
                ctx.drop_packet(&packet, "bad fragment");
                return None;
            }
        };
        self.seen += 1;
        self.reap(packet.buffer.time_ns, ctx);
        let next = self.next;
        let part = self.parts.entry(key).or_insert_with(|| Part::new(&packet, &fragment, next));
        if part.number == next {
            self.next += 1;
        } else {
            self.used -= part.used();
        }
        // What is behind the end is none of this packet.
        if part.end.is_none_or(|end| fragment.to <= end) {
            part.add(&packet, &fragment);
        }
        if part.is_whole() {
            self.good += 1;
            return self.parts.remove(&key).map(|part| part.packet(ctx));
        }
        self.used += part.used();
        None
    }

    /// Lets go what has waited too long, and the oldest if there is too much.
    fn reap(&mut self, now: u64, ctx: &mut Ctx<'_>) {
        if now >= self.quiet_until {
            self.quiet_until = now.saturating_add(LIFETIME / 6);
            let mut old: Vec<_> = self
                .parts
                .iter()
                .filter(|(_, part)| part.time.saturating_add(LIFETIME) < now)
                .map(|(key, part)| (part.number, *key))
                .collect();
            old.sort_unstable();
            old.into_iter().for_each(|(_, key)| self.give_up(&key, ctx));
        }
        if self.used > self.limit {
            let mut all: Vec<_> = self.parts.iter().map(|(key, part)| (part.number, *key)).collect();
            all.sort_unstable();
            let enough = self.limit / 4 * 3;
            for (_, key) in all {
                if self.used <= enough {
                    break;
                }
                self.give_up(&key, ctx);
            }
        }
    }

    fn give_up(&mut self, key: &Key, ctx: &mut Ctx<'_>) {
        let Some(part) = self.parts.remove(key) else { return };
        self.used -= part.used();
        self.failed += 1;
        let packet = part.packet(ctx);
        ctx.emit_or_drop(1, packet, "fragments missing");
    }
}

impl BuiltIn for Reassembler {
    fn held(&self) -> usize {
        self.parts.len()
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(packet, ctx) {
            ctx.emit(0, packet);
        }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        loop {
            let packet = ctx.pull(0)?;
            if let Some(packet) = self.take(packet, ctx) {
                return Some(packet);
            }
        }
    }

    gives!(handlers);
}

impl Handlers for Reassembler {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["dump"], &[], &[])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let mut text = format!(
            "frags seen total:    {}\ngood reassemblies:   {}\nfailed reassemblies: {}\nbad fragments seen:  {}\ncached chunk data:\n",
            self.seen, self.good, self.failed, self.bad
        );
        let mut all: Vec<_> = self.parts.iter().collect();
        all.sort_by_key(|(_, part)| part.number);
        for (key, part) in all {
            let [a, b, c, d, e, f, g, h] = key.0;
            let _ = write!(text, " ({a}.{b}.{c}.{d}, {e}.{f}.{g}.{h}) {}", key.1);
            for (from, to) in &part.there {
                let _ = write!(text, " ({from},{to})");
            }
            text.push('\n');
        }
        Ok(text)
    }

    fn write(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        Err(super::no_handler(handler))
    }
}
