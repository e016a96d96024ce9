//! A flat graph and the classes of its elements to an application that can run.
//!
//! ```text
//! graph ──describe classes──▶ shapes ──kinds, cycles──▶ wires
//!   └────resolve arguments──▶ values, text, entries ──compile──▶ modules ──one layout of info memory──▶ verified programs
//! ```
//!
//! A class is known to the runtime, or is a file in C. Each file is described once, and compiled
//! once for all of its elements that differ in nothing but the name. Tables and variables with a
//! scope are found to be one when all programs are made (`scopes`). Elements that only declare
//! names are gone when the names have been read, unless the runtime knows their class.
//!
//! Faults in a class's file are drawn there, with the place in the configuration that uses it.

mod files;
mod named;
mod parts;
mod scopes;

pub use parts::{Part, Parts, Program, parts};

use super::arguments;
use super::cycles;
use super::graph::{Connection, Element, Graph, Port};
use super::processing::{self, Kinds, PortSpec};
use super::syntax::configuration::{ConfigurationSyntax, Generated, Request, Row};
use super::syntax::{ArgumentError, Names, Scope};
use crate::c::{self, Compiled, FlowState, InfoLayout, Instance, SourceFile, Value};
use crate::diagnostics::{Diagnostic, Diagnostics, Sources, Span};
use crate::pcap_filter::suggest::nearest;
use files::Piece;
use netil::Verified;
use netil::app::{self, Application, Body, ByPort, End, PieceOf, TableOf, Wire};
use netil::module::{Entry, Module, TableKind};
use netil::wide::from_be_bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Classes that are listed where one is not there; more are too many to read.
const MOST_SHOWN: usize = 12;
/// Classes whose elements only declare names.
const INFORMATION: [&str; 3] = ["AddressInfo", "PortInfo", "IPRewriterPatterns"];

/// What element classes there are.
pub trait Classes {
    /// The ports of a class that the runtime knows.
    fn builtin(&self, class: &str) -> Option<PortSpec<'static>>;

    /// The annotations that elements of such a class set or read, with their sizes in bytes.
    fn annotations(&self, class: &str) -> &'static [(&'static str, u32)] {
        let _ = class;
        &[]
    }

    /// The ports of a class whose elements are programs in another language.
    fn foreign(&self, class: &str) -> Option<PortSpec<'static>> {
        let _ = class;
        None
    }

    /// The program of an element of such a class, with so many inputs and outputs.
    ///
    /// # Errors
    /// What is wrong with its arguments, or with the program.
    fn program(&self, element: &Element, inputs: u32, outputs: u32) -> Result<Module, Vec<String>> {
        let _ = (inputs, outputs);
        Err(vec![format!("there are no programs of the class {} here", element.class)])
    }

    /// The file of a class: its name and its text.
    fn source(&self, class: &str) -> Option<(String, String)>;

    /// A header that such files include.
    fn include(&self, name: &str) -> Option<String>;

    /// The names of all classes, for those who misspell one.
    fn names(&self) -> Vec<String>;

    /// The routes of a file, for a table with keys of so many bits and values of so many bytes that
    /// begin with a gateway and an output. Where the file names devices, their places in `devices`,
    /// if there are any, are the outputs, of which there are so many; routes that lead nowhere have
    /// output [`u32::MAX`].
    ///
    /// # Errors
    /// Why it cannot be read, or what is wrong in it, with the place.
    fn routes(&self, file: &str, devices: &[&str], outputs: u32, key_bits: u16, value_bytes: usize) -> Result<Vec<Entry>, ArgumentError> {
        let _ = (devices, outputs, key_bits, value_bytes);
        Err(format!("{file}: there are no files here").into())
    }
}

/// What else is known of an application.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Where each instance is declared.
    pub places: Vec<Span>,
    /// The kinds of its ports: inputs, outputs.
    pub kinds: Kinds,
    /// What the configuration requires.
    pub requirements: Vec<String>,
}

/// All that is wrong, each part with the texts that it is about.
#[derive(Clone, Debug)]
pub struct Faults(pub Vec<c::Diagnostics>);

impl Faults {
    /// Draws every fault. `color` adds ANSI colours and changes nothing else.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        self.0.iter().map(|part| part.render(color)).collect()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, part) in self.0.iter().enumerate() {
            write!(f, "{}{part}", if n == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Reads a configuration and makes its application; `parameters` as for [`super::flatten`].
///
/// # Errors
/// All that is wrong with the configuration and with the files of the classes that it uses.
pub fn read(source: SourceFile<'_>, parameters: &BTreeMap<String, String>, classes: &dyn Classes) -> Result<(Application, Facts), Faults> {
    let sources = &Sources::of(source.name, source.text);
    let graph = super::flatten(source.text, parameters).map_err(|Diagnostics(faults)| in_configuration(sources, faults))?;
    application(&graph, classes, sources)
}

/// Makes the application of a graph that was read from `sources`.
///
/// # Errors
/// As for [`read`].
pub fn application(graph: &Graph, classes: &dyn Classes, sources: &Sources) -> Result<(Application, Facts), Faults> {
    let mut maker = Maker { graph, classes, sources, faults: Vec::new(), parts: Vec::new() };
    let known = maker.describe();
    maker.end()?;
    let shapes: Vec<PortSpec<'_>> = graph.elements.iter().map(|element| known[element.class.as_str()].shape()).collect();
    let in_text = |Diagnostics(faults)| in_configuration(sources, faults);
    let kinds = processing::kinds(graph, &shapes).map_err(in_text)?;
    let back = cycles::recirculations(graph, &shapes, &kinds).map_err(in_text)?;
    let (modules, files, info) = maker.modules(&known, &kinds);
    maker.end()?;
    let (mut modules, mut faults) = (modules, Vec::new());
    let shared = scopes::shared(graph, &mut modules, &mut faults);
    faults.iter().for_each(|(n, what)| maker.fault(&graph.elements[*n], what));
    let application = maker.instances(&known, modules, (info, files), &back, &shared);
    maker.end()?;
    let kept = |n: &usize| !graph.elements[*n].is_gone(&known);
    let all = (0..graph.elements.len()).filter(kept);
    let places = all.clone().map(|n| graph.elements[n].span).collect();
    let kinds =
        Kinds { inputs: all.clone().map(|n| kinds.inputs[n].clone()).collect(), outputs: all.map(|n| kinds.outputs[n].clone()).collect() };
    Ok((application, Facts { places, kinds, requirements: graph.requirements.clone() }))
}

fn in_configuration(sources: &Sources, faults: Vec<Diagnostic>) -> Faults {
    Faults(vec![c::Diagnostics { faults: Diagnostics(faults), sources: sources.clone() }])
}

/// What is known of a class.
enum Known {
    Native(PortSpec<'static>),
    Foreign(PortSpec<'static>),
    File(Box<File>),
    /// It only declares names, and the runtime does not know it.
    Gone,
}

struct File {
    class: c::Class,
    name: String,
    text: String,
}

impl Known {
    fn shape(&self) -> PortSpec<'_> {
        match self {
            Self::Native(shape) | Self::Foreign(shape) => *shape,
            Self::File(file) => PortSpec { ports: &file.class.ports, processing: &file.class.processing, flow: &file.class.flow },
            Self::Gone => PortSpec { ports: "0/0", processing: "a/a", flow: "" },
        }
    }

    /// Whether an element's arguments are patterns.
    fn has_patterns(&self) -> bool {
        let Self::File(file) = self else { return false };
        file.class.config.as_ref().and_then(|config| ConfigurationSyntax::named(&config.syntax)).is_some_and(|whole| whole.patterns)
    }
}

impl Element {
    fn is_gone(&self, known: &HashMap<&str, Known>) -> bool {
        matches!(known.get(self.class.as_str()), Some(Known::Gone))
    }
}

struct Maker<'a> {
    graph: &'a Graph,
    classes: &'a dyn Classes,
    sources: &'a Sources,
    /// In the configuration.
    faults: Vec<Diagnostic>,
    /// In files of classes.
    parts: Vec<c::Diagnostics>,
}

/// Programs that are to be verified, by the elements' numbers; elements that differ in nothing but
/// the name have one.
type Modules = HashMap<usize, Rc<Compiled>>;
/// Files that elements print into, by the elements' numbers.
type Files = Vec<(usize, String)>;

impl<'a> Maker<'a> {
    /// The faults so far, if there are any.
    fn end(&mut self) -> Result<(), Faults> {
        let mut parts = std::mem::take(&mut self.parts);
        if !self.faults.is_empty() {
            parts.extend(in_configuration(self.sources, std::mem::take(&mut self.faults)).0);
        }
        if parts.is_empty() { Ok(()) } else { Err(Faults(parts)) }
    }

    fn fault(&mut self, element: &Element, what: impl fmt::Display) {
        self.faults.push(Diagnostic::of_element(element.span, (&element.name, &element.class), what.to_string()));
    }

    /// Adds the faults of a class's file, with a note of who uses it.
    fn part(&mut self, mut found: c::Diagnostics, element: &Element) {
        let start = found.sources.append(self.sources);
        let span = Span { start: element.span.start + start, end: element.span.end + start };
        let note = (span, format!("`{}` is of this class", element.name));
        if let Some(first) = found.faults.0.first_mut() {
            first.notes.push(note);
        }
        self.parts.push(found);
    }

    /// What the classes of all elements say of themselves.
    fn describe(&mut self) -> HashMap<&'a str, Known> {
        let (mut known, mut seen) = (HashMap::new(), HashSet::new());
        for element in &self.graph.elements {
            if seen.insert(element.class.as_str()) {
                known.extend(self.class(element).map(|found| (element.class.as_str(), found)));
            }
        }
        known
    }

    fn class(&mut self, element: &Element) -> Option<Known> {
        if let Some(shape) = self.classes.builtin(&element.class) {
            return Some(Known::Native(shape));
        }
        if let Some(shape) = self.classes.foreign(&element.class) {
            return Some(Known::Foreign(shape));
        }
        if INFORMATION.contains(&element.class.as_str()) {
            return Some(Known::Gone);
        }
        let Some((name, text)) = self.classes.source(&element.class) else {
            self.faults.push(self.unknown(element));
            return None;
        };
        let classes = self.classes;
        match c::describe(SourceFile { name: &name, text: &text }, &|name| classes.include(name)) {
            Ok(class) if class.name == element.class => Some(Known::File(Box::new(File { class, name, text }))),
            Ok(class) => {
                self.part(other(&class, element, &name, &text), element);
                None
            }
            Err(found) => {
                self.part(found, element);
                None
            }
        }
    }

    fn unknown(&self, element: &Element) -> Diagnostic {
        let fault = Diagnostic::new(element.span, format!("there is no element class `{}`", element.class));
        let names = self.classes.names();
        let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let near = nearest(&element.class, lower.iter().map(String::as_str)).and_then(|near| lower.iter().position(|name| name == near));
        match near {
            Some(at) => fault.help(format!("did you mean `{}`?", names[at])),
            None if names.is_empty() => fault,
            None if names.len() > MOST_SHOWN => {
                let own = format!("one of your own is a file {}.c in a folder that --elements DIR names", element.class);
                fault.help(format!("`netvm elements` lists the classes; {own}, or in the folder elements beside the configuration"))
            }
            None => fault.help(format!("there are {}", names.join(", "))),
        }
    }

    /// The info memory that elements have which the runtime knows; an element in C that has a field
    /// of that name with another size is told of it.
    fn annotations(&self) -> InfoLayout {
        let mut info = InfoLayout::default();
        for (name, size) in self.graph.elements.iter().flat_map(|element| self.classes.annotations(&element.class)) {
            let _known = info.place(name, *size);
        }
        info
    }

    /// The modules of all programs, the files that they print into, and their info memory.
    fn modules(&mut self, known: &HashMap<&str, Known>, kinds: &Kinds) -> (Modules, Files, InfoLayout) {
        let (names, faults) = Names::of(self.graph);
        self.faults.extend(faults);
        let (mut modules, mut info) = (Modules::new(), self.annotations());
        let (mut made, mut files) = (HashMap::new(), Files::new());
        for (n, element) in self.graph.elements.iter().enumerate() {
            let file = match &known[element.class.as_str()] {
                Known::File(file) => file,
                Known::Foreign(_) => {
                    modules.extend(self.foreign(element, [&kinds.inputs[n], &kinds.outputs[n]]).map(|module| (n, Rc::new(module))));
                    continue;
                }
                Known::Native(_) | Known::Gone => continue,
            };
            let instance = match instance(element, file, [&kinds.inputs[n], &kinds.outputs[n]], &names.at(&element.name), self.classes) {
                Ok(instance) => instance,
                Err(faults) => {
                    faults.iter().for_each(|fault| self.fault(element, fault));
                    continue;
                }
            };
            files.extend(file.class.prints_into(&instance.values).map(|name| (n, name.to_owned())));
            let alike = alike(&file.name, &instance);
            let same = alike.as_ref().and_then(|alike| modules.get(made.get(alike)?)).map(Rc::clone);
            if let Some(module) = same.or_else(|| self.module(element, file, &instance, &mut info).map(Rc::new)) {
                module.refused.iter().for_each(|wrong| self.fault(element, wrong));
                modules.insert(n, module);
                made.extend(alike.map(|alike| (alike, n)));
            }
        }
        (modules, files, info)
    }

    /// The module of an element that is a program in another language, unless it has faults.
    fn foreign(&mut self, element: &Element, [inputs, outputs]: [&Vec<processing::Kind>; 2]) -> Option<Compiled> {
        let module = self.classes.program(element, inputs.len() as u32, outputs.len() as u32);
        let module = module.map_err(|faults| faults.iter().for_each(|fault| self.fault(element, fault))).ok()?;
        self.check_tables(element, &module);
        let scopes = module.tables.iter().map(|_| Default::default()).collect();
        let module = Module { name: element.name.clone(), ..module };
        Some(Compiled { module, scopes, ..Compiled::default() })
    }

    /// An instance's module, unless it has faults.
    fn module(&mut self, element: &Element, file: &File, instance: &Instance, info: &mut InfoLayout) -> Option<Compiled> {
        let classes = self.classes;
        match c::compile(file.source(), &|name| classes.include(name), instance, info) {
            Ok(compiled) => {
                self.check_tables(element, &compiled.module);
                Some(compiled)
            }
            Err(found) => {
                // What is wrong with a class is said once.
                if !self.parts.iter().any(|part| said(part) == said(&found)) {
                    self.part(found, element);
                }
                None
            }
        }
    }

    fn check_tables(&mut self, element: &Element, module: &Module) {
        for table in module.tables.iter().filter(|table| table.entries.len() > table.capacity as usize) {
            let (count, room) = (table.entries.len(), table.capacity);
            self.fault(element, format!("{count} entries for the table `{}`, which has room for {room}", table.name));
        }
    }

    /// An element's program, unless it is refused.
    fn verified(&mut self, element: &Element, module: Module) -> Option<Arc<Verified>> {
        let wrong = match netil::verify(module) {
            Ok(program) => return Some(Arc::new(program)),
            Err(wrong) => wrong,
        };
        wrong.iter().for_each(|wrong| self.fault(element, format!("its program is refused: {wrong}")));
        None
    }

    /// Verified programs, built-in elements, and the wires between them.
    fn instances(
        &mut self,
        known: &HashMap<&str, Known>,
        modules: Modules,
        (info, files): (InfoLayout, Files),
        back: &[Connection],
        shared: &scopes::Together,
    ) -> Application {
        let (names, info_size) = (Names::of(self.graph).0, info.size());
        let (mut instances, mut numbers, mut arguments) = (Vec::new(), HashMap::new(), Vec::new());
        let (mut by_flow, mut by_port, mut variables, mut layouts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut data, mut programs, mut patterned) = (Vec::new(), HashMap::new(), BTreeSet::new());
        for (n, element) in self.graph.elements.iter().enumerate().filter(|(_, element)| !element.is_gone(known)) {
            let (mut part, mut statics, mut fields, mut own) = (None, Vec::new(), Vec::new(), Vec::new());
            let body = match modules.get(&n) {
                None => Some(Body::BuiltIn(named::arguments(element, &names.at(&element.name)))),
                Some(compiled) => {
                    own = scopes::data(compiled, instances.len() as u32);
                    (part, statics, fields) = (compiled.part, compiled.statics.clone(), compiled.layouts.clone());
                    let module = || Module { info_size, info_fields: info.fields.clone(), ..compiled.module.clone() };
                    let program = programs.entry(Rc::as_ptr(compiled)).or_insert_with(|| self.verified(element, module()));
                    program.clone().map(Body::Program)
                }
            };
            let Some(body) = body else { continue };
            numbers.insert(n, instances.len() as u32);
            let instance = instances.len() as u32;
            match if let Known::File(file) = &known[element.class.as_str()] { &file.class.flow_state } else { &None } {
                Some(FlowState::Addresses) => by_flow.push(instance),
                Some(FlowState::Ports(inputs)) => by_port.extend(part.map(|part| ByPort { instance, part, inputs: inputs.clone() })),
                None => {}
            }
            arguments.push(element.arguments.clone());
            patterned.extend(known[element.class.as_str()].has_patterns().then_some(instance));
            variables.push(statics);
            layouts.push(fields);
            data.extend(own);
            instances.push(app::Instance { name: element.name.clone(), class: element.class.clone(), body });
        }
        let end = |port: Port| Some(End { instance: *numbers.get(&port.element)?, port: port.port });
        let back: HashSet<(Port, Port)> = back.iter().map(|c| (c.from, c.to)).collect();
        let wire = |c: &Connection| Some(Wire { from: end(c.from)?, to: end(c.to)?, recirculates: back.contains(&(c.from, c.to)) });
        let mut wires: Vec<Wire> = self.graph.connections.iter().filter_map(wire).collect();
        wires.sort_unstable();
        let table = |at: &scopes::At| Some(TableOf { instance: *numbers.get(&at.0)?, table: at.1 as u32 });
        let piece = |(n, at, len): &(usize, u32, u32)| Some(PieceOf { instance: *numbers.get(n)?, at: *at, len: *len });
        let pieces = shared.variables.iter().map(|list| list.iter().filter_map(piece).collect()).collect();
        let shared = shared.tables.iter().map(|list| list.iter().filter_map(table).collect()).collect();
        let files = files.into_iter().filter_map(|(n, file)| Some((*numbers.get(&n)?, file))).collect();
        let info = info.fields;
        Application {
            instances,
            wires,
            info,
            info_size,
            shared,
            pieces,
            arguments,
            variables,
            layouts,
            data,
            files,
            by_flow,
            by_port,
            patterned,
            ..Application::default()
        }
    }
}

impl File {
    fn source(&self) -> SourceFile<'_> {
        SourceFile { name: &self.name, text: &self.text }
    }
}

/// Says that a file declares another class than it is the file of.
fn other(class: &c::Class, element: &Element, name: &str, text: &str) -> c::Diagnostics {
    let mut sources = Sources::default();
    sources.add(name, text);
    let message = format!("this is the file of `{}`, and it declares the class `{}`", element.class, class.name);
    let fault =
        Diagnostic::new(class.span, message).help(format!("write ELEMENT({}, ...), or name the file {}.c", element.class, class.name));
    c::Diagnostics { faults: Diagnostics(vec![fault]), sources }
}

/// What the faults say, and where.
fn said(part: &c::Diagnostics) -> Vec<(&str, Span, &str)> {
    part.faults.0.iter().map(|fault| (part.sources.line(fault.span.start).0, fault.span, fault.message.as_str())).collect()
}

/// All of an instance but its name; none of one with entries, which are many and seldom the same.
fn alike(file: &str, instance: &Instance) -> Option<String> {
    let Instance { name: _, inputs, outputs, values, generated, entries } = instance;
    entries.is_empty().then(|| format!("{file} {inputs:?} {outputs:?} {values:?} {generated}"))
}

/// What an element's arguments make of its class.
fn instance(
    element: &Element,
    file: &File,
    ports: [&Vec<processing::Kind>; 2],
    names: &Scope<'_>,
    classes: &dyn Classes,
) -> Result<Instance, Vec<ArgumentError>> {
    let class = &file.class;
    let resolved = arguments::resolve(&class.params, &element.arguments, class.config.is_some(), names)?;
    let [inputs, outputs] = ports;
    let mut instance = Instance {
        name: element.name.clone(),
        inputs: inputs.clone(),
        outputs: outputs.clone(),
        values: resolved.values.into_iter().collect(),
        ..Instance::default()
    };
    if let Some(config) = &class.config {
        let ty = config.ctype.as_ref().and_then(arguments::Type::of);
        let counts = [inputs.len() as u32, outputs.len() as u32];
        let request = Request { name: &config.name, arguments: &[], names: *names, inputs: counts[0], outputs: counts[1], ty: ty.as_ref() };
        write(class, config, resolved.rest, &request, classes, &mut instance)?;
    }
    Ok(instance)
}

/// What a class's own syntax makes of arguments, and of the files among them.
fn write(
    class: &c::Class,
    config: &c::Config,
    arguments: Vec<String>,
    request: &Request<'_>,
    classes: &dyn Classes,
    instance: &mut Instance,
) -> Result<(), Vec<ArgumentError>> {
    let whole = ConfigurationSyntax::named(&config.syntax)
        .ok_or_else(|| vec![ArgumentError::new(format!("its class asks for the syntax {}, which there is not", config.syntax))])?;
    let pieces = files::pieces(&config.syntax, arguments);
    let (mut all, several) = (Vec::new(), pieces.len() > 1);
    for Piece { arguments, file } in pieces {
        let Generated { source, rows, entries: of_text } = whole.write(&Request { arguments: &arguments, ..*request })?;
        instance.generated += &source;
        instance.entries.extend(of_text);
        let read = |file: &str, table: &c::Table| files::read(file, table, request.outputs, classes);
        all.extend(entries(class, &config.name, rows, file.as_deref(), &read).map_err(|wrong| vec![wrong])?);
    }
    if !all.is_empty() {
        instance.entries.insert(config.name.clone(), if several { files::last_of_each(all) } else { all });
    }
    Ok(())
}

/// What reads a file's entries for a table.
type ReadFile<'a> = dyn Fn(&str, &c::Table) -> Result<Vec<Entry>, ArgumentError> + 'a;

/// Rows, and behind them what a file has, as entries of a table of the class.
fn entries(class: &c::Class, name: &str, rows: Vec<Row>, file: Option<&str>, read: &ReadFile<'_>) -> Result<Vec<Entry>, ArgumentError> {
    if rows.is_empty() && file.is_none() {
        return Ok(Vec::new());
    }
    let table = class.tables.iter().find(|table| table.name == name).ok_or_else(|| format!("its class has no table `{name}`"))?;
    let mut all = rows.into_iter().map(|row| entry(table, row)).collect::<Result<Vec<_>, _>>()?;
    if let Some(file) = file {
        all.extend(read(file, table)?);
    }
    Ok(all)
}

fn entry(table: &c::Table, row: Row) -> Result<Entry, ArgumentError> {
    let ranges = row.priority > 0;
    if table.key.size() as usize != row.key.len() || ranges && table.kind != TableKind::Range {
        return Err(ArgumentError::new(format!("the table `{}` has other keys", table.name)));
    }
    let mut value = vec![0; table.value.size() as usize];
    for (member, set) in &row.values {
        put(&mut value, &table.value, member, set)
            .ok_or_else(|| format!("the values of the table `{}` have no member `{member}`", table.name))?;
    }
    Ok(Entry { key: from_be_bytes(&row.key).into(), mask: from_be_bytes(&row.mask).into(), priority: row.priority, value: value.into() })
}

/// Puts a member of a value in its place; without a name, all of it. Numbers in values are
/// little-endian, whatever they are in packets.
fn put(bytes: &mut [u8], ctype: &c::Type, member: &str, set: &Value) -> Option<()> {
    let (offset, ctype) = match ctype {
        c::Type::Struct(of) => of.member(member).map(|(_, ty, offset)| (offset, ty))?,
        ctype => (0, Some(ctype).filter(|_| member.is_empty())?),
    };
    let place = bytes.get_mut(offset as usize..(offset + ctype.size()) as usize)?;
    match set {
        Value::Bytes(set) if set.len() == place.len() => {
            place.copy_from_slice(set);
            if matches!(ctype, c::Type::Be(_) | c::Type::Mac | c::Type::In6) {
                place.reverse();
            }
        }
        Value::Int(number) if place.len() <= 8 => place.copy_from_slice(&number.to_le_bytes()[..place.len()]),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests;
