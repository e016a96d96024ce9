//! A machine for eBPF that counts what it executes: arithmetic, jumps, and loads from the packet
//! and the context of XDP. Anything else panics, so that no program is counted wrongly.

/// Where the context and the packet are.
const CONTEXT: u64 = 0x1000;
const PACKET: u64 = 0x10000;

/// The instructions of an object's section.
pub fn section(object: &[u8], name: &str) -> Vec<[u8; 8]> {
    let number = |at: usize, len: usize| object[at..at + len].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
    let (headers, count, names) = (number(0x28, 8), number(0x3c, 2), number(0x3e, 2));
    let header = |n: usize| headers + n * 0x40;
    let strings = number(header(names) + 0x18, 8);
    let is_it = |n: &usize| object[strings + number(header(*n), 4)..].starts_with(&[name.as_bytes(), &[0]].concat());
    let at = (0..count).find(is_it).map(header).unwrap();
    let (from, size) = (number(at + 0x18, 8), number(at + 0x20, 8));
    object[from..from + size].as_chunks::<8>().0.to_vec()
}

/// What a program returns for a packet, and the instructions that were executed.
pub fn run(insts: &[[u8; 8]], packet: &[u8]) -> (u64, u64) {
    let (mut r, mut at, mut count) = ([0_u64; 11], 0, 0);
    r[1] = CONTEXT;
    loop {
        let [op, registers, low, high, imm @ ..] = insts[at];
        let (dst, src) = (usize::from(registers & 15), usize::from(registers >> 4));
        let (offset, imm) = (i64::from(i16::from_le_bytes([low, high])), i64::from(i32::from_le_bytes(imm)));
        let other = if op & 8 == 0 { imm as u64 } else { r[src] };
        (at, count) = (at + 1, count + 1);
        match op & 7 {
            0 if op == 0x18 && src == 0 => {
                let [_, _, _, _, upper @ ..] = insts[at];
                r[dst] = u64::from(imm as u32) | u64::from(u32::from_le_bytes(upper)) << 32;
                at += 1;
            }
            1 if op & 0xe0 == 0x60 => r[dst] = load(r[src].wrapping_add_signed(offset), op, packet),
            4 | 7 if op >> 4 == 13 => r[dst] = swapped(r[dst], op, imm),
            4 => r[dst] = u64::from(arithmetic(op, (r[dst] as u32).into(), (other as u32).into(), 31) as u32),
            7 => r[dst] = arithmetic(op, r[dst], other, 63),
            5 if op == 0x95 => return (r[0], count),
            5 if taken(op, r[dst], other) => at = at.strict_add_signed(offset as isize),
            6 if taken(op, (r[dst] as u32).into(), (other as u32).into()) => at = at.strict_add_signed(offset as isize),
            5 | 6 => {}
            _ => panic!("instruction {op:#x} at {}", at - 1),
        }
    }
}

fn load(address: u64, op: u8, packet: &[u8]) -> u64 {
    let len = [4, 2, 1, 8][usize::from(op >> 3 & 3)];
    match address {
        CONTEXT => PACKET,
        _ if address == CONTEXT + 4 => PACKET + packet.len() as u64,
        _ => {
            let from = (address - PACKET) as usize;
            packet[from..from + len].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
        }
    }
}

/// Of the order of the network; to that of this machine nothing is done.
fn swapped(value: u64, op: u8, bits: i64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    if op & 8 == 0 { value & mask } else { value.swap_bytes() >> (64 - bits) }
}

fn arithmetic(op: u8, a: u64, b: u64, bits: u64) -> u64 {
    match op >> 4 {
        0 => a.wrapping_add(b),
        1 => a.wrapping_sub(b),
        2 => a.wrapping_mul(b),
        4 => a | b,
        5 => a & b,
        6 => a << (b & bits),
        7 => a >> (b & bits),
        8 => a.wrapping_neg(),
        10 => a ^ b,
        11 => b,
        _ => panic!("arithmetic {op:#x}"),
    }
}

fn taken(op: u8, a: u64, b: u64) -> bool {
    match op >> 4 {
        0 => true,
        1 => a == b,
        2 => a > b,
        3 => a >= b,
        4 => a & b != 0,
        5 => a != b,
        10 => a < b,
        11 => a <= b,
        _ => panic!("jump {op:#x}"),
    }
}
