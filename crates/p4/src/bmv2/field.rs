//! Fields: how they are written in the P4 text, and what they hold.

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bits(u32),
    Signed(u32),
    /// As long as it is, up to so many bits.
    Varying(u32),
    /// The parser's error.
    Error,
    /// Whether a header is valid; not to be written to.
    Valid,
}

/// A field: how it is written, and what it holds.
#[derive(Clone, Debug)]
pub(super) struct FieldRef {
    pub text: String,
    pub kind: Kind,
}
