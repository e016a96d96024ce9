//! `console`: text for people, made of pieces of initialised data, numbers, addresses and packet
//! bytes.
//!
//! What is written is no part of a program's state: the runtime takes it after each run of a
//! handler.

use netil::copro::{CoproError, Coprocessor, Registers, Views};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The most bytes kept until they are taken.
const MOST: usize = 4 << 20;

/// A console.
#[derive(Default)]
pub struct Console {
    data: Vec<u8>,
    written: Vec<u8>,
}

impl Console {
    fn write(&mut self, bytes: &[u8]) {
        let room = MOST.saturating_sub(self.written.len());
        self.written.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn text(&mut self, at: u32, len: u32) -> Result<(), CoproError> {
        let range = at as usize..(at as usize).saturating_add(len as usize);
        let text = self.data.get(range).ok_or(CoproError::BadRegister)?.to_vec();
        self.write(&text);
        Ok(())
    }

    fn packet(&mut self, bytes: &[u8]) {
        let mut text = String::new();
        for (i, byte) in bytes.iter().enumerate().take(MOST) {
            let blank = if i > 0 && i % 4 == 0 { " " } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{blank}{byte:02x}");
        }
        self.write(text.as_bytes());
    }

    fn ascii(&mut self, bytes: &[u8]) {
        let printable = |byte: &u8| if (b' '..=b'~').contains(byte) { *byte } else { b'.' };
        let groups: Vec<Vec<u8>> = bytes[..bytes.len().min(MOST)].chunks(8).map(|group| group.iter().map(printable).collect()).collect();
        self.write(&groups.join(&b' '));
    }
}

/// So many bytes of the packet.
fn part(at: u32, len: u32, views: Views<'_>) -> Result<&[u8], CoproError> {
    let range = at as usize..(at as usize).saturating_add(len as usize);
    views.shown_packet()?.get(range).ok_or(CoproError::BadRegister)
}

/// What a number or an address looks like; none for another operation.
fn shown(operation: u32, r: &Registers) -> Option<String> {
    let number = u64::from(r[1]) << 32 | u64::from(r[0]);
    let words = |n: usize| r[..n].iter().fold(0, |v: u128, w| v << 32 | u128::from(*w));
    Some(match operation {
        1 => number.to_string(),
        2 => number.cast_signed().to_string(),
        3 => format!("{number:0digits$x}", digits = r[2].min(16) as usize),
        4 => Ipv4Addr::from_bits(r[0]).to_string(),
        5 => Ipv6Addr::from_bits(words(4)).to_string(),
        9 => crate::graph::seconds(number),
        6 => words(2).to_be_bytes()[10..].iter().map(|b| format!("{b:02X}")).collect::<Vec<_>>().join("-"),
        _ => return None,
    })
}

impl Coprocessor for Console {
    fn init(&mut self, data: &[u8]) -> u32 {
        self.data = data.to_vec();
        0
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        match operation {
            0 => self.text(registers[0], registers[1])?,
            7 => self.packet(part(registers[0], registers[1], views)?),
            8 => self.ascii(part(registers[0], registers[1], views)?),
            _ => {
                let text = shown(operation, registers).ok_or(CoproError::BadRegister)?;
                self.write(text.as_bytes());
            }
        }
        Ok(())
    }

    fn init_work(&self, data: &[u8]) -> u64 {
        data.len() as u64
    }

    fn work(&self, operation: u32, registers: &Registers, _: Views<'_>) -> u64 {
        if matches!(operation, 0 | 7 | 8) { u64::from(registers[1]).min(MOST as u64) } else { 0 }
    }

    fn drain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.written)
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(operation: u32, registers: [u32; 4]) -> Result<String, CoproError> {
        let mut console = Console::default();
        console.init(b"hello");
        let mut all = [0; netil::copro::MAX_REGISTERS];
        all[..4].copy_from_slice(&registers);
        console.invoke(operation, &mut all, Views::of(b"\x12\xab\x03\x04\x05AZ ~\x7f", &[]))?;
        Ok(String::from_utf8(console.drain()).unwrap())
    }

    #[test]
    fn everything_has_its_form() {
        let wanted = [
            (0, [1, 3, 0, 0], "ell"),
            (1, [7, 1, 0, 0], "4294967303"),
            (2, [u32::MAX - 1, u32::MAX, 0, 0], "-2"),
            (3, [0xbeef, 0, 8, 0], "0000beef"),
            (4, [0x0a00_0001, 0, 0, 0], "10.0.0.1"),
            (5, [0x2001_0db8, 0, 0, 1], "2001:db8::1"),
            (6, [0x00aa, 0x0102_03ff, 0, 0], "00-AA-01-02-03-FF"),
            (7, [0, 5, 0, 0], "12ab0304 05"),
            (8, [0, 10, 0, 0], ".....AZ  ~."),
            (8, [5, 2, 0, 0], "AZ"),
            (8, [10, 0, 0, 0], ""),
            (9, [1_500_000_000, 0, 0, 0], "1.500000"),
            (9, [1_500_000_001, 0, 0, 0], "1.500000001"),
        ];
        for (operation, registers, text) in wanted {
            assert_eq!(written(operation, registers).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_and_what_is_too_much_lost() {
        assert_eq!(written(0, [3, 3, 0, 0]), Err(CoproError::BadRegister));
        assert_eq!(written(7, [0, 11, 0, 0]), Err(CoproError::BadRegister));
        assert_eq!(written(8, [0, 11, 0, 0]), Err(CoproError::BadRegister));
        assert_eq!(written(0, [u32::MAX, u32::MAX, 0, 0]), Err(CoproError::BadRegister));
        let mut console = Console::default();
        console.init(&[b'x'; 1000]);
        for _ in 0..MOST / 1000 + 1 {
            console.invoke(0, &mut [0, 1000].into_iter().chain([0; 30]).collect::<Vec<_>>().try_into().unwrap(), Views::NONE).unwrap();
        }
        assert_eq!((console.drain().len(), console.drain().len()), (MOST, 0));
    }
}
