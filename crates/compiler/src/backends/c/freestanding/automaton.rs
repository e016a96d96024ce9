//! Strings of the coprocessor `stringmatching` as the image of an automaton: the graph that the
//! Octeon's DFA unit walks in its low-latency memory (NetVM paper, section 5.2), and that C walks
//! elsewhere.
//!
//! A group of strings is an automaton of Aho and Corasick (Efficient string matching, CACM 18,
//! 1975) with all its moves: 256 arcs a node, each the number of the next node. Nodes at which
//! strings end have the highest numbers of their group, so that one comparison tells them: the unit
//! knows terminal nodes in the same way. Which strings end there is not in the image, because cores
//! look at it after the walk.
//!
//! Limits: an arc of the unit's 18-bit mode has 17 bits for the next node, and a node takes 512
//! bytes of the memory (Cavium's public register descriptions, `cvmx-dfa-defs.h`: `DFA_CFG`, next
//! node pointer 16..0, addresses 8..2 within a node). Leaves out the unit's 36-bit mode, replicated
//! nodes and scrambled addresses, which the descriptions do not give in full.

use netil::copro::STRINGMATCHING;
use netil::copro::patterns::{Text, strings_price};

/// The most nodes of a program: what 17 bits count.
pub(super) const MOST_NODES: usize = 1 << 17;
/// Bytes of low-latency memory that a node takes.
pub(super) const NODE_BYTES: usize = 512;
/// No place.
const NONE: u32 = u32::MAX;

/// Whether a coprocessor is this one.
pub(in crate::backends) fn is_known(name: &str) -> bool {
    name == STRINGMATCHING.name
}

/// Whether an operation searches: match and match_with_offset.
pub(super) fn searches(operation: u32) -> bool {
    matches!(operation, 1 | 2)
}

/// The strings that end at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// The first of its own among the group's, and how many there are.
    pub own: (u32, u32),
    /// The next shorter ends that end with it, by their place among the group's; all ones if there
    /// are none.
    pub shorter: u32,
}

/// A group's automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    nodes: Vec<Node>,
    /// By node its number in the image.
    numbers: Vec<u32>,
    /// Nodes in the order in which each comes behind those that it falls back to.
    order: Vec<u32>,
    folds: bool,
    /// The number of the first node at which strings end.
    pub first: u32,
    /// By number from that one which end.
    pub ends: Vec<Ends>,
    /// By the order of ends, strings: the number, the length, and the bytes if the case must be
    /// compared.
    pub strings: Vec<(u32, u32, Option<Vec<u8>>)>,
    /// What a byte searched costs, in bytes handled in bulk.
    pub price: u64,
}

#[derive(Debug, Default)]
struct Node {
    next: Vec<(u8, u32)>,
    own: Vec<u32>,
    back: u32,
}

impl Automaton {
    pub(super) fn new(strings: &[Text]) -> Self {
        let folds = strings.iter().any(|s| s.any_case);
        let mut nodes = trie(strings, folds);
        let order = fall_back(&mut nodes);
        let (ending, shorter) = ending(&nodes, &order);
        let mut numbers = vec![0; nodes.len()];
        let plain = order.iter().filter(|n| !ending[**n as usize]);
        let (first, all) = (plain.clone().count() as u32, plain.chain(order.iter().filter(|n| ending[**n as usize])));
        all.enumerate().for_each(|(number, node)| numbers[*node as usize] = number as u32);
        let (mut ends, mut listed) = (Vec::new(), Vec::new());
        for node in order.iter().map(|n| *n as usize).filter(|n| ending[*n]) {
            let own = (listed.len() as u32, nodes[node].own.len() as u32);
            listed.extend(nodes[node].own.iter().map(|s| &strings[*s as usize]));
            let shorter = if shorter[node] == NONE { NONE } else { numbers[shorter[node] as usize] - first };
            ends.push(Ends { own, shorter });
        }
        let compared = |s: &Text| (folds && !s.any_case).then(|| s.bytes.to_vec());
        let strings_of = listed.iter().map(|s| (s.number, s.bytes.len() as u32, compared(s))).collect();
        Self { nodes, numbers, order, folds, first, ends, strings: strings_of, price: strings_price(strings) }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Its part of the image: by number a node's arcs, big-endian words of 32 bits.
    pub(super) fn image(&self) -> Vec<u8> {
        let mut rows = vec![[0u32; 256]; self.nodes.len()];
        for node in &self.order {
            let at = *node as usize;
            let mut row = if at == 0 { [0; 256] } else { rows[self.numbers[self.nodes[at].back as usize] as usize] };
            for (byte, next) in &self.nodes[at].next {
                let number = self.numbers[*next as usize];
                row[usize::from(*byte)] = number;
                if self.folds {
                    row[usize::from(byte.to_ascii_uppercase())] = number;
                }
            }
            rows[self.numbers[at] as usize] = row;
        }
        rows.iter().flatten().flat_map(|arc| arc.to_be_bytes()).collect()
    }
}

/// Strings with what they share at their beginnings; node 0 is the root.
fn trie(strings: &[Text], folds: bool) -> Vec<Node> {
    let mut nodes = vec![Node::default()];
    for (n, string) in strings.iter().enumerate() {
        let mut at = 0;
        for byte in string.bytes.iter() {
            let byte = if folds { byte.to_ascii_lowercase() } else { *byte };
            let known = nodes[at].next.iter().find(|(b, _)| *b == byte).map(|(_, next)| *next as usize);
            at = known.unwrap_or_else(|| {
                let new = nodes.len();
                nodes.push(Node::default());
                nodes[at].next.push((byte, new as u32));
                new
            });
        }
        nodes[at].own.push(n as u32);
    }
    nodes
}

/// Sets by node the longest other one that it ends with; nodes by their depth.
fn fall_back(nodes: &mut [Node]) -> Vec<u32> {
    let mut order = vec![0];
    let mut done = 0;
    while let Some(at) = order.get(done).copied() {
        done += 1;
        for (byte, to) in nodes[at as usize].next.clone() {
            let mut back = nodes[at as usize].back;
            let step = |nodes: &[Node], from: u32| nodes[from as usize].next.iter().find(|(b, _)| *b == byte).map(|(_, to)| *to);
            while back != 0 && step(nodes, back).is_none() {
                back = nodes[back as usize].back;
            }
            nodes[to as usize].back = if at == 0 { 0 } else { step(nodes, back).unwrap_or(0) };
            order.push(to);
        }
    }
    order
}

/// By node whether strings end there, and the longest other node with strings of its own that it
/// ends with.
fn ending(nodes: &[Node], order: &[u32]) -> (Vec<bool>, Vec<u32>) {
    let (mut ending, mut shorter) = (vec![false; nodes.len()], vec![NONE; nodes.len()]);
    for node in order.iter().skip(1).map(|n| *n as usize) {
        let back = nodes[node].back as usize;
        shorter[node] = if nodes[back].own.is_empty() { shorter[back] } else { back as u32 };
        ending[node] = !nodes[node].own.is_empty() || shorter[node] != NONE;
    }
    (ending, shorter)
}
