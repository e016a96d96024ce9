//! Runs that commit and conflict, one after the other and at the same time.

use super::super::share::{Common, Policy, Share};
use super::*;
use crate::io::synth::Random;
use netil::exec::ExchangeBuffer;
use netil::module::{Table as Declaration, TableKind};
use netil::tables::Reference;

const KEYS: u64 = 6;

fn declaration(capacity: u32) -> Declaration {
    Declaration { name: "t".into(), kind: TableKind::Exact, key_bits: 16, value_bytes: 2, capacity, timeout_ns: 50, entries: Vec::new() }
}

fn slot(declaration: &Declaration, memory: Memory, data: usize) -> Arc<Slot> {
    let make = || {
        let mut state = State::empty();
        state.tables = vec![Box::new(Reference::new(declaration))];
        state.data = vec![0; data];
        Ok(state)
    };
    let common = Arc::new(Common::new(1, [(0, Policy::Transaction(Arc::new(memory)))].into()));
    Share { index: 0, replicas: 1, common }.state(0, &netil::Module::default(), make).unwrap().unwrap()
}

/// A state that sees the one in common.
fn seeing(slot: &Arc<Slot>, declaration: &Declaration) -> State {
    let (mut state, module) = (State::empty(), netil::Module { tables: vec![declaration.clone()], ..netil::Module::default() });
    see(&mut state, &module, slot);
    state
}

/// What a program may do with a table, and what it sees then.
fn step(table: &mut dyn Table, random: &mut Random, now: u64) -> Option<Vec<u8>> {
    let key = [random.within(0, KEYS)];
    let entry = match random.within(0, 4) {
        0 => table.insert(&key, now),
        1 => return Some(vec![table.delete(&key, now).into()]),
        2 => table.find(&key, now, true),
        _ => {
            let looked = table.lookup(&key, now).map(Cow::into_owned);
            let entry = table.find(&key, now, false);
            assert_eq!(looked.as_deref(), table.value(entry));
            entry
        }
    };
    let seen = table.value(entry).map(<[u8]>::to_vec);
    if let Some(value) = table.value_mut(entry).filter(|_| random.within(0, 2) == 0) {
        value[0] = value[0].wrapping_add(random.within(0, 9) as u8);
    }
    seen
}

/// Entries with times of use cannot be compared, but which of them there are later can.
fn entries(table: &dyn Table, now: u64) -> Vec<Vec<Entry>> {
    [0, 20, 40, 60].map(|later| table.entries(now + later)).to_vec()
}

#[test]
fn a_run_that_commits_saw_what_it_would_have_seen_at_its_commit() {
    let (mut commits, mut conflicts, mut full) = (0, 0, 0);
    for seed in 0..4000 {
        let mut random = Random(seed + 1);
        let declaration = declaration(4);
        let slot = slot(&declaration, Memory::default(), 0);
        let mut plain = Reference::new(&declaration);
        for round in 0..6_u64 {
            let (mut state, mut begun, now) = (seeing(&slot, &declaration), Begun::default(), 100 + round * 10);
            begun.begin(&mut state, &slot);
            let (mut own, steps) = (Random(seed * 100 + round + 7), random.within(0, 4) + 1);
            let seen: Vec<_> = (0..steps).map(|_| step(state.tables[0].as_mut(), &mut own, now)).collect();
            // Another run, in between.
            let mut other = Random(seed * 1000 + round);
            if random.within(0, 2) == 0 {
                step(slot.lock().tables[0].as_mut(), &mut other, now);
                step(&mut plain, &mut Random(seed * 1000 + round), now);
            }
            match begun.commit(&mut state, &slot, &Memory::default(), now) {
                Ok(()) => {
                    let mut again = Random(seed * 100 + round + 7);
                    let wanted: Vec<_> = (0..steps).map(|_| step(&mut plain, &mut again, now)).collect();
                    assert_eq!(seen, wanted, "{seed} {round}");
                    commits += 1;
                }
                Err(ConflictSite::Full(_)) => full += 1,
                Err(_) => conflicts += 1,
            }
            assert_eq!(entries(slot.lock().tables[0].as_ref(), now), entries(&plain, now), "{seed} {round}");
        }
    }
    assert!(commits > 10_000 && conflicts > 1000 && full > 100, "{commits} {conflicts} {full}");
}

#[test]
fn sums_grow_and_other_bytes_conflict() {
    let memory = Memory {
        sums: vec![Sum { at: 0, bytes: 4, big_endian: false }, Sum { at: 4, bytes: 2, big_endian: true }],
        scratch: std::iter::once(6..8).collect(),
    };
    let slot = slot(&declaration(4), memory.clone(), 10);
    let run = |add: u8, other: u8, during: &dyn Fn(&mut State)| {
        let (mut state, mut begun) = (seeing(&slot, &declaration(4)), Begun::default());
        begun.begin(&mut state, &slot);
        for (at, by) in [(0, add), (5, add), (6, 9), (8, other)] {
            state.data[at] = state.data[at].wrapping_add(by);
        }
        during(&mut slot.lock());
        begun.commit(&mut state, &slot, &memory, 0)
    };
    assert_eq!(run(3, 1, &|_| {}), Ok(()));
    assert_eq!(run(4, 1, &|state| (state.data[0], state.data[7]) = (255, 1)), Ok(()));
    assert_eq!(slot.lock().data, [3, 1, 0, 0, 0, 7, 18, 1, 2, 0]);
    assert_eq!(run(4, 1, &|state| state.data[9] = 1), Err(ConflictSite::Memory(9)));
    assert_eq!(slot.lock().data, [3, 1, 0, 0, 0, 7, 18, 1, 2, 1]);
}

#[test]
fn conflicts_are_told_by_table_key_and_line() {
    use netil::app::Variable;
    use netil::module::{Handler, Inst};
    use netil::table::Op;
    let code = [(Op::TFind, 7), (Op::TInsert, 9), (Op::Push, 4), (Op::UmLoad32, 5), (Op::TFind, 11)];
    let inst = |op| Inst::with(op, if op == Op::Push { 8 } else { 0 });
    let push = Handler { code: code.map(|(op, _)| inst(op)).to_vec(), lines: code.map(|(_, line)| line).to_vec(), ..Handler::default() };
    let module = netil::Module { tables: vec![declaration(4)], push: Some(push), ..netil::Module::default() };
    let variables = [Variable { name: "next".into(), at: 8, len: 4 }];
    let counts = Counts::default();
    let key = |n: u64| ConflictSite::Entry(0, Box::new([n]), Asked::Found);
    for place in [key(5), ConflictSite::Memory(9), key(5), ConflictSite::Full(0), key(5), ConflictSite::Memory(9)] {
        counts.conflicts(place);
    }
    let told = counts.told(&module, &variables);
    let wanted = "commits 0\naborts 6\nlocked 0\nconflict t 0005 3 line 7,11\nconflict next 2 line 5\nconflict t full 1 line 9\n";
    assert_eq!(told.to_string(), wanted);
    // Of keys behind the first that are told apart is known of which table they are.
    (100..300).for_each(|n| counts.conflicts(key(n)));
    let told = counts.told(&module, &variables);
    assert!(told.conflicts.len() < 70 && told.conflicts.iter().any(|it| it.about == "t" && it.key.is_none() && !it.full && it.count > 100));
    assert_eq!(told.conflicts.iter().map(|conflict| conflict.count).sum::<u64>(), told.aborts);
}

/// Threads that run at the same time: every addition is there at the end, in entries, sums and
/// variables.
#[test]
fn threads_lose_no_addition() {
    const THREADS: u64 = 4;
    const RUNS: u64 = 2000;
    let memory = Memory { sums: vec![Sum { at: 0, bytes: 4, big_endian: false }], ..Memory::default() };
    let declaration = Declaration { timeout_ns: 0, ..declaration(16) };
    let slot = slot(&declaration, memory.clone(), 6);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (slot, declaration, memory) = (Arc::clone(&slot), &declaration, &memory);
            scope.spawn(move || {
                let (mut state, mut begun, mut random) = (seeing(&slot, declaration), Begun::default(), Random(thread + 1));
                for _ in 0..RUNS {
                    let key = random.within(0, KEYS);
                    while {
                        begun.begin(&mut state, &slot);
                        let entry = state.tables[0].insert(&[key], 0);
                        let value = state.tables[0].value_mut(entry).unwrap();
                        let more = u16::from_le_bytes([value[0], value[1]]) + 1;
                        value.copy_from_slice(&more.to_le_bytes());
                        let sum = u32::from_le_bytes(state.data[..4].try_into().unwrap()) + 1;
                        state.data[..4].copy_from_slice(&sum.to_le_bytes());
                        begun.commit(&mut state, &slot, memory, 0).is_err()
                    } {}
                }
            });
        }
    });
    let state = slot.lock();
    let sum: u64 = state.tables[0].entries(0).iter().map(|entry| u64::from(u16::from_le_bytes([entry.value[0], entry.value[1]]))).sum();
    assert_eq!((sum, u64::from(u32::from_le_bytes(state.data[..4].try_into().unwrap()))), (THREADS * RUNS, THREADS * RUNS));
}

/// What is held at a commit, and what a run finds in a queue that others hold packets in.
#[test]
fn packets_are_held_from_the_commit_on() {
    let declaration = declaration(4);
    let slot = slot(&declaration, Memory::default(), 0);
    let (mut state, mut begun) = (seeing(&slot, &declaration), Begun::default());
    let mut run = |work: &dyn Fn(&mut State)| {
        begun.begin(&mut state, &slot);
        work(&mut state);
        let result = begun.commit(&mut state, &slot, &Memory::default(), 0);
        let held: Vec<_> = slot.lock().held.iter().map(|(queue, packet)| (queue, packet.bytes().to_vec())).collect();
        (result, held)
    };
    let packet = |byte: u8| ExchangeBuffer::borrowed(&[byte]).into_owned();
    let hold_and_take = |state: &mut State| {
        state.held.push(1, packet(1));
        assert_eq!(state.held.pop(1).unwrap().bytes(), [1]);
        assert!(state.held.pop(1).is_none());
    };
    assert_eq!(run(&hold_and_take), (Ok(()), vec![]));
    assert_eq!(run(&|state| state.held.push(3, packet(2))), (Ok(()), vec![(3, vec![2])]));
    assert_eq!(run(&|state| state.held.push(3, packet(4))), (Ok(()), vec![(3, vec![2]), (3, vec![4])]));
    assert_eq!(run(&hold_and_take), (Err(ConflictSite::Held), vec![(3, vec![2]), (3, vec![4])]));
    assert_eq!(run(&|_| ()), (Ok(()), vec![(3, vec![2]), (3, vec![4])]), "what that run held is gone");
}
