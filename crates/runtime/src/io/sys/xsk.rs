//! AF_XDP sockets: frames of one queue of an interface in memory that is shared with the kernel,
//! and those to be sent.
//!
//! ```text
//!  fill ring:       chunks that frames may be put in ─▶ kernel ─▶ receive ring:    chunks with frames
//!  send ring:       chunks with frames               ─▶ kernel ─▶ completion ring: chunks that are sent
//! ```
//!
//! The chunks of both ways are apart: [`Receiving`] and [`Sending`] may be used by two threads at
//! the same time.
//!
//! Invariants: a chunk is in the hands of the kernel from the moment on when a ring is told of it
//! until another ring gives it back, and is not touched meanwhile; a frame that the kernel tells of
//! is believed only as far as it lies in one chunk of the right half.
//!
//! Source: Documentation/networking/af_xdp.rst; include/uapi/linux/if_xdp.h. Leaves out: memory
//! shared by several sockets, frames of several chunks, metadata of what is sent.

use super::ring::{Descriptor, Ring};
use memmap2::{MmapMut, MmapRaw};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
    xdp::{
        SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING,
        XdpOptionsFlags, XdpUmemReg, XdpUmemRegFlags,
    },
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    slice,
    sync::Arc,
};

/// Bytes of a chunk: a page, which every driver takes.
const CHUNK: usize = 4096;
/// What the kernel leaves free before a frame that it puts into a chunk.
const HEADROOM: usize = 256;
/// The longest frame that is received or sent.
pub(in crate::io) const LONGEST: usize = CHUNK - HEADROOM;

/// A socket with its memory. The first half of the chunks is for frames that come.
struct Shared {
    fd: OwnedFd,
    memory: MmapRaw,
    /// Chunks of each half.
    half: u32,
}

/// The half of a socket that receives.
pub(in crate::io) struct Receiving {
    shared: Arc<Shared>,
    fill: Ring<u64>,
    ring: Ring<Descriptor>,
}

/// The half of a socket that sends.
pub(in crate::io) struct Sending {
    shared: Arc<Shared>,
    completion: Ring<u64>,
    ring: Ring<Descriptor>,
    free: Vec<u64>,
}

/// Frames that the kernel dropped up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::io) struct Dropped {
    /// There was no chunk for them, or no room in the receive ring.
    pub full: u64,
    /// Longer than a chunk.
    pub long: u64,
    /// Frames that were to be sent, and were no frames.
    pub invalid: u64,
}

/// Opens a socket at a queue of the interface with that index, of so many chunks each way (a power
/// of two). By the driver without a copy if it can, unless `copy`.
///
/// Errors: EPERM without privilege; ENOBUFS where no more memory may be locked; EBUSY if another
/// socket has the queue; EINVAL if there is no such queue.
pub(in crate::io) fn open(interface: u32, queue: u32, half: u32, copy: bool) -> io::Result<(Receiving, Sending)> {
    let fd = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let memory = MmapRaw::from(MmapMut::map_anon(2 * half as usize * CHUNK)?);
    let asked = XdpUmemReg {
        addr: memory.as_ptr() as u64,
        len: memory.len() as u64,
        chunk_size: CHUNK as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(&fd, asked)?;
    sockopt::set_xdp_umem_fill_ring_size(&fd, half)?;
    sockopt::set_xdp_umem_completion_ring_size(&fd, half)?;
    sockopt::set_xdp_rx_ring_size(&fd, half)?;
    sockopt::set_xdp_tx_ring_size(&fd, half)?;
    let offsets = sockopt::xdp_mmap_offsets(&fd)?;
    let (fill, completion) = (
        Ring::map(fd.as_fd(), XDP_UMEM_PGOFF_FILL_RING, &offsets.fr, half)?,
        Ring::map(fd.as_fd(), XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, half)?,
    );
    let (incoming, outgoing) =
        (Ring::map(fd.as_fd(), XDP_PGOFF_RX_RING, &offsets.rx, half)?, Ring::map(fd.as_fd(), XDP_PGOFF_TX_RING, &offsets.tx, half)?);
    let shared = Arc::new(Shared { fd, memory, half });
    let mut receiving = Receiving { shared: Arc::clone(&shared), fill, ring: incoming };
    receiving.fill();
    let free = (0..half).map(|n| u64::from(half + n) * CHUNK as u64).collect();
    let wanted = if copy { SocketAddrXdpFlags::XDP_COPY } else { SocketAddrXdpFlags::empty() };
    bind(&shared.fd, &SocketAddrXdp::new(wanted | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP, interface, queue))?;
    Ok((receiving, Sending { shared, completion, ring: outgoing, free }))
}

impl Shared {
    /// The frame that a descriptor of a received one names.
    fn received(&self, descriptor: Descriptor) -> Option<&[u8]> {
        let (at, len) = (usize::try_from(descriptor.address).ok()?, descriptor.len as usize);
        if at >= self.half as usize * CHUNK || at % CHUNK + len > CHUNK {
            return None;
        }
        // SAFETY: by the test the bytes are in one chunk of the half for what comes, which lives as
        // long as `self`. The kernel has handed the chunk over, and gets it back only after the
        // borrow, in `Receiving::receive`; `Sending` writes to the other half only.
        Some(unsafe { slice::from_raw_parts(self.memory.as_ptr().wrapping_add(at), len) })
    }

    /// Copies a frame of at most [`LONGEST`] bytes into a chunk of the half for what is sent.
    fn put(&self, address: u64, frame: &[u8]) {
        let to = self.memory.as_mut_ptr().wrapping_add(address as usize);
        debug_assert!(frame.len() <= LONGEST && address as usize + CHUNK <= self.memory.len());
        // SAFETY: the address is of a chunk that `Sending` has in its list, which are those of the
        // second half; so the kernel does not use it, and nobody else refers to it. The frame is no
        // longer than a chunk (`Sending::send`), and not in this memory, which is lent only within
        // `Receiving::receive`, or in its first half.
        unsafe { to.copy_from_nonoverlapping(frame.as_ptr(), frame.len()) }
    }
}

impl Receiving {
    /// Gives the kernel all chunks.
    fn fill(&mut self) {
        for n in 0..self.shared.half {
            self.fill.set(n, u64::from(n) * CHUNK as u64);
        }
        self.fill.publish(self.shared.half);
    }

    /// Hands on the frames that came, `most` at most; how many there were.
    pub(in crate::io) fn receive(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> usize {
        let count = self.ring.available().min(most as u32);
        for index in 0..count {
            let descriptor = self.ring.get(index);
            if let Some(frame) = self.shared.received(descriptor) {
                each(frame);
            }
            // There are as many places as chunks.
            self.fill.set(index, descriptor.address);
        }
        if count > 0 {
            self.ring.release(count);
            self.fill.publish(count);
        }
        count as usize
    }

    /// Calls the kernel if it waits for that.
    ///
    /// Errors: the interface is down or gone.
    pub(in crate::io) fn wake(&self) -> io::Result<()> {
        if !self.fill.needs_wakeup() {
            return Ok(());
        }
        match recv(&self.shared.fd, &mut [0_u8; 0], RecvFlags::DONTWAIT) {
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::BUSY | rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The descriptor, to wait for.
    pub(in crate::io) fn fd(&self) -> BorrowedFd<'_> {
        self.shared.fd.as_fd()
    }

    /// Whether the driver puts frames into our memory itself.
    pub(in crate::io) fn is_zero_copy(&self) -> bool {
        sockopt::xdp_options(&self.shared.fd).is_ok_and(|options| options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY))
    }

    /// What the kernel dropped up to now. A kernel that does not tell of empty fill rings has
    /// frames without a chunk among those that are too long.
    pub(in crate::io) fn dropped(&self) -> Dropped {
        let Ok(counted) = sockopt::xdp_statistics(&self.shared.fd) else { return Dropped::default() };
        let without = counted.rx_fill_ring_empty_descs.unwrap_or(0).min(counted.rx_dropped);
        let full = counted.rx_ring_full.unwrap_or(0) + without;
        Dropped { full, long: counted.rx_dropped - without, invalid: counted.tx_invalid_descs }
    }
}

impl Sending {
    /// Puts frames of at most [`LONGEST`] bytes into the ring; how many there was room for.
    /// [`Self::kick`] sends them.
    pub(in crate::io) fn send(&mut self, frames: &[&[u8]]) -> usize {
        self.reclaim();
        let mut count = 0;
        let room = self.ring.room();
        for frame in frames.iter().take_while(|frame| frame.len() <= LONGEST).take(room as usize) {
            let Some(address) = self.free.pop() else { break };
            self.shared.put(address, frame);
            self.ring.set(count, Descriptor { address, len: frame.len() as u32, options: 0 });
            count += 1;
        }
        self.ring.publish(count);
        count as usize
    }

    /// Takes the chunks of what is sent back.
    fn reclaim(&mut self) {
        let count = self.completion.available();
        let first = u64::from(self.shared.half) * CHUNK as u64;
        for index in 0..count {
            let address = self.completion.get(index) & !(CHUNK as u64 - 1);
            if (first..2 * first).contains(&address) && self.free.len() < self.shared.half as usize {
                self.free.push(address);
            }
        }
        self.completion.release(count);
    }

    /// Has the kernel send what is in the ring, as far as it can. False if something is left.
    ///
    /// Errors: the interface is down or gone.
    pub(in crate::io) fn kick(&mut self) -> io::Result<bool> {
        let mut left = self.ring.waiting();
        while left > 0 && self.ring.needs_wakeup() {
            let sent = send(&self.shared.fd, &[], SendFlags::DONTWAIT);
            let before = std::mem::replace(&mut left, self.ring.waiting());
            match sent {
                // The kernel sends some dozen frames for each call.
                Ok(_) | Err(rustix::io::Errno::AGAIN) if left < before => {}
                Ok(_) => break,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::BUSY | rustix::io::Errno::NOBUFS) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(left == 0 || !self.ring.needs_wakeup())
    }
}
