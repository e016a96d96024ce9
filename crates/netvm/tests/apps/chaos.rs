//! Random and damaged packets: real ones of scenarios and of synthetic traffic, some of their bytes
//! changed, ends cut off or added.

use netvm::io::synth;
use netvm::scripts::scenarios::packet;
use netvm::scripts::scenarios::{Scenario, run::Packets};
use std::collections::BTreeMap;

/// The longest packet: with its IP header behind 14 bytes it fits the MTU of 1,500, so that nothing
/// is fragmented and all can be counted.
const LONGEST: usize = 1514;

/// A plain generator (Knuth's constants); the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len());
        &all[at]
    }
}

/// So many packets for the devices, in the order of their times: damaged, or as scenarios and
/// traffic have them.
pub fn packets(scenarios: &[&Scenario], devices: &[String], count: usize, seed: u64, damaging: bool) -> BTreeMap<String, Packets> {
    let mut random = Random(seed);
    let known = |device: &String| scenarios.iter().filter_map(|s| s.inputs.get(device)).flatten().map(|p| p.bytes.clone()).collect();
    let known: Vec<Vec<Vec<u8>>> = devices.iter().map(known).collect();
    let traffic = synth::mixed_trace(seed, count.min(20_000));
    let mut inputs: BTreeMap<String, Packets> = devices.iter().map(|device| (device.clone(), Packets::new())).collect();
    let mut time = 1_000_000_000;
    for n in 0..count {
        let at = random.below(devices.len());
        let bytes = match random.below(3) {
            0 => addressed(&traffic[n % traffic.len()].1, &known[at], &mut random, damaging),
            _ if known[at].is_empty() => traffic[n % traffic.len()].1.clone(),
            _ => random.one_of(&known[at]).clone(),
        };
        time += if random.below(200) == 0 { random.below(400) as u64 * 1_000_000_000 } else { 1 + random.below(2_000_000) as u64 };
        let bytes = if damaging { damaged(bytes, &mut random) } else { bytes };
        inputs.entry(devices[at].clone()).or_default().push((time, bytes));
    }
    inputs
}

/// A frame with the Ethernet addresses, and perhaps (then its checksums are wrong) the IP
/// addresses, of one that the application knows.
fn addressed(frame: &[u8], known: &[Vec<u8>], random: &mut Random, damaging: bool) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if known.is_empty() {
        return frame;
    }
    let model = random.one_of(known);
    let end = if random.below(2) == 0 || !damaging { 12 } else { 34 };
    for at in (0..12).chain(26..34).filter(|at| *at < end) {
        if let (Some(to), Some(from)) = (frame.get_mut(at), model.get(at)) {
            *to = *from;
        }
    }
    frame
}

/// A quarter stays as it is; of the others some bytes change, mostly in headers, or the end is
/// another.
fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 | 1 => {}
        2 => bytes.truncate(random.below(bytes.len() + 1)),
        3 => bytes.extend((0..random.below(64)).map(|n| n as u8)),
        _ => {
            for _ in 0..=random.below(4) {
                let at = if random.below(3) == 0 { random.below(bytes.len()) } else { random.below(bytes.len().min(64)) };
                let value = [0, 1, 0x45, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(7)];
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            if random.below(2) == 0 {
                heal(&mut bytes);
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Makes the checksum of an IPv4 header right, so that what is wrong behind it gets further.
fn heal(bytes: &mut [u8]) {
    let Some(first) = bytes.get(14).copied() else { return };
    let length = usize::from(first & 15) * 4;
    if length < 20 || bytes.len() < 14 + length {
        return;
    }
    bytes[24..26].copy_from_slice(&[0, 0]);
    let sum = packet::checksum(&bytes[14..14 + length]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
}
