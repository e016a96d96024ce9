//! If-chains to sets and switches.
//!
//! Idea: `x = a, else x = b, else x = c` asks one question. Where all of them lead to the same
//! place it is whether x is in a set, which is one operation, however many values there are
//! ([`crate::sets`]). Tests of other values may stand in between, as in source or destination, if
//! they lead there too: such tests may be asked in any order. Where the places differ it is a
//! switch. Source: the merging of terms in the pcap-filter front end, here for every language;
//! Sayle, "A Superoptimizer Analysis of Multiway Branch Code Generation" (2008), for the switch.
//! Phases: collect chains, each block's only way in being the miss of the one before; what tests
//! one value and leads to many places becomes a switch; runs with one hit become sets. Price:
//! linear, and the sorting of constants.

use super::Context;
use super::decisions::{Decision, decision, follow, quiet};
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
/// Ranges of a chain's tests, which are held in memory: thousands of tests may each ask for a large
/// set.
const MOST_RANGES: usize = 1 << 16;

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

/// The tests that follow each other from a block on, each where the one before missed. Behind
/// [`MOST_RANGES`] another chain begins.
fn chain(func: &Func, context: &Context<'_>, cfg: &Cfg, first: Block) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let (mut block, mut ranges) = (first, 0);
    while let Some(test) = decision(func, context, block) {
        let next = test.miss.block;
        ranges += test.ranges.len();
        links.push(Link { block, test });
        if ranges > MOST_RANGES || !follow(func, cfg, next) || !quiet(func, next) {
            break;
        }
        block = next;
    }
    links
}

/// Makes a switch of the first links or, if that is not worth it, sets of those with the same hit.
/// Gives the number of links dealt with.
fn switch(func: &mut Func, context: &Context<'_>, links: &[Link]) -> usize {
    let run = of_one_value(func, links);
    let hits: HashSet<&Edge> = run.iter().map(|link| &link.test.hit).collect();
    let keys: u64 = run.iter().map(|link| values(&link.test)).sum();
    if hits.len() < FEWEST_TESTS || keys < FEWEST_KEYS as u64 {
        return all_sets(func, context, links, run.len().max(1));
    }
    let mut cases: BTreeMap<u32, Edge> = BTreeMap::new();
    for link in run {
        for key in link.test.ranges.iter().flat_map(|(low, high)| *low..=*high) {
            cases.entry(key as u32).or_insert_with(|| link.test.hit.clone());
        }
    }
    let (length, value) = (run.len(), run[0].test.value);
    context.note(|| format!("{length} tests of {value:?} with {} hits: one switch of {} keys", hits.len(), cases.len()));
    put_switch(func, run, cases);
    length
}

/// The first links, as far as they test the value of the first one, have few keys each, and only
/// compute what may be computed before. What reads memory stays behind the tests that spare it.
fn of_one_value<'l>(func: &Func, links: &'l [Link]) -> &'l [Link] {
    let value = links[0].test.value;
    let fits = |link: &Link| link.test.value == value && func.width(value) <= 32 && values(&link.test) <= MOST_VALUES;
    let movable = |link: &Link| func.block(link.block).ops.iter().filter_map(|v| func.op(*v)).all(Op::is_pure);
    let length = links.iter().enumerate().take_while(|(i, link)| fits(link) && (*i == 0 || movable(link))).count();
    &links[..length]
}

/// At least that many links become sets: no part of a run is worth a switch that the whole is not
/// worth.
fn all_sets(func: &mut Func, context: &Context<'_>, links: &[Link], least: usize) -> usize {
    let mut done = 0;
    while done < least {
        done += sets(func, context, &links[done..]);
    }
    done
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

/// The first links with one hit: those of the same value become one test of a set, in the place of
/// the first of them.
fn sets(func: &mut Func, context: &Context<'_>, links: &[Link]) -> usize {
    let hit = &links[0].test.hit;
    let run = &links[..links.iter().take_while(|link| link.test.hit == *hit).count()];
    let mut by_value: BTreeMap<Value, Vec<&Link>> = BTreeMap::new();
    run.iter().for_each(|link| by_value.entry(link.test.value).or_default().push(link));
    for (value, tests) in by_value.into_iter().filter(|(_, tests)| tests.len() > 1) {
        merge(func, context, value, &tests);
    }
    run.len()
}

fn merge(func: &mut Func, context: &Context<'_>, value: Value, tests: &[&Link]) {
    let ranges = tests.iter().flat_map(|link| link.test.ranges.iter().copied());
    let (name, width) = (format!("of_v{}", value.0), func.width(value));
    let Ok(set) = Set::of_ranges(&name, width, ranges) else { return };
    let grows = tests.iter().any(|link| link.test.ranges.len() > 1) || set.ranges().len() == 1;
    let enough = tests.len() >= FEWEST_TESTS || grows || context.target.lanes;
    if !enough {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::Options;
    use crate::passes::Target;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    #[test]
    fn chains_of_large_sets_are_short() {
        const RANGES: usize = 4000;
        let tests: String = (0..40).map(|k| format!("dup push {k} xor set.has s j.ne yes ")).collect();
        let text = format!("segment .sets .set s, 32 7 ends segment .push .maxstacksize 4 {tests} ret 0 yes: ret 1 ends");
        let mut module = assemble(&text, "test").unwrap();
        module.sets[0] = Set::of_values("s", 32, (0..RANGES as u64).map(|i| i * 1000)).unwrap();
        let program = netil::verify(module).unwrap();
        let options = Options { stop_after: Some("jumps".to_owned()), ..Options::default() };
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &options).unwrap().unwrap();
        let (cfg, context) = (Cfg::new(&func), Context::new(&program, Target::HERE));
        let longest = cfg.order.iter().map(|b| chain(&func, &context, &cfg, *b).len()).max();
        assert_eq!(longest, Some(MOST_RANGES / RANGES + 1));
    }
}
