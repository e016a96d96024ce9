//! Queues that every packet leaves as soon as it has come: they are cut through, so that elements
//! before and behind them run as one.
//!
//! A queue whose only reader is a task that empties it holds at most the packet of one arrival, if
//! nothing before it can send two packets for one arrival, or one without an arrival. For a
//! cluster, queue and task are then a program that passes packets on ([`Role::program`]). The
//! runtime looks before each burst whether they still do only that (a handler can stop the task),
//! and else runs elements one after the other. Shapers between queue and task are programs that
//! take a token for each packet, while there are tokens for a whole burst.
//!
//! Invariant: between the arrival and the task's turn nothing else happens that could be seen, so
//! that the packet goes on in the same state, at the same time, in the same order; and the tasks
//! behind have their turns in the same order.

use crate::app::{Application, Body, Instance, Wire};
use crate::asm::assemble;
use crate::exec::State;
use crate::table::Op;
use crate::verify::{Verified, verify};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// What a built-in element is on the way of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Packets arrive here, one after the other.
    Source,
    /// Packets wait here, and leave by output 0 when they are pulled.
    Queue,
    /// Drops packets by the length of the queue behind it, and passes those on that find it empty.
    Early,
    /// Lets packets be pulled at a rate from what is before it: those that its bucket has tokens
    /// for.
    Shaper,
    /// Takes all packets out of what is before it and sends them on.
    Task,
}

impl Role {
    /// What an element of this role does where all packets pass: a program that passes them on from
    /// its only input to its only output.
    pub fn program(self) -> Option<&'static Arc<Verified>> {
        const PASSES: &str = "segment .ports push_input in push_output out ends segment .push pop pkt.send out ret ends";
        static PROGRAMS: OnceLock<[Option<Arc<Verified>>; 2]> = OnceLock::new();
        let made = |text| Some(Arc::new(verify(assemble(text, "cut-through").ok()?).ok()?));
        let [passes, takes] = PROGRAMS.get_or_init(|| [made(PASSES), made(TAKES)]);
        if self == Self::Shaper { takes.as_ref() } else { passes.as_ref() }
    }

    /// The state of that program.
    pub fn state(self) -> Option<State> {
        State::new(self.program()?, &|_| None).ok()
    }
}

/// All such programs.
pub fn programs() -> impl Iterator<Item = &'static Arc<Verified>> {
    [Role::Queue, Role::Shaper].into_iter().filter_map(Role::program)
}

/// Takes a token from a [`Bucket`] for each packet, which has been filled up to the packet's time.
const TAKES: &str = "
    segment .metadata .datamem_size 56 ends
    segment .ports push_input in push_output out ends
    segment .push .locals 3 .local 0, 64 .local 1, 64 .local 2, 64
        pop
        ; local 0: the present, the packet's time where that counts, but never before what was the present, or before it was filled last
        time.ns push 48 w.mload 64 w.and 64 locstore 0
        push 40 w.mload 64 locstore 1
        locload 0 locload 1 w.lt 64 locload 1 locload 0 w.select 64 locstore 0
        push 32 w.mload 64 locstore 1
        locload 0 locload 1 w.lt 64 locload 1 locload 0 w.select 64 locstore 0
        ; local 1: how long nothing was filled, at most as long as it takes to be full
        locload 0 push 32 w.mload 64 w.subsat 64 locstore 1
        push 16 w.mload 64 locstore 2
        locload 1 locload 2 w.lt 64 locload 1 locload 2 w.select 64 locstore 1
        locload 0 push 32 w.mstore 64
        ; local 1: tokens, at most as many as fit
        locload 1 push 0 w.mload 64 w.mul 64 push 24 w.mload 64 w.add 64 locstore 1
        push 8 w.mload 64 locstore 2
        locload 1 locload 2 w.lt 64 locload 1 locload 2 w.select 64 locstore 1
        locload 1 w.push 64, 1000000000 w.sub 64 push 24 w.mstore 64
        pkt.send out
        ret
    ends";

/// A token bucket as the program of a shaper has it in its data memory. A token is a billion units,
/// so that a rate in tokens a second is one in units a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Tokens a second.
    pub rate: u64,
    /// The most units that it holds.
    pub capacity: u64,
    /// Units in it.
    pub units: u64,
    /// When it was filled last; 0 if it never was, and is full.
    pub filled_ns: u64,
}

impl Bucket {
    /// Writes it into data memory at a moment. Packets come at their own times, or all at that
    /// moment.
    pub fn write(&self, data: &mut [u8], now_ns: u64, timed: bool) {
        let full_ns = self.capacity.div_ceil(self.rate.max(1));
        let words = [self.rate, self.capacity, full_ns, self.units, self.filled_ns, now_ns, if timed { u64::MAX } else { 0 }];
        data.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    }

    /// Whether packets alone, so many at most, have made of one data memory the other: it is the
    /// same bucket, and has what they have not taken.
    pub fn has_taken(before: &[u8], after: &[u8], packets: u64) -> bool {
        const TOKEN: u64 = 1_000_000_000;
        let left = |data| Self::read(data).map_or(0, |(units, _)| units);
        before.get(..16) == after.get(..16) && left(after) >= left(before).saturating_sub(packets.saturating_mul(TOKEN)).max(1)
    }

    /// What packets have left in it: units, and when it was filled last.
    pub fn read(data: &[u8]) -> Option<(u64, u64)> {
        let word = |at: usize| Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?));
        Some((word(24)?, word(32)?))
    }
}

/// How often all queues are looked at: what is behind one that is cut through may be before another
/// one that was looked at earlier.
const PASSES: usize = 8;

/// The application in which what is cut through is a [program](Role::program), for what decides
/// which elements run as one.
pub fn applied<'a>(app: &'a Application, role: &dyn Fn(u32) -> Option<Role>) -> Cow<'a, Application> {
    let mut applied = Cow::Borrowed(app);
    let builtin = |n: &u32| app.instances[*n as usize].program().is_none();
    let mut roles: Vec<_> = (0..app.instances.len() as u32).map(|n| Some(n).filter(builtin).and_then(role)).collect();
    let ends = Ends::of(app);
    for _ in 0..PASSES {
        let mut changed = false;
        for queue in (0..roles.len()).filter(|n| roles[*n] == Some(Role::Queue)).collect::<Vec<_>>() {
            let way = Found { app: &applied, roles: &roles, ends: &ends }.way(queue as u32);
            for n in way.unwrap_or_default() {
                let Some(program) = roles[n as usize].take().and_then(Role::program) else { continue };
                applied.to_mut().instances[n as usize].body = Body::Program(Arc::clone(program));
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    applied
}

/// An application's wires by the instances that they lead to and come from.
struct Ends<'a> {
    into: Vec<Vec<&'a Wire>>,
    out_of: Vec<Vec<&'a Wire>>,
}

impl<'a> Ends<'a> {
    fn of(app: &'a Application) -> Self {
        let none = || vec![Vec::new(); app.instances.len()];
        let mut ends = Self { into: none(), out_of: none() };
        for wire in &app.wires {
            ends.into[wire.to.instance as usize].push(wire);
            ends.out_of[wire.from.instance as usize].push(wire);
        }
        ends
    }
}

/// An application, and what its built-in elements are.
struct Found<'f> {
    app: &'f Application,
    roles: &'f [Option<Role>],
    ends: &'f Ends<'f>,
}

impl Found<'_> {
    fn role(&self, instance: u32) -> Option<Role> {
        self.roles[instance as usize]
    }

    fn into(&self, instance: u32) -> impl Iterator<Item = &Wire> {
        self.ends.into[instance as usize].iter().copied()
    }

    fn out_of(&self, instance: u32) -> impl Iterator<Item = &Wire> {
        self.ends.out_of[instance as usize].iter().copied()
    }

    /// The element behind, if one wire leads there from output 0, and none elsewhere.
    fn only_behind(&self, instance: u32) -> Option<u32> {
        let mut wires = self.out_of(instance);
        let wire = wires.next().filter(|wire| wire.from.port == 0 && wire.to.port == 0 && !wire.recirculates)?;
        wires.next().is_none().then_some(wire.to.instance)
    }

    /// The shapers behind a queue and the task behind these, if packets go by no other way.
    fn pulled(&self, queue: u32) -> Option<Vec<u32>> {
        let mut all = vec![self.only_behind(queue)?];
        while let [.., at] = all[..] {
            match self.role(at).filter(|_| self.into(at).count() == 1 && self.only_out(at))? {
                Role::Task => return Some(all),
                Role::Shaper if all.len() < PASSES => all.push(self.only_behind(at)?),
                _ => return None,
            }
        }
        None
    }

    /// The queue, what is pulled through behind it, the task, and what drops early before it, if
    /// packets are passed on at once.
    fn way(&self, queue: u32) -> Option<Vec<u32>> {
        let pulled = self.pulled(queue)?;
        let task = *pulled.last()?;
        let plain = |wire: &Wire| wire.to.port == 0 && !wire.recirculates;
        if !self.into(queue).all(plain) || self.into(queue).next().is_none() {
            return None;
        }
        let early: Vec<u32> = self.into(queue).map(|wire| wire.from.instance).filter(|n| self.role(*n) == Some(Role::Early)).collect();
        let fits = |n: &u32| self.only_behind(*n).is_some() && self.into(*n).all(plain);
        if !early.iter().all(fits) {
            return None;
        }
        let way = [&[queue], &pulled[..], &early[..]].concat();
        (self.comes_one_by_one(queue, &way) && self.keeps_order(task)).then_some(way)
    }

    /// Whether tasks behind this one have their turns in the same order from its own as from that
    /// of the first task: otherwise queues that are full would show it, where one packet becomes
    /// several.
    fn keeps_order(&self, task: u32) -> bool {
        let (mut behind, mut work) = (BTreeSet::new(), vec![task]);
        while let Some(at) = work.pop() {
            work.extend(self.out_of(at).map(|wire| wire.to.instance).filter(|to| behind.insert(*to)));
        }
        let builtin = |n: &&u32| self.app.instances[**n as usize].program().is_none();
        let (first, last) = (behind.iter().find(builtin), behind.iter().rev().find(builtin));
        let passes = |n: &u32| self.passes_one(*n) || self.role(*n).is_some() || builtin(&n) && self.out_of(*n).next().is_none();
        behind.iter().all(passes) || first.is_none_or(|first| *first > task) || last.is_none_or(|last| *last < task)
    }

    fn only_out(&self, task: u32) -> bool {
        self.out_of(task).count() == 1 && self.out_of(task).all(|wire| wire.from.port == 0 && !wire.recirculates)
    }

    /// Whether each packet that comes to the queue is one that has just arrived, and the only one
    /// of its arrival.
    fn comes_one_by_one(&self, queue: u32, way: &[u32]) -> bool {
        let (mut seen, mut work) = (BTreeSet::from([queue]), vec![queue]);
        while let Some(at) = work.pop() {
            for wire in self.into(at) {
                let from = wire.from.instance;
                let early = self.role(from) == Some(Role::Early) && way.contains(&from);
                let source = self.role(from) == Some(Role::Source) && self.into(from).next().is_none();
                if wire.recirculates || !(early || source || self.passes_one(from)) {
                    return false;
                }
                if seen.insert(from) {
                    work.push(from);
                }
            }
        }
        true
    }

    fn passes_one(&self, instance: u32) -> bool {
        passes_one(&self.app.instances[instance as usize])
    }
}

/// Whether an element is a program that sends at most the packet that has come to it, at once.
pub fn passes_one(at: &Instance) -> bool {
    at.program().is_some() && !at.sends_by_itself() && !at.pushes_with(Op::PktHold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interpreter;
    use crate::app::End;
    use crate::exec::{ExchangeBuffer, Outcome};
    use crate::module::HandlerKind;

    /// Instances: `s` source, `p` program, `c` program that copies, `q` queue, `e` early, `h`
    /// shaper, `t` task, `n` other; wires of outputs and inputs 0, or of output 1 where `from` is
    /// over 99.
    fn cut(kinds: &str, wires: &[(u32, u32)]) -> Vec<usize> {
        let text = |send| format!("segment .ports push_input in push_output out, other ends segment .push pop {send} out ret ends");
        let program = |send| Arc::new(verify(assemble(&text(send), "test").unwrap()).unwrap());
        let body = |c| match c {
            'p' => Body::Program(program("pkt.send")),
            'c' => Body::Program(program("pkt.senddup")),
            _ => Body::BuiltIn(Vec::new()),
        };
        let instances = kinds.chars().map(|c| Instance { name: String::new(), class: c.to_string(), body: body(c) }).collect();
        let end = |instance, port| End { instance, port };
        let wire = |(from, to): &(u32, u32)| Wire { from: end(from % 100, from / 100), to: end(*to, 0), recirculates: false };
        let app = Application { instances, wires: wires.iter().map(wire).collect(), ..Application::default() };
        let role = |n: u32| match app.instances[n as usize].class.as_str() {
            "s" => Some(Role::Source),
            "q" => Some(Role::Queue),
            "e" => Some(Role::Early),
            "h" => Some(Role::Shaper),
            "t" => Some(Role::Task),
            _ => None,
        };
        let through = applied(&app, &role);
        let changed = |n: &usize| through.instances[*n].program().is_some() && app.instances[*n].program().is_none();
        (0..app.instances.len()).filter(changed).collect()
    }

    #[test]
    fn a_queue_behind_arrivals_is_cut_through() {
        assert_eq!(cut("spqtp", &[(0, 1), (1, 2), (2, 3), (3, 4)]), [2, 3]);
        assert_eq!(cut("sqtn", &[(0, 1), (1, 2), (2, 3)]), [1, 2]);
        assert_eq!(cut("speqtp", &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]), [2, 3, 4]);
        assert_eq!(cut("sqhhtp", &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]), [1, 2, 3, 4]);
        assert_eq!(cut("sqtpqtp", &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]), [1, 2, 4, 5]);
    }

    #[test]
    fn a_queue_that_may_hold_more_is_not() {
        // Copies before it; something else before it; a way back to it; another reader; a task that
        // has another input; an output of what is lost.
        assert!(cut("scqtp", &[(0, 1), (1, 2), (2, 3), (3, 4)]).is_empty());
        assert!(cut("nqtp", &[(0, 1), (1, 2), (2, 3)]).is_empty());
        assert!(cut("sqtp", &[(0, 1), (1, 2), (2, 3), (3, 1)]).is_empty());
        assert!(cut("sqtnp", &[(0, 1), (1, 2), (101, 3), (2, 4)]).is_empty());
        assert!(cut("sqhtn", &[(0, 1), (1, 2), (2, 3), (102, 4), (3, 4)]).is_empty());
        assert!(cut("sqhp", &[(0, 1), (1, 2), (2, 3)]).is_empty());
        assert!(cut("sqtpn", &[(0, 1), (1, 2), (2, 3), (4, 2)]).is_empty());
        assert!(cut("seqtpn", &[(0, 1), (1, 2), (2, 3), (3, 4), (101, 5)]).is_empty());
    }

    #[test]
    fn tasks_keep_their_order() {
        // What is declared before and behind the task, with one packet becoming several; with one
        // remaining one; all declared before it.
        assert!(cut("nsqtcn", &[(1, 2), (2, 3), (3, 4), (4, 0), (104, 5)]).is_empty());
        assert_eq!(cut("nsqtpn", &[(1, 2), (2, 3), (3, 4), (4, 0), (104, 5)]), [2, 3]);
        assert_eq!(cut("nnsqtc", &[(2, 3), (3, 4), (4, 5), (5, 0), (105, 1)]), [3, 4]);
    }

    #[test]
    fn a_program_that_passes_packets_on_keeps_nothing() {
        assert!(Role::Queue.state().is_some_and(|state| state.data.is_empty() && state.tables.is_empty()));
    }

    /// Packets that come at these times and take a token each, by the program: what is left after
    /// each.
    fn taken(bucket: Bucket, now_ns: u64, timed: bool, times: &[u64]) -> Vec<(u64, u64)> {
        let (program, mut state) = (Role::Shaper.program().unwrap(), Role::Shaper.state().unwrap());
        let mut engine = Interpreter::new(Arc::clone(program));
        bucket.write(&mut state.data, now_ns, timed);
        let mut take = |time_ns: &u64| {
            let mut packet = ExchangeBuffer::borrowed(&[0; 60]).into_owned();
            packet.time_ns = *time_ns;
            let mut outcome = Outcome::default();
            engine.run(HandlerKind::Push, std::slice::from_mut(&mut packet), &mut state, &mut outcome);
            Bucket::read(&state.data).unwrap()
        };
        times.iter().map(&mut take).collect()
    }

    #[test]
    fn a_shaper_s_program_takes_a_token_a_packet() {
        let token = 1_000_000_000;
        let bucket = Bucket { rate: 500_000_000, capacity: 10 * token, units: 3 * token, filled_ns: 100 };
        // A token comes in two nanoseconds; at most ten are held; time does not go back.
        let left = taken(bucket, 101, true, &[104, 104, 204, 150, 206]);
        let tokens: Vec<u64> = left.iter().map(|(units, _)| units / token).collect();
        assert_eq!(tokens, [4, 3, 9, 8, 8]);
        assert_eq!(left.iter().map(|(_, filled)| *filled).collect::<Vec<_>>(), [104, 104, 204, 204, 206]);
        // All come at one moment; and nothing was filled before.
        assert_eq!(taken(bucket, 102, false, &[500, 600]), [(3 * token, 102), (2 * token, 102)]);
        assert_eq!(taken(Bucket { filled_ns: 0, units: 10 * token, ..bucket }, 7, true, &[9]), [(9 * token, 9)]);
        assert_eq!(
            taken(Bucket { rate: u64::from(u32::MAX), capacity: u64::MAX >> 2, ..bucket }, 0, true, &[u64::MAX - 1])[0].0,
            (u64::MAX >> 2) - token
        );
    }
}
