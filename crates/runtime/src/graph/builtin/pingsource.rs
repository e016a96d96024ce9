//! ICMPPingSource: echo requests every so often, and what became of them.

use super::super::summary::checksum;
use super::super::{Args, ElementError, HandlerError, Packet, Stream, text};
use super::facts::HEADERS;
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Setup, element_handlers};
use netil::fields::ip_protocol::ICMP;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

const IP: usize = 20;
const ECHO: usize = 8;
const REPLY: u8 = 0;
const REQUEST: u8 = 8;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "ICMPPingSource",
    ports: "0-1/1",
    processing: "h/a",
    flow: "x/y",
    facts: Facts { annotations: HEADERS, ..Facts::MAKER },
    manual: "ICMPPingSource(SRC, DST [, INTERVAL, IDENTIFIER, LIMIT, DATA, ACTIVE, STOP, VERBOSE, MIRROR]) -- makes an ICMP echo request every INTERVAL (1 s)\n\n\
             LIMIT requests in all (-1: no end) with DATA behind the header; then it asks for the end of the run if STOP is true. Where it is pulled, one for each pull. Replies that come in are counted and \
             told, unless VERBOSE is false; at the end there is a summary, as ping has it. MIRROR true: a reply becomes the next request at once.\n\
             Handlers: active src dst rw, count r, limit interval reset_counts w; with an input summary rtt_min rtt_avg rtt_max r.",
    make: |setup| make(setup).map(|source| Box::new(source) as Box<dyn BuiltIn>),
};

fn make(setup: &Setup<'_>) -> Result<PingSource, ElementError> {
    let args =
        Args::parse(setup.arguments, &["SRC", "DST"], &["INTERVAL", "IDENTIFIER", "LIMIT", "DATA", "ACTIVE", "STOP", "VERBOSE", "MIRROR"])?;
    let pulled = setup.output_pulled.first() == Some(&true);
    let mirror = args.boolean("MIRROR", false)?;
    if pulled && mirror {
        return Err(ElementError::argument("MIRROR needs an output that pushes"));
    }
    Ok(PingSource {
        source: address(&args.required("SRC")?)?,
        destination: address(&args.required("DST")?)?,
        interval: args.duration("INTERVAL", 1_000_000_000)?.max(1),
        identifier: args.count("IDENTIFIER", 0, 0xffff)? as u16,
        limit: args.integer("LIMIT", -1)?,
        data: args.bytes("DATA").unwrap_or_default(),
        active: args.boolean("ACTIVE", true)?,
        stop: args.boolean("STOP", false)?,
        verbose: args.boolean("VERBOSE", true)?,
        mirror,
        pulled,
        count: 0,
        replies: (setup.inputs > 0).then(Replies::default),
    })
}

fn address(text: &str) -> Result<Ipv4Addr, ElementError> {
    text.trim().parse().map_err(|_| ElementError::argument(format!("expected an IP address, not '{text}'")))
}

/// What came back.
#[derive(Default)]
struct Replies {
    /// When requests were sent, by their sequence numbers, and whether they have been answered.
    sent: HashMap<u16, (u64, bool)>,
    received: u64,
    duplicate: u64,
    /// In microseconds.
    least: u64,
    most: u64,
    sum: u64,
    squares: u128,
}

struct PingSource {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    interval: u64,
    identifier: u16,
    limit: i64,
    data: Vec<u8>,
    active: bool,
    stop: bool,
    verbose: bool,
    mirror: bool,
    pulled: bool,
    count: u64,
    replies: Option<Replies>,
}

impl PingSource {
    fn may(&self) -> bool {
        self.active && (self.limit < 0 || self.count < self.limit as u64)
    }

    /// The next request, with those bytes behind its header.
    fn request(&mut self, data: &[u8], ctx: &mut Ctx<'_>) -> Packet {
        let number = (self.count % 0xffff) as u16 + 1;
        self.count += 1;
        let total = u16::try_from(IP + ECHO + data.len()).unwrap_or(u16::MAX).to_be_bytes();
        let id = number.to_be_bytes();
        let mut ip = [
            vec![0x45, 0, total[0], total[1], id[0], id[1], 0, 0, 200, ICMP, 0, 0],
            self.source.octets().to_vec(),
            self.destination.octets().to_vec(),
        ]
        .concat();
        let sum = checksum(&ip, 0).to_be_bytes();
        ip[10..12].copy_from_slice(&sum);
        let mut icmp = [&[REQUEST, 0, 0, 0][..], &self.identifier.to_be_bytes(), &id, data].concat();
        let sum = checksum(&icmp, 0).to_be_bytes();
        icmp[2..4].copy_from_slice(&sum);
        let mut packet = ctx.packet(&[ip, icmp].concat());
        packet.mark_headers(ctx.info(), 0, IP);
        let next_hop = u32::from(self.destination).swap_bytes();
        ctx.set_info(&mut packet, "dst_ip", next_hop.into());
        if let Some(replies) = &mut self.replies {
            replies.sent.insert(number, (ctx.now(), false));
        }
        packet
    }

    fn make(&mut self, ctx: &mut Ctx<'_>) -> Packet {
        let data = std::mem::take(&mut self.data);
        let packet = self.request(&data, ctx);
        self.data = data;
        packet
    }

    fn schedule(&self, ctx: &mut Ctx<'_>) {
        if !self.pulled && self.may() && ctx.wakes_at() == 0 {
            ctx.wake_at(ctx.now().saturating_add(self.interval));
        }
    }

    /// A reply to a request that was sent; what was behind its header.
    fn reply(&mut self, packet: &Packet, ctx: &mut Ctx<'_>) -> Option<Vec<u8>> {
        let at = packet.header(ctx.info(), "network_header", "has_network_header")?;
        let ip = packet.buffer.bytes().get(at..).filter(|ip| ip.len() >= IP)?;
        let (header, total) = (usize::from(ip[0] & 15) * 4, usize::from(u16::from_be_bytes([ip[2], ip[3]])));
        let icmp = ip.get(header..total.min(ip.len()))?;
        let word = |at: usize| icmp.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
        if ip[9] != ICMP || *icmp.first()? != REPLY || word(4)? != self.identifier {
            return None;
        }
        let (number, replies) = (word(6)?, self.replies.as_mut()?);
        let (when, answered) = *replies.sent.get(&number)?;
        replies.sent.insert(number, (when, true));
        let took = packet.buffer.time_ns.saturating_sub(when) / 1000;
        replies.note(took, answered);
        if self.verbose {
            let from = Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]);
            let size = total.saturating_sub(header + ECHO);
            let line = format!(
                "{}: {size} bytes from {from}: icmp_seq={number} ttl={} time={}.{:03} ms\n",
                ctx.declared(),
                ip[8],
                took / 1000,
                took % 1000
            );
            ctx.print(Stream::Err, line.as_bytes());
        }
        Some(icmp.get(ECHO..)?.to_vec())
    }

    fn summary(&self) -> String {
        let Some(replies) = &self.replies else { return String::new() };
        let (count, received) = (self.count, replies.received - replies.duplicate);
        let mut text = format!("{count} packets transmitted, {received} received");
        if replies.duplicate > 0 {
            let _ = write!(text, ", +{} duplicates", replies.duplicate);
        }
        if let Some(lost) = (count.saturating_sub(received) * 100).checked_div(count) {
            let _ = writeln!(text, ", {lost}% packet loss");
        }
        if let Some(average) = replies.sum.checked_div(replies.received) {
            let spread =
                (replies.squares / u128::from(replies.received)).saturating_sub(u128::from(average) * u128::from(average)).isqrt() as u64;
            let [least, average, most, spread] =
                [replies.least, average, replies.most, spread].map(|n| format!("{}.{:03}", n / 1000, n % 1000));
            let _ = writeln!(text, "rtt min/avg/max/mdev = {least}/{average}/{most}/{spread}");
        }
        text
    }
}

impl Replies {
    fn note(&mut self, took: u64, again: bool) {
        self.least = if self.received == 0 { took } else { self.least.min(took) };
        self.most = self.most.max(took);
        self.received += 1;
        self.duplicate += u64::from(again);
        self.sum = self.sum.saturating_add(took);
        self.squares += u128::from(took) * u128::from(took);
    }
}

/// Microseconds as seconds.
fn seconds(micros: u64) -> String {
    text::seconds(micros.saturating_mul(1000))
}

impl BuiltIn for PingSource {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.schedule(ctx);
        Ok(())
    }

    fn timer(&mut self, when: u64, ctx: &mut Ctx<'_>) {
        if !self.may() {
            if self.stop && self.active {
                ctx.stop();
            }
            return;
        }
        let packet = self.make(ctx);
        ctx.emit(0, packet);
        if self.may() || self.stop {
            ctx.wake_at(when.saturating_add(self.interval));
        }
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        match self.reply(&packet, ctx) {
            Some(data) if self.mirror => {
                let packet = self.request(&data, ctx);
                ctx.emit(0, packet);
            }
            _ => {}
        }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if self.may() {
            return Some(self.make(ctx));
        }
        if std::mem::replace(&mut self.stop, false) {
            ctx.stop();
        }
        None
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.may() || self.stop
    }

    gives!(handlers);

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        if self.verbose && self.replies.is_some() {
            let text: String = self.summary().lines().fold(String::new(), |text, line| text + &format!("{}: {line}\n", ctx.declared()));
            ctx.print(Stream::Err, text.as_bytes());
        }
        Ok(())
    }
}

impl Handlers for PingSource {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        let results: &[&str] = if self.replies.is_some() { &["summary", "rtt_min", "rtt_avg", "rtt_max"] } else { &[] };
        [
            element_handlers(&["count"], &["limit", "interval", "reset_counts"], &["active", "src", "dst"]),
            element_handlers(results, &[], &[]),
        ]
        .concat()
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let replies = self.replies.as_ref();
        Ok(match handler {
            "active" => self.active.to_string(),
            "src" => self.source.to_string(),
            "dst" => self.destination.to_string(),
            "summary" => self.summary(),
            "rtt_min" => seconds(replies.map_or(0, |replies| replies.least)),
            "rtt_avg" => seconds(replies.and_then(|replies| replies.sum.checked_div(replies.received)).unwrap_or(0)),
            "rtt_max" => seconds(replies.map_or(0, |replies| replies.most)),
            _ => self.count.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "active" => self.active = super::boolean(value)?,
            "src" => self.source = address(value)?,
            "dst" => self.destination = address(value)?,
            "limit" => self.limit = text::integer(value).ok_or_else(|| HandlerError::invalid("expected a number"))?,
            "interval" => self.interval = text::duration(value).ok_or_else(|| HandlerError::invalid("expected a time"))?.max(1),
            _ => {
                self.count = 0;
                self.replies = self.replies.as_ref().map(|_| Replies::default());
            }
        }
        self.schedule(ctx);
        Ok(())
    }
}
