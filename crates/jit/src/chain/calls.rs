//! What fused code calls: work on the packet at hand, on tables and coprocessors; and what it
//! tells, of packets that come to members and timers that these set. A panic is kept until the code
//! has returned ([`netil::fault`]).

use super::Running;
use crate::calls::{ARGUMENTS, run_job, value_of};
use crate::frame::Frame;
use compiler::host::{Host, coprocessors, read_only};
use compiler::mir::{Call, Helper};
use netil::budget::Budget;
use netil::exec::{ExchangeBuffer, State, TrapKind, random};
use netil::fault::{AtHand, NOTHING_DONE, caught, note};
use netil::machine::{Machine, views};
use netil::module::HandlerKind;
use netil::wide;

/// See [`crate::frame::EventFn`]: a packet comes to a member.
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given,
/// `member` one of the chain's.
pub(super) unsafe extern "C" fn arrive(frame: *mut Frame, member: u32) {
    // SAFETY: the frame outlives the call of compiled code, which does not run while this function
    // does.
    let frame = unsafe { &mut *frame };
    // SAFETY: `Running::step` stored itself, and does nothing before compiled code returns.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    running.guarded(frame, (), |running, frame| running.arrive(frame, member));
}

/// See [`crate::frame::EventFn`]: a member has set timers.
///
/// # Safety
/// As [`arrive`].
pub(super) unsafe extern "C" fn settle(frame: *mut Frame, member: u32) {
    // SAFETY: as in `arrive`.
    let frame = unsafe { &mut *frame };
    // SAFETY: as in `arrive`.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    running.guarded(frame, (), |running, frame| running.set_timers(frame, member));
}

/// See [`crate::frame::CallFn`].
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given,
/// `index` a call of its table, `args` holds that call's arguments; those of a wide call are in a
/// slot of [`ARGUMENTS`] bytes, which the result goes to.
pub(super) unsafe extern "C" fn call(frame: *mut Frame, index: u32, args: *mut u32) -> u64 {
    // SAFETY: the frame outlives the call of compiled code, which does not run while this function
    // does.
    let frame = unsafe { &mut *frame };
    // SAFETY: `Running::step` stored itself, and does nothing before compiled code returns.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    running.keeps = false;
    // SAFETY: as this function's.
    let given = running.guarded(frame, NOTHING_DONE, |running, frame| match unsafe { running.called(frame, index, args) } {
        Ok(v) => v.into(),
        Err(trap) => u64::from(trap.code()) << 32,
    });
    if running.failed.is_there() && matches!(running.unit().calls[index as usize], Call::Wide(..)) {
        // Where calls cannot trap, compiled code goes on with the result: no entry of a table.
        // SAFETY: as in `called`.
        unsafe { args.cast::<u64>().write_bytes(0, ARGUMENTS / 8) };
    }
    given
}

/// See [`crate::frame::WideFn`].
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given,
/// `index` a job of its table, `operands` holds the addresses of that job's operands and `result`
/// has room for its result.
pub(super) unsafe extern "C" fn wide_job(frame: *mut Frame, index: u32, operands: *const *const u64, result: *mut u64) -> u32 {
    // SAFETY: as in `call`.
    let frame = unsafe { &mut *frame };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    running.guarded(frame, 0, |running, frame| {
        let member = &running.members[frame.member as usize];
        // SAFETY: compiled code stored the operands of that job, and has room for its result.
        unsafe { run_job(running.unit().jobs[index as usize], &member.program.module().sets, operands, result) }
    })
}

/// See [`crate::frame::EntryFn`].
///
/// # Safety
/// Called only by compiled code that [`super::Chain`] runs: `frame` is the frame it was given,
/// `table` one of the program's of the member at hand.
pub(super) unsafe extern "C" fn entry(frame: *mut Frame, table: u32, entry: u32) -> *mut u8 {
    // SAFETY: as in `call`.
    let frame = unsafe { &mut *frame };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *frame.host.cast::<Running<'_>>() };
    running.guarded(frame, std::ptr::null_mut(), |running, frame| value_of(running.state(frame.member), table, entry))
}

/// A call whose operands are of any width: what it does, the operands' widths, the result's.
type Wide = (Helper, [u16; 2], u16);

impl Running<'_> {
    /// Does work that compiled code asks for, unless something has failed. If it fails, the panic
    /// is kept, and the packet that was at hand.
    fn guarded<T>(&mut self, frame: &mut Frame, nothing: T, work: impl FnOnce(&mut Self, &mut Frame) -> T) -> T {
        if self.failed.is_there() {
            return nothing;
        }
        caught(|| work(self, frame)).unwrap_or_else(|panic| {
            note(|| AtHand::in_pool(self.name(frame.member), frame.slot, self.pool));
            self.failed.keep(panic);
            nothing
        })
    }

    /// # Safety
    /// As [`call`].
    unsafe fn called(&mut self, frame: &mut Frame, index: u32, args: *mut u32) -> Result<u32, TrapKind> {
        match self.unit().calls[index as usize] {
            Call::Wide(helper, widths, result) => {
                // SAFETY: the lowering made a slot of so many bytes, aligned for 64-bit limbs, that
                // nothing else uses during the call.
                let slot = unsafe { std::slice::from_raw_parts_mut(args.cast::<u64>(), ARGUMENTS / 8) };
                self.wide(frame, (helper, widths, result), slot)
            }
            Call::Helper(helper, n) => {
                // SAFETY: the lowering stored that call's n arguments there.
                let args = unsafe { std::slice::from_raw_parts(args, n) };
                self.helper(frame, helper, args, index)
            }
            Call::Random(site) => {
                let number = self.pool.number_of(frame.slot);
                Ok(random(self.state(frame.member).seed, number, HandlerKind::Push, site))
            }
        }
    }

    /// What the program of a member is called.
    fn name(&self, member: u32) -> &str {
        self.members.get(member as usize).map_or("", |member| &member.program.module().name)
    }

    /// The state of a member that has the packet.
    fn state(&mut self, member: u32) -> &mut State {
        // SAFETY: the host has the state until the burst's end; it was found when the packet came
        // to the member. Compiled code, which has pointers into it, does not run during a call, nor
        // does the host.
        unsafe { &mut *self.rows.states[member as usize] }
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
            Helper::Unpull => Self::unpull(frame, args[0])?,
            Helper::PushHead => return Ok(Self::push(frame, args[0], budget)?.then_some(0)),
            Helper::GrowTail => return Ok(Self::grow(frame, args[0], budget)?.then_some(0)),
            Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproShow(_) | Helper::CoproInvoke(..) => {
                return self.coprocessor(frame, helper, args, budget).transpose();
            }
            Helper::SendCopy(port) => return self.send_copy(frame, port, budget),
            _ => return read_only(helper, args, packet(frame), budget).transpose(),
        }
        Ok(Some(0))
    }

    /// Work on a coprocessor of the member at hand.
    fn coprocessor(&mut self, frame: &mut Frame, helper: Helper, args: &[u32], budget: &mut Budget) -> Option<Result<u32, TrapKind>> {
        let size = self.members[frame.member as usize].program.module().info_size as usize;
        let (kept, mut shown) = (self.pool.info_size(), frame.shown);
        let (state, operand) = (self.state(frame.member), args.first().copied().unwrap_or_default());
        let seen = || views(packet(frame), annotations(frame, kept), size);
        let result = coprocessors(state, (helper, operand), &mut shown, seen, budget);
        frame.shown = shown;
        result
    }

    /// Lets [`Host`] do it, as when a handler runs alone.
    fn by_buffer(&mut self, frame: &mut Frame, args: &[u32], index: u32) -> Result<u32, TrapKind> {
        let mut budget = Budget(frame.budget);
        // The packet is put back whatever happens: compiled code knows where it lies.
        let result = self.lifted(frame, |this, frame, buffer| {
            let result = caught(|| this.with_host(frame, buffer, |host| host.call(index, args, &[], &mut budget)));
            if result.is_err() {
                note(|| AtHand { slot: Some(frame.slot), ..AtHand::of(this.name(frame.member), buffer) });
            }
            result
        });
        frame.budget = budget.0;
        result.unwrap_or_else(|panic| {
            self.failed.keep(panic);
            Err(TrapKind::NoPacket)
        })
    }

    fn with_host<T>(&mut self, frame: &mut Frame, buffer: &mut ExchangeBuffer<'static>, work: impl FnOnce(&mut Host<'_, '_>) -> T) -> T {
        let (program, unit) = (&self.members[frame.member as usize].program, self.unit());
        let state = self.host.state(frame.member);
        let (before, shown) = (self.copies.len(), frame.shown);
        let clones = &mut self.copies;
        let machine = Machine { buffer, state, clones, index: 0, shown, copies: frame.sent, source: None };
        let mut host = Host { program, calls: &unit.calls, kind: HandlerKind::Push, machine: Some(machine) };
        let result = work(&mut host);
        frame.sent += (self.copies.len() - before) as u32;
        result
    }

    fn wide(&mut self, frame: &mut Frame, (helper, widths, result): Wide, slot: &mut [u64]) -> Result<u32, TrapKind> {
        let (time_ns, state) = (frame.time_ns, self.state(frame.member));
        let first = wide::limbs(widths[0]);
        match helper {
            Helper::SetTimer(n) => {
                state.timers[n as usize] = slot[0];
                frame.set = 1;
            }
            Helper::Find(table) => slot[0] = state.tables[table as usize].find(&slot[..first], time_ns, true).into(),
            Helper::Peek(table) => slot[0] = state.tables[table as usize].find(&slot[..first], time_ns, false).into(),
            Helper::Insert(table) => slot[0] = state.tables[table as usize].insert(&slot[..first], time_ns).into(),
            Helper::DeleteEntry(table) => slot[0] = state.tables[table as usize].delete(&slot[..first], time_ns).into(),
            Helper::WalkedKey(table) => state.walked_key(table, &mut slot[..wide::limbs(result)]),
            Helper::Deadline(table) => slot[0] = state.tables[table as usize].deadline(time_ns),
            Helper::SetTime | Helper::EntryLoad(..) | Helper::EntryStore(..) => unreachable!("{helper} is done in place"),
            Helper::Scan(_) | Helper::FieldCmp(_) | Helper::Checksum | Helper::ChecksumValid | Helper::CrcPacket(_) | Helper::Crc(_) => {
                unreachable!("{helper} has operands of 32 bits")
            }
            Helper::ChecksumAdd | Helper::ChecksumSub | Helper::Hash | Helper::Inside | Helper::Copy(..) | Helper::InfoClear => {
                unreachable!("{helper} has operands of 32 bits")
            }
            Helper::SendCopy(_) | Helper::Receive(_) | Helper::Create | Helper::Delete | Helper::PushHead | Helper::PullHead => {
                unreachable!("{helper} has operands of 32 bits")
            }
            Helper::TrimTail | Helper::GrowTail | Helper::Unpull | Helper::Moved | Helper::IsPresent | Helper::Hold | Helper::Take => {
                unreachable!("{helper} has operands of 32 bits")
            }
            Helper::SetWire | Helper::Walk(_) | Helper::Due(_) | Helper::NextKey(_) | Helper::CoproIn(..) | Helper::CoproOut(..) => {
                unreachable!("{helper} has operands of 32 bits")
            }
            Helper::CoproInvoke(..) | Helper::CoproShow(_) => unreachable!("{helper} has operands of 32 bits"),
        }
        Ok(0)
    }
}

/// The bytes of the packet at hand, none if there is no packet.
fn packet(frame: &Frame) -> &[u8] {
    if frame.present == 0 {
        return &[];
    }
    // SAFETY: `Running::load`, and what moves the packet's ends, keep these the address and length
    // of bytes in the packet's memory, which nothing writes to during a call that reads it.
    unsafe { std::slice::from_raw_parts(frame.packet, frame.packet_len as usize) }
}

/// So many bytes of its annotations; slots have that many.
fn annotations(frame: &Frame, size: usize) -> &[u8] {
    // SAFETY: `Running::load` keeps this the address of the slot's info memory, as long as the pool
    // says, which nothing writes to during a call that reads it.
    unsafe { std::slice::from_raw_parts(frame.info, size) }
}
