//! What an element may be besides something that packets come to: each role is a trait, and an
//! element gives those that it has ([`super::BuiltIn`]).

use super::super::HandlerError;
use super::packet_port::PacketPort;
use super::{Ctx, ElementHandler, Ready};
use netil::pool::Even;
use std::sync::Arc;

/// Packets arrive here from outside, in the order of their times.
pub trait Source {
    /// When the next packet arrives.
    fn next_arrival(&mut self, ctx: &mut Ctx<'_>) -> Option<u64>;

    /// It arrives.
    fn arrive(&mut self, ctx: &mut Ctx<'_>);

    /// Packets for output 0 that arrive before a moment, at most so many, put into the pool; when
    /// the last one did. `None` if there are none, or packets are more than what comes with them:
    /// then they come one at a time.
    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64>;

    /// Whether what [`Self::arrive_many`] put into the pool can be taken back as if nobody had
    /// asked.
    fn takes_back(&self) -> bool;

    /// The last of those that arrived have not arrived; only if it [can](Self::takes_back).
    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>);

    /// Whether behind what [`Self::arrive_many`] gave last, though it was not as many as asked for,
    /// something may come before the time that was asked for: packets, or the end of the source, if
    /// that ends the run.
    fn goes_on(&self) -> bool {
        false
    }

    /// Packets that come next, one or more, if they are all alike. Nobody has to be told that the
    /// last of them is the last.
    fn even(&self) -> Option<Even<'_>> {
        None
    }

    /// So many of them have arrived.
    fn even_arrived(&mut self, packets: usize) {
        let _ = packets;
    }

    /// True if it has several outputs, and says of what it puts into the pool by which entry that
    /// comes in (`Ctx::entry_of`).
    fn names_entries(&self) -> bool {
        false
    }

    /// Bytes read of its capture, and how many there are.
    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

/// It has turns: something to do when nothing arrives.
pub trait Task {
    /// What it does in its turns. That stays as it is.
    fn kind(&self) -> TaskKind {
        TaskKind::Other
    }

    /// Its turn.
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult;

    /// So many of the packets that it has just made have not been made: only where it said that it
    /// takes them back when it made them.
    fn take_back(&mut self, packets: u64) {
        let _ = packets;
    }

    /// Whether it waits to run, for the handler `scheduled`.
    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool;
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Makes packets, several at once where it may.
    Makes,
    /// Only pulls at input 0, so that there is nothing for it to do while what is there [is
    /// empty](Queue::is_empty).
    Pulls,
    /// Takes packets out of what is at input 0, one a turn at least while there are any and it may,
    /// and does nothing else but handle these.
    Empties,
    /// Anything else.
    Other,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskResult {
    /// There was no work.
    Idle,
    /// Some was done.
    Done,
    /// Some was done, and the turn goes on with more.
    Again,
}

/// It holds packets until they are pulled.
pub trait Queue {
    /// True if it holds none, so that a pull gives nothing and does nothing.
    fn is_empty(&self) -> bool;

    /// Whether it is full, if sources are told that.
    fn is_full(&self) -> Option<bool>;

    /// The tasks behind packets that were made at once have run: it may have got longer all the
    /// same.
    fn kept_up(&mut self);

    /// Takes packets in the pool that are next, so many at most, as far as they are there.
    fn pull_slots(&mut self, slots: &mut Vec<u32>, most: usize);

    /// Takes the slots of all packets in the pool: the queue is no more.
    fn drop_slots(&mut self, slots: &mut Vec<u32>);
}

/// Packets may go past it as if it were not there ([`netil::cut_through`], `graph::straight`).
pub trait CutThrough {
    /// By which way, if they may now.
    fn passage(&self) -> Option<Passage<'_>>;

    /// So many have gone past it.
    fn passed(&mut self, packets: u64);

    /// Packets are to go past it: what its [program](netil::cut_through::Role::program) keeps is
    /// written into that program's data memory; false if it does not fit there. They come at their
    /// own times, or all now.
    fn enter(&self, data: &mut [u8], now_ns: u64, timed: bool) -> bool {
        let _ = (data, now_ns, timed);
        false
    }

    /// Whether what was there when packets began to go past it has become what is there now by
    /// these packets alone.
    fn goes_on(&self, begun: &[u8], now: &[u8]) -> bool {
        let _ = (begun, now);
        true
    }

    /// They have gone past it, and left this there.
    fn leave(&mut self, data: &[u8]) {
        let _ = data;
    }
}

/// The way by which packets go past an element.
pub enum Passage<'p> {
    /// A packet that comes goes on at once, where those behind let it go on, too.
    On,
    /// It is a device of the program around the graph that takes so many bytes of each packet:
    /// calls bring packets.
    From(&'p Arc<PacketPort>, usize),
    /// It is a device of the program around the graph: calls take packets.
    To(&'p Arc<PacketPort>),
}

/// It decides when the run ends.
pub trait Driver {
    /// Somebody asked for the end.
    fn stopped(&mut self, ctx: &mut Ctx<'_>);
}

/// It has handlers of its own; those that it names are asked for.
pub trait Handlers {
    /// Their names, and what may be done with each.
    fn element_handlers(&self) -> Vec<ElementHandler>;

    /// True if it answers handlers of any name.
    fn answers_all(&self) -> bool {
        false
    }

    /// Reads one of them.
    ///
    /// # Errors
    /// It refuses.
    fn read(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError>;

    /// Writes one of them.
    ///
    /// # Errors
    /// It refuses.
    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError>;
}
