//! Which bytes of a packet lanes fetch together.
//!
//! A **cell** is up to four consecutive bytes, a lane's worth, that serve all loads which lie in them. A **window** is sixteen consecutive bytes
//! with up to four cells: one load a packet, whose rows then are turned into columns, is quicker than a gather for each
//! cell (measured on Zen 4: four cells 0.2 ns a packet, one gather 0.3 ns). It is fetched in the nearest block that dominates its loads, or
//! at the function's beginning if nearly all packets are long enough, where it needs no set of lanes. Lanes whose packet ends before the last
//! byte needed leave there, so a window ends at that byte, and begins before the first one.

use super::bounds::Bounds;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Op, Value};
use netil::table::Space;
use std::collections::{BTreeMap, HashMap};

/// Bytes of a window.
pub(super) const WINDOW: u32 = 16;
/// Bytes of a cell.
const CELL: u32 = 4;
/// Cells of a window.
const CELLS: usize = 4;
/// The shortest packets that are frequent: an Ethernet header and ARP. Asking more of all packets makes too many leave.
const SHORTEST: u32 = 42;

/// Consecutive bytes of each packet that are fetched at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// What the offset is added to, where the place depends on the packet.
    pub base: Option<Value>,
    /// Of the first byte fetched; negative only if the base is never less than that.
    pub start: i64,
    /// One past the last byte, without the base.
    pub end: u32,
    /// Where it is fetched.
    pub block: Block,
    /// Numbers of its cells.
    pub cells: Vec<usize>,
}

/// A lane's worth of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Of its first byte, without the base.
    offset: u32,
    /// Bytes that are needed.
    size: u32,
    block: Block,
    /// Bytes before it in its column.
    skew: u32,
}

impl Cell {
    fn end(&self) -> u32 {
        self.offset + self.size
    }
}

/// All windows of a function.
#[derive(Default)]
pub(super) struct Windows {
    pub list: Vec<Window>,
    pub cells: Vec<Cell>,
    /// The cell of each load, and the load's place in it.
    loads: HashMap<Value, (usize, u32)>,
}

/// A load from the packet.
struct Load {
    offset: u32,
    size: u32,
    value: Value,
    block: Block,
}

impl Windows {
    /// Of the loads in these blocks.
    pub fn new(func: &Func, cfg: &Cfg, bounds: &Bounds, blocks: impl Iterator<Item = Block>) -> Self {
        let mut by_base: BTreeMap<Option<Value>, Vec<Load>> = BTreeMap::new();
        for block in blocks {
            for value in &func.block(block).ops {
                if let Some((base, offset)) = place(func, bounds, *value) {
                    let load = Load { offset, size: u32::from(func.width(*value) / 8), value: *value, block };
                    by_base.entry(base).or_default().push(load);
                }
            }
        }
        let mut windows = Self::default();
        for (base, loads) in by_base {
            let cells = windows.add_cells(cfg, loads);
            windows.add_windows(cfg, bounds, base, cells);
        }
        windows
    }

    /// The cell of a load, and the load's place in the cell's column.
    pub fn place_of(&self, load: Value) -> (usize, u32) {
        let (cell, at) = self.loads[&load];
        (cell, at + self.cells[cell].skew)
    }

    /// The loads that a cell serves.
    pub fn served(&self, cell: usize) -> impl Iterator<Item = Value> + '_ {
        self.loads.iter().filter(move |(_, (other, _))| *other == cell).map(|(load, _)| *load)
    }

    /// The first byte of all at a fixed place.
    pub fn first_byte(&self) -> u32 {
        let fixed = self.list.iter().filter(|w| w.base.is_none());
        fixed.map(|w| self.cells[w.cells[0]].offset).min().unwrap_or(0)
    }

    /// The column of each cell of a window.
    pub fn columns<'a>(&'a self, window: &'a Window) -> impl Iterator<Item = (usize, usize)> + 'a {
        let arranged = self.arrangement(window).is_some();
        let place = move |i: usize, cell: usize| if arranged { i } else { self.place_in(window, cell) as usize / CELL as usize };
        window.cells.iter().enumerate().map(move |(i, cell)| (place(i, *cell), *cell))
    }

    /// The bytes of a window that make up each column, the first lowest, if cells do not stand in columns; 0x80 is none.
    pub fn arrangement(&self, window: &Window) -> Option<[u32; CELLS]> {
        if window.cells.iter().all(|cell| self.in_column(window.start, *cell)) {
            return None;
        }
        let byte = |at: u32| if at < WINDOW { at } else { 0x80 };
        let column = |i: usize| {
            let at = window.cells.get(i).map_or(WINDOW, |cell| self.place_in(window, *cell));
            (0..CELL).map(|b| byte(at + b) << (8 * b)).sum()
        };
        Some(std::array::from_fn(column))
    }

    /// Whether a cell lies in one column of a window that begins there.
    fn in_column(&self, start: i64, cell: usize) -> bool {
        let (cell, column) = (&self.cells[cell], |at: u32| (i64::from(at) - start) / i64::from(CELL));
        column(cell.offset) == column(cell.end() - 1)
    }

    fn place_in(&self, window: &Window, cell: usize) -> u32 {
        (i64::from(self.cells[cell].offset) - window.start) as u32
    }

    /// Makes the cells for loads from one base.
    fn add_cells(&mut self, cfg: &Cfg, mut loads: Vec<Load>) -> std::ops::Range<usize> {
        let first = self.cells.len();
        loads.sort_unstable_by_key(|load| (load.offset, load.size));
        for load in loads {
            let last = self.cells[first..].last_mut().filter(|cell| load.offset + load.size <= cell.offset + CELL);
            if let Some(cell) = last {
                cell.size = cell.size.max(load.offset + load.size - cell.offset);
                cell.block = common(cfg, cell.block, load.block);
            } else {
                self.cells.push(Cell { offset: load.offset, size: load.size, block: load.block, skew: 0 });
            }
            let number = self.cells.len() - 1;
            self.loads.insert(load.value, (number, load.offset - self.cells[number].offset));
        }
        first..self.cells.len()
    }

    fn add_windows(&mut self, cfg: &Cfg, bounds: &Bounds, base: Option<Value>, cells: std::ops::Range<usize>) {
        let lowest = base.map_or(0, |base| bounds.least(base) as i64);
        let first = self.list.len();
        for number in cells {
            let cell = self.cells[number];
            let joined = self.list[first..].last().and_then(|w| self.joined(cfg, w, number));
            let window = joined.clone().unwrap_or(Window { base, start: 0, end: cell.end(), block: cell.block, cells: vec![number] });
            if joined.is_some() {
                self.list.pop();
            }
            self.list.push(window);
        }
        for at in first..self.list.len() {
            let start = self.start(&self.list[at], lowest);
            let window = &mut self.list[at];
            window.start = start;
            window.end = (start + i64::from(WINDOW)) as u32;
            if base.is_none() && window.end <= SHORTEST {
                window.block = Block(0);
            }
            if self.arrangement(&self.list[at]).is_none() {
                for cell in self.list[at].cells.clone() {
                    self.cells[cell].skew = self.place_in(&self.list[at], cell) % CELL;
                }
            }
        }
    }

    /// Where a window begins so that it ends with its last byte, or up to three bytes later if its cells then stand in columns.
    fn start(&self, window: &Window, lowest: i64) -> i64 {
        let start = (i64::from(window.end) - i64::from(WINDOW)).max(-lowest);
        let (first, end) = (i64::from(self.cells[window.cells[0]].offset), |start: i64| start + i64::from(WINDOW));
        let usual = |s: &i64| window.base.is_some() || end(start) > SHORTEST.into() || end(*s) <= SHORTEST.into();
        let in_columns = |s: i64| window.cells.iter().all(|cell| self.in_column(s, *cell));
        (start..start + i64::from(CELL)).filter(|s| *s <= first && in_columns(*s)).find(usual).unwrap_or(start)
    }

    /// A window with one more cell, if that fits and asks no more of packets than is usual.
    fn joined(&self, cfg: &Cfg, window: &Window, number: usize) -> Option<Window> {
        let (cell, from) = (self.cells[number], self.cells[window.cells[0]].offset);
        let end = window.end.max(cell.end());
        let block = common(cfg, window.block, cell.block);
        let near = end - from <= WINDOW && window.cells.len() < CELLS;
        let usual = window.base.is_none() && end <= SHORTEST || block == window.block || block == cell.block;
        (near && usual).then(|| {
            let cells = window.cells.iter().copied().chain([number]).collect();
            Window { end, block, cells, ..window.clone() }
        })
    }
}

/// The packet place that a value is loaded from, if lanes can do that: offset, and the value it is added to.
pub(super) fn place(func: &Func, bounds: &Bounds, v: Value) -> Option<(Option<Value>, u32)> {
    let Some(Op::Load(Space::Packet, _, addr, offset, _)) = func.op(v) else { return None };
    if func.width(v) > 32 {
        return None;
    }
    let (base, offset) = match func.constant(*addr) {
        Some(constant) => (None, constant + u64::from(*offset)),
        None => (Some(*addr), u64::from(*offset)),
    };
    let most = base.map_or(0, |base| bounds.most(base)) + offset + u64::from(WINDOW);
    (most <= i32::MAX as u64).then_some((base, offset as u32))
}

/// The nearest block that dominates both.
fn common(cfg: &Cfg, mut a: Block, mut b: Block) -> Block {
    let position = |b: Block| cfg.position[b.0 as usize];
    while a != b {
        if position(a) > position(b) {
            a = cfg.idom[a.0 as usize];
        } else {
            b = cfg.idom[b.0 as usize];
        }
    }
    a
}
