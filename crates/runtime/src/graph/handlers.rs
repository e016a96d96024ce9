//! Handlers by name: an element's own, those that every element has, those of the whole run.

use super::builtin::{Ctx, ElementHandler, Handlers, Ready};
use super::ring::Here;
use super::{Body, Graph, HandlerError, Kept, builtin, text};
use netil::event;
use std::fmt::Write as _;

/// Handlers of every element.
/// The one of them that is written, too: where the element's thread runs.
const HOME: &str = "home_thread";
const GENERIC: &[&str] = &["class", "config", "handlers", "name", "ports", "scheduled", HOME, "drops_by_reason"];
/// Handlers of the run.
const GLOBAL: &[&str] = &["classes", "config", "flatconfig", "handlers", "list", "requirements", "stop", "version", "driver"];

/// How deep handlers may call each other.
const MAX_HANDLER_DEPTH: u32 = 32;

/// What people may do with an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Its own handlers.
    pub handlers: Vec<ElementHandler>,
}

/// A handler found.
enum Found {
    Global(String),
    Of(usize, String),
}

/// An element of this graph, for stages that have it, too.
struct Element<'g> {
    graph: &'g mut Graph,
    node: usize,
}

impl Here for Element<'_> {
    fn read(&mut self, name: &str) -> Result<String, HandlerError> {
        self.graph.read_of(self.node, name, "")
    }

    fn kept(&self, tables: &[u32]) -> Option<Kept> {
        self.graph.kept_of(self.node, tables)
    }
}

impl Graph {
    /// Reads a handler: `element.handler` or one of the run's; `from` is the element that asks, in
    /// whose compound names are looked up first.
    ///
    /// # Errors
    /// There is none, it cannot be read, or it refuses.
    pub fn read(&mut self, handler: &str, text: &str, from: Option<usize>) -> Result<String, HandlerError> {
        let found = self.find_handler(handler, from)?;
        self.nested(|graph| match found {
            Found::Global(name) => graph.read_global(&name),
            Found::Of(node, name) => graph.read_everywhere(node, &name, text),
        })
    }

    /// Handlers call handlers, but not without end.
    fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, HandlerError>) -> Result<T, HandlerError> {
        if self.requests.handler_depth >= MAX_HANDLER_DEPTH {
            return Err(HandlerError::failed("handlers call each other too deeply"));
        }
        self.requests.handler_depth += 1;
        let result = work(self);
        self.requests.handler_depth -= 1;
        result
    }

    /// Writes a handler.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&mut self, handler: &str, text: &str, from: Option<usize>) -> Result<(), HandlerError> {
        match self.find_handler(handler, from)? {
            Found::Global(name) if name == "stop" => {
                self.requests.stops += 1;
                Ok(())
            }
            Found::Global(name) => Err(HandlerError::NoHandler(format!("no write handler '{name}'"))),
            Found::Of(node, name) => {
                self.look_again_for_straight();
                self.nested(|graph| graph.write_everywhere(node, &name, text))
            }
        }
    }

    /// The names of all handlers of programs and built-in elements that can be read, but for those
    /// that every element has.
    pub fn readable(&self) -> Vec<String> {
        let of = |node: usize| {
            let name = &self.core.nodes[node].name;
            let element_handlers = self.all_element_handlers(node).filter(|handler| handler.read);
            element_handlers.map(|handler| format!("{name}.{}", handler.name)).collect::<Vec<_>>()
        };
        (0..self.core.nodes.len()).flat_map(of).collect()
    }

    /// Every element's name and class, and its own handlers: whether each can be read and written.
    pub fn elements(&self) -> Vec<Described> {
        let of = |node: usize| {
            let it = &self.core.nodes[node];
            Described { name: it.name.clone(), class: it.class.clone(), handlers: self.all_element_handlers(node).collect() }
        };
        (0..self.core.nodes.len()).map(of).collect()
    }

    /// Whether there is a handler of that name to read, or to write.
    pub fn has_handler(&self, handler: &str, write: bool) -> bool {
        if write { self.can_write(handler, None) } else { self.can_read(handler, None) }
    }

    /// True if that can be written.
    pub(super) fn can_write(&self, handler: &str, from: Option<usize>) -> bool {
        match self.find_handler(handler, from) {
            Ok(Found::Global(name)) => name == "stop",
            Ok(Found::Of(node, name)) => {
                name == HOME || self.all_element_handlers(node).any(|handler| handler.write && handler.name == name)
            }
            Err(_) => false,
        }
    }

    /// True if that can be read.
    pub(super) fn can_read(&self, handler: &str, from: Option<usize>) -> bool {
        match self.find_handler(handler, from) {
            Ok(Found::Global(name)) => GLOBAL.contains(&name.as_str()),
            Ok(Found::Of(node, name)) if self.remote(node).is_some() => {
                self.remote(node).is_some_and(|remote| remote.0.read(&format!("{}.{name}", self.core.nodes[node].name), "").is_ok())
            }
            Ok(Found::Of(node, name)) => {
                GENERIC.contains(&name.as_str()) || self.all_element_handlers(node).any(|c| c.read && c.name == name)
            }
            Err(_) => false,
        }
    }

    /// True if the handler is one of an element that is running.
    pub(super) fn is_running(&self, handler: &str, from: usize) -> bool {
        let Ok(Found::Of(node, _)) = self.find_handler(handler, Some(from)) else { return false };
        matches!(self.core.nodes[node].body, Body::BuiltIn(None))
    }

    /// The elements whose name or class matches a pattern of the shell's kind, in the order of
    /// declaration.
    pub fn matching(&self, pattern: &str) -> Vec<usize> {
        if let Some(node) = self.topology.by_name.get(pattern) {
            return vec![*node];
        }
        let fits = |node: &super::Node| text::glob(pattern, &node.name) || node.class == pattern;
        self.core.nodes.iter().enumerate().filter(|(_, node)| fits(node)).map(|(index, _)| index).collect()
    }

    fn find_handler(&self, handler: &str, from: Option<usize>) -> Result<Found, HandlerError> {
        let Some((element, name)) = handler.split_once('.') else {
            return match from.filter(|_| !GLOBAL.contains(&handler)) {
                Some(node) if self.element_handlers(node).iter().any(|c| c.name == handler) => Ok(Found::Of(node, handler.to_owned())),
                _ => Ok(Found::Global(handler.to_owned())),
            };
        };
        if element.is_empty() {
            return Ok(Found::Global(name.to_owned()));
        }
        let node = self.find_element(element, from).ok_or_else(|| HandlerError::NoElement(format!("no element named '{element}'")))?;
        Ok(Found::Of(node, name.to_owned()))
    }

    /// An element by its name, as seen from another one: in that one's compound first, then in
    /// those around it.
    pub fn find_element(&self, name: &str, from: Option<usize>) -> Option<usize> {
        let mut scope = from.map_or("", |node| self.core.nodes[node].name.as_str());
        while let Some((outer, _)) = scope.rsplit_once('/') {
            if let Some(node) = self.topology.by_name.get(&format!("{outer}/{name}")) {
                return Some(*node);
            }
            scope = outer;
        }
        self.topology.by_name.get(name).copied()
    }

    fn answers_all(&self, node: usize) -> bool {
        let Body::BuiltIn(Some(builtin)) = &self.core.nodes[node].body else { return false };
        builtin.handlers().is_some_and(|handlers| handlers.answers_all())
    }

    fn element_handlers(&self, node: usize) -> Vec<ElementHandler> {
        match &self.core.nodes[node].body {
            Body::BuiltIn(builtin) => {
                builtin.as_ref().and_then(|builtin| builtin.handlers()).map_or_else(Vec::new, |handlers| handlers.element_handlers())
            }
            Body::Program(program) => program.element_handlers(),
        }
    }

    /// The handlers of an element, of its tables and patterns, and that of its transactions.
    fn all_element_handlers(&self, node: usize) -> impl Iterator<Item = ElementHandler> {
        let tables = if let Body::Program(program) = &self.core.nodes[node].body { program.table_handlers() } else { Vec::new() };
        let pattern = |n| ElementHandler { name: format!("pattern{n}"), read: true, write: false };
        let patterns = if self.rewrites(node) { self.core.nodes[node].inputs.len() } else { self.patterns(node).len() };
        let transacts = matches!(&self.core.nodes[node].body, Body::Program(program) if program.is_in_common());
        let transactions = transacts.then(|| ElementHandler { name: "transactions".to_owned(), read: true, write: false });
        self.element_handlers(node).into_iter().chain(tables).chain((0..patterns).map(pattern)).chain(transactions)
    }

    fn patterns(&self, node: usize) -> &[String] {
        let node = &self.core.nodes[node];
        if node.patterned { &node.arguments } else { &[] }
    }

    /// True if an element rewrites flows, with a pattern for each input.
    fn rewrites(&self, node: usize) -> bool {
        matches!(&self.core.nodes[node].body, Body::Program(program) if program.has_flows())
    }

    /// The pattern that a handler shows.
    fn pattern(&mut self, node: usize, handler: &str) -> Option<String> {
        let number = handler.strip_prefix("pattern")?;
        let number = number.parse::<usize>().ok().filter(|n| n.to_string() == number)?;
        match self.rewrites(node) {
            true => self.read_control(node, "patterns", "").ok()?.lines().nth(number).map(str::to_owned),
            false => self.patterns(node).get(number).cloned(),
        }
    }

    /// An element's own handler of that name: if there are two, the one that can be read, or
    /// written.
    fn own_handler(&self, node: usize, name: &str, write: bool) -> Option<ElementHandler> {
        let element_handlers = self.element_handlers(node);
        let fits = |handler: &&ElementHandler| if write { handler.write } else { handler.read };
        let mut named = element_handlers.iter().filter(|handler| handler.name == name);
        named.clone().find(fits).or_else(|| named.next()).cloned()
    }

    /// A handler of an element, in all stages that have the element.
    fn read_everywhere(&mut self, node: usize, name: &str, text: &str) -> Result<String, HandlerError> {
        let own = self.read_of(node, name, text)?;
        match self.topology.settings.elsewhere.clone().filter(|_| self.remote(node).is_none()) {
            Some(others) => {
                let handler = format!("{}.{name}", self.core.nodes[node].name);
                others.0.join(&handler, text, own, &mut Element { graph: self, node })
            }
            None => Ok(own),
        }
    }

    /// What a handler of an element says if it keeps that, which is not changed.
    ///
    /// # Errors
    /// As [`Self::read`]; or the element has no state of its own of that size.
    pub fn read_as(&mut self, handler: &str, text: &str, kept: Kept) -> Result<String, HandlerError> {
        let Found::Of(node, name) = self.find_handler(handler, None)? else { return self.read(handler, text, None) };
        self.with_kept(node, kept, |graph| graph.nested(|graph| graph.read_of(node, &name, text))).ok_or_else(|| busy(&name))?
    }

    fn write_everywhere(&mut self, node: usize, name: &str, text: &str) -> Result<(), HandlerError> {
        let own = self.write_of(node, name, text);
        let others = self.topology.settings.elsewhere.clone().filter(|_| self.remote(node).is_none());
        let Some(others) = others else { return own };
        let spread = || others.0.spread(&format!("{}.{name}", self.core.nodes[node].name), text);
        match own {
            // An entry may be another stage's.
            Err(why) if name.ends_with(".remove") => spread().filter(Result::is_ok).unwrap_or(Err(why)),
            Ok(()) if name.ends_with(".remove") => {
                spread();
                Ok(())
            }
            own => own.and_then(|()| spread().unwrap_or(Ok(()))),
        }
    }

    fn read_of(&mut self, node: usize, name: &str, text: &str) -> Result<String, HandlerError> {
        if let Some(remote) = self.remote(node) {
            return remote.0.read(&format!("{}.{name}", self.core.nodes[node].name), text);
        }
        let own = self.own_handler(node, name, false);
        self.tell_passed(node);
        match own {
            Some(handler) if handler.read => match &self.core.nodes[node].body {
                Body::BuiltIn(..) => self.with_handlers(node, name, |handlers, ctx| handlers.read(name, text, ctx)),
                Body::Program(_) => self.read_control(node, name, text),
            },
            None if self.answers_all(node) && !GENERIC.contains(&name) => {
                self.with_handlers(node, name, |handlers, ctx| handlers.read(name, text, ctx))
            }
            Some(_) if !GENERIC.contains(&name) => {
                Err(HandlerError::WriteOnly(format!("'{}.{name}' can only be written", self.core.nodes[node].name)))
            }
            _ => self.read_generic(node, name, text),
        }
    }

    fn write_of(&mut self, node: usize, name: &str, text: &str) -> Result<(), HandlerError> {
        if let Some(remote) = self.remote(node) {
            return remote.0.write(&format!("{}.{name}", self.core.nodes[node].name), text);
        }
        let full = format!("{}.{name}", self.core.nodes[node].name);
        let own = self.own_handler(node, name, true);
        self.tell_passed(node);
        if name == HOME && own.is_none() {
            return self.topology.settings.home.write(text);
        }
        match (own, &self.core.nodes[node].body) {
            (Some(handler), _) if !handler.write => Err(HandlerError::ReadOnly(format!("'{full}' can only be read"))),
            (None, Body::BuiltIn(None)) => Err(busy(&full)),
            (None, Body::BuiltIn(..)) if !self.answers_all(node) => Err(self.cannot_be_written(node, name)),
            (_, Body::BuiltIn(..)) => self.with_handlers(node, &full, |handlers, ctx| handlers.write(name, text, ctx)),
            (Some(_), Body::Program(_)) => self.write_control(node, name, text),
            (None, Body::Program(_)) => self.write_table(node, name, text),
        }
    }

    /// Asks the handlers that a built-in element has, unless it is running.
    fn with_handlers<T>(
        &mut self,
        node: usize,
        name: &str,
        ask: impl FnOnce(&mut dyn Handlers, &mut Ctx<'_>) -> Result<T, HandlerError>,
    ) -> Result<T, HandlerError> {
        let answer = self.with_builtin(node, |builtin, ctx| builtin.handlers_mut().map(|handlers| ask(handlers, ctx)));
        answer.flatten().unwrap_or_else(|| Err(busy(name)))
    }

    fn read_generic(&mut self, node: usize, name: &str, text: &str) -> Result<String, HandlerError> {
        if let Some(pattern) = self.pattern(node, name) {
            return Ok(pattern);
        }
        let it = &self.core.nodes[node];
        Ok(match name {
            "class" => it.class.clone(),
            "name" => it.name.clone(),
            "config" => it.arguments.join(", "),
            "handlers" => self.handler_list(node),
            "ports" => self.port_list(node),
            HOME => self.topology.settings.home.thread.to_string(),
            "scheduled" => {
                let waits = self.with_builtin(node, |builtin, ctx| builtin.task().map(|task| task.is_scheduled(&ctx.ready())));
                waits.flatten().ok_or_else(|| self.no_handler(node, name))?.to_string()
            }
            "transactions" if let Body::Program(program) = &it.body => {
                program.transactions().ok_or_else(|| self.no_handler(node, name))?.to_string()
            }
            "drops_by_reason" => it.stats.drops.iter().fold(String::new(), |mut list, (reason, count)| {
                let _ = writeln!(list, "{count} {reason}");
                list
            }),
            _ => return self.read_table(node, name, text),
        })
    }

    /// An element has no handler of that name that is written, but perhaps one that is read.
    fn cannot_be_written(&self, node: usize, name: &str) -> HandlerError {
        if GENERIC.contains(&name) || self.all_element_handlers(node).any(|handler| handler.name == name) {
            return HandlerError::ReadOnly(format!("'{}.{name}' can only be read", self.core.nodes[node].name));
        }
        self.no_handler(node, name)
    }

    fn cannot_be_read(&self, node: usize, name: &str) -> HandlerError {
        if self.all_element_handlers(node).any(|handler| handler.name == name) {
            return HandlerError::WriteOnly(format!("'{}.{name}' can only be written", self.core.nodes[node].name));
        }
        self.no_handler(node, name)
    }

    /// An element has no handler of that name, but these of its own.
    fn no_handler(&self, node: usize, name: &str) -> HandlerError {
        let all: Vec<String> = self.all_element_handlers(node).map(|handler| handler.name).collect();
        let others = if all.is_empty() { "those that all elements have".to_owned() } else { all.join(", ") };
        HandlerError::NoHandler(format!("no handler named '{}.{name}'; there are {others}", self.core.nodes[node].name))
    }

    fn handler_list(&self, node: usize) -> String {
        let generic = GENERIC.iter().map(|name| ElementHandler { name: (*name).to_owned(), read: true, write: *name == HOME });
        merged(self.all_element_handlers(node).chain(generic)).iter().fold(String::new(), |mut list, handler| {
            let mode = [if handler.read { "r" } else { "" }, if handler.write { "w" } else { "" }].concat();
            let _ = writeln!(list, "{}\t{mode}", handler.name);
            list
        })
    }

    fn port_list(&self, node: usize) -> String {
        let it = &self.core.nodes[node];
        let plural = |n: usize, what: &str| format!("{n} {what}{}\n", if n == 1 { "" } else { "s" });
        let mut list = plural(it.inputs.len(), "input");
        for (port, from) in it.inputs.iter().enumerate() {
            let kind = if it.pulled.get(port).copied().unwrap_or(false) { "pull" } else { "push" };
            let ends: Vec<_> = from.iter().map(|end| format!("{} [{}]", self.name(end.instance as usize), end.port)).collect();
            let _ = writeln!(list, "{kind}\t-\t{}", ends.join(", "));
        }
        list += &plural(it.outputs.len(), "output");
        for ways in &it.outputs {
            let pulled = |way: &super::WireTarget| {
                self.core.nodes[way.to.instance as usize].pulled.get(way.to.port as usize).copied().unwrap_or(false)
            };
            let kind = if ways.iter().any(pulled) { "pull" } else { "push" };
            let ends: Vec<_> = ways.iter().map(|way| format!("[{}] {}", way.to.port, self.name(way.to.instance as usize))).collect();
            let _ = writeln!(list, "{kind}\t-\t{}", ends.join(", "));
        }
        list
    }

    fn read_global(&mut self, name: &str) -> Result<String, HandlerError> {
        Ok(match name {
            "config" | "flatconfig" => self.topology.settings.text.clone(),
            "requirements" => lines(self.topology.settings.requirements.iter()),
            "list" => format!("{}\n{}", self.core.nodes.len(), lines(self.core.nodes.iter().map(|node| &node.name))),
            "classes" => lines(builtin::ALL.iter().map(|class| class.name)),
            "handlers" => lines(GLOBAL.iter()),
            "version" => env!("CARGO_PKG_VERSION").to_owned(),
            "driver" => "netvm".to_owned(),
            "stop" => (self.requests.stops > 0 || self.requests.ended).to_string(),
            _ => {
                return Err(HandlerError::NoHandler(format!(
                    "no handler named '{name}'; there are {}, and ELEMENT.HANDLER",
                    GLOBAL.join(", ")
                )));
            }
        })
    }

    /// A program's handler: its variable, after its function has run; what is asked for is first
    /// written to where it is read from.
    fn read_control(&mut self, node: usize, name: &str, text: &str) -> Result<String, HandlerError> {
        let Body::Program(program) = &mut self.core.nodes[node].body else { return Err(busy(name)) };
        let Some((index, call)) = program.control(name, false) else { return Err(self.no_handler(node, name)) };
        if let (true, false, Some((asked, false))) = (call, text.trim().is_empty(), program.control(name, true)) {
            program.with(&mut self.core.shared, |program| program.set_value(asked, text)).map_err(|error| error.at(name))?;
        }
        let mut printed = Vec::new();
        if call {
            let now = self.core.clock.now();
            program.with(&mut self.core.shared, |program| program.event(event::CONTROL + index, program.time_at(now), now));
            printed = program.printed();
        }
        let mut value = program.with(&mut self.core.shared, |program| program.value(index, &printed));
        if name == "patterns" && program.has_flows() {
            let now = self.core.clock.now();
            value = program.with(&mut self.core.shared, |program| program.counted_patterns(&value, now));
        }
        self.note_timers(node);
        Ok(value)
    }

    fn write_control(&mut self, node: usize, name: &str, text: &str) -> Result<(), HandlerError> {
        let full = format!("{}.{name}", self.core.nodes[node].name);
        let Body::Program(program) = &mut self.core.nodes[node].body else { return Err(busy(&full)) };
        let Some((index, call)) = program.control(name, true) else { return Err(self.no_handler(node, name)) };
        program.with(&mut self.core.shared, |program| program.set_value(index, text)).map_err(|error| error.at(full))?;
        if call {
            let time = program.time_at(self.core.clock.now());
            self.program_event(node, event::CONTROL + index, time);
            self.settle_soon();
        }
        Ok(())
    }

    fn read_table(&mut self, node: usize, name: &str, text: &str) -> Result<String, HandlerError> {
        let now = self.core.clock.now();
        let Body::Program(program) = &mut self.core.nodes[node].body else { return Err(self.no_handler(node, name)) };
        let done = program.with(&mut self.core.shared, |program| program.read_table(name, text, now));
        done.unwrap_or_else(|| Err(self.cannot_be_read(node, name)))
    }

    fn write_table(&mut self, node: usize, name: &str, text: &str) -> Result<(), HandlerError> {
        let now = self.core.clock.now();
        let Body::Program(program) = &mut self.core.nodes[node].body else { return Err(self.no_handler(node, name)) };
        let done = program.with(&mut self.core.shared, |program| {
            let done = program.write_table(name, text, now);
            program.watch_tables(now);
            done
        });
        self.note_timers(node);
        done.unwrap_or_else(|| Err(self.cannot_be_written(node, name)))
    }

    /// Moves what a handler emitted, if nothing else is moving.
    fn settle_soon(&mut self) {
        if self.core.pull_depth == 0 && !self.core.nodes.iter().any(|node| matches!(node.body, Body::BuiltIn(None))) {
            self.settle();
        }
    }
}

fn lines<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    items.fold(String::new(), |mut list, item| {
        let _ = writeln!(list, "{item}");
        list
    })
}

/// Each name once: a handler that is read and one that is written are one for people.
fn merged(element_handlers: impl Iterator<Item = ElementHandler>) -> Vec<ElementHandler> {
    let mut all: Vec<ElementHandler> = Vec::new();
    for handler in element_handlers {
        match all.iter_mut().find(|known| known.name == handler.name) {
            Some(known) => (known.read, known.write) = (known.read || handler.read, known.write || handler.write),
            None => all.push(handler),
        }
    }
    all
}

fn busy(handler: &str) -> HandlerError {
    HandlerError::Busy(format!("'{handler}' belongs to an element that is running"))
}

impl Ready<'_> {
    /// Whether something before any input may give a packet.
    pub fn any_input(&self) -> bool {
        (0..self.graph.core.nodes[self.node].inputs.len()).any(|port| self.input(port as u32))
    }

    /// Whether what is before an input may give a packet.
    pub fn input(&self, port: u32) -> bool {
        let node = &self.graph.core.nodes[self.node];
        let Some(from) = node.inputs.get(port as usize).and_then(|ends| ends.first()) else { return false };
        if !node.pulled.get(port as usize).copied().unwrap_or(false) || self.depth > super::MAX_PULL_DEPTH {
            return false;
        }
        let before = Ready { graph: self.graph, node: from.instance as usize, depth: self.depth + 1 };
        match &self.graph.core.nodes[before.node].body {
            Body::BuiltIn(Some(builtin)) => builtin.is_ready(from.port, &before),
            Body::BuiltIn(None) => true,
            Body::Program(program) => program.holds() || before.any_input(),
        }
    }

    /// True if every queue behind the outputs that tells when it is full is full, and there is one.
    pub fn is_full_behind(&self) -> bool {
        let queues = &self.graph.core.nodes[self.node].queues_behind;
        let is_full = |queue: &usize| match &self.graph.core.nodes[*queue].body {
            Body::BuiltIn(Some(builtin)) => builtin.queue().and_then(|queue| queue.is_full()) == Some(true),
            _ => false,
        };
        !queues.is_empty() && queues.iter().all(is_full)
    }
}

impl Graph {
    /// The elements that are reached from an element by pushing and fit, no further than the first
    /// on each way.
    pub(super) fn find_behind(&self, node: usize, fits: fn(&dyn builtin::BuiltIn) -> bool) -> Vec<usize> {
        let next = |node: usize| {
            let ways = self.core.nodes[node].outputs.iter().flatten().map(|way| (way.to.instance as usize, way.to.port as usize));
            let pushed = |(to, port): &(usize, usize)| !self.core.nodes[*to].pulled.get(*port).copied().unwrap_or(false);
            ways.filter(pushed).map(|(to, _)| to).collect()
        };
        self.nearest(node, &next, fits)
    }

    /// The elements that an element reaches by pulling and that fit, no further than the first on
    /// each way.
    pub(super) fn find_before(&self, node: usize, fits: fn(&dyn builtin::BuiltIn) -> bool) -> Vec<usize> {
        let next = |node: usize| self.core.nodes[node].inputs.iter().flatten().map(|from| from.instance as usize).collect();
        self.nearest(node, &next, fits)
    }

    fn nearest(&self, node: usize, next: &dyn Fn(usize) -> Vec<usize>, fits: fn(&dyn builtin::BuiltIn) -> bool) -> Vec<usize> {
        let mut seen = std::collections::HashSet::from([node]);
        let (mut open, mut found) = (vec![node], Vec::new());
        while let Some(node) = open.pop() {
            for other in next(node).into_iter().filter(|other| seen.insert(*other)) {
                match &self.core.nodes[other].body {
                    Body::BuiltIn(Some(builtin)) if fits(builtin.as_ref()) => found.push(other),
                    _ => open.push(other),
                }
            }
        }
        found
    }
}
