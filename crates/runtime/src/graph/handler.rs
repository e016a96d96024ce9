//! The handlers that an element has, by name, and whether they are read or written.

/// A handler that an element has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementHandler {
    /// Its name.
    pub name: String,
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
}

/// Handlers by names: those that are read, written, both.
pub fn element_handlers(read: &[&str], write: &[&str], both: &[&str]) -> Vec<ElementHandler> {
    let named =
        |names: &[&str], read, write| names.iter().map(|name| ElementHandler { name: (*name).to_owned(), read, write }).collect::<Vec<_>>();
    [named(read, true, false), named(write, false, true), named(both, true, true)].concat()
}
