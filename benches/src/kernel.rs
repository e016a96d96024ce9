//! The kernel's side: `c/xdp_filters.c`, verified and compiled by the kernel, its machine code run
//! in this process.
//!
//! Having the kernel test-run a program costs more than a filter takes, so its code is fetched
//! (`bpf(2)`, `BPF_OBJ_GET_INFO_BY_FD`), checked by `crate::image`, and called with the beginning
//! of a `struct xdp_buff`, whose first two words are where the packet begins and ends. The
//! comparison of verdicts shows that the kernel has them there. Needs root, the kernel's compiler
//! (`net.core.bpf_jit_enable`), and clang when this is built.

#[cfg(xdp)]
pub use with_clang::Program;
#[cfg(not(xdp))]
pub use without_clang::Program;

#[cfg(xdp)]
#[allow(unsafe_code, reason = "calling machine code is what this module is for")]
mod with_clang {
    use crate::image;
    use crate::native::CPacket;
    use object::{Object, ObjectSection};
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
    use std::ffi::c_void;
    use std::io;

    const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/xdp_filters.o"));
    const INSTRUCTION: usize = 8;
    /// A page-aligned bound of the code's length; the largest of the filters takes less than one
    /// page.
    const ROOM: usize = 1 << 16;

    unsafe extern "C" {
        fn kernel_compile(instructions: *const c_void, count: u32, code: *mut u8, room: u32) -> i64;
        fn kernel_run(code: *const c_void, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
    }

    /// A filter that the kernel compiled, in executable memory.
    pub struct Program(*mut c_void);

    impl Program {
        /// Filter number `which` (from 0).
        ///
        /// # Errors
        /// The kernel refuses it, does not show its machine code, or that code cannot run
        /// elsewhere.
        pub fn compile(which: usize) -> Result<Self, String> {
            let code = image::made_local(compiled(&section(which)?)?)?;
            Self::mapped(&code).map_err(|e| format!("no memory for machine code: {e}"))
        }

        fn mapped(code: &[u8]) -> io::Result<Self> {
            assert!(code.len() <= ROOM);
            // SAFETY: a new mapping takes no memory that is in use.
            let at =
                unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), ROOM, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }?;
            let program = Self(at);
            // SAFETY: the mapping is ROOM bytes long, writable, and known to none else.
            unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at.cast(), code.len()) };
            // SAFETY: the range is the mapping; nothing refers to its bytes.
            unsafe { rustix::mm::mprotect(at, ROOM, MprotectFlags::READ | MprotectFlags::EXEC) }?;
            Ok(program)
        }

        /// Calls it for each packet; a bit per packet.
        pub fn run(&self, packets: &[CPacket<'_>], bits: &mut [u64]) {
            assert!(packets.len() <= bits.len() * 64);
            // SAFETY: the kernel verified that the program reads nothing but its packet, and
            // `made_local` that it leaves by returning only; the packets are valid slices; the
            // assertion leaves a bit for each.
            unsafe { kernel_run(self.0, packets.as_ptr(), packets.len(), bits.as_mut_ptr()) }
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            // SAFETY: mapped with that length, and unmapped once.
            let _ = unsafe { rustix::mm::munmap(self.0, ROOM) };
        }
    }

    /// The eBPF instructions of a filter.
    fn section(which: usize) -> Result<Vec<u8>, String> {
        let name = format!("f{}", which + 1);
        let file = object::File::parse(OBJECT).map_err(|e| e.to_string())?;
        let section = file.section_by_name(&name).ok_or_else(|| format!("there is no XDP program {name}"))?;
        if section.relocations().next().is_some() {
            return Err(format!("the XDP program {name} refers to other sections"));
        }
        section.data().map(<[u8]>::to_vec).map_err(|e| e.to_string())
    }

    /// The kernel's machine code for eBPF instructions.
    fn compiled(instructions: &[u8]) -> Result<Vec<u8>, String> {
        // Aligned as instructions are.
        let words: Vec<u64> =
            instructions.chunks_exact(INSTRUCTION).map(|c| u64::from_ne_bytes(c.try_into().unwrap_or_default())).collect();
        let mut code = vec![0; ROOM];
        // SAFETY: the instructions are as many as the vector has words; the code has that room.
        let length = unsafe { kernel_compile(words.as_ptr().cast(), words.len() as u32, code.as_mut_ptr(), ROOM as u32) };
        match usize::try_from(length) {
            Ok(0) => Err("the kernel shows no machine code (net.core.bpf_jit_enable, kernel.kptr_restrict)".to_owned()),
            Ok(length) if length > ROOM => Err(format!("{length} bytes of machine code are too many")),
            Ok(length) => Ok(code[..length].to_vec()),
            Err(_) => Err(format!("the kernel refuses the program: {}", io::Error::from_raw_os_error(-length as i32))),
        }
    }
}

#[cfg(not(xdp))]
mod without_clang {
    use crate::native::CPacket;

    /// There is none.
    pub enum Program {}

    impl Program {
        /// Always refused.
        pub fn compile(_which: usize) -> Result<Self, String> {
            Err("XDP programs need x86-64, and clang when this is built".to_owned())
        }

        /// Never called.
        pub fn run(&self, _packets: &[CPacket<'_>], _bits: &mut [u64]) {
            match *self {}
        }
    }
}
