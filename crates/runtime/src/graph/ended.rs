//! How a run of a program ended.

/// What became of a packet, by output.
pub(super) enum Ended {
    Leaves(u32),
    Dropped(String),
    Trapped(String),
    /// There was none.
    Nothing,
}
