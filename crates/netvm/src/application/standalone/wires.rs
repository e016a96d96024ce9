//! Connections as calls: what each element's inputs and outputs are in C.

use super::quoted;
use super::role::{End, Ready, Role, named};
use crate::frontends::click;
use crate::frontends::click::application::Parts;
use click::graph::Port;
use click::processing::Kind;
use click::syntax::names::innermost;
use runtime::graph::{ElementError, builtin};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// Elements, one before the other, that are asked whether something may be pulled.
const MOST_BEFORE: u32 = 32;

pub(super) struct Wires<'a> {
    flat: &'a click::Graph,
    parts: &'a Parts,
    /// Where packets go from an output, and come from at an input.
    behind: HashMap<Port, Port>,
    before: HashMap<Port, Port>,
    back: HashSet<(Port, Port)>,
}

impl<'a> Wires<'a> {
    pub(super) fn new(flat: &'a click::Graph, parts: &'a Parts) -> Self {
        let (mut behind, mut before) = (HashMap::new(), HashMap::new());
        for connection in &flat.connections {
            behind.entry(connection.from).or_insert(connection.to);
            before.entry(connection.to).or_insert(connection.from);
        }
        let back = parts.back.iter().map(|connection| (connection.from, connection.to)).collect();
        Self { flat, parts, behind, before, back }
    }

    /// The C name of an element.
    pub(super) fn identifier(&self, element: usize) -> String {
        quoted::identifier(element, &self.flat.elements[element].name)
    }

    pub(super) fn outputs(&self, element: usize) -> &[Kind] {
        &self.parts.kinds.outputs[element]
    }

    pub(super) fn inputs(&self, element: usize) -> &[Kind] {
        &self.parts.kinds.inputs[element]
    }

    /// A statement by which the packet leaves by an output.
    fn leave(&self, element: usize, port: u32) -> String {
        let from = Port { element, port };
        match self.behind.get(&from) {
            _ if self.outputs(element).get(port as usize) == Some(&Kind::Pull) => "nv_give();".to_owned(),
            None => "nv_packet_end();".to_owned(),
            Some(to) if self.back.contains(&(from, *to)) => format!("nv_lead_back({}_nv_in, {});", self.identifier(to.element), to.port),
            Some(to) => format!("{}_nv_in({});", self.identifier(to.element), to.port),
        }
    }

    /// An expression that is the next packet before an input, or null.
    fn pulled(&self, element: usize, port: u32) -> String {
        let before = self.before.get(&Port { element, port });
        before.map_or("0".to_owned(), |from| format!("{}_nv_pull({})", self.identifier(from.element), from.port))
    }

    /// What an instance's own text and its neighbours call.
    pub(super) fn program(&self, element: usize, name: &str, handlers: &BTreeSet<String>, copies: bool) -> String {
        let e = self.identifier(element);
        let handler = ["packet", "push"].into_iter().find(|handler| handlers.contains(*handler));
        let (mut text, sends) =
            (String::new(), if copies { "    if (nv_copies != nv_copies_from)\n        nv_send_copies();\n" } else { "" });
        let run = handler.map_or("(void) port;".to_owned(), |handler| format!("{e}_{handler}(port);"));
        let _ = write!(text, "static inline void {e}_nv_in(int port)\n{{\n    {run}\n    nv_end(&{e}, {copies});\n}}\n");
        let ways: String = (0..self.outputs(element).len() as u32)
            .map(|port| format!("    case {port}: {} break;\n", self.leave(element, port)))
            .collect();
        let _ = write!(
            text,
            "static inline void {e}_nv_emit(int port)\n{{\n    if (!nv_packet)\n        nv_trap(\"no packet\");\n{sends}    switch (port) {{\n{ways}    default: nv_packet_end(); break;\n    }}\n}}\n"
        );
        text += &self.copying(element, &e);
        text += &pushes(&e, "output", self.outputs(element));
        text += &pushes(&e, "input", self.inputs(element));
        text += &self.pulling(element, &e, handler, handlers.contains("pull"));
        text += &self.asking(element, &e);
        let pointer = |member: &str| if handlers.contains(member) { format!(".{member} = {e}_{member}, ") } else { String::new() };
        let pointers = [pointer("init"), pointer("timer")].concat();
        let _ = writeln!(text, "static struct nv_element {e} = {{ .name = {}, {pointers}}};", quoted::string(name.as_bytes()));
        text
    }

    fn copying(&self, element: usize, e: &str) -> String {
        let way = |port: u32| {
            let to = self.behind.get(&Port { element, port })?;
            let is_pushed = self.outputs(element).get(port as usize) == Some(&Kind::Push);
            let leads_back = self.back.contains(&(Port { element, port }, *to));
            let function = if leads_back { "nv_copy_back" } else { "nv_copy_to" };
            is_pushed.then(|| format!("    case {port}: {function}({}_nv_in, {}); break;\n", self.identifier(to.element), to.port))
        };
        let ways: String = (0..self.outputs(element).len() as u32).filter_map(way).collect();
        format!("static inline void {e}_nv_clone(int port)\n{{\n    switch (port) {{\n{ways}    default: break;\n    }}\n}}\n")
    }

    /// A function by which the element's own text asks at its inputs.
    fn asking(&self, element: usize, e: &str) -> String {
        let case = |input: u32| {
            let from = self.before.get(&Port { element, port: input })?;
            let pulls = self.inputs(element).get(input as usize) == Some(&Kind::Pull);
            pulls.then(|| format!("    case {input}: return nv_ask_at({}_nv_pull, {});\n", self.identifier(from.element), from.port))
        };
        let cases: String = (0..self.inputs(element).len() as u32).filter_map(case).collect();
        format!("static inline bool {e}_nv_ask(int input)\n{{\n    switch (input) {{\n{cases}    default: return false;\n    }}\n}}\n")
    }

    /// The handler `pull` looks for a packet, or the packet before goes through the other one; what
    /// the handler does not give to this output has gone elsewhere.
    fn pulling(&self, element: usize, e: &str, handler: Option<&str>, looks: bool) -> String {
        let (inputs, outputs) = (self.inputs(element), self.outputs(element));
        let mut cases = String::new();
        for port in (0..outputs.len()).filter(|port| outputs[*port] == Kind::Pull) {
            let input = if inputs.len() == outputs.len() { port } else { 0 };
            if looks {
                let _ = write!(
                    cases,
                    "    case {port}:\n        {e}_pull({port});\n        nv_end(&{e}, true);\n        return nv_take_given();\n"
                );
            } else if let Some(handler) = handler {
                let _ = write!(
                    cases,
                    "    case {port}:\n        nv_packet = {};\n        if (!nv_packet)\n            return 0;\n        {e}_{handler}({input});\n        nv_end(&{e}, true);\n        return nv_take_given();\n",
                    self.pulled(element, input as u32)
                );
            }
        }
        format!(
            "static inline struct nv_packet *{e}_nv_pull(int port)\n{{\n    switch (port) {{\n{cases}    default: return 0;\n    }}\n}}\n"
        )
    }

    /// The functions by which an element that netvm itself has reaches its neighbours.
    pub(super) fn around_role(&self, element: usize) -> String {
        let e = self.identifier(element);
        let ways: String = (0..self.outputs(element).len() as u32)
            .map(|port| format!("    case {port}: {} break;\n", self.leave(element, port)))
            .collect();
        let is_pulled = |port: &usize| self.inputs(element)[*port] == Kind::Pull;
        let before: String = (0..self.inputs(element).len())
            .filter(is_pulled)
            .map(|port| format!("    case {port}: return {};\n", self.pulled(element, port as u32)))
            .collect();
        format!(
            "static inline void {e}_nv_emit(int port)\n{{\n    switch (port) {{\n{ways}    default: nv_packet_end(); break;\n    }}\n}}\n\
             static inline struct nv_packet *{e}_nv_before(int input)\n{{\n    switch (input) {{\n{before}    default: return 0;\n    }}\n}}\n"
        )
    }

    /// Whether something may be pulled at an element's inputs, as an expression.
    pub(super) fn any_before(&self, element: usize, roles: &BTreeMap<usize, Role>, depth: u32) -> String {
        let pulled = (0..self.inputs(element).len() as u32).filter(|port| self.inputs(element)[*port as usize] == Kind::Pull);
        let before = pulled.filter_map(|port| self.before.get(&Port { element, port }));
        let all: Vec<String> = before.map(|from| self.ready(from.element, roles, depth)).collect();
        if all.is_empty() { "false".to_owned() } else { all.join(" || ") }
    }

    fn ready(&self, element: usize, roles: &BTreeMap<usize, Role>, depth: u32) -> String {
        if depth == MOST_BEFORE {
            return "false".to_owned();
        }
        let (e, any) = (self.identifier(element), || self.any_before(element, roles, depth + 1));
        match roles.get(&element).map(|role| role.ready) {
            Some(Ready::If(own)) => format!("({})", named(own, &e)),
            Some(Ready::Or(own)) => format!("({} || {})", named(own, &e), any()),
            Some(Ready::Before) => format!("({})", any()),
            None => format!("({e}.held || {})", any()),
        }
    }

    /// Whether the queues behind a source are full, those that tell so, as an expression.
    pub(super) fn full_behind(&self, element: usize) -> String {
        let queues = self.nearest(element, false, |class| builtin::facts(class).tells_full);
        let full = |queue: &usize| format!("{0}_state.count >= {0}_state.capacity", self.identifier(*queue));
        let all: Vec<String> = queues.iter().map(full).collect();
        if all.is_empty() { "false".to_owned() } else { all.join(" && ") }
    }

    /// The queues of RED: those that are named, or else the nearest.
    pub(super) fn queues(&self, element: usize, names: &[&str], before: bool) -> Result<Vec<String>, ElementError> {
        let is_queue = |class: &str| builtin::facts(class).queue;
        let elements = &self.flat.elements;
        let find = |name: &&str| {
            let found = innermost(&elements[element].name, name, |full| elements.iter().position(|e| e.name == full));
            found.filter(|at| is_queue(&elements[*at].class)).ok_or_else(|| ElementError::argument(format!("QUEUES: '{name}' is no queue")))
        };
        let found =
            if names.is_empty() { self.nearest(element, before, is_queue) } else { names.iter().map(find).collect::<Result<_, _>>()? };
        match found.is_empty() {
            true => Err(ElementError::argument("there is no queue near: QUEUES names some")),
            false => Ok(found.into_iter().map(|queue| self.identifier(queue)).collect()),
        }
    }

    /// The elements of some classes that are reached by pushing, or of those before by pulling, no
    /// further than the first on each way.
    fn nearest(&self, element: usize, before: bool, fits: impl Fn(&str) -> bool) -> Vec<usize> {
        let next = |element: usize| -> Vec<usize> {
            let ports = if before { self.inputs(element) } else { self.outputs(element) };
            let ends = if before { &self.before } else { &self.behind };
            let pushed = |to: &&Port| before || self.inputs(to.element).get(to.port as usize) != Some(&Kind::Pull);
            let ports = (0..ports.len() as u32).filter_map(|port| ends.get(&Port { element, port }));
            ports.filter(pushed).map(|to| to.element).collect()
        };
        let (mut seen, mut open, mut found) = (HashSet::from([element]), vec![element], Vec::new());
        while let Some(element) = open.pop() {
            for other in next(element).into_iter().filter(|other| seen.insert(*other)) {
                let list = if fits(&self.flat.elements[other].class) { &mut found } else { &mut open };
                list.push(other);
            }
        }
        found
    }

    /// Where packets arrive, and the turns of tasks; how many tasks there are.
    pub(super) fn tasks(&self, roles: &BTreeMap<usize, Role>) -> (String, usize) {
        let sources = roles.iter().filter(|(_, role)| matches!(role.end, End::Source { .. }));
        let arrivals: String = sources
            .enumerate()
            .filter(|(_, (_, role))| role.end == End::Source { pulled: false })
            .map(|(n, (element, _))| format!("    case {n}: {}_nv_in(0); break;\n", self.identifier(*element)))
            .collect();
        let tasks: Vec<String> =
            roles.iter().filter(|(_, role)| role.turn.is_some()).map(|(element, _)| self.identifier(*element)).collect();
        let turns: String = tasks.iter().enumerate().map(|(n, e)| format!("    case {n}: return {e}_nv_turn();\n")).collect();
        let text = format!(
            "\nvoid nv_arrive(int source)\n{{\n    switch (source) {{\n{arrivals}    default: nv_packet_end(); break;\n    }}\n}}\n\
             \nenum nv_turned nv_turn(int task)\n{{\n    switch (task) {{\n{turns}    default: return NV_IDLE;\n    }}\n}}\n\n\
             bool nv_is_idle(void)\n{{\n    return {};\n}}\n\n",
            self.idle(roles)
        );
        (text, tasks.len())
    }

    /// Whether no task would find anything, as an expression. That is known where all of them write
    /// what queues hold; what others do in a turn without packets may count.
    fn idle(&self, roles: &BTreeMap<usize, Role>) -> String {
        let is_queue = |from: &&Port| builtin::facts(&self.flat.elements[from.element].class).queue;
        let empty = |(element, role): (&usize, &Role)| {
            let queue = self.before.get(&Port { element: *element, port: 0 }).filter(|_| role.end == End::Sink).filter(is_queue)?;
            Some(format!("{}_state.count == 0", self.identifier(queue.element)))
        };
        let all: Option<Vec<String>> = roles.iter().filter(|(_, role)| role.turn.is_some()).map(empty).collect();
        all.map_or("false".to_owned(), |all| if all.is_empty() { "true".to_owned() } else { all.join(" && ") })
    }

    /// What is known of the sources and of the sinks, by its names in C.
    pub(super) fn ends(&self, roles: &BTreeMap<usize, Role>) -> [Vec<String>; 2] {
        let named = |is: fn(End) -> bool| {
            let those = roles.iter().filter(move |(_, role)| is(role.end));
            those.map(|(element, _)| format!("{}_state", self.identifier(*element))).collect()
        };
        [named(|end| matches!(end, End::Source { .. })), named(|end| end == End::Sink)]
    }
}

/// A function that tells which ports push.
fn pushes(e: &str, side: &str, kinds: &[Kind]) -> String {
    let all: Vec<String> = kinds.iter().map(|kind| (*kind == Kind::Push).to_string()).collect();
    let list = if all.is_empty() { "false".to_owned() } else { all.join(", ") };
    format!(
        "static inline bool {e}_nv_{side}_is_push(int port)\n{{\n    static const bool is_push[] = {{ {list} }};\n\n    return port >= 0 && port < {} && is_push[port];\n}}\n",
        kinds.len()
    )
}
