//! What a `netvm_application` is: a configuration of elements whose devices are queues of the
//! caller.

use crate::filter::engine_of;
use crate::pointers::{Fault, array, array_mut, name, text};
use crate::{Packet, ReadingOf, reading};
use netvm::application::{Application, Embedded, Lent, Settings, Silent};
use netvm::engines::{self, EngineInfo};
use netvm::io::LinkType;
use std::ffi::{c_char, c_int};
use std::path::Path;

/// A configuration that runs: `netvm_application` in C.
pub struct Running(Embedded);

crate::abi::c_types!(Running = "netvm_application");

/// Reads a configuration and makes its elements.
///
/// # Safety
/// Each pointer is null or points to a string that ends with NUL, or to what the header says.
pub(crate) unsafe fn open(configuration: *const c_char, reading: *const ReadingOf, engine: *const c_char) -> Result<Running, Fault> {
    // SAFETY: as this function's.
    let source = unsafe { name(configuration, "the configuration") }?;
    // SAFETY: as this function's.
    let engine = unsafe { engine_of(engine) }?;
    // SAFETY: as this function's.
    let reading = unsafe { reading::of(reading) }?;
    Running::new(&Application::read("configuration", source, &reading)?, engine)
}

/// Reads the configuration in a file and makes its elements.
///
/// # Safety
/// As [`open`].
pub(crate) unsafe fn open_file(path: *const c_char, reading: *const ReadingOf, engine: *const c_char) -> Result<Running, Fault> {
    // SAFETY: as this function's.
    let path = unsafe { name(path, "the path") }?;
    // SAFETY: as this function's.
    let engine = unsafe { engine_of(engine) }?;
    // SAFETY: as this function's.
    let reading = unsafe { reading::of(reading) }?;
    Running::new(&Application::read_file(Path::new(path), &reading)?, engine)
}

impl Running {
    fn new(application: &Application, engine: &EngineInfo) -> Result<Self, Fault> {
        Ok(Self(application.embed(engine, engines::Settings::default(), Settings::default(), Box::new(Silent))?))
    }

    /// Lets packets come in by a device; how many there was room for.
    ///
    /// # Safety
    /// Pointers are null, or there are so many packets with their bytes, so many times, and a
    /// string.
    pub(crate) unsafe fn push(
        &mut self,
        device: *const c_char,
        packets: *const Packet,
        times: *const u64,
        count: usize,
    ) -> Result<c_int, Fault> {
        // SAFETY: as this function's.
        let device = unsafe { name(device, "the device") }?;
        // SAFETY: as this function's.
        let packets = unsafe { array(packets, count, "the array of packets") }?;
        // SAFETY: as this function's.
        let times = unsafe { array(times, if times.is_null() { 0 } else { count }, "the array of times") }?;
        let port = self.0.port(device).map_err(Fault::refused)?;
        let mut taken = 0;
        for (n, packet) in packets.iter().take(c_int::MAX as usize).enumerate() {
            // SAFETY: as this function's.
            let bytes = unsafe { packet.bytes() }?;
            let time_ns = times.get(n).copied().unwrap_or(0);
            let lent = Lent { bytes, wire_len: packet.on_wire(), time_ns, link: LinkType::EN10MB };
            if !self.0.push_to(port, lent) {
                break;
            }
            taken += 1;
        }
        Ok(taken)
    }

    /// Runs what has come, and timers up to that time.
    pub(crate) fn run(&mut self, until_ns: u64) -> c_int {
        self.0.run_until(until_ns);
        c_int::from(self.0.has_ended())
    }

    /// Takes packets that were sent by a device, their bytes into the caller's room; how many.
    ///
    /// # Safety
    /// Pointers are null, or there is room for so many bytes, packets and times, to which nothing
    /// else points, and a string.
    pub(crate) unsafe fn take(
        &mut self,
        device: *const c_char,
        room: (*mut u8, usize),
        packets: *mut Packet,
        times: *mut u64,
        count: usize,
    ) -> Result<c_int, Fault> {
        // SAFETY: as this function's.
        let device = unsafe { name(device, "the device") }?;
        // SAFETY: as this function's.
        let room = unsafe { array_mut(room.0, room.1, "the room for bytes") }?;
        // SAFETY: as this function's.
        let packets = unsafe { array_mut(packets, count.min(c_int::MAX as usize), "the array of packets") }?;
        // SAFETY: as this function's.
        let times = unsafe { array_mut(times, if times.is_null() { 0 } else { packets.len() }, "the array of times") }?;
        let (mut at, mut n) = (0, 0);
        let wants = |packet: Lent<'_>| {
            let Some(place) = room.get_mut(at..at + packet.bytes.len()).filter(|_| n < packets.len()) else { return false };
            for (to, from) in place.iter_mut().zip(packet.bytes) {
                to.write(*from);
            }
            let data = place.as_ptr().cast();
            packets[n].write(Packet { data, len: packet.bytes.len() as u32, wire_len: packet.wire_len });
            if let Some(time) = times.get_mut(n) {
                time.write(packet.time_ns);
            }
            (at, n) = (at + packet.bytes.len(), n + 1);
            true
        };
        let taken = self.0.take(device, wants).map_err(Fault::refused)?;
        Ok(taken as c_int)
    }

    /// What a handler says.
    ///
    /// # Safety
    /// Each pointer is null or points to a string that ends with NUL.
    pub(crate) unsafe fn read(&mut self, handler: *const c_char, argument: *const c_char) -> Result<String, Fault> {
        // SAFETY: as this function's.
        let handler = unsafe { name(handler, "the handler") }?;
        // SAFETY: as this function's.
        let argument = unsafe { text(argument, "the argument") }?.unwrap_or_default();
        self.0.graph().read(handler, argument, None).map_err(Fault::refused)
    }

    /// Writes a handler.
    ///
    /// # Safety
    /// Each pointer is null or points to a string that ends with NUL.
    pub(crate) unsafe fn write(&mut self, handler: *const c_char, value: *const c_char) -> Result<(), Fault> {
        // SAFETY: as this function's.
        let handler = unsafe { name(handler, "the handler") }?;
        // SAFETY: as this function's.
        let value = unsafe { text(value, "the value") }?.unwrap_or_default();
        self.0.graph().write(handler, value, None).map_err(Fault::refused)
    }
}
