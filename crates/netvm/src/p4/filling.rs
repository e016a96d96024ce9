//! Files that fill tables, groups and sessions: commands ([`stf`]), or protobuf text of P4Runtime
//! by the ends of their names.
//!
//! Protobuf text is read by whoever serves P4Runtime: it is registered once, as netvm knows nothing
//! of that protocol.

use super::error::{SwitchError, invalid};
use super::{P4Info, Switch, stf};
use std::path::Path;
use std::sync::OnceLock;

/// Does what a text says on a switch whose program has that P4Info.
pub type Reader = fn(&mut Switch, &P4Info, &str) -> Result<(), SwitchError>;

static PROTOBUF: OnceLock<Reader> = OnceLock::new();

/// Lets files of protobuf text be read. The first one counts.
pub fn read_protobuf_by(reader: Reader) {
    let _ = PROTOBUF.set(reader);
}

/// Whether a file is protobuf text by its name.
#[must_use]
pub fn is_protobuf(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["txtpb", "textproto", "pbtxt", "prototxt"].iter().any(|known| end == *known))
}

/// The text of such a file.
#[derive(Clone, Debug)]
pub enum Filling {
    /// Commands, one on a line.
    Commands(String),
    /// Protobuf text, with the P4Info of the program.
    Protobuf(String, Box<P4Info>),
}

impl Filling {
    /// Does what it says; what commands tell.
    ///
    /// # Errors
    /// The first line that makes no sense or is refused, or there is nobody who reads it.
    pub fn enter(&self, switch: &mut Switch) -> Result<Vec<String>, SwitchError> {
        match (self, PROTOBUF.get()) {
            (Self::Commands(text), _) => stf::configure(switch, text),
            (Self::Protobuf(text, info), Some(read)) => read(switch, info, text).map(|()| Vec::new()),
            (Self::Protobuf(..), None) => Err(invalid("this netvm was built without P4Runtime, whose text this is")),
        }
    }
}
