//! Where in its file a packet begins.
//!
//! A capture that is read for its packets keeps no such places: they are found by reading the file
//! once more, as far as somebody asks. So who does not ask pays nothing.

use super::source::{ByteSource, Region};
use super::{Capture, Found, MAX_BURST, ReadError};
use std::ops::Range;

/// A second reading of a capture's file. Asking for packets one after the other reads it once.
pub struct Places {
    file: Region,
    walk: Capture,
    /// The packet that was read last: its number, from 0 on, and where it lies.
    last: Option<(u64, Range<u64>)>,
}

impl Capture {
    /// Where packets lie in the file; `None` for what cannot be read twice, as a pipe.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn places(&self) -> Result<Option<Places>, ReadError> {
        self.again.as_ref().map(Places::of).transpose()
    }

    /// Goes on with the packet that begins at that byte of the file, uncompressed, or with the end
    /// if that is there. Bytes before the first packet mean that one. False, and nothing happens,
    /// if neither begins there or the file cannot be read twice.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged before that place.
    pub fn go_to(&mut self, offset: u64) -> Result<bool, ReadError> {
        let Some(mut places) = self.places()? else { return Ok(false) };
        if !places.find(offset)? {
            return Ok(false);
        }
        let walk = places.walk;
        // A packet that was found there is yet to be handed on.
        self.packets = walk.packets - u64::from(!walk.ended);
        (self.source, self.parser, self.taken, self.last, self.ended) = (walk.source, walk.parser, 0, 0, walk.ended);
        Ok(true)
    }
}

impl Places {
    fn of(file: &Region) -> Result<Self, ReadError> {
        Ok(Self { file: file.clone(), walk: Capture::begin(ByteSource::region(file.clone())?)?, last: None })
    }

    /// Where the packet of that number lies in the uncompressed file, from 0 on, with its record or
    /// block; nothing long at the end, behind the last packet.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged before that packet.
    pub fn place(&mut self, number: u64) -> Result<Range<u64>, ReadError> {
        if let Some((_, place)) = self.last.as_ref().filter(|(last, _)| *last == number) {
            return Ok(place.clone());
        }
        if self.walk.packets > number {
            *self = Self::of(&self.file)?;
        }
        while self.walk.packets < number {
            let most = usize::try_from(number - self.walk.packets).unwrap_or(MAX_BURST);
            if self.walk.next_burst(most)?.is_none() {
                break;
            }
        }
        self.step()
    }

    /// Reads the packet that begins there, or the end; false if neither does.
    fn find(&mut self, offset: u64) -> Result<bool, ReadError> {
        loop {
            let first = self.walk.packets == 0;
            let place = self.step()?;
            if place.start == offset || (first && offset < place.start) {
                return Ok(true);
            }
            if place.start > offset || place.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Reads one packet.
    fn step(&mut self) -> Result<Range<u64>, ReadError> {
        while !matches!(self.walk.find()?, Found::Packet) {
            if self.walk.ended {
                let end = self.walk.source.offset();
                return Ok(end..end);
            }
        }
        let (number, start) = (self.walk.packets, self.walk.source.offset());
        self.walk.collect(1)?;
        let place = start..start + self.walk.taken as u64;
        self.last = Some((number, place.clone()));
        Ok(place)
    }
}
