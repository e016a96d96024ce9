//! What the compiler does to make programs fast, each of which can be left out to see what it
//! gains. They keep the meaning.
//!
//! Source: Choi and others, "PVPP: A Programmable Vector Packet Processor", SOSR 2017, section 4:
//! removing redundant tables, reducing metadata access, reducing pointer dereferences. What is not
//! of P4 (several packets at once, where packets leave) is left out: that is the engines'
//! (`netvm::engines`).

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimisation {
    /// Tables that have nothing to look up are gone.
    Tables,
    /// Metadata are values and lie in no memory.
    Metadata,
    /// Entries name the code of their actions.
    Actions,
}

/// All, with their names and what they do.
pub const ALL: [(Optimisation, &str, &str); 3] = [
    (
        Optimisation::Tables,
        "tables",
        "redundant tables: constant default actions, tables without keys and calls of actions from controls need no number of an action from memory",
    ),
    (
        Optimisation::Metadata,
        "metadata",
        "metadata of all structures are values of one function, kept in registers, gone if nobody reads them; without, they lie in memory",
    ),
    (
        Optimisation::Actions,
        "actions",
        "actions are resolved when an entry is inserted: it has the number that the code branches on; without, a number by which that is looked up",
    ),
];

/// That with this name.
#[must_use]
pub fn find(name: &str) -> Option<Optimisation> {
    ALL.iter().find(|(_, own, _)| *own == name).map(|(optimisation, ..)| *optimisation)
}
