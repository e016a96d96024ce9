//! Which elements, and which pieces of their handlers, are in which node of a host that runs
//! vectors of packets.
//!
//! Invariant: a node that keeps something from packet to packet has the packets in the order in
//! which they came. It is reached from one other node at most, which is reached from one at most,
//! and so on to where packets come in. Where it would not be, it is put together with all that is
//! between it and the last node that every one of its packets passes. Packets that leave by
//! different ways, or keep nothing, may overtake each other between vectors' ends, as in VPP
//! itself.
//!
//! `Auto` weighs what a node costs (every packet is taken out of a vector and put into another one)
//! against what it saves: code that does not fit into the first-level cache is loaded for every
//! packet in one node, and for every vector in several (PVPP, sections 3.2 and 6).

use super::Part;
use super::cuts::Pieces;
use super::needs::Needs;
use crate::backends::graph::{self, Element, Link};
use std::collections::{BTreeMap, BTreeSet};

/// How a program is divided into nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// One node.
    #[default]
    Single,
    /// A node for each element, and for each table of an element.
    Each,
    /// As many nodes as pay.
    Auto,
}

/// Bytes of code that a node may have: three quarters of a first-level instruction cache of 32 KiB.
const CODE: usize = 24 << 10;
/// Bytes of code of an operation, of x86-64 on the average.
const CODE_OF_OPERATION: usize = 7;
/// Bytes that a packet takes along from node to node: the parts of a buffer's opaque areas that are
/// nobody's, and the beginning of the buffer, before the packet.
const ROOM: u32 = 48;
const ROOM_BEFORE: u32 = 128;

/// What is in which node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodePartition {
    /// By element its handler in pieces.
    pub pieces: Vec<Pieces>,
    /// By unit its element and piece: first the elements' first pieces, then the others.
    pub units: Vec<(usize, usize)>,
    /// By unit its node; packets come in at node 0.
    pub nodes: Vec<usize>,
    /// Why elements are not in more pieces, and nodes not more.
    pub notes: Vec<String>,
}

impl NodePartition {
    /// All in one node.
    pub fn single(parts: &[Part<'_>]) -> Self {
        let pieces = parts.iter().map(|part| Pieces::whole(part.func)).collect();
        Self { pieces, units: (0..parts.len()).map(|n| (n, 0)).collect(), nodes: vec![0; parts.len()], notes: Vec::new() }
    }

    /// Divided.
    pub fn of(division: Division, parts: &[Part<'_>], entries: &[Link]) -> Self {
        let single = Self::single(parts);
        let operations: usize = (0..parts.len()).map(|n| single.pieces[n].size(0)).sum();
        let code = operations * CODE_OF_OPERATION;
        let noted = |note: String| Self { notes: vec![note], ..single.clone() };
        let needs = Needs::of(parts);
        let most = ROOM + ROOM_BEFORE;
        let Some(room) = most.checked_sub(taken(needs)) else {
            return noted(format!("one node: {} bytes of info memory, and packets take {most} along at most", needs.info));
        };
        match division {
            Division::Single => single,
            Division::Auto if code <= CODE => noted(format!("one node: about {code} bytes of code, which fit into the first-level cache")),
            Division::Auto => Groups::filled(parts, entries, room).settle(),
            Division::Each => Groups::apart(parts, entries, room).settle(),
        }
    }

    /// The number of an element's piece.
    pub fn unit(&self, element: usize, piece: usize) -> usize {
        self.units.iter().position(|unit| *unit == (element, piece)).unwrap_or(element)
    }

    /// The most bytes that packets bring along for a piece.
    pub fn kept(&self) -> u32 {
        self.units.iter().map(|(element, piece)| self.pieces[*element].bytes(*piece)).max().unwrap_or(0)
    }
}

/// Bytes that the host and info memory take of what packets take along.
fn taken(needs: Needs) -> u32 {
    let both = |is: bool, bytes: u32| if is { bytes } else { 0 };
    4 + both(needs.moves, 4) + both(needs.moves || needs.rounds, 4) + both(needs.time, 8) + needs.info
}

/// Elements in groups, each of which is a node, besides pieces that are nodes of their own.
struct Groups<'a> {
    parts: &'a [Part<'a>],
    entries: &'a [Link],
    room: u32,
    /// By element the first element of its group.
    group: Vec<usize>,
    /// Elements that are not cut.
    whole: Vec<bool>,
    /// Why groups were put together.
    notes: Vec<String>,
}

/// Nodes with where they lead; where packets come in is the first.
struct Nodes {
    /// By unit its node.
    of: Vec<usize>,
    to: Vec<BTreeSet<usize>>,
    keeps: Vec<bool>,
}

impl<'a> Groups<'a> {
    fn apart(parts: &'a [Part<'a>], entries: &'a [Link], room: u32) -> Self {
        Self { parts, entries, room, group: (0..parts.len()).collect(), whole: vec![false; parts.len()], notes: Vec::new() }
    }

    /// Elements in the order in which packets come to them, as many in a group as the cache has
    /// room for their code.
    fn filled(parts: &'a [Part<'a>], entries: &'a [Link], room: u32) -> Self {
        let mut all = Self::apart(parts, entries, room);
        let mut order: Vec<usize> = (0..parts.len()).collect();
        let position = positions(parts, entries);
        order.sort_by_key(|n| position[*n]);
        let (mut first, mut code) = (None, 0);
        for n in order {
            let own = Pieces::whole(parts[n].func).size(0) * CODE_OF_OPERATION;
            all.whole[n] = own <= CODE;
            if code + own > CODE || first.is_none() {
                (first, code) = (Some(n), 0);
            }
            (all.group[n], code) = (first.unwrap_or(n), code + own);
        }
        all
    }

    /// Puts together what must be.
    fn settle(mut self) -> NodePartition {
        loop {
            let (plan, nodes) = self.planned();
            match nodes.disordered() {
                None => return self.numbered(plan, &nodes),
                Some((wrong, together)) => self.join(&plan, &nodes, wrong, &together),
            }
        }
    }

    fn planned(&self) -> (NodePartition, Nodes) {
        let mut plan = NodePartition::default();
        for (n, part) in self.parts.iter().enumerate() {
            let (pieces, why) = if self.whole[n] { (Pieces::whole(part.func), None) } else { Pieces::of(part.func, self.room) };
            plan.notes.extend(why.map(|why| format!("{} is not divided further: {why}", part.name)));
            plan.pieces.push(pieces);
        }
        let later = |n: usize| (1..plan.pieces[n].pieces.len()).map(move |piece| (n, piece));
        plan.units = (0..self.parts.len()).map(|n| (n, 0)).chain((0..self.parts.len()).flat_map(later)).collect();
        let nodes = self.nodes(&plan);
        (plan, nodes)
    }

    fn nodes(&self, plan: &NodePartition) -> Nodes {
        let node = |at: usize, (element, piece): (usize, usize)| 1 + if piece == 0 { self.group[element] } else { at };
        let of: Vec<usize> = plan.units.iter().enumerate().map(|(at, unit)| node(at, *unit)).collect();
        let (mut to, mut keeps) = (vec![BTreeSet::new(); plan.units.len() + 1], vec![false; plan.units.len() + 1]);
        let element = |link: &Link| if let Link::Element(n, _) = link { Some(of[*n]) } else { None };
        to[0] = self.entries.iter().filter_map(element).collect();
        for (at, (n, piece)) in plan.units.iter().enumerate() {
            let pieces = &plan.pieces[*n];
            keeps[of[at]] |= pieces.keeps(*piece);
            to[of[at]].extend(pieces.next(*piece).map(|next| of[plan.unit(*n, next)]));
            let ways = self.parts[*n].ways.unwrap_or_default().iter().filter(|way| pieces.sends(*piece, way.port));
            to[of[at]].extend(ways.filter_map(|way| element(&way.to)));
        }
        to.iter_mut().enumerate().for_each(|(n, to)| _ = to.remove(&n));
        Nodes { of, to, keeps }
    }

    fn join(&mut self, plan: &NodePartition, nodes: &Nodes, wrong: usize, together: &BTreeSet<usize>) {
        let element = nodes.of.iter().position(|node| *node == wrong).map_or("", |unit| self.parts[plan.units[unit].0].name);
        self.notes.push(format!("{} nodes are one: {element} keeps something, and would have packets in another order", together.len()));
        let elements: BTreeSet<usize> =
            plan.units.iter().enumerate().filter(|(at, _)| together.contains(&nodes.of[*at])).map(|(_, (element, _))| *element).collect();
        let groups: BTreeSet<usize> = elements.iter().map(|n| self.group[*n]).collect();
        let first = groups.first().copied().unwrap_or(0);
        for n in 0..self.parts.len() {
            if groups.contains(&self.group[n]) {
                self.group[n] = first;
            }
        }
        elements.into_iter().for_each(|n| self.whole[n] = true);
    }

    /// Numbers nodes in the order in which packets come to them. What is reached from devices alone
    /// is where packets come in.
    fn numbered(&self, mut plan: NodePartition, nodes: &Nodes) -> NodePartition {
        let position = positions(self.parts, self.entries);
        let before = nodes.before();
        let mut first: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (at, (element, piece)) in plan.units.iter().enumerate() {
            let place = (position[*element], *piece);
            let known = first.entry(nodes.of[at]).or_insert(place);
            *known = place.min(*known);
        }
        let mut order: Vec<usize> = first.keys().copied().filter(|node| before[*node] != BTreeSet::from([0])).collect();
        order.sort_by_key(|node| first[node]);
        plan.notes.extend_from_slice(&self.notes);
        plan.nodes = nodes.of.iter().map(|node| order.iter().position(|known| known == node).map_or(0, |at| at + 1)).collect();
        plan
    }
}

impl Nodes {
    fn before(&self) -> Vec<BTreeSet<usize>> {
        let mut before = vec![BTreeSet::new(); self.to.len()];
        self.to.iter().enumerate().for_each(|(n, to)| to.iter().for_each(|to| _ = before[*to].insert(n)));
        before
    }

    /// A node that keeps something and would have its packets in another order, and the nodes that
    /// must therefore be one.
    fn disordered(&self) -> Option<(usize, BTreeSet<usize>)> {
        let before = self.before();
        let wrong = (1..self.to.len()).find(|n| self.keeps[*n] && !is_ordered(&before, *n))?;
        let all = self.reached(0, None);
        let passed = |n: &usize| *n != wrong && !self.reached(0, Some(*n)).contains(&wrong);
        // Of the nodes that all packets pass, the last is behind all others.
        let last = all.iter().filter(|n| passed(n)).max_by_key(|n| all.len() - self.reached(**n, None).len()).copied().unwrap_or(0);
        let behind = self.reached(last, None);
        let mut together: BTreeSet<usize> = behind.into_iter().filter(|n| self.reached(*n, None).contains(&wrong)).collect();
        together.remove(&0);
        (together.len() > 1).then_some((wrong, together))
    }

    /// What can be reached from a node, itself included, without another one.
    fn reached(&self, from: usize, without: Option<usize>) -> BTreeSet<usize> {
        let (mut seen, mut work) = (BTreeSet::new(), vec![from]);
        while let Some(n) = work.pop() {
            if Some(n) != without && seen.insert(n) {
                work.extend(&self.to[n]);
            }
        }
        seen
    }
}

/// Whether a node has its packets in the order in which they came.
fn is_ordered(before: &[BTreeSet<usize>], node: usize) -> bool {
    let mut seen = BTreeSet::from([node]);
    let mut node = node;
    loop {
        let Some(only) = before[node].first().copied() else { return true };
        if before[node].len() > 1 || !seen.insert(only) {
            return false;
        }
        node = only;
    }
}

fn positions(parts: &[Part<'_>], entries: &[Link]) -> Vec<usize> {
    let elements: Vec<Element<'_>> =
        parts.iter().map(|p| Element { name: p.name, program: p.program, ways: p.ways.unwrap_or_default().to_vec() }).collect();
    graph::positions(&elements, entries.iter().copied())
}
