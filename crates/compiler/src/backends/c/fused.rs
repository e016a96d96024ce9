//! C for a cluster ([`crate::cluster`]): the handlers of fused elements as functions called from
//! one place, each handler's sends jumps to the next element's.
//!
//! Printed from a `Fusion`, which has all that is decided. Packets that have just arrived go by the
//! fast path; what is rare or large (coprocessors, packets made anew, insertions that tables must
//! be asked for) is done by the runtime, in a call of the slow path that gives it the packet as it
//! is. What ends at a port that no member is behind goes into an exit queue or is handed over at
//! once.
//!
//! Invariants: each form of a member's code stands once, called from one place; where the runtime
//! made copies, a packet leaves at once. Leaves out: values of more than 128 bits, pull handlers.

use super::dispatch::{Dispatch, enters, variables};
use super::{Unsupported, copies, member, sets, with_sets};
use crate::cluster::copies::turned;
use crate::cluster::identical::Identical;
use crate::cluster::prefetch::{DISTANCE, Extent, TURNS, extent, group, looked_into};
use crate::cluster::tables::access;
use crate::cluster::{Counters, Fusion, Member, Options, size};
use crate::mir::{Call, Func};
use netil::Verified;
use netil::cluster::LinkTarget;
use netil::exec::DropReason;
use netil::module::Table;
use netil::{number, pool};
use std::fmt::Write as _;

/// The function that takes a burst.
pub const FUNCTION: &str = "netvm_linked";

/// A part of the text that the C compiler may be given alone, chosen by the macro [`PART`]; linked
/// together, both parts are one object. Without the macro the text is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The function that takes a burst, with the fast path.
    Fast,
    /// The slow path.
    Slow,
}

/// The macro that chooses a part.
pub const PART: &str = "NV_PART";

impl Part {
    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::Fast => 1,
            Self::Slow => 2,
        }
    }

    /// The condition under which its text is compiled.
    fn guard(self) -> String {
        let other = if self == Self::Fast { Self::Slow } else { Self::Fast };
        format!("{PART} != {}", other.number())
    }
}

/// Text of one part only.
fn only(part: Part, text: &str) -> String {
    format!("\n#if {}{text}#endif\n", part.guard())
}

/// The text, and what its calls are.
pub struct Fused {
    /// C, in [`Part`]s.
    pub text: String,
    /// By member, the calls of the runtime.
    pub calls: Vec<Vec<Call>>,
    /// How it is known how many packets went where.
    pub counters: Counters,
    /// Packets that members drop have queues of their own, behind those of exits: the member and
    /// why.
    pub dropped: Vec<(u32, DropReason)>,
    /// Where each queue lies.
    pub places: Vec<u32>,
    /// The most copies of an arrival that are made here; with them queues have more packets than
    /// came.
    pub copies: u64,
    /// Slots may be in several queues, and in one several times.
    pub shared: bool,
}

/// C for members that packets enter at these ports: member, port.
///
/// # Errors
/// A member does what C is not made for; it must not be fused.
pub fn emit(members: &[&Member<'_>], entries: &[(u32, u32)], options: Options) -> Result<Fused, Unsupported> {
    let turned: Vec<Member<'_>> = members.iter().map(|member| turned(member, options.numbers)).collect();
    let members = &turned.iter().collect::<Vec<_>>()[..];
    let fusion = Fusion::of(members, entries, options);
    let mut text = beginning(&fusion);
    text += &copies::declarations(&fusion.copies);
    text += &functions(&fusion)?;
    text += &only(Part::Slow, &slow_path(&fusion));
    text += &copies::functions(&fusion);
    text += &format!("\n#if {}\n", Part::Fast.guard());
    text += &enter(entries);
    text += &fast_path(&fusion);
    text += &prefetch(&fusion);
    text += &far(&fusion);
    text += &nothing(&fusion.cached);
    text += &sizes(&fusion);
    text += &direct(members);
    text += &begin(members.len(), fusion.tables());
    text += "\n";
    text += include_str!("burst.c");
    text += "#endif\n";
    let Fusion { plans, counters, dropping, queues, copies, .. } = fusion;
    let calls = plans.into_iter().map(|plan| plan.calls.all).collect();
    Ok(Fused { text, calls, counters, dropped: dropping, places: queues.places(), copies: copies.most(), shared: copies.some_shared() })
}

/// Sizes of this text, and what is the same in all.
fn beginning(fusion: &Fusion<'_>) -> String {
    let mut text = String::from("/* Made by netvm from verified programs. */\n");
    text += include_str!("values.c");
    let (info, tables) = (fusion.info_size(), fusion.tables());
    let _ = writeln!(
        text,
        "\nenum {{ NV_MEMBERS = {}, NV_TABLES = {tables}, NV_INFO = {info}, NV_LEAST = {}, NV_STRIDE = {}, NV_ROOM = {}, NV_HEAD = {}, NV_LONGEST = {}, NV_NUMBERS = {} }};\n#define NV_COPIED {:#x}u",
        fusion.members.len(),
        fusion.shortest(),
        pool::stride(info),
        pool::room_for(info),
        pool::HEAD,
        pool::LONGEST,
        u8::from(fusion.options.numbers),
        number::COPIED
    );
    text += include_str!("sums.c");
    text += include_str!("fused.c");
    text += include_str!("copies.c");
    text += include_str!("prefixes.c");
    text
}

/// What the burst function must know.
fn sizes(fusion: &Fusion<'_>) -> String {
    let timers = u8::from(fusion.may_end_early());
    let sliced = u8::from(fusion.entries.iter().any(|(member, _)| fusion.is_sliced(*member)));
    format!(
        "\nenum {{ NV_NEED = {}, NV_ENTRIES = {}, NV_COPIES = {}, NV_TIMERS = {timers}, NV_SLICED = {sliced}, NV_GROUP = {}, NV_PLACES = {DISTANCE}, NV_TURNS = {TURNS} }};\n",
        fusion.budget(),
        fusion.entries.len(),
        fusion.copies.most(),
        group(&fusion.slices)
    )
}

/// The functions of all members.
fn functions(fusion: &Fusion<'_>) -> Result<String, Unsupported> {
    let mut text = String::new();
    for ((n, member), plan) in (0..).zip(fusion.members).zip(&fusion.plans) {
        let module = with_sets(member.program.module(), &member.func);
        text += &sets::Sets::new(&module, &member.func)?.scalar().replace("set", &format!("m{n}_set"));
        let [slow, fast] = member::emit(n, plan, &member.func, &module)?;
        text += &only(Part::Slow, &slow);
        text += &only(Part::Fast, &fast);
        if let Some(slice) = &fusion.slices[n as usize] {
            text += &only(Part::Fast, &member::emit_slice(n, plan, slice, &module, fusion.options)?);
        }
    }
    Ok(text)
}

/// Which of all members' tables are looked into without the runtime.
fn direct(members: &[&Member<'_>]) -> String {
    let tables = members.iter().flat_map(|member| &member.program.module().tables);
    let flags: String = tables.map(|table| format!("{}, ", u8::from(access(table).is_some()))).collect();
    format!("static const uint8_t nv_direct[] = {{ {flags}0 }};\n")
}

/// Operations of one member: more would take a compiler of C minutes.
const MOST: usize = 6_000;

/// Whether C can be made of a member, alone.
///
/// # Errors
/// What it cannot be made of.
pub fn supports(program: &Verified, func: &Func) -> Result<(), Unsupported> {
    if size(func) > MOST {
        return Err(Unsupported(format!("a handler of {} operations", size(func))));
    }
    emit(&[&Member { program, func: func.clone(), links: Vec::new() }], &[], Options::default()).map(|_| ())
}

/// The way of one packet through all members on the slow path, from the start of one or from within
/// it.
fn slow_path(fusion: &Fusion<'_>) -> String {
    let mut text = String::from(
        "\nNV_PARTS void general(struct nv_graph *g, uint64_t i, uint32_t member, uint32_t port, uint32_t resume, const uint64_t *live)\n{\n",
    );
    text += "    struct nv_run run, *r = &run;\n    uint8_t info[NV_INFO > 0 ? NV_INFO : 1];\n    int64_t out;\n    uint64_t time;\n    (void)time;\n    nv_load(g, r, info, i);\n    if (NV_RARELY(g->tell))\n        g->tell(g, NV_MEMBERS, 0), g->tell(g, NV_MEMBERS, 1);\n    switch (member) {\n";
    for n in 0..fusion.members.len() {
        let _ = writeln!(text, "    case {n}: goto at{n};");
    }
    text += "    default: return;\n    }\n";
    text + &Dispatch { fusion, identical: &Identical::none(fusion.members.len()), slow: true }.text()
}

/// What is at hand at the begin of a burst: statement by statement, so that the compiler of C sees
/// each pointer for itself.
fn begin(members: usize, tables: usize) -> String {
    let mut text = String::from("\nNV_INLINE void nv_begin(const struct nv_graph *g, struct nv_near *k)\n{\n    nv_again(g, k);\n");
    for (what, count) in [("units", members), ("tables", tables)] {
        (0..count).for_each(|n| _ = writeln!(text, "    k->{what}[{n}] = g->{what}[{n}];"));
    }
    text + "}\n"
}

/// From the entries by the slow path.
fn enter(entries: &[(u32, u32)]) -> String {
    let mut text = String::from("\nNV_APART void enter(struct nv_graph *g, uint64_t i, uint32_t entry)\n{\n    switch (entry) {\n");
    for (n, (member, port)) in entries.iter().enumerate() {
        let _ = writeln!(text, "    case {n}: general(g, i, {member}, {port}, 0, 0); break;");
    }
    text + "    default: break;\n    }\n}\n"
}

/// The way of one packet from the entries by the fast path. Gives whether the runtime was called.
fn fast_path(fusion: &Fusion<'_>) -> String {
    let mut text = String::from(
        "\nNV_INLINE int one(struct nv_graph *g, const struct nv_near *k, uint64_t i, uint32_t entry, struct nv_kept *kept)\n{\n",
    );
    text += "    struct nv_run run, *r = &run;\n    uint8_t info[NV_INFO > 0 ? NV_INFO : 1];\n    int64_t out;\n    uint32_t port;\n";
    text += &variables(&fusion.identical);
    text += "    if (NV_RARELY(!(k->slots[i].kind & NV_FRESH) || k->slots[i].len < NV_LEAST)) {\n        enter(g, i, entry);\n        return 1;\n    }\n";
    text += "    nv_load_fresh(k, r, info, i, k->slots[i].len);\n    NV_ASSUME(r->len >= NV_LEAST);\n    r->kept = kept;\n";
    text += &begins(fusion, &|_| true, "return 0");
    text + &Dispatch { fusion, identical: &fusion.identical, slow: false }.text()
}

/// Goes to where packets come in by an entry, if such a member is there; `nowhere` is for none.
fn begins(fusion: &Fusion<'_>, has: &dyn Fn(u32) -> bool, nowhere: &str) -> String {
    let (entries, identical) = (fusion.entries, &fusion.identical);
    let firsts: Vec<usize> = entries.iter().map(|(member, _)| identical.first(*member)).collect();
    if let Some(first) = firsts.first().filter(|first| has(**first as u32) && firsts.iter().all(|other| other == *first)) {
        return format!("    {} goto at{first};\n", enters(identical, entries, "entry"));
    }
    let case = |(n, entry): (usize, &(u32, u32))| {
        let enters = enters(identical, std::slice::from_ref(entry), "0");
        format!("    case {n}: {enters} goto at{};\n", identical.first(entry.0))
    };
    let cases: String = entries.iter().enumerate().filter(|(_, entry)| has(entry.0)).map(case).collect();
    format!("    switch (entry) {{\n{cases}    default: {nowhere};\n    }}\n")
}

/// The way of one packet through the prefetch slices.
fn prefetch(fusion: &Fusion<'_>) -> String {
    let (has, identical) = (|member: u32| fusion.is_sliced(member), &fusion.identical);
    let mut text = String::from(
        "\nNV_INLINE void ahead(struct nv_graph *g, const struct nv_near *k, uint64_t i, uint32_t entry, struct nv_kept *kept)\n{\n",
    );
    text += "    struct nv_run run, *r = &run;\n    uint8_t info[NV_INFO > 0 ? NV_INFO : 1];\n    uint32_t port = 0;\n    (void)port;\n";
    text += &variables(identical);
    let without = fusion.entries.iter().enumerate().filter(|(_, entry)| !has(entry.0));
    let without: String = without.map(|(n, _)| format!("    case {n}: return;\n")).collect();
    if !without.is_empty() {
        text += &format!("    switch (entry) {{\n{without}    default: break;\n    }}\n");
    }
    // What is fetched need not be right: no slot is read, and nothing that is not there.
    text += "    nv_load_fresh(k, r, info, i, NV_LONGEST);\n    r->kept = kept;\n";
    text += &begins(fusion, &has, "return");
    for n in identical.firsts().filter(|n| has(*n as u32)) {
        let _ = writeln!(text, "at{n}:\n    __attribute__((unused));\n    switch (p{n}(g, k, i, r, info, port)) {{");
        for (port, _) in &fusion.members[n].links {
            let group = identical.of_first(n).into_iter();
            let links = group.filter_map(|member| fusion.members[member as usize].links.iter().find(|link| link.0 == *port));
            let to: Vec<(u32, u32)> =
                links.filter_map(|(_, way)| if let LinkTarget::Member(to, at) = way { Some((*to, *at)) } else { None }).collect();
            if let Some((first, _)) = to.first().filter(|(to, _)| has(*to)) {
                let enters = enters(identical, &to, &format!("kin{n}"));
                let _ = writeln!(text, "    case {port}: {enters} goto at{};", identical.first(*first));
            }
        }
        text += "    default: return;\n    }\n";
    }
    text + "}\n"
}

/// Whether tables that lookups are prefetched for are large now.
fn far(fusion: &Fusion<'_>) -> String {
    let (large, mut read_now) = (fusion.options.prefetch_above, String::from("0u"));
    for ((member, slice), plan) in fusion.members.iter().zip(&fusion.slices).zip(&fusion.plans) {
        let tables = &member.program.module().tables;
        for table in slice.iter().flat_map(|slice| looked_into(slice, tables, large)) {
            let _ = write!(read_now, " + {}", bytes_now(&tables[table as usize], &format!("k->tables[{}]", plan.place.tables + table)));
        }
    }
    format!("\nNV_INLINE int nv_far(const struct nv_near *k)\n{{\n    (void)k;\n    return {read_now} >= {large}u;\n}}\n")
}

/// How many bytes of a table (`t`) lookups may read now.
fn bytes_now(table: &Table, t: &str) -> String {
    match extent(table) {
        Extent::PerEntry(bytes) => format!("{t}.head[NV_FILLED] * {bytes}u"),
        Extent::PerUnit(bytes) => format!("{t}.head[{}] * {bytes}u", netil::layout::paths::USED),
        Extent::Fixed(bytes) => format!("{bytes}u"),
    }
}

/// The function that fills places in which nothing has been left yet; by place the number of its
/// table among all.
fn nothing(tables: &[u32]) -> String {
    let mut text = format!("\nenum {{ NV_KEPT = {} }};\n\ntypedef struct nv_kept nv_places[NV_KEPT > 0 ? NV_KEPT : 1];\n", tables.len());
    text += "\nNV_INLINE void nv_keep_nothing(const struct nv_near *k, nv_places *kept, uint64_t packets)\n{\n    nv_places none;\n    (void)none;\n";
    for (place, table) in tables.iter().enumerate() {
        let _ = writeln!(text, "    none[{place}] = (struct nv_kept){{ 0, 0, nv_hash(&k->tables[{table}], 0) }};");
    }
    text + "    for (uint64_t n = 0; NV_KEPT > 0 && n < packets; n++)\n        memcpy(kept[n], none, sizeof none);\n}\n"
}
