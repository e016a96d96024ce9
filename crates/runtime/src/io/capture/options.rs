//! Options of pcapng blocks: a code, a length, a value padded to four bytes, ended by code 0 or the
//! block's end.
//!
//! Source: draft-ietf-opsawg-pcapng section 3.5.

use super::pcap::u16_at;

/// Code of a comment, allowed in any block.
pub const COMMENT: u16 = 1;
/// Code of an interface's name.
pub const IF_NAME: u16 = 2;
/// Code of an interface's description.
pub const IF_DESCRIPTION: u16 = 3;
/// Code of an interface's clock resolution.
pub const IF_TSRESOL: u16 = 9;
/// Code of an interface's clock offset in seconds.
pub const IF_TSOFFSET: u16 = 14;

/// The options of one block: pairs of code and value. Ends at the first option that is cut off.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
    swapped: bool,
}

impl<'a> Options<'a> {
    /// Options in `bytes`, lengths in this machine's byte order or, if `swapped`, in the other.
    pub(in crate::io) fn new(bytes: &'a [u8], swapped: bool) -> Self {
        Self { rest: bytes, swapped }
    }

    /// The comments among them; what is not UTF-8 is replaced.
    pub fn comments(self) -> impl Iterator<Item = String> + use<'a> {
        self.filter(|&(code, _)| code == COMMENT).map(|(_, text)| String::from_utf8_lossy(text).into_owned())
    }

    /// The bytes that are left: none, where every option was well-formed or the end was marked.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, body) = self.rest.split_at_checked(4)?;
        let (code, len) = (u16_at(head, 0, self.swapped), usize::from(u16_at(head, 2, self.swapped)));
        let (value, after) = body.split_at_checked(len.next_multiple_of(4))?;
        self.rest = if code == 0 { &[] } else { after };
        if code == 0 { None } else { Some((code, &value[..len])) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unpadded_and_the_end_mark_ends() {
        let bytes = [1, 0, 5, 0, b'h', b'e', b'l', b'l', b'o', 0, 0, 0, 9, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 77];
        let swapped = u16::from_ne_bytes([1, 0]) != 1;
        let options = Options::new(&bytes, swapped);
        assert_eq!(options.clone().collect::<Vec<_>>(), [(1, &b"hello"[..]), (9, &[6][..])]);
        assert_eq!(options.comments().collect::<Vec<_>>(), ["hello"]);
    }

    #[test]
    fn an_option_cut_off_ends_the_list_and_is_left() {
        let bytes = 1u16.to_ne_bytes().into_iter().chain(8u16.to_ne_bytes()).chain([1, 2, 3, 4]).collect::<Vec<_>>();
        let mut options = Options::new(&bytes, false);
        assert_eq!(options.next(), None);
        assert_eq!(options.rest().len(), 8);
    }
}
