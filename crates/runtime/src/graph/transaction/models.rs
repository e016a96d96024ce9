//! Models: threads that run transactions on a state in common, in all orders (`--cfg loom`) or many
//! random ones (`--cfg shuttle`).
//!
//! What is looked at is the protocol: entries are read one by one, each under the lock; the commit
//! compares and writes under it; who conflicts begins again, and at last holds the lock. If a
//! commit wrote what it had read before another's, an addition would be lost; if a run saw half of
//! another, pairs would be apart.

use super::super::share::{Common, Memory, Policy, Share, Slot, Sum};
use super::{Begun, see};
use netil::exec::State;
use netil::module::{Module, Table as Declaration, TableKind};
use netil::tables::{Reference, Table};
use std::sync::Arc;

#[cfg(loom)]
use loom::thread::spawn;
#[cfg(shuttle)]
use shuttle::thread::spawn;

#[cfg(loom)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[cfg(shuttle)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, 5_000);
}

fn declaration(capacity: u32) -> Declaration {
    let entries = Vec::new();
    Declaration { name: "t".into(), kind: TableKind::Exact, key_bits: 16, value_bytes: 1, capacity, timeout_ns: 0, entries }
}

fn module(capacity: u32) -> Module {
    Module { tables: vec![declaration(capacity)], ..Module::default() }
}

/// A state in common with a table and some data, of which the first byte is a sum.
fn slot(capacity: u32) -> Arc<Slot> {
    let make = move || {
        let mut state = State::empty();
        state.tables = vec![Box::new(Reference::new(&declaration(capacity)))];
        state.data = vec![0; 2];
        Ok(state)
    };
    let common = Arc::new(Common::new(2, [(0, Policy::Transaction(Arc::new(memory())))].into()));
    Share { index: 0, replicas: 2, common }.state(0, &Module::default(), make).unwrap().unwrap()
}

fn memory() -> Memory {
    Memory { sums: vec![Sum { at: 0, bytes: 1, big_endian: false }], ..Memory::default() }
}

/// Runs a transaction until it commits; after three runs with the lock.
fn transact(slot: &Arc<Slot>, capacity: u32, run: impl Fn(&mut State)) {
    let (mut state, mut begun) = (State::empty(), Begun::default());
    see(&mut state, &module(capacity), slot);
    for again in 0..3 {
        let commits = slot.counts.commits();
        begun.begin(&mut state, slot);
        run(&mut state);
        match begun.commit(&mut state, slot, &memory(), 0) {
            Ok(()) => return slot.counts.committed(),
            Err(place) => {
                slot.counts.conflicts(place);
                slot.counts.wait(commits, again);
            }
        }
    }
    run(&mut slot.lock());
}

fn add(table: &mut dyn Table, key: u64) {
    let entry = table.insert(&[key], 0);
    if let Some(value) = table.value_mut(entry) {
        value[0] += 1;
    }
}

fn value(slot: &Slot, key: u64) -> u8 {
    let mut state = slot.lock();
    let entry = state.tables[0].find(&[key], 0, false);
    state.tables[0].value(entry).map_or(0, |value| value[0])
}

/// Two additions to one entry, and to a sum and a variable of data memory.
#[test]
fn no_addition_is_lost() {
    check(|| {
        let slot = slot(4);
        let count = |state: &mut State| {
            add(state.tables[0].as_mut(), 7);
            state.data[0] += 1;
            state.data[1] += 1;
        };
        let other = Arc::clone(&slot);
        let thread = spawn(move || transact(&other, 4, count));
        transact(&slot, 4, count);
        thread.join().unwrap();
        assert_eq!((value(&slot, 7), &slot.lock().data[..]), (2, &[2, 2][..]));
    });
}

/// One writes two entries together; who commits has seen both, or none.
#[test]
fn pairs_are_seen_together() {
    check(|| {
        let slot = slot(4);
        let other = Arc::clone(&slot);
        let writes = |state: &mut State| (1..3).for_each(|key| add(state.tables[0].as_mut(), key));
        let thread = spawn(move || transact(&other, 4, writes));
        // Three stands for what a run has seen: 1 for the first, 2 for the second.
        let reads = |state: &mut State| {
            let table = state.tables[0].as_mut();
            let seen = [1, 2].map(|key| table.find(&[key], 0, false) != 0);
            let entry = table.insert(&[3], 0);
            if let Some(value) = table.value_mut(entry) {
                value[0] = 1 + u8::from(seen[0]) + 2 * u8::from(seen[1]);
            }
        };
        transact(&slot, 4, reads);
        thread.join().unwrap();
        assert!([1, 4].contains(&value(&slot, 3)), "{}", value(&slot, 3));
    });
}

/// A table with room for one entry: one of two gets it.
#[test]
fn a_full_table_is_full_for_one() {
    check(|| {
        let slot = slot(1);
        let other = Arc::clone(&slot);
        let thread = spawn(move || transact(&other, 1, |state| add(state.tables[0].as_mut(), 1)));
        transact(&slot, 1, |state| add(state.tables[0].as_mut(), 2));
        thread.join().unwrap();
        assert_eq!(value(&slot, 1) + value(&slot, 2), 1);
        assert_eq!(slot.lock().tables[0].len(0), 1);
    });
}
