//! Entries of exact tables that have no room near where the search for them begins: compiled code
//! asks the table for them.

use super::compare_alone;
use netil::asm::assemble;
use netil::layout::{self, head};
use netvm_aot::build::Compiler;

/// By a packet's ninth byte its key is put in (0), taken out (1), or looked for (2): then the byte
/// behind says whether it was there.
const PROGRAM: &str = "segment .tables\n.table t, exact, 64, 4, 400\nends\nsegment .push\n.local 0, entry t\npop\n\
    push 8\nupload.8\npush 1\njcmp.eq delete\npush 8\nupload.8\npush 2\njcmp.eq look\n\
    push 0\nw.pload 64\nt.insert t\nlocstore 0\nret 1\n\
    delete: push 0\nw.pload 64\nt.delete t\npop\nret 1\n\
    look: push 0\nw.pload 64\nt.find t\nt.valid t\npush 9\npstore.8\nret 1\nends\n";

/// Keys whose searches all begin at one slot, in the table that the test's program has there.
fn colliding(count: usize) -> Vec<u64> {
    let mut table = runtime::coproc::tables::make(&assemble(PROGRAM, "").unwrap().tables[0], 5);
    let parts = table.parts().unwrap();
    let seed = [parts.head[head::SEED0], parts.head[head::SEED1]];
    let keys: Vec<u64> = (0u64..).filter(|key| layout::hash(seed, &[*key]) % (1 << 13) == 3).take(count).collect();
    keys.iter().for_each(|key| assert_ne!(table.insert(&[*key], 0), 0));
    assert!(table.parts().unwrap().head[head::STASHED] > 0, "the test is of what has no room");
    keys
}

#[test]
fn entries_that_lie_elsewhere_are_found() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    let packet = |key: &u64, what: u8| {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&key.to_be_bytes());
        bytes[8] = what;
        bytes
    };
    let keys = colliding(100);
    let all = |what: u8| keys.iter().map(move |key| packet(key, what));
    // Found and put in anew while slots near them are taken, and once some of these are free.
    let taken_out = keys.iter().step_by(3).map(|key| packet(key, 1));
    let packets: Vec<_> = all(0).chain(all(2)).chain(all(0)).chain(taken_out).chain(all(2)).chain(all(0)).chain(all(2)).collect();
    compare_alone("entries that lie elsewhere", PROGRAM, &packets);
}
