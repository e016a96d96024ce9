//! Coprocessors of the embedding program: registered once by their descriptor, then used by NetIL
//! programs, alone or as elements of a configuration.
//!
//! ```
//! use netvm::coprocessors::{CoproError, Coprocessor, Descriptor, Registers, Views, register};
//!
//! /// Counts how often it saw each number.
//! #[derive(Default)]
//! struct Tally(std::collections::BTreeMap<u32, u32>);
//!
//! impl Coprocessor for Tally {
//!     fn init(&mut self, _: &[u8]) -> u32 {
//!         0
//!     }
//!
//!     fn invoke(&mut self, _: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
//!         let count = self.0.entry(registers[0]).or_default();
//!         *count += 1;
//!         registers[1] = *count;
//!         Ok(())
//!     }
//!
//!     fn fingerprint(&self) -> u64 {
//!         self.0.iter().fold(0, |sum, (key, count)| sum.wrapping_mul(31) ^ u64::from(*key) << 32 ^ u64::from(*count))
//!     }
//! }
//!
//! let doc = "note: register 1 becomes how often register 0 was noted";
//! register(Descriptor { name: "tally", registers: 2, operations: &["note"], cost: 20, prints: false, doc }, || Box::new(Tally::default()))?;
//! let program = "segment .metadata .use_coprocessor tally ends segment .ports push_input in push_output out ends
//!     segment .push .maxstacksize 2 pop push 0 upload.8 copro.out tally, 0 copro.invoke tally, note
//!     copro.in tally, 1 push 2 jcmp.g no pkt.send out no: ret 0 ends";
//! let program = netvm::load::verify(netvm::load::module_from(program.as_bytes(), "tally")?, "tally")?;
//! netvm::Session::start(std::sync::Arc::new(program), &netvm::engines::ALL[0], Default::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: a unit is one program's, and one thread's at a time; elements whose programs use one
//! run in order where others run in replicas (`--place`). An engine's result is compared by
//! [`Coprocessor::fingerprint`], so what a unit does must depend on nothing but what it was given.

pub use netil::copro::{
    CoproError, Coprocessor, Descriptor, MAX_OPERATIONS, MAX_REGISTERED, MAX_REGISTERS, RegisterError, Registers, Views,
};
pub use runtime::coproc::register;
