//! Every form of a set's test, on sets at both ends of what their width holds: the JIT must give
//! what the interpreter gives for each number next to an end of a range, and for those at which a
//! difference wraps around.

use compiler::passes::{ALL, Options as Passes};
use compiler::sets::MembershipTest;
use netil::Engine;
use netil::asm::assemble;
use netil::exec::{Packets, Selection, State};
use netil::set::Set;
use netil::{Interpreter, verify};
use netvm_jit::JitEngine;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

const WIDTHS: [u16; 7] = [24, 31, 32, 33, 40, 63, 64];

fn most(width: u16) -> u64 {
    u64::MAX >> (64 - width)
}

/// Numbers without pattern, far from each other.
fn scattered(n: u64, width: u16) -> Vec<(u64, u64)> {
    (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width)).map(|v| (v, v)).collect()
}

/// Ranges for each form, at the low end, at the high end, and across.
fn sets(width: u16) -> Vec<Vec<(u64, u64)>> {
    let most = most(width);
    let dense: Vec<_> = (0..300).map(|i| (i * 100, i * 100 + 3)).collect();
    let upside = |ranges: &[(u64, u64)]| ranges.iter().map(|(low, high)| (most - high, most - low)).collect::<Vec<_>>();
    let low = [vec![(0, 0)], vec![(5, most)], vec![(0, 7), (9, 9), (most / 2, most - 9)], vec![(1, 1), (5, 9), (60, 63)], dense];
    let high: Vec<_> = low.iter().map(|ranges| upside(ranges)).collect();
    let nets = (1..200).map(|i| (i * (most / 200), i * (most / 200) + most / 900)).collect();
    let shifted = vec![(2, 4), (7, 7), (31, 31), (65, 65)];
    low.into_iter().chain(high).chain([scattered(50, width), scattered(1000, width), nets, shifted]).collect()
}

/// Numbers next to the ends of ranges, and where what lies between them and the set wraps around.
fn probes(ranges: &[(u64, u64)], width: u16) -> Vec<u64> {
    let near = |v: u64| [0, 1, 2, 63, 64, 65, 1 << 16].into_iter().flat_map(move |by| [v.wrapping_sub(by), v.wrapping_add(by)]);
    let ends = ranges.iter().step_by(1 + ranges.len() / 100).chain(ranges.last()).flat_map(|(low, high)| [*low, *high]);
    let all: BTreeSet<u64> = ends.chain([0, most(width) / 2]).flat_map(near).map(|v| v & most(width)).collect();
    all.into_iter().collect()
}

fn text(ranges: &[(u64, u64)], width: u16, end: &str) -> String {
    let mut members = String::new();
    ranges.iter().for_each(|(low, high)| write!(members, "{}{low:#x}-{high:#x}", if members.is_empty() { "" } else { ",\n" }).unwrap());
    let cut = if width == 64 { String::new() } else { format!("w.trunc 64, {width}") };
    format!(
        "segment .sets\n.set s, {width}\n{members}\nends\nsegment .push .maxstacksize 4 pop push 0 w.pload 64 {cut} set.has s {end} ends"
    )
}

/// What becomes of a test: a verdict, or a branch to what is no verdict yet.
const ENDS: [&str; 2] = ["ret", "j.ne yes push 0 ret yes: pbl ret"];

fn select(engine: &mut dyn Engine, probes: &[u64]) -> Selection {
    let bytes: Vec<[u8; 8]> = probes.iter().map(|v| v.to_be_bytes()).collect();
    let frames: Vec<&[u8]> = bytes.iter().map(|b| &b[..]).collect();
    let (mut state, mut out) = (State::plain(&Arc::clone(engine.program())).unwrap(), Selection::default());
    engine.select(&Packets { frames: &frames, wire_len: &[], time_ns: &[] }, &mut state, &mut out);
    out
}

/// The form's name, after both engines gave the same for each probe.
fn agrees(ranges: &[(u64, u64)], width: u16, end: &str) -> &'static str {
    let set = Set::of_ranges("s", width, ranges.iter().copied()).unwrap();
    let program = Arc::new(verify(assemble(&text(ranges, width, end), "test").unwrap()).unwrap_or_else(|e| panic!("{}", e[0])));
    assert!(program.is_filter());
    let probes = probes(ranges, width);
    let wanted = select(&mut Interpreter::new(Arc::clone(&program)), &probes);
    let none = Passes { disabled: ALL.iter().map(|p| p.name.to_owned()).collect(), ..Passes::default() };
    for passes in [Passes::default(), none] {
        let got = select(&mut JitEngine::with_options(Arc::clone(&program), &passes).unwrap(), &probes);
        assert_eq!(wanted, got, "{:?} of width {width}", MembershipTest::choose(&set).unwrap().describe());
    }
    match MembershipTest::choose(&set).unwrap() {
        MembershipTest::Compare(_) => "compare",
        MembershipTest::Bits { .. } => "bits",
        MembershipTest::Bitmap { .. } => "bitmap",
        MembershipTest::Hash(hash) if hash.displace.is_empty() => "hash",
        MembershipTest::Hash(_) => "displaced hash",
        MembershipTest::Search(_) => "search",
    }
}

#[test]
fn every_form_at_both_ends_of_the_width() {
    for width in WIDTHS {
        let forms: BTreeSet<&str> = sets(width).iter().flat_map(|ranges| ENDS.map(|end| agrees(ranges, width, end))).collect();
        let wanted = ["bitmap", "bits", "compare", "displaced hash", "hash", "search"];
        assert!(forms.iter().eq(&wanted), "{width}: {forms:?}");
    }
}
