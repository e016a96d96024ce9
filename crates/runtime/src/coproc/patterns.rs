//! What `stringmatching` and `regexp` share: a unit that loads patterns from initialised data,
//! searches a part of the packet with one of them and keeps the matches for `get_result`.

use super::digest;
use netil::copro::patterns::{Reader, Refusal};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
use std::collections::VecDeque;

/// One thing to search with, which register 0 picks: a group of strings, an expression.
pub trait Pattern: Sized + Send {
    /// All of a unit's, from the start of its initialised data.
    fn load(data: &mut Reader<'_>) -> Result<Vec<Self>, Refusal>;

    /// The matches in the order in which `get_result` gives them, a bounded number.
    fn find<'a>(&'a self, haystack: &'a [u8]) -> impl Iterator<Item = Match> + 'a;

    /// What a search costs for each byte searched, in bytes handled in bulk: with the packet that
    /// makes it slowest.
    fn price(&self) -> u64;

    /// What loading that data costs, in bytes handled in bulk.
    fn load_price(data: &[u8]) -> u64;

    /// `get_result`.
    fn result(matches: &mut VecDeque<Match>, registers: &mut Registers);
}

/// Where a pattern was found.
#[derive(Clone, Copy)]
pub struct Match {
    /// The program's number of the pattern.
    pub number: u32,
    /// One past its last byte, from the start of the search.
    pub end: u32,
    /// Bytes.
    pub len: u32,
}

/// The unit.
pub struct Searcher<P> {
    loaded: Option<Loaded<P>>,
    matches: VecDeque<Match>,
}

struct Loaded<P> {
    patterns: Vec<P>,
    fingerprint: u64,
}

impl<P> Default for Searcher<P> {
    fn default() -> Self {
        Self { loaded: None, matches: VecDeque::new() }
    }
}

impl<P: Pattern> Coprocessor for Searcher<P> {
    fn init(&mut self, data: &[u8]) -> u32 {
        *self = Self::default();
        match Loaded::new(data) {
            Ok(loaded) => {
                self.loaded = Some(loaded);
                0
            }
            Err(refusal) => refusal as u32,
        }
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        match operation {
            0 => self.matches.clear(),
            1 | 2 => self.search(operation, registers, views)?,
            _ => P::result(&mut self.matches, registers),
        }
        Ok(())
    }

    fn init_work(&self, data: &[u8]) -> u64 {
        P::load_price(data)
    }

    fn work(&self, operation: u32, registers: &Registers, views: Views<'_>) -> u64 {
        let pattern = self.loaded.as_ref().and_then(|l| l.patterns.get(registers[0] as usize));
        match (operation, pattern, views.packet) {
            (1 | 2, Some(pattern), Some(packet)) => pattern.price().saturating_mul(haystack(operation, registers, packet).len() as u64),
            _ => 0,
        }
    }

    fn fingerprint(&self) -> u64 {
        let matches = self.matches.iter().flat_map(|m| [m.number, m.end, m.len]);
        self.loaded.as_ref().map_or(0, |l| l.fingerprint).wrapping_add(digest(matches))
    }
}

impl<P: Pattern> Searcher<P> {
    fn search(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        let loaded = self.loaded.as_ref().ok_or(CoproError::NotInitialised)?;
        let pattern = loaded.patterns.get(registers[0] as usize).ok_or(CoproError::BadRegister)?;
        let haystack = haystack(operation, registers, views.shown_packet()?);
        self.matches.clear();
        self.matches.extend(pattern.find(haystack));
        registers[0] = self.matches.len() as u32;
        Ok(())
    }
}

impl<P: Pattern> Loaded<P> {
    fn new(data: &[u8]) -> Result<Self, Refusal> {
        let mut reader = Reader(data);
        let patterns = P::load(&mut reader)?;
        let used = data.len() - reader.0.len();
        Ok(Self { patterns, fingerprint: digest(data[..used].iter().map(|b| u32::from(*b))) })
    }
}

/// The part of the packet that operation 1 (from the start) or 2 (from register 1) searches.
fn haystack<'p>(operation: u32, registers: &Registers, packet: &'p [u8]) -> &'p [u8] {
    let start = if operation == 1 { 0 } else { registers[1] as usize };
    let rest = packet.get(start..).unwrap_or_default();
    &rest[..rest.len().min(registers[2] as usize)]
}
