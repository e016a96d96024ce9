//! A configuration that runs is replaced by another version of it.
//!
//! ```text
//!  any thread, while packets flow   read, verify, place, compile to machine code ──▶ Prepared
//!  the graph's, between two turns   make elements, move what is kept, link       ◀──
//! ```
//!
//! The new one is read and made as the first was, with the same settings; elements that are the
//! same go on as they were ([`runtime::graph::Succession`]). Where anything is wrong with it, the
//! old one goes on. The elements of the new one run as machine code at once, and as compiled C,
//! where the engine is for that, when a compiler has made it beside the work.

use super::cores::{New, PlacementFn, Rearrangement};
use super::ready::Ready;
use super::{Application, Graph, Reading, Settings};
use crate::Error;
use crate::engines::{self, EngineInfo};
use runtime::graph::{Fault, Succession};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Another version of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The configuration.
    pub text: String,
    /// The file that it stands in, if it does: so it is called in messages, and the folder
    /// `elements` beside it is where classes are looked for first.
    pub file: Option<PathBuf>,
    /// Values of its parameters; those that are not given stay.
    pub parameters: BTreeMap<String, String>,
}

/// How a configuration was read and made.
#[derive(Clone)]
pub struct Recipe {
    /// What it is called in messages.
    pub name: String,
    /// How it was read; values of parameters stay as they are if a new version says nothing of
    /// them.
    pub reading: Reading,
    /// What runs it.
    pub engine: &'static EngineInfo,
    /// How that was set.
    pub engines: engines::Settings,
    /// What the run was begun with.
    pub settings: Settings,
    /// Values of parameters that versions were given which have taken their place since.
    given: Arc<Mutex<BTreeMap<String, String>>>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// What became of elements, tables and packets.
    pub succession: Succession,
    /// For how long no packet was handled; nothing if it was only planned.
    pub pause: Duration,
    /// How long it took before, while packets flowed where it was [prepared](Recipe::prepare)
    /// beside them.
    pub prepared: Duration,
    /// What elements that are no more could not complete.
    pub faults: Vec<Fault>,
}

/// A version that is ready to take its place.
pub struct Prepared {
    pub(super) application: Application,
    pub(super) parts: Parts,
    /// What it was made of.
    pub(super) version: Version,
    /// How it is placed, if that is what is new.
    pub(super) rearrangement: Option<Rearrangement>,
    /// How the run was placed when it was prepared.
    pub(super) place: Option<Arc<PlacementFn>>,
    /// How long that took.
    pub(super) took: Duration,
}

/// What of it is made already.
pub(super) enum Parts {
    /// It runs on one thread.
    Whole(Box<Ready>),
    /// On several, in stages.
    Stages(Box<New>),
}

impl Recipe {
    /// How the configuration of that name was read, and is made.
    pub fn new(name: String, reading: Reading, engine: &'static EngineInfo, engines: engines::Settings, settings: Settings) -> Self {
        Self { name, reading, engine, engines, settings, given: Arc::default() }
    }

    /// A version with these parameters has taken its place: they stay.
    pub(super) fn keep(&self, parameters: BTreeMap<String, String>) {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).extend(parameters);
    }

    /// Reads a version; `records`: packets are recorded, so it has room for their numbers.
    pub(super) fn read(&self, version: &Version, records: bool) -> Result<Application, Error> {
        let mut reading = self.reading.clone();
        reading.parameters.extend(self.given.lock().unwrap_or_else(PoisonError::into_inner).clone());
        reading.parameters.extend(version.parameters.clone());
        let folder = version.file.as_deref().and_then(Reading::folder_beside);
        if let Some(folder) = folder.filter(|folder| !reading.elements.contains(folder)) {
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
        let prepared = self.prepare(version, (graph.is_recorded(), true))?;
        Ok(Self::planned(graph, &prepared))
    }

    /// What would become of the elements by a version that was prepared.
    pub fn planned(graph: &Graph, prepared: &Prepared) -> Replaced {
        let succession = graph.plan(prepared.application.application());
        Replaced { succession, pause: Duration::ZERO, prepared: prepared.took, faults: Vec::new() }
    }

    /// Reads a version, and compiles it unless it is only `planned`: on any thread, while the graph
    /// runs. `records`: the graph records packets.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn prepare(&self, version: &Version, (records, planned): (bool, bool)) -> Result<Prepared, Error> {
        let begun = Instant::now();
        let application = self.read(version, records)?;
        application.check()?;
        let ready = match planned {
            true => Ready::empty(self.engine, self.engines),
            false => Ready::of(application.application(), self.engine, self.engines),
        };
        let (parts, version) = (Parts::Whole(Box::new(ready)), version.clone());
        Ok(Prepared { application, parts, version, rearrangement: None, place: None, took: begun.elapsed() })
    }

    /// Puts the graph of a new version in the place of one.
    ///
    /// # Errors
    /// What is wrong with the configuration, or elements that cannot be made: then the graph goes
    /// on as it was.
    pub fn replace(&self, graph: &mut Graph, version: &Version) -> Result<Replaced, Error> {
        let prepared = self.prepare(version, (graph.is_recorded(), false))?;
        self.succeed(graph, prepared)
    }

    /// Puts the graph of a version that was prepared in the place of one.
    ///
    /// # Errors
    /// Elements that cannot be made: then the graph goes on as it was.
    pub fn succeed(&self, graph: &mut Graph, prepared: Prepared) -> Result<Replaced, Error> {
        let Prepared { application, parts, version, took: prepared, .. } = prepared;
        let ready = match parts {
            Parts::Whole(ready) => *ready,
            // Not prepared by this recipe: compiled now.
            Parts::Stages(_) => Ready::empty(self.engine, self.engines),
        };
        let settings = application.own_settings(self.settings.clone());
        let begun = Instant::now();
        let made = ready.with_factories(|factories| graph.succeed(&application.application, factories, settings));
        let (mut next, succession) = made.map_err(|faults| application.drawn(faults))?;
        ready.link(&application.application, &mut next);
        self.keep(version.parameters);
        let mut old = std::mem::replace(graph, next);
        let faults = old.finish();
        // Giving its memory back is a part of the pause.
        drop(old);
        Ok(Replaced { succession, pause: begun.elapsed(), prepared, faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::Silent;

    const FIRST: &str =
        "FromDump(/dev/null) -> c :: Classifier(12/0800, -); c[0] -> Strip(14) -> h :: CheckIPHeader -> d :: Discard; c[1] -> Discard;";

    #[test]
    fn nothing_is_compiled_while_no_packet_is_handled() {
        let (name, reading, engines) = ("test.click".to_owned(), Reading::default(), engines::Settings::default());
        for (engine, fuses) in [("jit", true), ("auto", true), ("interp", false)] {
            let engine = engines::find(engine).unwrap();
            let recipe = Recipe::new(name.clone(), reading.clone(), engine, engines, Settings::default());
            // What is read is no capture: elements are only made.
            let text = FIRST.replace("FromDump(/dev/null)", "InfiniteSource(LIMIT 3)");
            let application = Application::read(&name, &text, &reading).unwrap();
            let mut graph = application.start(engine, engines, Settings::default(), Box::new(Silent)).unwrap();
            let text = text.replace("Strip(14)", "n :: Counter -> Strip(14)");
            let prepared = recipe.prepare(&Version { text, ..Version::default() }, (false, false)).unwrap();
            let Parts::Whole(ready) = &prepared.parts else { panic!("it runs on one thread") };
            let (count, fused) = (ready.count(), ready.fused().is_some());
            assert!(count >= 4 && fused == fuses, "{}: {count} programs, fused: {fused}", engine.name);
            // Made of that only: another element would be another program.
            ready.with_factories(|factories| {
                let application = prepared.application.application();
                application.instances.iter().filter_map(|it| it.program()).for_each(|program| drop((factories.engine)(program.clone())));
            });
            assert_eq!(ready.count(), count, "{}", engine.name);
            let replaced = recipe.succeed(&mut graph, prepared).unwrap();
            assert_eq!(replaced.succession.made, ["n"]);
            assert!(replaced.prepared > Duration::ZERO);
            graph.start();
            while graph.turn() {}
            assert_eq!(graph.read("n.count", "", None), Ok("0".to_owned()));
        }
    }

    /// Values of parameters that a version was given stay, unless it did not take its place.
    #[test]
    fn parameters_that_are_not_given_stay() {
        let text = "define($LEN 14); InfiniteSource(LIMIT 3) -> s :: Strip($LEN) -> Discard;".to_owned();
        let (name, reading, engines) = ("test.click".to_owned(), Reading::default(), engines::Settings::default());
        let engine = engines::find("interp").unwrap();
        let recipe = Recipe::new(name.clone(), reading.clone(), engine, engines, Settings::default());
        let application = Application::read(&name, &text, &reading).unwrap();
        let mut graph = application.start(engine, engines, Settings::default(), Box::new(Silent)).unwrap();
        let mut made = |len: Option<&str>, text: &str| {
            let parameters = len.map(|len| ("LEN".to_owned(), len.to_owned())).into_iter().collect();
            let replaced = recipe.replace(&mut graph, &Version { text: text.to_owned(), parameters, ..Version::default() });
            replaced.map(|replaced| replaced.succession.made).unwrap_or_default()
        };
        assert_eq!(made(Some("16"), &text), ["s"]);
        assert!(made(None, &text).is_empty(), "16 stays");
        assert!(made(Some("18"), "no configuration").is_empty());
        assert!(made(None, &text).is_empty(), "16 stays where a version is wrong");
        assert_eq!(made(Some("14"), &text), ["s"]);
    }
}
