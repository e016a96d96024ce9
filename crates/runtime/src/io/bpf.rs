//! Programs in the kernel: loaded with their maps, tried on packets, attached to interfaces.
//!
//! A program is gone when nobody has its descriptor any more, and a link with it: so nothing is
//! left behind by a process that is killed.

pub use super::sys::words::Words;

use super::sys::bpf::Arguments;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Commands of the system call.
const MAP_CREATE: u32 = 0;
const MAP_LOOKUP: u32 = 1;
const MAP_UPDATE: u32 = 2;
const MAP_DELETE: u32 = 3;
const MAP_NEXT_KEY: u32 = 4;
const PROGRAM_LOAD: u32 = 5;
const PROGRAM_TEST: u32 = 10;
const MAP_FREEZE: u32 = 22;
const LINK_CREATE: u32 = 28;

/// Kinds of maps: an array, an array with a value for each processor, the longest prefix.
const ARRAY: u32 = 2;
const PER_CPU_ARRAY: u32 = 6;
const LONGEST_PREFIX: u32 = 11;
/// Programs cannot write to it; its entries are made when they are entered; its bytes can be mapped
/// into memory.
const READ_ONLY: u32 = 1 << 7;
const NO_PREALLOC: u32 = 1;
const MAPPABLE: u32 = 1 << 10;
/// By key; entries of large ones are made when they are entered, as most are never full.
const HASH: u32 = 1;
const LARGE: u32 = 1 << 16;
/// The processors that there may be, of which an array has values.
const PROCESSORS: &str = "/sys/devices/system/cpu/possible";
/// The kind of program, and the hook.
const XDP: u32 = 6;
const XDP_HOOK: u32 = 37;
/// What the program may call depends on it; netvm's is no secret.
const LICENSE: &CStr = c"Dual MIT/GPL";
/// The verifier's account of what it did.
const LOG: usize = 1 << 20;
/// The least and the most bytes of a packet that a program is tried on.
pub const TESTED: std::ops::RangeInclusive<usize> = 14..=3400;

/// The index of an interface.
///
/// # Errors
/// There is none of that name.
pub fn interface(name: &str) -> io::Result<u32> {
    nix::net::if_::if_nametoindex(name).map_err(io::Error::from)
}

/// The clock that programs see, in nanoseconds.
///
/// # Errors
/// The system has none.
pub fn monotonic_ns() -> io::Result<u64> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned())
}

/// A map that is one array of bytes, or one with keys.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its bytes from the start, if it has no keys.
    pub data: &'a [u8],
    /// Whether they stay so.
    pub read_only: bool,
    /// What it is if it has keys.
    pub keyed: Option<Keyed<'a>>,
}

/// A map with keys.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// The kernel's number of its kind.
    pub kind: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries at most.
    pub capacity: u32,
    /// Keys with their values from the start.
    pub entries: &'a [(Vec<u8>, Vec<u8>)],
}

/// An instruction that refers to a map.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Its index.
    pub at: usize,
    /// The map's.
    pub map: u32,
}

/// How a program is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By the driver if it can, else before the network stack.
    #[default]
    Any,
    /// Before the network stack, which every interface can.
    Generic,
    /// By the driver.
    Driver,
}

/// A program in the kernel.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    maps: Vec<Arc<Loaded>>,
}

/// A map with keys, for whoever reads and writes it beside the program.
#[derive(Clone, Debug)]
pub struct Entries(Arc<Loaded>);

/// Which keys a value is entered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enter {
    /// All.
    Any = 0,
    /// Those that are not there.
    New = 1,
    /// Those that are there.
    Known = 2,
}

/// A map in the kernel.
#[derive(Debug)]
struct Loaded {
    fd: OwnedFd,
    kind: u32,
    key_size: usize,
    /// As the kernel reads and writes it; of an array for processors all of their values.
    value_size: usize,
    /// Of an array for processors what each has, a multiple of eight.
    each: usize,
}

/// A program at an interface; it is taken off when this is dropped.
#[derive(Debug)]
pub struct Link(OwnedFd);

/// What a program made of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Its result.
    pub action: u32,
    /// The packet afterwards.
    pub packet: Vec<u8>,
    /// Nanoseconds a run, on average.
    pub nanoseconds: u32,
}

impl Program {
    /// Loads a program for XDP.
    ///
    /// # Errors
    /// The process may not, or the verifier refuses it; the error then ends with the verifier's
    /// words.
    pub fn load(insts: &[[u8; 8]], references: &[Reference], maps: &[Map<'_>]) -> io::Result<Self> {
        let maps = maps.iter().map(|map| create(map).map(Arc::new)).collect::<io::Result<Vec<_>>>()?;
        let mut insts = insts.to_vec();
        for reference in references {
            let (Some(inst), Some(map)) = (insts.get_mut(reference.at), maps.get(reference.map as usize)) else {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a reference to what is not there"));
            };
            inst[4..].copy_from_slice(&map.fd.as_raw_fd().to_le_bytes());
        }
        let fd = load(insts.as_flattened(), None).map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES | libc::EINVAL | libc::E2BIG | libc::EFAULT) => explained(insts.as_flattened(), error),
            _ => error,
        })?;
        Ok(Self { fd, maps })
    }

    /// Runs the program on a packet, some times.
    ///
    /// # Errors
    /// The packet is not as long as [`TESTED`] says, or the process may not.
    pub fn test(&self, packet: &[u8], times: u32) -> io::Result<Tried> {
        let mut out = vec![0; packet.len() + 512];
        let room = out.len() as u32;
        let (action, len, nanoseconds) = {
            let mut arguments = Arguments::new()
                .number(0, self.fd.as_raw_fd().cast_unsigned())
                .number(8, packet.len() as u32)
                .number(12, room)
                .input(16, packet)
                .output(24, &mut out)
                .number(32, times);
            arguments.call(PROGRAM_TEST)?;
            (arguments.answer(4), arguments.answer(12), arguments.answer(36))
        };
        out.truncate(len as usize);
        Ok(Tried { action, packet: out, nanoseconds })
    }

    /// The bytes of a map of that size.
    ///
    /// # Errors
    /// There is no such map.
    pub fn map(&self, map: usize, size: usize) -> io::Result<Vec<u8>> {
        let map = self.loaded(map)?;
        let mut value = map.look_up(&[0; 4])?;
        value.truncate(size);
        Ok(value)
    }

    /// Writes all bytes of a map without keys, or the value of a key.
    ///
    /// # Errors
    /// There is no such map, or no room.
    pub fn update(&self, map: usize, key: &[u8], value: &[u8]) -> io::Result<()> {
        let map = self.loaded(map)?;
        if key.len() != map.key_size || value.len() != map.value_size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        of_map(map.fd.as_fd()).input(8, key).input(16, value).call(MAP_UPDATE).map(|_| ())
    }

    /// The keys and values of a map; of an array for processors each value is the sum of theirs,
    /// word by word of 64 bits.
    ///
    /// # Errors
    /// There is no such map.
    pub fn entries(&self, map: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.loaded(map)?.entries()
    }

    /// A map with keys.
    ///
    /// # Errors
    /// There is no such map.
    pub fn shared(&self, map: usize) -> io::Result<Entries> {
        let map = self.maps.get(map).ok_or(io::ErrorKind::NotFound)?;
        Ok(Entries(Arc::clone(map)))
    }

    /// The memory of a map without keys, which programs read and write as well: so many bytes.
    ///
    /// # Errors
    /// There is no such map, or it is read only.
    pub fn memory(&self, map: usize, size: usize) -> io::Result<Words> {
        Words::map(self.loaded(map)?.fd.as_fd(), size)
    }

    fn loaded(&self, map: usize) -> io::Result<&Loaded> {
        self.maps.get(map).map(|map| &**map).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Attaches it to the interface with that index.
    ///
    /// # Errors
    /// There is a program already, or the interface cannot.
    pub fn attach(&self, interface: u32, mode: Mode) -> io::Result<Link> {
        let flags = match mode {
            Mode::Any => 0,
            Mode::Generic => 1 << 1,
            Mode::Driver => 1 << 2,
        };
        let mut arguments =
            Arguments::new().number(0, self.fd.as_raw_fd().cast_unsigned()).number(4, interface).number(8, XDP_HOOK).number(12, flags);
        arguments.open(LINK_CREATE).map(Link)
    }
}

impl Entries {
    /// The value of a key; for a map of prefixes of the longest one, of an array for processors the
    /// sum.
    ///
    /// # Errors
    /// The key has another length, or the kernel refuses it.
    pub fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.fits(key, None)?;
        match self.0.look_up(key) {
            Ok(value) => Ok(Some(self.0.summed(value))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Enters a value. False if the map is full, or the key is there or not there against what was
    /// asked.
    ///
    /// # Errors
    /// Key or value have another length, or the kernel refuses it.
    pub fn put(&self, key: &[u8], value: &[u8], enter: Enter) -> io::Result<bool> {
        self.fits(key, Some(value))?;
        match of_map(self.0.fd.as_fd()).input(8, key).input(16, value).number(24, enter as u32).call(MAP_UPDATE) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::E2BIG | libc::ENOSPC | libc::EEXIST | libc::ENOENT)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes an entry out. False if it was not there.
    ///
    /// # Errors
    /// The key has another length, or the kernel refuses it.
    pub fn delete(&self, key: &[u8]) -> io::Result<bool> {
        self.fits(key, None)?;
        match of_map(self.0.fd.as_fd()).input(8, key).call(MAP_DELETE) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All keys with their values.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn all(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.0.entries()
    }

    fn fits(&self, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        let good = key.len() == self.0.key_size && value.is_none_or(|value| value.len() == self.0.value_size);
        if good { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }
}

impl Loaded {
    fn entries(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (mut entries, mut key) = (Vec::new(), None);
        while let Some(next) = self.next_key(key.as_deref())? {
            match self.look_up(&next) {
                Ok(value) => entries.push((next.clone(), self.summed(value))),
                // It has been deleted meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            key = Some(next);
        }
        Ok(entries)
    }

    fn look_up(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value_size];
        of_map(self.fd.as_fd()).input(8, key).output(16, &mut value).call(MAP_LOOKUP)?;
        Ok(value)
    }

    fn next_key(&self, key: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        let mut next = vec![0; self.key_size];
        let mut arguments = of_map(self.fd.as_fd());
        if let Some(key) = key {
            arguments = arguments.input(8, key);
        }
        match arguments.output(16, &mut next).call(MAP_NEXT_KEY) {
            Ok(_) => Ok(Some(next)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn summed(&self, value: Vec<u8>) -> Vec<u8> {
        if self.kind != PER_CPU_ARRAY {
            return value;
        }
        let mut sums = vec![0u64; self.each / 8];
        for of_one in value.chunks_exact(self.each) {
            let words = of_one.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
            sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        sums.iter().flat_map(|sum| sum.to_ne_bytes()).collect()
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn of_map<'a>(map: BorrowedFd<'_>) -> Arguments<'a> {
    Arguments::new().number(0, map.as_raw_fd().cast_unsigned())
}

/// Makes a map with what it has from the start.
fn create(map: &Map<'_>) -> io::Result<Loaded> {
    match &map.keyed {
        Some(keyed) => create_keyed(map.name, keyed),
        None => create_array(map),
    }
}

fn create_array(map: &Map<'_>) -> io::Result<Loaded> {
    let size = u32::try_from(map.data.len().max(1)).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = if map.read_only { READ_ONLY } else { MAPPABLE };
    let mut arguments = Arguments::new().number(0, ARRAY).number(4, 4).number(8, size).number(12, 1).number(16, flags);
    arguments = arguments.name(28, map.name);
    let fd = arguments.open(MAP_CREATE)?;
    if !map.data.is_empty() {
        of_map(fd.as_fd()).input(8, &[0; 4]).input(16, map.data).call(MAP_UPDATE)?;
    }
    if map.read_only {
        of_map(fd.as_fd()).call(MAP_FREEZE)?;
    }
    Ok(Loaded { fd, kind: ARRAY, key_size: 4, value_size: size as usize, each: size as usize })
}

fn create_keyed(name: &str, keyed: &Keyed<'_>) -> io::Result<Loaded> {
    let large = keyed.kind == HASH && keyed.capacity >= LARGE;
    let flags = if large || keyed.kind == LONGEST_PREFIX { NO_PREALLOC } else { 0 };
    let sizes = Arguments::new().number(0, keyed.kind).number(4, keyed.key_size).number(8, keyed.value_size);
    let fd = sizes.number(12, keyed.capacity).number(16, flags).name(28, name).open(MAP_CREATE)?;
    for (key, value) in keyed.entries {
        if key.len() != keyed.key_size as usize || value.len() != keyed.value_size as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        of_map(fd.as_fd()).input(8, key).input(16, value).call(MAP_UPDATE)?;
    }
    let size = keyed.value_size as usize;
    let (each, value_size) = match keyed.kind {
        PER_CPU_ARRAY => (size.next_multiple_of(8), size.next_multiple_of(8) * processors()?),
        _ => (size, size),
    };
    Ok(Loaded { fd, kind: keyed.kind, key_size: keyed.key_size as usize, value_size, each })
}

/// How many processors the kernel has values for: `0-3` are four.
fn processors() -> io::Result<usize> {
    let text = std::fs::read_to_string(PROCESSORS)?;
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map(|last| last + 1).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{PROCESSORS}: {text}")))
}

fn load(insts: &[u8], log: Option<&mut [u8]>) -> io::Result<OwnedFd> {
    let mut arguments = Arguments::new().number(0, XDP).number(4, (insts.len() / 8) as u32).input(8, insts);
    arguments = arguments.input(16, LICENSE.to_bytes_with_nul()).name(48, "netvm").number(68, XDP_HOOK);
    if let Some(log) = log {
        arguments = arguments.number(24, 1).number(28, log.len() as u32).output(32, log);
    }
    arguments.open(PROGRAM_LOAD)
}

/// The error with the last lines of what the verifier says.
fn explained(insts: &[u8], error: io::Error) -> io::Error {
    let mut log = vec![0; LOG];
    if load(insts, Some(&mut log)).is_ok() {
        return error;
    }
    let text = String::from_utf8_lossy(&log);
    let mut lines: Vec<&str> = text.trim_end_matches('\0').lines().collect();
    // A log that was full goes on at its beginning; its last line counts instructions.
    let last = lines.iter().position(|line| line.starts_with("processed ")).map_or(lines.len(), |at| at + 1);
    let count = lines.len().max(1);
    lines.rotate_left(last % count);
    let last = lines[lines.len().saturating_sub(12)..].join("\n");
    io::Error::new(error.kind(), format!("{error}; the kernel's verifier says:\n{last}"))
}
