//! What chained code calls: work on the packet at hand, on tables and coprocessors.

use super::{Member, Running};
use crate::calls::{ARGUMENTS, run_job, value_of};
use crate::frame::Frame;
use crate::host::{Host, read_only};
use compiler::mir::{Call, Helper};
use netil::budget::Budget;
use netil::exec::{ExchangeBuffer, State, TrapKind, random};
use netil::machine::Machine;
use netil::module::HandlerKind;
use netil::wide;

/// See [`crate::frame::CallFn`].
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given, `index` a call of its table, `args` holds that call's
/// arguments; those of a wide call are in a slot of [`ARGUMENTS`] bytes, which the result goes to.
pub(super) unsafe extern "C" fn call(frame: *mut Frame, index: u32, args: *mut u32) -> u64 {
    // SAFETY: the frame outlives the call of compiled code, which does not run while this function does.
    let frame = unsafe { &mut *frame };
    // SAFETY: `Running::step` stored itself, and does nothing before compiled code returns.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    let result = match running.members[running.member].unit.calls[index as usize] {
        Call::Wide(helper, widths, result) => {
            // SAFETY: the lowering made a slot of so many bytes, aligned for 64-bit limbs, that nothing else uses during the call.
            let slot = unsafe { std::slice::from_raw_parts_mut(args.cast::<u64>(), ARGUMENTS / 8) };
            running.wide(frame, (helper, widths, result), slot)
        }
        Call::Helper(helper, n) => {
            // SAFETY: the lowering stored that call's n arguments there.
            let args = unsafe { std::slice::from_raw_parts(args, n) };
            running.helper(frame, helper, args, index)
        }
        Call::Random(site) => {
            let state = running.state();
            Ok(random(state.seed, state.packet_number, HandlerKind::Push, site))
        }
    };
    match result {
        Ok(v) => v.into(),
        Err(trap) => u64::from(trap.code()) << 32,
    }
}

/// See [`crate::frame::WideFn`].
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given, `index` a job of its table, `operands` holds the addresses of
/// that job's operands and `result` has room for its result.
pub(super) unsafe extern "C" fn wide_job(frame: *mut Frame, index: u32, operands: *const *const u64, result: *mut u64) -> u32 {
    // SAFETY: as in `call`.
    let frame = unsafe { &*frame };
    // SAFETY: as in `call`.
    let running = unsafe { &*frame.host.cast::<Running<'_>>() };
    let member = &running.members[running.member];
    // SAFETY: compiled code stored the operands of that job, and has room for its result.
    unsafe { run_job(member.unit.jobs[index as usize], &member.program.module().sets, operands, result) }
}

/// See [`crate::frame::EntryFn`].
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given, `table` one of the program's of the member at hand.
pub(super) unsafe extern "C" fn entry(frame: *mut Frame, table: u32, entry: u32) -> *mut u8 {
    // SAFETY: as in `call`.
    let frame = unsafe { &*frame };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    value_of(running.state(), table, entry)
}

/// A call whose operands are of any width: what it does, the operands' widths, the result's.
type Wide = (Helper, [u16; 2], u16);

impl Running<'_> {
    /// The state of the member at hand.
    fn state(&mut self) -> &mut State {
        // SAFETY: the host has the state until the burst's end. Compiled code, which has pointers into it, does not run during a call, nor does the host.
        unsafe { &mut *self.memories[self.member].state }
    }

    fn helper(&mut self, frame: &mut Frame, helper: Helper, args: &[u32], index: u32) -> Result<u32, TrapKind> {
        let mut budget = Budget(frame.budget);
        let result = self.in_place(frame, helper, args, &mut budget);
        frame.budget = budget.0;
        match result {
            Ok(Some(value)) => Ok(value),
            Ok(None) => self.by_buffer(frame, args, index),
            Err(trap) => Err(trap),
        }
    }

    /// `None` if that needs an exchange buffer; nothing is done then.
    fn in_place(&mut self, frame: &mut Frame, helper: Helper, args: &[u32], budget: &mut Budget) -> Result<Option<u32>, TrapKind> {
        match helper {
            Helper::PullHead => self.pull(frame, args[0])?,
            Helper::Unpull => self.unpull(frame, args[0])?,
            Helper::PushHead => return Ok(self.push(frame, args[0], budget)?.then_some(0)),
            Helper::TrimTail => self.trim(frame, args[0])?,
            Helper::GrowTail => return Ok(self.grow(frame, args[0], budget)?.then_some(0)),
            Helper::SetWire => self.set_wire(frame, args[0]),
            Helper::CoproIn(unit, register) => return Ok(Some(self.state().coprocessors[unit as usize].registers[register as usize])),
            Helper::CoproOut(unit, register) => self.state().coprocessors[unit as usize].registers[register as usize] = args[0],
            Helper::CoproShow(unit) => self.shown |= 1 << unit,
            helper if helper.leaves_packet() => {
                let bytes = if frame.present == 0 { &[][..] } else { packet(frame) };
                return read_only(helper, args, bytes, budget).map(Some);
            }
            _ => return Ok(None),
        }
        Ok(Some(0))
    }

    /// Lets [`Host`] do it, as when a handler runs alone.
    fn by_buffer(&mut self, frame: &mut Frame, args: &[u32], index: u32) -> Result<u32, TrapKind> {
        let mut budget = Budget(frame.budget);
        let result = self.lifted(frame, |this, buffer| this.with_host(buffer, |host| host.call(index, args, &[], &mut budget)));
        frame.budget = budget.0;
        result
    }

    fn with_host<T>(&mut self, buffer: &mut ExchangeBuffer<'static>, work: impl FnOnce(&mut Host<'_, '_>) -> T) -> T {
        let Member { program, unit, .. } = &self.members[self.member];
        let state = self.host.state(self.member as u32);
        let (before, shown) = (self.copies.len(), self.shown);
        let clones = &mut self.copies;
        let machine = Machine { buffer, state, clones, index: 0, shown, copies: self.sent, source: None };
        let mut host = Host { program, calls: &unit.calls, jobs: &unit.jobs, kind: HandlerKind::Push, machine: Some(machine) };
        let result = work(&mut host);
        self.sent += (self.copies.len() - before) as u32;
        result
    }

    fn wide(&mut self, frame: &mut Frame, (helper, widths, result): Wide, slot: &mut [u64]) -> Result<u32, TrapKind> {
        let time_ns = frame.time_ns;
        let first = wide::limbs(widths[0]);
        match helper {
            Helper::SetTime => {
                return self.lifted(frame, |this, buffer| this.with_host(buffer, |host| host.wide(helper, widths, result, slot)));
            }
            Helper::SetTimer(n) => {
                self.state().timers[n as usize] = slot[0];
                self.set = true;
            }
            Helper::Find(table) => slot[0] = self.state().tables[table as usize].find(&slot[..first], time_ns, true).into(),
            Helper::Peek(table) => slot[0] = self.state().tables[table as usize].find(&slot[..first], time_ns, false).into(),
            Helper::Insert(table) => slot[0] = self.state().tables[table as usize].insert(&slot[..first], time_ns).into(),
            Helper::DeleteEntry(table) => slot[0] = self.state().tables[table as usize].delete(&slot[..first], time_ns).into(),
            other => unreachable!("{other} has operands of 32 bits"),
        }
        Ok(0)
    }
}

/// The packet at hand; there is one.
fn packet(frame: &Frame) -> &[u8] {
    // SAFETY: `Running::load`, and what moves the packet's ends, keep these the address and length of bytes in the packet's memory, which nothing writes to
    // during a call that reads it.
    unsafe { std::slice::from_raw_parts(frame.packet, frame.packet_len as usize) }
}
