//! Lookups of the longest prefix, of every width.

use super::{PACKETS, recorded};
use netvm_aot::build::Compiler;
use std::collections::BTreeSet;

/// Lookups of a packet.
const KEYS: u32 = 5;

/// Numbers that look random (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The first bits of a key of so many.
fn cut(key: u128, key_bits: u32, length: u32) -> u128 {
    key.checked_shr(key_bits - length).unwrap_or(0).checked_shl(key_bits - length).unwrap_or(0)
}

/// Any key.
fn any(key_bits: u32, seed: &mut u64) -> u128 {
    (u128::from(random(seed)) << 64 | u128::from(random(seed))) >> (128 - key_bits)
}

/// A key that agrees with a prefix, mostly with more of it than is asked for; or one that does not,
/// for a bit.
fn near((prefix, length): (u128, u32), key_bits: u32, seed: &mut u64) -> u128 {
    let agrees = length + (random(seed) % u64::from(key_bits - length + 1)) as u32;
    let wrong = if random(seed).is_multiple_of(3) { 1 << (random(seed) % u64::from(key_bits)) } else { 0 };
    let bits = any(key_bits, seed);
    prefix ^ bits ^ cut(bits, key_bits, agrees) ^ wrong
}

/// One of the prefixes.
fn one(prefixes: &BTreeSet<(u128, u32)>, seed: &mut u64) -> (u128, u32) {
    *prefixes.iter().nth(random(seed) as usize % prefixes.len()).unwrap()
}

/// A case of [`recorded`]: prefixes that lie in each other, and packets full of keys near them;
/// what is found for each is stored.
fn of_prefixes(key_bits: u32, capacity: u32, default: bool, seed: &mut u64) -> String {
    let mut prefixes = BTreeSet::from([(0, if default { 0 } else { 9 })]);
    while prefixes.len() < 150 {
        let longer = 5 + (random(seed) % u64::from(key_bits - 4)) as u32;
        let key = near(one(&prefixes, seed), key_bits, seed);
        prefixes.insert((cut(key, key_bits, longer), longer));
    }
    let bytes = key_bits / 8;
    let mut text = format!("prefixes of {key_bits} bits of {capacity}\n");
    for _ in 0..PACKETS {
        text += "; packet: ";
        for _ in 0..KEYS {
            let key = if random(seed).is_multiple_of(6) { any(key_bits, seed) } else { near(one(&prefixes, seed), key_bits, seed) };
            text += &format!("{key:0width$x}", width = 2 * bytes as usize);
        }
        text += "\n";
    }
    text += &format!("segment .metadata\n.info_size 256\nends\nsegment .tables\n.table routes, prefix, {key_bits}, 4, {capacity}\n");
    for (i, (prefix, length)) in prefixes.iter().enumerate() {
        text += &format!(".entry {prefix:#x}, {:#x}, 0, {i:#010x}\n", cut(u128::MAX >> (128 - key_bits), key_bits, *length));
    }
    text += "ends\nsegment .push\npop\n";
    let found = if default { "t.load routes, 32, 0" } else { "t.valid routes" };
    for key in 0..KEYS {
        text += &format!("push {}\nw.pload {key_bits}\nt.find routes\n{found}\npush {}\nistore.32\n", key * bytes, 4 * key);
    }
    text + "ret 1\nends\n"
}

#[test]
fn prefixes_of_every_width_are_found() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    let mut seed = std::env::var("NETVM_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    for (i, (key_bits, capacity)) in
        [(24, 200), (32, 5000), (40, 200), (64, 9000), (104, 200), (128, 9000), (128, 200)].into_iter().enumerate()
    {
        assert!(recorded(&of_prefixes(key_bits, capacity, i % 3 != 0, &mut seed)), "{key_bits}");
    }
}
