//! Numbers, texts and values out of bytes, each checked against what is left.

use super::{DecodeError, DecodeReason};
use crate::wide;

pub(super) type Result<T> = std::result::Result<T, DecodeError>;

pub(super) fn error<T>(offset: usize, reason: DecodeReason) -> Result<T> {
    Err(DecodeError { offset, reason })
}

/// The bytes from `at` to `end`; offsets are those of the whole file.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, end: bytes.len() }
    }

    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.end - self.at {
            return error(self.at, DecodeReason::Truncated);
        }
        self.at += n;
        Ok(&self.bytes[self.at - n..self.at])
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut a = [0; N];
        a.copy_from_slice(self.take(N)?);
        Ok(a)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// A length and that many bytes.
    pub(super) fn part(&mut self) -> Result<Self> {
        let n = self.u32()? as usize;
        let start = self.at;
        self.take(n)?;
        Ok(Self { bytes: self.bytes, at: start, end: self.at })
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let part = self.part()?;
        let text = std::str::from_utf8(&part.bytes[part.at..part.end]);
        text.map(str::to_owned).or_else(|e| error(part.at + e.valid_up_to(), DecodeReason::Text))
    }

    /// A count of items of at least `least` bytes each, taken from what the limit leaves.
    pub(super) fn count(&mut self, least: usize, left: &mut u32, what: &'static str) -> Result<usize> {
        let at = self.at;
        let n = self.u32()?;
        if n as usize > (self.end - self.at) / least {
            return error(at, DecodeReason::Truncated);
        }
        *left = left.checked_sub(n).ok_or(DecodeError { offset: at, reason: DecodeReason::Limit(what) })?;
        Ok(n as usize)
    }

    /// A value of `width` bits; bits above must be 0.
    pub(super) fn value(&mut self, width: u16) -> Result<Box<[u64]>> {
        let at = self.at;
        let v = wide::from_le_bytes(self.take(usize::from(width).div_ceil(8))?);
        let mut cut = v.clone();
        wide::normalise(width, &mut cut);
        if cut == v { Ok(v.into()) } else { error(at, DecodeReason::Number("a value")) }
    }

    pub(super) fn finish(&self) -> Result<()> {
        if self.at == self.end { Ok(()) } else { error(self.at, DecodeReason::Trailing) }
    }
}

pub(super) fn width(r: &mut Reader<'_>) -> Result<u16> {
    let at = r.at;
    let w = r.u16()?;
    if (1..=wide::MAX_WIDTH).contains(&w) { Ok(w) } else { error(at, DecodeReason::Number("a width")) }
}
