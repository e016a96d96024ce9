//! What lasts from packet to packet, as bytes of one array map: data memory, shared memory, the exception table; and how much of the stack info memory
//! takes. The init handler has run, in the interpreter, when the map is made.

use super::Refused;
use netil::exec::{EXCEPTIONS, State};
use netil::{Interpreter, Verified};
use std::sync::Arc;

/// The most bytes of info memory: it shares the stack with what registers do not hold.
const MOST_INFO: u32 = 256;
/// The most bytes that last; an array map's one value.
const MOST_STATE: u32 = 1 << 24;

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Bytes of data memory.
    pub data: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Bytes of info memory, a multiple of eight.
    pub info: u32,
    first: Vec<u8>,
}

impl Layout {
    pub fn new(program: &Verified) -> Result<Self, Refused> {
        let module = program.module();
        let uses = program.uses();
        let info = if uses.info { module.info_size.next_multiple_of(8) } else { 0 };
        if info > MOST_INFO {
            return Err(Refused::whole(format!("{} bytes of info memory; {MOST_INFO} are the most", module.info_size)));
        }
        if program.is_filter() {
            return Ok(Self { info, ..Self::default() });
        }
        if u64::from(module.data_size) + u64::from(program.shared_size()) > u64::from(MOST_STATE) {
            return Err(Refused::whole(format!("more than {MOST_STATE} bytes of data and shared memory")));
        }
        let mut layout = Self { data: module.data_size, shared: program.shared_size(), info, first: Vec::new() };
        layout.first = layout.initial(program)?;
        Ok(layout)
    }

    /// The bytes after the init handler.
    fn initial(&self, program: &Verified) -> Result<Vec<u8>, Refused> {
        let mut state = State::plain(program).map_err(|_| Refused::whole("a coprocessor, for which the kernel has nothing"))?;
        let mut interpreter = Interpreter::new(Arc::new(program.clone()));
        interpreter.init(&mut state).map_err(|how| Refused::whole(format!("an init handler that fails: {how:?}")))?;
        let mut bytes = vec![0; self.exceptions_at() as usize + 4 * EXCEPTIONS];
        bytes[..state.data.len()].copy_from_slice(&state.data);
        let at = self.shared_at() as usize;
        bytes[at..at + state.shared.len()].copy_from_slice(&state.shared);
        let at = self.exceptions_at() as usize;
        for (entry, v) in state.exceptions.iter().enumerate() {
            bytes[at + 4 * entry..at + 4 * entry + 4].copy_from_slice(&v.to_le_bytes());
        }
        Ok(bytes)
    }

    pub fn shared_at(&self) -> u32 {
        self.data.next_multiple_of(8)
    }

    pub fn exceptions_at(&self) -> u32 {
        (self.shared_at() + self.shared).next_multiple_of(8)
    }

    /// The map's value when the program is loaded.
    pub fn bytes(&self) -> Vec<u8> {
        self.first.clone()
    }
}
