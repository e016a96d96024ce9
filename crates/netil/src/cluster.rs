//! Elements of an application that run as one over a burst, and which of them may.
//!
//! A cluster's members are programs that packets are pushed through. Each packet goes as far as
//! members lead it before the next one starts, as one at a time would; so a cluster is right
//! whatever its members keep. What leaves it is either handed over when the burst has been run
//! ([`LinkTarget::Exit`]), where no member is behind or the exit is the only way to all that is
//! behind it, or at once ([`LinkTarget::AtOnce`]).
//!
//! Source: NetVM paper, section 5.2; architecture, "Bursts".

use crate::app::{Application, Body, End, Wire, port_id};
use crate::cut_through::Role;
use crate::exec::{CloneOut, Disposition, State};
use crate::module::PortKind;
use crate::pool::Pool;
use std::collections::BTreeSet;

/// What became of a packet, and in which member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The member.
    pub member: u32,
    /// What it gave; a port by its id.
    pub disposition: Disposition,
}

/// Who has the members' states, and takes what leaves. The slots that it is told of are its own
/// from then on.
pub trait Host {
    /// A member's state.
    fn state(&mut self, member: u32) -> &mut State;

    /// The first packet of a burst comes to a member, with that time; asked for where a cluster is
    /// for [single packets](Cluster::another), too.
    fn comes(&mut self, member: u32, time_ns: u64) {
        let _ = (member, time_ns);
    }

    /// Whether the next burst's members are to say, of the first packets, each time that they begin
    /// and end, and before each packet the number of members in the same way, though nothing is run
    /// between: what takes so long is the saying.
    fn measures(&self) -> bool {
        false
    }

    /// A member begins to run on its own, and ends: for who measures.
    fn begin(&mut self, member: u32) {
        let _ = member;
    }

    /// See [`Self::begin`].
    fn end(&mut self, member: u32) {
        let _ = member;
    }

    /// Packets that went out by an exit, in their order, copies before their packet
    /// ([`Detail::value`](crate::pool::Detail::value)): when the burst has been run, or before a
    /// later packet leaves at once.
    fn exit(&mut self, exit: u32, slots: &[u32], pool: &mut Pool);

    /// Packets that went no further, all in the same way, likewise. Where they are and what their
    /// annotations are, nobody knows any more.
    fn ended(&mut self, ended: Ended, slots: &[u32], pool: &mut Pool);

    /// Packets that went no further, all in the same way, and of which it is known that they are
    /// there.
    fn ended_there(&mut self, ended: Ended, slots: &[u32], pool: &mut Pool) {
        self.ended(ended, slots, pool);
    }

    /// Whether packets are told apart by their tags, so that copies are this host's to make.
    fn records(&self) -> bool {
        false
    }

    /// A packet whose element has sent copies, which come first, or that goes where the next packet
    /// may be influenced; before the next one is run.
    fn leave(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool);

    /// Whether copies may go through members by themselves, each all its way before the next one
    /// and before its packet; then this host is told of what of them leaves at once by
    /// [`Self::leave_early`], and the others are among those of [`Self::exit`] and [`Self::ended`].
    /// Of an arrival `most` are made so at most; asked before an arrival, and behind what has left
    /// early.
    fn takes_copies(&self, most: u32) -> bool {
        let _ = most;
        false
    }

    /// [`Self::exit`] while others of the arrival that these are of are still on their way, and
    /// where some of them have left at once: tasks, and what leads back, wait for
    /// [`Self::arrival_over`].
    fn exit_early(&mut self, exit: u32, slots: &[u32], pool: &mut Pool) {
        self.exit(exit, slots, pool);
    }

    /// A packet, with copies that go before it, leaves at once while others of its arrival, that in
    /// the slot `of`, are still on their way, as in [`Self::exit_early`]. `made` copies of that
    /// arrival have been made in slots since this was told last.
    fn leave_early(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, (of, made): (u32, u32), pool: &mut Pool) {
        let _ = (of, made);
        self.leave(ended, slot, copies, pool);
    }

    /// All packets of an arrival are done with, of which some have left early.
    fn arrival_over(&mut self, pool: &mut Pool) {
        let _ = pool;
    }

    /// So many copies have been made in slots that [`Self::leave_early`] has not told of.
    fn copied(&mut self, made: u32) {
        let _ = made;
    }

    /// A member has set timers while it had this packet, or a copy of it, which is on its way still
    /// and came to it with that time. True if one is due at once: then what has left before is
    /// handed over, and [`Self::settle`] called.
    fn set_timers(&mut self, member: u32, slot: u32, time_ns: u64) -> bool {
        let _ = (member, slot, time_ns);
        false
    }

    /// What was handed over is to be done with before the packet at hand goes on.
    fn settle(&mut self, pool: &mut Pool) {
        let _ = pool;
    }

    /// Whether the members' states are those of the last burst, where they were then, and nobody
    /// but the cluster has changed them since.
    fn is_unchanged(&self) -> bool {
        false
    }

    /// How many of the burst's packets are run, this one among them: a timer may be due before the
    /// next. It changes when a packet leaves at once or a member sets a timer, and only then.
    fn most(&self) -> usize {
        usize::MAX
    }
}

/// Members made ready to run as one.
pub trait Cluster: Send {
    /// Runs the packets in these slots, each from the entry that its slot says
    /// ([`enter`](crate::pool::Slots::enter)), in order, and gives them to the host: all, or as
    /// many as it says ([`Host::most`]). `budget` is each member's.
    fn run(&mut self, slots: &[u32], budget: u32, pool: &mut Pool, host: &mut dyn Host);

    /// Whether [`Self::run`] copies packets that are [late](crate::pool::Late).
    fn brings(&self) -> bool {
        false
    }

    /// Whether it makes copies of packets itself.
    fn makes_copies(&self) -> bool {
        false
    }

    /// Another of the same for single packets, if it is worth its while to run one: it shares code,
    /// not what it counts. One runs while another does.
    fn another(&self) -> Option<Box<dyn Cluster>> {
        None
    }

    /// Packets that have come into each member so far.
    fn entered(&self) -> Vec<u64>;

    /// By member how many have left by each port, its id first; none if nobody counts them.
    fn left(&self) -> Option<Vec<Vec<(u32, u64)>>> {
        None
    }
}

/// Where a packet goes from a member's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// Into a member, by its port with that id.
    Member(u32, u32),
    /// Out by an exit, to be handed over when the burst has been run.
    Exit(u32),
    /// Out by an exit where nobody behind looks at annotations: they need not be there.
    LastExit(u32),
    /// Out at once.
    AtOnce,
}

/// Which elements run as one, and how they hang together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The members' instances.
    pub members: Vec<u32>,
    /// By member, where each output port leads, by its id.
    pub ways: Vec<Vec<(u32, LinkTarget)>>,
    /// Inputs that packets come in by from elsewhere: member, port's id.
    pub entries: Vec<(u32, u32)>,
    /// Where exits lead. No element is behind two of them, but where one exit is behind the other:
    /// it must see packets in their order.
    pub exits: Vec<End>,
}

impl Plan {
    /// All programs that may be linked and that are pushed into. `links` says which instances may,
    /// `looks` which built-in ones look at annotations, `prompt` of which it can be told that they
    /// run later than others: those that set timers, print, share state, or send to a device that
    /// others send to.
    pub fn new(app: &Application, links: &dyn Fn(u32) -> bool, looks: &dyn Fn(u32) -> bool, prompt: &dyn Fn(u32) -> bool) -> Self {
        let pushed = |n: &u32| app.instances[*n as usize].program().is_some_and(|p| p.module().port_kind(0) == Some(PortKind::PushInput));
        let members: Vec<u32> = (0..app.instances.len() as u32).filter(|n| pushed(n) && links(*n)).collect();
        let plan = Self { members, ..Self::default() };
        let returning = plan.returning(app);
        let exits = plan.exits(app, &returning, prompt);
        let plan = Self { exits, ..plan };
        let last: Vec<bool> = plan.exits.iter().map(|exit| !is_looked_at(app, exit.instance, looks)).collect();
        let ways = plan.members.iter().map(|n| plan.ways_of(app, *n, &last)).collect();
        let entries = plan.entries(app);
        Self { ways, entries, ..plan }
    }

    /// Packets may also come in by themselves where members lead that copy packets or send by
    /// timers.
    pub fn admit_singles(&mut self, app: &Application) {
        let sends =
            |wire: &&Wire| self.member(wire.from.instance).is_some() && app.instances[wire.from.instance as usize].sends_by_itself();
        let entry = |wire: &Wire| Some((self.member(wire.to.instance)?, input(app, wire.to)?));
        let more: BTreeSet<(u32, u32)> =
            app.wires.iter().filter(sends).filter_map(entry).filter(|entry| !self.entries.contains(entry)).collect();
        self.entries.extend(more);
    }

    /// The entry by which packets for an instance's input come in.
    pub fn entry(&self, app: &Application, to: End) -> Option<u32> {
        let member = self.member(to.instance)?;
        // A member that is none of the application's programs is cut through.
        let program = app.instances[to.instance as usize].program().or_else(|| Role::Queue.program())?;
        let port = port_id(program, to.port, true)?;
        self.entries.iter().position(|e| *e == (member, port)).map(|n| n as u32)
    }

    fn member(&self, instance: u32) -> Option<u32> {
        self.members.binary_search(&instance).ok().map(|n| n as u32)
    }

    /// Instances from which packets may come to a member, in whatever way.
    fn returning(&self, app: &Application) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = self.members.iter().copied().collect();
        while let Some(wire) = app.wires.iter().find(|w| found.contains(&w.to.instance) && !found.contains(&w.from.instance)) {
            found.insert(wire.from.instance);
        }
        found
    }

    /// Inputs of built-in elements that members lead to and that lead to none, if nothing is behind
    /// one that is behind another, too; and those that are the only way to all that is behind them.
    fn exits(&self, app: &Application, returning: &BTreeSet<u32>, prompt: &dyn Fn(u32) -> bool) -> Vec<End> {
        let builtin = |end: &End| matches!(app.instances[end.instance as usize].body, Body::BuiltIn(_));
        let out = app.wires.iter().filter(|w| !w.recirculates && self.member(w.from.instance).is_some()).map(|w| w.to);
        let (later, ends): (BTreeSet<End>, BTreeSet<End>) = out.filter(builtin).partition(|end| returning.contains(&end.instance));
        let behind: Vec<BTreeSet<u32>> = ends.iter().map(|end| behind(app, end.instance)).collect();
        let mut times = vec![0; app.instances.len()];
        behind.iter().flatten().for_each(|instance| times[*instance as usize] += 1);
        let alone = |behind: &BTreeSet<u32>| behind.iter().all(|instance| times[*instance as usize] == 1);
        let is_program = |n: &u32| app.instances[*n as usize].program().is_some() && self.member(*n).is_none();
        let programs: Vec<u32> = (0..app.instances.len() as u32).filter(|n| is_program(n) && prompt(*n)).collect();
        // Among several programs it could be told that packets come to some later; the only one
        // sees them in their order.
        let hurries = |behind: &BTreeSet<u32>| {
            let builtins = behind.iter().any(|n| matches!(app.instances[*n as usize].body, Body::BuiltIn(_)) && prompt(*n));
            builtins || programs.iter().any(|n| behind.contains(n)) && programs.iter().any(|n| !behind.contains(n))
        };
        let last = ends.into_iter().zip(&behind).filter(|(_, behind)| alone(behind) && !hurries(behind)).map(|(end, _)| end);
        let later = later.into_iter().filter(|end| is_only_way(app, *end, prompt));
        last.chain(later).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn ways_of(&self, app: &Application, instance: u32, last: &[bool]) -> Vec<(u32, LinkTarget)> {
        let own = app.wires.iter().filter(|w| w.from.instance == instance);
        let mut ways: Vec<(u32, LinkTarget)> = own.filter_map(|w| Some((output(app, w.from)?, self.way(app, w, last)))).collect();
        ways.sort_by_key(|(port, _)| *port);
        ways
    }

    fn way(&self, app: &Application, wire: &Wire, last: &[bool]) -> LinkTarget {
        let exit = self.exits.iter().position(|exit| *exit == wire.to).filter(|_| !wire.recirculates);
        match (self.member(wire.to.instance), input(app, wire.to), exit) {
            (Some(member), Some(port), _) if !wire.recirculates => LinkTarget::Member(member, port),
            (_, _, Some(exit)) if last[exit] => LinkTarget::LastExit(exit as u32),
            (_, _, Some(exit)) => LinkTarget::Exit(exit as u32),
            _ => LinkTarget::AtOnce,
        }
    }

    /// Inputs of members that something else leads to.
    fn entries(&self, app: &Application) -> Vec<(u32, u32)> {
        let from_elsewhere = app.wires.iter().filter(|w| w.recirculates || self.member(w.from.instance).is_none());
        let entry = |w: &Wire| Some((self.member(w.to.instance)?, input(app, w.to)?));
        from_elsewhere.filter_map(entry).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Whether an instance, or one behind it, looks at annotations; programs do.
fn is_looked_at(app: &Application, instance: u32, looks: &dyn Fn(u32) -> bool) -> bool {
    behind(app, instance).into_iter().any(|at| app.instances[at as usize].program().is_some() || looks(at))
}

/// Whether packets come to what is behind an input by that alone, none is led back there or from
/// there, and nothing there is `prompt`. Then each element there sees the same packets in the same
/// order, whenever they are handed over.
fn is_only_way(app: &Application, end: End, prompt: &dyn Fn(u32) -> bool) -> bool {
    let behind = behind(app, end.instance);
    let fits = |wire: &Wire| match (behind.contains(&wire.from.instance), behind.contains(&wire.to.instance)) {
        (_, true) if wire.recirculates => false,
        (true, true) => wire.to.instance != end.instance,
        (false, true) => wire.to == end,
        (from, false) => !from,
    };
    app.wires.iter().all(fits) && !behind.iter().any(|instance| prompt(*instance))
}

/// An instance and all that packets come to from there.
fn behind(app: &Application, instance: u32) -> BTreeSet<u32> {
    let (mut seen, mut work) = (BTreeSet::new(), vec![instance]);
    while let Some(at) = work.pop() {
        if seen.insert(at) {
            work.extend(app.wires.iter().filter(|w| w.from.instance == at).map(|w| w.to.instance));
        }
    }
    seen
}

fn input(app: &Application, end: End) -> Option<u32> {
    port_id(app.instances[end.instance as usize].program()?, end.port, true)
}

fn output(app: &Application, end: End) -> Option<u32> {
    port_id(app.instances[end.instance as usize].program()?, end.port, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Instance;
    use crate::asm::assemble;
    use crate::verify;
    use std::sync::Arc;

    /// Instances: programs with two inputs and two outputs (`p`), or built-in ones (`n`); wires
    /// `from.port > to.port`, `~` for those that lead back.
    fn app(bodies: &str, wires: &[(u32, u32, u32, u32, bool)]) -> Application {
        let text = "segment .ports push_input a, b push_output c, d ends segment .push ret ends";
        let program = Arc::new(verify(assemble(text, "test").unwrap()).unwrap());
        let body = |c| if c == 'p' { Body::Program(Arc::clone(&program)) } else { Body::BuiltIn(Vec::new()) };
        let instances = bodies.chars().map(|c| Instance { name: String::new(), class: String::new(), body: body(c) }).collect();
        let end = |instance, port| End { instance, port };
        let wires = wires.iter().map(|(a, b, c, d, back)| Wire { from: end(*a, *b), to: end(*c, *d), recirculates: *back }).collect();
        Application { instances, wires, ..Application::default() }
    }

    #[test]
    fn what_is_behind_the_members_leaves_after_the_burst() {
        let app = app("nppn", &[(0, 0, 1, 0, false), (1, 0, 2, 1, false), (1, 1, 3, 0, false), (2, 1, 3, 0, false)]);
        let plan = Plan::new(&app, &|_| true, &|_| true, &|_| false);
        assert_eq!(plan.members, [1, 2]);
        assert_eq!(plan.ways, [vec![(2, LinkTarget::Member(1, 1)), (3, LinkTarget::Exit(0))], vec![(3, LinkTarget::Exit(0))]]);
        assert_eq!(plan.exits, [End { instance: 3, port: 0 }]);
        assert_eq!((&plan.entries[..], plan.entry(&app, End { instance: 1, port: 0 })), (&[(0, 0)][..], Some(0)));
        assert_eq!(plan.entry(&app, End { instance: 2, port: 1 }), None);
    }

    #[test]
    fn what_goes_to_several_inputs_of_one_element_leaves_at_once() {
        let app = app("nppn", &[(0, 0, 1, 0, false), (1, 0, 2, 1, false), (1, 1, 3, 0, false), (2, 1, 3, 1, false)]);
        let plan = Plan::new(&app, &|_| true, &|_| true, &|_| false);
        assert_eq!(plan.ways, [vec![(2, LinkTarget::Member(1, 1)), (3, LinkTarget::AtOnce)], vec![(3, LinkTarget::AtOnce)]]);
    }

    #[test]
    fn what_meets_behind_the_members_leaves_at_once() {
        let wires = [(0, 0, 1, 0, false), (0, 1, 2, 0, false), (1, 0, 3, 0, false), (2, 0, 4, 0, false)];
        let exits = |wires: &[(u32, u32, u32, u32, bool)]| Plan::new(&app("pnnnn", wires), &|_| true, &|_| true, &|_| false).exits.len();
        assert_eq!(exits(&wires), 2);
        assert_eq!(exits(&[&wires[..], &[(3, 0, 4, 1, false)]].concat()), 0);
        assert_eq!(exits(&[&wires[..], &[(1, 1, 2, 0, false)]].concat()), 0);
    }

    #[test]
    fn what_shows_in_which_order_it_runs_leaves_at_once_unless_it_is_alone() {
        let wires = [(0, 0, 1, 0, false), (1, 0, 2, 0, false), (0, 1, 3, 0, false), (3, 0, 4, 0, false)];
        let exits = |prompt: &[u32]| {
            let plan = Plan::new(&app("pnpnp", &wires), &|n| n == 0, &|_| true, &|n| prompt.contains(&n));
            plan.exits.iter().map(|end| end.instance).collect::<Vec<_>>()
        };
        assert_eq!([exits(&[]), exits(&[2]), exits(&[2, 4]), exits(&[0, 4])], [vec![1, 3], vec![1, 3], vec![], vec![1, 3]]);
    }

    #[test]
    fn annotations_are_kept_where_somebody_behind_looks_at_them() {
        let app = app("pnnpp", &[(0, 0, 1, 0, false), (1, 0, 2, 0, false), (0, 1, 3, 0, false)]);
        let way = |looks: &dyn Fn(u32) -> bool| Plan::new(&app, &|n| n == 0, looks, &|_| false).ways[0][0].1;
        assert_eq!(
            [way(&|_| false), way(&|n| n == 2), way(&|n| n == 1)],
            [LinkTarget::LastExit(0), LinkTarget::Exit(0), LinkTarget::Exit(0)]
        );
    }

    #[test]
    fn what_is_the_only_way_to_members_behind_leaves_after_the_burst() {
        let wires = [(0, 0, 1, 0, false), (1, 0, 2, 0, false), (2, 0, 3, 0, false), (3, 0, 4, 0, false), (0, 1, 5, 0, false)];
        let exits = |more: &[(u32, u32, u32, u32, bool)], prompt: &dyn Fn(u32) -> bool| {
            let app = app("pnnpnn", &[&wires[..], more].concat());
            Plan::new(&app, &|_| true, &|_| true, prompt).exits.iter().map(|end| end.instance).collect::<Vec<_>>()
        };
        assert_eq!(exits(&[], &|_| false), [1, 4, 5]);
        // Another way, one that leads back, one that leads on to what is reached by another, and an
        // element of which it can be told.
        assert_eq!(exits(&[(0, 2, 3, 1, false)], &|_| false), [4, 5]);
        assert_eq!(exits(&[(3, 1, 0, 1, true)], &|_| false), [4, 5]);
        assert_eq!(exits(&[(3, 1, 1, 1, true)], &|_| false), [4, 5]);
        assert_eq!(exits(&[(3, 1, 5, 0, false)], &|_| false), [4, 5]);
        assert_eq!(exits(&[], &|n| n == 3), [4, 5]);
    }

    #[test]
    fn what_may_come_back_leaves_at_once() {
        let wires =
            [(0, 0, 1, 0, false), (1, 0, 2, 0, false), (2, 0, 3, 0, false), (3, 0, 1, 1, true), (3, 1, 4, 0, false), (4, 0, 1, 1, false)];
        let plan = Plan::new(&app("nppppn", &wires), &|n| n != 2, &|_| true, &|_| false);
        assert_eq!(plan.members, [1, 3, 4]);
        assert_eq!(
            plan.ways,
            [
                vec![(2, LinkTarget::AtOnce)],
                vec![(2, LinkTarget::AtOnce), (3, LinkTarget::Member(2, 0))],
                vec![(2, LinkTarget::Member(0, 1))]
            ]
        );
        assert_eq!(plan.entries, [(0, 0), (0, 1), (1, 0)]);
    }
}
