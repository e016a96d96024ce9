//! A configuration that runs is replaced by another version of it.
//!
//! The new one is read and made as the first was, with the same settings; elements that are the same go on as they were ([`runtime::graph::Succession`]). Where anything is wrong with it, the
//! old one goes on. The elements of the new one run as machine code at once, and as compiled C, where the engine is for that, when a compiler has made it beside the work.

use super::{Application, Graph, Reading, Settings, with_factories};
use crate::Error;
use crate::engines::{self, EngineInfo};
use runtime::graph::{Fault, Succession};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How a configuration was read and made.
#[derive(Clone)]
pub struct Recipe {
    /// What it is called in messages.
    pub name: String,
    /// How it was read; values of parameters stay as they are if a new version says nothing of them.
    pub reading: Reading,
    /// What runs it.
    pub engine: &'static EngineInfo,
    /// How that was set.
    pub engines: engines::Settings,
    /// What the run was begun with.
    pub settings: Settings,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// What became of elements, tables and packets.
    pub succession: Succession,
    /// For how long no packet was handled; nothing if it was only planned.
    pub pause: Duration,
    /// What elements that are no more could not complete.
    pub faults: Vec<Fault>,
}

impl Recipe {
    fn read(&self, text: &str, parameters: &BTreeMap<String, String>) -> Result<Application, Error> {
        let mut reading = self.reading.clone();
        reading.parameters.extend(parameters.clone());
        Application::read(&self.name, text, &reading)
    }

    /// What would become of the elements.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn plan(&self, graph: &Graph, text: &str, parameters: &BTreeMap<String, String>) -> Result<Replaced, Error> {
        let application = self.read(text, parameters)?;
        application.check()?;
        Ok(Replaced { succession: graph.plan(application.application()), pause: Duration::ZERO, faults: Vec::new() })
    }

    /// Puts the graph of a new version in the place of one.
    ///
    /// # Errors
    /// What is wrong with the configuration, or elements that cannot be made: then the graph goes on as it was.
    pub fn replace(&self, graph: &mut Graph, text: &str, parameters: &BTreeMap<String, String>) -> Result<Replaced, Error> {
        let application = self.read(text, parameters)?;
        let settings = application.own_settings(self.settings.clone());
        let begun = Instant::now();
        let made = with_factories(self.engine, self.engines, |factories| graph.succeed(&application.application, factories, settings));
        let (mut next, succession) = made.map_err(|faults| application.drawn(faults))?;
        // Elements that cannot run as one run one after the other.
        let _ = super::link(&application.application, &mut next, self.engine.at_work(), self.engines);
        let mut old = std::mem::replace(graph, next);
        let pause = begun.elapsed();
        Ok(Replaced { succession, pause, faults: old.finish() })
    }
}
