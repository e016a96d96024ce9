//! Lookups in tables: netvm's by C over their memory, as compiled programs do it, and by calls,
//! beside tables written by hand and well-kept crates.
//!
//! Keys are drawn at random from what was entered, so that tables larger than the caches miss them.
//! All ways find the same values, or nothing is told.

use crate::captures::{FLOWS, ROUTES};
use crate::lookups::{self, Flow, HandFlows, HandRoutes};
use crate::random::Random;
use crate::traffic;
use netvm::netil::module::{Entry, Table as Declaration, TableKind};
use netvm::netil::tables::Table;
use netvm::tables::make_for;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::time::Instant;

const TIMEOUT: u64 = 1 << 60;

/// What was measured of one table.
#[derive(Serialize)]
pub struct Row {
    /// Flows or routes.
    pub what: &'static str,
    /// Of how many.
    pub entries: usize,
    /// Time per entry to fill it.
    pub entering_ns: f64,
    /// The longest time of the processor's that an entry took.
    pub longest_us: f64,
    /// Ways to look up.
    pub ways: Vec<LookupTiming>,
}

/// One way to look keys up.
#[derive(Serialize)]
pub struct LookupTiming {
    /// Which.
    pub name: &'static str,
    /// Per lookup.
    pub median_ns: f64,
}

/// Everything.
pub fn measure(rounds: usize) -> Result<Vec<Row>, String> {
    let flows = FLOWS.into_iter().map(|n| of_flows(n, rounds));
    flows.chain(ROUTES.into_iter().map(|n| of_routes(n, rounds))).collect()
}

fn declare(kind: TableKind, key_bits: u16, value_bytes: u32, capacity: usize, timeout_ns: u64) -> Declaration {
    Declaration { name: "t".to_owned(), kind, key_bits, value_bytes, capacity: capacity as u32, timeout_ns, entries: Vec::new() }
}

/// Nanoseconds that this thread has run.
pub fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs each; the time per one and the longest, in ns.
fn timed(n: usize, mut each: impl FnMut(usize)) -> (f64, f64) {
    let (start, mut longest) = (Instant::now(), 0);
    let mut before = processor_time();
    for i in 0..n {
        each(i);
        let after = processor_time();
        longest = longest.max(after - before);
        before = after;
    }
    (start.elapsed().as_nanos() as f64 / n as f64, longest as f64)
}

/// Runs all ways in turn; each gives the sum of what it found.
fn compare(rounds: usize, lookups: usize, ways: &mut [(&'static str, &mut dyn FnMut(u64) -> u64)]) -> Result<Vec<LookupTiming>, String> {
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..rounds as u64 {
        let mut sums = Vec::new();
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            let start = Instant::now();
            sums.push(way(round));
            times.push(start.elapsed().as_nanos() as f64 / lookups as f64);
        }
        if sums.iter().any(|sum| *sum != sums[0]) {
            return Err(format!("tables differ: {sums:?}"));
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(ways.iter().zip(&mut times).map(|((name, _), times)| LookupTiming { name, median_ns: median(times) }).collect())
}

fn first_four(value: Option<&[u8]>) -> u64 {
    value.and_then(|value| value.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes).into())
}

/// Flows of a network behind an address translator.
fn flow(n: u64) -> Flow {
    let (source, destination, port) = (0x0a00_0002 + n % 60_000, 0xc612_0000 + n * 2_654_435_761 % 65_536, 1024 + n * 7919 % 60_000);
    Flow { low: source | destination << 32, high: port | 80 << 16 | (6 + n / 60_000) << 32 }
}

fn of_flows(n: usize, rounds: usize) -> Result<Row, String> {
    let flows: Vec<Flow> = (0..n as u64).map(flow).collect();
    let mut table = make_for(&declare(TableKind::Exact, 104, 11, n, TIMEOUT), 3, true);
    let (entering_ns, longest) = timed(n, |i| {
        let at = table.insert(&[flows[i].low, flows[i].high], 0);
        table.value_mut(at).into_iter().for_each(|value| value[..4].copy_from_slice(&(i as u32).to_le_bytes()));
    });
    let (mut hand, mut hashbrown) = (HandFlows::new(n), hashbrown::HashMap::new());
    for (i, flow) in flows.iter().enumerate() {
        hand.insert(flow, i as u32);
        hashbrown.insert(*flow, i as u32);
    }
    let mut random = Random(7);
    let keys: Vec<Flow> = (0..1 << 17).map(|_| flows[random.below(n as u64) as usize]).collect();
    let table = std::cell::RefCell::new(table);
    let by_c = &mut |now| table.borrow_mut().parts().map_or(0, |parts| lookups::flows(parts, &keys, now, TIMEOUT));
    let by_hand = &mut |now| hand.look_up(&keys, now);
    let called = &mut |now| {
        let table = &mut **table.borrow_mut();
        keys.iter().map(|key| found(table, &[key.low, key.high], now)).sum()
    };
    let by_crate = &mut |_| keys.iter().map(|key| u64::from(hashbrown[key])).sum();
    let ways =
        compare(rounds, keys.len(), &mut [("netvm", by_c), ("C by hand", by_hand), ("netvm called", called), ("hashbrown", by_crate)])?;
    Ok(Row { what: "flows", entries: n, entering_ns, longest_us: longest / 1000.0, ways })
}

fn found(table: &mut dyn Table, key: &[u64], now: u64) -> u64 {
    let at = table.find(key, now, true);
    first_four(table.value(at))
}

fn of_routes(n: usize, rounds: usize) -> Result<Row, String> {
    let mut random = Random(8);
    let routes: Vec<_> = traffic::routes(n).into_iter().map(|route| (route.prefix, route.length, route.hop)).collect();
    let mut table = make_for(&declare(TableKind::Prefix, 32, 8, n.max(1 << 16), 0), 3, false);
    let entry = |(prefix, length, hop): (u32, u32, u32)| Entry {
        key: Box::new([prefix.into()]),
        mask: Box::new([(u32::MAX << (32 - length)).into()]),
        priority: 0,
        value: u64::from(hop).to_le_bytes().into(),
    };
    let entries: Vec<Entry> = routes.iter().map(|route| entry(*route)).collect();
    let (entering_ns, longest) = timed(n, |i| _ = table.add(&entries[i], 0));
    let hand = HandRoutes::new(&routes);
    let trie: prefix_trie::PrefixMap<(u32, u8), u32> =
        routes.iter().map(|(prefix, length, hop)| ((*prefix, *length as u8), *hop)).collect();
    let mut key = |(prefix, length, _): (u32, u32, u32)| prefix | random.below(1 << (32 - length)) as u32;
    let keys: Vec<u32> = (0..1 << 18).map(|i| key(routes[i * 7919 % n])).collect();
    let table = std::cell::RefCell::new(table);
    let by_c = &mut |_| table.borrow_mut().parts().map_or(0, |parts| lookups::routes(&parts, &keys));
    let by_hand = &mut |_| hand.look_up(&keys);
    let called = &mut |now| {
        let table = &mut **table.borrow_mut();
        keys.iter().map(|key| found(table, &[u64::from(*key)], now)).sum()
    };
    let by_crate = &mut |_| keys.iter().map(|key| trie.get_lpm(&(*key, 32)).map_or(0, |(_, hop)| u64::from(*hop))).sum();
    let ways =
        compare(rounds, keys.len(), &mut [("netvm", by_c), ("C by hand", by_hand), ("netvm called", called), ("prefix-trie", by_crate)])?;
    Ok(Row { what: "routes", entries: n, entering_ns, longest_us: longest / 1000.0, ways })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C looks up in netvm's memory by itself, so it must keep up with how tables lie there.
    #[test]
    fn all_ways_find_the_same() {
        of_flows(5000, 1).unwrap();
        of_routes(1000, 1).unwrap();
    }
}
