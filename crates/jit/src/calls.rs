//! The functions that compiled code calls: raw pointers in, [`crate::host`] behind them. Nothing
//! unwinds out of them: a panic is kept, with what it has changed in its place again, until
//! compiled code has returned ([`netil::fault`]).

use crate::frame::Frame;
use crate::host::{Host, Job};
use compiler::mir::{Call, Helper};
use netil::budget::Budget;
use netil::exec::{State, TrapKind};
use netil::fault::{NOTHING_DONE, caught};
use netil::set::Set;
use netil::wide;

/// Bytes of the slot for a call's arguments.
pub(crate) const ARGUMENTS: usize = 1024;

/// What a panic said.
pub(crate) type Panic = Box<dyn std::any::Any + Send>;

/// See [`crate::frame::CallFn`].
///
/// # Safety
/// Called only by compiled code: `frame` is the frame it was given, `index` a call of its table,
/// `args` holds that call's arguments; those of a wide call are in a slot of [`ARGUMENTS`] bytes,
/// which the result goes to.
pub(crate) unsafe extern "C" fn call(frame: *mut Frame, index: u32, args: *mut u32) -> u64 {
    // SAFETY: the frame outlives the call of compiled code, which does not run while this function
    // does.
    let frame = unsafe { &mut *frame };
    // SAFETY: `Jit::enter` stored a host that nothing else uses before compiled code returns.
    let host = unsafe { &mut *frame.host.cast::<Host<'_, '_>>() };
    let (n, stays) = match host.host.calls[index as usize] {
        Call::Helper(helper, n) => (n, helper.leaves_packet()),
        Call::Random(_) => (0, true),
        Call::Wide(helper, widths, result) => {
            // SAFETY: the lowering made a slot of 1,024 bytes, aligned for 64-bit limbs, that
            // nothing else uses during the call.
            let slot = unsafe { std::slice::from_raw_parts_mut(args.cast::<u64>(), ARGUMENTS / 8) };
            return wide(frame, host, (helper, widths, result), slot);
        }
    };
    if host.failed.is_there() {
        return NOTHING_DONE;
    }
    // SAFETY: the lowering stored that call's n arguments there.
    let args = unsafe { std::slice::from_raw_parts(args, n) };
    let packet: &[u8] = match host.host.machine {
        Some(_) => &[],
        // SAFETY: a filter's packet and its length; the burst that holds it outlives the call of
        // compiled code.
        None => unsafe { std::slice::from_raw_parts(frame.packet, frame.packet_len as usize) },
    };
    let mut budget = Budget(frame.budget);
    let result = caught(|| host.host.call(index, args, packet, &mut budget));
    frame.budget = budget.0;
    if let (false, Some(m)) = (stays, &mut host.host.machine) {
        refresh(frame, m.buffer);
    }
    given(result, host)
}

/// What compiled code gets.
fn given(result: Result<Result<u32, TrapKind>, Panic>, host: &mut Host<'_, '_>) -> u64 {
    match result {
        Ok(Ok(v)) => v.into(),
        Ok(Err(trap)) => u64::from(trap.code()) << 32,
        Err(panic) => {
            host.failed.keep(panic);
            NOTHING_DONE
        }
    }
}

/// A call with operands of any width. A result that there is not is 0, which is no entry of a
/// table: where calls cannot trap, compiled code goes on with it.
fn wide(frame: &mut Frame, host: &mut Host<'_, '_>, (helper, widths, result): (Helper, [u16; 2], u16), slot: &mut [u64]) -> u64 {
    if host.failed.is_there() {
        slot.fill(0);
        return NOTHING_DONE;
    }
    let result = caught(|| host.host.wide(helper, widths, result, slot)).inspect_err(|_| slot.fill(0));
    // All else is done to tables and timers.
    if let (Helper::SetTime, Some(m)) = (helper, &mut host.host.machine) {
        refresh(frame, m.buffer);
    }
    given(result, host)
}

/// Puts where the buffer's memories are now into the frame.
pub(crate) fn refresh(frame: &mut Frame, buffer: &mut netil::exec::ExchangeBuffer<'_>) {
    frame.packet = if buffer.is_owned() { buffer.bytes_mut().as_mut_ptr() } else { buffer.bytes().as_ptr().cast_mut() };
    frame.packet_len = buffer.bytes().len() as u32;
    frame.wire_len = buffer.wire_len();
    frame.time_ns = buffer.time_ns;
    frame.info = buffer.info.as_mut_ptr();
    frame.present = buffer.is_present().into();
    frame.moved = buffer.moved();
}

/// See [`crate::frame::EntryFn`].
///
/// # Safety
/// Called only by compiled code: `frame` is the frame it was given, of a handler other than a
/// filter, `table` one of its program's.
pub(crate) unsafe extern "C" fn entry(frame: *mut Frame, table: u32, entry: u32) -> *mut u8 {
    // SAFETY: the frame outlives the call of compiled code, which does not run while this function
    // does.
    let frame = unsafe { &mut *frame };
    // SAFETY: as in `call`.
    let host = unsafe { &mut *frame.host.cast::<Host<'_, '_>>() };
    if host.failed.is_there() {
        return std::ptr::null_mut();
    }
    // Filters have no tables.
    let found = caught(|| host.host.machine.as_mut().map_or(std::ptr::null_mut(), |m| value_of(m.state, table, entry)));
    found.unwrap_or_else(|panic| {
        host.failed.keep(panic);
        std::ptr::null_mut()
    })
}

/// Where an entry's value lies, until the table is asked for something else; null if there is none.
pub(crate) fn value_of(state: &mut State, table: u32, entry: u32) -> *mut u8 {
    state.tables[table as usize].value_mut(entry).map_or(std::ptr::null_mut(), <[u8]>::as_mut_ptr)
}

/// See [`crate::frame::WideFn`].
///
/// # Safety
/// Called only by compiled code: `frame` is the frame it was given, `index` a job of its table,
/// `operands` holds the addresses of that job's operands and `result` has room for its result.
pub(crate) unsafe extern "C" fn wide_job(frame: *mut Frame, index: u32, operands: *const *const u64, result: *mut u64) -> u32 {
    // SAFETY: the frame outlives the call of compiled code, which does not run while this function
    // does.
    let frame = unsafe { &*frame };
    // SAFETY: `Jit::enter` stored a host that nothing else uses before compiled code returns.
    let host = unsafe { &mut *frame.host.cast::<Host<'_, '_>>() };
    let run = || {
        // SAFETY: compiled code stored the operands of that job, and has room for its result.
        unsafe { run_job(host.jobs[index as usize], &host.host.program.module().sets, operands, result) }
    };
    caught(run).unwrap_or_else(|panic| {
        host.failed.keep(panic);
        0
    })
}

/// Does a job on operands at these addresses.
///
/// # Safety
/// There is an address for each operand, of as many limbs as it is wide, and `result` has room for
/// the job's result.
pub(crate) unsafe fn run_job(job: Job, sets: &[Set], operands: *const *const u64, result: *mut u64) -> u32 {
    let widths = job.operands();
    // SAFETY: the caller stored one address per operand.
    let addresses = unsafe { std::slice::from_raw_parts(operands, widths.len()) };
    let limbs = |(at, width): (&*const u64, &u16)| {
        // SAFETY: each address is that of a stack slot with the operand's limbs.
        unsafe { std::slice::from_raw_parts(*at, wide::limbs(*width)) }
    };
    let values: Vec<&[u64]> = addresses.iter().zip(&widths).map(limbs).collect();
    match job.run(&values, sets) {
        Err(flag) => flag.into(),
        Ok(limbs) => {
            // SAFETY: the result's slot has as many limbs as its width takes, and the operands are
            // no longer used.
            unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), result, limbs.len()) };
            0
        }
    }
}
