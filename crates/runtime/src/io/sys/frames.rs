//! Frames received and sent in batches over AF_PACKET sockets (`recvmmsg`, `sendmmsg`), with
//! offload headers and VLAN tags.
//!
//! A ring of blocks (TPACKET_V3) hands packets over when a block is full or has waited for
//! milliseconds; forwarding cannot wait so long. A ring of fixed slots (TPACKET_V2) has no such
//! delay, but each slot must hold the longest frame, and frames that were merged for offload have
//! 64 KiB. So frames are copied by one system call per batch.
//!
//! Invariants: buffers passed to the kernel outlive the call; a received length never exceeds its
//! buffer; control messages are parsed with bounds checks.
//!
//! Source: packet(7), recvmmsg(2), include/uapi/linux/virtio_net.h (`virtio_net_hdr`), if_packet.h
//! (`tpacket_auxdata`).

use super::packet::Socket;
use std::{ffi::c_int, io, mem, os::fd::AsRawFd, ptr};

/// Bytes of the offload header before each frame.
pub(in crate::io) const VNET: usize = 10;
/// Room for one received frame: the longest that offload makes, its headers, and the offload
/// header.
const ROOM: usize = VNET + 65_536 + 256;
/// Frames of one batch.
pub(in crate::io) const BATCH: usize = 64;
/// Room for control messages of one frame.
const CONTROL: usize = 64;
/// The receive buffer that is asked for; the kernel grants less without CAP_NET_ADMIN.
const RECEIVE_BUFFER: c_int = 16 << 20;

/// Buffers for one batch of received frames.
pub(in crate::io) struct Inbox {
    memory: Vec<u8>,
    control: Vec<u64>,
    received: Vec<Received>,
}

/// A received frame.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::io) struct Received {
    /// Bytes in its buffer, the offload header included.
    len: usize,
    /// The VLAN tag that the kernel took off: protocol and control.
    pub(in crate::io) tag: Option<[u8; 4]>,
}

impl Inbox {
    pub(in crate::io) fn new() -> Self {
        let control = vec![0; BATCH * CONTROL / mem::size_of::<u64>()];
        Self { memory: vec![0; BATCH * ROOM], control, received: Vec::with_capacity(BATCH) }
    }

    /// The frames of the last batch: offload header, frame, VLAN tag.
    pub(in crate::io) fn frames(&self) -> impl Iterator<Item = ([u8; VNET], &[u8], Option<[u8; 4]>)> {
        self.received.iter().zip(self.memory.chunks_exact(ROOM)).filter_map(|(received, room)| {
            let (header, frame) = room.get(..received.len)?.split_first_chunk()?;
            Some((*header, frame, received.tag))
        })
    }

    /// Receives what is there, at most a batch; the number of frames, which may be 0.
    ///
    /// Errors: the socket's pending error, such as ENETDOWN.
    pub(in crate::io) fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        self.received.clear();
        let controls = self.control.chunks_exact_mut(CONTROL / mem::size_of::<u64>());
        let mut parts: Vec<[libc::iovec; 1]> = self.memory.chunks_exact_mut(ROOM).map(|room| [part_mut(room)]).collect();
        let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().zip(controls).map(|(parts, control)| message(parts, control)).collect();
        let (fd, count) = (socket.fd().as_raw_fd(), messages.len() as u32);
        // The type of the flags is not the same in every C library. SAFETY: each of the `count`
        // messages points to one part and one control buffer of `self`, which outlive the call.
        let got = unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _, ptr::null_mut()) };
        let got = match counted(got) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            result => result?,
        };
        let lens: Vec<(usize, usize)> = messages.iter().take(got).map(|m| (m.msg_len as usize, m.msg_hdr.msg_controllen as _)).collect();
        for (index, (len, control_len)) in lens.into_iter().enumerate() {
            let words = self.control.get(index * CONTROL / 8..(index + 1) * CONTROL / 8).unwrap_or_default();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take(control_len).collect();
            self.received.push(Received { len: len.min(ROOM), tag: tag(&bytes) });
        }
        Ok(got)
    }
}

/// Prepares a socket for batches: offload headers, VLAN tags beside frames, only frames that come
/// in unless `outgoing`.
pub(in crate::io) fn prepare(socket: &Socket, outgoing: bool) -> io::Result<()> {
    socket.set(libc::PACKET_VNET_HDR, &(1 as c_int))?;
    socket.set(libc::PACKET_AUXDATA, &(1 as c_int))?;
    // Kernels before 4.20 cannot leave out what goes out.
    let ignored = socket.set(libc::PACKET_IGNORE_OUTGOING, &c_int::from(!outgoing));
    ignored.or_else(|error| if error.raw_os_error() == Some(libc::ENOPROTOOPT) { Ok(()) } else { Err(error) })?;
    grow(socket);
    Ok(())
}

/// Asks for a large receive buffer; a smaller one is no error, since the kernel counts what it
/// drops.
fn grow(socket: &Socket) {
    for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
        if socket.set_at(libc::SOL_SOCKET, option, &RECEIVE_BUFFER).is_ok() {
            return;
        }
    }
}

/// A frame to be sent: the offload header, and the frame in two parts, of which the first one may
/// be other bytes than it came with.
pub(in crate::io) struct Outgoing<'f> {
    pub offload: [u8; VNET],
    pub head: Vec<u8>,
    pub rest: &'f [u8],
}

impl<'f> Outgoing<'f> {
    /// A frame as it is.
    pub(in crate::io) fn plain(frame: &'f [u8]) -> Self {
        Self { offload: [0; VNET], head: Vec::new(), rest: frame }
    }
}

/// Sends frames in their order without waiting; how many the kernel took.
///
/// Errors: of the first frame, if that was not taken.
pub(in crate::io) fn send<'f>(socket: &Socket, frames: impl Iterator<Item = Outgoing<'f>>) -> io::Result<usize> {
    let frames: Vec<Outgoing<'f>> = frames.take(BATCH).collect();
    let mut parts: Vec<[libc::iovec; 3]> = frames.iter().map(|frame| [part(&frame.offload), part(&frame.head), part(frame.rest)]).collect();
    let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().map(|parts| message(parts, &mut [])).collect();
    let (fd, count) = (socket.fd().as_raw_fd(), messages.len() as u32);
    // SAFETY: each of the `count` messages points to three parts, whose bytes are borrowed for the
    // call and only read.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _) };
    counted(sent)
}

fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

fn part_mut(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

fn message(parts: &mut [libc::iovec], control: &mut [u64]) -> libc::mmsghdr {
    // SAFETY: an msghdr is integers and pointers, for all of which zero bytes are a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
    if !control.is_empty() {
        (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), mem::size_of_val(control) as _);
    }
    libc::mmsghdr { msg_hdr: header, msg_len: 0 }
}

fn counted(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// The VLAN tag in control messages: a `cmsghdr` (length, level, type), then `tpacket_auxdata`.
fn tag(control: &[u8]) -> Option<[u8; 4]> {
    const HEADER: usize = mem::size_of::<usize>() + 8;
    let word = |at: usize| control.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let half = |at: usize| control.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes);
    let (level, kind) = (word(mem::size_of::<usize>())?, word(mem::size_of::<usize>() + 4)?);
    if (level as c_int, kind as c_int) != (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
        return None;
    }
    let (status, tci, tpid) = (word(HEADER)?, half(HEADER + 16)?, half(HEADER + 18)?);
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { 0x8100 };
    let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
    Some([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_from_its_message() {
        let aux = |status: u32| -> Vec<u8> {
            let words = [status, 60, 60].map(u32::to_ne_bytes);
            let halves = [0_u16, 14, 0x2005, 0x88a8].map(u16::to_ne_bytes);
            let kind = [libc::SOL_PACKET as u32, libc::PACKET_AUXDATA as u32].map(u32::to_ne_bytes);
            let head = [36_usize.to_ne_bytes().to_vec(), kind.concat()];
            [head.concat(), words.concat(), halves.concat()].concat()
        };
        let both = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        assert_eq!(tag(&aux(both)), Some([0x88, 0xa8, 0x20, 5]));
        assert_eq!(tag(&aux(libc::TP_STATUS_VLAN_VALID)), Some([0x81, 0, 0x20, 5]));
        assert_eq!(tag(&aux(0)), None);
        for short in 0..36 {
            assert_eq!(tag(aux(both).get(..short).unwrap()), None, "{short}");
        }
    }
}
