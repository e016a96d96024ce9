//! What sits behind virtual coprocessors: one file each, implementing [`Coprocessor`] as
//! [`netil::copro::BUILTIN`] describes.
//!
//! Invariants: no operation panics whatever data and registers hold; memory stays within each
//! unit's declared limits; equal states have equal fingerprints, whichever way they came about.
//!
//! Programs that use this library add their own by [`register`]; what those do with data and
//! registers is theirs to see to.
//!
//! Source: NetVM paper, section 3.1.3. To add one: its file, a row in [`ALL`], a descriptor.

pub mod associative;
pub mod console;
pub mod lookup;
pub mod lookup_ex;
pub mod lookupnew;
mod patterns;
pub mod regexp;
pub mod stringmatching;
pub mod tables;

use netil::copro::{self, Coprocessor, Descriptor, RegisterError};
use std::sync::{PoisonError, RwLock};

/// The most entries of a table.
pub const MAX_ENTRIES: usize = 1 << 18;

/// Makes a fresh unit.
pub type Make = fn() -> Box<dyn Coprocessor>;

/// Every coprocessor: its descriptor and how to make one.
pub const ALL: &[(Descriptor, Make)] = &[
    (copro::LOOKUP, || Box::new(lookup::Lookup::default())),
    (copro::LOOKUPNEW, || Box::new(lookupnew::LookupNew::default())),
    (copro::LOOKUP_EX, || Box::new(lookup_ex::LookupEx::default())),
    (copro::ASSOCIATIVE, || Box::new(associative::Associative::default())),
    (copro::STRINGMATCHING, || Box::new(stringmatching::StringMatching::default())),
    (copro::REGEXP, || Box::new(regexp::Regexp::default())),
    (copro::CONSOLE, || Box::new(console::Console::default())),
];

/// Makes a fresh unit of a coprocessor that was registered.
type Maker = Box<dyn Fn() -> Box<dyn Coprocessor> + Send + Sync>;

/// Those that were registered, by name.
static REGISTERED: RwLock<Vec<(&'static str, Maker)>> = RwLock::new(Vec::new());

/// Lets programs use a coprocessor by its name (`.use_coprocessor`), as long as the process lives.
/// `make` gives each program that uses it a unit of its own, on the thread that the program then
/// runs on; it must not register one itself.
///
/// # Errors
/// What is wrong with the descriptor.
pub fn register(descriptor: Descriptor, make: impl Fn() -> Box<dyn Coprocessor> + Send + Sync + 'static) -> Result<(), RegisterError> {
    // Whoever finds the descriptor finds the maker.
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    copro::register(descriptor)?;
    registered.push((descriptor.name, Box::new(make)));
    Ok(())
}

/// A fresh unit of that name, for [`netil::exec::State::new`].
pub fn make(name: &str) -> Option<Box<dyn Coprocessor>> {
    let built_in = ALL.iter().find(|(d, _)| d.name == name).map(|(_, make)| make());
    built_in.or_else(|| {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        registered.iter().find(|(its, _)| *its == name).map(|(_, make)| make())
    })
}

/// FNV-1a of 64 bits over words: for fingerprints, where nobody picks the input to collide.
fn digest(words: impl IntoIterator<Item = u32>) -> u64 {
    let bytes = words.into_iter().flat_map(u32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netil::copro::Views;

    #[test]
    fn every_descriptor_has_a_unit_and_every_unit_a_descriptor() {
        assert!(ALL.iter().map(|(d, _)| *d).eq(copro::BUILTIN.iter().copied()));
        assert!(make("lookup_old").is_none());
    }

    #[test]
    fn nothing_that_a_program_says_panics() {
        let mut random = crate::io::synth::Random(1);
        for (_, make) in ALL {
            for _ in 0..300 {
                let mut unit = make();
                let data: Vec<u8> =
                    (0..random.within(0, 40)).map(|_| if random.within(0, 2) == 0 { 0 } else { random.within(0, 256) as u8 }).collect();
                unit.init(&data);
                let mut registers = [0; 32];
                for _ in 0..20 {
                    registers[random.within(0, 20) as usize] = [0, 1, 4, 33, u32::MAX, 65_536][random.within(0, 6) as usize];
                    let views = if random.within(0, 4) > 0 { Views::of(&[7; 60], &[7; 9]) } else { Views::NONE };
                    let _ = unit.invoke(random.within(0, 9) as u32, &mut registers, views);
                    unit.fingerprint();
                }
            }
        }
    }
}
