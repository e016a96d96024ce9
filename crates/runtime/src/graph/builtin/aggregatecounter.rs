//! AggregateCounter: counts packets or bytes by the aggregate annotation.
//!
//! Leaves out: packed files in the order of another machine. Counters are bounded: when there are
//! too many, the element is frozen.

use super::super::script::write_file;
use super::super::{Args, ElementError, HandlerError, Packet, Stream, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Setup, boolean, element_handlers};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Different aggregates at most.
const MOST: usize = 1 << 22;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "AggregateCounter",
    ports: "1-2/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts {
        annotations: &[("aggregate", 4), ("extra_packets", 4), ("network_header", 4), ("has_network_header", 1)],
        ..Facts::OTHER
    },
    manual: "AggregateCounter([BYTES BOOL, IP_BYTES BOOL, MULTIPACKET BOOL, EXTRA_LENGTH BOOL, AGGREGATE_STOP N, AGGREGATE_FREEZE N, AGGREGATE_CALL N HANDLER TEXT, COUNT_STOP N, COUNT_FREEZE N, \
             COUNT_CALL N HANDLER TEXT, BANNER TEXT]) -- counts packets by their aggregate annotation\n\n\
             Counts are of packets, with those that the annotation extra_packets adds unless MULTIPACKET is false; of bytes with BYTES, IP_BYTES without the link header, EXTRA_LENGTH with those \
             that were not captured. STOP ends the run, FREEZE freezes, CALL writes a handler when so many aggregates were seen, or when counts come to so much. \
             A frozen element counts nothing that is new; input 1 always is; what is not counted leaves by output 1 if that is there.\n\
             Handlers: write_text_file write_ip_file write_file FILE w, all counts, - is standard output; freeze active banner rw, nagg count r, stop reset counts_pdf w.",
    make,
};

/// What happens at a number.
enum Does {
    Stop,
    Freeze,
    Call(String),
}

/// A number and what happens then, once.
struct Mark {
    at: u64,
    does: Does,
}

impl Mark {
    fn of(args: &Args, what: &str) -> Result<Option<Self>, ElementError> {
        let [stop, freeze, call] = ["STOP", "FREEZE", "CALL"].map(|kind| format!("{what}_{kind}"));
        args.at_most_one(&[&stop, &freeze, &call])?;
        let number = |name: &str, text: &str| {
            let number = text::integer(text).and_then(|n| u64::try_from(n).ok());
            number.ok_or_else(|| ElementError::argument(format!("{name} should be a number, not '{text}'")))
        };
        for (name, does) in [(&stop, Does::Stop), (&freeze, Does::Freeze)] {
            if let Some(text) = args.raw(name) {
                return Ok(Some(Self { at: number(name, text)?, does }));
            }
        }
        let Some(text) = args.raw(&call) else { return Ok(None) };
        let (at, handler) = text::shift_word(text);
        if handler.is_empty() {
            return Err(ElementError::argument(format!("{call} should be a number and a handler, not '{text}'")));
        }
        Ok(Some(Self { at: number(&call, at)?, does: Does::Call(handler.to_owned()) }))
    }
}

fn make(setup: &Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError> {
    const NAMES: &[&str] = &[
        "BYTES",
        "IP_BYTES",
        "MULTIPACKET",
        "EXTRA_LENGTH",
        "AGGREGATE_STOP",
        "AGGREGATE_FREEZE",
        "AGGREGATE_CALL",
        "COUNT_STOP",
        "COUNT_FREEZE",
        "COUNT_CALL",
        "BANNER",
    ];
    let args = Args::parse(setup.arguments, &[], NAMES)?;
    let ip_bytes = args.boolean("IP_BYTES", false)?;
    Ok(Box::new(Counter {
        bytes: args.boolean("BYTES", false)? || ip_bytes,
        ip_bytes,
        multipacket: args.boolean("MULTIPACKET", true)?,
        extra_length: args.boolean("EXTRA_LENGTH", true)?,
        at_aggregates: Mark::of(&args, "AGGREGATE")?,
        at_count: Mark::of(&args, "COUNT")?,
        banner: args.text("BANNER").unwrap_or_default(),
        counts: BTreeMap::new(),
        total: 0,
        frozen: false,
        active: true,
    }))
}

struct Counter {
    bytes: bool,
    ip_bytes: bool,
    multipacket: bool,
    extra_length: bool,
    at_aggregates: Option<Mark>,
    at_count: Option<Mark>,
    banner: String,
    counts: BTreeMap<u32, u64>,
    total: u64,
    frozen: bool,
    active: bool,
}

impl Counter {
    fn amount(&self, packet: &Packet, ctx: &Ctx<'_>) -> u64 {
        if !self.bytes {
            let more = if self.multipacket { ctx.info().get(packet, "extra_packets") } else { 0 };
            return 1 + more;
        }
        let length = if self.extra_length { u64::from(packet.buffer.wire_len()) } else { packet.len() as u64 };
        let before = packet.header(ctx.info(), "network_header", "has_network_header").filter(|_| self.ip_bytes).unwrap_or(0);
        length.saturating_sub(before as u64)
    }

    /// Counts a packet, if it is to be counted.
    fn count(&mut self, packet: &Packet, frozen: bool, ctx: &mut Ctx<'_>) -> bool {
        let aggregate = ctx.info().get(packet, "aggregate") as u32;
        let closed = frozen || self.frozen || self.counts.len() >= MOST;
        if !self.active || (closed && !self.counts.contains_key(&aggregate)) {
            return false;
        }
        let amount = self.amount(packet, ctx);
        *self.counts.entry(aggregate).or_default() += amount;
        self.total += amount;
        self.look(ctx);
        true
    }

    fn look(&mut self, ctx: &mut Ctx<'_>) {
        let aggregates = self.counts.len() as u64;
        for (mark, now) in [(&mut self.at_aggregates, aggregates), (&mut self.at_count, self.total)] {
            let Some(reached) = mark.take_if(|mark| now >= mark.at) else { continue };
            match reached.does {
                Does::Stop => {
                    self.active = false;
                    ctx.stop();
                }
                Does::Freeze => self.frozen = true,
                Does::Call(call) => ctx.write_later(&call),
            }
        }
    }

    /// The packet, if it is counted or there is no other way for it.
    fn pass(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let counted = self.count(&packet, port == 1, ctx);
        let other = ctx.has_output(1);
        if counted || !other {
            return Some(packet);
        }
        ctx.emit(1, packet);
        None
    }

    fn file(&self, handler: &str) -> Vec<u8> {
        let mut head = format!("!IPAggregate 1.0\n{}", self.banner);
        if !self.banner.is_empty() && !self.banner.ends_with('\n') {
            head.push('\n');
        }
        head += &format!("!num_nonzero {}\n", self.counts.values().filter(|count| **count > 0).count());
        let lines =
            |name: &dyn Fn(u32) -> String| self.counts.iter().map(|(at, count)| format!("{} {count}\n", name(*at))).collect::<String>();
        match handler {
            "write_file" => {
                let pair = |(at, count): (&u32, &u64)| [at.to_le_bytes(), (*count as u32).to_le_bytes()].concat();
                [format!("{head}!packed_le\n").into_bytes(), self.counts.iter().flat_map(pair).collect()].concat()
            }
            "write_ip_file" => format!("{head}!ip\n{}", lines(&|at| Ipv4Addr::from(at).to_string())).into_bytes(),
            _ => (head + &lines(&|at| at.to_string())).into_bytes(),
        }
    }

    /// How often each count is there.
    fn recount(&mut self) {
        let mut counts = BTreeMap::new();
        self.counts.values().for_each(|count| *counts.entry(u32::try_from(*count).unwrap_or(u32::MAX)).or_default() += 1);
        self.counts = counts;
    }
}

impl BuiltIn for Counter {
    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.pass(port, packet, ctx) {
            ctx.emit(0, packet);
        }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = ctx.pull(0)?;
        self.pass(0, packet, ctx)
    }

    gives!(handlers);
}

impl Handlers for Counter {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        let writes = ["write_file", "write_text_file", "write_ip_file", "stop", "reset", "counts_pdf"];
        element_handlers(&["nagg", "count"], &writes, &["freeze", "active", "banner"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "nagg" => self.counts.len().to_string(),
            "count" => self.total.to_string(),
            "freeze" => self.frozen.to_string(),
            "active" => self.active.to_string(),
            _ => self.banner.clone(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "freeze" => self.frozen = boolean(value)?,
            "active" => self.active = boolean(value)?,
            "banner" => self.banner = value.to_owned(),
            "stop" => {
                self.active = false;
                ctx.stop();
            }
            "reset" => {
                self.counts.clear();
                self.total = 0;
            }
            "counts_pdf" => self.recount(),
            writes => {
                let (bytes, name) = (self.file(writes), text::unquoted(value.trim()));
                match name.as_str() {
                    "" => return Err(HandlerError::invalid("expected the name of a file")),
                    "-" => ctx.print(Stream::Out, &bytes),
                    name => {
                        ctx.writable(name.as_ref())?;
                        write_file(name, false, &bytes).map_err(|error| HandlerError::failed(format!("{name}: {error}")))?;
                    }
                }
            }
        }
        Ok(())
    }
}
