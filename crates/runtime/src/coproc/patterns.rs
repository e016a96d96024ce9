//! What `stringmatching` and `regexp` share: reading patterns from initialised data, and the part of a packet to search.

use netil::copro::{CoproError, Registers};

/// Why initialised data was refused: the numbers that `copro.init` pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The data ends within a pattern.
    Cut = 1,
    /// More patterns, or longer ones, than the unit takes.
    TooLarge = 2,
    /// A flag that nobody knows.
    Flag = 3,
    /// A pattern with an error in it, or that would need too much memory.
    Pattern = 4,
}

/// Little-endian numbers and bytes from initialised data.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Refusal> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Refusal::Cut)?;
        self.0 = rest;
        Ok(head)
    }

    pub fn u16(&mut self) -> Result<u16, Refusal> {
        let b = self.bytes(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    pub fn u32(&mut self) -> Result<u32, Refusal> {
        Ok(u32::from(self.u16()?) | u32::from(self.u16()?) << 16)
    }

    /// Bytes that their length in 16 bits precedes.
    pub fn counted(&mut self) -> Result<&'a [u8], Refusal> {
        let n = self.u16()?;
        self.bytes(n.into())
    }
}

/// The part of the packet that operation 1 (from the start) or 2 (from register 1) searches.
pub fn haystack<'p>(operation: u32, registers: &Registers, packet: Option<&'p [u8]>) -> Result<&'p [u8], CoproError> {
    let packet = packet.ok_or(CoproError::NoPacket)?;
    let start = if operation == 1 { 0 } else { registers[1] as usize };
    let rest = packet.get(start..).unwrap_or_default();
    Ok(&rest[..rest.len().min(registers[2] as usize)])
}
