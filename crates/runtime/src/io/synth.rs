//! Realistic traffic from a seed: the packets of the demo, of tests and of benchmarks.
//!
//! Invariants: the same seed gives the same packets on every machine (integers only, but for square
//! roots, which IEEE 754 fixes); frames are Ethernet of at least 60 bytes without check sequence;
//! all checksums are right.
//!
//! The mix follows what a campus or data-centre uplink shows: mostly TCP, two in five to port 443;
//! frame sizes in three groups (bare acknowledgements, middling, full); a few hosts do most of the
//! talking; some IPv6, ARP, ICMP, GRE, VLAN tags, fragments, IP options. Four addresses (10.1.1.1
//! to 10.4.4.4) and fifty hosts 172.16.i.j are among the talkers, so that filters can name them.
//! Leaves out: conversations; each packet stands alone.
//!
//! ```
//! let trace = netvm_runtime::io::synth::mixed_trace(1, 1000);
//! assert!(trace.iter().all(|(_, frame)| frame.len() >= 60));
//! ```

pub mod dhcp;
mod frame;
pub mod messages;
pub mod services;

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Timestamp;

/// When the first packet of every trace comes: 2023-11-14 22:13:20 UTC.
const START: i64 = 1_700_000_000;

/// `count` packets of Ethernet and their times, ascending; determined by `seed`.
pub fn mixed_trace(seed: u64, count: usize) -> Vec<(Timestamp, Vec<u8>)> {
    Mix::new(seed).take(count).collect()
}

/// The endless trace of which [`mixed_trace`] is the beginning.
pub struct Mix {
    random: Random,
    hosts: Vec<Ipv4Addr>,
    /// Running sums of the hosts' weights.
    weights: Vec<u64>,
    hosts6: Vec<Ipv6Addr>,
    micros: u64,
}

impl Iterator for Mix {
    type Item = (Timestamp, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        self.micros += self.random.within(1, 400);
        let (secs, micros) = ((self.micros / 1_000_000) as i64, (self.micros % 1_000_000) as u32);
        Some((Timestamp::from_micros(START + secs, micros), self.frame()))
    }
}

impl Mix {
    /// The trace for a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let hosts = hosts(&mut random);
        let weights = hosts.iter().enumerate().scan(0, |sum, (rank, _)| {
            *sum += weight(rank);
            Some(*sum)
        });
        let weights = weights.collect();
        let hosts6 = (0..800).map(|_| Ipv6Addr::from((0x2001_0db8_u128 << 96) | u128::from(random.next())));
        let hosts6 = hosts6.collect();
        Self { random, hosts, weights, hosts6, micros: 0 }
    }

    fn frame(&mut self) -> Vec<u8> {
        let (ethertype, packet) = match self.random.per_mille() {
            0..15 => (0x0806, self.arp()),
            15..130 => (0x86dd, self.ipv6()),
            _ => (0x0800, self.ipv4()),
        };
        let mut frame = [self.mac(), self.mac()].concat();
        if self.random.chance(40) {
            let tag = self.random.within(1, 4095) as u16;
            frame.extend([0x8100_u16, tag].map(u16::to_be_bytes).concat());
        }
        frame.extend(u16::to_be_bytes(ethertype));
        frame.extend(packet);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    fn arp(&mut self) -> Vec<u8> {
        let (sender, target) = (self.host(), self.host());
        let mut packet = vec![0, 1, 8, 0, 6, 4, 0, 1];
        packet.extend(self.mac());
        packet.extend(sender.octets());
        packet.extend([0; 6]);
        packet.extend(target.octets());
        packet
    }

    fn ipv4(&mut self) -> Vec<u8> {
        if self.random.chance(20) {
            // The conversation that many example filters ask for.
            let (a, b) = (Ipv4Addr::new(10, 1, 1, 1), Ipv4Addr::new(10, 2, 2, 2));
            let segment = self.tcp(20, 30);
            return self.ipv4_packet(a, b, 6, 0x4000, segment);
        }
        let (a, b) = (self.host(), self.host());
        let (from, to) = self.ports();
        match self.random.per_mille() {
            0..780 => {
                let segment = self.tcp(from, to);
                self.ipv4_packet(a, b, 6, 0x4000, segment)
            }
            780..950 => {
                let (fragment, datagram) = (self.fragment(), self.udp(from, to));
                self.ipv4_packet(a, b, 17, fragment, datagram)
            }
            950..985 => {
                let echo = [&[8, 0, 0, 0, 0, 1, 0, 1][..], &[0; 56]].concat();
                self.ipv4_packet(a, b, 1, 0, echo)
            }
            _ => self.ipv4_packet(a, b, 47, 0, [&[0, 0, 8, 0][..], &[0; 40]].concat()),
        }
    }

    /// Flags and offset: one datagram in fifty is the first of its fragments, one in fifty a later
    /// one.
    fn fragment(&mut self) -> u16 {
        match self.random.per_mille() {
            0..20 => 0x2000,
            20..40 => 185,
            _ => 0,
        }
    }

    fn ipv4_packet(&mut self, from: Ipv4Addr, to: Ipv4Addr, protocol: u8, fragment: u16, mut payload: Vec<u8>) -> Vec<u8> {
        let pseudo = [&from.octets()[..], &to.octets()[..]].concat();
        close(&mut payload, protocol, &pseudo);
        // Router alert, in one of a hundred.
        let options: &[u8] = if self.random.chance(10) { &[0x94, 4, 0, 0] } else { &[] };
        let length = (20 + options.len() + payload.len()) as u16;
        let mut packet = vec![0x45 + (options.len() / 4) as u8, 0];
        packet.extend([length, self.random.next() as u16, fragment].map(u16::to_be_bytes).concat());
        packet.extend([64, protocol, 0, 0]);
        packet.extend(pseudo);
        packet.extend(options);
        put_sum(&mut packet, 10, 0);
        packet.extend(payload);
        packet
    }

    fn ipv6(&mut self) -> Vec<u8> {
        let (a, b) = (self.host6(), self.host6());
        let (from, to) = self.ports();
        match self.random.per_mille() {
            0..620 => {
                let segment = self.tcp(from, to);
                ipv6_packet(a, b, 6, false, segment)
            }
            620..920 => {
                let (from, to) = if self.random.chance(400) { self.order(53, from.max(to)) } else { (from, to) };
                let (hop_by_hop, datagram) = (self.random.chance(50), self.udp(from, to));
                ipv6_packet(a, b, 17, hop_by_hop, datagram)
            }
            _ => ipv6_packet(a, b, 58, false, [&[135, 0][..], &[0; 22]].concat()),
        }
    }

    fn tcp(&mut self, from: u16, to: u16) -> Vec<u8> {
        let flags = match self.random.per_mille() {
            0..500 => 0x10,
            500..800 => 0x18,
            800..860 => 0x02,
            860..910 => 0x12,
            910..970 => 0x11,
            _ => 0x04,
        };
        let timestamps = self.random.chance(700);
        let mut segment = [from, to].map(u16::to_be_bytes).concat();
        segment.extend(self.random.next().to_be_bytes());
        segment.extend([if timestamps { 0x80 } else { 0x50 }, flags]);
        segment.extend([self.random.next() as u16, 0, 0].map(u16::to_be_bytes).concat());
        if timestamps {
            segment.extend([1, 1, 8, 10]);
            segment.extend(self.random.next().to_be_bytes());
        }
        segment.resize(segment.len() + self.size(), 0);
        segment
    }

    fn udp(&mut self, from: u16, to: u16) -> Vec<u8> {
        let payload = if from == 53 || to == 53 { self.dns(from == 53) } else { vec![0; self.size()] };
        let mut datagram = [from, to, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
        datagram.extend(payload);
        datagram
    }

    /// A query for an address, or the answer to one.
    fn dns(&mut self, answer: bool) -> Vec<u8> {
        let flags = if answer { 0x8180 } else { 0x0100 };
        let fields = [self.random.next() as u16, flags, 1, u16::from(answer), 0, 0];
        let mut message = fields.map(u16::to_be_bytes).concat();
        let name = format!("host{}", self.random.within(0, 1000));
        for label in [name.as_str(), "example", "net"] {
            message.push(label.len() as u8);
            message.extend(label.bytes());
        }
        message.extend([0, 0, 1, 0, 1]);
        if answer {
            message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0x2c, 0, 4]);
            message.extend(self.host().octets());
        }
        message
    }

    /// Bytes of payload: next to none, some, or a full frame's.
    fn size(&mut self) -> usize {
        let (low, high) = match self.random.per_mille() {
            0..450 => (0, 21),
            450..650 => (100, 701),
            650..970 => (1200, 1421),
            _ => (700, 1201),
        };
        self.random.within(low, high) as usize
    }

    /// A service's port and an ephemeral one, in either order.
    fn ports(&mut self) -> (u16, u16) {
        let service = match self.random.per_mille() {
            0..420 => 443,
            420..560 => 80,
            560..600 => 53,
            600..630 => 22,
            630..640 => 25,
            640..660 => 20,
            660..680 => 30,
            680..720 => 8080,
            _ => self.random.within(1024, 65_536) as u16,
        };
        let other = self.random.within(32_768, 61_000) as u16;
        self.order(service, other)
    }

    fn order(&mut self, a: u16, b: u16) -> (u16, u16) {
        if self.random.chance(500) { (a, b) } else { (b, a) }
    }

    /// A host, by its weight.
    fn host(&mut self) -> Ipv4Addr {
        let total = self.weights.last().copied().unwrap_or(1);
        let point = self.random.within(0, total);
        let at = self.weights.partition_point(|&sum| sum <= point);
        self.hosts.get(at).copied().unwrap_or(Ipv4Addr::LOCALHOST)
    }

    fn host6(&mut self) -> Ipv6Addr {
        let at = self.random.within(0, self.hosts6.len() as u64) as usize;
        self.hosts6.get(at).copied().unwrap_or(Ipv6Addr::LOCALHOST)
    }

    /// A locally administered address.
    fn mac(&mut self) -> [u8; 6] {
        let [_, _, c, d, e, f, ..] = self.random.next().to_be_bytes();
        [2, 0, c, d, e, f]
    }
}

/// Talkers in order of weight, shuffled: the four named ones (twelve times each), the fifty, 10/8,
/// anywhere.
fn hosts(random: &mut Random) -> Vec<Ipv4Addr> {
    let named = (0..12).flat_map(|_| (1..=4).map(|i| Ipv4Addr::new(10, i, i, i)));
    let fifty = (0..50).map(|i| Ipv4Addr::new(172, 16, i / 7, 10 + i));
    let mut hosts: Vec<_> = named.chain(fifty).collect();
    hosts.extend((0..700).map(|_| Ipv4Addr::from(10 << 24 | random.within(0, 1 << 24) as u32)));
    hosts.extend((0..2200).map(|_| Ipv4Addr::from(random.next() as u32)));
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, random.within(0, last as u64 + 1) as usize);
    }
    hosts
}

/// Falls off with rank to the power ¾: one over two nested square roots, in units of 2⁻²⁴.
fn weight(rank: usize) -> u64 {
    let rank = (rank + 3) as f64;
    (f64::from(1 << 24) / (rank * rank.sqrt()).sqrt()) as u64
}

fn ipv6_packet(from: Ipv6Addr, to: Ipv6Addr, protocol: u8, hop_by_hop: bool, mut payload: Vec<u8>) -> Vec<u8> {
    let addresses = [&from.octets()[..], &to.octets()[..]].concat();
    close(&mut payload, protocol, &addresses);
    // Next header, length 0 (eight bytes), and a padding option that fills them.
    let extension: &[u8] = if hop_by_hop { &[protocol, 0, 1, 4, 0, 0, 0, 0] } else { &[] };
    let next = if hop_by_hop { 0 } else { protocol };
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::to_be_bytes((extension.len() + payload.len()) as u16));
    packet.extend([next, 64]);
    packet.extend(addresses);
    packet.extend(extension);
    packet.extend(payload);
    packet
}

/// Puts the transport checksum into a whole segment, datagram or message.
fn close(payload: &mut [u8], protocol: u8, addresses: &[u8]) {
    let pseudo = add(addresses) + u32::from(protocol) + payload.len() as u32;
    match protocol {
        6 => put_sum(payload, 16, pseudo),
        17 => put_sum(payload, 6, pseudo),
        1 => put_sum(payload, 2, 0),
        58 => put_sum(payload, 2, pseudo),
        _ => {}
    }
}

/// Puts the Internet checksum (RFC 1071) of `bytes` and of `more` at `at`, where zeros are.
fn put_sum(bytes: &mut [u8], at: usize, more: u32) {
    let mut sum = add(bytes) + more;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    if let Some(field) = bytes.get_mut(at..at + 2) {
        field.copy_from_slice(&(!sum as u16).to_be_bytes());
    }
}

fn add(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from)).sum()
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, good enough for traffic.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// A number from `low` up to, but not, `high`.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + ((u128::from(self.next()) * u128::from(high - low)) >> 64) as u64
    }

    fn per_mille(&mut self) -> u64 {
        self.within(0, 1000)
    }

    fn chance(&mut self, per_mille: u64) -> bool {
        self.per_mille() < per_mille
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(trace: &[(Timestamp, Vec<u8>)], is: impl Fn(&[u8]) -> bool) -> f64 {
        trace.iter().filter(|(_, frame)| is(frame)).count() as f64 / trace.len() as f64
    }

    #[test]
    fn a_seed_fixes_the_trace_and_another_changes_it() {
        assert_eq!(mixed_trace(7, 300), mixed_trace(7, 300));
        assert_eq!(mixed_trace(7, 300)[..100], mixed_trace(7, 100)[..]);
        assert_ne!(mixed_trace(7, 300), mixed_trace(8, 300));
    }

    #[test]
    fn times_ascend_and_frames_fit_ethernet() {
        let trace = mixed_trace(1, 5000);
        assert!(trace.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(trace.iter().all(|(_, frame)| (60..=1518).contains(&frame.len())));
    }

    #[test]
    fn the_mix_is_what_it_says() {
        let trace = mixed_trace(3, 20_000);
        let near = |is: fn(&[u8]) -> bool, expected: f64| {
            let found = share(&trace, is);
            assert!((found - expected).abs() < 0.1 * expected + 0.003, "{found} for {expected}");
        };
        near(|f| f[12..14] == [0x81, 0], 0.04);
        near(|f| f[12..14] == [8, 6], 0.015 * 0.96);
        near(|f| f[12..14] == [0x86, 0xdd], 0.115 * 0.96);
        near(|f| f[12..14] == [8, 0] && f[23] == 6, 0.96 * 0.87 * (0.02 + 0.98 * 0.78));
        near(|f| f[12..14] == [8, 0] && f[14] != 0x45, 0.01 * 0.96 * 0.87);
    }

    #[test]
    fn headers_of_ipv4_sum_to_nothing() {
        for (_, frame) in mixed_trace(5, 3000).iter().filter(|(_, f)| f[12..14] == [8, 0]) {
            let header = &frame[14..14 + usize::from(frame[14] & 15) * 4];
            let sum = add(header);
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        }
    }
}
