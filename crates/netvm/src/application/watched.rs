//! An application whose elements run on engines that somebody else makes: models of machines watch
//! the interpreter.

use super::{Application, Graph, Host, Settings};
use crate::Error;
use netil::app::Datum;
use netil::{Engine, Verified};
use runtime::graph::{self, At, Info, Observer, Packet};
use std::collections::HashSet;
use std::sync::Arc;

/// Who is told of a packet's bytes.
pub type Tell = Box<dyn FnMut(&[u8]) + Send>;

/// Tells of packets that come into being.
struct Arrivals {
    /// Elements without inputs.
    sources: HashSet<usize>,
    tell: Tell,
}

impl Observer for Arrivals {
    fn enters(&mut self, _: At, _: &mut Packet, _: &Info) {}

    fn leaves(&mut self, at: At, packet: &mut Packet, _: bool, _: &Info) {
        if self.sources.contains(&at.node) {
            (self.tell)(packet.buffer.bytes());
        }
    }

    fn drops(&mut self, _: usize, _: &str, _: &Packet, _: &Info) {}

    fn wakes(&mut self, _: usize) {}
}

impl Application {
    /// What elements with programs are called, in the order in which
    /// [`start_with`](Self::start_with) makes them; and what their classes declare, by these
    /// numbers.
    pub fn programs(&self) -> (Vec<String>, Vec<Datum>) {
        let all = &self.application;
        let programs: Vec<usize> = (0..all.instances.len()).filter(|n| all.instances[*n].program().is_some()).collect();
        let number = |datum: &Datum| programs.iter().position(|n| *n == datum.instance as usize);
        let data = all.data.iter().filter_map(|datum| Some(Datum { instance: number(datum)? as u32, ..datum.clone() })).collect();
        (programs.iter().map(|n| format!("{} :: {}", all.instances[*n].name, all.instances[*n].class)).collect(), data)
    }

    /// Makes all elements, ready to run, each on the engine that `make` gives for its program, in
    /// the order of the elements. They are not linked: one packet runs at a time. `arrives` is told
    /// of each packet that an element without inputs sends.
    ///
    /// # Errors
    /// Elements that cannot be made, drawn where they are declared.
    pub fn start_with(
        &self,
        make: &dyn Fn(Arc<Verified>) -> Box<dyn Engine>,
        arrives: Tell,
        settings: Settings,
        host: Box<dyn Host>,
    ) -> Result<Graph, Error> {
        let engine = |program| Ok(make(program));
        let factories =
            graph::Factories { engine: &engine, coprocessor: &runtime::coproc::make, table: &runtime::coproc::tables::make_for };
        let settings = Settings { text: self.flat.to_string(), requirements: self.facts.requirements.clone(), ..settings };
        let mut graph = Graph::new(&self.application, &factories, settings, host).map_err(|faults| self.drawn(faults))?;
        let with_inputs: HashSet<usize> = self.application.wires.iter().map(|wire| wire.to.instance as usize).collect();
        let sources = (0..self.application.instances.len()).filter(|at| !with_inputs.contains(at)).collect();
        graph.observe(Box::new(Arrivals { sources, tell: arrives }));
        Ok(graph)
    }
}
