//! Elements of an application as one program: the main function leads each packet from element to
//! element, which are functions of their own.
//!
//! ```text
//! main:  frame ─ by the interface ─▶ element(context, port, frame) ─ by the number that it gives ─▶ next element … ─▶ an end: an action
//! ```
//!
//! Info memory is in main's frame. A way that leads back is a loop, of which the kernel limits the
//! rounds; a packet that goes round too often is dropped. Elements have their own data memory,
//! exception table and tables. Counts are words of the values of an array map with a value for each
//! processor ([`Counted`], [`PAGE`]): main looks up the first one once for a packet.
//!
//! Source: NetVM paper, section 5.2; the kernel's Documentation/bpf (functions called within a
//! program, since Linux 4.16).

use super::divide::without_dead;
use super::layout::{INTERFACE_AT, Layout, MEMORY_AT};
use super::lir::{Cond, End as Ending, FRAME, Inst, Label, RESULT, Reg, Size, Src};
use super::maps::{Keyed, Kind, Maps};
use super::select::{Exit, ExitAction, Frame, Unit};
use super::{Action, Divided, Program, Refused, World, allocate, finish, joined, needs, optimised, scratch, select, table_maps};
use crate::backends::graph::{Element, Link, positions};
use crate::mir::Func;
use netil::exec::DropReason;
use netil::module::HandlerKind;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

/// Where packets leave the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The element that stands there, and the elements before it that pass packets as they are.
    pub names: Vec<String>,
    /// What is done with them.
    pub fate: Fate,
}

/// What is done with a packet that leaves the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// That.
    Action(Action),
    /// The process goes on with it at that input of that node.
    Process {
        /// Its number.
        node: u32,
        /// The input.
        port: u32,
    },
}

/// An application of which a process runs the rest.
#[derive(Clone, Debug, Default)]
pub struct Division {
    /// By element its number in the process.
    pub nodes: Vec<u32>,
    /// By element its part in the kernel.
    pub parts: Vec<Divided>,
}

/// What is linked.
#[derive(Clone, Debug, Default)]
pub struct Application<'a> {
    /// Its elements.
    pub elements: Vec<Element<'a>>,
    /// Its ends.
    pub ends: Vec<End>,
    /// Where packets go that come in by an interface, by its index; those from others are the
    /// kernel's.
    pub entries: Vec<(u32, Link)>,
    /// Where the time and the interface come from.
    pub world: World,
    /// If a process runs what the kernel cannot.
    pub division: Option<Division>,
    /// By element where in data memory every run writes before it reads, if no process runs a part
    /// of it; elements that are not there have no such place.
    pub scratch: Vec<Vec<Range<u32>>>,
}

/// What a place of the map of counts counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Packets that came into an element.
    Into(usize),
    /// Packets that an element dropped: why, or it trapped.
    Dropped(usize, Option<DropReason>),
    /// Packets that left an element by that port, if it has several.
    Out(usize, u32),
    /// Packets that came in by an interface, by its number among entries.
    Entered(usize),
    /// Packets that came to an end.
    At(usize),
    /// Packets that came to an element and were handed over there.
    Handed(usize),
    /// Packets that could not be handed over: there was no room for their header.
    Lost,
    /// Packets that went round too often.
    Rounds,
}

/// A program, and where to find things in its maps.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The program.
    pub program: Program,
    /// The number of the map of counts, and what each word of its values counts, [`PAGE`] of them
    /// in each.
    pub counts: (usize, Vec<Counted>),
    /// By element where its data memory is in the state map, and how long it is.
    pub data: Vec<(u32, u32)>,
    /// By element the maps of its tables.
    pub tables: Vec<Vec<Option<u32>>>,
    /// The map of sockets that take what is handed over: [`QUEUES`] for each entry.
    pub sockets: Option<usize>,
    /// By end whether a process goes on there.
    pub processed: Vec<bool>,
    /// Bytes of info memory in the header of what is handed over ([`HEADER`](super::HEADER)).
    pub info: u32,
}

/// What the target does not admit, and in which element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The element.
    pub element: Option<usize>,
    /// Why.
    pub refused: Refused,
}

impl From<Refused> for Wrong {
    fn from(refused: Refused) -> Self {
        Self { element: None, refused }
    }
}

/// The numbers that functions give: of a link, from [`DROPPED`] on of a reason to drop, or this of
/// a trap.
const TRAPPED: u32 = 1 << 16;
const DROPPED: u32 = TRAPPED + 1;
/// The number of a packet that is handed over.
const HANDED: u32 = TRAPPED - 1;
/// Counts in one value of their map: instructions reach all of them from its beginning, and it is a
/// fourth of what the kernel allows.
pub const PAGE: usize = 1024;
/// Queues of an interface that may hand over.
pub const QUEUES: u32 = 64;
/// The kernel's kind of map that has sockets.
const SOCKETS: &str = "sockets";
/// Where the interface is in what the kernel gives a program.
const INGRESS: i16 = 12;
/// The kernel's function that looks up a place of a map.
const LOOK_UP: i32 = 1;
/// Places of the stack that functions take besides what they say: rounding, and the kernel's count
/// of rounds.
const SPARE: usize = 8;

/// One program of an application.
///
/// # Errors
/// An element does what the target does not admit, or they are too large together.
pub fn link(app: &Application<'_>) -> Result<Linked, Wrong> {
    let parts = parts(app)?;
    let division = app.division.as_ref();
    let mut maps = Maps::default();
    let tables: Vec<Vec<Result<u32, String>>> = app
        .elements
        .iter()
        .zip(&parts)
        .enumerate()
        .map(|(n, (e, part))| table_maps(e.program, &part.layout, e.name, &mut maps, division.map(|d| &d.parts[n])))
        .collect();
    let all = parts.iter().fold(Frame::default(), |all, part| {
        let needs = needs(&part.func);
        Frame { info: all.info.max(part.layout.info), moves: all.moves | needs.moves, times: all.times | needs.times }
    });
    let reasons: Vec<RefCell<Vec<DropReason>>> = parts.iter().map(|_| RefCell::default()).collect();
    let mut codes = Vec::new();
    for (n, (element, part)) in app.elements.iter().zip(&parts).enumerate() {
        let code = division.map(|division| DropReason::Program(division.parts[n].code));
        let ways = |exit| match exit {
            Exit::Drop(reason) if Some(reason) == code => ExitAction::Give(HANDED),
            exit => ExitAction::Give(given(element, &reasons[n], exit)),
        };
        let Part { func, layout } = part;
        let unit =
            Unit { program: element.program, func, layout, ways: &ways, frame: all, world: app.world, tables: &tables[n], called: true };
        codes.push(select::select(&unit, &mut maps).map_err(|refused| Wrong { element: Some(n), refused })?);
    }
    let reasons: Vec<Vec<DropReason>> = reasons.into_iter().map(RefCell::into_inner).collect();
    let counted = counted(app, &reasons);
    let (value_size, capacity) = (8 * counted.len().min(PAGE) as u32, counted.len().div_ceil(PAGE) as u32);
    let counts = maps.keyed("counts", Keyed { kind: Kind::PerCpuArray, key_size: 4, value_size, capacity, entries: Vec::new() });
    let sockets = division.map(|_| {
        let capacity = QUEUES * app.entries.len() as u32;
        maps.keyed(SOCKETS, Keyed { kind: Kind::Sockets, key_size: 4, value_size: 4, capacity, entries: Vec::new() })
    });
    let mut main = Main { app, reasons: &reasons, counted: &counted, counts, sockets, frame: all }.code(&mut maps)?;
    let (made, places) = finish(&mut main, (all.size() as usize + 8) / 8, allocate::PLACES)?;
    let mut functions = vec![("netvm".to_owned(), made)];
    let room = allocate::PLACES.saturating_sub(places + SPARE);
    for (n, code) in codes.iter_mut().enumerate() {
        let element = &app.elements[n];
        let used = scratch(element.program) + parts[n].layout.scratch_size();
        let made = finish(code, used as usize / 8, room).map_err(|refused| Wrong { element: Some(n), refused })?.0;
        functions.push((element.name.to_owned(), made));
    }
    let layouts: Vec<&Layout> = parts.iter().map(|part| &part.layout).collect();
    Ok(Linked {
        program: joined(functions, maps, &layouts),
        counts: (counts as usize, counted),
        data: layouts.iter().map(|layout| (layout.start, layout.data)).collect(),
        tables: tables.into_iter().map(|of| of.into_iter().map(Result::ok).collect()).collect(),
        sockets: sockets.map(|map| map as usize),
        processed: app.ends.iter().map(|end| matches!(end.fate, Fate::Process { .. })).collect(),
        info: all.info,
    })
}

/// An element's handler, and where its memories are.
struct Part {
    func: Func,
    layout: Layout,
}

fn parts(app: &Application<'_>) -> Result<Vec<Part>, Wrong> {
    let (mut parts, mut start) = (Vec::new(), MEMORY_AT);
    for (n, element) in app.elements.iter().enumerate() {
        let wrong = |refused| Wrong { element: Some(n), refused };
        if element.program.shared_size() > 0 {
            return Err(wrong(Refused::whole("memory that it shares with other elements")));
        }
        let layout = Layout::new(element.program, start).map_err(wrong)?;
        start = layout.end();
        parts.push(match &app.division {
            None => {
                let mut func = optimised(element.program).map_err(wrong)?;
                let scratch = without_dead(&mut func, app.scratch.get(n).cloned().unwrap_or_default());
                Part { func, layout: Layout { scratch, ..layout } }
            }
            Some(division) => {
                let Divided { func, scratch, .. } = &division.parts[n];
                Part { func: func.clone(), layout: Layout { scratch: scratch.clone(), ..layout } }
            }
        });
    }
    Ok(parts)
}

/// The number that says how a run ended.
fn given(element: &Element<'_>, reasons: &RefCell<Vec<DropReason>>, exit: Exit) -> u32 {
    match exit {
        Exit::Port(port) => {
            let link = element.ways.iter().position(|way| way.port == port);
            link.map_or_else(|| given(element, reasons, Exit::Drop(DropReason::Verdict)), |link| link as u32)
        }
        Exit::Trap => TRAPPED,
        Exit::Drop(reason) => {
            let mut reasons = reasons.borrow_mut();
            let at = reasons.iter().position(|known| *known == reason).unwrap_or(reasons.len());
            if at == reasons.len() {
                reasons.push(reason);
            }
            DROPPED + at as u32
        }
    }
}

fn counted(app: &Application<'_>, reasons: &[Vec<DropReason>]) -> Vec<Counted> {
    let of_element = |(n, reasons): (usize, &Vec<DropReason>)| {
        let dropped = reasons.iter().map(|reason| Counted::Dropped(n, Some(*reason))).collect::<Vec<_>>();
        let ways = &app.elements[n].ways;
        let out = ways.iter().filter(|_| ways.len() > 1 || app.division.is_some()).map(|way| Counted::Out(n, way.port));
        let handed = app.division.iter().map(|_| Counted::Handed(n));
        [Counted::Into(n), Counted::Dropped(n, None)].into_iter().chain(dropped).chain(out).chain(handed).collect::<Vec<_>>()
    };
    let elements = reasons.iter().enumerate().flat_map(of_element);
    let ends = (0..app.ends.len()).map(Counted::At);
    elements.chain((0..app.entries.len()).map(Counted::Entered)).chain(ends).chain([Counted::Rounds, Counted::Lost]).collect()
}

/// The main function.
struct Main<'a, 'b> {
    app: &'a Application<'b>,
    reasons: &'a [Vec<DropReason>],
    counted: &'a [Counted],
    counts: u32,
    sockets: Option<u32>,
    frame: Frame,
}

impl Main<'_, '_> {
    fn code(&self, maps: &mut Maps) -> Result<super::lir::Code, Refused> {
        let Some(first) = self.app.elements.first() else { return Err(Refused::whole("an application without elements")) };
        let func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
        let (layout, ways) = (Layout::default(), |_| ExitAction::Action(Action::Drop));
        let unit = Unit {
            program: first.program,
            func: &func,
            layout: &layout,
            ways: &ways,
            frame: self.frame,
            world: self.app.world,
            tables: &[],
            called: false,
        };
        Ok(select::build(&unit, maps, |s| self.fill(s)))
    }

    fn fill(&self, s: &mut select::Select<'_>) {
        let interface = self.interface(s);
        s.begin_frame();
        let first = self.page(s, 0);
        // A value that is there.
        let (none, some) = (s.code.block(), s.code.block());
        s.branch(Cond::Eq, true, first, Src::Imm(0), none, some);
        s.at = none;
        s.act(Action::Aborted);
        s.at = some;
        let mut b = Routes {
            main: self,
            first,
            port: s.code.register(),
            node: s.code.register(),
            hand: None,
            calls: Vec::new(),
            ends: HashMap::new(),
            position: positions(&self.app.elements, self.app.entries.iter().map(|(_, link)| *link)),
        };
        b.calls = self.app.elements.iter().map(|_| s.code.block()).collect();
        for (n, (index, link)) in self.app.entries.iter().enumerate() {
            let (here, next) = (s.code.block(), s.code.block());
            s.branch(Cond::Eq, false, interface, Src::Imm(index.cast_signed()), here, next);
            s.at = here;
            b.count(s, Counted::Entered(n));
            b.go(s, None, *link);
            s.at = next;
        }
        s.act(Action::Pass);
        for n in 0..self.app.elements.len() {
            b.element(s, n);
        }
    }

    /// A value of the map of counts; 0 if there is none.
    fn page(&self, s: &mut select::Select<'_>, number: usize) -> Reg {
        let key = -(self.frame.size().cast_signed() + 8) as i16;
        s.emit(Inst::Store { base: FRAME, offset: key, size: Size::B4, src: Src::Imm(number as i32) });
        s.emit(Inst::Map { dst: Reg(1), map: self.counts });
        s.copy_to(Reg(2), FRAME);
        s.alu(super::lir::Alu::Add, true, Reg(2), Src::Imm(key.into()));
        s.emit(Inst::Call { function: LOOK_UP, args: 2 });
        s.copy(RESULT)
    }

    fn interface(&self, s: &mut select::Select<'_>) -> Reg {
        let dst = s.code.register();
        let (base, offset) = match self.app.world {
            World::Kernel => (s.context, INGRESS),
            World::Map => (s.state_at(INTERFACE_AT), 0),
        };
        s.emit(Inst::Load { dst, base, offset, size: Size::B4 });
        dst
    }
}

/// The blocks of main.
struct Routes<'m, 'a, 'b> {
    main: &'m Main<'a, 'b>,
    /// The register with the first value of the map of counts.
    first: Reg,
    /// The register with the port that a packet comes in by.
    port: Reg,
    /// The register with the node that the process goes on with.
    node: Reg,
    /// Where packets are handed over.
    hand: Option<Label>,
    /// By element where it is called.
    calls: Vec<Label>,
    ends: HashMap<Counted, Label>,
    position: Vec<usize>,
}

impl Routes<'_, '_, '_> {
    /// Goes along a link from an element.
    fn go(&mut self, s: &mut select::Select<'_>, from: Option<usize>, link: Link) {
        match link {
            Link::End(end) => match self.main.app.ends[end].fate {
                Fate::Action(action) => {
                    let to = self.end(s, Counted::At(end), action);
                    s.ends(Ending::Jump(to));
                }
                Fate::Process { node, port } => {
                    s.set(self.port, port.into());
                    self.hand_over(s, Counted::At(end), node);
                }
            },
            Link::Element(n, port) => {
                s.set(self.port, port.into());
                let again = self.calls[n];
                if from.is_some_and(|from| self.position[n] <= self.position[from]) {
                    let out = self.end(s, Counted::Rounds, Action::Drop);
                    s.ends(Ending::Again { again, out });
                } else {
                    s.ends(Ending::Jump(again));
                }
            }
        }
    }

    /// Where packets end so, and are counted.
    fn end(&mut self, s: &mut select::Select<'_>, counted: Counted, action: Action) -> Label {
        if let Some(label) = self.ends.get(&counted) {
            return *label;
        }
        let (label, at) = (s.code.block(), s.at);
        self.ends.insert(counted, label);
        s.at = label;
        self.count(s, counted);
        if !matches!(action, Action::Drop | Action::Aborted) {
            s.settle();
        }
        s.act(action);
        s.at = at;
        label
    }

    /// The process goes on with the packet at a node; the port is in its register.
    fn hand_over(&mut self, s: &mut select::Select<'_>, counted: Counted, node: u32) {
        self.count(s, counted);
        s.set(self.node, node.into());
        let to = self.hand.unwrap_or_else(|| self.hand(s));
        s.ends(Ending::Jump(to));
    }

    /// Where packets are handed over: to the socket of the queue, by the interface that they came
    /// in by.
    fn hand(&mut self, s: &mut select::Select<'_>) -> Label {
        let (label, at) = (s.code.block(), s.at);
        self.hand = Some(label);
        s.at = label;
        let lost = self.end(s, Counted::Lost, Action::Drop);
        s.put_header(self.node, self.port, lost);
        let (interface, queue) = (self.main.interface(s), s.code.register());
        let join = s.code.block();
        s.set(queue, 0);
        for (n, (index, _)) in self.main.app.entries.iter().enumerate() {
            let (here, next) = (s.code.block(), s.code.block());
            s.branch(Cond::Eq, false, interface, Src::Imm(index.cast_signed()), here, next);
            s.at = here;
            s.set(queue, (n as u32 * QUEUES).into());
            s.ends(Ending::Jump(join));
            s.at = next;
        }
        s.ends(Ending::Jump(join));
        s.at = join;
        s.redirect_to_socket(self.main.sockets.unwrap_or_default(), queue);
        s.at = at;
        label
    }

    /// Adds one to a count.
    fn count(&self, s: &mut select::Select<'_>, counted: Counted) {
        let Some(place) = self.main.counted.iter().position(|known| *known == counted) else { return };
        let offset = 8 * (place % PAGE) as i16;
        if place < PAGE {
            return add_one(s, self.first, offset);
        }
        let (value, some, join) = (self.main.page(s, place / PAGE), s.code.block(), s.code.block());
        s.branch(Cond::Ne, true, value, Src::Imm(0), some, join);
        s.at = some;
        add_one(s, value, offset);
        s.ends(Ending::Jump(join));
        s.at = join;
    }

    /// Calls an element, and goes on where it sends the packet.
    fn element(&mut self, s: &mut select::Select<'_>, n: usize) {
        s.at = self.calls[n];
        self.count(s, Counted::Into(n));
        let (context, port) = (s.context, self.port);
        s.copy_to(Reg(1), context);
        s.copy_to(Reg(2), port);
        s.copy_to(Reg(3), FRAME);
        s.emit(Inst::Own { function: n as u32 + 1, args: 3 });
        let gave = s.copy(RESULT);
        for (i, way) in self.main.app.elements[n].ways.iter().enumerate() {
            self.case(s, gave, i as u32, |ways, s| {
                ways.count(s, Counted::Out(n, way.port));
                ways.go(s, Some(n), way.to);
            });
        }
        if let Some(division) = &self.main.app.division {
            self.case(s, gave, HANDED, |ways, s| ways.hand_over(s, Counted::Handed(n), division.nodes[n]));
        }
        for (i, reason) in self.main.reasons[n].iter().enumerate() {
            let to = self.end(s, Counted::Dropped(n, Some(*reason)), Action::Drop);
            self.case(s, gave, DROPPED + i as u32, |_, s| s.ends(Ending::Jump(to)));
        }
        let to = self.end(s, Counted::Dropped(n, None), Action::Drop);
        s.ends(Ending::Jump(to));
    }

    fn case(&mut self, s: &mut select::Select<'_>, gave: Reg, number: u32, then: impl FnOnce(&mut Self, &mut select::Select<'_>)) {
        let (here, next) = (s.code.block(), s.code.block());
        s.branch(Cond::Eq, true, gave, Src::Imm(number.cast_signed()), here, next);
        s.at = here;
        then(self, s);
        s.at = next;
    }
}

fn add_one(s: &mut select::Select<'_>, base: Reg, offset: i16) {
    let count = s.code.register();
    s.emit(Inst::Load { dst: count, base, offset, size: Size::B8 });
    s.alu(super::lir::Alu::Add, true, count, Src::Imm(1));
    s.emit(Inst::Store { base, offset, size: Size::B8, src: Src::Reg(count) });
}
