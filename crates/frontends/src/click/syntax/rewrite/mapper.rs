//! Mappers: elements whose patterns a rewriter takes in turn (RoundRobinIPMapper), or by the
//! packet's source (SourceIPHashMapper).
//!
//! `RoundRobinIPMapper(PATTERN, …)`; `SourceIPHashMapper(NODES SEED, PATTERN ID, …)`, by consistent
//! hashing: each pattern has NODES places on a circle, random numbers of the seed, and a source is
//! of the first place behind its hash, so that few sources change their pattern when one more is
//! there. Random numbers are those of glibc's `random`, so that sources go where Click sends them.
//!
//! Source: Click's manuals; Karger et al., Consistent Hashing and Random Trees (STOC 1997); for the
//! numbers the documentation of `random(3)`.

use super::{Fields, Pattern, Request, initialiser, integer, single};
use crate::click::syntax::ArgumentError;

/// Places of all patterns on the circle, at most.
const MOST_NODES: usize = 1 << 16;

/// Whether the first argument of a mapper is `NODES SEED`.
pub(super) fn is_seed(argument: &str) -> bool {
    seed(argument).is_some()
}

fn seed(argument: &str) -> Option<(usize, i32)> {
    match &Request::words(argument)[..] {
        [nodes, seed] => {
            let number = |text: &str| integer::parse(text, 0).ok();
            let nodes = number(nodes).and_then(|nodes| usize::try_from(nodes).ok()).filter(|nodes| *nodes > 0);
            nodes.zip(number(seed).and_then(|seed| i32::try_from(seed).ok()))
        }
        _ => None,
    }
}

/// A pattern's identifier: a whole number, of which Click keeps 16 bits.
fn id_of(word: &str) -> Option<u16> {
    let number = integer::parse(word, 0).ok()?;
    i32::try_from(number).ok().filter(|number| *number >= 0).map(|number| number as u16)
}

/// A pattern, with an identifier behind it or not; as it would be an input of a rewriter.
pub(super) fn choice(
    request: &Request<'_>,
    argument: &str,
    identified: bool,
    fields: Fields,
    patterns: &mut Vec<Pattern>,
) -> Result<(String, u16), ArgumentError> {
    let mut words = Request::words(argument);
    let mut id = 0;
    if identified {
        id = words
            .pop()
            .and_then(|word| id_of(&word))
            .ok_or_else(|| ArgumentError::new(format!("`{argument}`: bad server ID in pattern spec")))?;
    }
    if words.first().is_none_or(|word| word != "pattern") {
        words.insert(0, "pattern".to_owned());
    }
    single(request, &words.join(" "), fields, patterns).map(|row| (row, id))
}

/// The row of an input with a mapper, and those that it chooses from.
pub(super) fn rows(
    request: &Request<'_>,
    arguments: &[String],
    fields: Fields,
    patterns: &mut Vec<Pattern>,
) -> Result<Vec<String>, ArgumentError> {
    let identified = arguments.first().is_some_and(|first| is_seed(first));
    let given = &arguments[usize::from(identified)..];
    // As in Click, a mapper may name outputs that this rewriter has not: flows that it sends there
    // are dropped.
    let request = &Request { outputs: u32::MAX, ..*request };
    let mut rows = vec![initialiser("PATTERN", 0, 0, Pattern::default(), 0)];
    for argument in given {
        rows.push(choice(request, argument, identified, fields, patterns)?.0);
    }
    if rows.len() == 1 { Err(ArgumentError::new("the mapper has no patterns")) } else { Ok(rows) }
}

/// Places on the circle and the patterns that they are of, from the lowest on, the one for hashes
/// behind all first; none if patterns are taken in turn.
pub(super) fn nodes(request: &Request<'_>, argument: &str) -> Result<Vec<(u32, u16)>, ArgumentError> {
    let words = Request::words(argument);
    let arguments = words.first().and_then(|name| request.names.mapper(name)).unwrap_or_default();
    let Some((places, seed)) = arguments.first().and_then(|first| seed(first)) else { return Ok(Vec::new()) };
    let ids: Vec<u16> = arguments[1..].iter().filter_map(|argument| id_of(Request::words(argument).last()?)).collect();
    if ids.len().saturating_mul(places) > MOST_NODES {
        return Err(ArgumentError::new(format!("the mapper has more than {MOST_NODES} places for its patterns")));
    }
    Ok(circle(places, seed, &ids))
}

/// Servers are numbered by their identifiers; those in between, which there are not, use up random
/// numbers, too.
fn circle(places: usize, seed: i32, ids: &[u16]) -> Vec<(u32, u16)> {
    let mut random = Random::new(seed);
    let servers = ids.iter().max().map_or(0, |most| usize::from(*most) + 1);
    let (mut all, mut index) = (Vec::new(), 0);
    for server in 0..servers {
        let is_there = ids.iter().any(|id| usize::from(*id) == server);
        for _ in 0..places {
            let key = random.next();
            if is_there {
                all.push((key, index));
            }
        }
        index += u16::from(is_there);
    }
    all.sort_by_key(|(key, _)| *key);
    let behind_all = root(all.len());
    let first = all.get(behind_all).copied().unwrap_or_default();
    all.insert(0, first);
    all
}

/// Which of so many sorted nodes is the root of the balanced tree that they are searched in: it
/// stands for what is behind all of them.
fn root(count: usize) -> usize {
    let (size, count) = (count as i64, count);
    let mut n = 1i64;
    while n <= size {
        n <<= 1;
    }
    let (h, s) = (n - 1, n >> 1);
    let f = 2 * ((size + 1) / 2) - 2 * ((h - size) / 2) + 1;
    let from = if s < f { s } else { (s + f - 1) / 2 };
    usize::try_from(from - 1).unwrap_or(0).min(count.saturating_sub(1))
}

/// The additive feedback generator of `random(3)`, with 31 words of state.
struct Random {
    state: Vec<u32>,
    at: usize,
}

const WORDS: usize = 31;
const LAG: usize = 3;

impl Random {
    fn new(seed: i32) -> Self {
        let mut word = i64::from(if seed == 0 { 1 } else { seed });
        let mut state = vec![word as u32];
        for _ in 1..WORDS {
            word = (16807 * word) % 2_147_483_647;
            word += if word < 0 { 2_147_483_647 } else { 0 };
            state.push(word as u32);
        }
        let mut random = Self { state, at: 0 };
        for _ in 0..10 * WORDS {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u32 {
        let front = (self.at + LAG) % WORDS;
        self.state[front] = self.state[front].wrapping_add(self.state[self.at]);
        self.at = (self.at + 1) % WORDS;
        self.state[front] >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_those_of_the_library() {
        let mut random = Random::new(1);
        assert_eq!([0; 3].map(|_| random.next()), [1_804_289_383, 846_930_886, 1_681_692_777]);
    }

    #[test]
    fn every_server_has_its_places() {
        let nodes = circle(4, 7, &[0, 2]);
        assert_eq!(nodes.len(), 9);
        assert!(nodes[1..].windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert!([0, 1].iter().all(|server| nodes[1..].iter().filter(|(_, of)| of == server).count() == 4));
    }
}
