//! The runtime's side of calls from compiled code of all kinds: the interpreter's [`Machine`] and
//! digests.

use crate::mir::{Call, Helper};
use netil::budget::Budget;
use netil::copro::Views;
use netil::exec::{State, TrapKind, random};
use netil::machine::{self, Machine};
use netil::module::HandlerKind;
use netil::{Verified, digest, wide};

/// Does the work of a call with operands of any width. Operands are in `slot`, a limb each or as
/// many as they are wide; a wide result goes there, too.
///
/// # Errors
/// The trap that the instruction makes.
pub fn serve(machine: Machine<'_, '_>, program: &Verified, call: Call, slot: &mut [u64], budget: &mut Budget) -> Result<u32, TrapKind> {
    let calls = [call];
    let Machine { buffer, state, clones, index, shown, copies, .. } = machine;
    // Nobody asks while packets are pushed.
    let machine = Machine { buffer, state, clones, index, shown, copies, source: None };
    let mut host = Host { program, calls: &calls, kind: HandlerKind::Push, machine: Some(machine) };
    match call {
        Call::Wide(helper, widths, result) => host.wide(helper, widths, result, slot),
        _ => {
            let words: Vec<u32> = slot.iter().map(|v| *v as u32).collect();
            host.call(0, &words, &[], budget)
        }
    }
}

/// What a call may touch.
pub struct Host<'h, 'b> {
    /// The program.
    pub program: &'h Verified,
    /// Its calls by number.
    pub calls: &'h [Call],
    /// The handler that runs.
    pub kind: HandlerKind,
    /// None while a filter runs: then nothing but the packet is used.
    pub machine: Option<Machine<'h, 'b>>,
}

impl Host<'_, '_> {
    /// Does the work of a call; `packet` is the packet of a filter.
    ///
    /// # Errors
    /// The trap that the instruction makes.
    pub fn call(&mut self, index: u32, args: &[u32], packet: &[u8], budget: &mut Budget) -> Result<u32, TrapKind> {
        let call = self.calls[index as usize];
        match (&mut self.machine, call) {
            (None, Call::Helper(helper, _)) => on_packet(helper, args, packet, budget),
            (None, Call::Random(_)) => Ok(0),
            (Some(m), Call::Random(site)) => Ok(random(m.state.seed, m.buffer.number, self.kind, site)),
            (_, Call::Wide(..)) => unreachable!("wide calls are `Host::wide`'s"),
            (Some(m), Call::Helper(helper, _)) => run(m, self.program, helper, args, budget),
        }
    }
}

impl Host<'_, '_> {
    /// Does the work of a call whose operands are of any width; the result goes where they are.
    ///
    /// # Errors
    /// The trap that the instruction makes.
    pub fn wide(&mut self, helper: Helper, widths: [u16; 2], result: u16, slot: &mut [u64]) -> Result<u32, TrapKind> {
        // Nothing wide is done for filters.
        let Some(m) = &mut self.machine else { return Ok(0) };
        let first = wide::limbs(widths[0]);
        let bytes = |width: u16| u32::from(width / 8);
        let value = match helper {
            Helper::SetTime => {
                m.buffer.time_ns = slot[0];
                return Ok(0);
            }
            Helper::SetTimer(n) => {
                m.state.timers[n as usize] = slot[0];
                return Ok(0);
            }
            Helper::EntryStore(table, at) => {
                let (value, entry) = slot.split_at(first);
                wide::to_le_bytes(value, m.entry_mut(table, entry[0] as u32, at, bytes(widths[0]))?);
                return Ok(0);
            }
            Helper::EntryLoad(table, at) => {
                let entry = m.entry(table, slot[0] as u32, at, bytes(result))?;
                slot.iter_mut().zip(entry.chunks(8)).for_each(|(limb, bytes)| *limb = from_le_bytes(bytes));
                return Ok(0);
            }
            Helper::Find(table) | Helper::Peek(table) => m.find(table, &slot[..first], matches!(helper, Helper::Find(_))),
            Helper::Insert(table) => m.insert(table, &slot[..first]),
            Helper::DeleteEntry(table) => m.delete_entry(table, &slot[..first]).into(),
            Helper::WalkedKey(table) => {
                m.state.walked_key(table, &mut slot[..wide::limbs(result)]);
                return Ok(0);
            }
            Helper::Deadline(table) => {
                slot[0] = m.deadline(table);
                return Ok(0);
            }
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
        };
        slot[0] = value.into();
        Ok(0)
    }
}

/// Work on coprocessors for a host that has the packet in another form: `views` gives what a unit
/// may see, if it is among those that were `shown`. `None` of other helpers.
pub fn coprocessors<'v>(
    state: &mut State,
    (helper, operand): (Helper, u32),
    shown: &mut u32,
    views: impl FnOnce() -> Views<'v>,
    budget: &mut Budget,
) -> Option<Result<u32, TrapKind>> {
    match helper {
        Helper::CoproIn(unit, register) => return Some(Ok(state.coprocessors[unit as usize].registers[register as usize])),
        Helper::CoproOut(unit, register) => state.coprocessors[unit as usize].registers[register as usize] = operand,
        Helper::CoproShow(unit) => *shown |= 1 << unit,
        Helper::CoproInvoke(unit, operation) => {
            let views = if *shown >> unit & 1 == 1 { views() } else { Views::NONE };
            return Some(machine::invoke(state, [unit, operation], views, budget).map(|()| 0));
        }
        _ => return None,
    }
    Some(Ok(0))
}

/// The value of at most eight bytes, least significant first.
fn from_le_bytes(bytes: &[u8]) -> u64 {
    let mut limb = [0; 8];
    limb[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(limb)
}

/// Helpers that only read the packet; `None` of others.
///
/// # Errors
/// The trap that the instruction makes.
pub fn read_only(helper: Helper, args: &[u32], packet: &[u8], budget: &mut Budget) -> Option<Result<u32, TrapKind>> {
    let mut bytes = || machine::field(packet, args[0], args[1], budget);
    Some(match helper {
        Helper::Scan(size) => machine::scan(packet, size, args[0], args[1], budget),
        Helper::FieldCmp(op) => machine::compare_fields(packet, op, [args[0], args[1], args[2]], budget).map(u32::from),
        Helper::Checksum => bytes().map(|bytes| digest::internet_checksum(bytes).into()),
        Helper::ChecksumValid => bytes().map(|bytes| (digest::ones_sum(bytes) == 0xffff).into()),
        Helper::CrcPacket(kind) => bytes().map(|bytes| digest::crc(kind, bytes).unwrap_or(0)),
        Helper::Crc(kind) => Ok(digest::crc(kind, &args[0].to_be_bytes()).unwrap_or(0)),
        Helper::ChecksumAdd => Ok(digest::checksum_add(args[0] as u16, args[1] as u16).into()),
        Helper::ChecksumSub => Ok(digest::checksum_sub(args[0] as u16, args[1] as u16).into()),
        Helper::Hash => Ok(digest::murmur3(args)),
        Helper::Inside => machine::inside(packet, args[0], args[1]).map(|()| 0),
        Helper::Copy(..) | Helper::InfoClear | Helper::SendCopy(_) | Helper::Receive(_) | Helper::Create | Helper::Delete => return None,
        Helper::PushHead | Helper::PullHead | Helper::TrimTail | Helper::GrowTail | Helper::Unpull | Helper::Moved => return None,
        Helper::IsPresent | Helper::Hold | Helper::Take | Helper::SetWire | Helper::SetTime | Helper::SetTimer(_) => return None,
        Helper::Find(_) | Helper::Peek(_) | Helper::Insert(_) | Helper::DeleteEntry(_) | Helper::Walk(_) | Helper::Due(_) => return None,
        Helper::NextKey(_) | Helper::WalkedKey(_) | Helper::Deadline(_) | Helper::EntryLoad(..) | Helper::EntryStore(..) => return None,
        Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => return None,
    })
}

/// What [`read_only`] does, of a helper of which that is known.
fn on_packet(helper: Helper, args: &[u32], packet: &[u8], budget: &mut Budget) -> Result<u32, TrapKind> {
    read_only(helper, args, packet, budget).unwrap_or_else(|| unreachable!("{helper} does more than read the packet"))
}

/// Helpers of handlers other than filters.
fn run(m: &mut Machine<'_, '_>, program: &Verified, helper: Helper, args: &[u32], budget: &mut Budget) -> Result<u32, TrapKind> {
    match helper {
        Helper::Copy(from, to) => m.copy(program, [from, to], [args[0], args[1], args[2]], budget)?,
        Helper::InfoClear => m.clear_info(budget)?,
        Helper::SendCopy(port) => m.send_copy(port, budget)?,
        Helper::Receive(port) => return Ok(receive(m, program, port).into()),
        Helper::Create => m.create(args[0], budget)?,
        Helper::Delete => m.buffer.delete(),
        Helper::Walk(table) => return m.walk(table, budget),
        Helper::Due(table) => return m.due(table, budget),
        Helper::NextKey(table) => return Ok(m.next_key(table).into()),
        Helper::PushHead => m.push_head(args[0], budget)?,
        Helper::Unpull => m.buffer.unpull(args[0])?,
        Helper::Moved => return Ok(m.buffer.moved()),
        Helper::IsPresent => return Ok(m.buffer.is_present().into()),
        Helper::Hold => return m.hold(program, args[0], budget),
        Helper::Take => return Ok(take(m, program, args[0])),
        Helper::PullHead => m.buffer.pull(args[0])?,
        Helper::TrimTail => m.buffer.trim(args[0])?,
        Helper::SetWire => m.buffer.set_wire_len(args[0]),
        Helper::GrowTail => m.grow_tail(args[0], budget)?,
        Helper::CoproIn(unit, register) => return Ok(*m.register(unit, register)),
        Helper::CoproOut(unit, register) => *m.register(unit, register) = args[0],
        Helper::CoproInvoke(unit, operation) => m.invoke(program, unit, operation, budget)?,
        Helper::CoproShow(unit) => m.show(unit),
        Helper::Scan(_) | Helper::FieldCmp(_) | Helper::Checksum | Helper::ChecksumValid | Helper::CrcPacket(_) | Helper::Crc(_) => {
            return on_packet(helper, args, m.buffer.bytes(), budget);
        }
        Helper::ChecksumAdd | Helper::ChecksumSub | Helper::Hash | Helper::Inside => {
            return on_packet(helper, args, m.buffer.bytes(), budget);
        }
        Helper::SetTime | Helper::SetTimer(_) | Helper::Find(_) | Helper::Peek(_) | Helper::Insert(_) | Helper::DeleteEntry(_) => {
            unreachable!("wide calls are `Host::wide`'s")
        }
        Helper::WalkedKey(_) | Helper::Deadline(_) | Helper::EntryLoad(..) | Helper::EntryStore(..) => {
            unreachable!("wide calls are `Host::wide`'s")
        }
    }
    Ok(0)
}

fn take(m: &mut Machine<'_, '_>, program: &Verified, queue: u32) -> u32 {
    let taken = m.take(program, queue);
    if taken != 0 {
        // Compiled code may write to it.
        m.buffer.bytes_mut();
    }
    taken
}

fn receive(m: &mut Machine<'_, '_>, program: &Verified, port: u32) -> bool {
    let received = m.receive(program, port);
    if received {
        // Compiled code may write to it.
        m.buffer.bytes_mut();
    }
    received
}
