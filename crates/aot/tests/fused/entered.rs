//! Entries that compiled code puts into tables by itself, beside those that it asks for: where
//! tables grow, are full, and have entries that end, are taken out, or are used again.

use super::compare_alone;
use netvm_aot::build::Compiler;

/// Packets of a case.
const PACKETS: u32 = 3000;

/// By a packet's twenty-first byte its key is put in and counted (0), taken out (1), or looked for
/// (2). The packet says when it comes; what is found stands in it, or 0xff bytes.
fn program(key_bits: u32, capacity: u32, timeout: u32) -> String {
    let ends = if timeout > 0 { format!(", {timeout}") } else { String::new() };
    let key = match key_bits {
        16 => "push 0\nupload.16\nw.trunc 32, 16\n".to_owned(),
        bits => format!("push 0\nw.pload {bits}\n"),
    };
    let found = "locload 0\nt.valid t\npush 0\njcmp.eq none\n";
    let note = "locload 0\nt.load t, 32, 0\npush 30\npstore.32\nret 1\n";
    format!(
        "segment .tables\n.table t, exact, {key_bits}, 11, {capacity}{ends}\nends\nsegment .push\n.local 0, entry t\npop\n\
         push 22\nupload.16\nw.zext 32, 64\ntime.set\n\
         push 20\nupload.8\npush 1\njcmp.eq delete\npush 20\nupload.8\npush 2\njcmp.eq look\n\
         {key}t.insert t\nlocstore 0\n{found}locload 0\nt.load t, 32, 0\npush 1\nadd\nlocload 0\nt.store t, 32, 0\n{note}\
         delete: {key}t.delete t\npush 30\npstore.8\nret 1\n\
         look: {key}t.find t\nlocstore 0\n{found}{note}\
         none: push 0xffffffff\npush 30\npstore.32\nret 1\nends\n"
    )
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Mostly new keys at first, then known ones; time stands still, goes on, and now and then leaps.
fn packets(keys: u64, leap: u64) -> Vec<[u8; 60]> {
    let (mut random, mut now) = (Random(keys + leap), 0u16);
    let packet = |n: u32| {
        let key = if n < PACKETS / 3 { u64::from(n) % keys } else { random.below(keys) };
        let what = [0, 0, 0, 0, 0, 1, 2, 2][random.below(8) as usize];
        let by = if random.below(100) == 0 { random.below(leap + 1) } else { random.below(3) };
        now = now.saturating_add(by as u16);
        let mut bytes = [0; 60];
        bytes[..2].copy_from_slice(&(key as u16).to_be_bytes());
        bytes[2..10].copy_from_slice(&key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        bytes[12] = key as u8;
        bytes[20] = what;
        bytes[22..24].copy_from_slice(&now.to_be_bytes());
        bytes
    };
    (0..PACKETS).map(packet).collect()
}

#[test]
fn entries_that_code_puts_in_are_as_the_tables_own() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    for (key_bits, capacity, timeout) in
        [(64, 100_000, 0), (16, 100_000, 200), (104, 100_000, 1000), (104, 90, 150), (64, 300, 0), (48, 300, 40)]
    {
        for keys in [80, 900] {
            let name = format!("{keys} keys of {key_bits} bits, capacity {capacity}, timeout {timeout}");
            compare_alone(&name, &program(key_bits, capacity, timeout), &packets(keys, 2 * u64::from(timeout)));
        }
    }
}
