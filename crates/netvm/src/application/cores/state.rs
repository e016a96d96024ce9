//! Where in an element's source something stands.

use netil::Verified;
use netil::module::HandlerKind;

/// The line of an instruction, if it is known.
pub(super) fn line_of(program: &Verified, kind: HandlerKind, site: u32) -> Option<u32> {
    program.module().handler(kind).map(|handler| handler.line(site)).filter(|line| *line != 0)
}
