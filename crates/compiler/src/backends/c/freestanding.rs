//! C for a processor without an operating system: push handlers, what lasts between packets in
//! static memory, no library.
//!
//! The text is one for all processors: bytes are put in order by the preprocessor
//! (`__BYTE_ORDER__`), accesses that may not be aligned are copies, which compilers make as good as
//! the machine allows. Init handlers have run, in the interpreter, when the text is made; memories
//! and tables begin as they left them. A packet lies in a buffer of the caller (`netvm.h`), and is
//! changed in place. A program is one function; of an application each element is one, and sends
//! are calls. For hosts that run vectors of packets through nodes (`nodes`), elements belong to
//! nodes, and a packet that is sent into another node leaves with the place where it goes on.
//!
//! Copies of packets go their ways when the handler that sent them
//! has ended, in order and before the packet itself, and are told to the caller one by one.
//!
//! Leaves out, with a reason that names the operation: coprocessors other than `stringmatching` and
//! `regexp`, timers, pull handlers, packets that are made, given up or held, values of more than
//! 128 bits.

pub(in crate::backends) mod automaton;
mod cuts;
mod division;
mod element;
pub(in crate::backends) mod expression;
#[cfg(test)]
mod hostile;
mod needs;
mod nodes;
mod opencl;
mod searches;
mod tables;

use super::{MAX_SIZE, Unsupported, quoted};
use crate::backends::graph::{Element, Link, OutputWire};
use crate::backends::start;
use crate::mir::{Func, Helper, Op, Site};
pub use division::Division;
use division::NodePartition;
use element::Core;
pub use needs::Needs;
use netil::Verified;
use netil::exec::{DEFAULT_BUDGET, State};
use netil::module::HandlerKind;
use netil::number;
pub use nodes::{Node, counters, listing};
use searches::Units;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What callers include.
pub const HEADER: &str = include_str!("freestanding/netvm.h");

/// Puts the image of the automata, the file `dfa.bin`, into a program.
pub const IMAGE: &str = include_str!("freestanding/dfa.c");

/// The most bytes of data and shared memory of a program.
const MOST_STATE: usize = 1 << 24;
/// The most operations of a program that is there twice.
const SMALL: usize = 512;
/// How often a packet may be led back.
const ROUNDS: u32 = 16;

/// Where packets leave an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// By the output of that number.
    Output(u32),
    /// They are dropped, as is meant.
    Discard,
}

/// An application.
#[derive(Debug)]
pub struct Application<'a> {
    /// Its elements.
    pub elements: Vec<Element<'a>>,
    /// Its ends.
    pub ends: Vec<Leave>,
    /// By input where packets go that come in by it.
    pub entries: Vec<Link>,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// Names of the outputs.
    pub outputs: Vec<String>,
    /// By element the seed of its random numbers.
    pub seeds: Vec<u64>,
    /// By input the number of the first packet that comes in by it ([`netil::number`]).
    pub numbers: Vec<u64>,
    /// How [`Language::Nodes`] has it in nodes, and [`Language::Groups`] in groups.
    pub division: Division,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C11 with GCC's extensions, without a library.
    C,
    /// OpenCL C 1.2.
    OpenCl,
    /// C11 with GCC's extensions, to be included in the text of a host that has a library and runs
    /// vectors of packets through nodes.
    Nodes,
    /// As `C`, in groups of elements: packets are work entries that go from the queue of one group
    /// to that of another.
    Groups,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Text {
    /// The program.
    pub program: String,
    /// C with the names of inputs, outputs, elements and reasons.
    pub names: String,
    /// For [`Language::Nodes`] the nodes, for [`Language::Groups`] the groups.
    pub nodes: Vec<Node>,
    /// What it asks of a host.
    pub needs: Needs,
    /// Why there are so many nodes.
    pub notes: Vec<String>,
    /// The image of the automata that the program searches packets with, if it does; [`IMAGE`] has
    /// it in a program.
    pub image: Vec<u8>,
}

/// What C cannot be made of, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The element's number.
    pub element: usize,
    /// The instruction of its push handler, if it is one.
    pub site: Option<Site>,
    /// Why.
    pub why: Unsupported,
}

/// The C text of a program; it includes [`HEADER`] as `netvm.h`.
///
/// # Errors
/// The program does what this C is not made for.
pub fn emit(program: &Verified, func: &Func, language: Language, division: Division) -> Result<Text, Refused> {
    if program.module().handler(HandlerKind::Pull).is_some() {
        let why = Unsupported("a pull handler: nothing asks for packets".to_owned());
        return Err(Refused { element: 0, site: None, why });
    }
    let name = if program.module().name.is_empty() { "program" } else { &program.module().name };
    let parts = [Part { n: 0, name, program, func, ways: None, ends: &[], seed: 0, language }];
    let plan = NodePartition::of(division, &parts, &[Link::Element(0, 0)]);
    let entry = match plan.nodes[0] {
        0 => "    e0(k, run, info, k->input);\n",
        _ => "    nv_end(k, run, NETVM_GOES, 0, k->input, 0);\n",
    };
    joined(&parts, &plan, &(come(&parts, &[0]), entry), [&[], &[]])
}

/// The C text of an application, whose elements' push handlers are given.
///
/// # Errors
/// An element does what this C is not made for.
pub fn link(app: &Application<'_>, funcs: &[Func], language: Language) -> Result<Text, Refused> {
    if let Some(element) = round(&app.elements) {
        let why = Unsupported("packets that are led back through a queue, as often as it may be".to_owned());
        return Err(Refused { element, site: None, why });
    }
    let all = app.elements.iter().zip(funcs).zip(&app.seeds).enumerate();
    let parts: Vec<Part<'_>> = all
        .map(|(n, ((e, func), seed))| Part {
            n,
            name: e.name,
            program: e.program,
            func,
            ways: Some(&e.ways),
            ends: &app.ends,
            seed: *seed,
            language,
        })
        .collect();
    let plan = NodePartition::of(app.division, &parts, &app.entries);
    joined(&parts, &plan, &(come(&parts, &app.numbers), &entry(app, &plan)), [&app.inputs, &app.outputs])
}

/// What counts packets that come in, by input from these numbers on, if handlers draw random
/// numbers; of a program alone all are counted together.
fn come(parts: &[Part<'_>], first: &[u64]) -> Option<String> {
    parts.iter().any(|part| part.language != Language::OpenCl && part.func.draws()).then(|| {
        let (inputs, first) = (first.len(), first.iter().map(u64::to_string).collect::<Vec<_>>().join("u, "));
        format!(
            "\nNV_INLINE uint64_t nv_come(uint32_t input)\n{{\n    static uint64_t next[] = {{ {first}u }};\n    return next[input < {inputs}u ? input : 0]++;\n}}\n"
        )
    })
}

/// Where packets go that come in.
fn entry(app: &Application<'_>, plan: &NodePartition) -> String {
    let mut entry = String::from("    switch (k->input) {\n");
    for (n, link) in app.entries.iter().enumerate() {
        let go = match link {
            Link::Element(element, port) if plan.nodes[*element] > 0 => format!("nv_end(k, run, NETVM_GOES, {element}u, {port}u, 0);"),
            Link::Element(element, port) => format!("e{element}(k, run, info, {port}u);"),
            Link::End(end) => match app.ends[*end] {
                Leave::Output(output) => format!("nv_end(k, run, NETVM_SENT, NETVM_NONE, {output}u, 0);"),
                Leave::Discard => "nv_end(k, run, NETVM_DROPPED, NETVM_NONE, NETVM_DISCARDED, 0);".to_owned(),
            },
        };
        let _ = writeln!(entry, "    case {n}u: {go} break;");
    }
    entry + "    default: nv_end(k, run, NETVM_DROPPED, NETVM_NONE, NETVM_NOWHERE, 0);\n    }\n"
}

/// An element of a circle that no wire which leads back is in.
fn round(elements: &[Element<'_>]) -> Option<usize> {
    // Elements from which only elements can be reached that have been taken away are taken away.
    let mut left: Vec<bool> = vec![true; elements.len()];
    let ways = |n: usize| elements[n].ways.iter().filter(|way: &&OutputWire| !way.again);
    let leads = |left: &[bool], n: usize| ways(n).any(|way| matches!(way.to, Link::Element(to, _) if left[to]));
    while let Some(n) = (0..elements.len()).find(|n| left[*n] && !leads(&left, *n)) {
        left[n] = false;
    }
    left.iter().position(|left| *left)
}

/// A program with its handler.
struct Part<'a> {
    n: usize,
    name: &'a str,
    program: &'a Verified,
    func: &'a Func,
    ways: Option<&'a [OutputWire]>,
    ends: &'a [Leave],
    seed: u64,
    language: Language,
}

/// A part's text.
struct Emitted {
    text: String,
    /// By piece what packets may be dropped with, or none for a trap.
    ends: BTreeSet<(usize, Option<String>)>,
    /// What it searches packets with.
    units: Units,
}

impl Part<'_> {
    fn emit(&self, plan: &NodePartition, info: u32) -> Result<Emitted, Refused> {
        let Self { n, program, func, ways, ends, seed, language, .. } = *self;
        let refused = |why| Refused { element: n, site: None, why };
        let unable = |why| Refused { site: self.searches(), ..refused(why) };
        let size = func.blocks.iter().map(|b| b.ops.len() + b.end.edges().len()).sum::<usize>();
        if size > MAX_SIZE {
            return Err(refused(Unsupported(format!("a program of {size} operations and branches; {MAX_SIZE} are the most"))));
        }
        let (state, units) = self.state().map_err(unable)?;
        let core = Core {
            n,
            module: program.module(),
            shared: program.shared_size(),
            ways,
            ends,
            plan,
            info,
            piece: Cell::new(0),
            copies: language != Language::OpenCl && needs::copies(func),
            seed,
            outside: language == Language::Nodes,
            opencl: language == Language::OpenCl,
            refused: Cell::new(None),
            ends_here: RefCell::default(),
        };
        let text = element::emit(&core, program, func, &state).map_err(|why| Refused { site: core.refused.get(), ..refused(why) })?;
        let text = format!("\n{}\n{text}", quoted::comment(&format!("---- {n}: {} ----", self.name)));
        Ok(Emitted { text, ends: core.ends_here.into_inner(), units })
    }

    /// What there is from the start. A filter keeps nothing that its init handler would have to
    /// succeed for.
    fn state(&self) -> Result<(State, Units), Unsupported> {
        let made = match self.language {
            Language::C | Language::Groups | Language::Nodes => start::searching(self.program),
            Language::OpenCl => start::state(self.program).map(|state| (state, Vec::new())),
        };
        let plain = |why| State::plain(self.program).map(|state| (state, Vec::new())).map_err(|_| why);
        let (state, loaded) = made.or_else(|why| if self.program.is_filter() { plain(why) } else { Err(why) })?;
        let units = Units::new(self.program, &state, &loaded)?;
        Ok((state, units))
    }

    /// Where it searches packets first.
    fn searches(&self) -> Option<Site> {
        let ops = self.func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| self.func.op(*v));
        let searches = ops.filter_map(|op| match op {
            Op::Helper(Helper::CoproInvoke(_, operation), _, site) if automaton::searches(*operation) => Some(*site),
            _ => None,
        });
        searches.min()
    }
}

/// The tables of all units, and the image of their automata.
fn searched(parts: &[Part<'_>], texts: &[Emitted]) -> Result<(String, Vec<u8>), Refused> {
    let (mut text, mut nodes) = (include_str!("freestanding/search.c").to_owned(), 0);
    for (part, made) in parts.iter().zip(texts) {
        text += &made.units.text(part.n, nodes);
        nodes += made.units.nodes();
        searches::checked(nodes).map_err(|why| Refused { element: part.n, site: part.searches(), why })?;
    }
    let mut image: Vec<u8> = texts.iter().flat_map(|made| made.units.image()).collect();
    // There is always a file, also for units that were loaded with no group.
    image.resize(image.len().max(1 << 10), 0);
    Ok((text, image))
}

/// The file.
fn joined(
    parts: &[Part<'_>],
    plan: &NodePartition,
    (come, entry): &(Option<String>, &str),
    names: [&[String]; 2],
) -> Result<Text, Refused> {
    let mut needs = Needs { kept: plan.kept(), ..Needs::of(parts) };
    let texts = parts.iter().map(|part| part.emit(plan, needs.info)).collect::<Result<Vec<_>, _>>()?;
    let language = parts.first().map_or(Language::C, |part| part.language);
    if let (Language::Groups, Some(part)) = (language, parts.iter().find(|part| needs::copies(part.func))) {
        let why = Unsupported("copies of packets between groups".to_owned());
        return Err(Refused { element: part.n, site: None, why });
    }
    let mut text = prelude(language);
    if language == Language::C && !needs.changes && !needs.copies {
        text += "\n/* Packets leave as they came: where they lie, their lengths and times. */\n#define NV_STAYS\n";
    }
    text += include_str!("freestanding/packet.c");
    if let Some(come) = come {
        text += come;
        if language == Language::Nodes {
            // From node to node.
            let _ = writeln!(text, "#define NV_NUMBER_AT {}", needs.info + needs.kept);
            needs.kept += u64::BITS / 8;
        }
    }
    if language != Language::OpenCl && parts.iter().any(|part| !part.program.module().tables.is_empty()) {
        text += concat!(include_str!("freestanding/tables.c"), include_str!("freestanding/open.c"));
        text += if language == Language::Nodes { include_str!("freestanding/filled.c") } else { "" };
    }
    let mut image = Vec::new();
    if texts.iter().any(|part| !part.units.is_empty()) {
        let (units, automata) = searched(parts, &texts)?;
        text += &units;
        image = automata;
    }
    let copy = language != Language::OpenCl && needs.copies;
    if copy {
        let info = (needs.info + needs.kept).max(1);
        let bytes = if language == Language::C { "uint8_t bytes[NETVM_BUFFER];" } else { "" };
        let _ = writeln!(text, "\nenum {{ NV_INFO = {info} }};\n#define NV_COPIED {:#x}u\n#define NV_COPY_BYTES {bytes}", number::COPIED);
        text += include_str!("freestanding/copies.c");
        text += if language == Language::C { include_str!("freestanding/copied.c") } else { "" };
    }
    let _ = writeln!(text, "\nenum {{ NV_BUDGET = {DEFAULT_BUDGET}, NV_ROUNDS = {ROUNDS} }};\n");
    let small = language == Language::C && !copy && is_small(parts, plan);
    for part in parts {
        let inlined = if small { "NV_INLINE" } else { "static" };
        let _ = writeln!(text, "{inlined} void e{}{};", part.n, element::PARAMETERS);
    }
    texts.iter().for_each(|part| text += &part.text);
    if language != Language::OpenCl {
        text += &begin(parts);
    }
    text += "\nNV_INLINE void nv_first(struct netvm_packet *k, struct nv_run *run, uint8_t *info)\n{\n    (void)run, (void)info;\n";
    if come.is_some() {
        text += "    run->number = nv_come(k->input);\n#ifdef NV_NUMBER_AT\n    nv_put_le(info + NV_NUMBER_AT, 8, run->number);\n#endif\n";
    }
    text += &((*entry).to_owned() + "}\n");
    let nodes = nodes::nodes(&texts, parts, plan);
    match language {
        Language::C => {
            text += &(nodes::arrive(needs.info, small)
                + include_str!("freestanding/run.c")
                + &listed(parts)
                + &format!("\nconst int netvm_copies = {};\n", u32::from(copy)))
        }
        Language::OpenCl => text += &(nodes::arrive(needs.info, false) + opencl::KERNEL),
        Language::Nodes => text += &(nodes::resume(&nodes, plan) + &nodes::counter(&nodes) + &listed(parts) + &outside(parts)),
        Language::Groups => {
            text += &(nodes::resume(&nodes, plan)
                + &nodes::groups(&nodes, plan, needs)
                + include_str!("freestanding/groups.c")
                + &listed(parts)
                + "\nconst int netvm_copies = 0;\n")
        }
    }
    Ok(Text { program: text, names: named(names, parts), nodes, needs, notes: plan.notes.clone(), image })
}

/// Whether it is one function that may be there twice.
fn is_small(parts: &[Part<'_>], plan: &NodePartition) -> bool {
    let [part] = parts else { return false };
    part.ways.is_none() && plan.pieces[0].pieces.len() == 1 && part.func.blocks.iter().map(|b| b.ops.len()).sum::<usize>() <= SMALL
}

/// What comes before the program.
fn prelude(language: Language) -> String {
    let values = include_str!("values.c").replace("#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n", "");
    let before = match language {
        Language::OpenCl => return "/* Made by netvm from verified programs. */\n".to_owned() + opencl::PRELUDE,
        Language::C => include_str!("freestanding/libc.c"),
        Language::Groups => concat!(
            include_str!("freestanding/libc.c"),
            "\n/* A packet goes on in another group, at an element by its port. */\n#define NETVM_GOES ((enum netvm_end) 3)\n\n"
        ),
        Language::Nodes => {
            "#include \"netvm.h\"\n#include <string.h>\n\n/* A packet goes on in another node, at an element by its port. */\n#define NETVM_GOES ((enum netvm_end) 3)\n\n"
        }
    };
    "/* Made by netvm from verified programs. */\n".to_owned() + before + &values + include_str!("sums.c")
}

/// The function that fills tables.
fn begin(parts: &[Part<'_>]) -> String {
    let mut text = String::from("\nstatic int nv_started;\n\nvoid netvm_start(uint64_t a, uint64_t b)\n{\n    (void)a, (void)b;\n");
    for part in parts {
        let tables = part.program.module().tables.iter().enumerate();
        let starts = tables.filter_map(|(n, table)| tables::start(&tables::name(part.n, n), table, part.n << 16 | n));
        starts.for_each(|start| text += &format!("    {start}\n"));
    }
    text + "    nv_started = 1;\n}\n"
}

/// Memories and tables for whoever looks at them.
fn listed(parts: &[Part<'_>]) -> String {
    let mut text = String::from("\nuint8_t *netvm_data(uint32_t element)\n{\n    switch (element) {\n");
    for part in parts {
        let _ = writeln!(text, "    case {0}: return nv_data{0};", part.n);
    }
    text += "    default: return 0;\n    }\n}\n\nuint32_t netvm_data_size(uint32_t element)\n{\n    switch (element) {\n";
    for part in parts {
        let _ = writeln!(text, "    case {}: return {};", part.n, part.program.module().data_size);
    }
    text += "    default: return 0;\n    }\n}\n\nuint32_t netvm_tables(uint32_t element)\n{\n    switch (element) {\n";
    for part in parts {
        let _ = writeln!(text, "    case {}: return {};", part.n, part.program.module().tables.len());
    }
    text += "    default: return 0;\n    }\n}\n\nint netvm_entry(uint32_t element, uint32_t table, uint32_t *at, struct netvm_entry *entry)\n{\n";
    text += "    (void)at, (void)entry;\n    switch ((uint64_t)element << 32 | table) {\n";
    for part in parts {
        for (n, table) in part.program.module().tables.iter().enumerate() {
            let id = (part.n as u64) << 32 | n as u64;
            let _ = writeln!(
                text,
                "    case {id:#x}u: return {};",
                tables::list(&tables::name(part.n, n), table, part.language == Language::Nodes)
            );
        }
    }
    text + "    default: return 0;\n    }\n}\n"
}

/// How a host fills tables.
fn outside(parts: &[Part<'_>]) -> String {
    let of = |part: &Part<'_>| (0..part.program.module().tables.len()).map(|n| (part.n, n)).collect::<Vec<_>>();
    let all: Vec<(usize, usize)> = parts.iter().flat_map(of).collect();
    let table_of = |(element, n): (usize, usize)| &parts[element].program.module().tables[n];
    let switch = "    switch ((uint64_t)element << 32 | table) {\n";
    let mut text = format!("\nint netvm_table(uint32_t element, uint32_t table, struct netvm_table *t)\n{{\n{switch}");
    for (element, n) in all.iter().copied() {
        let table = table_of((element, n));
        let (name, kind) = (quoted::string(table.name.as_bytes()), format!("NETVM_{:?}", table.kind).to_uppercase());
        let _ = writeln!(
            text,
            "    case {:#x}u: *t = (struct netvm_table){{ {name}, {kind}, {}, {}, {} }}; return 1;",
            (element as u64) << 32 | n as u64,
            table.key_bits / 8,
            table.value_bytes,
            table.capacity
        );
    }
    text += "    default: return 0;\n    }\n}\n";
    for (which, function) in ["add", "delete"].into_iter().enumerate() {
        let _ = writeln!(text, "\nint netvm_{function}(uint32_t element, uint32_t table, const struct netvm_entry *entry)\n{{");
        if !all.is_empty() {
            text += "    const nv_key key = nv_number_of(entry->key, entry->key_bytes), other = nv_number_of(entry->other, entry->key_bytes);\n    (void)key, (void)other;\n";
        }
        text += &format!("    (void)entry;\n{switch}");
        for (element, n) in all.iter().copied() {
            let (table, id) = (table_of((element, n)), (element as u64) << 32 | n as u64);
            let _ = writeln!(text, "    case {id:#x}u: return {};", tables::from_outside(&tables::name(element, n), table)[which]);
        }
        text += "    default: return NETVM_MISSING;\n    }\n}\n";
    }
    text
}

/// The names of inputs, outputs and elements.
fn named([inputs, outputs]: [&[String]; 2], parts: &[Part<'_>]) -> String {
    let mut reasons =
        String::from("\nconst char *netvm_reason(uint32_t element, uint32_t reason)\n{\n    switch ((uint64_t)element << 32 | reason) {\n");
    for part in parts {
        let mut named = std::collections::BTreeSet::new();
        for reason in part.program.module().reasons.iter().filter(|reason| named.insert(reason.at)) {
            let id = (part.n as u64) << 32 | u64::from(reason.at);
            let _ = writeln!(reasons, "    case {id:#x}u: return {};", quoted::string(reason.name.as_bytes()));
        }
    }
    reasons += "    default: return 0;\n    }\n}\n";
    let elements: Vec<String> = parts.iter().map(|part| part.name.to_owned()).collect();
    let list = |what: &str, names: &[String]| {
        let all: String = names.iter().map(|name| format!("{}, ", quoted::string(name.as_bytes()))).collect();
        format!("const char *const netvm_{what}[] = {{ {all}0 }};\n")
    };
    format!("{reasons}\n{}{}{}", list("inputs", inputs), list("outputs", outputs), list("elements", &elements))
}

/// A static array.
fn array(name: &str, bytes: &[u8]) -> String {
    let mut text = format!("{name}[{}] __attribute__((unused, aligned(8)))", bytes.len().max(1));
    let last = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    if last == 0 {
        text += " = { 0 }";
    } else {
        text += " = {";
        for (i, byte) in bytes[..last].iter().enumerate() {
            let _ = write!(text, "{}{byte},", if i % 32 == 0 { "\n    " } else { " " });
        }
        text += "\n}";
    }
    text + ";\n"
}
