//! Register allocation: colours the interference graph; what gets no register lives on the stack.
//!
//! Copies whose registers do not interfere are merged first where that cannot make the graph harder
//! to colour (George; Briggs). Registers are spilled by the number of their uses and neighbours;
//! each use then has a register of its own for a moment, and all begins anew. Registers that are
//! spilled together share a place where they are not live at the same time. Values that are live
//! across a call get one of the registers that calls keep.
//!
//! Source: Chaitin (1982); Briggs, Cooper and Torczon (1994); George and Appel (1996). Left out:
//! splitting of live ranges.

use super::Refused;
use super::lir::{CONTEXT, Code, End, FIRST, FRAME, Inst, Label, Live, Reg, Size, Src};
use std::collections::{BTreeSet, HashMap};

/// Registers that values may have.
const COLOURS: u32 = 10;
/// The stack in places of eight bytes.
pub(super) const PLACES: usize = 512 / 8;
/// More registers than places and registers are never live at once.
pub(super) const MOST_LIVE: usize = PLACES + COLOURS as usize;
/// Registers with more neighbours are not merged: that would take time, and seldom succeed.
const MOST_NEIGHBOURS: usize = 1 << 10;
/// Spilling ends sooner in practice after two or three.
const ROUNDS: usize = 24;

/// Gives each register of a function a machine's; `used` places of its stack are taken already, and
/// it may have `all`. Gives the places taken.
pub(super) fn allocate(code: &mut Code, used: usize, all: usize) -> Result<usize, Refused> {
    let mut short = code.kept.clone();
    let mut places = used;
    for _ in 0..ROUNDS {
        let order = code.order();
        let mut graph = Graph::new(code, &order)?;
        graph.coalesce(code, &order);
        match graph.colour(&short) {
            Ok(colours) => {
                paint(code, &mut graph, &colours);
                return Ok(places);
            }
            Err(spilled) => {
                let (homes, count) = graph.homes(&spilled);
                if places + count > all {
                    return Err(no_room(places + count, all));
                }
                spill(code, &mut graph, &homes, places, &mut short);
                places += count;
            }
        }
    }
    Err(too_much())
}

pub(super) fn too_much() -> Refused {
    Refused::whole("more values at once than ten registers and a stack of 512 bytes hold")
}

fn no_room(wanted: usize, all: usize) -> Refused {
    let Refused { reason, site } = too_much();
    Refused { reason: format!("{reason}: {} bytes of the stack are wanted, and {} left", 8 * wanted, 8 * all), site }
}

/// The interference graph. Merged registers are stood for by one of them.
struct Graph {
    neighbours: Vec<BTreeSet<Reg>>,
    /// Where a merged register went.
    merged: Vec<Reg>,
    uses: Vec<u32>,
}

impl Graph {
    fn new(code: &Code, order: &[Label]) -> Result<Self, Refused> {
        let n = code.registers.max(FIRST) as usize;
        let mut graph = Self { neighbours: vec![BTreeSet::new(); n], merged: (0..n as u32).map(Reg).collect(), uses: vec![0; n] };
        let live = code.live(order, MOST_LIVE).ok_or_else(too_much)?;
        for label in order {
            let mut now = code.live_out(*label, &live);
            let block = &code.blocks[label.0 as usize];
            block.end.uses(|r| {
                now.insert(r);
                graph.uses[r.0 as usize] += 1;
            });
            for inst in block.insts.iter().rev() {
                graph.inst(inst, &mut now)?;
            }
        }
        // What comes in at the entry does not meet in one register.
        let entry: Vec<Reg> = live[0].iter().collect();
        entry.iter().filter(|r| **r != CONTEXT).for_each(|r| graph.edge(CONTEXT, *r));
        Ok(graph)
    }

    fn inst(&mut self, inst: &Inst, now: &mut Live) -> Result<(), Refused> {
        let copied = inst.copy().map(|(src, _)| src);
        if let Some(def) = inst.def() {
            now.iter().filter(|r| Some(*r) != copied).for_each(|r| self.edge(def, r));
            self.uses[def.0 as usize] += 1;
            now.remove(def);
        }
        if matches!(inst, Inst::Call { .. } | Inst::Own { .. }) {
            now.iter().for_each(|r| (0..6).for_each(|lost| self.edge(Reg(lost), r)));
        }
        inst.uses(|r| {
            now.insert(r);
            self.uses[r.0 as usize] += 1;
        });
        if now.len() > MOST_LIVE { Err(too_much()) } else { Ok(()) }
    }

    fn edge(&mut self, a: Reg, b: Reg) {
        if a != b && a != FRAME && b != FRAME {
            self.neighbours[a.0 as usize].insert(b);
            self.neighbours[b.0 as usize].insert(a);
        }
    }

    fn find(&mut self, r: Reg) -> Reg {
        let mut root = r;
        while self.merged[root.0 as usize] != root {
            root = self.merged[root.0 as usize];
        }
        self.merged[r.0 as usize] = root;
        root
    }

    fn degree(&self, r: Reg) -> usize {
        self.neighbours[r.0 as usize].len()
    }

    /// Merges the registers of copies until no more can be.
    fn coalesce(&mut self, code: &Code, order: &[Label]) {
        let insts = || order.iter().flat_map(|label| &code.blocks[label.0 as usize].insts);
        let copies: Vec<(Reg, Reg)> = insts().filter_map(Inst::copy).collect();
        let mut again = true;
        while std::mem::take(&mut again) {
            for (a, b) in &copies {
                let (a, b) = (self.find(*a), self.find(*b));
                if code.kept.contains(&a) || code.kept.contains(&b) {
                    continue;
                }
                if self.degree(a) + self.degree(b) > MOST_NEIGHBOURS {
                    continue;
                }
                if a == b || a == FRAME || b == FRAME || self.neighbours[a.0 as usize].contains(&b) {
                    continue;
                }
                let (to, from) = if a.0 < b.0 { (a, b) } else { (b, a) };
                if from.0 >= FIRST && if to.0 < FIRST { self.george(to, from) } else { self.briggs(to, from) } {
                    self.merge(to, from);
                    again = true;
                }
            }
        }
    }

    /// Each neighbour of the one interferes with the other already, or is easy.
    fn george(&self, machine: Reg, from: Reg) -> bool {
        let easy = |r: &Reg| r.0 >= FIRST && self.degree(*r) < COLOURS as usize;
        let apart = |r: &Reg| r.0 < FIRST || self.neighbours[r.0 as usize].contains(&machine);
        self.neighbours[from.0 as usize].iter().all(|r| apart(r) || easy(r))
    }

    /// The merged register has few neighbours of many.
    fn briggs(&self, a: Reg, b: Reg) -> bool {
        let both = self.neighbours[a.0 as usize].union(&self.neighbours[b.0 as usize]);
        both.filter(|r| r.0 < FIRST || self.degree(**r) >= COLOURS as usize).count() < COLOURS as usize
    }

    fn merge(&mut self, to: Reg, from: Reg) {
        self.merged[from.0 as usize] = to;
        self.uses[to.0 as usize] += self.uses[from.0 as usize];
        for r in std::mem::take(&mut self.neighbours[from.0 as usize]) {
            self.neighbours[r.0 as usize].remove(&from);
            self.edge(to, r);
        }
    }

    /// A machine register for each virtual one, or those that must be spilled.
    fn colour(&self, short: &BTreeSet<Reg>) -> Result<Vec<u32>, Vec<Reg>> {
        let n = self.neighbours.len() as u32;
        let mut left: BTreeSet<Reg> =
            (FIRST..n).map(Reg).filter(|r| self.merged[r.0 as usize] == *r && self.uses[r.0 as usize] > 0).collect();
        let mut degree: Vec<usize> = self.neighbours.iter().map(BTreeSet::len).collect();
        let mut easy: Vec<Reg> = left.iter().rev().copied().filter(|r| degree[r.0 as usize] < COLOURS as usize).collect();
        let mut stack = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let r = match easy.pop() {
                Some(r) if !left.contains(&r) => continue,
                Some(r) => r,
                None => self.cheapest(&left, short, &degree),
            };
            left.remove(&r);
            stack.push(r);
            for other in &self.neighbours[r.0 as usize] {
                degree[other.0 as usize] -= 1;
                if degree[other.0 as usize] + 1 == COLOURS as usize && left.contains(other) {
                    easy.push(*other);
                }
            }
        }
        self.select(stack)
    }

    /// A place of the stack for each register that is spilled, shared by those that are not live at
    /// the same time; how many places.
    fn homes(&self, spilled: &[Reg]) -> (HashMap<Reg, usize>, usize) {
        let (mut homes, mut count) = (HashMap::new(), 0);
        for r in spilled {
            let taken: BTreeSet<usize> = self.neighbours[r.0 as usize].iter().filter_map(|other| homes.get(other).copied()).collect();
            let home = (0..).find(|home| !taken.contains(home)).unwrap_or(count);
            homes.insert(*r, home);
            count = count.max(home + 1);
        }
        (homes, count)
    }

    /// What costs least on the stack.
    fn cheapest(&self, left: &BTreeSet<Reg>, short: &BTreeSet<Reg>, degree: &[usize]) -> Reg {
        let cost = |r: &Reg| {
            let uses = f64::from(self.uses[r.0 as usize]) / (degree[r.0 as usize] + 1) as f64;
            if short.contains(r) { f64::MAX } else { uses }
        };
        *left.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("something is left")
    }

    fn select(&self, mut stack: Vec<Reg>) -> Result<Vec<u32>, Vec<Reg>> {
        let n = self.neighbours.len();
        let mut colours: Vec<u32> = (0..n as u32).map(|r| if r < FIRST { r } else { u32::MAX }).collect();
        let mut spilled = Vec::new();
        while let Some(r) = stack.pop() {
            let taken = self.neighbours[r.0 as usize].iter().map(|r| colours[r.0 as usize]);
            let taken = taken.filter(|c| *c < COLOURS).fold(0u32, |set, c| set | 1 << c);
            match (0..COLOURS).find(|c| taken >> c & 1 == 0) {
                Some(colour) => colours[r.0 as usize] = colour,
                None => spilled.push(r),
            }
        }
        if spilled.is_empty() { Ok(colours) } else { Err(spilled) }
    }
}

/// Writes the machine's registers in, and leaves out copies that do nothing.
fn paint(code: &mut Code, graph: &mut Graph, colours: &[u32]) {
    let mut of = |r: Reg| if r.0 < FIRST { r } else { Reg(colours[graph.find(r).0 as usize]) };
    for block in &mut code.blocks {
        block.insts.iter_mut().for_each(|inst| inst.map(|r, _| of(r)));
        block.insts.retain(|inst| inst.copy().is_none_or(|(a, b)| a != b));
        block.end.map(&mut of);
    }
}

/// Puts registers on the stack: a load before each use, a store after each write.
fn spill(code: &mut Code, graph: &mut Graph, homes: &HashMap<Reg, usize>, first: usize, short: &mut BTreeSet<Reg>) {
    let homes: HashMap<Reg, i16> = homes.iter().map(|(r, at)| (*r, -8 * (first + at + 1) as i16)).collect();
    for at in 0..code.blocks.len() {
        let insts = std::mem::take(&mut code.blocks[at].insts);
        let mut out = Vec::with_capacity(insts.len());
        for mut inst in insts {
            let mut after = Vec::new();
            let mut of = HashMap::new();
            inst.map(|r, role| {
                let Some(offset) = homes.get(&graph.find(r)) else { return r };
                let own = *of.entry(r).or_insert_with(|| code.register());
                short.insert(own);
                if role != super::lir::Role::Def {
                    out.push(Inst::Load { dst: own, base: FRAME, offset: *offset, size: Size::B8 });
                }
                if role != super::lir::Role::Use {
                    after.push(Inst::Store { base: FRAME, offset: *offset, size: Size::B8, src: Src::Reg(own) });
                }
                own
            });
            out.push(inst);
            out.extend(after);
        }
        let mut end = code.blocks[at].end;
        if !matches!(end, End::Exit) {
            let mut of = HashMap::new();
            end.map(|r| {
                let Some(offset) = homes.get(&graph.find(r)) else { return r };
                *of.entry(r).or_insert_with(|| {
                    let own = code.register();
                    short.insert(own);
                    out.push(Inst::Load { dst: own, base: FRAME, offset: *offset, size: Size::B8 });
                    own
                })
            });
        }
        code.blocks[at].insts = out;
        code.blocks[at].end = end;
    }
}
