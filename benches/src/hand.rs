//! Applications written by hand in C behind safe functions ([c/burst.h](../c/burst.h)): a router, a
//! translator, a switch, and what P4 programs do.

#![allow(unsafe_code, reason = "calling C is what this file is for")]

use crate::traffic::{HOPS, LENGTH, PORTS, Packet, Route};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// Bytes that a packet takes in a trace.
const SLOT: usize = 64;
/// Packets of a burst at most.
pub const BURST: usize = 256;

#[repr(C)]
struct CTrace<'a> {
    packets: *const u8,
    ports: *const u8,
    count: usize,
    interval: u64,
    at_once: usize,
    borrowed: PhantomData<&'a [u8]>,
}

#[repr(C)]
struct CKept {
    packets: *mut u8,
    count: usize,
    room: usize,
}

type Run = unsafe extern "C" fn(*mut c_void, *mut c_void, *const CTrace<'_>, u64);

unsafe extern "C" {
    fn ports_new() -> *mut c_void;
    fn ports_reset(ports: *mut c_void, kept: *mut CKept);
    fn ports_counts(ports: *const c_void, sent: *mut u64, dropped: *mut u64);
    fn router_new() -> *mut c_void;
    fn router_hop(router: *mut c_void, hop: u32, macs: *const u8, port: u32);
    fn router_add(router: *mut c_void, prefix: u32, length: u32, hop: u32);
    fn router_run(router: *mut c_void, ports: *mut c_void, trace: *const CTrace<'_>, passes: u64);
    fn nat_new(mappings: u64, timeout: u64, first: u32, addresses: u32, headers: *const u8) -> *mut c_void;
    fn nat_run(nat: *mut c_void, ports: *mut c_void, trace: *const CTrace<'_>, passes: u64);
    fn switch_new(stations: u64, timeout: u64) -> *mut c_void;
    fn switch_run(bridge: *mut c_void, ports: *mut c_void, trace: *const CTrace<'_>, passes: u64);
    fn forwarder_new() -> *mut c_void;
    fn forwarder_hop(forwarder: *mut c_void, hop: u32, mac: *const u8, port: u32);
    fn forwarder_add(forwarder: *mut c_void, prefix: u32, length: u32, hop: u32);
    fn forwarder_run(forwarder: *mut c_void, ports: *mut c_void, trace: *const CTrace<'_>, passes: u64);
    fn stations_new(count: u64) -> *mut c_void;
    fn stations_add(stations: *mut c_void, mac: *const u8, port: u32);
    fn stations_run(stations: *mut c_void, ports: *mut c_void, trace: *const CTrace<'_>, passes: u64);
}

/// Packets as the applications take them: each at the beginning of a cache line.
pub struct Trace {
    memory: Vec<u8>,
    begin: usize,
    ports: Vec<u8>,
    interval: u64,
    at_once: usize,
}

impl Trace {
    /// Those packets, one every `interval` nanoseconds.
    pub fn new(packets: &[Packet], interval: u64) -> Self {
        Self::of_bursts(packets, interval, BURST)
    }

    /// Those packets, one every `interval` nanoseconds, so many at a time.
    pub fn of_bursts(packets: &[Packet], interval: u64, at_once: usize) -> Self {
        assert!((1..=BURST).contains(&at_once));
        let mut memory = crate::native::huge((packets.len() + 1) * SLOT);
        let begin = memory.as_ptr().align_offset(SLOT);
        for (slot, packet) in memory[begin..].chunks_exact_mut(SLOT).zip(packets) {
            slot[..LENGTH].copy_from_slice(&packet.bytes);
        }
        Self { memory, begin, ports: packets.iter().map(|packet| packet.port as u8).collect(), interval, at_once }
    }

    /// How many packets.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    fn as_c(&self) -> CTrace<'_> {
        let (packets, ports) = (self.memory[self.begin..].as_ptr(), self.ports.as_ptr());
        CTrace { packets, ports, count: self.ports.len(), interval: self.interval, at_once: self.at_once, borrowed: PhantomData }
    }
}

/// Routes as C takes them.
fn shortest_first(routes: &[Route]) -> Vec<Route> {
    let mut routes = routes.to_vec();
    routes.sort_by_key(|route| route.length);
    let fits = |route: &Route| (1..=32).contains(&route.length) && route.hop < HOPS && route.prefix.trailing_zeros() >= 32 - route.length;
    assert!(routes.iter().all(fits));
    routes
}

/// An application with its buffers and queues. What C has allocated stays until the program ends.
pub struct Hand {
    app: NonNull<c_void>,
    ports: NonNull<c_void>,
    run: Run,
}

impl Hand {
    fn new(app: *mut c_void, run: Run) -> Self {
        // SAFETY: gives ports, or ends the program.
        let ports = unsafe { ports_new() };
        Self { app: NonNull::new(app).expect("C gave an application"), ports: NonNull::new(ports).expect("C gave ports"), run }
    }

    /// A router with next hops that are known: destination and source of their frames.
    pub fn router(routes: &[Route], macs: &dyn Fn(u32) -> [u8; 12]) -> Self {
        // SAFETY: gives a router, or ends the program.
        let router = unsafe { router_new() };
        for hop in 0..HOPS {
            let (macs, port) = (macs(hop), hop % PORTS);
            // SAFETY: there is room for more hops than that; the addresses are twelve bytes.
            unsafe { router_hop(router, hop + 1, macs.as_ptr(), port) }
        }
        for Route { prefix, length, hop } in shortest_first(routes) {
            // SAFETY: the prefix covers slots that there are, and the hop is one.
            unsafe { router_add(router, prefix, length, hop + 1) }
        }
        Self::new(router, router_run)
    }

    /// A router that does what forward.p4 does.
    pub fn forwarder(routes: &[Route], mac: &dyn Fn(u32) -> [u8; 6]) -> Self {
        // SAFETY: gives a forwarder, or ends the program.
        let forwarder = unsafe { forwarder_new() };
        for hop in 0..HOPS {
            let (mac, port) = (mac(hop), hop % PORTS);
            // SAFETY: there is room for more hops than that; the address is six bytes.
            unsafe { forwarder_hop(forwarder, hop + 1, mac.as_ptr(), port) }
        }
        for Route { prefix, length, hop } in shortest_first(routes) {
            // SAFETY: the prefix covers slots that there are, and the hop is one.
            unsafe { forwarder_add(forwarder, prefix, length, hop + 1) }
        }
        Self::new(forwarder, forwarder_run)
    }

    /// A switch that does what switch.p4 does, for stations that are at these ports.
    pub fn stations(all: &[([u8; 6], u32)]) -> Self {
        // SAFETY: gives a table for so many, or ends the program.
        let stations = unsafe { stations_new(all.len() as u64) };
        for (mac, port) in all {
            assert!(*port < PORTS);
            // SAFETY: the table has room for all of them; the address is six bytes.
            unsafe { stations_add(stations, mac.as_ptr(), *port) }
        }
        Self::new(stations, stations_run)
    }

    /// A translator to so many external addresses, a power of 2; `headers` are destination and
    /// source of frames of either port.
    pub fn nat(mappings: usize, timeout: u64, first: u32, addresses: u32, headers: &[[u8; 12]; 2]) -> Self {
        assert!(addresses.is_power_of_two());
        // SAFETY: headers are twenty-four bytes; gives a translator, or ends the program.
        Self::new(unsafe { nat_new(mappings as u64, timeout, first, addresses, headers.as_ptr().cast()) }, nat_run)
    }

    /// A switch for so many stations.
    pub fn switch(stations: usize, timeout: u64) -> Self {
        // SAFETY: gives a switch, or ends the program.
        Self::new(unsafe { switch_new(stations as u64, timeout) }, switch_run)
    }

    /// Runs a trace so often; how many packets were sent and how many dropped.
    pub fn run(&mut self, trace: &Trace, passes: u64) -> [u64; 2] {
        // SAFETY: these are the ports of this application; nothing is kept.
        unsafe { ports_reset(self.ports.as_ptr(), ptr::null_mut()) }
        self.run_on(trace, passes)
    }

    fn run_on(&mut self, trace: &Trace, passes: u64) -> [u64; 2] {
        assert!(trace.ports.iter().all(|port| u32::from(*port) < PORTS));
        // SAFETY: application and ports are those that C gave; the trace has as many slots and
        // ports as it says, and ports that there are.
        unsafe { (self.run)(self.app.as_ptr(), self.ports.as_ptr(), &trace.as_c(), passes) }
        let (mut sent, mut dropped) = ([0; PORTS as usize], 0);
        // SAFETY: there is room for as many counts as there are ports.
        unsafe { ports_counts(self.ports.as_ptr(), sent.as_mut_ptr(), &mut dropped) }
        [sent.iter().sum(), dropped]
    }

    /// Runs a trace so often; the packets sent, by port, one after the other.
    pub fn outputs(&mut self, trace: &Trace, passes: u64) -> Vec<Vec<u8>> {
        // A packet is sent once by a port, if at all.
        let room = trace.ports.len() * passes as usize;
        let mut memory: Vec<Vec<u8>> = (0..PORTS).map(|_| vec![0; room * SLOT]).collect();
        let mut kept: Vec<CKept> = memory.iter_mut().map(|memory| CKept { packets: memory.as_mut_ptr(), count: 0, room }).collect();
        // SAFETY: as many places as ports, each with that room, which live until the ports are
        // reset below.
        unsafe { ports_reset(self.ports.as_ptr(), kept.as_mut_ptr()) }
        self.run_on(trace, passes);
        // SAFETY: these are the ports of this application.
        unsafe { ports_reset(self.ports.as_ptr(), ptr::null_mut()) }
        let packets = |(memory, kept): (&Vec<u8>, &CKept)| {
            memory.chunks_exact(SLOT).take(kept.count).flat_map(|slot| slot[..LENGTH].to_vec()).collect()
        };
        memory.iter().zip(&kept).map(packets).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic;

    #[test]
    fn bursts_of_any_size_do_the_same() {
        let packets = &traffic::translated(100)[..300];
        let outputs = |at_once| {
            let mut nat = Hand::nat(100, 1_000_000_000, 0xc633_6401, 1, &[[1; 12], [2; 12]]);
            nat.outputs(&Trace::of_bursts(packets, 1000, at_once), 1)
        };
        assert!([1, 7, 32].into_iter().all(|at_once| outputs(at_once) == outputs(BURST)));
    }

    #[test]
    fn a_switch_learns_and_a_station_that_is_silent_is_forgotten() {
        let packets = traffic::switched(8);
        let count = |timeout| Hand::switch(8, timeout).run(&Trace::new(&packets, 1000), 2);
        let [sent, dropped] = count(1_000_000_000);
        assert!((1..100).contains(&(sent + dropped - 2 * packets.len() as u64)), "flooded until known: {sent} {dropped}");
        // Only who sends to itself is known.
        let [sent, dropped] = count(1);
        assert_eq!(sent, 3 * (2 * packets.len() as u64 - dropped));
        assert!(dropped < packets.len() as u64 / 3, "{dropped}");
    }

    #[test]
    fn a_translator_maps_back_what_comes_back() {
        let packets = &traffic::translated(100)[..300];
        let mut nat = Hand::nat(100, 1_000_000_000, 0xc633_6401, 1, &[[1; 12], [2; 12]]);
        let out = nat.outputs(&Trace::new(packets, 1000), 1);
        assert_eq!([out[0].len(), out[1].len()], [0, 300 * LENGTH]);
        let reply = |bytes: &[u8]| {
            let mut bytes: [u8; LENGTH] = bytes.try_into().unwrap();
            let (source, destination) = (26..30, 30..34);
            let sender: [u8; 4] = bytes[source.clone()].try_into().unwrap();
            bytes.copy_within(destination.clone(), source.start);
            bytes[destination].copy_from_slice(&sender);
            (bytes[34], bytes[35], bytes[36], bytes[37]) = (bytes[36], bytes[37], bytes[34], bytes[35]);
            bytes[0] = 2;
            Packet { port: 1, bytes }
        };
        let replies: Vec<Packet> = out[1].chunks_exact(LENGTH).map(reply).collect();
        let back = nat.outputs(&Trace::new(&replies, 1000), 1);
        assert_eq!([back[0].len(), back[1].len()], [300 * LENGTH, 0]);
        for (packet, back) in packets.iter().zip(back[0].chunks_exact(LENGTH)) {
            assert_eq!([&back[30..34], &back[36..38]], [&packet.bytes[26..30], &packet.bytes[34..36]]);
            let words = back[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
            assert_eq!(traffic::checksum(words), 0);
        }
    }
}
