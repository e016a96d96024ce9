//! What the switch and a program tell each other of a packet, in its info memory.

use p4::pipeline::info;

pub(super) fn get32(info: &[u8], at: u32) -> u32 {
    info.get(at as usize..at as usize + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

pub(super) fn get16(info: &[u8], at: u32) -> u16 {
    info.get(at as usize..at as usize + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

pub(super) fn put(info: &mut [u8], at: u32, bytes: &[u8]) {
    if let Some(to) = info.get_mut(at as usize..at as usize + bytes.len()) {
        to.copy_from_slice(bytes);
    }
}

/// What a packet before ingress is told.
pub(super) fn address_arrival(info: &mut [u8], port: u32, path: u32, length: usize, time_us: u64) {
    put(info, info::INGRESS_PORT, &port.to_le_bytes());
    put(info, info::PATH, &path.to_le_bytes());
    put(info, info::LENGTH, &(length as u32).to_le_bytes());
    put(info, info::TIME, &time_us.to_le_bytes()[..6]);
}

/// Where a packet before egress goes, and how it comes there.
pub(super) fn address(info: &mut [u8], port: u32, rid: u16, path: u32) {
    put(info, info::EGRESS_PORT, &port.to_le_bytes());
    put(info, info::RID, &rid.to_le_bytes());
    put(info, info::PATH, &path.to_le_bytes());
}

/// The bytes of a packet behind egress that leave.
pub(super) fn departing<'b>(bytes: &'b [u8], out: &[u8]) -> &'b [u8] {
    let length = get32(out, info::TRUNCATE).checked_sub(1).map_or(bytes.len(), |most| bytes.len().min(most as usize));
    &bytes[..length]
}
