//! C behind safe functions: hand-written filters, and libpcap where it was there at build time.

#![allow(unsafe_code, reason = "calling C is what this file is for")]

use std::marker::PhantomData;

/// A packet as `c/packet.h` has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPacket<'a> {
    bytes: *const u8,
    len: u32,
    wire_len: u32,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> CPacket<'a> {
    /// A captured packet and its length on the wire.
    pub fn new(bytes: &'a [u8], wire_len: u32) -> Self {
        Self { bytes: bytes.as_ptr(), len: bytes.len() as u32, wire_len, borrowed: PhantomData }
    }
}

/// A hand-written filter in one of its shapes.
#[derive(Clone, Copy)]
pub struct Hand {
    /// Which one, from 0: f1 to f9, then [`F9_SWITCH`].
    pub which: usize,
    /// Inlined into the loop over the burst, or called through a pointer.
    pub inlined: bool,
    /// Who compiled it.
    pub compiler: Compiler,
}

/// Who compiled the hand-written filters.
#[derive(Clone, Copy, PartialEq)]
pub enum Compiler {
    /// The system's compiler.
    System,
    /// clang, if it was there at build time.
    #[cfg_attr(not(clang), expect(dead_code, reason = "there was no clang"))]
    Clang,
}

/// f9 by a switch, among the hand-written filters.
pub const F9_SWITCH: usize = crate::filters::COUNT;

type Run = unsafe extern "C" fn(u32, *const CPacket<'_>, usize, *mut u64);

unsafe extern "C" {
    fn hand_called(which: u32, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
    fn hand_inlined(which: u32, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
    fn touch_each(packets: *const CPacket<'_>, n: usize, bits: *mut u64);
}

#[cfg(clang)]
mod by_clang {
    use super::CPacket;
    unsafe extern "C" {
        pub fn hand_called_clang(which: u32, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
        pub fn hand_inlined_clang(which: u32, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
    }
}

/// The compilers that there are hand-written filters by.
pub fn compilers() -> &'static [Compiler] {
    #[cfg(clang)]
    return &[Compiler::System, Compiler::Clang];
    #[cfg(not(clang))]
    &[Compiler::System]
}

impl Hand {
    /// Runs it on packets; a bit per packet.
    pub fn run(self, packets: &[CPacket<'_>], bits: &mut [u64]) {
        assert!(self.which <= F9_SWITCH && packets.len() <= bits.len() * 64);
        let run = self.function();
        // SAFETY: there are F9_SWITCH + 1 filters; the packets are valid slices as long as they are
        // borrowed; the assertion leaves a bit for each.
        unsafe { run(self.which as u32, packets.as_ptr(), packets.len(), bits.as_mut_ptr()) }
    }

    fn function(self) -> Run {
        match (self.compiler, self.inlined) {
            #[cfg(clang)]
            (Compiler::Clang, false) => by_clang::hand_called_clang,
            #[cfg(clang)]
            (Compiler::Clang, true) => by_clang::hand_inlined_clang,
            (_, false) => hand_called,
            (_, true) => hand_inlined,
        }
    }
}

/// Touches one byte of each packet, asking for later ones ahead: what no filter can be quicker
/// than.
pub fn touch(packets: &[CPacket<'_>], bits: &mut [u64]) {
    assert!(packets.len() <= bits.len() * 64);
    // SAFETY: the packets are valid slices as long as they are borrowed, and are read within their
    // length; the assertion leaves a bit for each.
    unsafe { touch_each(packets.as_ptr(), packets.len(), bits.as_mut_ptr()) }
}

/// Zeros, in large pages where the system has them to give: small ones make every packet a miss of
/// the address cache.
pub fn huge(size: usize) -> Vec<u8> {
    const PAGE: usize = 2 << 20;
    let mut bytes: Vec<u8> = Vec::with_capacity(size);
    let first = bytes.as_ptr().align_offset(PAGE);
    if size > first + PAGE {
        let whole = (size - first) / PAGE * PAGE;
        let at = bytes.as_mut_ptr().wrapping_add(first).cast();
        // Where that cannot be had, pages are small.
        // SAFETY: the range lies inside the allocation; the advice changes no contents.
        let _ = unsafe { rustix::mm::madvise(at, whole, rustix::mm::Advice::LinuxHugepage) };
    }
    bytes.resize(size, 0);
    bytes
}

#[cfg(libpcap)]
pub use with_libpcap::{Bpf, version};

#[cfg(libpcap)]
mod with_libpcap {
    use super::CPacket;
    use std::ffi::{CStr, CString, c_char, c_int, c_void};

    unsafe extern "C" {
        fn libpcap_compile(expression: *const c_char, snaplen: c_int) -> *mut c_void;
        fn libpcap_free(program: *mut c_void);
        fn libpcap_run(program: *const c_void, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
        fn libpcap_version() -> *const c_char;
    }

    /// A filter that libpcap compiled for Ethernet.
    pub struct Bpf(*mut c_void);

    impl Bpf {
        /// `None` if libpcap refuses the expression.
        pub fn compile(expression: &str) -> Option<Self> {
            let text = CString::new(expression).ok()?;
            // SAFETY: the text is valid and ends with a zero byte.
            let program = unsafe { libpcap_compile(text.as_ptr(), 262_144) };
            (!program.is_null()).then_some(Self(program))
        }

        /// Runs `bpf_filter` on each packet; a bit per packet.
        pub fn run(&self, packets: &[CPacket<'_>], bits: &mut [u64]) {
            assert!(packets.len() <= bits.len() * 64);
            // SAFETY: the program lives as long as self; the packets are valid slices; the
            // assertion leaves a bit for each.
            unsafe { libpcap_run(self.0, packets.as_ptr(), packets.len(), bits.as_mut_ptr()) }
        }
    }

    impl Drop for Bpf {
        fn drop(&mut self) {
            // SAFETY: made by libpcap_compile and freed once.
            unsafe { libpcap_free(self.0) }
        }
    }

    /// Name and version of the library.
    pub fn version() -> String {
        // SAFETY: takes nothing.
        let text = unsafe { libpcap_version() };
        // SAFETY: libpcap gives a static string that ends with a zero byte.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

#[cfg(not(libpcap))]
pub use without_libpcap::{Bpf, version};

#[cfg(not(libpcap))]
mod without_libpcap {
    use super::CPacket;

    /// There is no libpcap to compile with.
    pub enum Bpf {}

    impl Bpf {
        /// Always `None`.
        pub fn compile(_expression: &str) -> Option<Self> {
            None
        }

        /// Never called.
        pub fn run(&self, _packets: &[CPacket<'_>], _bits: &mut [u64]) {
            match *self {}
        }
    }

    /// Says that it is missing.
    pub fn version() -> String {
        "absent when this was built: install libpcap-dev and build again".to_owned()
    }
}
