//! A socket's share of an interface's frames, as a classic BPF program: those of the flows that one
//! of several replicas has.
//!
//! Each replica has a socket of its own with such a program, and each frame is accepted by one of
//! them: the one that [`flow::replica`] says. No order of sockets matters, as it does for
//! PACKET_FANOUT, so a replica finds its flows again after an interface was away. The price is that
//! the kernel runs one program for each replica and frame.
//!
//! Where flows go by ports, all replicas receive fragments: which one has them is decided where
//! they are taken, by who remembers the first one ([`flow::Sorter`]).
//!
//! The VLAN tag that the kernel took off does not count, as those in frames do not.
//!
//! Source: Linux, Documentation/networking/filter.rst; the flow is defined in `io::flow`.

use crate::io::{LinkType, flow};
use libc::sock_filter;
use netil::app::Toward;

/// Which frames of an interface are received: those of one replica of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub index: u32,
    /// How many there are, 2^16 at most.
    pub replicas: u32,
    /// The end of packets whose port says which replica has them; none: their addresses do.
    pub toward: Option<Toward>,
}

const LDX_IMM: u16 = 0x01;
const LD_LEN: u16 = 0x80;
const LD_H_ABS: u16 = 0x28;
const LD_B_IND: u16 = 0x50;
const LD_H_IND: u16 = 0x48;
const LD_W_IND: u16 = 0x40;
const LD_MEM: u16 = 0x60;
const LDX_MEM: u16 = 0x61;
const ST: u16 = 0x02;
const STX: u16 = 0x03;
const LD_IMM: u16 = 0x00;
const ADD_X: u16 = 0x0c;
const SUB_X: u16 = 0x1c;
const ADD: u16 = 0x04;
const MUL: u16 = 0x24;
const AND: u16 = 0x54;
const LSH: u16 = 0x64;
const RSH: u16 = 0x74;
const TAX: u16 = 0x07;
const JA: u16 = 0x05;
const JEQ: u16 = 0x15;
const JGE: u16 = 0x35;
const JSET: u16 = 0x45;
const RET: u16 = 0x06;

/// Where jumps lead. Each is set once, behind all jumps that lead there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Next,
    Type,
    Ip,
    Port,
    Inner,
    Query,
    Error,
    Fragment,
    Found,
    Plain,
    Outer4,
    Outer6,
    Quoted4,
    Sum4,
    Sum6,
    Whole,
    Nowhere,
    Decide,
    Accept,
    Refuse,
}

enum Line {
    Do(u16, u32),
    Jump(u16, u32, To, To),
    Label(To),
}

use Line::{Do, Jump, Label};

/// Where the IP header begins that the flow is found in.
const HEADER: u32 = 0;
/// The sum so far.
const SUM: u32 = 1;

/// The program for frames that begin with such headers.
pub(super) fn program(link: LinkType, part: Part) -> Vec<sock_filter> {
    let mut lines = match link {
        LinkType::EN10MB => ethernet(),
        LinkType::RAW => vec![Do(LDX_IMM, 0), Jump(JA, 0, To::Ip, To::Ip)],
        _ => vec![Jump(JA, 0, To::Nowhere, To::Nowhere)],
    };
    lines.extend(ip(part.toward.map_or(To::Outer4, |_| To::Port)));
    lines.extend(part.toward.map_or_else(Vec::new, ports));
    lines.extend(quoted(To::Outer4, To::Sum4));
    lines.extend(quoted(To::Outer6, To::Sum6));
    lines.extend(sums());
    lines.extend(decide(part));
    assembled(&lines)
}

/// X is where the header behind Ethernet and at most two tags begins, of a frame that says that it
/// is IP.
fn ethernet() -> Vec<Line> {
    let mut lines = Vec::new();
    for tags in 0..3 {
        lines.extend([
            Do(LD_LEN, 0),
            Jump(JGE, 14 + 4 * tags, To::Next, To::Nowhere),
            Do(LDX_IMM, 14 + 4 * tags),
            Do(LD_H_ABS, 12 + 4 * tags),
        ]);
        if tags < 2 {
            // A third tag is no IP.
            lines.extend([Jump(JEQ, 0x8100, To::Whole, To::Next), Jump(JEQ, 0x88a8, To::Whole, To::Type), Label(To::Whole)]);
        }
    }
    lines.extend([Label(To::Type), Jump(JEQ, 0x0800, To::Ip, To::Next), Jump(JEQ, 0x86dd, To::Ip, To::Nowhere)]);
    lines
}

/// Loads how many bytes there are from X on.
fn rest() -> Vec<Line> {
    vec![Do(LD_LEN, 0), Do(SUB_X, 0)]
}

/// Which version the header at X has; where the header begins is kept.
fn ip(version4: To) -> Vec<Line> {
    let mut lines = vec![Label(To::Ip), Do(STX, HEADER)];
    lines.extend(rest());
    lines.extend([
        Jump(JGE, 1, To::Next, To::Nowhere),
        Do(LD_B_IND, 0),
        Do(RSH, 4),
        Jump(JEQ, 4, version4, To::Next),
        Jump(JEQ, 6, To::Outer6, To::Nowhere),
    ]);
    lines.extend(nowhere());
    lines.push(Jump(JA, 0, To::Decide, To::Decide));
    lines
}

/// The replica of the port of one end of the IPv4 packet at X; packets without one go on to where
/// addresses count.
fn ports(toward: Toward) -> Vec<Line> {
    let mut lines = vec![Label(To::Port)];
    lines.extend(rest());
    lines.extend([
        Jump(JGE, 20, To::Next, To::Plain),
        Do(LD_H_IND, 6),
        Jump(JSET, 0x3fff, To::Fragment, To::Next),
        Do(LD_B_IND, 9),
        Jump(JEQ, 1, To::Next, To::Port),
    ]);
    lines.extend(transport(8));
    lines.push(Do(LD_B_IND, 0));
    lines.extend(flow::QUERIES.map(|kind| Jump(JEQ, kind.into(), To::Query, To::Next)));
    lines.extend([
        Jump(JGE, 13, To::Plain, To::Next),
        Jump(JGE, 11, To::Error, To::Next),
        Jump(JGE, 6, To::Plain, To::Next),
        Jump(JGE, 3, To::Error, To::Plain),
        Label(To::Error),
    ]);
    lines.extend(quoted_port(flow::other(toward)));
    lines.push(Label(To::Port));
    lines.extend(port(toward));
    lines.extend([Label(To::Fragment), Do(RET, u32::MAX), Label(To::Query), Do(LD_H_IND, 4), Label(To::Found), Do(ST, SUM)]);
    lines.extend([Jump(JA, 0, To::Decide, To::Decide), Label(To::Plain), Do(LDX_MEM, HEADER)]);
    lines
}

/// The port of one end of the packet that the ICMP error at X quotes.
fn quoted_port(toward: Toward) -> Vec<Line> {
    let mut lines = rest();
    lines.extend([
        Jump(JGE, 28, To::Next, To::Plain),
        Do(LD_B_IND, 8),
        Do(RSH, 4),
        Jump(JEQ, 4, To::Next, To::Plain),
        Do(LD_H_IND, 14),
        Jump(JSET, 0x1fff, To::Plain, To::Next),
        Do(LD_IMM, 8),
        Do(ADD_X, 0),
        Do(TAX, 0),
        Do(LD_B_IND, 9),
        Jump(JEQ, 1, To::Next, To::Inner),
    ]);
    lines.extend(transport(8));
    lines.push(Do(LD_B_IND, 0));
    lines.extend(flow::QUERIES.map(|kind| Jump(JEQ, kind.into(), To::Query, To::Next)));
    lines.extend([Jump(JA, 0, To::Plain, To::Plain), Label(To::Inner)]);
    lines.extend(port(toward));
    lines
}

/// A becomes the port of one end of the packet at X, whose protocol A is, if it has ports.
fn port(toward: Toward) -> Vec<Line> {
    let at = if toward == Toward::Source { 0 } else { 2 };
    let mut lines: Vec<Line> = flow::WITH_PORTS.map(|protocol| Jump(JEQ, protocol.into(), To::Whole, To::Next)).into();
    lines.extend([Jump(JA, 0, To::Plain, To::Plain), Label(To::Whole)]);
    lines.extend(transport(4));
    lines.extend([Do(LD_H_IND, at), Jump(JA, 0, To::Found, To::Found)]);
    lines
}

/// X becomes where the header behind the IPv4 header at X begins, if so many bytes of it are there.
fn transport(bytes: u32) -> Vec<Line> {
    let mut lines = vec![Do(LD_B_IND, 0), Do(AND, 15), Do(LSH, 2), Do(ADD_X, 0), Do(TAX, 0)];
    lines.extend(rest());
    // A frame that ends before X gives a number far above that of any length.
    lines.extend([Jump(JGE, 1 << 31, To::Plain, To::Next), Jump(JGE, bytes, To::Next, To::Plain)]);
    lines
}

/// A frame without a flow. Conditional jumps reach 255 instructions, so this stands twice.
fn nowhere() -> [Line; 3] {
    [Label(To::Nowhere), Do(LD_IMM, 0), Do(ST, SUM)]
}

/// Of an ICMP error X becomes where the quoted header begins; if that is not whole, or for other
/// packets, X stays.
fn quoted(outer: To, sum: To) -> Vec<Line> {
    let version4 = outer == To::Outer4;
    let mut lines = vec![Label(outer)];
    lines.extend(rest());
    if version4 {
        lines.extend([
            Jump(JGE, 20, To::Next, To::Nowhere),
            Do(LD_B_IND, 9),
            Jump(JEQ, 1, To::Next, sum),
            Do(LD_H_IND, 6),
            Jump(JSET, 0x1fff, sum, To::Next),
            Do(LD_B_IND, 0),
            Do(AND, 15),
            Do(LSH, 2),
            Do(ADD_X, 0),
            Do(TAX, 0),
        ]);
    } else {
        lines.extend([
            Jump(JGE, 40, To::Next, To::Nowhere),
            Do(LD_B_IND, 6),
            Jump(JEQ, 58, To::Next, sum),
            Do(LD_MEM, HEADER),
            Do(ADD, 40),
            Do(TAX, 0),
        ]);
    }
    // X is the ICMP header now. A frame that ends before it gives a number far above that of any
    // length.
    lines.extend(rest());
    lines.extend([Jump(JGE, 1 << 31, sum, To::Next), Jump(JGE, 9, To::Next, sum), Do(LD_B_IND, 0)]);
    match version4 {
        true => lines.extend([
            Jump(JEQ, 11, To::Quoted4, To::Next),
            Jump(JEQ, 12, To::Quoted4, To::Next),
            Jump(JGE, 6, sum, To::Next),
            Jump(JGE, 3, To::Quoted4, sum),
            Label(To::Quoted4),
        ]),
        false => lines.extend([Jump(JGE, 5, sum, To::Next), Jump(JGE, 1, To::Next, sum)]),
    }
    lines.extend([Do(LD_B_IND, 8), Do(RSH, 4)]);
    lines.extend(inner(sum));
    lines
}

/// A is the version of the header 8 bytes behind X: if it is whole, its addresses are summed, and
/// otherwise those of the outer one.
fn inner(sum: To) -> Vec<Line> {
    let mut lines = Vec::new();
    for (version, len, words) in [(4, 20, [12, 16].as_slice()), (6, 40, &[8, 12, 16, 20, 24, 28, 32, 36])] {
        let mut block = rest();
        block.push(Jump(JGE, len + 8, To::Next, sum));
        block.extend(added(&words.iter().map(|at| at + 8).collect::<Vec<u32>>()));
        block.push(Jump(JA, 0, To::Decide, To::Decide));
        match version {
            4 => {
                lines.push(Jump(JEQ, 6, To::Whole, To::Next));
                lines.push(Jump(JEQ, 4, To::Next, sum));
                lines.extend(block);
            }
            _ => {
                lines.push(Label(To::Whole));
                lines.extend(block);
            }
        }
    }
    lines
}

/// A becomes the sum of the words at these places behind X.
fn added(words: &[u32]) -> Vec<Line> {
    // X is needed for loads, so the sum waits in memory, and X with it.
    let mut lines = vec![Do(LD_IMM, 0), Do(ST, SUM), Do(STX, 2)];
    for at in words {
        lines.extend([Do(LD_W_IND, *at), Do(LDX_MEM, SUM), Do(ADD_X, 0), Do(ST, SUM), Do(LDX_MEM, 2)]);
    }
    lines
}

/// The sums of the outer header's addresses.
fn sums() -> Vec<Line> {
    let mut lines = vec![Label(To::Sum4), Do(LDX_MEM, HEADER)];
    lines.extend(added(&[12, 16]));
    lines.extend([Jump(JA, 0, To::Decide, To::Decide), Label(To::Sum6), Do(LDX_MEM, HEADER)]);
    lines.extend(added(&[8, 12, 16, 20, 24, 28, 32, 36]));
    lines.push(Jump(JA, 0, To::Decide, To::Decide));
    lines.extend(nowhere());
    lines
}

/// Accepts the frame if the sum leads to this replica.
fn decide(part: Part) -> Vec<Line> {
    vec![
        Label(To::Decide),
        Do(LD_MEM, SUM),
        Do(MUL, flow::SPREAD),
        Do(RSH, 16),
        Do(MUL, part.replicas),
        Do(RSH, 16),
        Jump(JEQ, part.index, To::Accept, To::Refuse),
        Label(To::Accept),
        Do(RET, u32::MAX),
        Label(To::Refuse),
        Do(RET, 0),
    ]
}

/// Instructions with their distances: a jump leads to the next place behind it that has its name.
fn assembled(lines: &[Line]) -> Vec<sock_filter> {
    let place = |from: usize, to: To| {
        let behind = &lines[from + 1..];
        let end = behind.iter().position(|line| matches!(line, Label(label) if *label == to)).unwrap_or(0);
        let end = if to == To::Next { 0 } else { end };
        behind[..end].iter().filter(|line| !matches!(line, Label(_))).count() as u32
    };
    let near = |from: usize, to: To| {
        let distance = place(from, to);
        debug_assert!(distance < 256, "{to:?}");
        distance as u8
    };
    let line = |(at, line): (usize, &Line)| match line {
        Label(_) => None,
        Do(code, k) => Some(sock_filter { code: *code, jt: 0, jf: 0, k: *k }),
        Jump(JA, _, to, _) => Some(sock_filter { code: JA, jt: 0, jf: 0, k: place(at, *to) }),
        Jump(code, k, jt, jf) => Some(sock_filter { code: *code, jt: near(at, *jt), jf: near(at, *jf), k: *k }),
    };
    lines.iter().enumerate().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel's interpreter does with these instructions; a load behind the end refuses
    /// the frame.
    fn accepts(program: &[sock_filter], frame: &[u8]) -> bool {
        let (mut a, mut x, mut memory, mut at) = (0_u32, 0_u32, [0_u32; 16], 0);
        let load = |at: u32, bytes: usize| {
            let at = at as usize;
            frame.get(at..at + bytes).map(|part| part.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
        };
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let jump = |holds: bool| usize::from(if holds { jt } else { jf });
            at += 1;
            let loaded = match code {
                LD_H_ABS => load(k, 2),
                LD_B_IND => load(x + k, 1),
                LD_H_IND => load(x + k, 2),
                LD_W_IND => load(x + k, 4),
                _ => Some(a),
            };
            let Some(loaded) = loaded else { return false };
            a = loaded;
            match code {
                LD_LEN => a = frame.len() as u32,
                LD_IMM => a = k,
                LDX_IMM => x = k,
                LD_MEM => a = memory[k as usize],
                LDX_MEM => x = memory[k as usize],
                ST => memory[k as usize] = a,
                STX => memory[k as usize] = x,
                ADD_X => a = a.wrapping_add(x),
                SUB_X => a = a.wrapping_sub(x),
                ADD => a = a.wrapping_add(k),
                MUL => a = a.wrapping_mul(k),
                AND => a &= k,
                LSH => a <<= k,
                RSH => a >>= k,
                TAX => x = a,
                JA => at += k as usize,
                JEQ => at += jump(a == k),
                JGE => at += jump(a >= k),
                JSET => at += jump(a & k != 0),
                RET => return k != 0,
                LD_H_ABS | LD_B_IND | LD_H_IND | LD_W_IND => {}
                _ => panic!("no such instruction: {code:#x}"),
            }
        }
    }

    struct Random(u64);

    impl Random {
        fn next(&mut self, below: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % below
        }
    }

    /// A packet with a header of that version, perhaps an ICMP error that quotes another, perhaps
    /// cut.
    fn packet(random: &mut Random, deep: u32) -> Vec<u8> {
        let version = [4, 4, 6, 6, 5][random.next(5)];
        let mut ip: Vec<u8> = (0..if version == 4 { 20 } else { 40 }).map(|_| random.next(256) as u8).collect();
        ip[0] = version << 4 | if version == 4 { [5, 5, 6, 2][random.next(4)] } else { 0 };
        let error = deep > 0 && random.next(3) > 0;
        if version == 4 {
            ip[9] = if error { 1 } else { [0, 1, 2, 6, 17][random.next(5)] };
            (ip[6], ip[7]) = ([0, 0, 0, 0x40, 1, 0x20, 0x20][random.next(7)], 0);
            ip.resize(usize::from(ip[0] & 15).max(5) * 4, 0);
        } else if error {
            ip[6] = 58;
        }
        let icmp = [random.next(16) as u8, 0, 0, 0, 0, 0, 0, 0];
        let payload = random.next(16);
        ip.extend(if error {
            [&icmp[..], &packet(random, deep - 1)].concat()
        } else {
            (0..payload).map(|_| random.next(16) as u8).collect()
        });
        if random.next(4) == 0 {
            ip.truncate(random.next(ip.len()));
        }
        ip
    }

    fn frame(random: &mut Random) -> Vec<u8> {
        let mut frame = vec![7; 12];
        for _ in 0..random.next(5) {
            frame.extend([[0x81, 0x00], [0x88, 0xa8]][random.next(2)]);
            frame.extend([1, 2]);
        }
        frame.extend([[0x08, 0x00], [0x08, 0x00], [0x86, 0xdd], [0x08, 0x06]][random.next(4)]);
        frame.extend(packet(random, 2));
        if random.next(8) == 0 {
            frame.truncate(random.next(frame.len()));
        }
        frame
    }

    #[test]
    fn each_frame_is_accepted_by_the_replica_that_has_its_flow() {
        let mut random = Random(1);
        let ends = [None, Some(Toward::Source), Some(Toward::Destination)];
        for (replicas, toward) in [1, 2, 3, 16].into_iter().flat_map(|replicas| ends.map(|toward| (replicas, toward))) {
            let programs = |link| (0..replicas).map(|index| program(link, Part { index, replicas, toward })).collect::<Vec<_>>();
            let (ethernet, raw, other) = (programs(LinkType::EN10MB), programs(LinkType::RAW), programs(LinkType::NULL));
            let (mut counts, mut fragments) = (vec![0; replicas as usize], 0);
            for _ in 0..20_000 {
                let frame = frame(&mut random);
                let packet = frame.get(14..).unwrap_or_default();
                for (link, programs, bytes) in
                    [(LinkType::EN10MB, &ethernet, &frame[..]), (LinkType::RAW, &raw, packet), (LinkType::NULL, &other, packet)]
                {
                    let mut sorter = flow::Sorter::new(toward);
                    let wanted = sorter.replica(link, bytes, replicas as usize);
                    let found: Vec<usize> = (0..programs.len()).filter(|n| accepts(&programs[*n], bytes)).collect();
                    let all = sorter.remembers(link, bytes);
                    assert!(
                        if all { found.len() == programs.len() } else { found == [wanted] },
                        "{link} {toward:?} {bytes:02x?}: {found:?}"
                    );
                    fragments += usize::from(all);
                    counts[wanted] += 1;
                }
            }
            assert!(counts.iter().all(|count| *count > 60_000 / 20 / replicas), "{counts:?}");
            assert_eq!(fragments > 1000, toward.is_some());
        }
    }

    #[test]
    fn the_kernel_takes_the_programs() {
        let ends = [None, Some(Toward::Source), Some(Toward::Destination)];
        for (link, toward) in
            [LinkType::EN10MB, LinkType::RAW, LinkType::NULL].into_iter().flat_map(|link| ends.map(|toward| (link, toward)))
        {
            let program = program(link, Part { index: 3, replicas: 16, toward });
            // What the kernel checks: no jump leads behind the end, and the last instruction
            // returns.
            assert!(program.len() < 4096 && program.last().is_some_and(|last| last.code == RET));
            for (at, line) in program.iter().enumerate() {
                let jumps = matches!(line.code, JEQ | JGE | JSET);
                let most = usize::from(if jumps { line.jt.max(line.jf) } else { 0 }) + if line.code == JA { line.k as usize } else { 0 };
                assert!(at + 1 + most < program.len() || line.code == RET, "{at}");
            }
        }
    }
}
