//! AF_PACKET sockets: an interface's frames in a ring of blocks that the kernel fills (TPACKET_V3),
//! and frames sent on one.
//!
//! Invariants: a block's bytes are lent out only while the kernel says that they are ours, and are
//! given back only when nobody holds them any more ([`Ring::release`] takes the ring exclusively).
//! What the bytes say is not believed here; `live::block` checks it.
//!
//! Source: packet(7); Documentation/networking/packet_mmap.rst of the Linux kernel. Leaves out:
//! fanout.

use std::{
    ffi::{c_int, c_uint},
    io,
    mem::{self, MaybeUninit},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use memmap2::{MmapOptions, MmapRaw};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with, sockopt},
};

/// Bytes of a block: twice the longest packet that is captured, since the kernel cuts what does not
/// fit a block.
pub(in crate::io) const BLOCK: usize = 512 << 10;
/// Blocks of a ring, tried in this order until there is memory for them: the first holds a tenth of
/// a second of 1 Gbit/s.
const BLOCKS: [usize; 3] = [32, 8, 2];
/// What the kernel wants to know though blocks of this version have packets of any length.
const FRAME: usize = 2048;
/// The kernel hands over a block that is not full after so many milliseconds.
const RETIRE: c_uint = 50;
/// Where a block's status stands in it.
const STATUS: usize = 8;

/// An interface as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) struct Interface {
    index: i32,
    /// The kind of its link-layer addresses (ARPHRD_).
    pub(in crate::io) hardware: u16,
}

/// What is asked of a ring.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::io) struct Asked {
    /// Its bytes, made up to whole blocks, two at least.
    pub(in crate::io) buffer: Option<usize>,
    /// Blocks are handed over after a millisecond.
    pub(in crate::io) immediate: bool,
}

/// A socket of the AF_PACKET family.
pub(in crate::io) struct Socket(OwnedFd);

/// What the kernel counted since it was asked last.
pub(in crate::io) struct Counted {
    /// Packets, with those dropped.
    pub(in crate::io) packets: u32,
    /// Packets for which there was no room.
    pub(in crate::io) drops: u32,
}

/// A socket's ring of blocks.
pub(in crate::io) struct Ring {
    socket: Arc<Socket>,
    map: MmapRaw,
    blocks: usize,
}

impl Interface {
    /// All of them.
    pub(in crate::io) const ANY: Self = Self { index: 0, hardware: 0 };

    /// Looks an interface up, which needs no privilege.
    pub(in crate::io) fn find(name: &str) -> io::Result<Self> {
        let socket = control_socket()?;
        let index = netdevice::name_to_index(&socket, name)?;
        Ok(Self { index: i32::try_from(index).map_err(io::Error::other)?, hardware: hardware(&socket, name)? })
    }

    /// The kernel's number of it.
    pub(in crate::io) fn index(self) -> u32 {
        self.index.cast_unsigned()
    }
}

/// A socket to ask about interfaces, which needs no privilege.
pub(in crate::io) fn control_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

/// A request about the interface of that name.
pub(in crate::io) fn request(name: &str) -> io::Result<libc::ifreq> {
    let mut request = zeroed_request();
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as _;
    }
    Ok(request)
}

/// The kind of an interface's addresses.
fn hardware(socket: &OwnedFd, name: &str) -> io::Result<u16> {
    let mut request = request(name)?;
    // SAFETY: `request` is an ifreq with a name that ends in a zero byte, which this call reads and
    // then writes.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) })?;
    // SAFETY: the call before wrote the address; any bytes are a valid one.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    Ok(address.sa_family)
}

fn zeroed_request() -> libc::ifreq {
    let zeroed = MaybeUninit::zeroed();
    // SAFETY: an ifreq is integers, arrays of them and a pointer, for all of which zero bytes are a
    // value.
    unsafe { zeroed.assume_init() }
}

impl Socket {
    /// A socket that gets no packets yet.
    pub(in crate::io) fn new() -> io::Result<Self> {
        Ok(Self(socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?))
    }

    /// A socket whose packets come without their link layer.
    pub(in crate::io) fn cooked() -> io::Result<Self> {
        Ok(Self(socket_with(AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?))
    }

    /// From now on the interface's packets come in, of all protocols or none, and what is sent goes
    /// out there.
    pub(in crate::io) fn bind(&self, interface: Interface, receive: bool) -> io::Result<()> {
        let protocol = if receive { libc::ETH_P_ALL as u16 } else { 0 };
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol.to_be(),
            sll_ifindex: interface.index,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let length = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is as many readable bytes as `length` says.
        checked(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) })?;
        self.error()
    }

    /// From now on the kernel drops the packets that a program in classic BPF does not accept. It
    /// refuses programs that it cannot check.
    pub(in crate::io) fn attach(&self, program: &[libc::sock_filter]) -> io::Result<()> {
        let len = u16::try_from(program.len()).map_err(io::Error::other)?;
        let attached = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
        let length = mem::size_of_val(&attached) as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
        // SAFETY: `attached` is as many readable bytes as `length` says; it names `len`
        // instructions, which the kernel copies and does not write to.
        checked(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, option, (&raw const attached).cast(), length) })
    }

    /// The interface hands over what is addressed to others, too, as long as the socket is open.
    pub(in crate::io) fn promiscuous(&self, interface: Interface) -> io::Result<()> {
        let kind = libc::PACKET_MR_PROMISC as u16;
        let request = libc::packet_mreq { mr_ifindex: interface.index, mr_type: kind, mr_alen: 0, mr_address: [0; 8] };
        self.set(libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Waits for packets; false if none came in time.
    ///
    /// Errors: the wait was interrupted; ENETDOWN once when the interface went down, after which
    /// waiting goes on.
    pub(in crate::io) fn wait(&self, most: Duration) -> io::Result<bool> {
        let most = Timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ };
        let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        let ready = poll(&mut fds, Some(&most))? > 0;
        if fds[0].revents().contains(PollFlags::ERR) {
            self.error()?;
        }
        Ok(ready)
    }

    /// Sends a frame.
    pub(in crate::io) fn send(&self, frame: &[u8]) -> io::Result<()> {
        match rustix::io::write(&self.0, frame)? {
            count if count == frame.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// What was counted since the last call.
    pub(in crate::io) fn count(&self) -> io::Result<Counted> {
        let mut counted = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut length = mem::size_of_val(&counted) as libc::socklen_t;
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: `counted` is as many writable bytes as `length` says, and any bytes are a value
        // of it.
        checked(unsafe { libc::getsockopt(self.0.as_raw_fd(), level, option, (&raw mut counted).cast(), &raw mut length) })?;
        Ok(Counted { packets: counted.tp_packets, drops: counted.tp_drops })
    }

    /// The error that is pending, if any; it is then not any more.
    pub(in crate::io) fn error(&self) -> io::Result<()> {
        Ok(sockopt::socket_error(&self.0)??)
    }

    pub(in crate::io) fn set<T: Copy>(&self, option: c_int, value: &T) -> io::Result<()> {
        self.set_at(libc::SOL_PACKET, option, value)
    }

    pub(in crate::io) fn set_at<T: Copy>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        let length = mem::size_of::<T>() as libc::socklen_t;
        let value = ptr::from_ref(value).cast();
        // SAFETY: `value` is as many readable bytes as `length` says.
        checked(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, option, value, length) })
    }

    /// The descriptor, to wait for.
    pub(in crate::io) fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// A ring of so many blocks.
    fn ring(&self, blocks: usize, immediate: bool) -> io::Result<()> {
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as c_uint,
            tp_block_nr: blocks as c_uint,
            tp_frame_size: FRAME as c_uint,
            tp_frame_nr: (blocks * (BLOCK / FRAME)) as c_uint,
            tp_retire_blk_tov: if immediate { 1 } else { RETIRE },
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        self.set(libc::PACKET_RX_RING, &request)
    }

    /// The largest ring that there is memory for.
    fn largest_ring(&self, asked: Asked) -> io::Result<usize> {
        let mut last = Ok(0);
        let wanted = asked.buffer.map(|bytes| bytes.div_ceil(BLOCK).max(2));
        let smaller = BLOCKS.into_iter().filter(|&blocks| wanted.is_none_or(|wanted| blocks < wanted));
        for blocks in wanted.into_iter().chain(smaller) {
            last = self.ring(blocks, asked.immediate).map(|()| blocks);
            if !matches!(&last, Err(error) if error.kind() == io::ErrorKind::OutOfMemory) {
                break;
            }
        }
        last
    }
}

impl Ring {
    /// Begins to capture. The ring is there before the first packet is.
    pub(in crate::io) fn open(socket: Arc<Socket>, interface: Interface, promiscuous: bool, asked: Asked) -> io::Result<Self> {
        socket.set(libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as c_int))?;
        let blocks = socket.largest_ring(asked)?;
        let map = MmapOptions::new().len(blocks * BLOCK).map_raw(&socket.0)?;
        socket.bind(interface, true)?;
        if promiscuous {
            socket.promiscuous(interface)?;
        }
        Ok(Self { socket, map, blocks })
    }

    /// How many blocks there are.
    pub(in crate::io) fn blocks(&self) -> usize {
        self.blocks
    }

    /// The socket of the ring.
    pub(in crate::io) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// A block that the kernel handed over; `None` if it did not.
    pub(in crate::io) fn block(&self, number: usize) -> Option<&[u8]> {
        let status = self.status(number)?.load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: `status` checked that the block is within the mapping, which lives as long as
        // `self`. The kernel handed the block over and does not write to it before `release`, which
        // cannot be called while the slice is borrowed.
        Some(unsafe { slice::from_raw_parts(self.at(number), BLOCK) })
    }

    /// Gives a block back to the kernel.
    pub(in crate::io) fn release(&mut self, number: usize) {
        if let Some(status) = self.status(number) {
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
    }

    fn status(&self, number: usize) -> Option<&AtomicU32> {
        if number >= self.blocks {
            return None;
        }
        let status = self.at(number).wrapping_add(STATUS).cast::<u32>();
        // SAFETY: the word is within the mapping, by the test above, which lives as long as `self`;
        // it is aligned, since the mapping begins with a page; the kernel and we write to it as a
        // whole.
        Some(unsafe { AtomicU32::from_ptr(status) })
    }

    /// Where a block begins.
    fn at(&self, number: usize) -> *mut u8 {
        self.map.as_mut_ptr().wrapping_add(number * BLOCK)
    }
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
