//! One scope: the elements and connections of a configuration or of one alternative of a compound,
//! names resolved, shorthand written out.
//!
//! Invariants: an element class is visible from behind its definition to the end of its scope; a
//! parameter in all of its scope. Groups are scopes of ports only: each becomes two tunnels, an
//! entrance and an exit.

use super::ast::{Class, Compound, Connection, Endpoint, Name, Ports, Reference, Side, Statement, Text};
use super::values::Values;
use crate::diagnostics::{Diagnostic, Kind, Span};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// What an element class name means.
pub(super) enum Meaning<'a> {
    /// A class that is not made of others.
    Primitive(String),
    Compound(Definition<'a>),
    /// No element: what enters leaves at the same port.
    Tunnel,
}

/// A compound and all that its text may refer to.
pub(super) struct Definition<'a> {
    /// The class's name; empty where it has none.
    pub(super) name: String,
    pub(super) compound: &'a Compound,
    pub(super) view: View,
    pub(super) values: Rc<Values>,
    /// What the name meant before, if `...` asks for it.
    pub(super) before: Option<Rc<Meaning<'a>>>,
}

/// The classes visible at some place: so many of a scope, and those around it.
#[derive(Clone, Copy)]
pub(super) struct View {
    scope: usize,
    count: usize,
}

/// The classes defined in each scope.
#[derive(Default)]
pub(super) struct Classes<'a>(Vec<ClassesOf<'a>>);

#[derive(Default)]
struct ClassesOf<'a> {
    around: Option<View>,
    all: Vec<Rc<Meaning<'a>>>,
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Classes<'a> {
    /// A scope inside another one.
    pub(super) fn open(&mut self, around: Option<View>) -> usize {
        self.0.push(ClassesOf { around, ..ClassesOf::default() });
        self.0.len() - 1
    }

    fn here(&self, scope: usize) -> View {
        View { scope, count: self.0[scope].all.len() }
    }

    fn define(&mut self, scope: usize, name: &'a str, meaning: Rc<Meaning<'a>>) {
        let of = &mut self.0[scope];
        of.by_name.entry(name).or_default().push(of.all.len());
        of.all.push(meaning);
    }

    fn find(&self, view: View, name: &str) -> Option<Rc<Meaning<'a>>> {
        let mut at = Some(view);
        while let Some(View { scope, count }) = at {
            let of = &self.0[scope];
            let visible = of.by_name.get(name).and_then(|all| all[..all.partition_point(|n| *n < count)].last());
            if let Some(&n) = visible {
                return Some(Rc::clone(&of.all[n]));
            }
            at = of.around;
        }
        None
    }
}

/// An element of a scope.
pub(super) struct Declared<'a> {
    pub(super) name: String,
    pub(super) meaning: Rc<Meaning<'a>>,
    pub(super) text: Option<&'a Text>,
    pub(super) span: Span,
}

/// A connection between elements of a scope: their numbers and ports.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) from: (usize, u32),
    pub(super) to: (usize, u32),
    pub(super) span: Span,
}

/// What a scope holds.
#[derive(Default)]
pub(super) struct Body<'a> {
    pub(super) elements: Vec<Declared<'a>>,
    pub(super) links: Vec<Link>,
    /// Entrances with their exits.
    pub(super) tunnels: Vec<(usize, usize)>,
    pub(super) requirements: Vec<&'a Text>,
    pub(super) faults: Vec<Diagnostic>,
}

/// One side of an element in a connection.
struct End {
    element: usize,
    ports: Vec<u32>,
    /// More ports follow as needed.
    open: bool,
    /// Nothing was said of ports.
    unsaid: bool,
    span: Span,
}

/// Reads a scope.
pub(super) struct Reader<'a, 'c> {
    classes: &'c mut Classes<'a>,
    scope: usize,
    values: Rc<Values>,
    body: Body<'a>,
    names: HashMap<String, usize>,
    /// Words that were taken for classes.
    taken: HashMap<&'a str, Span>,
    /// What `input` and `output` are here: those of the innermost group or the compound.
    sides: Vec<[usize; 2]>,
    /// Elements that have no name of their own: the two sides.
    hidden: usize,
    /// The sides of groups.
    groups: Vec<(usize, &'static str, Span)>,
}

impl<'a, 'c> Reader<'a, 'c> {
    /// For the statements of a compound whose sides are elements 0 and 1, or of the whole
    /// configuration, which has none.
    pub(super) fn read(
        classes: &'c mut Classes<'a>,
        view: Option<View>,
        values: Rc<Values>,
        inside: bool,
        statements: &'a [Statement],
    ) -> Body<'a> {
        let scope = classes.open(view);
        let (body, names, taken) = Default::default();
        let mut reader = Self { classes, scope, values, body, names, taken, sides: Vec::new(), hidden: 0, groups: Vec::new() };
        if inside {
            reader.open_sides();
        }
        reader.statements(statements);
        reader.check_groups();
        reader.body
    }

    /// Every port of a group is connected on both of its sides.
    fn check_groups(&mut self) {
        let mut ports: HashMap<usize, [BTreeSet<u32>; 2]> = HashMap::new();
        for link in &self.body.links {
            ports.entry(link.to.0).or_default()[0].insert(link.to.1);
            ports.entry(link.from.0).or_default()[1].insert(link.from.1);
        }
        for (side, what, span) in std::mem::take(&mut self.groups) {
            let [entered, left] = ports.remove(&side).unwrap_or_default();
            if let Some(port) = entered.symmetric_difference(&left).next() {
                self.fault(Diagnostic::new(span, format!("{what} port {port} of the group is connected on one side only")));
            } else if let Some((_, port)) = left.iter().zip(0..).find(|(port, n)| *port != n) {
                self.fault(Diagnostic::new(span, format!("{what} port {port} of the group is missing")));
            }
        }
    }

    fn fault(&mut self, fault: Diagnostic) {
        self.body.faults.push(fault);
    }

    fn open_sides(&mut self) -> [usize; 2] {
        let mut side = || self.add(String::new(), Rc::new(Meaning::Tunnel), None, Span::default());
        let sides = [side(), side()];
        self.hidden += 2;
        self.sides.push(sides);
        sides
    }

    fn add(&mut self, name: String, meaning: Rc<Meaning<'a>>, text: Option<&'a Text>, span: Span) -> usize {
        self.body.elements.push(Declared { name, meaning, text, span });
        self.body.elements.len() - 1
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            match statement {
                Statement::Class(name, class) => self.define(name, class),
                Statement::Require(text) => self.body.requirements.push(text),
                Statement::Define(_) => {} // taken in before the scope was read
                Statement::Tunnel(from, to) => self.tunnel(from, to),
                Statement::Connection(connection) => self.connection(connection),
            }
        }
    }

    fn define(&mut self, name: &'a Name, class: &'a Class) {
        let meaning = self.meaning(class, Some(name));
        self.classes.define(self.scope, &name.text, meaning);
    }

    fn meaning(&mut self, class: &'a Class, name: Option<&Name>) -> Rc<Meaning<'a>> {
        let view = self.classes.here(self.scope);
        match class {
            Class::Name(name) => self.classes.find(view, &name.text).unwrap_or_else(|| Rc::new(Meaning::Primitive(name.text.clone()))),
            Class::Compound(compound) => {
                let primitive = |name: &Name| Rc::new(Meaning::Primitive(name.text.clone()));
                let before = name.map(|name| self.classes.find(view, &name.text).unwrap_or_else(|| primitive(name)));
                if compound.extends && before.is_none() {
                    self.fault(Diagnostic::new(compound.span, "`...` extends a class, and this compound has no name"));
                }
                let before = before.filter(|_| compound.extends);
                let name = name.map(|name| name.text.clone()).unwrap_or_default();
                Rc::new(Meaning::Compound(Definition { name, compound, view, values: Rc::clone(&self.values), before }))
            }
        }
    }

    fn tunnel(&mut self, from: &'a Name, to: &'a Name) {
        let mut end = |name: &Name| self.declare(name, Rc::new(Meaning::Tunnel), None);
        if let (Some(from), Some(to)) = (end(from), end(to)) {
            self.body.tunnels.push((from, to));
        }
    }

    /// Adds an element of that name, unless there is one.
    fn declare(&mut self, name: &Name, meaning: Rc<Meaning<'a>>, text: Option<&'a Text>) -> Option<usize> {
        if let Some(&other) = self.names.get(&name.text) {
            let there = self.body.elements[other].span;
            let fault = Diagnostic::new(name.span, format!("element `{}` is declared twice", name.text));
            self.fault(fault.kind(Kind::Redeclared(name.text.clone())).note(there, "first here"));
            return None;
        }
        if let Some(&used) = self.taken.get(name.text.as_str()) {
            let fault =
                Diagnostic::new(name.span, format!("class `{}` used as element name", name.text)).note(used, "taken for a class here");
            self.fault(fault.help("declare an element before it is connected"));
            return None;
        }
        // Outside of compounds and groups, `input` and `output` are names like others, as in Click.
        let is_side = !self.sides.is_empty() && matches!(name.text.as_str(), "input" | "output");
        if name.text.split('/').any(|part| part.bytes().all(|b| b.is_ascii_digit())) || is_side {
            self.fault(Diagnostic::new(name.span, format!("`{}` cannot be an element's name", name.text)));
        }
        let element = self.add(name.text.clone(), meaning, text, name.span);
        self.names.insert(name.text.clone(), element);
        Some(element)
    }

    /// Adds an element whose name tells its class and its place among the scope's elements.
    fn nameless(&mut self, class: &'a Class, text: Option<&'a Text>, span: Span) -> usize {
        let meaning = self.meaning(class, None);
        let (base, span) = match class {
            Class::Name(name) => (name.text.as_str(), name.span),
            Class::Compound(_) => ("", span),
        };
        let mut number = self.body.elements.len() - self.hidden + 1;
        while self.names.contains_key(&format!("{base}@{number}")) {
            number += 1;
        }
        let name = format!("{base}@{number}");
        let element = self.add(name.clone(), meaning, text, span);
        self.names.insert(name, element);
        element
    }

    fn connection(&mut self, connection: &'a Connection) {
        if let [only] = connection.places.as_slice() {
            self.declarations(only);
        }
        let mut before: Option<Vec<End>> = None;
        for (n, place) in connection.places.iter().enumerate() {
            let (first, last) = (n == 0, n + 1 == connection.places.len());
            self.useless(place, first, last);
            let (inputs, outputs): (Vec<End>, Vec<End>) = place.iter().filter_map(|endpoint| self.endpoint(endpoint)).unzip();
            if let Some(before) = before.replace(outputs) {
                self.connect(&before, &inputs, connection.many[n - 1]);
            }
        }
    }

    /// `a, b :: C`: names without a class get that of the next one with it.
    fn declarations(&mut self, place: &'a [Endpoint]) {
        let mut class = None;
        let mut without = Vec::new();
        for endpoint in place.iter().rev() {
            match (&endpoint.element, class) {
                (Reference::Declared(_, of, text), _) => class = Some((of, text.as_ref())),
                (Reference::Name(name), Some((of, text))) if !self.names.contains_key(&name.text) => without.push((name, of, text)),
                _ => class = None,
            }
        }
        for (name, of, text) in without.into_iter().rev() {
            let meaning = self.meaning(of, None);
            self.declare(name, meaning, text);
        }
    }

    fn useless(&mut self, place: &[Endpoint], first: bool, last: bool) {
        for endpoint in place {
            if let Some(ports) = endpoint.inputs.as_ref().filter(|_| first) {
                self.fault(Diagnostic::new(ports.span, "input ports ignored at start of chain"));
            }
            if let Some(ports) = endpoint.outputs.as_ref().filter(|_| last) {
                self.fault(Diagnostic::new(ports.span, "output ports ignored at end of chain"));
            }
        }
    }

    /// An element's two sides in a connection.
    fn endpoint(&mut self, endpoint: &'a Endpoint) -> Option<(End, End)> {
        let (entrance, exit) = match &endpoint.element {
            Reference::Group(statements) => return Some(self.group(endpoint, statements)),
            Reference::Implied(side) => self.side(*side, endpoint.span)?,
            Reference::Name(name) => self.named(name)?,
            Reference::Declared(name, class, text) => {
                let meaning = self.meaning(class, None);
                let element = self.declare(name, meaning, text.as_ref())?;
                (element, element)
            }
            Reference::Nameless(class, text) => {
                let element = self.nameless(class, text.as_ref(), endpoint.span);
                (element, element)
            }
        };
        let end = |element, ports: &Option<Ports>| End::of(element, ports.as_ref(), endpoint.span);
        Some((end(entrance, &endpoint.inputs), end(exit, &endpoint.outputs)))
    }

    /// The element of that name, or a nameless one of that class.
    fn named(&mut self, name: &'a Name) -> Option<(usize, usize)> {
        match name.text.as_str() {
            "input" => return self.side(Side::Input, name.span),
            "output" => return self.side(Side::Output, name.span),
            _ => {}
        }
        let element = match self.names.get(&name.text) {
            Some(&element) => element,
            None => {
                self.taken.entry(&name.text).or_insert(name.span);
                self.by_class(name)
            }
        };
        Some((element, element))
    }

    fn by_class(&mut self, name: &'a Name) -> usize {
        let view = self.classes.here(self.scope);
        let meaning = self.classes.find(view, &name.text).unwrap_or_else(|| Rc::new(Meaning::Primitive(name.text.clone())));
        let number = self.body.elements.len() - self.hidden + 1;
        let full = format!("{}@{number}", name.text);
        let element = self.add(full.clone(), meaning, None, name.span);
        self.names.insert(full, element);
        element
    }

    fn side(&mut self, side: Side, span: Span) -> Option<(usize, usize)> {
        let Some([input, output]) = self.sides.last() else {
            let name = if side == Side::Input { "input" } else { "output" };
            if let Some(&element) = self.names.get(name) {
                return Some((element, element));
            }
            let message = format!("an element is missing: `{name}` has a meaning in compounds and groups only");
            self.fault(Diagnostic::new(span, message).kind(Kind::MissingElement));
            return None;
        };
        let element = if side == Side::Input { *input } else { *output };
        Some((element, element))
    }

    /// Statements in parentheses: their ports are all that are used inside, in order, unless others
    /// are said.
    fn group(&mut self, endpoint: &'a Endpoint, statements: &'a [Statement]) -> (End, End) {
        let before = self.body.links.len();
        let [input, output] = self.open_sides();
        self.groups.extend([(input, "input", endpoint.span), (output, "output", endpoint.span)]);
        self.statements(statements);
        self.sides.pop();
        let inside = self.body.links.get(before..).unwrap_or_default();
        let highest = |ports: &mut dyn Iterator<Item = u32>| ports.map(|port| port + 1).max().unwrap_or(0);
        let inputs = highest(&mut inside.iter().filter(|l| l.from.0 == input).map(|l| l.from.1));
        let outputs = highest(&mut inside.iter().filter(|l| l.to.0 == output).map(|l| l.to.1));
        let end = |element, said: &Option<Ports>, count: u32| match said {
            Some(ports) => End::of(element, Some(ports), endpoint.span),
            None => End { element, ports: (0..count).collect(), open: false, unsaid: false, span: endpoint.span },
        };
        (end(input, &endpoint.inputs, inputs), end(output, &endpoint.outputs, outputs))
    }

    /// Connects outputs with inputs: one with one, one with all, all with one, or with `=>` each
    /// with its own.
    fn connect(&mut self, outputs: &[End], inputs: &[End], many: bool) {
        let (Some(first), Some(last)) = (outputs.first(), inputs.last()) else { return };
        let span = first.span.to(last.span);
        let [open_out, open_in] = [opens(outputs, inputs, many), opens(inputs, outputs, many)];
        if open_out && open_in {
            return self.fault(Diagnostic::new(span, "at most one expandable port allowed per connection").kind(Kind::Connection));
        }
        let (least_out, least_in) = (least(outputs), least(inputs));
        let from = ports(outputs, if open_out { least_in.saturating_sub(least_out) } else { 0 });
        let to = ports(inputs, if open_in { least_out.saturating_sub(least_in) } else { 0 });
        match (from.as_slice(), to.as_slice()) {
            ([from], to) => to.iter().for_each(|to| self.body.links.push(Link { from: *from, to: *to, span })),
            (from, [to]) => from.iter().for_each(|from| self.body.links.push(Link { from: *from, to: *to, span })),
            _ if !many => self.fault(Diagnostic::new(span, "many-to-many connections require `=>`")),
            _ if from.len() != to.len() => {
                let message = format!("connection mismatch: {} outputs connected to {} inputs", from.len(), to.len());
                self.fault(Diagnostic::new(span, message).kind(Kind::Connection));
            }
            (from, to) => self.body.links.extend(from.iter().zip(to).map(|(from, to)| Link { from: *from, to: *to, span })),
        }
    }
}

impl End {
    fn of(element: usize, said: Option<&Ports>, span: Span) -> Self {
        let mut ports = said.map_or(vec![0], |ports| ports.numbers.clone());
        if ports.is_empty() {
            ports.push(0);
        }
        Self { element, ports, open: said.is_some_and(|ports| ports.open), unsaid: said.is_none(), span }
    }
}

fn least(ends: &[End]) -> usize {
    ends.iter().map(|end| end.ports.len()).sum()
}

/// Whether one side takes as many ports as the other side has: because it says so, or because it
/// says nothing.
fn opens(ends: &[End], others: &[End], many: bool) -> bool {
    ends.iter().any(|end| end.open) || many && least(others) > 1 && matches!(ends, [End { unsaid: true, .. }])
}

/// The elements and ports, `more` of them at an open end.
fn ports(ends: &[End], more: usize) -> Vec<(usize, u32)> {
    let mut all = Vec::new();
    let only = ends.len() == 1;
    for end in ends {
        all.extend(end.ports.iter().map(|port| (end.element, *port)));
        if end.open || only {
            let last = end.ports.last().map_or(0, |port| port + 1);
            all.extend((last..).take(more).map(|port| (end.element, port)));
        }
    }
    all
}
