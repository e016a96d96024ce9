//! What lasts from packet to packet, as bytes of one array map: data memory, shared memory, the
//! exception table; what tables have; and how much of the stack info memory takes. The init handler
//! has run, in the interpreter, when the maps are made.
//!
//! ```text
//! 0  offset of the clock, u64, nanoseconds    8  what one run may spend, u64    16  interface, u32    20  nothing, u32    24  data │ shared │ exceptions, by program
//! ```

use super::Refused;
use crate::backends::start;
use netil::Verified;
use netil::exec::{DEFAULT_BUDGET, EXCEPTIONS};
use netil::module::Entry;
use std::ops::Range;

/// Where the clock's offset is.
pub const CLOCK_AT: u32 = 0;
/// Where the budget is.
pub const BUDGET_AT: u32 = 8;
/// Where the interface is that packets come in by, for programs that are tried
/// ([`World::Map`](super::World)).
pub const INTERFACE_AT: u32 = 16;
/// Where a 0 is of which the kernel's verifier does not know that.
pub(super) const ZERO_AT: u32 = 20;
/// Where memories begin.
pub const MEMORY_AT: u32 = 24;

/// The most bytes of info memory: it shares the stack with what registers do not hold.
const MOST_INFO: u32 = 256;
/// The most bytes that last; an array map's one value.
const MOST_STATE: u32 = 1 << 24;

/// Where everything of a program is.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Where its data memory begins.
    pub start: u32,
    /// Bytes of data memory.
    pub data: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Bytes of info memory, a multiple of eight.
    pub info: u32,
    /// The memories when the init handler has run.
    pub first: Vec<u8>,
    /// What each table has then, and whether it stays for ever.
    pub entries: Vec<Vec<(Entry, bool)>>,
    /// Bytes of data memory that every run writes before it reads them: they are on the stack,
    /// since processors share what is in the map.
    pub scratch: Vec<Range<u32>>,
}

impl Layout {
    /// The layout of a program whose memories begin there.
    pub fn new(program: &Verified, start: u32) -> Result<Self, Refused> {
        let module = program.module();
        let uses = program.uses();
        let info = if uses.info { module.info_size.next_multiple_of(8) } else { 0 };
        if info > MOST_INFO {
            return Err(Refused::whole(format!("{} bytes of info memory; {MOST_INFO} are the most", module.info_size)));
        }
        if program.is_filter() {
            // It uses no tables.
            let entries = vec![Vec::new(); module.tables.len()];
            return Ok(Self { start, info, entries, ..Self::default() });
        }
        if u64::from(start) + u64::from(module.data_size) + u64::from(program.shared_size()) > u64::from(MOST_STATE) {
            return Err(Refused::whole(format!("more than {MOST_STATE} bytes of data and shared memory")));
        }
        let (data, shared) = (module.data_size, program.shared_size());
        let mut layout = Self { start, data, shared, info, ..Self::default() };
        layout.initialise(program)?;
        Ok(layout)
    }

    /// Runs the init handler.
    fn initialise(&mut self, program: &Verified) -> Result<(), Refused> {
        let state = start::state(program).map_err(|why| Refused::whole(why.0))?;
        let mut bytes = vec![0; (self.end() - self.start) as usize];
        let mut put = |at: u32, from: &[u8]| bytes[(at - self.start) as usize..][..from.len()].copy_from_slice(from);
        put(self.start, &state.data);
        put(self.shared_at(), &state.shared);
        let exceptions: Vec<u8> = state.exceptions.iter().flat_map(|v| v.to_le_bytes()).collect();
        put(self.exceptions_at(), &exceptions);
        self.first = bytes;
        self.entries = state.tables.iter().map(|table| start::entries(&**table)).collect();
        Ok(())
    }

    /// Words of scratch memory, by their places in data memory.
    fn scratch_words(&self) -> Vec<u32> {
        let words = self.scratch.iter().flat_map(|range| range.start / 8..range.end.div_ceil(8));
        words.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// Bytes of the stack that scratch memory takes.
    pub fn scratch_size(&self) -> u32 {
        8 * self.scratch_words().len() as u32
    }

    /// Where in scratch memory so many bytes of data memory are, if all of them are there.
    pub fn in_scratch(&self, at: u32, bytes: u32) -> Option<u32> {
        let inside = self.scratch.iter().any(|range| range.start <= at && at + bytes <= range.end);
        let word = self.scratch_words().iter().position(|word| *word == at / 8);
        word.filter(|_| inside).map(|word| 8 * word as u32 + at % 8)
    }

    pub fn shared_at(&self) -> u32 {
        self.start + self.data.next_multiple_of(8)
    }

    pub fn exceptions_at(&self) -> u32 {
        (self.shared_at() + self.shared).next_multiple_of(8)
    }

    /// Where the next program's memories may begin.
    pub fn end(&self) -> u32 {
        (self.exceptions_at() + 4 * EXCEPTIONS as u32).next_multiple_of(8)
    }
}

/// The state map's bytes when programs are loaded.
pub(super) fn bytes(layouts: &[&Layout]) -> Vec<u8> {
    let end = layouts.iter().map(|layout| layout.start as usize + layout.first.len()).max().unwrap_or(0);
    let mut bytes = vec![0; end.max(MEMORY_AT as usize)];
    bytes[BUDGET_AT as usize..INTERFACE_AT as usize].copy_from_slice(&u64::from(DEFAULT_BUDGET).to_le_bytes());
    for layout in layouts {
        bytes[layout.start as usize..][..layout.first.len()].copy_from_slice(&layout.first);
    }
    bytes
}
