//! Compounds to what they are made of, parameters to their values, tunnels to connections.
//!
//! A compound's alternative is chosen by its arguments and by the ports that are connected. Each
//! use is read anew, since its parameters change its text; limits on depth, elements and text keep
//! hostile configurations from growing without end.

use super::ast::{Alternative, Formal, Statement, Text};
use super::config::{LONGEST, arguments, first_word};
use super::graph::{Connection, Element, Graph, Port};
use super::scope::{Body, Classes, Declared, Definition, Link, Meaning, Reader};
use super::syntax::ArgumentError;
use super::values::Values;
use crate::diagnostics::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// How deeply compounds may be nested in each other.
const DEPTH: usize = 50;
/// Elements of a configuration, at most, tunnels counted.
const ELEMENTS: usize = 1 << 18;

/// Expands a whole configuration; `given` are parameters from outside, which win over its own.
pub(super) fn expand(statements: &[Statement], given: &BTreeMap<String, String>) -> (Graph, Vec<Diagnostic>) {
    let mut expander = Expander::default();
    let given = given.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let values = expander.values(statements, given, true, None);
    let body = Reader::read(&mut expander.classes, None, Rc::clone(&values), false, statements);
    let requirements = body.requirements.iter().flat_map(|text| arguments(&text.text));
    // What libraries say is here by now.
    let requirements = requirements.filter(|requirement| first_word(requirement).0 != "library").collect();
    expander.place(body, "", &values, 0);
    let connections = expander.connections();
    let Expander { elements, compounds, faults, .. } = expander;
    (Graph { elements, connections, requirements, compounds }, faults)
}

#[derive(Default)]
struct Expander<'a> {
    classes: Classes<'a>,
    elements: Vec<Element>,
    /// Names of compounds, with those of their classes.
    compounds: BTreeMap<String, String>,
    /// What each node is: an element's number, or a tunnel.
    nodes: Vec<Option<usize>>,
    edges: Vec<Edge>,
    /// Bytes of configuration strings so far, parameters put in.
    text: usize,
    faults: Vec<Diagnostic>,
    /// Their places and messages: each is told once, however often a compound is used.
    told: HashSet<(Span, String)>,
}

/// A connection between nodes.
#[derive(Clone, Copy)]
struct Edge {
    from: (usize, u32),
    to: (usize, u32),
    span: Span,
}

/// What a class comes to for one use of it.
enum Chosen<'a> {
    Primitive(String),
    Body(Body<'a>, Rc<Values>),
}

impl<'a> Expander<'a> {
    fn fault(&mut self, fault: Diagnostic) {
        if self.told.insert((fault.span, fault.message.clone())) {
            self.faults.push(fault);
        }
    }

    /// The parameters of a scope: those given, and those that it defines itself, in whatever order.
    fn values(
        &mut self,
        statements: &'a [Statement],
        given: HashMap<String, String>,
        outermost: bool,
        around: Option<Rc<Values>>,
    ) -> Rc<Values> {
        let mut values = Values { own: given.clone(), around };
        let mut own: HashMap<String, Span> = HashMap::new();
        for text in defines(statements) {
            for argument in arguments(&text.text) {
                let (name, value) = first_word(&argument);
                let Some(name) = name.strip_prefix('$') else {
                    self.fault(Diagnostic::new(text.span, format!("expected `$name value`, found `{argument}`")));
                    continue;
                };
                let twice = own.insert(name.to_owned(), text.span).is_some() || !outermost && given.contains_key(name);
                if twice {
                    self.fault(Diagnostic::new(text.span, format!("parameter `${name}` is defined twice")));
                }
                if !values.own.contains_key(name) {
                    let value = if outermost { Some(value.to_owned()) } else { self.put_in(&values, value, text.span) };
                    values.own.extend(value.map(|value| (name.to_owned(), value)));
                }
            }
        }
        Rc::new(values)
    }

    fn node(&mut self, element: Option<usize>) -> usize {
        self.nodes.push(element);
        self.nodes.len() - 1
    }

    /// Adds all that a scope holds; gives the nodes of its elements: where connections enter, and
    /// where they leave.
    fn place(&mut self, body: Body<'a>, prefix: &str, values: &Rc<Values>, depth: usize) -> Vec<(usize, usize)> {
        body.faults.into_iter().for_each(|fault| self.fault(fault));
        let mut nodes = vec![(usize::MAX, usize::MAX); body.elements.len()];
        let ports = used(&body.links, body.elements.len());
        // Those of compounds come behind those beside them.
        for compounds in [false, true] {
            for (declared, node) in body.elements.iter().zip(0..) {
                if matches!(*declared.meaning, Meaning::Compound(_)) == compounds && self.nodes.len() < ELEMENTS {
                    nodes[node] = self.element(declared, ports[node], prefix, values, depth);
                }
            }
        }
        if self.nodes.len() >= ELEMENTS {
            self.fault(Diagnostic::new(Span::default(), format!("more than {ELEMENTS} elements")));
            return nodes;
        }
        for (from, to) in body.tunnels {
            nodes[to].1 = nodes[from].0;
        }
        let edge = |link: &Link| Edge { from: (nodes[link.from.0].1, link.from.1), to: (nodes[link.to.0].0, link.to.1), span: link.span };
        self.edges.extend(body.links.iter().map(edge));
        nodes
    }

    /// `ports`: how many inputs and outputs of it are connected.
    fn element(&mut self, declared: &Declared<'a>, ports: [u32; 2], prefix: &str, values: &Rc<Values>, depth: usize) -> (usize, usize) {
        let arguments = self.arguments(declared, values);
        let chosen = match &*declared.meaning {
            Meaning::Tunnel => return self.nothing(),
            Meaning::Primitive(class) => Some(Chosen::Primitive(class.clone())),
            Meaning::Compound(definition) => self.choose(definition, declared, &arguments, ports),
        };
        let name = format!("{prefix}{}", declared.name);
        match chosen {
            Some(Chosen::Primitive(class)) => {
                self.elements.push(Element { name, class, arguments, span: declared.span });
                let node = self.node(Some(self.elements.len() - 1));
                (node, node)
            }
            Some(Chosen::Body(body, values)) => {
                if let Meaning::Compound(definition) = &*declared.meaning {
                    self.compounds.insert(name.clone(), definition.name.clone());
                }
                self.compound(body, &name, &values, declared.span, depth)
            }
            None => self.nothing(),
        }
    }

    /// A node that is no element: a tunnel, or what stands for an element that could not be made.
    fn nothing(&mut self) -> (usize, usize) {
        let node = self.node(None);
        (node, node)
    }

    fn compound(&mut self, body: Body<'a>, name: &str, values: &Rc<Values>, span: Span, depth: usize) -> (usize, usize) {
        if depth == DEPTH {
            self.fault(Diagnostic::new(span, format!("compounds nested more than {DEPTH} deep")));
            return self.nothing();
        }
        let nodes = self.place(body, &format!("{name}/"), values, depth + 1);
        (nodes[0].0, nodes[1].1)
    }

    fn arguments(&mut self, declared: &Declared<'a>, values: &Values) -> Vec<String> {
        let Some(text) = declared.text else { return Vec::new() };
        self.put_in(values, &text.text, declared.span).map_or_else(Vec::new, |text| arguments(&text))
    }

    /// The text with values in place of parameters, unless all of these together are too long.
    fn put_in(&mut self, values: &Values, text: &str, span: Span) -> Option<String> {
        let text = values.put_in(text);
        self.text = self.text.saturating_add(text.as_ref().map_or(LONGEST + 1, String::len));
        if self.text > LONGEST {
            self.fault(Diagnostic::new(span, format!("configuration strings of more than {LONGEST} bytes")));
            return None;
        }
        text
    }

    /// The first alternative that fits arguments and ports.
    fn choose(
        &mut self,
        definition: &Definition<'a>,
        declared: &Declared<'a>,
        arguments: &[String],
        ports: [u32; 2],
    ) -> Option<Chosen<'a>> {
        let mut why = Vec::new();
        for alternative in &definition.compound.alternatives {
            match self.try_one(definition, alternative, arguments, ports) {
                Ok(chosen) => return Some(chosen),
                Err(reason) => why.push(reason),
            }
        }
        match definition.before.as_deref() {
            Some(Meaning::Compound(before)) => return self.choose(before, declared, arguments, ports),
            Some(Meaning::Primitive(class)) => return Some(Chosen::Primitive(class.clone())),
            _ => {}
        }
        let why = why.pop().filter(|_| definition.compound.alternatives.len() == 1).unwrap_or_else(|| "no alternative fits".into());
        let fault = Diagnostic::new(declared.span, format!("`{}` does not fit its class: {why}", declared.name));
        self.fault(fault.note(definition.compound.span, "the class"));
        None
    }

    fn try_one(
        &mut self,
        definition: &Definition<'a>,
        alternative: &'a Alternative,
        arguments: &[String],
        ports: [u32; 2],
    ) -> Result<Chosen<'a>, ArgumentError> {
        let given = bind(&alternative.formals, arguments)?;
        let values = self.values(&alternative.body, given, false, Some(Rc::clone(&definition.values)));
        let body = Reader::read(&mut self.classes, Some(definition.view), Rc::clone(&values), true, &alternative.body);
        let inside = [sides(&body.links, 0, |l| l.from)?, sides(&body.links, 1, |l| l.to)?];
        for ((inside, outside), what) in inside.into_iter().zip(ports).zip(["input", "output"]) {
            if inside != outside {
                return Err(ArgumentError::new(format!("it has {inside} {what} ports, and {outside} are connected")));
            }
        }
        Ok(Chosen::Body(body, values))
    }

    /// Connections between elements: each from an output through all tunnels to inputs.
    fn connections(&mut self) -> Vec<Connection> {
        let mut from: HashMap<(usize, u32), Vec<(usize, u32)>> = HashMap::new();
        for edge in &self.edges {
            from.entry(edge.from).or_default().push(edge.to);
        }
        let mut found = BTreeMap::new();
        for edge in std::mem::take(&mut self.edges) {
            let Some(element) = self.nodes.get(edge.from.0).copied().flatten() else { continue };
            for (node, port) in reached(&self.nodes, &from, edge.to) {
                let Some(to) = self.nodes.get(node).copied().flatten() else {
                    // What did not fit its class has been told.
                    if self.faults.is_empty() {
                        self.fault(Diagnostic::new(edge.span, format!("what goes to port {port} here comes out nowhere")));
                    }
                    continue;
                };
                let (from, to) = (Port { element, port: edge.from.1 }, Port { element: to, port });
                found.entry((from, to)).or_insert(Connection { from, to, span: edge.span });
            }
        }
        found.into_values().collect()
    }
}

/// The elements, or tunnels without exit, that a connection to a node reaches.
fn reached(nodes: &[Option<usize>], from: &HashMap<(usize, u32), Vec<(usize, u32)>>, to: (usize, u32)) -> BTreeSet<(usize, u32)> {
    let (mut all, mut seen, mut left) = (BTreeSet::new(), BTreeSet::new(), vec![to]);
    while let Some(at) = left.pop() {
        let tunnel = matches!(nodes.get(at.0), Some(None));
        match from.get(&at).filter(|_| tunnel) {
            Some(next) if seen.insert(at) => left.extend(next),
            Some(_) => {}
            None => drop(all.insert(at)),
        }
    }
    all
}

/// The ports of each of so many elements that are connected: how many inputs and outputs.
fn used(links: &[Link], elements: usize) -> Vec<[u32; 2]> {
    let mut ports = vec![[0; 2]; elements];
    for Link { from, to, .. } in links {
        for (side, end) in [to, from].into_iter().enumerate() {
            let count = &mut ports[end.0][side];
            *count = (*count).max(end.1 + 1);
        }
    }
    ports
}

/// How many ports a compound's side has; none may be left out.
fn sides(links: &[Link], element: usize, end: impl Fn(&Link) -> (usize, u32)) -> Result<u32, ArgumentError> {
    let ports: BTreeSet<u32> = links.iter().map(end).filter(|end| end.0 == element).map(|end| end.1).collect();
    match ports.iter().zip(0..).find(|(port, n)| *port != n) {
        Some((_, missing)) => {
            Err(ArgumentError::new(format!("its {} port {missing} is not used inside", if element == 0 { "input" } else { "output" })))
        }
        None => Ok(ports.len() as u32),
    }
}

fn defines(statements: &[Statement]) -> impl Iterator<Item = &Text> {
    statements.iter().filter_map(|statement| match statement {
        Statement::Define(text) => Some(text),
        _ => None,
    })
}

/// Gives each parameter its argument: by keyword, by place, and what is left to `__REST__`.
fn bind(formals: &[Formal], arguments: &[String]) -> Result<HashMap<String, String>, ArgumentError> {
    let mut values = HashMap::new();
    let mut places = formals.iter().filter(|formal| formal.keyword.is_none());
    let rest = formals.iter().find(|formal| formal.keyword.as_deref() == Some("__REST__"));
    let mut left = Vec::new();
    for argument in arguments {
        let (word, value) = first_word(argument);
        let by_keyword = formals.iter().find(|f| f.keyword.as_deref() == Some(word) && word != "__REST__");
        match by_keyword {
            Some(formal) => drop(values.insert(formal.name.clone(), value.to_owned())),
            None => match places.next() {
                Some(formal) => drop(values.insert(formal.name.clone(), argument.clone())),
                None => left.push(argument.as_str()),
            },
        }
    }
    if let Some(missing) = formals.iter().find(|f| !values.contains_key(&f.name) && f.keyword.as_deref() != Some("__REST__")) {
        return Err(match &missing.keyword {
            Some(keyword) => ArgumentError::new(format!("missing `{keyword}` argument")),
            None => ArgumentError::new("too few arguments"),
        });
    }
    match rest {
        Some(rest) => drop(values.insert(rest.name.clone(), left.join(", "))),
        None if !left.is_empty() => return Err(ArgumentError::new("too many arguments")),
        None => {}
    }
    Ok(values)
}
