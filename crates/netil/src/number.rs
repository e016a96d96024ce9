//! Numbers of packets: what random numbers are functions of, besides seed and place
//! ([`crate::exec::random`]).
//!
//! A packet gets its number where it arrives, and the number goes with it: between elements,
//! threads, queues and engines. So what is drawn for a packet does not depend on how many packets
//! went where before. A handler that runs without a packet has the next number of its state, and so
//! has a packet that nobody has numbered.
//!
//! Packets that are made from a packet get numbers that are functions of its number, as does what
//! is left of a run whose packet is held back. Invariant: this is the only place that says which;
//! compiled C has the same (`nv_number_of_copy`).

/// Of a packet that has no number yet.
pub const NONE: u64 = u64::MAX;
/// By how much a packet's number grows when a copy is sent.
pub const COPIED: u64 = 0x9fb2_1c65_1e98_df25;
/// Arrivals at one element of an application have numbers that follow each other, and that no other
/// element's reach before so many arrivals.
const RANGE: u32 = 40;

/// The number of the first packet that an element of an application makes or lets arrive; those of
/// the others follow.
pub fn first(element: usize) -> u64 {
    (element as u64) << RANGE
}

/// The number of a copy of a packet, whose own number becomes another: the next copy gets another
/// one, too.
pub fn branch(number: &mut u64) -> u64 {
    *number = number.wrapping_add(COPIED);
    mixed(*number)
}

/// The number of what a run makes, and draws, when its packet is held back.
pub fn rest(number: u64) -> u64 {
    mixed(!number)
}

/// A number that looks random (splitmix64's function).
fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_made_of_packets_has_numbers_of_its_own() {
        let mut all = BTreeSet::new();
        for element in 0..4 {
            for n in 0..100 {
                let mut packet = first(element) + n;
                all.extend([packet, rest(packet)]);
                for _ in 0..5 {
                    let mut copy = branch(&mut packet);
                    all.extend([packet, copy]);
                    all.extend([branch(&mut copy), copy]);
                }
            }
        }
        assert_eq!(all.len(), 4 * 100 * (2 + 5 * 4));
        assert!(!all.contains(&NONE));
    }
}
