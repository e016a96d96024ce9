//! Programs in the kernel: loaded with their maps, tried on packets, attached to interfaces.
//!
//! A program is gone when nobody has its descriptor any more, and a link with it: so nothing is left behind by a process that is killed.

use super::sys::bpf::Arguments;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Commands of the system call.
const MAP_CREATE: u32 = 0;
const MAP_LOOKUP: u32 = 1;
const MAP_UPDATE: u32 = 2;
const PROGRAM_LOAD: u32 = 5;
const PROGRAM_TEST: u32 = 10;
const MAP_FREEZE: u32 = 22;
const LINK_CREATE: u32 = 28;

/// The kind of map that is an array.
const ARRAY: u32 = 2;
/// Programs cannot write to it.
const READ_ONLY: u32 = 1 << 7;
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

/// A map that is one array of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its bytes from the start.
    pub data: &'a [u8],
    /// Whether they stay so.
    pub read_only: bool,
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
    maps: Vec<OwnedFd>,
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
    /// The process may not, or the verifier refuses it; the error then ends with the verifier's words.
    pub fn load(insts: &[[u8; 8]], references: &[Reference], maps: &[Map<'_>]) -> io::Result<Self> {
        let maps = maps.iter().map(create).collect::<io::Result<Vec<_>>>()?;
        let mut insts = insts.to_vec();
        for reference in references {
            let (Some(inst), Some(map)) = (insts.get_mut(reference.at), maps.get(reference.map as usize)) else {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a reference to what is not there"));
            };
            inst[4..].copy_from_slice(&map.as_raw_fd().to_le_bytes());
        }
        let fd = load(insts.as_flattened(), None).map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES | libc::EINVAL | libc::E2BIG) => explained(insts.as_flattened(), error),
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
        let fd = self.maps.get(map).ok_or(io::ErrorKind::NotFound)?;
        let (key, mut value) = ([0; 4], vec![0; size.next_multiple_of(8)]);
        of_map(fd.as_fd()).input(8, &key).output(16, &mut value).call(MAP_LOOKUP)?;
        value.truncate(size);
        Ok(value)
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

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn of_map<'a>(map: BorrowedFd<'_>) -> Arguments<'a> {
    Arguments::new().number(0, map.as_raw_fd().cast_unsigned())
}

/// Makes a map with its bytes.
fn create(map: &Map<'_>) -> io::Result<OwnedFd> {
    let size = u32::try_from(map.data.len().max(1)).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = if map.read_only { READ_ONLY } else { 0 };
    let mut arguments = Arguments::new().number(0, ARRAY).number(4, 4).number(8, size).number(12, 1).number(16, flags);
    arguments = arguments.name(28, map.name);
    let fd = arguments.open(MAP_CREATE)?;
    if !map.data.is_empty() {
        of_map(fd.as_fd()).input(8, &[0; 4]).input(16, map.data).call(MAP_UPDATE)?;
    }
    if map.read_only {
        of_map(fd.as_fd()).call(MAP_FREEZE)?;
    }
    Ok(fd)
}

fn load(insts: &[u8], log: Option<&mut [u8]>) -> io::Result<OwnedFd> {
    let mut arguments = Arguments::new().number(0, XDP).number(4, (insts.len() / 8) as u32).input(8, insts);
    arguments = arguments.input(16, LICENSE.to_bytes_with_nul()).name(48, "netvm").number(68, XDP_HOOK);
    if let Some(log) = log {
        arguments = arguments.number(24, 1).number(28, log.len() as u32).output(32, log);
    }
    arguments.open(PROGRAM_LOAD)
}

/// The same error with the last lines of what the verifier says.
fn explained(insts: &[u8], error: io::Error) -> io::Error {
    let mut log = vec![0; LOG];
    if load(insts, Some(&mut log)).is_ok() {
        return error;
    }
    let text = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = text.trim_end_matches('\0').lines().collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n");
    io::Error::new(error.kind(), format!("{error}; the kernel's verifier says:\n{last}"))
}
