//! How a configuration runs with the engine `aot`, and why so: which elements are linked, which
//! lookups are fetched ahead, whether arrivals run in bursts.

use super::{Application, Graph, linked};
use crate::engines::Settings;
use compiler::cluster::{LARGE, prefetched};
use std::collections::BTreeSet;
use std::fmt;

/// How one element runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementAccount {
    /// `name :: Class`.
    pub element: String,
    /// Why it is not linked; `None` if it is.
    pub alone: Option<String>,
    /// Tables of which lookups are fetched ahead.
    pub fetched: Vec<String>,
    /// What was done when its program was compiled, a sentence each.
    pub compiled: Vec<String>,
}

/// How all run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The elements, in the order of declaration.
    pub ways: Vec<ElementAccount>,
    /// Inputs by which packets come into linked elements.
    pub entries: usize,
    /// Elements because of which arrivals are run one at a time; if it is known.
    pub one_at_a_time: Option<Vec<String>>,
    /// How many elements the engines `jit` and `auto` fuse in machine code; if it is known.
    pub in_machine_code: Option<usize>,
}

impl Application {
    /// How its elements run when they are linked; whether arrivals run in bursts is known when they
    /// are made.
    pub fn explain(&self, graph: Option<&Graph>) -> Account {
        let app = &*linked::cut_through(self.application());
        let too_many = linked::too_many(app);
        let of = |(at, instance): (usize, &netil::app::Instance)| match instance.program() {
            Some(_) if let Some(why) = &too_many => Err(why.clone()),
            Some(_) if app.shares(at as u32) => Err("it has a table or a variable together with others".to_owned()),
            Some(program) => linked::linkable(program, Settings::default()),
            None => Err("the runtime's own".to_owned()),
        };
        let handlers: Vec<Result<_, String>> = app.instances.iter().enumerate().map(of).collect();
        let plan = linked::plan(app, &|instance| handlers[instance as usize].is_ok());
        let declared = |at: usize| format!("{} :: {}", app.instances[at].name, app.instances[at].class);
        let way = |(at, handler): (usize, &Result<_, String>)| {
            let member = plan.members.contains(&(at as u32));
            let ahead = match (handler, app.instances[at].program()) {
                (Ok(func), Some(program)) if member => prefetched(func, &program.module().tables, LARGE),
                _ => Vec::new(),
            };
            let why = || match handler {
                Err(why) => why.clone(),
                Ok(_) => "packets are pulled through it".to_owned(),
            };
            let compiled = self.notes.get(&app.instances[at].name).map(|told| told.compiled.clone()).unwrap_or_default();
            ElementAccount { element: declared(at), alone: (!member).then(why), fetched: ahead, compiled }
        };
        Account {
            ways: handlers.iter().enumerate().map(way).collect(),
            entries: plan.entries.len(),
            in_machine_code: graph.map(|graph| linked::fusible(app, graph, &BTreeSet::new()).map_or(0, |(plan, _)| plan.members.len())),
            one_at_a_time: graph.map(|graph| graph.one_at_a_time(&plan).into_iter().map(declared).collect()),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let linked = self.ways.iter().filter(|way| way.alone.is_none()).count();
        let (all, entries) = (self.ways.len(), self.entries);
        writeln!(f, "engine aot: {linked} of {all} elements run as one; packets come in at {entries} inputs")?;
        for way in &self.ways {
            match &way.alone {
                None => writeln!(f, "  linked  {}", way.element)?,
                Some(why) => writeln!(f, "  alone   {}: {why}", way.element)?,
            }
            way.compiled.iter().try_for_each(|note| writeln!(f, "          {note}"))?;
            if !way.fetched.is_empty() {
                writeln!(f, "          lookups fetched ahead: {}", way.fetched.join(", "))?;
            }
        }
        match self.one_at_a_time.as_deref() {
            None => {}
            Some(_) if linked == 0 => {}
            Some([]) => writeln!(f, "  arrivals run in bursts")?,
            Some(elements) => {
                writeln!(f, "  arrivals run one at a time, because of {}; so they run in machine code", elements.join(", "))?;
            }
        }
        match self.in_machine_code {
            None => Ok(()),
            Some(fused) => writeln!(f, "engine jit: {fused} of {all} elements are fused in machine code"),
        }
    }
}
