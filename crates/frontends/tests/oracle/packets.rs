//! Made-up packets: stacks of headers from a small vocabulary, so that filters over the same
//! vocabulary hit often, at every link type, whole and cut short at every length.

use super::Packet;
use super::random::Random;

pub const HOSTS: [u32; 6] = [0x0a00_0001, 0x0a00_0002, 0xc0a8_0101, 0xe000_0001, 0xffff_ffff, 0x0a01_0203];
pub const PORTS: [u16; 6] = [80, 443, 53, 6081, 22, 8080];
pub const MACS: [[u8; 6]; 4] = [[0, 1, 2, 3, 4, 5], [0xff; 6], [1, 0, 0x5e, 0, 0, 1], [0, 0x1b, 0x21, 0xaa, 0xbb, 0xcc]];

/// IPv6 addresses that share their first words, so that comparisons end at different ones.
pub fn hosts6() -> [u128; 5] {
    let base = 0x2001_0db8_0000_0001_0000_0000_0000_0001;
    [base, base + 1, base + (1 << 32), base + (1 << 64), 0xff02 << 112 | 1]
}

/// Link types that packets are made for.
pub const LINKS: [u32; 11] = [1, 101, 0, 108, 113, 276, 9, 50, 51, 228, 229];

struct Maker {
    random: Random,
    bytes: Vec<u8>,
}

/// `count` packets of a link type.
pub fn made(link: u32, count: usize, seed: u64) -> Vec<Packet> {
    let mut random = Random::new(seed ^ u64::from(link) << 32);
    (0..count).map(|_| one(link, random.next())).collect()
}

/// Each of `packets` at every length up to 100 bytes.
pub fn cut_everywhere(packets: &[Packet]) -> Vec<Packet> {
    packets.iter().flat_map(|p| (0..=p.bytes.len().min(100)).map(|len| p.cut(len))).collect()
}

fn one(link: u32, seed: u64) -> Packet {
    let mut maker = Maker { random: Random::new(seed), bytes: Vec::new() };
    if maker.random.one_in(40) {
        let len = maker.random.below(120);
        return Packet::whole(maker.random.bytes(len));
    }
    maker.link(link);
    let mut packet = Packet::whole(maker.bytes);
    if maker.random.one_in(6) {
        packet.wire_len += maker.random.below(2000) as u32;
    }
    if maker.random.one_in(5) {
        let len = maker.random.below(packet.bytes.len() + 1);
        packet = packet.cut(len);
    }
    packet
}

/// What a network header can be.
#[derive(Clone, Copy, PartialEq)]
enum Net {
    Ip,
    Ip6,
    Arp,
    Other(u16),
}

impl Maker {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    fn put32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    fn noise(&mut self, len: usize) {
        let bytes = self.random.bytes(len);
        self.put(&bytes);
    }

    fn net(&mut self) -> Net {
        match self.random.below(14) {
            0..=5 => Net::Ip,
            6..=9 => Net::Ip6,
            10 | 11 => Net::Arp,
            _ => {
                let kinds = [0x8035, 0x6003, 0x809b, 0x80f3, 0x8137, 0x88cc, 0x8863, 0x9000];
                Net::Other(*self.random.pick(&kinds))
            }
        }
    }

    fn link(&mut self, link: u32) {
        match link {
            1 => self.ethernet(0),
            9 | 50 => {
                self.put(&[0xff, 0x03]);
                self.ppp();
            }
            51 => {
                self.noise(6);
                self.ppp();
            }
            0 | 108 => self.loopback(link == 0),
            113 => self.cooked(),
            276 => self.cooked2(),
            105 | 119 | 127 | 163 | 192 => self.wlan(link),
            8 => {
                let way = *self.random.pick(&[0, 1, 7]);
                self.put(&[way]);
                // libpcap looks for the version in the first byte, and for the rest of IP behind
                // 16.
                self.noise(15);
                if self.random.one_in(2) {
                    let first = self.bytes.len() - 16;
                    self.bytes[first] = *self.random.pick(&[0x45, 0x60]);
                }
                let net = if self.random.one_in(2) { Net::Ip } else { Net::Ip6 };
                self.network(net, 0);
            }
            104 => {
                self.put(&[0x0f, 0]);
                match self.random.below(3) {
                    0 => {
                        let nlpid = *self.random.pick(&[0x81, 0x82, 0x83]);
                        self.put(&[0xfe, 0xfe, 3, nlpid, 27, 1, 0, 15]);
                        self.noise(20);
                    }
                    _ => {
                        let net = self.net();
                        self.put16(ethertype(net));
                        self.network(net, 0);
                    }
                }
            }
            107 => {
                let nlpid = *self.random.pick(&[0xcc, 0x8e, 0x81, 0x82, 0x83]);
                self.put(&[0x18, 0x41, 3, nlpid]);
                self.noise(60);
            }
            10 => {
                let (dst, src) = (*self.random.pick(&MACS), *self.random.pick(&MACS));
                self.noise(1);
                self.put(&dst);
                self.put(&src);
                self.snap_or_llc();
            }
            6 => {
                let (dst, src) = (*self.random.pick(&MACS), *self.random.pick(&MACS));
                self.noise(2);
                self.put(&dst);
                self.put(&src);
                self.snap_or_llc();
            }
            7 | 129 => self.arcnet(link),
            117 => self.pflog(),
            139 | 140 | 197 => self.ss7(link),
            228 => self.network(Net::Ip, 0),
            229 => self.network(Net::Ip6, 0),
            _ => {
                let net = if self.random.one_in(2) { Net::Ip } else { Net::Ip6 };
                self.network(net, 0);
            }
        }
    }

    fn arcnet(&mut self, link: u32) {
        let (src, dst) = (*self.random.pick(&[0u8, 1, 0xc0]), *self.random.pick(&[0u8, 1, 0xc0]));
        self.put(&[src, dst]);
        if link == 129 {
            self.noise(2);
        }
        let (code, net) = *self.random.pick(&[
            (0xd4u8, Net::Ip),
            (0xf0, Net::Ip),
            (0xc4, Net::Ip6),
            (0xd5, Net::Arp),
            (0xf1, Net::Arp),
            (0xd6, Net::Arp),
            (0xdd, Net::Other(0x809b)),
        ]);
        self.put(&[code, 0, 0, 1]);
        self.network(net, 0);
    }

    /// A header of OpenBSD's pf, then what it logged.
    fn pflog(&mut self) {
        let (length, family) = (*self.random.pick(&[61u8, 61, 61, 64, 48]), *self.random.pick(&[2u8, 2, 10, 24, 30]));
        let (action, reason) = (*self.random.pick(&[0u8, 1, 8]), *self.random.pick(&[0u8, 3, 14]));
        self.put(&[length, family, action, reason]);
        let (name, ruleset) = (*self.random.pick(&["em0", "em01", "vlan100", "bridge0"]), *self.random.pick(&["", "anchor", "a"]));
        for text in [name, ruleset] {
            self.put(text.as_bytes());
            self.bytes.extend(std::iter::repeat_n(0, 16 - text.len()));
        }
        let (rule, subrule) = (*self.random.pick(&[0u32, 7, u32::MAX]), *self.random.pick(&[1u32, u32::MAX]));
        self.put32(rule);
        self.put32(subrule);
        self.noise(16);
        let direction = *self.random.pick(&[0u8, 1, 2]);
        self.put(&[direction]);
        self.noise(usize::from(length + 3) / 4 * 4 - 61.min(usize::from(length + 3) / 4 * 4));
        self.network(if family == 2 { Net::Ip } else { Net::Ip6 }, 0);
    }

    fn ss7(&mut self, link: u32) {
        self.noise(match link {
            139 => 4,
            197 => 20,
            _ => 0,
        });
        self.noise(2);
        let length = *self.random.pick(&[0u8, 1, 2, 3, 63, 0x80]);
        let (service, codes) =
            (*self.random.pick(&[0u8, 0x83, 0x85]), *self.random.pick(&[[1u8, 0x80, 0, 0x90], [2, 0, 0x40, 0], [8, 0x80, 0x80, 0x10]]));
        self.put(&[length, service]);
        self.put(&codes);
        self.noise(3);
        self.put(&codes);
        self.noise(20);
    }

    /// A header of the radio, then an 802.11 frame.
    fn wlan(&mut self, link: u32) {
        let mut padded = false;
        match link {
            127 => padded = self.radiotap(),
            192 => {
                let dlt = *self.random.pick(&[105u8, 105, 105, 1]);
                self.put(&[0, 0, 12, 0, dlt, 0, 0, 0, 1, 2, 3, 4]);
            }
            163 => self.avs(),
            119 if self.random.one_in(2) => self.avs(),
            119 => {
                self.put32(0x44);
                self.noise(140);
            }
            _ => {}
        }
        let begin = self.bytes.len();
        let control = *self.random.pick(&[0x08u8, 0x08, 0x88, 0x88, 0x48, 0x80, 0x40, 0x00, 0xb0, 0xd4, 0xb4, 0xc4, 0xb8]);
        let direction = self.random.below(4) as u8;
        self.put(&[control, direction, 0, 0]);
        for _ in 0..3 {
            let address = *self.random.pick(&MACS);
            self.put(&address);
        }
        self.noise(2);
        if control & 0x8c == 0x88 {
            self.noise(2);
        }
        while padded && !(self.bytes.len() - begin).is_multiple_of(4) {
            self.noise(1);
        }
        self.snap_or_llc();
    }

    /// True if it says that frames are padded.
    fn radiotap(&mut self) -> bool {
        let present = *self.random.pick(&[0u32, 2, 3, 1, 0x8000_0002, 2, 3]);
        let flags = *self.random.pick(&[0u8, 0x20, 0x10, 0x30]);
        self.put(&[0, 0, 24, 0]);
        self.put(&present.to_le_bytes());
        let at = if present & 1 != 0 { 8 } else { 0 };
        self.noise(at);
        self.put(&[flags]);
        self.noise(15 - at);
        present & 0x8000_0002 == 2 && flags & 0x20 != 0
    }

    fn avs(&mut self) {
        self.put32(0x8021_1001);
        self.put32(64);
        self.noise(56);
    }

    /// What an 802.2 header stands before, mostly with a type behind it.
    fn snap_or_llc(&mut self) {
        if self.random.one_in(4) {
            return self.llc();
        }
        let net = self.net();
        self.put(&[0xaa, 0xaa, 3, 0, 0, 0]);
        self.put16(ethertype(net));
        self.network(net, 0);
    }

    fn ethernet(&mut self, depth: u32) {
        let (dst, src) = (*self.random.pick(&MACS), *self.random.pick(&MACS));
        self.put(&dst);
        self.put(&src);
        while self.random.one_in(4) {
            let kind = *self.random.pick(&[0x8100, 0x88a8, 0x9100]);
            self.put16(kind);
            let id = *self.random.pick(&[1u16, 100, 200, 0x2064]);
            self.put16(id);
        }
        match self.random.below(12) {
            0 => self.framed(),
            1 | 2 => self.mpls(0x8847),
            3 => {
                self.put16(0x8864);
                self.put(&[0x11, 0]);
                let session = *self.random.pick(&[0x27u16, 1, 0xffff]);
                self.put16(session);
                self.noise(2);
                self.ppp();
            }
            _ => {
                let net = self.net();
                self.put16(ethertype(net));
                self.network(net, depth);
            }
        }
    }

    /// An 802.3 frame: SNAP, LLC or bare IPX.
    fn framed(&mut self) {
        let len = *self.random.pick(&[46u16, 1500, 0, 1501]);
        self.put16(len);
        self.llc();
    }

    fn llc(&mut self) {
        match self.random.below(5) {
            0 => {
                let organisation = *self.random.pick(&[[8, 0, 7], [0, 0, 0]]);
                self.put(&[0xaa, 0xaa, 3]);
                self.put(&organisation);
                let kind = *self.random.pick(&[0x809b, 0x80f3, 0x8137, 0x0800]);
                self.put16(kind);
                self.noise(20);
            }
            1 => self.put(&[0xff, 0xff, 0, 30, 1, 2, 3]),
            2 => {
                let nlpid = *self.random.pick(&[0x81, 0x82, 0x83]);
                let kind = *self.random.pick(&[15, 16, 17, 18, 20, 24, 25, 26, 27]);
                self.put(&[0xfe, 0xfe, 3, nlpid, 0, 0, 0, kind]);
                self.noise(10);
            }
            _ => {
                let sap = *self.random.pick(&[0xe0, 0xf0, 0x42, 0x06, 0xfe]);
                let control = *self.random.pick(&[0x03, 0x01, 0x05, 0x09, 0x63, 0x43, 0x0f, 0x6f, 0xe3, 0xaf, 0x87, 0x00, 0x13]);
                self.put(&[sap, sap, control]);
                self.noise(10);
            }
        }
    }

    fn mpls(&mut self, kind: u16) {
        self.put16(kind);
        loop {
            let label = *self.random.pick(&[100_000u32, 1024, 16, 3]);
            let last = self.random.one_in(2);
            self.put32(label << 12 | u32::from(last) << 8 | 64);
            if last {
                break;
            }
        }
        let net = self.net();
        self.network(net, 1);
    }

    fn ppp(&mut self) {
        let kind = *self.random.pick(&[0x0021, 0x0057, 0x0021, 0x0057, 0x0281, 0xc021, 0x002b, 0x0800]);
        match kind {
            0x0021 => {
                self.put16(kind);
                self.network(Net::Ip, 1);
            }
            0x0057 => {
                self.put16(kind);
                self.network(Net::Ip6, 1);
            }
            0x0281 => self.mpls(kind),
            _ => {
                self.put16(kind);
                self.noise(20);
            }
        }
    }

    fn loopback(&mut self, host_order: bool) {
        let family = *self.random.pick(&[2u32, 24, 28, 30, 2, 10, 7]);
        let little = host_order && !self.random.one_in(4);
        self.put32(if little { family.swap_bytes() } else { family });
        self.network(if family == 2 { Net::Ip } else { Net::Ip6 }, 0);
    }

    fn cooked(&mut self) {
        let direction = *self.random.pick(&[0u16, 4, 1]);
        self.put16(direction);
        self.noise(12);
        match self.random.below(8) {
            0 => {
                self.put16(4);
                self.llc();
            }
            1 => {
                self.put16(1);
                self.put(&[0xff, 0xff, 0, 1]);
            }
            _ => {
                let net = self.net();
                self.put16(ethertype(net));
                self.network(net, 0);
            }
        }
    }

    fn cooked2(&mut self) {
        let net = self.net();
        self.put16(ethertype(net));
        self.put16(0);
        let index = *self.random.pick(&[1u32, 2, 7]);
        self.put32(index);
        self.put16(1);
        let direction = *self.random.pick(&[0u8, 4, 1]);
        self.put(&[direction, 6]);
        self.noise(8);
        self.network(net, 0);
    }

    fn network(&mut self, net: Net, depth: u32) {
        match net {
            Net::Ip => self.ip(depth),
            Net::Ip6 => self.ip6(depth),
            Net::Arp | Net::Other(0x8035) => self.arp(),
            Net::Other(0x6003) => self.decnet(),
            Net::Other(_) => self.noise(30),
        }
    }

    fn protocol(&mut self) -> u8 {
        *self.random.pick(&[6, 17, 6, 17, 17, 1, 2, 58, 132, 51, 50, 103, 112, 9, 44, 59])
    }

    fn ip(&mut self, depth: u32) {
        let words = *self.random.pick(&[5u8, 5, 5, 6, 8, 15, 4, 0]);
        let protocol = self.protocol();
        let version = if self.random.one_in(20) { 0x50 } else { 0x40 };
        self.put(&[version | words, 0]);
        let length = self.random.next() as u16;
        self.put16(length);
        let fragment = *self.random.pick(&[0u16, 0, 0, 0x4000, 0x2000, 0x2010, 0x0001]);
        self.put16(7);
        self.put16(fragment);
        self.put(&[64, protocol, 0, 0]);
        let (src, dst) = (*self.random.pick(&HOSTS), *self.random.pick(&HOSTS));
        self.put32(src);
        self.put32(dst);
        self.noise(usize::from(words.saturating_sub(5)) * 4);
        self.transport(protocol, depth);
    }

    fn ip6(&mut self, depth: u32) {
        let mut next = if self.random.one_in(3) { *self.random.pick(&[0, 43, 44, 60, 51]) } else { self.protocol() };
        self.put(&[0x60, 0, 0, 0, 0, 40, next, 64]);
        let (src, dst) = (*self.random.pick(&hosts6()), *self.random.pick(&hosts6()));
        self.put(&src.to_be_bytes());
        self.put(&dst.to_be_bytes());
        while matches!(next, 0 | 43 | 44 | 60 | 51) {
            let following = if self.random.one_in(3) { *self.random.pick(&[0, 43, 44, 60, 51]) } else { self.protocol() };
            let length = *self.random.pick(&[0u8, 0, 1, 3, 8]);
            self.put(&[following, length]);
            self.noise(6 + 8 * usize::from(length));
            if self.bytes.len() > 300 {
                break;
            }
            next = following;
        }
        self.transport(next, depth);
    }

    fn transport(&mut self, protocol: u8, depth: u32) {
        let (src, dst) = (*self.random.pick(&PORTS), *self.random.pick(&PORTS));
        match protocol {
            6 | 132 => {
                self.put16(src);
                self.put16(dst);
                self.noise(8);
                let flags = *self.random.pick(&[0x02, 0x12, 0x10, 0x11, 0x18, 0x04, 0x14]);
                self.put(&[0x50, flags]);
                let len = self.random.below(30);
                self.noise(6 + len);
            }
            17 => {
                self.put16(src);
                self.put16(dst);
                self.noise(4);
                if dst == 6081 && depth < 3 { self.geneve(depth) } else { self.noise(12) }
            }
            51 => {
                let next = self.protocol();
                let length = *self.random.pick(&[1u8, 3, 4]);
                self.put(&[next, length]);
                self.noise(4 * usize::from(length) + 6);
                self.transport(next & 0x3f, depth + 1);
            }
            1 | 58 => {
                let kind = *self.random.pick(&[0u8, 3, 8, 128, 129, 135]);
                self.put(&[kind, 0]);
                self.noise(20);
            }
            _ => self.noise(24),
        }
    }

    fn geneve(&mut self, depth: u32) {
        let options = *self.random.pick(&[0u8, 1, 4]);
        let version = if self.random.one_in(8) { 0x40 } else { 0 };
        self.put(&[version | options, 0]);
        let net = self.net();
        let ethernet = self.random.one_in(2);
        self.put16(if ethernet { 0x6558 } else { ethertype(net) });
        let vni = *self.random.pick(&[0xbu32, 1, 0xff_ffff]);
        self.put32(vni << 8);
        self.noise(usize::from(options) * 4);
        if ethernet { self.ethernet(depth + 1) } else { self.network(net, depth + 1) }
    }

    fn arp(&mut self) {
        self.put(&[0, 1, 8, 0, 6, 4, 0, 1]);
        let (src, dst) = (*self.random.pick(&MACS), *self.random.pick(&MACS));
        let (from, to) = (*self.random.pick(&HOSTS), *self.random.pick(&HOSTS));
        self.put(&src);
        self.put32(from);
        self.put(&dst);
        self.put32(to);
    }

    fn decnet(&mut self) {
        let (padded, long) = (self.random.one_in(2), self.random.one_in(2));
        self.noise(2);
        if padded {
            self.put(&[0x81]);
        }
        self.put(&[if long { 0x06 } else { 0x02 }]);
        let addr = (10u16 << 10 | 123).swap_bytes();
        for _ in 0..12 {
            self.put16(addr);
        }
    }
}

fn ethertype(net: Net) -> u16 {
    match net {
        Net::Ip => 0x0800,
        Net::Ip6 => 0x86dd,
        Net::Arp => 0x0806,
        Net::Other(kind) => kind,
    }
}
