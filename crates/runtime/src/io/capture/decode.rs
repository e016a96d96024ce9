//! Decoding compressed captures: gzip (RFC 1952) and zstd (RFC 8878), as streams of members or frames.
//!
//! Invariants: every byte that a damaged stream gives before the damage is handed on, then the error; what the input so far
//! decodes to is handed on before more input is asked for. The reader's own errors pass through and lose nothing either.
//!
//! Where zstd finds an error it does not tell what it made in that call. So it is called without room, in which it decodes
//! up to one block and keeps it, and then without input, in which it hands the block on and cannot fail.

use std::io::{self, BufRead, BufReader, Read};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{self, InBuffer, Operation, OutBuffer};

/// How much of the input is read at a time.
const INPUT: usize = 64 << 10;
/// The largest window of deflate, as a power of two.
const WINDOW_BITS: u8 = 15;

/// How a capture is compressed.
#[derive(Clone, Copy)]
pub(super) enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    /// What the first four bytes tell, or as many as there are.
    pub(super) fn of(magic: &[u8]) -> Option<Self> {
        match *magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // A skippable frame, with which parallel compressors begin.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its errors are a [`Corrupt`], or the reader's.
    pub(super) fn decoder(self, reader: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        let input = BufReader::with_capacity(INPUT, reader);
        Ok(match self {
            Self::Gzip => Box::new(Decoder { input, format: Gzip::new(), full: false, damage: None }),
            Self::Zstd => Box::new(Decoder { input, format: Zstd::new()?, full: false, damage: None }),
        })
    }
}

/// A compressed stream that is not what its format demands.
#[derive(Debug)]
pub(super) struct Corrupt(pub(super) String);

impl std::error::Error for Corrupt {}

impl std::fmt::Display for Corrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A compressed format.
trait Format {
    /// Decodes some of `input` into some of `room`. Without input it hands on what it holds back for want of room.
    fn step(&mut self, input: &[u8], room: &mut [u8]) -> Step;

    /// Whether the input may end here.
    fn may_end(&self) -> bool;
}

/// What one step did before it ended.
struct Step {
    /// Bytes of input that are done with.
    used: usize,
    /// Bytes in the room, whether or not there is damage.
    made: usize,
    damage: Option<String>,
}

struct Decoder<R, F> {
    input: BufReader<R>,
    format: F,
    /// Whether the room was filled the last time, so that there may be more without input.
    full: bool,
    damage: Option<String>,
}

impl<R: Read, F: Format> Read for Decoder<R, F> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.damage.is_none() {
            let input = if self.full { &[][..] } else { self.input.fill_buf()? };
            if input.is_empty() && !self.full {
                return self.end();
            }
            let step = self.format.step(input, room);
            self.input.consume(step.used);
            self.full = step.made == room.len();
            self.damage = step.damage;
            if step.made > 0 || room.is_empty() {
                return Ok(step.made);
            }
        }
        Err(corrupt(self.damage.as_deref().unwrap_or_default()))
    }
}

impl<R, F: Format> Decoder<R, F> {
    fn end(&self) -> io::Result<usize> {
        if self.format.may_end() { Ok(0) } else { Err(corrupt("it is cut off")) }
    }
}

fn corrupt(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Corrupt(why.into()))
}

/// Members one after the other. The decoder checks header, checksum and length of each.
struct Gzip {
    member: Decompress,
    /// Whether nothing of the member was there yet.
    between: bool,
}

impl Gzip {
    fn new() -> Self {
        Self { member: Decompress::new_gzip(WINDOW_BITS), between: true }
    }
}

impl Format for Gzip {
    fn step(&mut self, input: &[u8], room: &mut [u8]) -> Step {
        let (used, made) = (self.member.total_in(), self.member.total_out());
        let result = self.member.decompress(input, room, FlushDecompress::None);
        let used = (self.member.total_in() - used) as usize;
        let made = (self.member.total_out() - made) as usize;
        self.between &= used == 0;
        if matches!(result, Ok(Status::StreamEnd)) {
            *self = Self::new();
        }
        let damage = result.err().map(|error| gzip_damage(error.message()).into());
        Step { used, made, damage }
    }

    fn may_end(&self) -> bool {
        self.between
    }
}

/// What is wrong, of checks (header, data, length) in zlib's words. How it names an invalid code depends on how the input arrives.
fn gzip_damage(message: Option<&str>) -> &str {
    message.filter(|why| why.starts_with("incorrect")).unwrap_or("invalid deflate data")
}

/// Frames one after the other, skippable ones among them.
struct Zstd {
    decoder: raw::Decoder<'static>,
    /// Whether the last frame was taken in to its end, and handed on.
    between: bool,
}

impl Zstd {
    fn new() -> io::Result<Self> {
        Ok(Self { decoder: raw::Decoder::new()?, between: true })
    }

    /// Decodes up to the end of a block, if all of it is there.
    fn take_in(&mut self, input: &[u8]) -> Result<usize, String> {
        let mut input = InBuffer::around(input);
        let hint = self.decoder.run(&mut input, &mut OutBuffer::around(&mut [][..]));
        self.between = hint.map_err(|error| error.to_string())? == 0;
        Ok(input.pos())
    }

    /// Hands on what is left of the last block.
    fn hand_on(&mut self, room: &mut [u8]) -> Result<usize, String> {
        let mut room = OutBuffer::around(room);
        let hint = self.decoder.run(&mut InBuffer::around(&[]), &mut room);
        hint.map(|_| room.pos()).map_err(|error| error.to_string())
    }
}

impl Format for Zstd {
    fn step(&mut self, input: &[u8], room: &mut [u8]) -> Step {
        let used = if input.is_empty() { Ok(0) } else { self.take_in(input) };
        let done = used.and_then(|used| Ok((used, if self.between { 0 } else { self.hand_on(room)? })));
        match done {
            Ok((used, made)) => Step { used, made, damage: None },
            Err(why) => Step { used: 0, made: 0, damage: Some(why) },
        }
    }

    fn may_end(&self) -> bool {
        self.between
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, io::ErrorKind, io::Write};

    use super::*;

    /// Bytes that come in the pieces given; between them there is nothing.
    struct Pauses(VecDeque<Vec<u8>>);

    impl Read for Pauses {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                None => Err(ErrorKind::WouldBlock.into()),
                Some(piece) => {
                    room[..piece.len()].copy_from_slice(&piece);
                    Ok(piece.len())
                }
            }
        }
    }

    fn decoded(reader: impl Read + Send + 'static, coding: Coding, room: usize) -> (Vec<u8>, Option<ErrorKind>) {
        all(&mut coding.decoder(reader).unwrap(), room)
    }

    /// All bytes up to the error or end, read with that much room.
    fn all(decoder: &mut dyn Read, room: usize) -> (Vec<u8>, Option<ErrorKind>) {
        let (mut all, mut room) = (Vec::new(), vec![0; room]);
        loop {
            match decoder.read(&mut room) {
                Ok(0) => return (all, None),
                Ok(count) => all.extend_from_slice(&room[..count]),
                Err(error) => return (all, Some(error.kind())),
            }
        }
    }

    /// What a decoder gives that takes and gives a byte at a time.
    fn bytewise(bytes: &[u8], coding: Coding) -> Vec<u8> {
        let input = BufReader::with_capacity(1, bytes);
        match coding {
            Coding::Gzip => all(&mut flate2::bufread::MultiGzDecoder::new(input), 1).0,
            Coding::Zstd => all(&mut zstd::Decoder::with_buffer(input).unwrap(), 1).0,
        }
    }

    /// Text that has matches, long ones among them.
    fn text() -> Vec<u8> {
        let words = (0..300u32).map(|i| format!("{} {}", i * i % 97, "far ".repeat(i as usize % 7)));
        [words.collect::<String>().into_bytes(), vec![b'x'; 2000]].concat()
    }

    /// A stream of two parts, each of which hands on what it has now and then.
    fn encoded(coding: Coding) -> Vec<u8> {
        let text = text();
        let (a, b) = text.split_at(text.len() / 3);
        [encoded_part(coding, a), encoded_part(coding, b)].concat()
    }

    fn encoded_part(coding: Coding, text: &[u8]) -> Vec<u8> {
        match coding {
            Coding::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                text.chunks(500).for_each(|chunk| encoder.write_all(chunk).and_then(|()| encoder.flush()).unwrap());
                encoder.finish().unwrap()
            }
            Coding::Zstd => {
                let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
                encoder.include_checksum(true).unwrap();
                text.chunks(500).for_each(|chunk| encoder.write_all(chunk).and_then(|()| encoder.flush()).unwrap());
                encoder.finish().unwrap()
            }
        }
    }

    const BOTH: [Coding; 2] = [Coding::Gzip, Coding::Zstd];

    #[test]
    fn any_room_gives_the_same_bytes() {
        let second = text().len() - text().len() / 3;
        for coding in BOTH {
            for room in [1, 2, 255, 258, 259, 700, second, 1 << 20] {
                assert_eq!(decoded(io::Cursor::new(encoded(coding)), coding, room), (text(), None));
            }
        }
    }

    #[test]
    fn what_is_decodable_comes_before_a_pause() {
        for coding in BOTH {
            let bytes = encoded(coding);
            for cut in (1..=bytes.len()).step_by(7) {
                let expected = bytewise(&bytes[..cut], coding);
                for room in [1, 258, 1000] {
                    let (before, error) = decoded(Pauses([bytes[..cut].to_vec()].into()), coding, room);
                    assert_eq!((before.len(), error), (expected.len(), Some(ErrorKind::WouldBlock)), "{cut} {room}");
                    assert_eq!(before, expected);
                }
            }
        }
    }

    #[test]
    fn no_byte_before_damage_is_lost() {
        for coding in BOTH {
            let bytes = encoded(coding);
            for at in 0..bytes.len() {
                for change in [1, 0xff] {
                    let mut bad = bytes.clone();
                    bad[at] ^= change;
                    let (got, error) = decoded(io::Cursor::new(bad.clone()), coding, 1 << 20);
                    assert!(got.starts_with(&bytewise(&bad, coding)), "byte {at}");
                    assert!(got.len() >= bytewise(&bytes[..at], coding).len(), "byte {at}");
                    assert!(error == Some(ErrorKind::InvalidData) || got == text(), "byte {at}");
                    assert_eq!(decoded(io::Cursor::new(bad), coding, 1), (got, error), "byte {at}");
                }
            }
        }
    }
}
