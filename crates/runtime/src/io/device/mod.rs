//! Devices that packets come from and go to while a program runs: interfaces, by AF_PACKET or
//! AF_XDP, and TAP interfaces.
//!
//! ```text
//!  kernel ─▶ port: a batch ─▶ offloads completed, VLAN tags put back ─▶ Device: frames that came
//!         ◀─ port: a batch ◀─────────────────────────────────────────── Device: frames to be sent (bounded)
//! ```
//!
//! - A kind of device is a `Port` and a prefix in [`Spec::parse`].
//! - Nothing waits but [`wait`], which waits for all devices at once.
//! - No frame is lost silently: what the kernel or this module drops is counted by reason
//!   ([`Device::drops`]).
//! - An interface that goes down or away is not the end: frames come again when it is back.
//!
//! Nothing has to be undone when the process ends, however it ends: the kernel closes sockets, and
//! a TAP interface that this process made goes with it.

mod interface;
mod offload;
mod polling;
mod share;
mod tap;
mod xdp;

pub use polling::{Polling, wait};
pub use share::Part;
#[cfg(target_os = "linux")]
pub use xdp::{Lent, lend};

use super::{LinkType, live::LiveError};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt, io,
    os::{fd::BorrowedFd, unix::fs::MetadataExt},
    time::{Duration, Instant},
};

/// Frames that wait to be sent at most, for each device.
const OUTBOX: usize = 1024;
/// Frames are received until there are so many.
const INBOX: usize = 256;
/// How often a device that is gone is looked for.
const LOOK: Duration = Duration::from_millis(500);
/// How long the kernel has at the end of a run to take what waits to be sent.
const FINISH: Duration = Duration::from_secs(1);
/// Why the kernel drops frames that were not taken in time.
pub const BUFFER_FULL: &str = "the receive buffer was full";

/// Which device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// An interface of the system: `dev:NAME`.
    Interface(String),
    /// An interface of the system, with segments that it has merged left whole: `gso:NAME`.
    Segments(String),
    /// A TAP interface, made if there is none of that name: `tap:NAME`.
    Tap(String),
    /// An interface whose frames are taken before the network stack, of all queues or one:
    /// `xdp:NAME`, `xdp:NAME:QUEUE`.
    Xdp(String, Option<u32>),
}

impl Spec {
    /// The device that a text names; `None` if it names none (then it is a file).
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        match kind {
            "dev" if !name.is_empty() => Some(Self::Interface(name.to_owned())),
            "gso" if !name.is_empty() => Some(Self::Segments(name.to_owned())),
            "tap" if !name.is_empty() => Some(Self::Tap(name.to_owned())),
            "xdp" if !name.is_empty() => Some(Self::xdp(name)),
            _ => None,
        }
    }

    /// Names of interfaces may have colons (aliases): only a number behind the last one is a queue.
    fn xdp(text: &str) -> Self {
        let queue = text.rsplit_once(':').and_then(|(name, queue)| Some((name, queue.parse().ok()?)));
        match queue.filter(|(name, _)| !name.is_empty()) {
            Some((name, queue)) => Self::Xdp(name.to_owned(), Some(queue)),
            None => Self::Xdp(text.to_owned(), None),
        }
    }

    /// The name of the interface.
    pub fn name(&self) -> &str {
        let (Self::Interface(name) | Self::Segments(name) | Self::Tap(name) | Self::Xdp(name, _)) = self;
        name
    }

    fn open(&self, options: Options) -> Result<Box<dyn Port>, LiveError> {
        let mut port: Box<dyn Port> = match self {
            Self::Interface(name) => Box::new(interface::Interface::open(name, false)?),
            Self::Segments(name) => Box::new(interface::Interface::open(name, true)?),
            Self::Tap(name) => Box::new(tap::Tap::open(name)?),
            Self::Xdp(name, queue) => Box::new(xdp::Xdp::open(name, *queue)?),
        };
        port.listen(options)?;
        Ok(port)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => write!(f, "dev:{name}"),
            Self::Segments(name) => write!(f, "gso:{name}"),
            Self::Tap(name) => write!(f, "tap:{name}"),
            Self::Xdp(name, None) => write!(f, "xdp:{name}"),
            Self::Xdp(name, Some(queue)) => write!(f, "xdp:{name}:{queue}"),
        }
    }
}

/// What is received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Frames are received at all.
    pub receive: bool,
    /// Those addressed to others, too.
    pub promiscuous: bool,
    /// Those that other programs send there, too.
    pub outgoing: bool,
    /// Those of some flows only.
    pub part: Option<Part>,
}

/// A way to receive and send frames. Nothing here waits.
trait Port: Send {
    /// What frames begin with.
    fn link(&self) -> LinkType;

    /// From now on frames come in as the options say.
    fn listen(&mut self, options: Options) -> Result<(), LiveError>;

    /// Hands on a batch of frames as they are on a wire; how many the kernel had. Frames that make
    /// no sense are counted in `malformed`.
    fn receive(&mut self, each: &mut dyn FnMut(&[u8]), malformed: &mut u64) -> io::Result<usize>;

    /// Sends frames; how many the kernel took. Errors: of the first frame.
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize>;

    /// What becomes ready when there is something to receive, or room to send.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Hands on what the device itself keeps of frames that were taken. False if something is left.
    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    /// Frames that the kernel dropped since this was asked last, by reason.
    fn kernel_drops(&mut self, _: &mut dyn FnMut(&'static str, u64)) {}

    /// How frames come, where that depends on the interface.
    fn told(&self) -> Option<&'static str> {
        None
    }

    /// Whether the interface still is the one that was opened.
    fn is_there(&self) -> bool {
        true
    }
}

/// Frames that came, side by side.
#[derive(Default)]
struct Inbox {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// How many were taken.
    taken: usize,
}

impl Inbox {
    fn put(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    fn is_empty(&self) -> bool {
        self.taken >= self.ends.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
    }

    fn frame(&self, index: usize) -> &[u8] {
        let begin = if index == 0 { 0 } else { self.ends.get(index - 1).copied().unwrap_or(0) };
        let end = self.ends.get(index).copied().unwrap_or(begin);
        self.bytes.get(begin..end).unwrap_or_default()
    }
}

/// What a device does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Down,
    /// The interface does not exist; when it was looked for last.
    Gone(Instant),
}

/// Frames of a device, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
}

/// A device in use.
pub struct Device {
    spec: Spec,
    options: Options,
    port: Box<dyn Port>,
    state: State,
    inbox: Inbox,
    outbox: VecDeque<Vec<u8>>,
    /// The kernel had no room for the first of the outbox.
    blocked: bool,
    traffic: Traffic,
    drops: BTreeMap<&'static str, u64>,
    news: Vec<String>,
}

impl Device {
    /// Opens a device.
    ///
    /// # Errors
    /// There is none of that name, it is down, of an unsupported kind, or the process may not use
    /// it.
    pub fn open(spec: &Spec, options: Options) -> Result<Self, LiveError> {
        let port = spec.open(options)?;
        Ok(Self {
            news: told(spec, &*port, options),
            port,
            spec: spec.clone(),
            options,
            state: State::Up,
            inbox: Inbox::default(),
            outbox: VecDeque::new(),
            blocked: false,
            traffic: Traffic::default(),
            drops: BTreeMap::new(),
        })
    }

    /// From now on frames come in, too, as the options say.
    ///
    /// # Errors
    /// The interface is down or gone, or the process may not receive.
    pub fn listen(&mut self, options: Options) -> Result<(), LiveError> {
        self.port.listen(options)?;
        let news = told(&self.spec, &*self.port, options);
        self.news.extend(news.into_iter().filter(|_| !self.options.receive));
        self.options = options;
        Ok(())
    }

    /// Which device it is.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What frames begin with.
    pub fn link(&self) -> LinkType {
        self.port.link()
    }

    /// Whether the interface is there and up.
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up)
    }

    /// Frames received and sent up to now.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Frames dropped, by reason.
    pub fn drops(&mut self) -> &BTreeMap<&'static str, u64> {
        let drops = &mut self.drops;
        self.port.kernel_drops(&mut |reason, count| {
            if count > 0 {
                *drops.entry(reason).or_default() += count;
            }
        });
        &self.drops
    }

    /// What happened to the interface since this was asked last, for people.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Counts frames that were dropped.
    pub(crate) fn drop_frames(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.drops.entry(reason).or_default() += count;
        }
    }

    /// Whether frames are there that came. Asks the kernel if there were none.
    pub fn has_frames(&mut self) -> bool {
        if self.inbox.is_empty() && self.options.receive {
            self.receive();
        }
        !self.inbox.is_empty()
    }

    /// The frame that comes `index` places behind the next one, if it is here.
    pub fn peek(&self, index: usize) -> Option<&[u8]> {
        let at = self.inbox.taken + index;
        (at < self.inbox.ends.len()).then(|| self.inbox.frame(at))
    }

    /// The next frames were taken.
    pub fn take(&mut self, count: usize) {
        self.inbox.taken = (self.inbox.taken + count).min(self.inbox.ends.len());
        self.traffic.received += count as u64;
    }

    /// The last frames that were taken were not: no frame was asked for since.
    pub fn take_back(&mut self, count: usize) {
        self.inbox.taken = self.inbox.taken.saturating_sub(count);
        self.traffic.received -= count as u64;
    }

    fn receive(&mut self) {
        self.inbox.clear();
        let (inbox, mut malformed) = (&mut self.inbox, 0);
        let mut result = Ok(0);
        while inbox.ends.len() < INBOX {
            result = self.port.receive(&mut |frame| inbox.put(frame), &mut malformed);
            if !matches!(result, Ok(count) if count >= super::sys::frames::BATCH) {
                break;
            }
        }
        if !self.inbox.is_empty() {
            self.came_up();
        }
        self.drop_frames("an offload header made no sense", malformed);
        if let Err(error) = result {
            self.note_error(&error);
        }
    }

    fn came_up(&mut self) {
        if self.state != State::Up {
            self.state = State::Up;
            self.news.push(format!("{}: the interface is up again", self.spec.name()));
        }
    }

    fn note_error(&mut self, error: &io::Error) {
        if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) || self.state != State::Up {
            return;
        }
        // It may go between two looks.
        let there = self.port.is_there();
        let told = match there {
            true if error.kind() == io::ErrorKind::NetworkDown => "the interface is down; packets come again when it is up".to_owned(),
            true => error.to_string(),
            false => "the interface is gone; packets come again when there is one of that name".to_owned(),
        };
        self.state = if there { State::Down } else { State::Gone(Instant::now()) };
        self.news.push(format!("{}: {told}", self.spec.name()));
    }

    /// Looks for an interface that is gone, now and then; notices when one that was down is gone.
    fn look(&mut self) {
        match self.state {
            State::Up => {}
            State::Down if self.port.is_there() => {}
            State::Down => {
                self.state = State::Gone(Instant::now());
                self.news.push(format!("{}: the interface is gone; packets come again when there is one of that name", self.spec.name()));
            }
            State::Gone(last) if last.elapsed() < LOOK => {}
            State::Gone(_) => match self.spec.open(self.options) {
                Ok(port) => {
                    self.port = port;
                    self.came_up();
                }
                Err(_) => self.state = State::Gone(Instant::now()),
            },
        }
    }

    /// How many more frames to send there is room for.
    pub fn room(&self) -> usize {
        OUTBOX.saturating_sub(self.outbox.len())
    }

    /// Sends a frame, with the next [`Self::flush`]. False if there is no room, or the device is
    /// not there: it is counted.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        if let State::Gone(_) = self.state {
            self.drop_frames("the interface is gone", 1);
            return false;
        }
        if self.room() == 0 {
            self.flush();
        }
        if self.room() == 0 {
            self.drop_frames("the device took no more", 1);
            return false;
        }
        self.outbox.push_back(frame.to_vec());
        true
    }

    /// Hands frames to the kernel, as far as it takes them.
    pub fn flush(&mut self) {
        self.blocked = false;
        while !self.outbox.is_empty() && !self.blocked {
            let frames: Vec<&[u8]> = self.outbox.iter().take(super::sys::frames::BATCH).map(Vec::as_slice).collect();
            match self.port.send(&frames) {
                Ok(count) => {
                    self.outbox.drain(..count.min(self.outbox.len()));
                    self.traffic.sent += count as u64;
                }
                Err(error) => self.could_not_send(&error),
            }
        }
        match self.port.flush() {
            Ok(all) => self.blocked |= !all,
            Err(error) => self.note_error(&error),
        }
    }

    /// The run ends: hands all frames to the kernel, which has a moment to take them. What it does
    /// not take then is counted.
    pub fn finish(&mut self) {
        let begun = Instant::now();
        self.flush();
        while self.blocked && begun.elapsed() < FINISH {
            std::thread::sleep(Duration::from_millis(1));
            self.flush();
        }
        let left = self.outbox.len() as u64;
        self.outbox.clear();
        self.drop_frames("the run ended before the device took it", left);
    }

    /// The first frame of the outbox was not taken: it waits, or is dropped for a reason that will
    /// not go away.
    fn could_not_send(&mut self, error: &io::Error) {
        // Devices say so themselves where that is no system call's error.
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) || error.raw_os_error() == Some(libc::ENOBUFS) {
            self.blocked = true;
            return;
        }
        let reason = match error.raw_os_error() {
            Some(libc::EMSGSIZE) => "longer than the interface's MTU",
            Some(libc::EINVAL) => "shorter than a link-layer header",
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO | libc::EIO) => {
                self.note_error(error);
                "the interface is down"
            }
            _ => {
                self.note_error(error);
                "the interface refused it"
            }
        };
        self.outbox.pop_front();
        self.drop_frames(reason, 1);
    }
}

/// Hands on a frame with its checksum, which a sender on the same host leaves to a device.
pub(crate) fn completed(frame: &[u8], each: impl FnMut(&[u8])) {
    offload::complete_untold(frame, each);
}

/// The number of the calling thread's network namespace, by which interfaces of one name are told
/// apart.
fn namespace() -> u64 {
    std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |meta| meta.ino())
}

/// The line about how frames come.
fn told(spec: &Spec, port: &dyn Port, options: Options) -> Vec<String> {
    let told = port.told().filter(|_| options.receive);
    told.map(|told| format!("{}: {told}", spec.name())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_devices_or_files() {
        assert_eq!(Spec::parse("dev:eth0"), Some(Spec::Interface("eth0".into())));
        assert_eq!(Spec::parse("tap:t0").map(|spec| spec.to_string()), Some("tap:t0".into()));
        for (text, name, queue) in [("eth0", "eth0", None), ("eth0:3", "eth0", Some(3)), ("eth0:a", "eth0:a", None), (":3", ":3", None)] {
            let spec = Spec::parse(&format!("xdp:{text}"));
            assert_eq!(spec, Some(Spec::Xdp(name.into(), queue)));
            assert_eq!(spec.map(|spec| spec.to_string()), Some(format!("xdp:{text}")));
        }
        for file in ["dev:", "xdp:", "eth0", "a.pcap", "./dev:eth0", "Dev:eth0", ""] {
            assert_eq!(Spec::parse(file), None, "{file}");
        }
    }

    /// Takes so many frames, and so many more each time that it is asked to flush.
    struct Slow(usize, usize);

    impl Port for Slow {
        fn link(&self) -> LinkType {
            LinkType::EN10MB
        }

        fn listen(&mut self, _: Options) -> Result<(), LiveError> {
            Ok(())
        }

        fn receive(&mut self, _: &mut dyn FnMut(&[u8]), _: &mut u64) -> io::Result<usize> {
            Ok(0)
        }

        fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
            let count = frames.len().min(self.0);
            self.0 -= count;
            if count > 0 { Ok(count) } else { Err(io::ErrorKind::WouldBlock.into()) }
        }

        fn fd(&self) -> BorrowedFd<'_> {
            unreachable!("nobody waits for it")
        }

        fn flush(&mut self) -> io::Result<bool> {
            self.0 += self.1;
            Ok(true)
        }
    }

    fn slow(takes: usize, later: usize) -> Device {
        let (inbox, outbox, news) = Default::default();
        let (traffic, drops) = Default::default();
        let (spec, port) = (Spec::Tap("t".into()), Box::new(Slow(takes, later)));
        Device { spec, options: Options::default(), port, state: State::Up, inbox, outbox, blocked: false, traffic, drops, news }
    }

    #[test]
    fn frames_that_the_kernel_does_not_take_are_counted() {
        let mut device = slow(10, 0);
        let sent = (0..OUTBOX + 20).filter(|_| device.send(b"frame")).count();
        assert_eq!((sent, device.room()), (OUTBOX + 10, 0));
        assert_eq!(device.drops().get("the device took no more"), Some(&10));
        device.finish();
        assert_eq!(device.drops().get("the run ended before the device took it"), Some(&(OUTBOX as u64)));
        assert_eq!(device.traffic().sent, 10);
    }

    #[test]
    fn the_kernel_has_a_moment_at_the_end_of_a_run() {
        let mut device = slow(10, 100);
        assert!((0..OUTBOX).all(|_| device.send(b"frame")));
        device.finish();
        assert_eq!((device.traffic().sent, device.drops().len()), (OUTBOX as u64, 0));
    }

    #[test]
    fn frames_that_came_are_taken_and_taken_back() {
        let mut inbox = Inbox::default();
        assert!(inbox.is_empty());
        [&b"one"[..], b"", b"three"].into_iter().for_each(|frame| inbox.put(frame));
        assert_eq!([0, 1, 2, 3].map(|index| inbox.frame(index)), [&b"one"[..], b"", b"three", b""]);
        inbox.clear();
        assert_eq!((inbox.frame(0), inbox.is_empty()), (&b""[..], true));
    }
}
