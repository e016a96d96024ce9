//! Signatures of transactions: which bit stands for a word.
//!
//! A hash that mixes all bits of the address makes some words share a bit whatever they are. The
//! application-specific one is a trie over the bits of addresses, made of a profile: the leaf with
//! most accesses is split by the bit of the address that divides it best, until there are as many
//! leaves as bits; so words that are touched most get bits of their own.
//!
//! Source: NetTM paper, section 6.2, after Labrecque and others, "Application-Specific Signatures
//! for Transactional Memory in Soft Processors" (ARC 2010).

use super::scheme::Scheme;
use crate::description::{Hash, Machine};
use crate::steps::{Step, Work};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Packets of which the profile is made.
const PROFILED: usize = 4096;

/// How a word becomes a bit.
pub(crate) enum Signature {
    /// Words themselves.
    Exact,
    /// A hash modulo so many bits.
    Mixed(u64),
    /// Nodes of a trie, the root first.
    Trie(Vec<Node>),
}

pub(crate) enum Node {
    /// Tests a bit of the word: where zeros and ones go.
    Split(u32, usize, usize),
    Leaf(u64),
}

impl Signature {
    /// That of a machine's transactional unit, if the scheme needs one.
    pub(crate) fn of(machine: &Machine, work: &[Work], scheme: Scheme) -> Self {
        let unit = machine.transactions.as_ref().filter(|_| scheme == Scheme::Transactions);
        match unit.map(|t| (t.hash, t.signature_bits.into())) {
            None | Some((_, 0)) => Self::Exact,
            Some((Hash::Mixed, bits)) => Self::Mixed(bits),
            Some((Hash::Trie, bits)) => Self::trie(work, bits),
        }
    }

    /// The bit of a word.
    pub(super) fn bit(&self, word: u64) -> u64 {
        match self {
            Self::Exact => word,
            Self::Mixed(bits) => crate::trace::mixed(word) % bits,
            Self::Trie(nodes) => {
                let mut at = 0;
                loop {
                    match nodes.get(at) {
                        Some(Node::Split(bit, zero, one)) => at = if word >> bit & 1 == 0 { *zero } else { *one },
                        Some(Node::Leaf(leaf)) => return *leaf,
                        None => return 0,
                    }
                }
            }
        }
    }

    /// A trie of so many leaves for what packets touch.
    pub(super) fn trie(work: &[Work], bits: u64) -> Self {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for step in work.iter().take(PROFILED).flat_map(|packet| &packet.steps) {
            let Step::Access(access) = step else { continue };
            let Some((first, words)) = access.shared else { continue };
            (first..first + u64::from(words)).for_each(|word| *counts.entry(word).or_default() += 1);
        }
        let mut nodes = vec![Node::Leaf(0)];
        let mut leaves = BinaryHeap::from([entry(counts.into_iter().collect(), 0)]);
        while (leaves.len() as u64) < bits {
            let Some((_, _, Reverse(at), words)) = leaves.pop() else { break };
            let Some(bit) = best_bit(&words) else {
                // One word: it has its bit.
                leaves.push((0, 0, Reverse(at), words));
                if leaves.peek().is_none_or(|(weight, ..)| *weight == 0) {
                    break;
                }
                continue;
            };
            let (ones, zeros): (Vec<_>, Vec<_>) = words.into_iter().partition(|(word, _)| word >> bit & 1 == 1);
            let (zero, one) = (nodes.len(), nodes.len() + 1);
            nodes.extend([Node::Leaf(0), Node::Leaf(0)]);
            nodes[at] = Node::Split(bit, zero, one);
            leaves.extend([entry(zeros, zero), entry(ones, one)]);
        }
        leaves.into_iter().enumerate().for_each(|(leaf, (_, _, Reverse(at), _))| nodes[at] = Node::Leaf(leaf as u64));
        Self::Trie(nodes)
    }
}

/// Words with how often they are touched.
type Words = Vec<(u64, u64)>;

/// A leaf: its weight, how many words, its node, its words.
fn entry(words: Words, at: usize) -> (u64, usize, Reverse<usize>, Words) {
    let weight = if words.len() > 1 { words.iter().map(|(_, count)| count).sum() } else { 0 };
    (weight, words.len(), Reverse(at), words)
}

/// The bit that divides the weight most evenly; none if there is but one word.
fn best_bit(words: &[(u64, u64)]) -> Option<u32> {
    let all: u64 = words.iter().map(|(_, count)| count).sum();
    let uneven = |bit: &u32| words.iter().filter(|(word, _)| word >> bit & 1 == 1).map(|(_, count)| count).sum::<u64>().abs_diff(all / 2);
    let differ = words.iter().fold((u64::MAX, 0), |(and, or), (word, _)| (and & word, or | word));
    (0..64).filter(|bit| (differ.0 ^ differ.1) >> bit & 1 == 1).min_by_key(uneven)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Access;

    fn touching(words: &[u64]) -> Work {
        let access = |word: &u64| Step::Access(Access { memory: 0, write: true, units: 1, address: 0, shared: Some((*word, 1)) });
        Work { steps: words.iter().map(access).collect(), flow: 0, bytes: 60 }
    }

    #[test]
    fn words_that_are_touched_most_have_bits_of_their_own() {
        // 1,000 and 2,000 often, 64 others once: of four bits two are theirs alone.
        let mut work = vec![touching(&[1000, 2000]); 100];
        work.push(touching(&(1..65).collect::<Vec<_>>()));
        let trie = Signature::trie(&work, 4);
        let others: Vec<u64> = (1..65).map(|word| trie.bit(word)).collect();
        assert_ne!(trie.bit(1000), trie.bit(2000));
        let bits: std::collections::BTreeSet<u64> = others.iter().copied().chain([trie.bit(1000), trie.bit(2000)]).collect();
        assert!(bits.len() <= 4 && bits.iter().all(|bit| *bit < 4), "{bits:?}");
        assert!(!others.contains(&trie.bit(2000)), "{others:?}");
    }

    #[test]
    fn as_many_words_as_bits_are_told_apart() {
        let words: Vec<u64> = (0..16).map(|n| n * 0x1_0000_0001 + 7).collect();
        let trie = Signature::trie(&[touching(&words)], 16);
        let bits: std::collections::BTreeSet<u64> = words.iter().map(|word| trie.bit(*word)).collect();
        assert_eq!(bits.len(), 16);
    }
}
