//! What fused code in C calls: work that is left to the runtime, and what it tells of packets and
//! timers.
//!
//! Invariants: those of [`super`]; work on coprocessors is done with the packet in its slot, other
//! work on a packet on an exchange buffer. A panic is kept until compiled code has returned, with
//! packets and lists in their places again ([`netil::fault`]).

use super::{Running, check, end};
use crate::burst::Burst;
use compiler::host;
use compiler::mir::{Call, Helper};
use netil::budget::Budget;
use netil::exec::{ExchangeBuffer, TrapKind};
use netil::fault::{AtHand, NOTHING_DONE, caught, note};
use netil::machine::{Machine, views};

/// Limbs of a call's operands: a `hash` of 255 words.
const OPERANDS: usize = 256;

/// Work that compiled code leaves to the runtime.
///
/// # Safety
/// Called only by compiled code that [`super::Fused`] has called, with the burst that it was given,
/// a slot of it, a call of that unit's table, and the call's operands.
pub(super) unsafe extern "C" fn call(burst: *mut Burst, slot: u64, unit: u32, index: u32, operands: *mut u64) -> u64 {
    // SAFETY: compiled code hands on the burst that it was given, and does not use it during the
    // call.
    let burst = unsafe { &mut *burst };
    // SAFETY: `Fused::run` stored a `Running` that lives until compiled code returns, and compiled
    // code does not use it.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    let call = running.calls[unit as usize][index as usize];
    // SAFETY: the text has an array of at least so many limbs for this call.
    let operands = unsafe { std::slice::from_raw_parts_mut(operands, limbs(call).min(OPERANDS)) };
    let at_hand = Some((unit, slot as u32));
    let given =
        running.guarded(burst, at_hand, NOTHING_DONE, |running, burst| match running.serve(slot as u32, unit, call, operands, burst) {
            Ok(v) => v.into(),
            Err(trap) => u64::from(trap.code()) << 32,
        });
    if running.failed.is_there() {
        // Where calls cannot trap, compiled code goes on with the result: no entry of a table.
        operands.fill(0);
    }
    given
}

impl Running<'_> {
    /// Does work that compiled code asks for, unless something has failed, and finds the pool's
    /// memory again. If it fails, the panic is kept, and the packet of a unit that was at hand.
    fn guarded<T>(
        &mut self,
        burst: &mut Burst,
        at_hand: Option<(u32, u32)>,
        nothing: T,
        work: impl FnOnce(&mut Self, &mut Burst) -> T,
    ) -> T {
        if self.failed.is_there() {
            return nothing;
        }
        let done = caught(|| work(self, burst));
        burst.find(self.pool);
        done.unwrap_or_else(|panic| {
            if let Some((unit, slot)) = at_hand {
                note(|| AtHand::in_pool(self.name(unit), slot, self.pool));
            }
            self.failed.keep(panic);
            nothing
        })
    }

    /// What a program is called.
    fn name(&self, unit: u32) -> &str {
        self.programs.get(unit as usize).map_or("", |program| &program.module().name)
    }

    fn serve(&mut self, slot: u32, unit: u32, call: Call, operands: &mut [u64], burst: &mut Burst) -> Result<u32, TrapKind> {
        if let Call::Helper(helper, _) = call
            && let Some(result) = self.coprocessor(slot, unit, helper, operands, burst)
        {
            return result;
        }
        self.called = true;
        let of_packet = matches!(call, Call::Helper(helper, _) | Call::Wide(helper, ..) if helper.needs_packet());
        let mut packet = if of_packet { self.packet(slot) } else { ExchangeBuffer::none() };
        packet.time_ns = self.pool.slot(slot).time_ns;
        let (program, sent) = (&self.programs[unit as usize], self.copies.len());
        let mut budget = Budget(burst.left);
        let (shown, copies) = (burst.shown, burst.copies);
        let state = self.host.state(unit);
        let machine = Machine { buffer: &mut packet, state, clones: &mut self.copies, index: 0, shown, copies, source: None };
        let result = caught(|| host::serve(machine, program, call, operands, &mut budget));
        self.set |= matches!(call, Call::Wide(Helper::SetTimer(_), ..));
        burst.left = budget.0;
        burst.copies += (self.copies.len() - sent) as u32;
        if result.is_err() {
            note(|| AtHand { slot: Some(slot), ..AtHand::of(self.name(unit), &packet) });
        }
        // The packet is put back whatever happens: compiled code knows where it lies.
        if of_packet {
            self.pool.lower(slot, packet);
        }
        result.unwrap_or_else(|panic| {
            self.failed.keep(panic);
            Err(TrapKind::NoPacket)
        })
    }

    /// Work on a coprocessor, with the packet in its slot; `None` of other work. Nothing that
    /// compiled code has pointers to is changed.
    fn coprocessor(&mut self, slot: u32, unit: u32, helper: Helper, operands: &[u64], burst: &mut Burst) -> Option<Result<u32, TrapKind>> {
        let (pool, size) = (&*self.pool, self.programs[unit as usize].module().info_size as usize);
        let operand = operands.first().copied().unwrap_or_default() as u32;
        let mut budget = Budget(burst.left);
        let seen = || {
            check(pool, &[slot]);
            views(pool.bytes(slot), pool.info(slot), size)
        };
        let result = host::coprocessors(self.host.state(unit), (helper, operand), &mut burst.shown, seen, &mut budget);
        burst.left = budget.0;
        result
    }

    pub(super) fn packet(&mut self, slot: u32) -> ExchangeBuffer<'static> {
        check(self.pool, &[slot]);
        self.pool.lift(slot)
    }

    fn leave(&mut self, burst: &mut Burst, slot: u32) {
        self.hand_over(burst);
        check(self.pool, &[slot]);
        let end = end(&self.pool.detail(slot));
        self.stayed[end.member as usize] += 1;
        let copies = std::mem::take(&mut self.copies);
        self.host.leave(end, slot, copies, self.pool);
        self.limit(burst);
    }

    fn tell(&mut self, burst: &mut Burst, unit: u32, ends: u32) {
        if ends == 0 {
            return self.host.begin(unit);
        }
        self.host.end(unit);
        if unit as usize == self.programs.len() {
            self.told -= 1;
            burst.tell = burst.tell.filter(|_| self.told > 0);
        }
    }

    fn look(&mut self, burst: &mut Burst, slot: u32, unit: u32, time_ns: u64) {
        if std::mem::take(&mut self.set) {
            if self.host.set_timers(unit, slot, time_ns) {
                self.hand_over(burst);
                self.host.settle(self.pool);
            }
            self.limit(burst);
        }
    }
}

/// Limbs of a call's operands and result.
fn limbs(call: Call) -> usize {
    match call {
        Call::Helper(_, n) => n,
        Call::Random(_) => 0,
        Call::Wide(_, widths, result) => {
            let operands: usize = widths.iter().map(|w| netil::wide::limbs(*w)).sum();
            operands.max(netil::wide::limbs(result)).max(1)
        }
    }
}

/// Finds free slots for copies.
///
/// # Safety
/// As [`call`].
pub(super) unsafe extern "C" fn refill(burst: *mut Burst) -> u32 {
    // SAFETY: as in `call`.
    let burst = unsafe { &mut *burst };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    running.guarded(burst, None, false, |running, burst| running.refill(burst)).into()
}

/// Copies a packet that has no room in a slot.
///
/// # Safety
/// As [`call`], with a slot for copies left.
pub(super) unsafe extern "C" fn duplicate(burst: *mut Burst, slot: u64) -> u64 {
    // SAFETY: as in `call`.
    let burst = unsafe { &mut *burst };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    let slot = slot as u32;
    running.guarded(burst, None, slot, |running, burst| running.duplicate(burst, slot)).into()
}

/// A packet leaves before the next one is run.
///
/// # Safety
/// As [`call`].
pub(super) unsafe extern "C" fn leave(burst: *mut Burst, slot: u64) {
    // SAFETY: as in `call`.
    let burst = unsafe { &mut *burst };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    running.guarded(burst, None, (), |running, burst| running.leave(burst, slot as u32));
}

/// A member begins to run, or has run.
///
/// # Safety
/// As [`call`].
pub(super) unsafe extern "C" fn tell(burst: *mut Burst, unit: u32, ends: u32) {
    // SAFETY: as in `call`.
    let burst = unsafe { &mut *burst };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    running.guarded(burst, None, (), |running, burst| running.tell(burst, unit, ends));
}

/// A member has returned that may have set timers; the packet came to it with that time.
///
/// # Safety
/// As [`call`].
pub(super) unsafe extern "C" fn look(burst: *mut Burst, slot: u64, unit: u32, time_ns: u64) {
    // SAFETY: as in `call`.
    let burst = unsafe { &mut *burst };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    running.guarded(burst, Some((unit, slot as u32)), (), |running, burst| running.look(burst, slot as u32, unit, time_ns));
}
