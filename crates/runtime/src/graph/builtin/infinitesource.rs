//! InfiniteSource, RandomSource: packets as fast as they are taken.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Setup, Task, TaskKind, TaskResult, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "InfiniteSource",
    ports: "0/1",
    processing: "a/a",
    flow: "",
    facts: Facts::MAKER,
    manual: "InfiniteSource([DATA, LIMIT, BURST, ACTIVE, LENGTH, STOP, END_CALL, TIMESTAMP]) -- makes packets whenever it has a turn\n\n\
             LIMIT packets (-1: no end) of DATA, BURST (1) a turn, while ACTIVE (true); it waits while all queues behind it that tell so are full. LENGTH cuts or \
             repeats DATA. At the limit it asks for the end of the run (STOP true) or writes a handler (END_CALL).\n\
             Handlers: count r, reset w, data limit burst active length rw.",
    make: |setup| {
        let args =
            Args::parse(setup.arguments, &["DATA", "LIMIT", "BURST", "ACTIVE"], &["LENGTH", "DATASIZE", "STOP", "END_CALL", "TIMESTAMP"])?;
        let data = data(&args)?;
        Ok(Box::new(source(&args, data, setup)?))
    },
};

/// A source of that data as its arguments say.
fn source(args: &Args, data: Vec<u8>, setup: &Setup<'_>) -> Result<InfiniteSource, ElementError> {
    args.at_most_one(&["STOP", "END_CALL"])?;
    let made = Made {
        data,
        limit: args.integer("LIMIT", -1)?,
        active: args.boolean("ACTIVE", true)?,
        stop: args.boolean("STOP", false)?,
        count: 0,
    };
    Ok(InfiniteSource {
        pulled: setup.output_pulled.first() == Some(&true),
        burst: burst(args)?,
        turn: 0,
        end_call: args.raw("END_CALL").map(str::to_owned),
        timestamp: args.boolean("TIMESTAMP", true)?,
        random: None,
        made,
    })
}

pub(super) static RANDOM: BuiltInClass = BuiltInClass {
    name: "RandomSource",
    manual: "RandomSource(LENGTH [, LIMIT, BURST, ACTIVE, STOP, END_CALL, TIMESTAMP]) -- makes packets of random bytes whenever it has a turn\n\n\
             LIMIT packets (-1: no end) of LENGTH bytes, BURST (1) a turn, while ACTIVE (true); else it is as InfiniteSource. The bytes are of the run's seed.\n\
             Handlers: count r, reset w, limit burst active length rw.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["LENGTH", "LIMIT", "BURST", "ACTIVE"], &["STOP", "END_CALL", "TIMESTAMP"])?;
        args.required("LENGTH")?;
        let length = args.count("LENGTH", 0, netil::exec::MAX_PACKET)? as usize;
        Ok(Box::new(InfiniteSource { random: Some(setup.seed), ..source(&args, vec![0; length], setup)? }))
    },
    ..CLASS
};

/// Random bytes that are made at once.
const RANDOM_BYTES: u64 = 1 << 18;

/// Packets that are made, up to a limit: what all sources of this kind have.
pub(super) struct Made {
    pub data: Vec<u8>,
    /// Negative: none.
    pub limit: i64,
    pub active: bool,
    pub stop: bool,
    pub count: u64,
}

/// How many packets a turn makes.
///
/// # Errors
/// None at all, or no number.
pub fn burst(args: &Args) -> Result<u64, ElementError> {
    u64::try_from(args.integer("BURST", 1)?)
        .ok()
        .filter(|burst| *burst > 0)
        .ok_or_else(|| ElementError::argument("BURST should be 1 or more"))
}

/// The bytes that a source's arguments DATA and LENGTH ask for.
///
/// # Errors
/// LENGTH is no number, or too large.
pub fn data(args: &Args) -> Result<Vec<u8>, ElementError> {
    let mut data = args.bytes("DATA").unwrap_or_else(|| b"Random bullshit in a packet, at least 64 bytes long. Well, now it is.".to_vec());
    // DATASIZE is what older configurations say.
    if let Some(name) = ["LENGTH", "DATASIZE"].into_iter().find(|name| args.has(name)) {
        data = repeated(&data, args.count(name, 0, netil::exec::MAX_PACKET)? as usize);
    }
    data.truncate(netil::exec::MAX_PACKET as usize);
    Ok(data)
}

/// So many bytes: the data again and again, zeros where there is none.
fn repeated(data: &[u8], length: usize) -> Vec<u8> {
    let data = if data.is_empty() { &[0][..] } else { data };
    data.iter().copied().cycle().take(length).collect()
}

impl Made {
    pub(super) fn may(&self) -> bool {
        self.left() > 0
    }

    /// How many it may make still.
    pub(super) fn left(&self) -> u64 {
        match u64::try_from(self.limit) {
            _ if !self.active => 0,
            Ok(limit) => limit.saturating_sub(self.count),
            Err(_) => u64::MAX,
        }
    }

    /// How many it may make before the last one, with which more happens.
    pub(super) fn before_last(&self) -> u64 {
        self.left().saturating_sub(1)
    }

    /// So many packets at once, as many as may be made.
    pub(super) fn packets(&mut self, count: u64, turn: (u64, u64), ctx: &mut Ctx<'_>) {
        let data = &self.data[..];
        ctx.make(turn, (0..count as usize).map(|_| data));
        self.count += count;
    }

    /// The next packet; at the limit the end of the run is asked for.
    pub(super) fn packet(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if !self.may() {
            return None;
        }
        self.count += 1;
        Some(ctx.packet(&self.data))
    }

    /// True if the last packet was the last of all.
    pub(super) fn is_over(&self) -> bool {
        self.limit >= 0 && self.count >= self.limit as u64
    }

    pub(super) fn read(&self, handler: &str) -> Option<String> {
        Some(match handler {
            "count" => self.count.to_string(),
            "data" => text::quoted(&self.data),
            "length" | "datasize" => self.data.len().to_string(),
            "limit" => self.limit.to_string(),
            "active" => self.active.to_string(),
            _ => return None,
        })
    }

    pub(super) fn write(&mut self, handler: &str, value: &str) -> Result<bool, HandlerError> {
        match handler {
            "reset" => self.count = 0,
            "data" => self.data = text::unquote(value),
            "length" | "datasize" => {
                let length = text::integer(value).filter(|n| (0..=i64::from(netil::exec::MAX_PACKET)).contains(n));
                self.data = repeated(&self.data, length.ok_or_else(|| HandlerError::invalid("expected a length"))? as usize);
            }
            "limit" => self.limit = text::integer(value).ok_or_else(|| HandlerError::invalid("expected a number"))?,
            "active" => self.active = super::boolean(value)?,
            "stop" => self.active = false,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Random bytes; the seed of the next ones (Steele, Lea and Flood: Fast splittable pseudorandom
/// number generators, 2014).
fn fill(data: &mut [u8], mut seed: u64) -> u64 {
    for part in data.chunks_mut(8) {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes()[..part.len()]);
    }
    seed
}

struct InfiniteSource {
    pulled: bool,
    burst: u64,
    turn: u64,
    end_call: Option<String>,
    timestamp: bool,
    /// Of the bytes, if they are not the data.
    random: Option<u64>,
    made: Made,
}

impl InfiniteSource {
    fn packet(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if let Some(seed) = self.random.filter(|_| self.made.may()) {
            self.random = Some(fill(&mut self.made.data, seed));
        }
        let mut packet = self.made.packet(ctx)?;
        if !self.timestamp {
            packet.buffer.time_ns = 0;
        }
        Some(packet)
    }

    /// Packets of several turns at once, where they may be made so. None if not.
    fn many(&mut self, ctx: &mut Ctx<'_>) -> Option<TaskResult> {
        let (turn, len) = ((self.burst, self.turn), self.made.data.len() as u64);
        let most = if self.random.is_some() { RANDOM_BYTES.checked_div(len).unwrap_or(0) } else { u64::MAX };
        let count = ctx.may_make(turn, self.made.before_last().min(most), self.random.is_none());
        if count < 2 || !self.timestamp {
            return None;
        }
        match self.random {
            Some(seed) => self.random = Some(self.random_packets(count, seed, ctx)),
            None => self.made.packets(count, turn, ctx),
        }
        self.turn = (self.turn + count) % self.burst;
        Some(if self.turn == 0 { TaskResult::Done } else { TaskResult::Again })
    }

    /// So many packets of random bytes; the seed of the next ones.
    fn random_packets(&mut self, count: u64, mut seed: u64, ctx: &mut Ctx<'_>) -> u64 {
        let len = self.made.data.len();
        let mut bytes = vec![0; len * count as usize];
        for packet in bytes.chunks_exact_mut(len) {
            seed = fill(packet, seed);
        }
        ctx.make((self.burst, self.turn), bytes.chunks_exact(len));
        self.made.count += count;
        self.made.data.copy_from_slice(&bytes[bytes.len() - len..]);
        seed
    }

    /// What happens once the limit is reached.
    fn end(&mut self, ctx: &mut Ctx<'_>) {
        if self.made.stop {
            ctx.stop();
        }
        if let Some(call) = &self.end_call {
            ctx.write_later(call);
        }
    }
}

impl BuiltIn for InfiniteSource {
    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulled { None } else { Some(self) }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = self.packet(ctx)?;
        if self.made.is_over() {
            self.end(ctx);
        }
        Some(packet)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.made.may()
    }

    gives!(handlers);
}

impl Handlers for InfiniteSource {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset"], &["data", "length", "datasize", "limit", "burst", "burstsize", "active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.made.read(handler).unwrap_or_else(|| self.burst.to_string()))
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        if !self.made.write(handler, value)? {
            self.burst = text::integer(value).filter(|n| *n > 0).ok_or_else(|| HandlerError::invalid("expected a positive number"))? as u64;
        }
        Ok(())
    }
}

impl Task for InfiniteSource {
    fn kind(&self) -> TaskKind {
        TaskKind::Makes
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if ctx.is_full_behind() {
            self.turn = 0;
            return TaskResult::Idle;
        }
        if let Some(done) = self.many(ctx) {
            return done;
        }
        let Some(packet) = self.packet(ctx) else {
            self.turn = 0;
            return TaskResult::Idle;
        };
        ctx.emit(0, packet);
        self.turn = (self.turn + 1) % self.burst;
        match self.made.is_over() {
            true => {
                self.end(ctx);
                TaskResult::Done
            }
            false if self.turn == 0 => TaskResult::Done,
            false => TaskResult::Again,
        }
    }

    fn take_back(&mut self, packets: u64) {
        self.made.count -= packets;
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.made.may() && !ctx.is_full_behind()
    }
}
