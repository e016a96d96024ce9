//! FastUDPSource, FastUDPFlows: UDP packets at a rate, for measurements.

use super::super::bucket::Bucket;
use super::super::summary::checksum;
use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::infinitesource::Made;
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Setup, Task, TaskResult, element_handlers};
use netil::fields::ip_protocol::UDP;
use std::net::Ipv4Addr;

/// How long a source may be late and still make up for it.
const BURST: u64 = 20_000_000;
/// The shortest packet, and the most flows.
const SHORTEST: u32 = 60;
const MOST_FLOWS: u32 = 1 << 20;
const ETHER: usize = 14;
const IP: usize = 20;

pub(super) static SOURCE: BuiltInClass = BuiltInClass {
    name: "FastUDPSource",
    ports: "0/1",
    processing: "a/a",
    flow: "",
    facts: Facts::MAKER,
    manual: "FastUDPSource(RATE, LIMIT, LENGTH, SRCETH, SRCIP, SPORT, DSTETH, DSTIP, DPORT [, CHECKSUM, INTERVAL, ACTIVE]) -- makes RATE UDP packets a second\n\n\
             LIMIT packets in all (-1: no end) of LENGTH bytes (at least 60), with Ethernet, IP and UDP headers; RATE 0: as fast as they are taken. CHECKSUM false: no UDP checksum; true by default. \
             After INTERVAL packets (0: never) both ports are one higher.\nHandlers: count rate r, rate w, reset w, active limit rw.",
    make: |setup| {
        make(setup, &["RATE", "LIMIT", "LENGTH", "SRCETH", "SRCIP", "SPORT", "DSTETH", "DSTIP", "DPORT", "CHECKSUM", "INTERVAL", "ACTIVE"])
    },
};

pub(super) static FLOWS: BuiltInClass = BuiltInClass {
    name: "FastUDPFlows",
    ports: "0/1",
    processing: "a/a",
    flow: "",
    facts: Facts::MAKER,
    manual: "FastUDPFlows(RATE, LIMIT, LENGTH, SRCETH, SRCIP, DSTETH, DSTIP, FLOWS, FLOWSIZE [, CHECKSUM, ACTIVE]) -- makes RATE UDP packets a second of several flows\n\n\
             LIMIT packets in all (-1: no end) of LENGTH bytes (at least 60), with Ethernet, IP and UDP headers. Each is of one of FLOWS flows, at random, which have ports at random; after FLOWSIZE \
             packets a flow gets others. RATE 0: as fast as they are taken. CHECKSUM false: no UDP checksum; true by default.\nHandlers: count r, rate rw, reset w, active limit rw.",
    make: |setup| {
        make(setup, &["RATE", "LIMIT", "LENGTH", "SRCETH", "SRCIP", "DSTETH", "DSTIP", "FLOWS", "FLOWSIZE", "CHECKSUM", "ACTIVE"])
    },
};

fn mac(args: &Args, name: &str) -> Result<Vec<u8>, ElementError> {
    let given = args.required(name)?;
    let bytes: Option<Vec<u8>> = given.split([':', '-']).map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes
        .filter(|bytes| bytes.len() == 6)
        .ok_or_else(|| ElementError::argument(format!("{name} should be an Ethernet address, not '{given}'")))
}

fn address(args: &Args, name: &str) -> Result<[u8; 4], ElementError> {
    let given = args.required(name)?;
    given
        .parse::<Ipv4Addr>()
        .map(|address| address.octets())
        .map_err(|_| ElementError::argument(format!("{name} should be an IP address, not '{given}'")))
}

fn make(setup: &Setup<'_>, positional: &[&'static str]) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, positional, &["LEN", "STOP"])?;
    for name in ["RATE", "LIMIT"] {
        args.required(name)?;
    }
    let length = args.count("LENGTH", args.count("LEN", SHORTEST, u32::from(u16::MAX))?, u32::from(u16::MAX))?.max(SHORTEST) as usize;
    let flows = args.has("FLOWS");
    let ports = [args.count("SPORT", 0, 0xffff)? as u16, args.count("DPORT", 0, 0xffff)? as u16];
    let checksummed = args.boolean("CHECKSUM", true)?;
    let head = [mac(&args, "DSTETH")?, mac(&args, "SRCETH")?, vec![8, 0]].concat();
    let data = packet(&head, [address(&args, "SRCIP")?, address(&args, "DSTIP")?], length);
    let made = Made {
        data,
        limit: args.integer("LIMIT", -1)?,
        active: args.boolean("ACTIVE", true)?,
        stop: args.boolean("STOP", false)?,
        count: 0,
    };
    let rate = u64::from(args.count("RATE", 0, u32::MAX)?);
    let count = if flows { args.count("FLOWS", 1, MOST_FLOWS)?.max(1) as usize } else { 1 };
    let mut source = UdpSource {
        pulled: setup.output_pulled.first() == Some(&true),
        bucket: (rate > 0).then(|| Bucket::new(rate, Bucket::burst(rate, BURST))),
        made,
        flows: vec![Flow { ports, sent: 0 }; count],
        interval: u64::from(args.count("INTERVAL", 0, u32::MAX)?),
        most: if flows { u64::from(args.count("FLOWSIZE", 1, u32::MAX)?) } else { u64::MAX },
        checksummed,
        seed: setup.seed,
    };
    if flows {
        (0..count).for_each(|flow| source.flows[flow].ports = source.random_ports());
    }
    Ok(Box::new(source))
}

/// Headers without ports and UDP checksum, and zeros.
fn packet(ether: &[u8], [source, destination]: [[u8; 4]; 2], length: usize) -> Vec<u8> {
    let total = (length - ETHER) as u16;
    let [high, low] = total.to_be_bytes();
    let mut ip = [vec![0x45, 0, high, low, 0, 0, 0, 0, 250, UDP, 0, 0], source.to_vec(), destination.to_vec()].concat();
    let sum = checksum(&ip, 0).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);
    let mut bytes = [ether, &ip, &[0; 4], &(total - IP as u16).to_be_bytes(), &[0; 2]].concat();
    bytes.resize(length, 0);
    bytes
}

#[derive(Clone, Copy)]
struct Flow {
    ports: [u16; 2],
    sent: u64,
}

struct UdpSource {
    pulled: bool,
    /// None: no limit.
    bucket: Option<Bucket>,
    made: Made,
    flows: Vec<Flow>,
    /// Packets after which ports are one higher; 0: none.
    interval: u64,
    /// Packets of a flow before it gets other ports.
    most: u64,
    checksummed: bool,
    seed: u64,
}

impl UdpSource {
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.seed >> 33
    }

    fn random_ports(&mut self) -> [u16; 2] {
        [0; 2].map(|_| (self.random() % 0xffff) as u16)
    }

    /// The ports of the next packet.
    fn ports(&mut self) -> [u16; 2] {
        let flow = if self.flows.len() > 1 { self.random() as usize % self.flows.len() } else { 0 };
        if self.flows[flow].sent >= self.most {
            self.flows[flow] = Flow { ports: self.random_ports(), sent: 0 };
        }
        if self.interval > 0 && self.flows[flow].sent >= self.interval {
            self.flows[flow] = Flow { ports: self.flows[flow].ports.map(|port| port.wrapping_add(1)), sent: 0 };
        }
        self.flows[flow].sent += 1;
        self.flows[flow].ports
    }

    /// The next packet if it is time for one; else the timer is set for when it is.
    fn packet(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if !self.made.may() {
            return None;
        }
        let now = ctx.now();
        if let Some(bucket) = &mut self.bucket
            && !bucket.take(1, now)
        {
            let wait = bucket.wait(1, now);
            ctx.wake_at(wait.map_or(0, |wait| now.saturating_add(wait)));
            return None;
        }
        let [source, destination] = self.ports();
        let mut packet = self.made.packet(ctx)?;
        fill(packet.buffer.bytes_mut(), source, destination, self.checksummed);
        if self.made.is_over() && self.made.stop {
            ctx.stop();
        }
        Some(packet)
    }
}

/// Puts ports and checksum into a packet.
fn fill(bytes: &mut [u8], source: u16, destination: u16, checksummed: bool) {
    let Some(udp) = bytes.get_mut(ETHER + IP..) else { return };
    udp[..2].copy_from_slice(&source.to_be_bytes());
    udp[2..4].copy_from_slice(&destination.to_be_bytes());
    if !checksummed {
        return;
    }
    let length = udp.len() as u32;
    let addresses = &bytes[ETHER + 12..ETHER + IP];
    let pseudo: u32 = addresses.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = checksum(&bytes[ETHER + IP..], pseudo + u32::from(UDP) + length);
    let sum = if sum == 0 { 0xffff } else { sum };
    bytes[ETHER + IP + 6..ETHER + IP + 8].copy_from_slice(&sum.to_be_bytes());
}

impl BuiltIn for UdpSource {
    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulled { None } else { Some(self) }
    }

    fn bucket(&mut self) -> Option<&mut Bucket> {
        self.bucket.as_mut()
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.packet(ctx)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.made.may()
    }

    gives!(handlers);
}

impl Handlers for UdpSource {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset"], &["limit", "active", "rate"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.made.read(handler).unwrap_or_else(|| self.bucket.as_ref().map_or(0, Bucket::rate).to_string()))
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        if handler != "rate" {
            self.made.write(handler, value)?;
            if handler == "active" && self.made.active {
                self.made.count = 0;
            }
            return Ok(());
        }
        let rate =
            text::integer(value).and_then(|rate| u64::try_from(rate).ok()).ok_or_else(|| HandlerError::invalid("expected a rate"))?;
        match &mut self.bucket {
            Some(bucket) if rate > 0 => bucket.set_rate(rate, Bucket::burst(rate, BURST)),
            bucket => *bucket = (rate > 0).then(|| Bucket::new(rate, Bucket::burst(rate, BURST))),
        }
        Ok(())
    }
}

impl Task for UdpSource {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if ctx.is_full_behind() {
            return TaskResult::Idle;
        }
        let Some(packet) = self.packet(ctx) else { return TaskResult::Idle };
        ctx.emit(0, packet);
        TaskResult::Done
    }

    fn is_scheduled(&self, _: &Ready<'_>) -> bool {
        self.made.may()
    }
}
