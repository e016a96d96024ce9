//! Live captures: [`open`] gives an interface's packets as a [`Capture`], and [`Injector`] sends
//! some.
//!
//! ```text
//!  kernel ─▶ ring of blocks ─▶ walk: checked, tags put back ─▶ pcap records in the capture's buffer ─▶ Burst
//! ```
//!
//! - The capture is a classic pcap with nanoseconds, made as it goes: whatever takes captures takes
//!   this one, and what is written of it is what a reader of the file gets.
//! - Packets are copied out of the ring, once: a tag that is put back moves bytes anyway, the block
//!   goes back to the kernel before anything slow is done with its packets, and the copy is small
//!   beside what the kernel does for each packet.
//! - A block that fills slowly comes after 50 ms. A pause is told
//!   ([`Progress::Idle`](super::Progress)) when it begins and every quarter of a second, so that a
//!   program sees its signals.
//! - On the loopback interface a packet is seen twice, going out and coming in; only the latter
//!   counts, as in libpcap.
//! - The kernel can drop what a filter does not want ([`open_filtered`]). It sees frames without
//!   the VLAN tag that it took off, so frames that had one are all handed over. What is handed over
//!   is to be filtered here all the same.
//!
//! - On all interfaces at once (`any`), and where a link layer is of a kind that is not known here,
//!   packets begin with a header that is made of what the kernel tells of them (LINUX_SLL,
//!   LINUX_SLL2).

mod block;
mod error;
mod list;
#[cfg(test)]
mod tests;

use std::{
    io::{self, ErrorKind, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub use error::LiveError;
pub use list::{Address, Listed, addresses, interface_name, list};

pub use self::block::Direction;
use self::block::{Form, Rules, Walk};
use super::{
    Capture, LinkType, ReadError,
    sys::{
        self,
        packet::{Interface, Ring, Socket},
    },
};

/// Packets are cut to so many bytes: tcpdump's default, and the most that a classic pcap of most
/// link types may have.
pub const SNAPLEN: u32 = 262_144;
/// How long a wait lasts at most.
const WAIT: Duration = Duration::from_millis(250);
/// By then the last packets of an interface that is gone are in a block that can be read.
const LAST: Duration = Duration::from_millis(100);

const ETHER: u16 = 1;
const LOOPBACK: u16 = 772;
/// Kinds of interfaces whose packets begin with the IP header: tunnels, WireGuard, modems.
const IP: [u16; 5] = [519, 768, 769, 776, 0xfffe];

/// How to capture.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Packets that are addressed to others count, too; not on `any`.
    pub promiscuous: bool,
    /// Packets are cut to so many bytes.
    pub snaplen: u32,
    /// Bytes that wait in the kernel at most; `None` for what suits 1 Gbit/s.
    pub buffer: Option<usize>,
    /// Packets come within milliseconds, at a cost.
    pub immediate: bool,
    /// Which packets count.
    pub direction: Direction,
    /// The link type, one of [`link_types`]; `None` for the usual one.
    pub link_type: Option<LinkType>,
}

impl Default for Options {
    fn default() -> Self {
        let direction = Direction::Both;
        Self { promiscuous: true, snaplen: SNAPLEN, buffer: None, immediate: false, direction, link_type: None }
    }
}

/// Begins to capture on an interface, or on all for `any`. The capture ends with an error if the
/// interface goes away, and not by itself.
///
/// Errors: there is no such interface, it is down, it does not have that link type, or the process
/// lacks CAP_NET_RAW.
pub fn open(interface: &str, options: &Options) -> Result<(Capture, Counters), LiveError> {
    open_filtered(interface, options, &[])
}

/// An instruction of classic BPF (`struct sock_filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Class, operation and operand.
    pub code: u16,
    /// Instructions skipped if the test holds.
    pub jt: u8,
    /// Instructions skipped if it does not.
    pub jf: u8,
    /// The constant.
    pub k: u32,
}

/// As [`open`]; the kernel drops packets that the program, which is for the interface's link type,
/// does not accept. It may hand over others, too: those that had a VLAN tag, all where their
/// headers are made here, and all if it refuses the program.
///
/// Errors: as of [`open`].
pub fn open_filtered(interface: &str, options: &Options, program: &[Instruction]) -> Result<(Capture, Counters), LiveError> {
    let link = chosen(interface, options.link_type)?;
    let found = if interface == ANY { Interface::ANY } else { Interface::find(interface)? };
    let form = match link {
        LinkType::EN10MB => Form::Ethernet,
        LinkType::LINUX_SLL => Form::Cooked,
        LinkType::LINUX_SLL2 => Form::Cooked2,
        _ => Form::Plain,
    };
    let cooked = matches!(form, Form::Cooked | Form::Cooked2);
    let socket = Arc::new(if cooked { Socket::cooked()? } else { Socket::new()? });
    if !cooked && !program.is_empty() {
        // It only spares work: without it all packets come.
        let _ = socket.attach(&untagged(program));
    }
    let counters = Counters(Arc::new(Count { socket: Arc::clone(&socket), received: AtomicU64::new(0), dropped: AtomicU64::new(0) }));
    let asked = sys::packet::Asked { buffer: options.buffer, immediate: options.immediate };
    let ring = Ring::open(socket, found, options.promiscuous && interface != ANY, asked)?;
    let snaplen = options.snaplen.min(SNAPLEN);
    let rules = Rules { form, direction: options.direction, snaplen };
    let tap = Tap {
        ring,
        counters: counters.clone(),
        interface: (interface.to_owned(), found),
        rules,
        block: 0,
        walk: Walk::default(),
        told: false,
        down: false,
        gone: false,
    };
    let capture = Capture::from_reader(io::Cursor::new(file_header(link, snaplen)).chain(tap)).map_err(|error| match error {
        ReadError::Io(error) => LiveError::from(error),
        other => LiveError::Io(io::Error::other(other)),
    })?;
    Ok((capture, counters))
}

/// The program for frames from which the kernel took no VLAN tag; others are accepted.
fn untagged(program: &[Instruction]) -> Vec<libc::sock_filter> {
    /// Where the kernel tells that there was a tag (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT).
    const TAG_PRESENT: u32 = 0xffff_f000 + 48;
    let instruction = |code: u32, jt, k| Instruction { code: code as u16, jt, jf: 0, k };
    let before = [
        instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, TAG_PRESENT),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0),
        instruction(libc::BPF_RET | libc::BPF_K, 0, u32::MAX),
    ];
    let all = before.iter().chain(program);
    all.map(|&Instruction { code, jt, jf, k }| libc::sock_filter { code, jt, jf, k }).collect()
}

/// The link type that a capture on an interface has. Needs no privilege.
pub fn link_type(interface: &str) -> Result<LinkType, LiveError> {
    chosen(interface, None)
}

/// The link types that a capture on an interface may have.
pub fn link_types(interface: &str) -> Result<Vec<LinkType>, LiveError> {
    if interface == ANY {
        return Ok(vec![LinkType::LINUX_SLL, LinkType::LINUX_SLL2]);
    }
    Ok(vec![chosen(interface, None)?])
}

/// The link type asked for, or the usual one: for all interfaces the one that tells them apart.
fn chosen(interface: &str, asked: Option<LinkType>) -> Result<LinkType, LiveError> {
    let usual = match interface {
        ANY => LinkType::LINUX_SLL2,
        _ => match find(interface) {
            Err(LiveError::Hardware(_)) => LinkType::LINUX_SLL,
            found => found?.1,
        },
    };
    match asked {
        None => Ok(usual),
        Some(link) if link == usual || interface == ANY && link == LinkType::LINUX_SLL => Ok(link),
        Some(link) => Err(LiveError::LinkType(link)),
    }
}

/// All interfaces.
const ANY: &str = "any";

/// What the kernel counted since the capture began; may be asked at any time.
#[derive(Clone)]
pub struct Counters(Arc<Count>);

/// Numbers of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came in on the interface or went out, those dropped included; on loopback, each
    /// twice.
    pub received: u64,
    /// Packets of them that were lost, since the ring was full.
    pub dropped: u64,
}

struct Count {
    socket: Arc<Socket>,
    received: AtomicU64,
    dropped: AtomicU64,
}

impl Counters {
    /// The numbers up to now.
    pub fn read(&self) -> io::Result<Counts> {
        let Count { socket, received, dropped } = &*self.0;
        // The kernel's numbers have 32 bits and begin anew with each call.
        let new = socket.count()?;
        let add = |sum: &AtomicU64, more: u32| sum.fetch_add(u64::from(more), Ordering::Relaxed) + u64::from(more);
        Ok(Counts { received: add(received, new.packets), dropped: add(dropped, new.drops) })
    }
}

/// Sends frames on an interface, link-layer header and all.
pub struct Injector(Socket);

impl Injector {
    /// Opens an interface for sending.
    ///
    /// Errors: there is no such interface, it is down, or the process lacks CAP_NET_RAW.
    pub fn open(interface: &str) -> Result<Self, LiveError> {
        let (found, _) = find(interface)?;
        let socket = Socket::new()?;
        socket.bind(found, false)?;
        Ok(Self(socket))
    }

    /// Sends a frame. Errors: it is shorter than a header or longer than the interface allows, or
    /// there is no room for it now.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.0.send(frame)
    }
}

/// An interface and the link type of its packets.
pub(super) fn find(interface: &str) -> Result<(Interface, LinkType), LiveError> {
    if interface == "any" {
        return Err(LiveError::Any);
    }
    let found = Interface::find(interface)?;
    let link = match found.hardware {
        ETHER | LOOPBACK => LinkType::EN10MB,
        kind if IP.contains(&kind) => LinkType::RAW,
        kind => return Err(LiveError::Hardware(kind)),
    };
    Ok((found, link))
}

/// The header of a classic pcap with nanoseconds.
fn file_header(link: LinkType, snaplen: u32) -> Vec<u8> {
    let version = [2u16, 4].map(u16::to_ne_bytes);
    let rest = [0, 0, snaplen, link.number()].map(u32::to_ne_bytes);
    [&0xa1b2_3c4d_u32.to_ne_bytes(), version.as_flattened(), rest.as_flattened()].concat()
}

/// The ring as a stream of records. It says once, by [`ErrorKind::WouldBlock`], that it has nothing
/// yet, and waits when asked again.
struct Tap {
    ring: Ring,
    counters: Counters,
    interface: (String, Interface),
    rules: Rules,
    /// The block that comes next, or is being read.
    block: usize,
    walk: Walk,
    told: bool,
    /// The interface went down; it may come up again.
    down: bool,
    /// It does not exist any more, and what it brought was waited for.
    gone: bool,
}

impl Tap {
    /// Copies records that are there.
    fn fill(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(room) = room.get_mut(filled..).filter(|room| !room.is_empty()) {
            let Some(block) = self.ring.block(self.block) else { break };
            match self.walk.read(block, &self.rules, room) {
                Ok(count) => filled += count,
                // It comes up again after what is there was handed on.
                Err(_) if filled > 0 => break,
                Err(malformed) => return Err(io::Error::new(ErrorKind::InvalidData, malformed)),
            }
            if self.walk.is_done() {
                self.next_block()?;
            }
        }
        self.told &= filled == 0;
        Ok(filled)
    }

    fn next_block(&mut self) -> io::Result<()> {
        self.ring.release(self.block);
        self.walk = Walk::default();
        self.block = (self.block + 1) % self.ring.blocks().max(1);
        // Once a turn is often enough for numbers of 32 bits.
        if self.block == 0 { self.counters.read().map(drop) } else { Ok(()) }
    }

    /// Waits for a block. Once the interface is gone, for the last of its packets too: their block
    /// comes when its time has passed.
    fn wait(&mut self) -> io::Result<()> {
        if self.gone {
            return Err(io::Error::other(LiveError::Gone));
        }
        match self.ring.socket().wait(WAIT) {
            Err(error) if error.kind() == ErrorKind::NetworkDown => self.down = true,
            Err(error) => return Err(error),
            Ok(came) => self.down &= !came,
        }
        let (name, interface) = &self.interface;
        self.gone = self.down && name != ANY && Interface::find(name).ok() != Some(*interface);
        if self.gone {
            std::thread::sleep(LAST);
        }
        Ok(())
    }
}

impl Read for Tap {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut count = self.fill(room)?;
        if count == 0 && self.told {
            self.wait()?;
            count = self.fill(room)?;
        }
        if count == 0 && !room.is_empty() {
            self.told = true;
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }
}
