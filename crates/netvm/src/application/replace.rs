//! A configuration that runs is replaced by another version of it.
//!
//! The new one is read and made as the first was, with the same settings; elements that are the same go on as they were ([`runtime::graph::Succession`]). Where anything is wrong with it, the
//! old one goes on. The elements of the new one run as machine code at once, and as compiled C, where the engine is for that, when a compiler has made it beside the work.

use super::{Application, Graph, Reading, Settings, with_factories};
use crate::Error;
use crate::engines::{self, EngineInfo};
use runtime::graph::{Fault, Succession};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Another version of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// The configuration.
    pub text: String,
    /// The file that it stands in, if it does: so it is called in messages, and the folder `elements` beside it is where classes are looked for first.
    pub file: Option<PathBuf>,
    /// Values of its parameters; those that are not given stay.
    pub parameters: BTreeMap<String, String>,
}

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
    /// Reads a version; `records`: packets are recorded, so it has room for their numbers.
    pub(super) fn read(&self, version: &Version, records: bool) -> Result<Application, Error> {
        let mut reading = self.reading.clone();
        reading.parameters.extend(version.parameters.clone());
        let folder = version.file.as_deref().and_then(Path::parent).map(|folder| folder.join("elements"));
        if let Some(folder) = folder.filter(|folder| folder.is_dir() && !reading.elements.contains(folder)) {
            reading.elements.insert(0, folder);
        }
        let name = version.file.as_deref().map_or_else(|| self.name.clone(), |file| file.display().to_string());
        let mut application = Application::read(&name, &version.text, &reading)?;
        if records {
            application.record()?;
        }
        Ok(application)
    }

    /// What would become of the elements.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn plan(&self, graph: &Graph, version: &Version) -> Result<Replaced, Error> {
        let application = self.read(version, graph.is_recorded())?;
        application.check()?;
        Ok(Replaced { succession: graph.plan(application.application()), pause: Duration::ZERO, faults: Vec::new() })
    }

    /// Puts the graph of a new version in the place of one.
    ///
    /// # Errors
    /// What is wrong with the configuration, or elements that cannot be made: then the graph goes on as it was.
    pub fn replace(&self, graph: &mut Graph, version: &Version) -> Result<Replaced, Error> {
        let application = self.read(version, graph.is_recorded())?;
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
