//! Connections as calls: what each element's inputs and outputs are in C.

use super::Role;
use crate::frontends::click;
use crate::frontends::click::application::Parts;
use click::graph::Port;
use click::processing::Kind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

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
        let name = &self.flat.elements[element].name;
        let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("e{element}_{word}")
    }

    /// Whether packets are pulled from an output.
    pub(super) fn is_pulled_from(&self, element: usize) -> bool {
        self.outputs(element).first() == Some(&Kind::Pull)
    }

    fn outputs(&self, element: usize) -> &[Kind] {
        &self.parts.kinds.outputs[element]
    }

    fn inputs(&self, element: usize) -> &[Kind] {
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
        let _ = writeln!(text, "static struct nv_element {e} = {{ .name = {name:?}, {pointers}}};");
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

    /// The handler `pull` looks for a packet, or the packet before goes through the other one; what the handler does not give to this output has gone elsewhere.
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

    /// The functions of an element of the runtime's.
    pub(super) fn declare_role(&self, element: usize, role: &Role) -> String {
        let e = self.identifier(element);
        match role {
            Role::Queue(_) => format!("static inline void {e}_nv_in(int port);\nstatic inline struct nv_packet *{e}_nv_pull(int port);\n"),
            Role::Idle => format!("static inline void {e}_nv_in(int port);\nstatic inline struct nv_packet *{e}_nv_pull(int port);\n"),
            Role::Sink { .. } | Role::Discard => format!("static inline void {e}_nv_in(int port);\n"),
            Role::Source { .. } | Role::Unqueue | Role::Nothing => String::new(),
        }
    }

    pub(super) fn role(&self, element: usize, role: &Role) -> String {
        let e = self.identifier(element);
        let named = |is_device: bool, name: &str| format!("{} = {name:?}", if is_device { ".device" } else { ".path" });
        match role {
            Role::Source { is_device, name } => format!("static struct nv_source {e} = {{ {} }};\n", named(*is_device, name)),
            Role::Sink { is_device, name, longest, link } => format!(
                "static struct nv_sink {e} = {{ {}, .longest = {longest}, .link = {link} }};\nstatic inline void {e}_nv_in(int port)\n{{\n    (void) port;\n    nv_sink_take(&{e});\n}}\n",
                named(*is_device, name)
            ),
            Role::Queue(capacity) => format!(
                "static struct nv_packet *{e}_packets[{capacity}];\nstatic struct nv_queue {e} = {{ .packets = {e}_packets, .capacity = {capacity} }};\n\
                 static inline void {e}_nv_in(int port)\n{{\n    (void) port;\n    if (!nv_queue_put(&{e})) {{\n        {}\n    }}\n}}\n\
                 static inline struct nv_packet *{e}_nv_pull(int port)\n{{\n    (void) port;\n    return nv_queue_take(&{e});\n}}\n",
                self.leave(element, 1)
            ),
            Role::Idle => format!(
                "static inline void {e}_nv_in(int port)\n{{\n    (void) port;\n    nv_packet_end();\n}}\n\
                 static inline struct nv_packet *{e}_nv_pull(int port)\n{{\n    (void) port;\n    return 0;\n}}\n"
            ),
            Role::Discard => format!("static inline void {e}_nv_in(int port)\n{{\n    (void) port;\n    nv_packet_end();\n}}\n"),
            Role::Unqueue | Role::Nothing => String::new(),
        }
    }

    /// Where packets arrive, and the turns of elements that pull.
    pub(super) fn tasks(&self, roles: &BTreeMap<usize, Role>) -> String {
        let sources = roles.iter().filter(|(_, role)| matches!(role, Role::Source { .. })).map(|(element, _)| *element);
        let arrivals: String =
            sources.enumerate().map(|(n, element)| format!("    case {n}: {} break;\n", self.leave(element, 0))).collect();
        let mut text = format!(
            "\nvoid nv_arrive(int source)\n{{\n    switch (source) {{\n{arrivals}    default: nv_packet_end(); break;\n    }}\n}}\n"
        );
        let is_pulled = |element: usize| self.inputs(element).first() == Some(&Kind::Pull);
        let end = |(element, role): (&usize, &Role)| match role {
            Role::Sink { .. } | Role::Discard if is_pulled(*element) => {
                Some((*element, format!("{}_nv_in(0);", self.identifier(*element))))
            }
            Role::Unqueue => Some((*element, self.leave(*element, 0))),
            _ => None,
        };
        let mut turns = String::new();
        for (element, goes) in roles.iter().filter_map(end) {
            let pulled = self.pulled(element, 0);
            let _ = write!(turns, "    nv_packet = {pulled};\n    if (nv_packet) {{\n        {goes}\n        nv_settle();\n    }}\n");
        }
        let _ = write!(text, "\nbool nv_round(void)\n{{\n    nv_moved = false;\n{turns}    return nv_moved;\n}}\n\n");
        text
    }

    /// The names of sources and of sinks.
    pub(super) fn ends(&self, roles: &BTreeMap<usize, Role>) -> [Vec<String>; 2] {
        let named =
            |is: fn(&Role) -> bool| roles.iter().filter(move |(_, role)| is(role)).map(|(element, _)| self.identifier(*element)).collect();
        [named(|role| matches!(role, Role::Source { .. })), named(|role| matches!(role, Role::Sink { .. }))]
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
