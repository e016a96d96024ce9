//! What happens to chosen packets on their way through a configuration: every element met, what it
//! changed, where the packet ended and why.
//!
//! The elements run one after the other in the interpreter, which is the meaning of every
//! configuration, from the first packet on, so that tables and queues are as the chosen packets
//! find them. Nothing is written but what is told: captures that the configuration would write are
//! left alone, and so is what elements print.
//!
//! A packet carries a number in a field of info memory that is added to the configuration's
//! (`recorder`), so it is known again behind queues and after an element has held it. A packet
//! without number was made by an element, of the packet that it had.

mod fields;
mod recorder;

use crate::application::{Application, Graph, Host, Settings, Stream};
use crate::engines::{self, ALL};
use crate::sync::lock;
use crate::{Error, Filter};
use recorder::Recorder;
use runtime::io::LinkType;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Which packets are followed.
#[derive(Default)]
pub struct Chosen {
    /// The one with that number, counted from 1 where it arrives.
    pub number: Option<u64>,
    /// Those that a filter takes.
    pub filter: Option<Filter>,
    /// No more than so many.
    pub most: Option<u64>,
}

/// A packet's way.
#[derive(Clone, Debug)]
pub struct Journey {
    /// Its number.
    pub number: u64,
    /// When it arrived, in nanoseconds since 1970.
    pub time_ns: u64,
    /// What it began with, when it arrived.
    pub link: LinkType,
    /// Its bytes then.
    pub bytes: Vec<u8>,
    /// Its length on the wire.
    pub wire_len: u32,
    /// What it met, and its copies, in the order of events.
    pub steps: Vec<Step>,
}

/// An element met.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which packet: its number, and for copies and packets made of it those behind: `7.1`.
    pub packet: String,
    /// The element's index in the application.
    pub element: usize,
    /// The input, unless the packet came into being here.
    pub input: Option<u32>,
    /// What is different when it leaves.
    pub changes: Vec<Change>,
    /// What became of it.
    pub end: End,
    /// Copies of it that left here: their names and outputs.
    pub copies: Vec<(String, u32)>,
    /// Packets that the element made meanwhile.
    pub made: Vec<(String, u32)>,
}

/// What became of a packet in an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It left by that output.
    Left(u32),
    /// It was dropped, or trapped, for that reason.
    Dropped(String),
    /// It is in a queue.
    Kept,
    /// The element holds it, or made other packets of it and has done with it.
    Taken,
    /// It was written to a capture.
    Written(String),
    /// Its way ends here.
    Gone,
}

/// Something that is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A field of a header, an annotation, or bytes, with what was there and what is there now.
    Field {
        /// Its name.
        name: String,
        /// What was there.
        before: String,
        /// What is there now.
        after: String,
    },
    /// Bytes were taken off (negative) or put before the head.
    Head(i64),
    /// Bytes were taken off (negative) or put behind the tail.
    Tail(i64),
}

/// Nobody hears what elements print.
struct Silence;

impl Host for Silence {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// A configuration that is run to see what becomes of packets.
pub struct Tracer {
    graph: Graph,
    recorder: Arc<Mutex<Recorder>>,
}

impl Tracer {
    /// Makes the elements ready. `input` is read in the place of the only capture or device that
    /// the configuration reads; the packets counted are then those.
    ///
    /// # Errors
    /// Elements cannot be made; the configuration reads none or several captures.
    pub fn new(mut application: Application, input: Option<&Path>, chosen: Chosen, mut settings: Settings) -> Result<Self, Error> {
        let source = input.map(|input| application.feed(input, &mut settings)).transpose()?;
        let outputs = application.mute(&mut settings);
        application.number_packets()?;
        let recorder = Arc::new(Mutex::new(Recorder::new(application.application(), chosen, source, outputs)));
        let mut graph = application.start(&ALL[0], engines::Settings::default(), settings, Box::new(Silence))?;
        graph.observe(Box::new(recorder::Watching(Arc::clone(&recorder))));
        graph.start();
        Ok(Self { graph, recorder })
    }

    /// Does a little. False when there is nothing more to see.
    ///
    /// # Errors
    /// The filter has no meaning on packets that arrived.
    pub fn turn(&mut self) -> Result<bool, Error> {
        let goes_on = self.graph.turn();
        let mut recorder = lock(&self.recorder);
        match recorder.error.take() {
            Some(error) => Err(error),
            None => Ok(goes_on && !recorder.is_done()),
        }
    }

    /// What happened so far.
    pub fn journeys(&mut self) -> Vec<Journey> {
        lock(&self.recorder).take()
    }

    /// How many packets have arrived.
    pub fn arrived(&self) -> u64 {
        lock(&self.recorder).arrived()
    }

    /// What could not be read to its end, by element.
    pub fn finish(&mut self) -> Vec<String> {
        let faults = self.graph.finish();
        faults.iter().map(|f| format!("{} :: {}: {}", self.graph.name(f.instance), self.graph.class(f.instance), f.message())).collect()
    }
}
