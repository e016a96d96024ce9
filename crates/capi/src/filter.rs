//! What a `netvm_filter` is.
//!
//! Invariant: nothing of a caller's memory is kept after a call.

use crate::Packet;
use crate::pointers::{Fault, array, array_mut, name, text};
use netvm::engines::{self, EngineInfo};
use netvm::io::LinkType;
use netvm::netil::exec::{Packets, Selection};
use netvm::{Compiled, Filter};
use std::ffi::c_char;
use std::mem::take;

/// Packets that the engine gets at a time: a multiple of 64, and few enough for their slices to
/// stay in the first-level cache.
const CHUNK: usize = 512;

/// A compiled filter: `netvm_filter` in C.
pub struct Handle {
    compiled: Compiled,
    selection: Selection,
    /// Room for the slices of a chunk; empty between calls.
    frames: Vec<&'static [u8]>,
    /// Room for the lengths of a chunk.
    wire_len: Vec<u32>,
}

crate::abi::c_types!(Handle = "netvm_filter");

/// Compiles an expression.
///
/// # Safety
/// Each pointer is null or points to a string that ends with NUL.
pub(crate) unsafe fn compile(expression: *const c_char, link_type: u32, engine: *const c_char) -> Result<Handle, Fault> {
    // SAFETY: as this function's.
    let source = unsafe { name(expression, "the expression") }?;
    // SAFETY: as this function's.
    let engine = unsafe { engine_of(engine) }?;
    Ok(Handle::new(Filter::compile(source, LinkType::from_file(link_type), engine)?))
}

/// The engine of that name, the one that suits if the pointer is null.
///
/// # Safety
/// The pointer is null or points to a string that ends with NUL.
pub(crate) unsafe fn engine_of(at: *const c_char) -> Result<&'static EngineInfo, Fault> {
    // SAFETY: as this function's.
    let name = unsafe { text(at, "the engine's name") }?.unwrap_or(engines::AUTO.name);
    engines::find(name).ok_or_else(|| {
        let names: Vec<_> = engines::ALL.iter().map(|engine| engine.name).collect();
        Fault::argument(format!("no engine is called `{name}`; there are {}", names.join(", ")))
    })
}

impl Handle {
    fn new(compiled: Compiled) -> Self {
        Self { compiled, selection: Selection::default(), frames: Vec::new(), wire_len: Vec::new() }
    }

    pub(crate) fn another(&self) -> Result<Self, Fault> {
        Ok(Self::new(self.compiled.another()?))
    }

    pub(crate) fn detail(&self) -> String {
        self.compiled.detail()
    }

    /// A bit per packet.
    ///
    /// # Safety
    /// The arrays are null, or there are so many packets, their bytes, and words for their bits, to
    /// which nothing else points.
    pub(crate) unsafe fn select(&mut self, packets: *const Packet, count: usize, words: *mut u64) -> Result<(), Fault> {
        // SAFETY: as this function's.
        let packets = unsafe { array(packets, count, "the array of packets") }?;
        // SAFETY: as this function's.
        let words = unsafe { array_mut(words, count.div_ceil(64), "the array of words") }?;
        for (packets, words) in packets.chunks(CHUNK).zip(words.chunks_mut(CHUNK / 64)) {
            // SAFETY: as this function's.
            unsafe { self.chunk(packets) }?;
            for (word, bits) in words.iter_mut().zip(&self.selection.bits) {
                word.write(*bits);
            }
        }
        Ok(())
    }

    /// # Safety
    /// The bytes of the packets are there.
    unsafe fn chunk(&mut self, packets: &[Packet]) -> Result<(), Fault> {
        let mut frames = emptied(take(&mut self.frames));
        self.wire_len.clear();
        self.wire_len.extend(packets.iter().map(Packet::on_wire));
        for packet in packets {
            // SAFETY: as this function's.
            frames.push(unsafe { packet.bytes() }?);
        }
        self.compiled.select(&Packets { frames: &frames, wire_len: &self.wire_len, time_ns: &[] }, &mut self.selection);
        self.frames = emptied(frames);
        Ok(())
    }

    /// The verdict on one packet.
    ///
    /// # Safety
    /// The pointer is null, or points to a packet whose bytes are there.
    pub(crate) unsafe fn matches(&mut self, packet: *const Packet) -> Result<bool, Fault> {
        // SAFETY: as this function's.
        let [packet] = unsafe { array(packet, 1, "the packet") }? else { return Ok(false) };
        // SAFETY: as this function's.
        let frame = unsafe { packet.bytes() }?;
        let packets = Packets { frames: &[frame], wire_len: &[packet.on_wire()], time_ns: &[] };
        self.compiled.select(&packets, &mut self.selection);
        Ok(self.selection.get(0))
    }
}

/// The room of a vector for slices that live otherwise: collecting what was a vector of the same
/// size keeps its memory.
fn emptied<'b>(mut room: Vec<&[u8]>) -> Vec<&'b [u8]> {
    room.clear();
    room.into_iter().map(|_| -> &'b [u8] { &[] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_kept() {
        let bytes = [1u8, 2];
        let mut room: Vec<&[u8]> = Vec::with_capacity(100);
        room.push(&bytes);
        let (at, kept) = (room.as_ptr() as usize, emptied(room));
        assert!(kept.is_empty() && kept.capacity() == 100 && kept.as_ptr() as usize == at);
    }
}
