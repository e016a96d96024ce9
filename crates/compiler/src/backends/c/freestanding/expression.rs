//! Expressions of the coprocessor `regexp` as automata for the same image as strings (`automaton`):
//! 256 arcs a node.
//!
//! An expression is two automata (Thompson 1968; the crate `regex-automata` makes them): one reads
//! the packet forward up to the end of the match that Perl's rules take first, the other reads
//! backward from there to where it begins. In each, whether bytes match is known when the next one
//! has been read, so what the end of the text means is a bit for each node. Nodes are numbered so
//! that one comparison tells the special ones: behind the plain ones the dead node, then those at
//! which there is a match. Where the backward one begins depends on the byte behind the match, as
//! `$` does.
//!
//! The runtime's unit compiles an expression by the crate `regex`; what that refuses, and what it
//! charges, is the same here. Automata are not minimised.

use super::automaton::MOST_NODES;
use crate::backends::c::Unsupported;
use netil::copro::patterns::{self, EXPRESSION_SIZES, Refusal, expression_price};
use netil::copro::{EXPRESSION_SIZE, REGEXP};
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use std::collections::{HashMap, HashSet};

/// The most bytes that making an automaton takes.
const MOST_BYTES: usize = 1 << 28;

/// Whether a coprocessor is this one.
pub(in crate::backends) fn is_known(name: &str) -> bool {
    name == REGEXP.name
}

/// An expression that the runtime's unit takes, with what a byte searched costs, in bytes handled
/// in bulk.
#[derive(Clone, Debug)]
pub(in crate::backends) struct Expression {
    read: patterns::Expression,
    pub(super) price: u64,
}

impl Expression {
    /// As the runtime's unit loads it.
    ///
    /// # Errors
    /// It has a fault, or is too large.
    pub(in crate::backends) fn new(read: patterns::Expression) -> Result<Self, Refusal> {
        let mut builder = regex::bytes::RegexBuilder::new(&read.text);
        builder.unicode(false).dfa_size_limit(EXPRESSION_SIZE).case_insensitive(read.any_case).dot_matches_new_line(read.dot_all);
        builder.multi_line(read.lines).ignore_whitespace(read.spaced).swap_greed(read.least_first);
        let fits = |size: &usize| builder.clone().size_limit(*size).build().is_ok();
        let size = EXPRESSION_SIZES.into_iter().find(fits).ok_or(Refusal::Pattern)?;
        Ok(Self { read, price: expression_price(size) })
    }
}

/// An automaton that reads the packet in one direction.
#[derive(Debug)]
pub(super) struct Walk {
    /// By node the next ones, by byte.
    arcs: Vec<[u32; 256]>,
    /// By node, whether there is a match if the text ends there.
    pub ends: Vec<bool>,
    /// The number of the dead node; those behind it are matches.
    pub dead: u32,
    /// Where it begins: by the byte that lies behind, and at last if none does. Forward it is the
    /// same for all.
    pub starts: Vec<u32>,
}

/// Both automata of an expression.
#[derive(Debug)]
pub(super) struct Walks {
    pub forward: Walk,
    pub back: Walk,
    pub price: u64,
}

impl Walks {
    /// # Errors
    /// An automaton has more nodes than there may be.
    pub(super) fn new(expression: &Expression) -> Result<Self, Unsupported> {
        let (forward, back) = (dfa(&expression.read, false)?, dfa(&expression.read, true)?);
        Ok(Self { forward: walk(&forward, false)?, back: walk(&back, true)?, price: expression.price })
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.forward.arcs.len() + self.back.arcs.len()
    }

    /// Their part of the image, the forward one first: big-endian words of 32 bits.
    pub(super) fn image(&self) -> Vec<u8> {
        self.forward.arcs.iter().chain(&self.back.arcs).flatten().flat_map(|arc| arc.to_be_bytes()).collect()
    }
}

impl Walk {
    /// How many nodes it has.
    pub(super) fn len(&self) -> usize {
        self.arcs.len()
    }
}

fn dfa(read: &patterns::Expression, back: bool) -> Result<dense::DFA<Vec<u32>>, Unsupported> {
    let syntax = syntax::Config::new().unicode(false).utf8(false).case_insensitive(read.any_case).dot_matches_new_line(read.dot_all);
    let syntax = syntax.multi_line(read.lines).ignore_whitespace(read.spaced).swap_greed(read.least_first);
    let mut compiler = thompson::Compiler::new();
    compiler.syntax(syntax).configure(
        thompson::Config::new().utf8(false).reverse(back).which_captures(thompson::WhichCaptures::None).nfa_size_limit(Some(MOST_BYTES)),
    );
    let nfa = compiler.build(&read.text).map_err(|why| Unsupported(format!("the expression '{}': {why}", read.text)))?;
    let (kind, start) = if back { (MatchKind::All, StartKind::Anchored) } else { (MatchKind::LeftmostFirst, StartKind::Unanchored) };
    let table = (MOST_NODES * size_of::<u32>()) << nfa.byte_classes().stride2();
    let config = dense::Config::new().accelerate(false).match_kind(kind).start_kind(start);
    let config = config.dfa_size_limit(Some(table)).determinize_size_limit(Some(MOST_BYTES));
    dense::Builder::new().configure(config).build_from_nfa(&nfa).map_err(|why| match why.is_size_limit_exceeded() {
        true => Unsupported(format!("the expression '{}', whose automaton has more than {MOST_NODES} nodes: repeat less", read.text)),
        false => Unsupported(format!("the expression '{}': {why}", read.text)),
    })
}

/// Its nodes that can be reached, by their new numbers.
fn walk(dfa: &dense::DFA<Vec<u32>>, back: bool) -> Result<Walk, Unsupported> {
    let starts = starts(dfa, back)?;
    let found = reached(dfa, &starts)?;
    // The dead node has a number even where no arc leads to it.
    let (plain, matches): (Vec<StateID>, Vec<StateID>) =
        found.into_iter().filter(|state| !dfa.is_dead_state(*state)).partition(|state| !dfa.is_match_state(*state));
    let dead = plain.len() as u32;
    let all: Vec<Option<StateID>> = plain.into_iter().map(Some).chain([None]).chain(matches.into_iter().map(Some)).collect();
    let numbers: HashMap<StateID, u32> = all.iter().zip(0..).filter_map(|(state, n)| state.map(|state| (state, n))).collect();
    let number = |state: StateID| numbers.get(&state).copied().unwrap_or(dead);
    let row = |state: &Option<StateID>| match state {
        Some(state) => std::array::from_fn(|byte| number(dfa.next_state(*state, byte as u8))),
        None => [dead; 256],
    };
    let ends = all.iter().map(|state| state.is_some_and(|state| dfa.is_match_state(dfa.next_eoi_state(state)))).collect();
    Ok(Walk { arcs: all.iter().map(row).collect(), ends, dead, starts: starts.iter().map(|state| number(*state)).collect() })
}

/// The states that can be reached from some.
fn reached(dfa: &dense::DFA<Vec<u32>>, starts: &[StateID]) -> Result<Vec<StateID>, Unsupported> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let mut meet = |state: StateID, found: &mut Vec<StateID>| {
        if known.insert(state) {
            found.push(state);
        }
    };
    starts.iter().for_each(|state| meet(*state, &mut found));
    let mut done = 0;
    while let Some(state) = found.get(done).copied() {
        done += 1;
        (0..=255u8).for_each(|byte| meet(dfa.next_state(state, byte), &mut found));
        if found.len() > MOST_NODES {
            return Err(Unsupported(format!("an expression whose automaton has more than {MOST_NODES} nodes: repeat less")));
        }
    }
    match found.iter().any(|state| dfa.is_quit_state(*state)) {
        true => Err(Unsupported("an expression that is not over bytes".to_owned())),
        false => Ok(found),
    }
}

/// Where it begins.
fn starts(dfa: &dense::DFA<Vec<u32>>, back: bool) -> Result<Vec<StateID>, Unsupported> {
    let failed = |why| Unsupported(format!("an expression: {why}"));
    if !back {
        return Ok(vec![dfa.start_state_forward(&Input::new(b"").anchored(Anchored::No)).map_err(failed)?]);
    }
    let behind = |byte: &[u8]| dfa.start_state_reverse(&Input::new(byte).span(0..0).anchored(Anchored::Yes)).map_err(failed);
    (0..=255u8).map(|byte| behind(&[byte])).chain([behind(b"")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first match ends and how long it is, by the automata.
    fn find(walks: &Walks, text: &[u8]) -> Option<(usize, usize)> {
        let run = |walk: &Walk, mut node: u32, bytes: &mut dyn Iterator<Item = (usize, u8)>, last: usize| {
            let mut found = None;
            for (at, byte) in bytes {
                node = walk.arcs[node as usize][usize::from(byte)];
                if node == walk.dead {
                    return found;
                }
                found = if node > walk.dead { Some(at) } else { found };
            }
            if walk.ends[node as usize] { Some(last) } else { found }
        };
        let end = run(&walks.forward, walks.forward.starts[0], &mut text.iter().copied().enumerate(), text.len())?;
        let start = walks.back.starts[text.get(end).map_or(256, |byte| usize::from(*byte))];
        let begin = run(&walks.back, start, &mut text[..end].iter().copied().enumerate().map(|(at, byte)| (at + 1, byte)).rev(), 0);
        begin.map(|begin| (end, end - begin))
    }

    #[test]
    fn automata_find_what_the_crate_finds() {
        let (mut random, mut found) = (1u32, 0);
        let mut next = |below: u32| {
            random = random.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            (random >> 8) % below
        };
        for text in [
            "ab",
            "a|ab",
            "(a|ab)(c|bcd)*",
            "a*?b",
            "^a+$",
            "b$",
            r"\bab\b",
            r"\Bb",
            "(?m)^b|a$",
            "a{2,3}?",
            "",
            "[^a]c",
            "x*",
            "(?m)$",
            "a.c",
            r"\x00\xff",
        ] {
            let expression = Expression::new(patterns::Expression { text: text.to_owned(), ..Default::default() }).unwrap();
            let walks = Walks::new(&expression).unwrap();
            let regex = regex::bytes::RegexBuilder::new(text).unicode(false).build().unwrap();
            for _ in 0..200 {
                let packet: Vec<u8> = (0..next(12)).map(|_| b"aabbcd\n \0\xff"[next(10) as usize]).collect();
                let wanted = regex.find(&packet).map(|found| (found.end(), found.len()));
                assert_eq!(find(&walks, &packet), wanted, "{text:?} in {packet:?}");
                found += usize::from(wanted.is_some());
            }
        }
        assert!(found > 1000, "{found}");
    }

    #[test]
    fn prices_and_refusals_are_those_of_the_runtime() {
        let made = |text: &str| Expression::new(patterns::Expression { text: text.to_owned(), ..Default::default() });
        assert_eq!(
            ["abc", "(a|b)*a(a|b){200}c", "(a|b)*a(a|b){1200}c"].map(|text| made(text).map(|e| e.price)),
            [Ok(16), Ok(256), Ok(1024)]
        );
        assert_eq!(made("(").map(|e| e.price), Err(Refusal::Pattern));
        let why = Walks::new(&made("(a|b)*a(a|b){40}c").unwrap()).unwrap_err();
        assert!(why.to_string().contains("more than 131072 nodes"), "{why}");
    }
}
