//! Faults of netvm's own, or of a coprocessor of the embedding program: a panic while a packet is
//! at hand.
//!
//! ```text
//!  engine ──▶ compiled code ──▶ runtime: panics ─▶ kept (`Deferred`)
//!         ◀── goes on         ◀── a trap           with the packet (`note`)
//!  goes on unwinding
//! ```
//!
//! Compiled code has no tables for unwinding, and a panic that came to it would end the process at
//! once. So it is kept where the runtime was called and goes on where compiled code was called.
//! Invariant: between the two the runtime does nothing more, whatever compiled code asks for, and
//! nothing of the burst is handed over.
//!
//! Which packet it was is kept for the thread, until somebody tells of the fault ([`take`]): the
//! innermost notes it first.

use crate::exec::{ExchangeBuffer, TrapKind};
use crate::pool::Pool;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Bytes of the packet that are kept.
const KEPT: usize = 96;
/// What calls of compiled code give that nothing is done for: a trap, and no value.
pub const NOTHING_DONE: u64 = (TrapKind::NoPacket.code() as u64) << 32;

/// A panic that has not gone on yet.
#[derive(Default)]
pub struct Deferred(Option<Box<dyn Any + Send>>);

impl Deferred {
    /// Whether there is one: then nothing more is to be done.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps one.
    pub fn keep(&mut self, panic: Box<dyn Any + Send>) {
        self.0.get_or_insert(panic);
    }

    /// Lets it go on.
    #[inline]
    pub fn go_on(&mut self) {
        if let Some(panic) = self.0.take() {
            resume_unwind(panic);
        }
    }
}

/// Does some work; the panic, if it panics. What the work has changed is not to be used afterwards
/// but to tell of it.
///
/// # Errors
/// What the panic said.
#[inline]
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work))
}

/// What a panic said.
pub fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// The packet that was at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtHand {
    /// The program that ran, by the name of its module.
    pub program: String,
    /// Its slot of the pool, if it lay in one.
    pub slot: Option<u32>,
    /// Its annotations.
    pub info: Vec<u8>,
    /// Its first bytes, as they were by then; with the headers that were taken away, where they are
    /// still there.
    pub bytes: Vec<u8>,
    /// Its time.
    pub time_ns: u64,
    /// Its length, on the wire.
    pub wire_len: u32,
}

impl AtHand {
    /// A packet that a program has alone.
    pub fn of(program: &str, packet: &ExchangeBuffer<'_>) -> Self {
        let bytes = whole(packet.kept(), packet.front() as u32, packet.moved());
        Self {
            program: program.to_owned(),
            slot: None,
            info: packet.info.clone(),
            bytes: bytes[..bytes.len().min(KEPT)].to_vec(),
            time_ns: packet.time_ns,
            wire_len: bytes.len() as u32 + packet.missing,
        }
    }

    /// One in the pool. Where it was taken out for the work that failed, its bytes are not there
    /// any more.
    pub fn in_pool(program: &str, slot: u32, pool: &Pool) -> Self {
        let detail = pool.detail(slot);
        let bytes = caught(|| whole(pool.kept(slot), detail.front, detail.moved)).unwrap_or_default();
        Self {
            program: program.to_owned(),
            slot: Some(slot),
            info: Vec::new(),
            bytes: bytes[..bytes.len().min(KEPT)].to_vec(),
            time_ns: pool.slot(slot).time_ns,
            wire_len: bytes.len() as u32,
        }
    }
}

/// A packet from the first byte that it came with, if that is still there: of its memory so many
/// bytes were taken away, and by so many its head has moved.
fn whole(kept: &[u8], front: u32, moved: u32) -> &[u8] {
    if front == moved { kept } else { kept.get(front as usize..).unwrap_or_default() }
}

thread_local! {
    static AT_HAND: RefCell<Option<AtHand>> = const { RefCell::new(None) };
}

/// A packet was at hand when something failed on this thread; what was noted before stays.
pub fn note(at_hand: impl FnOnce() -> AtHand) {
    AT_HAND.with(|noted| {
        let mut noted = noted.borrow_mut();
        if noted.is_none() {
            *noted = Some(at_hand());
        }
    });
}

/// What was noted on this thread last.
pub fn take() -> Option<AtHand> {
    AT_HAND.with(|noted| noted.borrow_mut().take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_goes_on_where_it_may() {
        let mut deferred = Deferred::default();
        deferred.go_on();
        let panic = caught(|| resume_unwind(Box::new("first"))).unwrap_err();
        deferred.keep(panic);
        assert!(deferred.is_there());
        deferred.keep(Box::new("second"));
        let went_on = caught(|| deferred.go_on()).unwrap_err();
        assert_eq!(went_on.downcast_ref::<&str>(), Some(&"first"));
        assert!(!deferred.is_there());
    }

    #[test]
    fn the_first_packet_is_kept_until_it_is_asked_for() {
        let packet = |byte: u8| AtHand::of("p", &ExchangeBuffer::borrowed(&[byte; 200]));
        note(|| packet(1));
        note(|| packet(2));
        let noted = take().unwrap();
        assert_eq!((noted.bytes.len(), noted.bytes[0], noted.wire_len), (KEPT, 1, 200));
        assert_eq!(take(), None);
    }
}
