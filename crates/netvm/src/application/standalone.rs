//! A configuration as one C program that needs nothing but a compiler of C: `netvm.h`, a copy of
//! each class's file for each instance, the wires as calls, and the standalone runtime
//! (elements/standalone/direct.h says what the parts are called).
//!
//! The copies of two instances share nothing but variables with a scope: every name at file level
//! is replaced by one of its own, by a macro around the copy. What netvm itself has is `roles`'
//! business, by class. Random numbers of elements in C are others than netvm's.

mod literal;
mod role;
mod roles;
mod wires;

use super::library::Library;
use super::{click, drawn_in};
use crate::Error;
use ::compiler::backends::c::quoted;
use ::frontends::c::{self, PlainVariable, SourceFile, TableScope};
use ::frontends::diagnostics::{Diagnostic, Diagnostics, Sources};
use click::application::{Faults, Part, Parts, Program, parts};
use click::graph::Element;
use netil::app::TableOf;
use role::{End, Role};
use roles::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use wires::Wires;

/// The runtime's files behind the instances, in their order.
#[rustfmt::skip]
const RUNTIME: [&str; 15] = [
    "netvm.c", "table.c", "digest.c", "search.c", "handlers.c", "capture.c", "direct.c", "rates.c", "made.c", "queues.c", "moves.c", "scheds.c", "ends.c", "schedule.c", "command.c",
];
/// What elements print with.
const PRINTS: [&str; 11] = [
    "print",
    "print_text",
    "print_uint",
    "print_int",
    "print_hex",
    "print_ip",
    "print_ip6",
    "print_mac",
    "print_bytes",
    "print_ascii",
    "print_time",
];
/// Of info memory; what `netvm_standalone.h` has room for.
const MOST_INFO: u32 = 512;

/// The text of a configuration's program.
///
/// # Errors
/// Faults of the configuration, and elements that such programs cannot have.
pub(super) fn program(
    name: &str,
    sources: &Sources,
    flat: &click::Graph,
    together: &[Vec<TableOf>],
    library: &Library,
) -> Result<String, Error> {
    let parts = parts(flat, library, sources).map_err(Error::Configuration)?;
    let (wires, out, faults, copies) = (Wires::new(flat, &parts), String::new(), Vec::new(), Faults(Vec::new()));
    let mut writer = Writer { flat, wires, library, out, faults, copies, variables: BTreeSet::new(), together, tables: BTreeMap::new() };
    writer.write(name, &parts);
    match (writer.faults.is_empty(), writer.copies.0.is_empty()) {
        (true, true) => Ok(writer.out),
        (false, _) => Err(Error::Configuration(drawn_in(sources, Diagnostics(writer.faults)))),
        _ => Err(Error::Configuration(writer.copies)),
    }
}

struct Writer<'a> {
    flat: &'a click::Graph,
    wires: Wires<'a>,
    library: &'a Library,
    out: String,
    faults: Vec<Diagnostic>,
    copies: Faults,
    /// Variables of several elements that have been declared, by their names in the program.
    variables: BTreeSet<String>,
    /// Tables that are one, by instances' numbers; the first of each list is the one.
    together: &'a [Vec<TableOf>],
    /// The names in the program of elements' tables.
    tables: BTreeMap<usize, Vec<String>>,
}

impl Writer<'_> {
    fn write(&mut self, name: &str, parts: &Parts) {
        let numbered = parts.parts.iter().enumerate();
        let roles: BTreeMap<usize, Role> = numbered
            .filter(|(_, part)| part.program.is_none())
            .filter_map(|(instance, part)| Some((part.element, self.role(instance, part.element)?)))
            .collect();
        self.head(name, &parts.parts);
        self.marks(&parts.parts);
        parts.parts.iter().filter(|part| part.program.is_some()).for_each(|part| self.declare(part.element));
        for (element, role) in &roles {
            self.out += &role.declarations(&self.wires.identifier(*element));
        }
        for part in &parts.parts {
            if let Some(program) = &part.program {
                self.instance(part.element, program);
            }
        }
        for (element, role) in &roles {
            self.runtimes(*element, role, &roles);
        }
        self.tail(parts, &roles);
    }

    /// An element that netvm itself has.
    fn runtimes(&mut self, element: usize, role: &Role, roles: &BTreeMap<usize, Role>) {
        let (e, name) = (self.wires.identifier(element), &self.flat.elements[element].name);
        let any = self.wires.any_before(element, roles, 0);
        let ready = format!("static inline bool {e}_nv_ready(void)\n{{\n    return {any};\n}}\n");
        let _ = write!(self.out, "\n{}\n{}{ready}{}", self.declared(element), self.wires.around_role(element), role.text(&e, name));
    }

    /// Marks where the IP header of a packet is, in the fields that there are for that; false if it
    /// has none.
    fn marks(&mut self, parts: &[Part]) {
        let fields: BTreeSet<String> = info(parts).into_iter().map(|(name, ..)| name).collect();
        let mark = |field: &str, ty: &str, value: &str| match fields.contains(field) {
            true => format!("    *({ty} *) (nv_packet->info + nv_info_{field}) = {value};\n"),
            false => String::new(),
        };
        let marks = [
            mark("network_header", "i32", "at + nv_packet->moved"),
            mark("has_network_header", "bool", "true"),
            mark("transport_header", "i32", "at + nv_packet->moved + (nv_packet->data[at] & 15) * 4"),
            mark("has_transport_header", "bool", "true"),
        ];
        let _ = write!(
            self.out,
            "\nstatic inline bool nv_mark_ip(int at)\n{{\n    if (at < 0)\n        return false;\n{}    return true;\n}}\n\n",
            marks.concat()
        );
    }

    /// A comment that says which element this is.
    fn declared(&self, element: usize) -> String {
        let Element { name, class, arguments, .. } = &self.flat.elements[element];
        let arguments = arguments.join(", ");
        let shown = if arguments.is_empty() { String::new() } else { format!("({arguments})") };
        quoted::comment(&format!("{name} :: {class}{shown}"))
    }

    fn fault(&mut self, element: usize, what: &str) {
        let Element { name, class, span, .. } = &self.flat.elements[element];
        self.faults.push(Diagnostic::of_element(*span, (name, class), what));
    }

    /// What an element that netvm itself has is here; nothing if it does nothing, or cannot be,
    /// which is a fault.
    fn role(&mut self, instance: usize, element: usize) -> Option<Role> {
        let Element { name, class, arguments, .. } = &self.flat.elements[element];
        let seed = (instance as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        roles::role(&Context { wires: &self.wires, element, name, class, arguments, seed }).unwrap_or_else(|why| {
            self.fault(element, &why.to_string());
            None
        })
    }

    /// What comes before the instances.
    fn head(&mut self, name: &str, parts: &[Part]) {
        let info = info(parts);
        let size = info.last().map_or(0, |(_, at, size)| at + size).next_multiple_of(8);
        if size > MOST_INFO {
            self.faults.push(Diagnostic::new(Default::default(), format!("its annotations take {size} bytes, of {MOST_INFO}")));
        }
        let _ = write!(
            self.out,
            "{}\n/* One program: gcc -O3 -march=native -fwrapv -fno-strict-aliasing -o program THIS.c */\n\
             #define _DEFAULT_SOURCE 1\n#define _POSIX_C_SOURCE 200809L\n#define NV_DIRECT\n#define NV_GENERATED\n#define NV_INFO_BYTES {}\n",
            quoted::comment(name),
            size.max(8)
        );
        let mut seen = BTreeSet::new();
        self.runtime("elements.h", &mut seen);
        for (field, at, _) in info {
            let _ = writeln!(self.out, "static const u32 nv_info_{field} = {at};");
        }
    }

    /// A file of the runtime with what it includes, each once.
    fn runtime(&mut self, name: &str, seen: &mut BTreeSet<String>) {
        if !seen.insert(name.to_owned()) {
            return;
        }
        let text = self.library.runtime(name).unwrap_or_default();
        let _ = writeln!(self.out, "\n/* ==== {name} ==== */");
        for line in text.lines() {
            let own = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
            match own.or_else(|| line.contains("<netvm.h>").then_some("netvm.h")) {
                Some(included) => self.runtime(included, seen),
                None => {
                    self.out.push_str(line);
                    self.out.push('\n');
                }
            }
        }
    }

    /// Functions of an instance that others call, or that its own text does.
    fn declare(&mut self, element: usize) {
        let e = self.wires.identifier(element);
        let _ = writeln!(self.out, "static struct nv_element {e};");
        for function in ["in", "emit", "clone"] {
            let _ = writeln!(self.out, "static inline void {e}_nv_{function}(int port);");
        }
        for function in ["output", "input"] {
            let _ = writeln!(self.out, "static inline bool {e}_nv_{function}_is_push(int port);");
        }
        let _ = writeln!(self.out, "static inline struct nv_packet *{e}_nv_pull(int port);\nstatic inline bool {e}_nv_ask(int input);");
    }

    /// What comes before a class's file.
    fn begin_instance(&mut self, element: usize, program: &Program) {
        let e = self.wires.identifier(element);
        let _ = write!(self.out, "\n{}\n#define nv_self {e}\n", self.declared(element));
        if program.class.prints_into(&program.instance.values).is_some() {
            let into = |name: &&str| format!("#define {name}(...) (nv_print_to({e}_nv_file), {name}(__VA_ARGS__), nv_print_to(0))\n");
            let prints: String = PRINTS.iter().map(into).collect();
            let _ = write!(self.out, "static FILE *{e}_nv_file;\n{prints}");
        }
        let (inputs, outputs) = (program.instance.inputs.len(), program.instance.outputs.len());
        let _ = write!(self.out, "#define NINPUTS {inputs}\n#define NOUTPUTS {outputs}\n");
    }

    /// A copy of a class's file, with the element's own names, and what connects it.
    fn instance(&mut self, element: usize, program: &Program) {
        let e = self.wires.identifier(element);
        let source = SourceFile { name: &program.file, text: &program.text };
        let plain = match c::plain(source, &|name| self.library.header(name).map(|(_, text)| text), &program.instance) {
            Ok(plain) => plain,
            Err(found) => return self.copies.0.push(found),
        };
        self.begin_instance(element, program);
        self.tables.insert(element, plain.tables.iter().map(|table| format!("{e}_{}", table.name)).collect());
        let shared: BTreeMap<&str, String> =
            plain.variables.iter().filter_map(|v| Some((v.name.as_str(), self.shared(element, &program.class.name, v)?))).collect();
        let called = |name: &str| shared.get(name).cloned().unwrap_or_else(|| format!("{e}_{name}"));
        for param in &program.class.params {
            self.out += &literal::parameter(&called(&param.name), param, program.instance.values.get(&param.name));
        }
        // The first that has a variable declares it.
        self.out += &plain.text(called, |name| shared.get(name).is_some_and(|name| self.variables.contains(name)));
        self.variables.extend(shared.into_values());
        self.out += &literal::fill(&e, &plain.tables, &program.instance.entries);
        for name in ["nv_self", "NINPUTS", "NOUTPUTS"].into_iter().chain(PRINTS) {
            let _ = writeln!(self.out, "#undef {name}");
        }
        let Element { name, .. } = &self.flat.elements[element];
        self.out += &self.wires.program(element, name, &plain.handlers, plain.says("clone"));
    }

    /// The name in the program of a variable that several elements have.
    fn shared(&mut self, element: usize, class: &str, variable: &PlainVariable) -> Option<String> {
        let name = &variable.name;
        let shared = match &variable.scope {
            TableScope::Global => format!("nv_{class}_{name}"),
            TableScope::Universal => format!("nv_all_{name}"),
            _ => {
                self.fault(element, &format!("in the standalone build, elements have no variables of others, and `{name}` is one"));
                return None;
            }
        };
        if !variable.is_plain {
            let what = format!(
                "in the standalone build, what elements have together is a number, an address or an array of such, declared by itself: `{name}`"
            );
            self.fault(element, &what);
        }
        Some(shared)
    }

    /// Statements by which elements have the files that they print into.
    fn files(&self, programs: &[&Part]) -> String {
        let file = |part: &&Part| {
            let program = part.program.as_ref()?;
            let name = program.class.prints_into(&program.instance.values)?;
            Some(format!("    {}_nv_file = nv_print_file({});\n", self.wires.identifier(part.element), quoted::string(name.as_bytes())))
        };
        programs.iter().filter_map(file).collect()
    }

    /// Statements by which tables of several elements become one; their entries come when they are.
    fn links(&self, parts: &Parts) -> String {
        let named = |of: &TableOf| {
            let element = parts.parts.get(of.instance as usize)?.element;
            self.tables.get(&element)?.get(of.table as usize)
        };
        let link = |(first, other): (&TableOf, &TableOf)| Some(format!("    {}.nv_table = {}.nv_table;\n", named(other)?, named(first)?));
        let pairs = self.together.iter().flat_map(|list| list.iter().skip(1).map(|other| (&list[0], other)));
        pairs.filter_map(link).collect()
    }

    /// What comes behind the instances: the program as a whole, and the runtime.
    fn tail(&mut self, parts: &Parts, roles: &BTreeMap<usize, Role>) {
        let programs: Vec<&Part> = parts.parts.iter().filter(|part| part.program.is_some()).collect();
        let filled = programs.iter().filter(|part| part.program.as_ref().is_some_and(|p| !p.instance.entries.is_empty()));
        let fills: String = filled.map(|part| format!("    {}_nv_fill();\n", self.wires.identifier(part.element))).collect();
        let (files, links) = (self.files(&programs), self.links(parts));
        let _ = write!(self.out, "\nvoid nv_fill(void)\n{{\n{files}{links}{fills}}}\n");
        let (turns, tasks) = self.wires.tasks(roles);
        self.out += &turns;
        let is_there = |part: &&Part| part.program.is_some() || roles.contains_key(&part.element);
        let elements: Vec<String> = parts.parts.iter().filter(is_there).map(|part| self.wires.identifier(part.element)).collect();
        let listed = |kind: &str, names: &[String]| {
            let all: String = names.iter().map(|name| format!("    &{name},\n")).collect();
            format!("static struct {kind} *const {kind}s[] = {{\n{all}    0,\n}};\n")
        };
        let [sources, sinks] = self.wires.ends(roles);
        self.out += &listed("nv_element", &elements);
        self.out += &listed("nv_source", &sources);
        self.out += &listed("nv_sink", &sinks);
        let counts = [elements.len(), sources.len(), sinks.len(), tasks].map(|n| n.to_string()).join(", ");
        let simulated = !roles.values().any(|role| role.end == End::Source { pulled: false });
        let _ = write!(
            self.out,
            "\nint main(int argc, char **argv)\n{{\n    static const struct nv_program program = {{ nv_elements, nv_sources, nv_sinks, {counts}, {simulated} }};\n\n    \
             return nv_main(argc, argv, &program);\n}}\n"
        );
        let mut seen = BTreeSet::from(["netvm.h", "netvm_standalone.h", "netvm_run.h", "direct.h", "elements.h"].map(str::to_owned));
        for name in RUNTIME {
            self.runtime(name, &mut seen);
        }
    }
}

/// The info fields of all classes: name, offset, size.
fn info(parts: &[Part]) -> Vec<(String, u32, u32)> {
    let (mut fields, mut at) = (Vec::new(), 0u32);
    let mut seen = BTreeSet::new();
    for (name, size) in parts.iter().filter_map(|part| part.program.as_ref()).flat_map(|program| &program.class.info) {
        if seen.insert(name.clone()) {
            at = at.next_multiple_of((*size).clamp(1, 8).next_power_of_two());
            fields.push((name.clone(), at, *size));
            at += size;
        }
    }
    fields
}
