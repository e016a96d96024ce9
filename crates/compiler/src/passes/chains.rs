//! If-chains to sets and switches.
//!
//! Idea: `x = a, else x = b, else x = c` asks one question. Where all of them lead to the same place it is whether x is in a set, which is one
//! operation, however many values there are ([`crate::sets`]). Tests of other values may stand in between, as in source or destination, if
//! they lead there too: such tests may be asked in any order. Where the places differ it is a switch.
//! Source: the merging of terms in the pcap-filter front end, here for every language; Sayle, "A Superoptimizer Analysis of Multiway Branch
//! Code Generation" (2008), for the switch.
//! Phases: collect chains, each block's only way in being the miss of the one before; what tests one value and leads to many places becomes a switch;
//! runs with one hit become sets. Price: linear, and the sorting of constants.

use super::decisions::{Decision, decision, follow, quiet};
use super::{Context, Target};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Op, Terminator, Type, Value};
use crate::sets;
use netil::set::Set;
use std::collections::{BTreeMap, HashSet};

/// Fewer tests of one value stay branches where one packet is treated after the other.
const FEWEST_TESTS: usize = 3;
/// Fewer keys are no switch.
const FEWEST_KEYS: usize = 4;
/// More values of one test are left to a set.
const MOST_VALUES: u64 = 64;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let cfg = Cfg::new(func);
    let mut taken = vec![false; func.blocks.len()];
    for b in &cfg.order {
        if taken[b.0 as usize] {
            continue;
        }
        let chain = chain(func, context, &cfg, *b);
        chain.iter().for_each(|link| taken[link.block.0 as usize] = true);
        let mut at = 0;
        while at < chain.len() {
            at += switch(func, context, &chain[at..]);
        }
    }
}

/// A block that ends with a test.
struct Link {
    block: Block,
    test: Decision,
}

/// The tests that follow each other from a block on, each where the one before missed.
fn chain(func: &Func, context: &Context<'_>, cfg: &Cfg, first: Block) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut block = first;
    while let Some(test) = decision(func, context, block) {
        let next = test.miss.block;
        links.push(Link { block, test });
        if !follow(func, cfg, next) || !quiet(func, next) {
            break;
        }
        block = next;
    }
    links
}

/// Makes a switch of the first links or, if that is not worth it, sets of those with the same hit. Gives the number of links dealt with.
fn switch(func: &mut Func, context: &Context<'_>, links: &[Link]) -> usize {
    let Some(first) = links.first() else { return 0 };
    let value = first.test.value;
    let fits = |link: &Link| link.test.value == value && values(&link.test) <= MOST_VALUES;
    let movable = |link: &Link| func.block(link.block).ops.iter().filter_map(|v| func.op(*v)).all(Op::is_pure);
    let length = 1 + links[1..].iter().take_while(|link| fits(link) && movable(link)).count();
    let run = &links[..length];
    let hits: HashSet<&Edge> = run.iter().map(|link| &link.test.hit).collect();
    let keys: u64 = run.iter().map(|link| values(&link.test)).sum();
    if !fits(first) || func.width(value) > 32 || hits.len() < FEWEST_TESTS || keys < FEWEST_KEYS as u64 {
        return sets(func, context, links);
    }
    let mut cases: BTreeMap<u32, Edge> = BTreeMap::new();
    for link in run {
        for key in link.test.ranges.iter().flat_map(|(low, high)| *low..=*high) {
            cases.entry(key as u32).or_insert_with(|| link.test.hit.clone());
        }
    }
    context.note(|| format!("{length} tests of {value:?} with {} hits: one switch of {} keys", hits.len(), cases.len()));
    put_switch(func, run, cases);
    length
}

/// How many values a test hits.
fn values(test: &Decision) -> u64 {
    test.ranges.iter().fold(0, |sum: u64, (low, high)| sum.saturating_add(high - low).saturating_add(1))
}

fn put_switch(func: &mut Func, run: &[Link], cases: BTreeMap<u32, Edge>) {
    let (first, last) = (&run[0], &run[run.len() - 1]);
    for link in &run[1..] {
        // Hits may use what was computed on the way to them.
        let ops = std::mem::take(&mut func.block_mut(link.block).ops);
        func.block_mut(first.block).ops.extend(ops);
    }
    let key = match func.width(first.test.value) {
        32 => first.test.value,
        _ => func.append(first.block, Type::Int(32), Op::Zext(first.test.value)),
    };
    func.block_mut(first.block).end = Terminator::Switch(key, cases.into_iter().collect(), last.test.miss.clone());
}

/// The first links with one hit: those of the same value become one test of a set, in the place of the first of them.
fn sets(func: &mut Func, context: &Context<'_>, links: &[Link]) -> usize {
    let hit = &links[0].test.hit;
    let run = &links[..links.iter().take_while(|link| link.test.hit == *hit).count()];
    let mut by_value: BTreeMap<Value, Vec<&Link>> = BTreeMap::new();
    run.iter().for_each(|link| by_value.entry(link.test.value).or_default().push(link));
    for (value, tests) in by_value {
        merge(func, context, value, &tests);
    }
    run.len()
}

fn merge(func: &mut Func, context: &Context<'_>, value: Value, tests: &[&Link]) {
    let ranges = tests.iter().flat_map(|link| link.test.ranges.iter().copied());
    let (name, width) = (format!("of_v{}", value.0), func.width(value));
    let Ok(set) = Set::of_ranges(&name, width, ranges) else { return };
    let grows = tests.iter().any(|link| link.test.ranges.len() > 1) || set.ranges().len() == 1;
    let enough = tests.len() >= FEWEST_TESTS || grows || context.target == Target::Lanes;
    if tests.len() < 2 || !enough {
        return;
    }
    context.note(|| format!("{} tests of {value:?} that lead to one place: one set, {}", tests.len(), sets::why(&set)));
    let set = func.add_set(set);
    let first = tests[0];
    let held = func.append(first.block, Type::Int(1), Op::SetHas(set, value));
    func.block_mut(first.block).end = Terminator::Branch(held, first.test.hit.clone(), first.test.miss.clone());
    for link in &tests[1..] {
        func.block_mut(link.block).end = Terminator::Jump(link.test.miss.clone());
    }
}
