//! An interface of the system, by AF_XDP: frames are taken before the kernel's network stack sees
//! them.
//!
//! ```text
//!  interface ─▶ program: has the queue a socket here? ─ yes ─▶ socket of the queue
//!                                                     └ no ──▶ the kernel's network stack
//! ```
//!
//! - The program is attached by a link, which goes with the process, and so does all else.
//! - A program that is at the interface already may hand frames over instead ([`lend`]): its map
//!   has the sockets then.
//! - One set of sockets serves all devices of this process that name the same interface and queues:
//!   one receives, all may send. So a thread may receive and another send.
//! - The driver gives frames without a copy where it can; else the kernel copies them (veth, and
//!   interfaces whose driver does not know XDP).
//! - Frames leave by the first queue, so that their order stays.
//!
//! Leaves out: frames longer than [`LONGEST`]; VLAN tags that the kernel or the card takes off a
//! frame (`ethtool -K IF rxvlan off`; of a sender at the other end of a veth pair `txvlan off`),
//! which are lost; segments that were merged for an interface without XDP in its driver, which are
//! dropped and counted.
//!
//! Source: Documentation/networking/af_xdp.rst of the Linux kernel.

use super::{BUFFER_FULL, Options, Port, offload};
use crate::io::{
    LinkType,
    bpf::{Enter, Entries, Keyed, Link, Map, Mode, Program, Reference},
    live::{LiveError, find},
    sys::{
        frames::BATCH,
        link, packet,
        xsk::{self, Dropped, LONGEST, Receiving, Sending},
    },
};
use rustix::event::epoll;
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Chunks of all queues each way, and of one queue at least and at most.
const CHUNKS: u32 = 16_384;
const EACH: std::ops::RangeInclusive<u32> = 256..=2048;
/// How often an interface that nothing comes from is looked at: the socket does not tell that it is
/// down.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes before what the MTU counts: Ethernet and a VLAN tag, which the kernel allows, too.
const HEADER: usize = 14;
const TAG: usize = 4;
/// The kind of map that has sockets.
const SOCKETS: u32 = 17;

/// Which sockets these are: namespace, interface, first queue and number of queues.
type Key = (u64, u32, u32, u32);

/// Those that are open in this process.
static OPEN: Mutex<Vec<(Key, Weak<Shared>)>> = Mutex::new(Vec::new());

/// The sockets of an interface.
struct Shared {
    queues: Vec<Mutex<Receiving>>,
    sending: Mutex<Sending>,
    /// Ready when one of them has frames.
    ready: OwnedFd,
    /// The map that programs find sockets in, and the number of the first there.
    map: Entries,
    first_entry: u32,
    /// Its own program, at the interface.
    _own: Option<(Program, Link)>,
    /// A device receives.
    is_received: AtomicBool,
}

pub(super) struct Xdp {
    name: String,
    found: packet::Interface,
    shared: Arc<Shared>,
    /// This device receives.
    receives: bool,
    /// Holds the interface in promiscuous mode.
    promiscuous: Option<packet::Socket>,
    longest: usize,
    looked: Instant,
    /// What was told of drops.
    told: Dropped,
}

impl Xdp {
    /// Opens the queue of an interface, or all of them.
    pub(super) fn open(name: &str, queue: Option<u32>) -> Result<Self, LiveError> {
        let (found, link_type) = find(name)?;
        if link_type != LinkType::EN10MB {
            return Err(LiveError::Cannot("AF_XDP", "take frames that do not begin with Ethernet"));
        }
        if !link::is_up(name)? {
            return Err(LiveError::Down);
        }
        let there = link::queues(name)?;
        let (first, count) = queue.map_or((0, there), |queue| (queue, 1));
        if first >= there {
            return Err(LiveError::NoQueue(there));
        }
        let shared = shared(found.index(), first, count)?;
        let longest = (link::mtu(name)? + HEADER).min(LONGEST - TAG);
        let (receives, promiscuous, told) = (false, None, Dropped::default());
        Ok(Self { name: name.to_owned(), found, shared, receives, promiscuous, longest, looked: Instant::now(), told })
    }

    /// Errors: the interface is down or gone. Looks at it now and then only.
    fn look(&mut self) -> io::Result<()> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        if packet::Interface::find(&self.name)? != self.found {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        self.longest = (link::mtu(&self.name)? + HEADER).min(LONGEST - TAG);
        if link::is_up(&self.name)? { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENETDOWN)) }
    }

    fn is_good(&self, frame: &[u8]) -> bool {
        let tag = if matches!(frame.get(12..14), Some([0x81, 0] | [0x88, 0xa8])) { TAG } else { 0 };
        (HEADER..=self.longest + tag).contains(&frame.len())
    }
}

/// The sockets of an interface's queues; those that are open already, if there are.
fn shared(interface: u32, first: u32, count: u32) -> Result<Arc<Shared>, LiveError> {
    let key = (super::namespace(), interface, first, count);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, shared)| shared.strong_count() > 0);
    if let Some(shared) = open.iter().find(|(it, _)| *it == key).and_then(|(_, shared)| shared.upgrade()) {
        return Ok(shared);
    }
    let shared = Arc::new(Shared::new(interface, first, count).map_err(refused)?);
    open.push((key, Arc::downgrade(&shared)));
    Ok(shared)
}

fn refused(error: io::Error) -> LiveError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => LiveError::NoXdp,
        Some(libc::EBUSY | libc::EEXIST) => LiveError::InUse,
        Some(libc::ENOBUFS) => LiveError::NoMemory,
        _ => LiveError::from(error),
    }
}

/// Sockets of all queues of an interface for a program that is there already; devices `xdp:NAME` of
/// this process use them while this lives.
pub struct Lent(Arc<Shared>);

/// Opens them. The program finds the sockets in that map, from that entry on; there are `most`
/// entries. `generic`: the program is not run by the driver.
///
/// # Errors
/// The interface has more queues, or is none that frames can be taken from.
pub fn lend(name: &str, map: &Entries, first_entry: u32, most: u32, generic: bool) -> Result<Lent, LiveError> {
    let (found, link_type) = find(name)?;
    if link_type != LinkType::EN10MB {
        return Err(LiveError::Cannot("AF_XDP", "take frames that do not begin with Ethernet"));
    }
    let count = link::queues(name)?;
    if count > most {
        return Err(LiveError::NoQueue(most));
    }
    let key = (super::namespace(), found.index(), 0, count);
    let shared = Shared::with((map.clone(), first_entry), (found.index(), 0, count), generic, None).map_err(refused)?;
    let shared = Arc::new(shared);
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).push((key, Arc::downgrade(&shared)));
    shared.enter().map_err(refused)?;
    Ok(Lent(shared))
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sockets of {} queues", self.0.queues.len())
    }
}

impl Shared {
    fn new(interface: u32, first: u32, count: u32) -> io::Result<Self> {
        let program = program(first + count)?;
        // Drivers want the program before the sockets. It lets everything pass until a socket is
        // entered.
        let (link, mode) = attach(&program, interface)?;
        let map = program.shared(0)?;
        Self::with((map, first), (interface, first, count), mode == Mode::Generic, Some((program, link)))
    }

    fn with(
        (map, first_entry): (Entries, u32),
        (interface, first, count): (u32, u32, u32),
        generic: bool,
        own: Option<(Program, Link)>,
    ) -> io::Result<Self> {
        let each = (CHUNKS / count.next_power_of_two()).clamp(*EACH.start(), *EACH.end());
        let opened = |queue| xsk::open(interface, queue, each, generic);
        let (mut queues, mut sending) = (Vec::new(), None);
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for queue in first..first + count {
            let (receiving, sends) = opened(queue)?;
            epoll::add(&ready, receiving.fd(), epoll::EventData::new_u64(u64::from(queue)), epoll::EventFlags::IN)?;
            queues.push(Mutex::new(receiving));
            sending.get_or_insert(sends);
        }
        let sending = Mutex::new(sending.ok_or(io::ErrorKind::NotFound)?);
        Ok(Self { queues, sending, ready, map, first_entry, _own: own, is_received: AtomicBool::new(false) })
    }

    /// From now on frames come here.
    fn enter(&self) -> io::Result<()> {
        for (entry, receiving) in (self.first_entry..).zip(&self.queues) {
            let fd = held(receiving).fd().as_raw_fd();
            self.map.put(&entry.to_ne_bytes(), &fd.to_ne_bytes(), Enter::Any)?;
        }
        Ok(())
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By the driver, or, where it does not know XDP, before the network stack.
fn attach(program: &Program, interface: u32) -> io::Result<(Link, Mode)> {
    match program.attach(interface, Mode::Driver) {
        Ok(link) => Ok((link, Mode::Driver)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::EBUSY | libc::EEXIST)) => Err(error),
        Err(_) => program.attach(interface, Mode::Generic).map(|link| (link, Mode::Generic)),
    }
}

/// The program: a frame goes to the socket that the map has for its queue, or, if there is none, on
/// to the network stack.
fn program(queues: u32) -> io::Result<Program> {
    const QUEUE: i16 = 16;
    const PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    let insts = [
        // r2 = the number of the queue (xdp_md.rx_queue_index)
        inst(0x61, 2, 1, QUEUE, 0),
        // r1 = the map, in two instructions
        inst(0x18, 1, 1, 0, 0),
        inst(0, 0, 0, 0, 0),
        // r3 = what is to be done if the map has nothing
        inst(0xb7, 3, 0, 0, PASS),
        inst(0x85, 0, 0, 0, REDIRECT_MAP),
        inst(0x95, 0, 0, 0, 0),
    ];
    let keyed = Keyed { kind: SOCKETS, key_size: 4, value_size: 4, capacity: queues, entries: &[] };
    let map = Map { name: "sockets", data: &[], read_only: false, keyed: Some(keyed) };
    Program::load(&insts, &[Reference { at: 1, map: 0 }], &[map])
}

fn inst(code: u8, to: u8, from: u8, offset: i16, number: i32) -> [u8; 8] {
    let ([a, b], [c, d, e, f]) = (offset.to_le_bytes(), number.to_le_bytes());
    [code, to | from << 4, a, b, c, d, e, f]
}

impl Port for Xdp {
    fn link(&self) -> LinkType {
        LinkType::EN10MB
    }

    fn listen(&mut self, options: Options) -> Result<(), LiveError> {
        if options.outgoing {
            return Err(LiveError::Cannot("AF_XDP", "see what others send"));
        }
        if options.part.is_some() {
            return Err(LiveError::Cannot("AF_XDP", "divide flows among replicas that receive (--order flow)"));
        }
        if options.promiscuous && self.promiscuous.is_none() {
            let socket = packet::Socket::new()?;
            socket.bind(self.found, false)?;
            socket.promiscuous(self.found)?;
            self.promiscuous = Some(socket);
        }
        if options.receive && !self.receives {
            if self.shared.is_received.swap(true, Ordering::AcqRel) {
                return Err(LiveError::Cannot("AF_XDP", "give the frames of a queue to two devices"));
            }
            self.receives = true;
            self.shared.enter().map_err(refused)?;
        }
        Ok(())
    }

    fn receive(&mut self, each: &mut dyn FnMut(&[u8]), _: &mut u64) -> io::Result<usize> {
        let mut count = 0;
        for receiving in &self.shared.queues {
            let mut receiving = held(receiving);
            count += receiving.receive(BATCH, |frame| offload::complete_untold(frame, &mut *each));
            receiving.wake()?;
        }
        if count == 0 {
            self.look()?;
        }
        Ok(count)
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        self.look()?;
        let good = frames.iter().take_while(|frame| self.is_good(frame)).count();
        if good == 0 {
            let short = frames.first().is_some_and(|frame| frame.len() < HEADER);
            return Err(io::Error::from_raw_os_error(if short { libc::EINVAL } else { libc::EMSGSIZE }));
        }
        let mut sending = held(&self.shared.sending);
        let count = sending.send(&frames[..good]);
        // What is in the ring is the kernel's; that it does not get on matters when the ring is
        // full.
        let kicked = sending.kick();
        if count > 0 {
            return Ok(count);
        }
        kicked?;
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<bool> {
        held(&self.shared.sending).kick()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.shared.ready.as_fd()
    }

    fn kernel_drops(&mut self, each: &mut dyn FnMut(&'static str, u64)) {
        let all = self.shared.queues.iter().map(|receiving| held(receiving).dropped());
        let now = all.fold(Dropped::default(), |sum, it| Dropped {
            full: sum.full + it.full,
            long: sum.long + it.long,
            invalid: sum.invalid + it.invalid,
        });
        let before = std::mem::replace(&mut self.told, now);
        // One of the devices that share the sockets tells.
        if self.receives {
            each(BUFFER_FULL, now.full.saturating_sub(before.full));
            each("longer than a buffer of AF_XDP", now.long.saturating_sub(before.long));
            each("the kernel refused it", now.invalid.saturating_sub(before.invalid));
        }
    }

    fn is_there(&self) -> bool {
        packet::Interface::find(&self.name).ok() == Some(self.found)
    }

    fn told(&self) -> Option<&'static str> {
        let zero = self.shared.queues.iter().all(|receiving| held(receiving).is_zero_copy());
        Some(if zero { "AF_XDP, frames by the driver without a copy" } else { "AF_XDP, frames are copied by the kernel" })
    }
}

impl Drop for Xdp {
    fn drop(&mut self) {
        if self.receives {
            self.shared.is_received.store(false, Ordering::Release);
        }
    }
}
