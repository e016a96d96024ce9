//! `stringmatching`: every occurrence of a group's strings in the packet
//! ([`netil::copro::STRINGMATCHING`]).
//!
//! One Aho-Corasick automaton per group (Aho, Corasick: Efficient string matching, CACM 18, 1975),
//! blind to case if one of its strings is; the others are compared again. Empty strings never
//! match.

use super::patterns::{Match, Pattern, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use netil::copro::Registers;
use netil::copro::patterns::{MAX_MATCHES, Reader, Refusal, Text, groups, strings_load_price, strings_price};
use std::collections::VecDeque;

/// Groups with no more text than this get an automaton of the fastest and largest kind: about 2 MB.
const SMALL: usize = 2048;
/// The unit.
pub type StringMatching = Searcher<Group>;

/// One of its groups.
pub struct Group {
    automaton: AhoCorasick,
    strings: Vec<Text>,
    price: u64,
}

impl Pattern for Group {
    fn load(data: &mut Reader<'_>) -> Result<Vec<Self>, Refusal> {
        let made = |strings: Vec<Text>| Ok(Self { automaton: automaton(&strings)?, price: strings_price(&strings), strings });
        groups(data)?.into_iter().map(made).collect()
    }

    fn find<'a>(&'a self, haystack: &'a [u8]) -> impl Iterator<Item = Match> + 'a {
        let found = self.automaton.find_overlapping_iter(haystack).filter_map(move |found| {
            let string = self.strings.get(found.pattern().as_usize())?;
            let same = string.any_case || haystack.get(found.range()) == Some(&string.bytes[..]);
            same.then_some(Match { number: string.number, end: found.end() as u32, len: found.len() as u32 })
        });
        found.take(MAX_MATCHES)
    }

    fn price(&self) -> u64 {
        self.price
    }

    fn load_price(data: &[u8]) -> u64 {
        strings_load_price(data)
    }

    /// Takes the next match.
    fn result(matches: &mut VecDeque<Match>, registers: &mut Registers) {
        let next = if registers[0] > 0 { matches.pop_front() } else { None };
        let result = next.map_or([0; 4], |m| [registers[0] - 1, m.number, m.end, m.len]);
        registers[..4].copy_from_slice(&result);
    }
}

fn automaton(strings: &[Text]) -> Result<AhoCorasick, Refusal> {
    let text: usize = strings.iter().map(|s| s.bytes.len()).sum();
    let kind = if text <= SMALL { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
    let any_case = strings.iter().any(|s| s.any_case);
    let mut builder = AhoCorasick::builder();
    builder.kind(Some(kind)).ascii_case_insensitive(any_case);
    builder.build(strings.iter().map(|s| &s.bytes)).map_err(|_| Refusal::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::synth::Random;
    use netil::copro::{CoproError, Coprocessor, Views};

    fn data(groups: &[&[(&[u8], u16, u32)]]) -> Vec<u8> {
        let mut out = (groups.len() as u16).to_le_bytes().to_vec();
        for group in groups {
            out.extend((group.len() as u16).to_le_bytes());
            for (text, any_case, number) in *group {
                out.extend((text.len() as u16).to_le_bytes());
                out.extend(any_case.to_le_bytes());
                out.extend(number.to_le_bytes());
                out.extend(*text);
            }
        }
        out
    }

    fn search(unit: &mut StringMatching, operation: u32, [group, start, len]: [u32; 3], packet: &[u8]) -> Vec<[u32; 3]> {
        let mut registers = [0; 32];
        registers[..3].copy_from_slice(&[group, start, len]);
        unit.invoke(operation, &mut registers, Views::of(packet, &[])).unwrap();
        let mut found = Vec::new();
        while registers[0] > 0 {
            unit.invoke(3, &mut registers, Views::of(packet, &[])).unwrap();
            found.push([registers[1], registers[2], registers[3]]);
        }
        unit.invoke(3, &mut registers, Views::NONE).unwrap();
        assert_eq!(registers[..4], [0; 4]);
        found
    }

    #[test]
    fn finds_what_overlaps_and_minds_the_case_where_asked() {
        let mut unit = StringMatching::default();
        assert_eq!(unit.init(&data(&[&[(b"he", 0, 10), (b"she", 1, 11), (b"", 0, 9)], &[]])), 0);
        assert_eq!(search(&mut unit, 1, [0, 7, 100], b"uSHE she"), [[11, 4, 3], [11, 8, 3], [10, 8, 2]]);
        assert_eq!(search(&mut unit, 2, [0, 5, 3], b"uSHE she"), [[11, 3, 3], [10, 3, 2]]);
        assert_eq!(search(&mut unit, 2, [0, 5, 2], b"uSHE she"), [[0; 3]; 0]);
        assert_eq!(search(&mut unit, 2, [0, u32::MAX, u32::MAX], b"uSHE she"), [[0; 3]; 0]);
        assert_eq!(search(&mut unit, 1, [1, 0, 100], b"she"), [[0; 3]; 0]);
    }

    #[test]
    fn says_why_it_does_not_work() {
        let mut unit = StringMatching::default();
        let mut registers = [0; 32];
        assert_eq!(unit.invoke(1, &mut registers, Views::of(&[], &[])), Err(CoproError::NotInitialised));
        let good = data(&[&[(b"abc", 0, 1)]]);
        for cut in 0..good.len() {
            assert_eq!(unit.init(&good[..cut]), 1, "cut at {cut}");
        }
        assert_eq!(unit.init(&good), 0);
        assert_eq!(unit.invoke(1, &mut registers, Views::NONE), Err(CoproError::NoPacket));
        registers[0] = 1;
        assert_eq!(unit.invoke(1, &mut registers, Views::of(&[], &[])), Err(CoproError::BadRegister));
        let long: &[u8] = &[b'a'; 65_535];
        assert_eq!(unit.init(&data(&[&[(long, 0, 0); 5]])), 2);
        assert_eq!(unit.init(&data(&[&[(long, 1, 0); 4]])), 0);
    }

    #[test]
    fn what_a_search_costs_counts_occurrences_in_the_wrong_case() {
        let price = |group: &[(&[u8], u16, u32)]| {
            let mut unit = StringMatching::default();
            assert_eq!(unit.init(&data(&[group])), 0);
            let mut registers = [0; 32];
            registers[2] = 10;
            assert_eq!(unit.work(3, &registers, Views::of(&[0; 60], &[])), 0);
            unit.work(1, &registers, Views::of(&[0; 60], &[])) / 10
        };
        assert_eq!(price(&[(b"a", 0, 1), (b"aa", 0, 2), (b"A", 0, 3)]), 1);
        assert_eq!(price(&[(b"a", 1, 1), (b"aa", 1, 2), (b"A", 1, 3)]), 1);
        assert_eq!(price(&[(b"a", 1, 1), (b"aa", 0, 2), (b"A", 0, 3), (b"b", 0, 4)]), 3);
        assert_eq!(StringMatching::default().init_work(&[0; 10]), 640);
        assert_eq!(StringMatching::default().init_work(&vec![0; 1 << 20]), 1 << 24);
    }

    #[test]
    fn matches_are_kept_up_to_the_limit() {
        let mut unit = StringMatching::default();
        unit.init(&data(&[&[(b"a", 0, 1), (b"aa", 0, 2)]]));
        assert_eq!(search(&mut unit, 1, [0, 0, 5000], &[b'a'; 5000]).len(), MAX_MATCHES);
    }

    #[test]
    fn agrees_with_a_window_over_the_packet() {
        let mut random = Random(6);
        let mut text = |n: u64| -> Vec<u8> { (0..random.within(1, n)).map(|_| b"abAB"[random.within(0, 4) as usize]).collect() };
        for round in 0..300 {
            let patterns: Vec<_> = (0..6).map(|i| (text(5), u16::from((round + i) % 3 == 0), i as u32)).collect();
            let rows: Vec<_> = patterns.iter().map(|(t, c, n)| (t.as_slice(), *c, *n)).collect();
            let (mut unit, packet) = (StringMatching::default(), text(60));
            assert_eq!(unit.init(&data(&[&rows])), 0);
            let mut found = search(&mut unit, 1, [0, 0, 60], &packet);
            let mut expected = naive(&rows, &packet);
            found.sort();
            expected.sort();
            assert_eq!(found, expected);
        }
    }

    fn naive(patterns: &[(&[u8], u16, u32)], packet: &[u8]) -> Vec<[u32; 3]> {
        let mut found = Vec::new();
        for (text, any_case, number) in patterns {
            for (at, window) in packet.windows(text.len()).enumerate() {
                if window == *text || *any_case != 0 && window.eq_ignore_ascii_case(text) {
                    found.push([*number, (at + text.len()) as u32, text.len() as u32]);
                }
            }
        }
        found
    }
}
