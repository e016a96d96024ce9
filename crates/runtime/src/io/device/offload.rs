//! Offloaded work of received frames is done here: checksums are completed, merged segments are cut
//! apart.
//!
//! A sender on the same host leaves checksums and segmentation to a device that does not exist
//! (veth, TAP, loopback), and receive offload merges segments. A program must see what is on a
//! wire, so that live traffic and captures of a wire agree, and what it sends on must be complete.
//!
//! Invariants: every offset of the header is checked against the frame; the number of segments is
//! bounded by the frame's length; a frame that contradicts its header is [`Malformed`].
//!
//! Source: include/uapi/linux/virtio_net.h; RFC 1071 (checksum); Linux `tcp_gso_segment` for what
//! changes between segments. Leaves out: UDP fragmentation offload (removed from Linux in 4.14),
//! encapsulated segments.

use super::super::sys::frames::{Outgoing, VNET};
use std::sync::atomic::{AtomicU16, Ordering};

const NEEDS_CHECKSUM: u8 = 1;
const ECN: u8 = 0x80;
const NONE: u8 = 0;
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP_L4: u8 = 5;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// A frame that contradicts its offload header, or has an offload that is not supported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// What the kernel says of a frame's offloads (`virtio_net_hdr`).
#[derive(Clone, Copy, Debug, Default)]
struct Offload {
    needs_checksum: bool,
    kind: u8,
    /// Payload bytes of each segment.
    segment: usize,
    /// Where the checksum's range begins, and its field in that.
    start: usize,
    field: usize,
}

impl Offload {
    fn of(header: &[u8; VNET]) -> Self {
        let half = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let (flags, kind) = (header[0], header[1] & !ECN);
        Self { needs_checksum: flags & NEEDS_CHECKSUM != 0, kind, segment: half(4), start: half(6), field: half(8) }
    }
}

/// Hands on a frame as it would be on a wire: itself with complete checksums, or its segments.
pub(super) fn complete(header: &[u8; VNET], frame: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Malformed> {
    let offload = Offload::of(header);
    match offload.kind {
        NONE if !offload.needs_checksum => each(frame),
        NONE => {
            let mut frame = frame.to_vec();
            fill_checksum(&mut frame, offload.start, offload.field)?;
            each(&frame);
        }
        TCP4 | TCP6 | UDP_L4 => return Segments::of(&offload, frame)?.cut(each),
        _ => return Err(Malformed),
    }
    Ok(())
}

/// The fewest payload bytes of a segment of those that were merged: what is cut again is not cut
/// into longer ones.
static SEGMENT: AtomicU16 = AtomicU16::new(u16::MAX);

/// Hands on a frame of merged TCP segments as one segment with its checksum; others as [`complete`]
/// does.
pub(super) fn keep_whole(header: &[u8; VNET], frame: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Malformed> {
    let offload = Offload::of(header);
    if !matches!(offload.kind, TCP4 | TCP6) {
        return complete(header, frame, each);
    }
    let segments = Segments::of(&offload, frame)?;
    // IP has no length for more (BIG TCP).
    if frame.len() - segments.network > usize::from(u16::MAX) {
        return segments.cut(each);
    }
    SEGMENT.fetch_min(offload.segment as u16, Ordering::Relaxed);
    let mut whole = frame.to_vec();
    segments.sum_transport(&mut whole)?;
    each(&whole);
    Ok(())
}

/// A frame of more than `longest` bytes as the kernel, or a card, cuts it: TCP in IP.
pub(super) fn to_be_cut(frame: &[u8], longest: usize) -> Result<Outgoing<'_>, Malformed> {
    let network = network_header(frame).ok_or(Malformed)?;
    let is_ip4 = byte(frame, network)? >> 4 == 4;
    let (transport, protocol) = match is_ip4 {
        true => (network + usize::from(byte(frame, network)? & 15) * 4, byte(frame, network + 9)?),
        false => (network + 40, byte(frame, network + 6)?),
    };
    let headers = transport + usize::from(byte(frame, transport + 12)? >> 4) * 4;
    if protocol != 6 || headers >= longest.min(frame.len()) || headers < transport + 20 {
        return Err(Malformed);
    }
    let (head, rest) = frame.split_at(headers);
    let mut head = head.to_vec();
    // What is left to a device: the sum of the pseudo header.
    let addresses = if is_ip4 { network + 12..network + 20 } else { network + 8..network + 40 };
    let pseudo = sum_of(frame.get(addresses).ok_or(Malformed)?) + 6 + (frame.len() - transport) as u64;
    put(&mut head, transport + 16, fold(pseudo))?;
    let size = SEGMENT.load(Ordering::Relaxed).min((longest - headers) as u16);
    let mut offload = [0; VNET];
    (offload[0], offload[1]) = (NEEDS_CHECKSUM, if is_ip4 { TCP4 } else { TCP6 });
    for (at, value) in [(2, headers as u16), (4, size), (6, transport as u16), (8, 16)] {
        offload[at..at + 2].copy_from_slice(&value.to_ne_bytes());
    }
    Ok(Outgoing { offload, head, rest })
}

/// Completes a checksum whose field holds the sum of the pseudo header.
fn fill_checksum(frame: &mut [u8], start: usize, field: usize) -> Result<(), Malformed> {
    let sum = !fold(sum_of(frame.get(start..).ok_or(Malformed)?));
    put(frame, start + field, if sum == 0 { 0xffff } else { sum })
}

/// Hands on a frame with its checksum complete, where nothing says whether it is (AF_XDP).
///
/// What a sender on the same host leaves to a device has the sum of the pseudo header in the
/// checksum's field. A frame whose field has exactly that, and whose checksum is wrong, is taken
/// for one; of frames that were damaged on a wire one in 65,536 looks so.
pub(super) fn complete_untold(frame: &[u8], mut each: impl FnMut(&[u8])) {
    match untold(frame) {
        Some((start, field)) => {
            let mut frame = frame.to_vec();
            // Both are within the frame.
            let _ = fill_checksum(&mut frame, start, field);
            each(&frame);
        }
        None => each(frame),
    }
}

/// Where the transport header of a frame begins whose checksum is left to a device, and its field
/// in that.
fn untold(frame: &[u8]) -> Option<(usize, usize)> {
    let network = network_header(frame)?;
    let (transport, protocol, addresses, end) = match byte(frame, network).ok()? >> 4 {
        // A fragment's checksum was completed before it was cut.
        4 if half(frame, network + 6).ok()? & 0x3fff != 0 => return None,
        4 => {
            let header = usize::from(byte(frame, network).ok()? & 15) * 4;
            let end = network + usize::from(half(frame, network + 2).ok()?);
            (network + header.max(20), byte(frame, network + 9).ok()?, network + 12..network + 20, end)
        }
        _ => {
            let end = network + 40 + usize::from(half(frame, network + 4).ok()?);
            (network + 40, byte(frame, network + 6).ok()?, network + 8..network + 40, end)
        }
    };
    let field = match protocol {
        6 => 16,
        17 => 6,
        _ => return None,
    };
    let segment = frame.get(transport..end)?;
    let pseudo = sum_of(frame.get(addresses)?) + u64::from(protocol) + segment.len() as u64;
    let said = half(segment, field).ok()?;
    // The padding of a short frame is zero, or `fill_checksum` would count it.
    let is_left = said == fold(pseudo) && fold(pseudo + sum_of(segment)) != 0xffff && frame[end..].iter().all(|byte| *byte == 0);
    is_left.then_some((transport, field))
}

/// A frame that stands for several segments.
struct Segments<'f> {
    frame: &'f [u8],
    /// Where the network header begins.
    network: usize,
    is_ip4: bool,
    transport: usize,
    is_tcp: bool,
    payload: usize,
    size: usize,
}

impl<'f> Segments<'f> {
    fn of(offload: &Offload, frame: &'f [u8]) -> Result<Self, Malformed> {
        let network = network_header(frame).ok_or(Malformed)?;
        let (is_tcp, transport) = (offload.kind != UDP_L4, offload.start);
        let header = match is_tcp {
            true => usize::from(byte(frame, transport + 12)? >> 4) * 4,
            false => 8,
        };
        let (payload, least) = (transport + header, if is_tcp { 20 } else { 8 });
        let is_ip4 = byte(frame, network)? >> 4 == 4;
        let network_bytes = if is_ip4 { 20 } else { 40 };
        if offload.segment == 0 || header < least || payload > frame.len() || transport < network + network_bytes {
            return Err(Malformed);
        }
        Ok(Self { frame, network, is_ip4, transport, is_tcp, payload, size: offload.segment })
    }

    fn cut(&self, mut each: impl FnMut(&[u8])) -> Result<(), Malformed> {
        let (headers, payload) = self.frame.split_at_checked(self.payload).ok_or(Malformed)?;
        let count = payload.len().div_ceil(self.size).max(1);
        for index in 0..count {
            let from = index * self.size;
            let part = payload.get(from..payload.len().min(from + self.size)).unwrap_or_default();
            let mut segment = [headers, part].concat();
            self.number_network(&mut segment, index)?;
            self.number_transport(&mut segment, index, index + 1 == count)?;
            self.sum_transport(&mut segment)?;
            each(&segment);
        }
        Ok(())
    }

    /// The network header's length, identification and checksum.
    fn number_network(&self, segment: &mut [u8], index: usize) -> Result<(), Malformed> {
        let at = self.network;
        if !self.is_ip4 {
            return put(segment, at + 4, (segment.len() - at - 40) as u16);
        }
        put(segment, at + 2, (segment.len() - at) as u16)?;
        let id = half(segment, at + 4)?.wrapping_add(index as u16);
        put(segment, at + 4, id)?;
        put(segment, at + 10, 0)?;
        let length = usize::from(byte(segment, at)? & 15) * 4;
        let sum = !fold(sum_of(segment.get(at..at + length).ok_or(Malformed)?));
        put(segment, at + 10, sum)
    }

    /// TCP: sequence number and flags; UDP: length.
    fn number_transport(&self, segment: &mut [u8], index: usize, last: bool) -> Result<(), Malformed> {
        let at = self.transport;
        if !self.is_tcp {
            return put(segment, at + 4, (segment.len() - at) as u16);
        }
        let field = segment.get_mut(at + 4..at + 8).ok_or(Malformed)?;
        let first = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
        field.copy_from_slice(&first.wrapping_add((index * self.size) as u32).to_be_bytes());
        let flags = segment.get_mut(at + 13).ok_or(Malformed)?;
        if !last {
            *flags &= !(FIN | PSH);
        }
        if index > 0 {
            *flags &= !CWR;
        }
        Ok(())
    }

    /// The transport checksum, with the pseudo header.
    fn sum_transport(&self, segment: &mut [u8]) -> Result<(), Malformed> {
        let (field, protocol) = if self.is_tcp { (self.transport + 16, 6) } else { (self.transport + 6, 17) };
        put(segment, field, 0)?;
        let addresses = if self.is_ip4 { self.network + 12..self.network + 20 } else { self.network + 8..self.network + 40 };
        let pseudo = sum_of(segment.get(addresses).ok_or(Malformed)?) + protocol + (segment.len() - self.transport) as u64;
        let sum = !fold(pseudo + sum_of(segment.get(self.transport..).ok_or(Malformed)?));
        put(segment, field, if sum == 0 && !self.is_tcp { 0xffff } else { sum })
    }
}

/// Where the IP header begins in an Ethernet frame, behind VLAN tags.
fn network_header(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    for _ in 0..3 {
        match half(frame, at).ok()? {
            0x8100 | 0x88a8 => at += 4,
            0x0800 | 0x86dd => return Some(at + 2),
            _ => return None,
        }
    }
    None
}

/// Sum of big-endian words, the last one filled up with zero bits.
fn sum_of(bytes: &[u8]) -> u64 {
    // Pairs of words add up to the same when carries are added again.
    let (pairs, rest) = bytes.as_chunks::<4>();
    let rest = rest.chunks(2).map(|word| u64::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)])));
    pairs.iter().map(|pair| u64::from(u32::from_be_bytes(*pair))).sum::<u64>() + rest.sum::<u64>()
}

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, Malformed> {
    bytes.get(at).copied().ok_or(Malformed)
}

fn half(bytes: &[u8], at: usize) -> Result<u16, Malformed> {
    Ok(u16::from_be_bytes([byte(bytes, at)?, byte(bytes, at + 1)?]))
}

fn put(bytes: &mut [u8], at: usize, value: u16) -> Result<(), Malformed> {
    bytes.get_mut(at..at + 2).ok_or(Malformed)?.copy_from_slice(&value.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: [u8; 8] = [10, 0, 0, 1, 10, 0, 0, 2];

    fn header(flags: u8, kind: u8, segment: u16, start: u16, field: u16) -> [u8; VNET] {
        let mut header = [0; VNET];
        (header[0], header[1]) = (flags, kind);
        for (at, value) in [(4, segment), (6, start), (8, field)] {
            header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        header
    }

    /// A TCP segment in IPv4 in Ethernet.
    fn tcp(payload: &[u8]) -> Vec<u8> {
        let ip = [&[0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0][..], &HOSTS].concat();
        let tcp = [0x30, 0x39, 0, 80, 0, 0, 1, 0, 0, 0, 0, 1, 0x50, 0x10 | FIN | PSH | CWR, 1, 0, 0, 0, 0, 0];
        [&[2; 12][..], &[8, 0], &ip, &tcp, payload].concat()
    }

    fn all(header: &[u8; VNET], frame: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut frames = Vec::new();
        complete(header, frame, |frame| frames.push(frame.to_vec())).map(|()| frames)
    }

    fn transport_is_whole(frame: &[u8], protocol: u64) -> bool {
        let pseudo = sum_of(&frame[26..34]) + protocol + (frame.len() - 34) as u64;
        fold(pseudo + sum_of(&frame[34..])) == 0xffff
    }

    #[test]
    fn merged_segments_are_cut_apart() {
        let payload: Vec<u8> = (0..2501_u32).map(|i| i as u8).collect();
        let segments = all(&header(1, TCP4 | ECN, 1000, 34, 16), &tcp(&payload)).unwrap();
        assert_eq!(segments.iter().map(Vec::len).collect::<Vec<_>>(), [1054, 1054, 555]);
        assert_eq!(segments.iter().flat_map(|s| &s[54..]).copied().collect::<Vec<_>>(), payload);
        for (index, segment) in segments.iter().enumerate() {
            assert_eq!(half(segment, 16).unwrap() as usize, segment.len() - 14);
            assert_eq!(half(segment, 18).unwrap(), 0x1234 + index as u16);
            assert_eq!(fold(sum_of(&segment[14..34])), 0xffff, "the IP header's checksum");
            assert_eq!(&segment[38..42], &(256 + 1000 * index as u32).to_be_bytes());
            assert!(transport_is_whole(segment, 6));
        }
        assert_eq!(segments.iter().map(|s| s[47]).collect::<Vec<_>>(), [0x10 | CWR, 0x10, 0x10 | FIN | PSH]);
    }

    #[test]
    fn merged_segments_stay_whole_and_are_cut_by_the_system() {
        let payload: Vec<u8> = (0..2501_u32).map(|i| i as u8).collect();
        let mut frame = tcp(&payload);
        let len = frame.len() as u16 - 14;
        put(&mut frame, 16, len).unwrap();
        let mut whole = Vec::new();
        keep_whole(&header(1, TCP4, 1000, 34, 16), &frame, |frame| whole.push(frame.to_vec())).unwrap();
        assert!(whole.len() == 1 && whole[0].len() == frame.len() && transport_is_whole(&whole[0], 6));
        let out = to_be_cut(&whole[0], 1518).unwrap();
        let sent = [&out.head, out.rest].concat();
        // No segment is longer than those that were merged.
        assert_eq!(out.offload, {
            let mut wanted = header(1, TCP4, 1000, 34, 16);
            wanted[2..4].copy_from_slice(&54_u16.to_ne_bytes());
            wanted
        });
        let cut = |frame: &[u8], header: &[u8; VNET]| all(header, frame).unwrap();
        assert_eq!(cut(&sent, &out.offload), cut(&frame, &header(1, TCP4, 1000, 34, 16)));
        let v6 = [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 9, 0xd9, 6, 64], &[7; 32], &whole[0][34..]].concat();
        let out = to_be_cut(&v6, 1518).unwrap();
        let parts = cut(&[&out.head, out.rest].concat(), &out.offload);
        let is_whole = |part: &Vec<u8>| fold(sum_of(&part[22..54]) + 6 + (part.len() - 54) as u64 + sum_of(&part[54..])) == 0xffff;
        assert!(parts.len() == 3 && parts.iter().all(is_whole));
        // What is no TCP, or no IP, is sent as it is.
        for (at, value) in [(23, 17), (12, 9), (46, 0xf0)] {
            let mut other = whole[0].clone();
            other[at] = value;
            assert_eq!(to_be_cut(&other, 1518).is_ok(), at == 46, "{at}");
        }
        assert!((0..100).all(|len| to_be_cut(&frame[..len], 60).is_ok() == (len > 54)), "all headers are there");
        let mut large = tcp(&vec![0; 66_000]);
        put(&mut large, 16, 0).unwrap();
        let mut count = 0;
        keep_whole(&header(1, TCP4, 1448, 34, 16), &large, |_| count += 1).unwrap();
        assert_eq!(count, 66_000_usize.div_ceil(1448), "IP has no length for it");
    }

    #[test]
    fn a_checksum_is_completed() {
        let mut frame = tcp(b"odd");
        let pseudo = fold(sum_of(&HOSTS) + 6 + 23);
        put(&mut frame, 50, pseudo).unwrap();
        let done = all(&header(1, NONE, 0, 34, 16), &frame).unwrap();
        assert!(done.len() == 1 && transport_is_whole(&done[0], 6));
        assert_eq!(all(&header(0, NONE, 0, 0, 0), &frame).unwrap(), [frame], "without, it stays as it is");
    }

    #[test]
    fn a_checksum_is_completed_where_nothing_says_that_it_is_not() {
        let untold = |frame: &[u8]| {
            let mut all = Vec::new();
            complete_untold(frame, |frame| all.push(frame.to_vec()));
            assert_eq!(all.len(), 1);
            all.remove(0)
        };
        for payload in [&b""[..], b"odd", b"even"] {
            let mut frame = tcp(payload);
            let len = frame.len() as u16 - 14;
            put(&mut frame, 16, len).unwrap();
            let pseudo = fold(sum_of(&HOSTS) + 6 + u64::from(len) - 20);
            put(&mut frame, 50, pseudo).unwrap();
            let done = untold(&frame);
            assert!(transport_is_whole(&done, 6), "{payload:?}");
            assert_eq!(untold(&done), done, "what is complete stays");
            let tagged = |frame: &[u8]| [&frame[..12], &[0x81, 0, 0, 5], &frame[12..], &[0; 4]].concat();
            assert_eq!(untold(&tagged(&frame)), tagged(&done), "behind a tag, with padding");
            for (at, value) in [(50, pseudo ^ 1), (20, 0x2000), (20, 1), (23, 99)] {
                let mut other = frame.clone();
                put(&mut other, at, value).unwrap();
                assert_eq!(untold(&other), other, "damaged, a fragment, another protocol");
            }
            for len in 0..frame.len() {
                assert_eq!(untold(&frame[..len]), &frame[..len]);
            }
        }
    }

    #[test]
    fn datagrams_are_cut_apart() {
        let ip = [&[0x45, 0, 0, 0, 0, 9, 0, 0, 64, 17, 0, 0][..], &HOSTS].concat();
        let frame = [&[2; 12][..], &[8, 0], &ip, &[0, 53, 0, 54, 0, 0, 0, 0], &[7; 250]].concat();
        let parts = all(&header(1, UDP_L4, 100, 34, 6), &frame).unwrap();
        assert_eq!(parts.iter().map(|part| half(part, 38).unwrap()).collect::<Vec<_>>(), [108, 108, 58]);
        assert!(parts.iter().all(|part| transport_is_whole(part, 17)));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let frame = tcp(&[0; 100]);
        for (flags, kind, segment, start, field) in
            [(1, TCP4, 0, 34, 16), (1, TCP4, 10, 3, 16), (1, TCP4, 10, 65_535, 16), (1, NONE, 0, 34, 65_000), (1, 3, 10, 34, 6)]
        {
            assert_eq!(all(&header(flags, kind, segment, start, field), &frame), Err(Malformed));
        }
        // Any header and any frame end.
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        };
        for _ in 0..20_000 {
            let mut frame = tcp(&[0; 64]);
            let at = usize::from(random()) % frame.len();
            frame[at] = random();
            frame.truncate(usize::from(random()));
            let header = header(random() & 1, random() % 6, u16::from(random()), u16::from(random()) % 64, u16::from(random()) % 32);
            let _ = all(&header, &frame);
        }
    }
}
