//! Packets that a program in the kernel has begun, and hands over: this graph goes on with them at
//! the input that they had come to.
//!
//! ```text
//! 0  node, u32   4  port, u32   8  bytes pulled that are still there, u32   12  bytes grown at the head, u32   16  time, u64, or 0   24  info memory │ the packet, with what was pulled
//! ```
//!
//! Numbers are little-endian. The kernel's side is `compiler::backends::ebpf`.

use super::builtin::Ctx;
use super::{Graph, Info, Packet, Push};
use crate::io::device;
use netil::tables::Table;

/// Bytes of the header before info memory.
const HEADER: usize = 24;

/// A packet with where it goes on; `None` if that makes no sense. `info` are the bytes of info
/// memory that stand there.
fn read(frame: &[u8], info: usize, fields: &Info, now: u64) -> Option<(usize, u32, Packet)> {
    let word = |at: usize| frame.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes| u32::from_le_bytes(*bytes));
    let (node, port, head, origin) = (word(0)?, word(4)?, word(8)?, word(12)?);
    let time = frame.get(16..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).filter(|time| *time != 0).unwrap_or(now);
    let bytes = frame.get(HEADER + info..)?;
    let grown = bytes.get(..origin as usize)?;
    let mut packet = Packet::new(&bytes[grown.len()..], time, fields);
    packet.buffer.push(origin).ok()?;
    packet.buffer.bytes_mut().get_mut(..grown.len())?.copy_from_slice(grown);
    packet.buffer.pull(head).ok()?;
    let known = frame.get(HEADER..HEADER + info)?;
    packet.buffer.info.iter_mut().zip(known).for_each(|(to, from)| *to = *from);
    Some((node as usize, port, packet))
}

impl Graph {
    /// Puts bytes into a program's data memory, as far as they fit: what another run of it has left
    /// there.
    pub fn set_memory(&mut self, instance: usize, bytes: &[u8]) {
        self.set_memory_at(instance, 0, bytes);
    }

    /// Puts bytes into a program's data memory from byte `at` on, as far as they fit.
    pub fn set_memory_at(&mut self, instance: usize, at: usize, bytes: &[u8]) {
        if let Some(super::Body::Program(program)) = self.core.nodes.get_mut(instance).map(|node| &mut node.body) {
            program.state.data.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
        }
    }

    /// Puts a table in the place of a program's own one, with what that one has kept; for who keeps
    /// the entries elsewhere.
    pub fn set_table(&mut self, instance: usize, table: usize, with: Box<dyn Table>) {
        if let Some(super::Body::Program(program)) = self.core.nodes.get_mut(instance).map(|node| &mut node.body)
            && let Some(place) = program.state.tables.get_mut(table)
        {
            *place = with;
        }
    }

    /// A program's tables, for who has put some of them in their place.
    pub fn tables(&mut self, instance: usize) -> &mut [Box<dyn Table>] {
        match self.core.nodes.get_mut(instance).map(|node| &mut node.body) {
            Some(super::Body::Program(program)) => &mut program.state.tables,
            _ => &mut [],
        }
    }

    /// So many packets arrived at an element elsewhere, before what is handed over next: they have
    /// had their numbers.
    pub fn pass_over(&mut self, instance: usize, packets: u64) {
        if let Some(node) = self.core.nodes.get_mut(instance) {
            node.next_number = node.next_number.wrapping_add(packets);
        }
    }

    /// How many packets have arrived at a source, those that were passed over among them.
    pub fn numbered(&self, instance: usize) -> u64 {
        let first = super::first_number(instance, &self.topology.settings);
        self.core.nodes.get(instance).map_or(0, |node| node.next_number.wrapping_sub(first))
    }

    /// A program's data memory.
    pub fn memory(&self, instance: usize) -> &[u8] {
        match self.core.nodes.get(instance).map(|node| &node.body) {
            Some(super::Body::Program(program)) => &program.state.data,
            _ => &[],
        }
    }
}

impl Ctx<'_> {
    /// A frame that was handed over is on its way from where it had come to. False if it makes no
    /// sense.
    pub(super) fn go_on(&mut self, frame: &[u8], info: usize) -> bool {
        let mut read_one = None;
        let (head, rest) = frame.split_at(frame.len().min(HEADER + info));
        // A sender on the same host leaves checksums to a device.
        device::completed(rest, |rest| {
            read_one = read(&[head, rest].concat(), info, &self.graph.topology.info, self.graph.core.clock.now())
        });
        let Some((node, port, mut packet)) = read_one.filter(|(node, ..)| *node < self.graph.core.nodes.len()) else { return false };
        self.graph.number(self.node, &mut packet);
        self.graph.core.pending.push(Push { node, port, packet });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_where_it_was() {
        let fields = Info::of(&netil::app::Application { info_size: 8, ..Default::default() });
        let mut frame = [3_u32, 1, 14, 4].map(u32::to_le_bytes).concat();
        frame.extend(77_u64.to_le_bytes());
        frame.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        frame.extend(0..40);
        let (node, port, packet) = read(&frame, 8, &fields, 5).unwrap();
        assert_eq!((node, port, packet.buffer.time_ns, packet.buffer.info.as_slice()), (3, 1, 77, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
        assert_eq!((packet.buffer.bytes(), packet.buffer.moved()), (&(14..40).collect::<Vec<u8>>()[..], 10));
        let mut whole = packet.buffer.clone();
        whole.unpull(14).unwrap();
        assert_eq!(whole.bytes(), (0..40).collect::<Vec<u8>>());
        for len in 0..32 {
            assert!(read(&frame[..len], 8, &fields, 5).is_none());
        }
    }
}
