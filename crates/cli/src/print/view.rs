//! A part of a packet as a printer sees it: the bytes that were captured, and how many there were
//! on the wire.
//!
//! Invariant: never more captured bytes than wire bytes. Every read is checked; a read past the
//! captured bytes gives [`Cut`], which the caller passes up until somebody prints `[|proto]`.

use netvm::netil::fields::Field;
use std::net::Ipv4Addr;

/// A header lies, partly or wholly, beyond the captured bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut;

/// What a printer gives back.
pub(crate) type Printed = Result<(), Cut>;

/// A part of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> View<'a> {
    /// `bytes` of a part that had `len` bytes on the wire.
    pub(crate) fn new(bytes: &'a [u8], len: usize) -> Self {
        Self { bytes: &bytes[..bytes.len().min(len)], len }
    }

    /// Bytes on the wire.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The captured bytes.
    pub(crate) fn captured(self) -> &'a [u8] {
        self.bytes
    }

    /// True if nothing of it is missing.
    pub(crate) fn is_whole(self) -> bool {
        self.bytes.len() == self.len
    }

    /// What follows the first `n` bytes.
    pub(crate) fn skip(self, n: usize) -> Self {
        Self { bytes: self.bytes.get(n..).unwrap_or(&[]), len: self.len.saturating_sub(n) }
    }

    /// The first `n` bytes, or all if there are fewer.
    pub(crate) fn first(self, n: usize) -> Self {
        Self::new(self.bytes, self.len.min(n))
    }

    /// These bytes as the beginning of a part that claims to have `len`, be that fewer or more.
    pub(crate) fn claiming(self, len: usize) -> Self {
        Self::new(self.bytes, len)
    }

    /// `n` captured bytes at `at`.
    pub(crate) fn take(self, at: usize, n: usize) -> Result<&'a [u8], Cut> {
        let end = at.checked_add(n).ok_or(Cut)?;
        self.bytes.get(at..end).ok_or(Cut)
    }

    /// As many captured bytes at `at` as the array has.
    pub(crate) fn array<const N: usize>(self, at: usize) -> Result<[u8; N], Cut> {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Cut)
    }

    /// The byte at `at`.
    pub(crate) fn u8(self, at: usize) -> Result<u8, Cut> {
        self.bytes.get(at).copied().ok_or(Cut)
    }

    /// The big-endian number at `at`.
    pub(crate) fn u16(self, at: usize) -> Result<u16, Cut> {
        self.array(at).map(u16::from_be_bytes)
    }

    /// The big-endian number of 24 bits at `at`.
    pub(crate) fn u24(self, at: usize) -> Result<u32, Cut> {
        self.array(at).map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// The big-endian number at `at`.
    pub(crate) fn u64(self, at: usize) -> Result<u64, Cut> {
        self.array(at).map(u64::from_be_bytes)
    }

    /// The IPv4 address at `at`.
    pub(crate) fn v4(self, at: usize) -> Result<Ipv4Addr, Cut> {
        self.array::<4>(at).map(Ipv4Addr::from)
    }

    /// A header's field of one byte.
    pub(crate) fn byte(self, field: Field) -> Result<u8, Cut> {
        field.byte(self.bytes).ok_or(Cut)
    }

    /// A header's field of two bytes.
    pub(crate) fn half(self, field: Field) -> Result<u16, Cut> {
        field.half(self.bytes).ok_or(Cut)
    }

    /// A header's field of four bytes.
    pub(crate) fn word(self, field: Field) -> Result<u32, Cut> {
        field.word(self.bytes).ok_or(Cut)
    }

    /// The big-endian number at `at`.
    pub(crate) fn u32(self, at: usize) -> Result<u32, Cut> {
        self.array(at).map(u32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_captured_bytes() {
        let view = View::new(&[1, 2, 3, 4, 5], 9);
        assert_eq!((view.u16(3), view.u16(4)), (Ok(0x0405), Err(Cut)));
        assert_eq!(view.take(2, usize::MAX), Err(Cut));
        assert_eq!((view.skip(20).len(), view.skip(20).captured()), (0, &[][..]));
        assert_eq!(view.first(3).captured(), [1, 2, 3]);
        assert!(view.first(5).is_whole() && !view.first(6).is_whole());
    }

    #[test]
    fn more_captured_bytes_than_wire_bytes_are_not_seen() {
        assert_eq!(View::new(&[1, 2, 3], 2).captured(), [1, 2]);
    }
}
