//! What fused code in C calls: work that is left to the runtime, and what it tells of packets and timers.
//!
//! Invariants: those of [`super`]; work on coprocessors is done with the packet in its slot, other work on a packet on an exchange buffer.

use super::{Running, check, end};
use crate::burst::Burst;
use compiler::host;
use compiler::mir::{Call, Helper};
use netil::budget::Budget;
use netil::exec::{ExchangeBuffer, TrapKind};
use netil::machine::{Machine, views};

/// Limbs of a call's operands: a `hash` of 255 words.
const OPERANDS: usize = 256;

/// Work that compiled code leaves to the runtime.
///
/// # Safety
/// Called only by compiled code that [`Fused::run`] has called, with the burst that it was given, a slot of it, a call of that unit's table, and
/// the call's operands.
pub(super) unsafe extern "C" fn call(burst: *mut Burst, slot: u64, unit: u32, index: u32, operands: *mut u64) -> u64 {
    // SAFETY: compiled code hands on the burst that it was given, and does not use it during the call.
    let burst = unsafe { &mut *burst };
    // SAFETY: `Fused::run` stored a `Running` that lives until compiled code returns, and compiled code does not use it.
    let running = unsafe { &mut *burst.running.cast::<Running<'_>>() };
    let call = running.calls[unit as usize][index as usize];
    // SAFETY: the text has an array of at least so many limbs for this call.
    let operands = unsafe { std::slice::from_raw_parts_mut(operands, limbs(call).min(OPERANDS)) };
    let result = running.serve(slot as u32, unit, call, operands, burst);
    burst.find(running.pool);
    match result {
        Ok(v) => v.into(),
        Err(trap) => u64::from(trap.code()) << 32,
    }
}

impl Running<'_> {
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
        let result = host::serve(machine, program, call, operands, &mut budget);
        self.set |= matches!(call, Call::Wide(Helper::SetTimer(_), ..));
        burst.left = budget.0;
        burst.copies += (self.copies.len() - sent) as u32;
        if of_packet {
            self.pool.lower(slot, packet);
        }
        result
    }

    /// Work on a coprocessor, with the packet in its slot; `None` of other work. Nothing that compiled code has pointers to is changed.
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
    running.refill(burst).into()
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
    let copy = running.duplicate(burst, slot as u32);
    burst.find(running.pool);
    copy.into()
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
    running.hand_over(burst);
    let slot = slot as u32;
    check(running.pool, &[slot]);
    let end = end(&running.pool.detail(slot));
    running.stayed[end.member as usize] += 1;
    let copies = std::mem::take(&mut running.copies);
    running.host.leave(end, slot, copies, running.pool);
    running.limit(burst);
    burst.find(running.pool);
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
    if ends == 0 {
        return running.host.begin(unit);
    }
    running.host.end(unit);
    if unit as usize == running.programs.len() {
        running.told -= 1;
        burst.tell = burst.tell.filter(|_| running.told > 0);
    }
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
    if std::mem::take(&mut running.set) {
        if running.host.set_timers(unit, slot as u32, time_ns) {
            running.hand_over(burst);
            running.host.settle(running.pool);
            burst.find(running.pool);
        }
        running.limit(burst);
    }
}
