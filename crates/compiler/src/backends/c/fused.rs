//! C for elements that run as one: their handlers as functions called from one place, each handler's sends jumps to the next element's.
//!
//! A packet goes all the way before the next one starts, as in the reference schedule; the compiler sees header tests, offsets and
//! annotations of neighbouring elements together. A handler has two forms (`member`): packets that have just arrived go through the quick ones; what
//! is rare or large (coprocessors, packets made anew, insertions into tables) is done by the runtime, in a call of the general form that gives it
//! the packet as it is. What ends at a port that no linked element is behind goes into an exit's list or is handed over at once.
//!
//! Invariants: each form of an element's code stands once, called from one place; copies go before their packet (`copies`); where the runtime made them it leaves at once;
//! data memories, tables and the rest are each element's own.
//! Source: NetVM paper, section 5.2 (NetPE inlining and direct linking). Leaves out: values of more than 128 bits, pull handlers.

use super::copies::Copies;
use super::counts::behind;
use super::kept::{self, Kept};
use super::kin::Kin;
use super::lists::Lists;
use super::ways::{Ways, by_exit, sets_timers};
use super::{Unsupported, lookups, member, slice, tables, with_sets};
use crate::mir::{Call, Func, Op};
use netil::Verified;
use netil::cluster::Way;
use netil::exec::DropReason;
use netil::pool;
use netil::table::Space;
use std::cmp::Reverse;
use std::fmt::Write as _;

pub use super::counts::{Count, Counts};
pub use super::slice::{LARGE, fetched};

/// The function that takes a burst.
pub const FUNCTION: &str = "netvm_linked";

/// An element to be linked.
pub struct Member<'a> {
    /// Its program.
    pub program: &'a Verified,
    /// Its push handler.
    pub func: Func,
    /// Where each output port leads, by the port's id.
    pub links: Vec<(u32, Way)>,
}

/// From which sizes on things are done in another way, and what is done at all. Tests have others, which must change no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of tables: what lookups read of them is fetched ahead. With 0 always.
    pub large: usize,
    /// Operations of members: those that are more are functions of their own, the largest of them.
    pub together: usize,
    /// Whether stores of what is there are left out.
    pub echoes: bool,
    /// Whether packets are sent by a port that a value names without a test for each port.
    pub ports: bool,
    /// Bursts may end before their last packet although no member sets timers.
    pub short: bool,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { large: LARGE, together: MOST_TOGETHER, short: false, echoes: true, ports: true }
    }
}

/// The text, and what its calls are.
pub struct Linked {
    /// C.
    pub text: String,
    /// By member, the calls of the runtime.
    pub calls: Vec<Vec<Call>>,
    /// How it is known how many packets went where.
    pub counts: Counts,
    /// Packets that members drop have lists of their own, behind those of exits: the member and why.
    pub refused: Vec<(u32, DropReason)>,
    /// Where each list lies.
    pub places: Vec<u32>,
    /// The most copies of an arrival that are made here; with them lists have more packets than came.
    pub copies: u64,
}

/// C for members that packets enter at these ports: member, port.
///
/// # Errors
/// A member does what C is not made for; it must not be linked.
pub fn emit(members: &[&Member<'_>], entries: &[(u32, u32)], sizes: Sizes) -> Result<Linked, Unsupported> {
    let (mut text, large) = (beginning(members), sizes.large);
    let slices = slices(members, large);
    let kin = Kin::of(members);
    let copies = Copies::of(members);
    text += &copies.declarations();
    let functions = functions(members, (&kin, &copies), &slices, sizes)?;
    text += &functions.text;
    let refusing: Vec<u32> = functions.refused.iter().map(|(member, _)| *member).collect();
    let (counts, lists) = (Counts::of(members, &kin, &refusing, &copies), Lists::of(members, &kin, &refusing, exits(members)));
    text += &general(members, &counts, &lists);
    text += &copies.functions(&counts, &lists);
    text += &enter(entries);
    text += &quick(&Ways { members, kin: &kin, counts: &counts, refusing: &refusing, lists: &lists, general: false }, entries);
    text += &ahead(members, &kin, entries, &slices);
    text += &far(members, &slices, large);
    text += &kept::nothing(&functions.kept);
    let timers = u8::from(sizes.short || members.iter().any(|m| sets_timers(m)));
    let sliced = entries.iter().any(|(member, _)| slices.get(*member as usize).is_some_and(Option::is_some));
    let (need, entries, sliced) = (functions.need, entries.len(), u8::from(sliced));
    let _ = writeln!(
        text,
        "\nenum {{ NV_NEED = {need}, NV_ENTRIES = {entries}, NV_COPIES = {}, NV_TIMERS = {timers}, NV_SLICED = {sliced}, NV_GROUP = {}, NV_PLACES = {PLACES}, NV_TURNS = {TURNS} }};",
        copies.most(),
        group(&slices)
    );
    text += &direct(members);
    text += &begin(members.len(), table_count(members));
    text += "\n";
    text += include_str!("burst.c");
    Ok(Linked { text, calls: functions.calls, counts, refused: functions.refused, places: lists.places(), copies: copies.most() })
}

/// How many exits members have.
pub fn exits(members: &[&Member<'_>]) -> u32 {
    let number = |way: &Way| if let Way::Exit(n) | Way::LastExit(n) = way { *n + 1 } else { 0 };
    members.iter().flat_map(|member| &member.links).map(|(_, way)| number(way)).max().unwrap_or(0)
}

/// Sizes of this text, and what is the same in all.
fn beginning(members: &[&Member<'_>]) -> String {
    let mut text = String::from("/* Made by netvm from verified programs. */\n");
    text += include_str!("values.c");
    let info = info_size(members);
    let tables = table_count(members);
    let _ = writeln!(
        text,
        "\nenum {{ NV_MEMBERS = {}, NV_TABLES = {tables}, NV_INFO = {info}, NV_LEAST = {}, NV_STRIDE = {}, NV_ROOM = {}, NV_HEAD = {}, NV_LONGEST = {} }};",
        members.len(),
        least(members),
        pool::stride(info),
        pool::room_for(info),
        pool::HEAD,
        pool::LONGEST
    );
    text += include_str!("sums.c");
    text += include_str!("linked.c");
    text += include_str!("copies.c");
    text += include_str!("prefixes.c");
    text
}

/// Packets that have fewer bytes run in general forms, so that quick ones need not ask for each part of a header that all packets have: Ethernet's and one of IPv4.
fn least(members: &[&Member<'_>]) -> u32 {
    const HEADERS: u32 = 14 + 20;
    let asks = |member: &&Member<'_>| {
        let func = &member.func;
        func.blocks.iter().flat_map(|block| &block.ops).any(|v| matches!(func.op(*v), Some(Op::Check(Space::Packet, _) | Op::PacketLen)))
    };
    if members.iter().any(asks) { HEADERS } else { 0 }
}

fn table_count(members: &[&Member<'_>]) -> usize {
    members.iter().map(|member| member.program.module().tables.len()).sum()
}

/// What all members' functions are, and need.
#[derive(Default)]
struct Functions {
    text: String,
    calls: Vec<Vec<Call>>,
    need: u32,
    /// By place for what slices find out the table.
    kept: Vec<u32>,
    /// See [`Linked::refused`].
    refused: Vec<(u32, DropReason)>,
}

fn functions(
    members: &[&Member<'_>],
    (kin, copies): (&Kin, &Copies),
    slices: &[Option<Func>],
    sizes: Sizes,
) -> Result<Functions, Unsupported> {
    let (mut all, mut tables_before, large) = (Functions::default(), 0, sizes.large);
    let apart = apart(members, kin, sizes.together);
    for (n, member) in members.iter().enumerate() {
        let module = with_sets(member.program.module(), &member.func);
        let sets = tables::Tables::new(&module, &member.func)?.scalar().replace("set", &format!("m{n}_set"));
        let kept = slices[n].as_ref().map_or_else(Kept::default, |slice| kept::places(slice, &module.tables, large, all.kept.len() as u32));
        let by_exit = by_exit(member, kin, n);
        let usual = usual(members, n);
        let copies = (copies.made_here(n), kin.of_first(kin.first(n as u32)).len() == 1);
        let Sizes { echoes, ports, .. } = sizes;
        let place =
            member::Place { n: n as u32, tables: tables_before, kept: &kept, apart: apart[n], by_exit, usual, copies, echoes, ports };
        let functions = member::emit(&place, member.program, &member.func, &module)?;
        all.need = all.need.max(functions.need);
        all.text += &sets;
        all.text += &functions.text;
        all.refused.extend(functions.refused.map(|reason| (n as u32, reason)));
        if let Some(slice) = &slices[n] {
            all.text += &member::emit_slice(&place, slice, &module, large)?;
        }
        all.calls.push(functions.calls);
        all.kept.extend(kept.tables.iter().map(|table| tables_before + table));
        tables_before += member.program.module().tables.len() as u32;
    }
    Ok(all)
}

/// The port of a member behind which most others are, the first of these: packets are few that elements turn away.
fn usual(members: &[&Member<'_>], n: usize) -> Option<u32> {
    let by_port = members[n].links.iter().map(|(port, way)| (behind(members, *way), Reverse(*port)));
    by_port.max().map(|(_, Reverse(port))| port)
}

/// Which of all members' tables are looked into without the runtime.
fn direct(members: &[&Member<'_>]) -> String {
    let tables = members.iter().flat_map(|member| &member.program.module().tables);
    let flags: String = tables.map(|table| format!("{}, ", u8::from(lookups::is_direct(table)))).collect();
    format!("static const uint8_t nv_direct[] = {{ {flags}0 }};\n")
}

/// Operations of members that the compiler of C is given as one function: what it takes to make it grows faster than they do. A router of four ports has 12,000 and takes 60 ns
/// a packet where it took 79 with each a function of its own, of 16 ports 44,000, which would take the compiler half as long again.
const MOST_TOGETHER: usize = 16_000;
/// Operations of one member: more would take it minutes.
const MOST: usize = 6_000;

/// Of which members the quick form is a function of its own: of the largest, where there is too much for one.
fn apart(members: &[&Member<'_>], kin: &Kin, most: usize) -> Vec<bool> {
    let mut by_size: Vec<(usize, usize)> = kin.firsts().map(|n| (size(&members[n].func), n)).collect();
    by_size.sort_unstable();
    let (mut apart, mut together) = (vec![false; members.len()], 0);
    for (size, n) in by_size {
        together += size;
        apart[n] = together > most;
    }
    apart
}

/// How large a handler is, in operations and ends of blocks.
fn size(func: &Func) -> usize {
    func.blocks.iter().map(|block| block.ops.len() + 1).sum()
}

/// Whether C can be made of a member, alone.
///
/// # Errors
/// What it cannot be made of.
pub fn supports(program: &Verified, func: &Func) -> Result<(), Unsupported> {
    if size(func) > MOST {
        return Err(Unsupported(format!("a handler of {} operations", size(func))));
    }
    emit(&[&Member { program, func: func.clone(), links: Vec::new() }], &[], Sizes::default()).map(|_| ())
}

/// Bytes of info memory, which all members of an application have in common.
fn info_size(members: &[&Member<'_>]) -> usize {
    members.iter().map(|m| m.program.module().info_size as usize).max().unwrap_or(0)
}

/// The way of one packet through all members in their general forms, from the start of one or from within it.
fn general(members: &[&Member<'_>], counts: &Counts, lists: &Lists) -> String {
    let mut text = String::from(
        "\nstatic void general(struct nv_graph *g, uint64_t i, uint32_t member, uint32_t port, uint32_t resume, const uint64_t *live)\n{\n",
    );
    text += "    struct nv_run run, *r = &run;\n    uint8_t info[NV_INFO > 0 ? NV_INFO : 1];\n    int64_t out;\n    uint64_t time;\n    (void)time;\n    nv_load(g, r, info, i);\n    if (NV_RARELY(g->tell))\n        g->tell(g, NV_MEMBERS, 0), g->tell(g, NV_MEMBERS, 1);\n    switch (member) {\n";
    for n in 0..members.len() {
        let _ = writeln!(text, "    case {n}: goto at{n};");
    }
    text += "    default: return;\n    }\n";
    text + &Ways { members, kin: &Kin::none(members.len()), counts, refusing: &[], lists, general: true }.text()
}

/// What is at hand at the begin of a burst: statement by statement, so that the compiler of C sees each pointer for itself.
fn begin(members: usize, tables: usize) -> String {
    let mut text = String::from("\nNV_INLINE void nv_begin(const struct nv_graph *g, struct nv_near *k)\n{\n    nv_again(g, k);\n");
    for (what, count) in [("units", members), ("tables", tables)] {
        (0..count).for_each(|n| _ = writeln!(text, "    k->{what}[{n}] = g->{what}[{n}];"));
    }
    text + "}\n"
}

/// From the entries in their general forms.
fn enter(entries: &[(u32, u32)]) -> String {
    let mut text = String::from("\nNV_APART void enter(struct nv_graph *g, uint64_t i, uint32_t entry)\n{\n    switch (entry) {\n");
    for (n, (member, port)) in entries.iter().enumerate() {
        let _ = writeln!(text, "    case {n}: general(g, i, {member}, {port}, 0, 0); break;");
    }
    text + "    default: break;\n    }\n}\n"
}

/// The same in their quick forms. Gives whether the runtime was called.
fn quick(ways: &Ways<'_>, entries: &[(u32, u32)]) -> String {
    let mut text = String::from(
        "\nNV_INLINE int one(struct nv_graph *g, const struct nv_near *k, uint64_t i, uint32_t entry, struct nv_kept *kept)\n{\n",
    );
    text += "    struct nv_run run, *r = &run;\n    uint8_t info[NV_INFO > 0 ? NV_INFO : 1];\n    int64_t out;\n    uint32_t port;\n";
    text += &ways.kin.variables();
    text += "    if (NV_RARELY(!(k->slots[i].kind & NV_FRESH) || k->slots[i].len < NV_LEAST)) {\n        enter(g, i, entry);\n        return 1;\n    }\n";
    text += "    nv_load_fresh(k, r, info, i, k->slots[i].len);\n    NV_ASSUME(r->len >= NV_LEAST);\n    r->kept = kept;\n";
    text += &begins(entries, ways.kin, &|_| true, "return 0");
    text + &ways.text()
}

/// Goes to where packets come in by an entry, if such a member is there; `nowhere` is for none.
fn begins(entries: &[(u32, u32)], kin: &Kin, has: &dyn Fn(u32) -> bool, nowhere: &str) -> String {
    let firsts: Vec<usize> = entries.iter().map(|(member, _)| kin.first(*member)).collect();
    if let Some(first) = firsts.first().filter(|first| has(**first as u32) && firsts.iter().all(|other| other == *first)) {
        return format!("    {} goto at{first};\n", kin.enters(entries, "entry"));
    }
    let case = |(n, entry): (usize, &(u32, u32))| {
        format!("    case {n}: {} goto at{};\n", kin.enters(std::slice::from_ref(entry), "0"), kin.first(entry.0))
    };
    let cases: String = entries.iter().enumerate().filter(|(_, entry)| has(entry.0)).map(case).collect();
    format!("    switch (entry) {{\n{cases}    default: {nowhere};\n    }}\n")
}

/// By member its slice, if it has one. Wires that lead back are no links between members, so that there is an end. Of annotations only those are set that some
/// slice reads, which is known when there are slices.
fn slices(members: &[&Member<'_>], large: usize) -> Vec<Option<Func>> {
    let info = info_size(members);
    let mut slices: Vec<Option<Func>> = members.iter().map(|_| None).collect();
    let mut read = vec![true; info];
    for _ in 0..=members.len() {
        let sliced: Vec<bool> = slices.iter().map(Option::is_some).collect();
        let before = read.clone();
        slices = members.iter().map(|m| slice::of(m.program, &m.func, large, (&m.links, &sliced), &read)).collect();
        read.fill(false);
        slices.iter().flatten().for_each(|slice| slice::reads(slice, Space::Info, &mut read));
        if slices.iter().map(Option::is_some).eq(sliced) && read == before {
            break;
        }
    }
    slices
}

/// The way of one packet through the slices.
fn ahead(members: &[&Member<'_>], kin: &Kin, entries: &[(u32, u32)], slices: &[Option<Func>]) -> String {
    let has = |member: u32| slices.get(member as usize).is_some_and(Option::is_some);
    let mut text = String::from(
        "\nNV_INLINE void ahead(struct nv_graph *g, const struct nv_near *k, uint64_t i, uint32_t entry, struct nv_kept *kept)\n{\n",
    );
    text += "    struct nv_run run, *r = &run;\n    uint8_t info[NV_INFO > 0 ? NV_INFO : 1];\n    uint32_t port = 0;\n    (void)port;\n";
    text += &kin.variables();
    let without: String =
        entries.iter().enumerate().filter(|(_, entry)| !has(entry.0)).map(|(n, _)| format!("    case {n}: return;\n")).collect();
    if !without.is_empty() {
        text += &format!("    switch (entry) {{\n{without}    default: break;\n    }}\n");
    }
    // What is fetched need not be right: no slot is read, and nothing that is not there.
    text += "    nv_load_fresh(k, r, info, i, NV_LONGEST);\n    r->kept = kept;\n";
    text += &begins(entries, kin, &has, "return");
    for n in kin.firsts().filter(|n| has(*n as u32)) {
        let _ = writeln!(text, "at{n}:\n    __attribute__((unused));\n    switch (p{n}(g, k, i, r, info, port)) {{");
        for (port, _) in &members[n].links {
            let links = kin.of_first(n).into_iter().filter_map(|member| members[member as usize].links.iter().find(|link| link.0 == *port));
            let to: Vec<(u32, u32)> =
                links.filter_map(|(_, way)| if let Way::Member(to, at) = way { Some((*to, *at)) } else { None }).collect();
            if let Some((first, _)) = to.first().filter(|(to, _)| has(*to)) {
                let _ = writeln!(text, "    case {port}: {} goto at{};", kin.enters(&to, &format!("kin{n}")), kin.first(*first));
            }
        }
        text += "    default: return;\n    }\n";
    }
    text + "}\n"
}

/// Whether tables that lookups are fetched ahead for are large now.
fn far(members: &[&Member<'_>], slices: &[Option<Func>], large: usize) -> String {
    let (mut read_now, mut before) = (String::from("0u"), 0);
    for (member, slice) in members.iter().zip(slices) {
        let tables = &member.program.module().tables;
        for table in slice.iter().flat_map(|slice| slice::looked_into(slice, tables, large)) {
            let _ = write!(read_now, " + {}", slice::read_now(&tables[table as usize], &format!("k->tables[{}]", before + table)));
        }
        before += tables.len() as u32;
    }
    format!("\nNV_INLINE int nv_far(const struct nv_near *k)\n{{\n    (void)k;\n    return {read_now} >= {large}u;\n}}\n")
}

/// Packets for which what lookups read is fetched before the first of them is run: about as many misses as a processor can have under way are then under way all the time.
/// With more they wait for each other (900,000 routes: 44 ns a packet with 128, 24 in this way). A power of two.
const PLACES: u32 = 32;

/// The most sources that take turns for packets that are copied while others are run.
pub const TURNS: usize = 16;

/// For how many of them that is done at once. Where slices have few operations: the fewer, the sooner it goes on (900,000 routes: 22.6 ns for 4, 23.2 for 8, 24.0 for 16; but for
/// each on its own the registers of both ways are wanted at once, 25.9). Where they are longer, going to and fro takes more than that saves (IPv6: 72 ns for 4, 68 for 16).
fn group(slices: &[Option<Func>]) -> u32 {
    const FEW: usize = 50;
    if slices.iter().flatten().map(size).sum::<usize>() <= FEW { 4 } else { PLACES / 2 }
}
