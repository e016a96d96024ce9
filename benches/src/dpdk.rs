//! DPDK's side: libpcap's program converted by `rte_bpf_convert` and compiled by `rte_bpf`, where
//! libdpdk-dev was there at build time.
//!
//! Its environment is begun once, without devices and huge pages. Known of DPDK 22.11: loads of
//! single bytes and of words at a variable place, once converted, read elsewhere (pairs of bytes
//! are right), so filters like `tcp[13] & 2 != 0` judge packets wrongly. That is told.

#[cfg(dpdk)]
pub use with_dpdk::{Program, version};
#[cfg(not(dpdk))]
pub use without_dpdk::{Program, version};

#[cfg(dpdk)]
#[allow(unsafe_code, reason = "calling C is what this module is for")]
mod with_dpdk {
    use crate::native::CPacket;
    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::sync::LazyLock;

    unsafe extern "C" {
        fn dpdk_begin(processor: *const c_char) -> c_int;
        fn dpdk_version() -> *const c_char;
        fn dpdk_compile(expression: *const c_char, snaplen: c_int) -> *mut c_void;
        fn dpdk_free(program: *mut c_void);
        fn dpdk_run(program: *const c_void, packets: *const CPacket<'_>, n: usize, bits: *mut u64);
    }

    /// Whether DPDK's environment is there. It keeps the thread that begins it on a processor: on
    /// that where it runs.
    static BEGUN: LazyLock<bool> = LazyLock::new(|| {
        let before = rustix::thread::sched_getaffinity(None);
        let processor = CString::new(rustix::thread::sched_getcpu().to_string()).unwrap_or_default();
        // SAFETY: the text is valid and ends with a zero byte; the lock sees to it that this is
        // called once.
        let begun = unsafe { dpdk_begin(processor.as_ptr()) } != 0;
        if let Ok(before) = before {
            let _ = rustix::thread::sched_setaffinity(None, &before);
        }
        begun
    });

    /// A filter that DPDK compiled.
    pub struct Program(*mut c_void);

    impl Program {
        /// # Errors
        /// DPDK does not begin, or refuses what libpcap makes of the expression.
        pub fn compile(expression: &str) -> Result<Self, String> {
            if !*BEGUN {
                return Err("DPDK's environment does not begin".to_owned());
            }
            let text = CString::new(expression).map_err(|e| e.to_string())?;
            // SAFETY: the environment has begun; the text is valid and ends with a zero byte.
            let program = unsafe { dpdk_compile(text.as_ptr(), 262_144) };
            if program.is_null() { Err("DPDK does not compile it".to_owned()) } else { Ok(Self(program)) }
        }

        /// Calls it for each packet; a bit per packet.
        pub fn run(&self, packets: &[CPacket<'_>], bits: &mut [u64]) {
            assert!(packets.len() <= bits.len() * 64);
            // SAFETY: the program lives as long as self; the packets are valid slices; the
            // assertion leaves a bit for each.
            unsafe { dpdk_run(self.0, packets.as_ptr(), packets.len(), bits.as_mut_ptr()) }
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            // SAFETY: made by dpdk_compile and freed once.
            unsafe { dpdk_free(self.0) }
        }
    }

    /// Name and version of the library.
    pub fn version() -> String {
        // SAFETY: takes nothing.
        let text = unsafe { dpdk_version() };
        // SAFETY: DPDK gives a static string that ends with a zero byte.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

#[cfg(not(dpdk))]
mod without_dpdk {
    use crate::native::CPacket;

    /// There is none.
    pub enum Program {}

    impl Program {
        /// Always refused.
        pub fn compile(_expression: &str) -> Result<Self, String> {
            Err(version())
        }

        /// Never called.
        pub fn run(&self, _packets: &[CPacket<'_>], _bits: &mut [u64]) {
            match *self {}
        }
    }

    /// Says that it is missing.
    pub fn version() -> String {
        "DPDK absent when this was built: install libdpdk-dev and libpcap-dev and build again".to_owned()
    }
}
