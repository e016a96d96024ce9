//! Decoding compressed captures: gzip (RFC 1952) and zstd (RFC 8878), as streams of members or
//! frames.
//!
//! Invariants: every byte that a damaged stream gives before the damage is handed on, then the
//! error; what the input so far decodes to is handed on before more input is asked for. The
//! reader's own errors pass through and lose nothing either.
//!
//! Where zstd finds an error it does not tell what it made in that call. So it is called without
//! room, in which it decodes up to one block and keeps it, and then without input, in which it
//! hands the block on and cannot fail.

use std::io::{self, BufRead, BufReader, Read};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::{
    stream::raw::{self, InBuffer, Operation, OutBuffer},
    zstd_safe,
};

/// How much of the input is read at a time.
const INPUT: usize = 64 << 10;
/// The largest window of deflate, as a power of two.
const WINDOW_BITS: u8 = 15;
/// Bytes of the header of a block of zstd.
const BLOCK_HEADER: usize = 3;
/// The second byte of a skippable frame of zstd.
const SKIPPABLE: u8 = 0x2a;

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
    /// Decodes some of `input` into some of `room`. Without input it hands on what it holds back
    /// for want of room.
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

/// What is wrong, of checks (header, data, length) in zlib's words. How it names an invalid code
/// depends on how the input arrives.
fn gzip_damage(message: Option<&str>) -> &str {
    message.filter(|why| why.starts_with("incorrect")).unwrap_or("invalid deflate data")
}

/// Frames one after the other, skippable ones among them.
struct Zstd {
    decoder: raw::Decoder<'static>,
    /// Whether the last frame was taken in to its end, and handed on.
    between: bool,
    place: FramePosition,
    /// What was taken in of the present header.
    header: Vec<u8>,
    /// Bytes that the frame still has to give, by its header.
    content: u64,
}

/// Where in a frame the next byte of input is.
#[derive(Clone, Copy)]
enum FramePosition {
    FrameHeader,
    BlockHeader,
    /// In a block, `left` bytes before its end.
    Block {
        left: usize,
        raw: bool,
        last: bool,
    },
    /// In a skippable frame, or behind the last block.
    Rest,
}

impl Zstd {
    fn new() -> io::Result<Self> {
        let decoder = raw::Decoder::new()?;
        Ok(Self { decoder, between: true, place: FramePosition::FrameHeader, header: Vec::new(), content: 0 })
    }

    /// How much input may go in at once. Of a raw block zstd hands on any part, but nothing of a
    /// part that exceeds what the frame's header announced, nor of one that ends the frame where
    /// more was announced.
    fn most(&self) -> usize {
        match self.place {
            FramePosition::FrameHeader => 1,
            FramePosition::BlockHeader => BLOCK_HEADER - self.header.len(),
            FramePosition::Block { left, raw: true, .. } => usize::try_from(self.content).unwrap_or(usize::MAX).min(left - 1).max(1),
            FramePosition::Block { left, .. } => left,
            FramePosition::Rest => usize::MAX,
        }
    }

    /// Decodes up to the end of a block, if all of it is there.
    fn take_in(&mut self, input: &[u8]) -> Result<usize, String> {
        let input = input.get(..self.most()).unwrap_or(input);
        let mut buffer = InBuffer::around(input);
        let hint = self.decoder.run(&mut buffer, &mut OutBuffer::around(&mut [][..]));
        let hint = hint.map_err(|error| error.to_string())?;
        self.between = hint == 0;
        let used = buffer.pos();
        self.place = if self.between { FramePosition::FrameHeader } else { self.after(input.get(..used).unwrap_or_default(), hint) };
        if self.between {
            self.header.clear();
        }
        Ok(used)
    }

    /// The place behind what was taken in.
    fn after(&mut self, taken: &[u8], hint: usize) -> FramePosition {
        match self.place {
            FramePosition::FrameHeader => self.after_frame_header(taken, hint),
            FramePosition::BlockHeader => self.after_block_header(taken),
            FramePosition::Block { left, raw, last } => FramePosition::in_block(left - taken.len(), raw, last),
            FramePosition::Rest => FramePosition::Rest,
        }
    }

    /// zstd asks for no more than a block's header once it has the whole of the frame's.
    fn after_frame_header(&mut self, taken: &[u8], hint: usize) -> FramePosition {
        self.header.extend_from_slice(taken);
        if self.header.len() == 4 && self.header[1] == SKIPPABLE {
            self.header.clear();
            return FramePosition::Rest;
        }
        if hint > BLOCK_HEADER {
            return FramePosition::FrameHeader;
        }
        self.content = zstd_safe::get_frame_content_size(&self.header).ok().flatten().unwrap_or(u64::MAX);
        self.header.clear();
        FramePosition::BlockHeader
    }

    /// One bit tells the last block, two its kind, 21 its size; a repeated byte is one byte
    /// whatever the size.
    fn after_block_header(&mut self, taken: &[u8]) -> FramePosition {
        self.header.extend_from_slice(taken);
        let [a, b, c] = self.header[..] else { return FramePosition::BlockHeader };
        self.header.clear();
        let fields = u32::from_le_bytes([a, b, c, 0]);
        let (last, kind, size) = (fields & 1 == 1, fields >> 1 & 3, (fields >> 3) as usize);
        FramePosition::in_block(if kind == 1 { 1 } else { size }, kind == 0, last)
    }

    /// Hands on what is left of the last block.
    fn hand_on(&mut self, room: &mut [u8]) -> Result<usize, String> {
        let mut room = OutBuffer::around(room);
        let hint = self.decoder.run(&mut InBuffer::around(&[]), &mut room);
        hint.map_err(|error| error.to_string())?;
        self.content = self.content.saturating_sub(room.pos() as u64);
        Ok(room.pos())
    }
}

impl FramePosition {
    fn in_block(left: usize, raw: bool, last: bool) -> Self {
        match (left, last) {
            (0, true) => Self::Rest,
            (0, false) => Self::BlockHeader,
            _ => Self::Block { left, raw, last },
        }
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

    /// Bytes that cannot be compressed, so that zstd stores them, with their number in the frame's
    /// header.
    #[test]
    fn no_stored_byte_before_damage_is_lost() {
        let noise: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8 ^ ((i * i) >> 3) as u8).collect();
        let bytes = zstd::bulk::compress(&noise, 1).unwrap();
        assert!(bytes.ends_with(&noise[1..]), "it was compressed");
        let start = bytes.len() - noise.len();
        for at in 4..start {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let piecewise = Pauses(bad.iter().map(|byte| vec![*byte]).collect());
                let (got, _) = decoded(piecewise, Coding::Zstd, 1 << 20);
                assert_eq!(decoded(io::Cursor::new(bad.clone()), Coding::Zstd, 1 << 20).0, got, "byte {at} bit {bit}");
                assert!(got.starts_with(&bytewise(&bad, Coding::Zstd)), "byte {at} bit {bit}");
            }
        }
        for cut in start..bytes.len() {
            assert_eq!(decoded(io::Cursor::new(bytes[..cut].to_vec()), Coding::Zstd, 1 << 20).0, &noise[..cut - start]);
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
