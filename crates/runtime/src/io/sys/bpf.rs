//! The system call `bpf`: maps, programs, test runs, links.
//!
//! Own code rather than a crate: five commands of one system call are wanted, and the programs come
//! from netvm's compiler with their maps described beside them, so that nothing has to be read from
//! ELF. Source: include/uapi/linux/bpf.h, whose union the offsets are of.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{FromRawFd, OwnedFd};

/// Bytes of the kernel's union that are passed; what a kernel does not know must be 0, and is.
const SIZE: usize = 120;

/// A command's arguments: numbers and the addresses of slices, by their offsets.
pub(in crate::io) struct Arguments<'a> {
    words: [u64; SIZE / 8],
    slices: PhantomData<&'a mut [u8]>,
}

impl<'a> Arguments<'a> {
    pub fn new() -> Self {
        Self { words: [0; SIZE / 8], slices: PhantomData }
    }

    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            let (word, shift) = ((at + i) / 8, 8 * ((at + i) % 8));
            let shift = if cfg!(target_endian = "big") { 56 - shift } else { shift };
            self.words[word] |= u64::from(*byte) << shift;
        }
    }

    /// A number of 32 bits.
    pub fn number(mut self, at: usize, v: u32) -> Self {
        self.bytes(at, &v.to_ne_bytes());
        self
    }

    /// A name of at most 15 bytes, of what the kernel admits in one.
    pub fn name(mut self, at: usize, name: &str) -> Self {
        let good = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' };
        let name: String = name.chars().map(good).take(15).collect();
        self.bytes(at, name.as_bytes());
        self
    }

    /// The address of what the kernel reads.
    pub fn input(mut self, at: usize, bytes: &'a [u8]) -> Self {
        self.bytes(at, &(bytes.as_ptr() as u64).to_ne_bytes());
        self
    }

    /// The address of what the kernel writes.
    pub fn output(mut self, at: usize, bytes: &'a mut [u8]) -> Self {
        self.bytes(at, &(bytes.as_mut_ptr() as u64).to_ne_bytes());
        self
    }

    /// A number of 32 bits that the kernel wrote.
    pub fn answer(&self, at: usize) -> u32 {
        let word = self.words[at / 8].to_ne_bytes();
        u32::from_ne_bytes(std::array::from_fn(|i| word[at % 8 + i]))
    }

    /// Calls. The lengths among the numbers are those of the slices: that is the caller's to see
    /// to, in `io::bpf` alone.
    pub fn call(&mut self, command: u32) -> io::Result<i32> {
        // SAFETY: the union is as long as is said, and its addresses are of slices that live as
        // long as it does; they were given with their lengths.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.words.as_mut_ptr(), SIZE) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    /// Calls what gives a descriptor.
    pub fn open(&mut self, command: u32) -> io::Result<OwnedFd> {
        let fd = self.call(command)?;
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}
