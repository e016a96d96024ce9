//! A stage whose work is a configuration of elements, in Click's language or C, or NetIL programs
//! in it.
//!
//! Its device that is read is where the stage's packets come from; each that is written is named
//! like the stage behind it. Time is the packets', and does not go back: a packet that is older
//! than one before it gets the time of that. Tags do not go through elements.

use super::{Burst, Outlets, Packet, Stage, StageError, Work};
use crate::application::{Application, Embedded, HandlerError, Lent, Settings, Silent};
use crate::engines::{self, EngineInfo};
use crate::io::LinkType;
use runtime::graph::builtin::{READERS, WRITERS};
use std::sync::Arc;

struct Elements {
    embedded: Embedded,
    input: String,
    /// In the order of the stage's outputs.
    outputs: Vec<String>,
}

impl Stage {
    /// A stage that runs a configuration; each replica has its own elements. Where its packets go
    /// is said by the names of its devices: `ToDevice(c)` sends to the stage `c`.
    ///
    /// # Errors
    /// The configuration has not one device that is read.
    pub fn elements(name: &str, application: Application, engine: &'static EngineInfo) -> Result<Self, StageError> {
        let inputs = application.devices(&READERS);
        let [input] = &inputs[..] else {
            return Err(StageError::Number(format!(
                "the elements of stage {name} read from {} devices; they must read from one",
                inputs.len()
            )));
        };
        let (input, outputs) = (input.clone(), application.devices(&WRITERS));
        let (application, names) = (Arc::new(application), outputs.clone());
        let make = move |_| {
            let embedded = application.embed(engine, engines::Settings::default(), Settings::default(), Box::new(Silent));
            let embedded = embedded.map_err(|error| error.render(false))?;
            Ok(Box::new(Elements { embedded, input: input.clone(), outputs: names.clone() }) as Box<dyn Work>)
        };
        Ok(outputs.iter().fold(Self::made_by(name, make), |stage, to| stage.to(to)))
    }
}

impl Elements {
    /// Runs all that has come, and hands on what came of it.
    fn turn(&mut self, outlets: &mut Outlets) {
        self.embedded.run();
        for (output, name) in self.outputs.iter().enumerate() {
            let wants = |Lent { bytes, wire_len, time_ns, .. }: Lent<'_>| {
                outlets.send(output, Packet { bytes, wire_len, time_ns, tag: 0 });
                true
            };
            // The device is there: it was asked for by its name.
            let _ = self.embedded.take(name, wants);
        }
    }
}

impl Work for Elements {
    fn run(&mut self, burst: &mut Burst, outlets: &mut Outlets) {
        for packet in burst.iter() {
            let lent = Lent { bytes: packet.bytes, wire_len: packet.on_wire(), time_ns: packet.time_ns, link: LinkType::EN10MB };
            // The queue is empty, and has room for more than a burst; only one that is enormous is
            // handed on in parts.
            if !self.embedded.push(&self.input, lent).unwrap_or(true) {
                self.turn(outlets);
                let _ = self.embedded.push(&self.input, lent);
            }
        }
        self.turn(outlets);
    }

    fn read(&mut self, handler: &str, text: &str) -> Result<String, HandlerError> {
        self.embedded.graph().read(handler, text, None)
    }

    fn write(&mut self, handler: &str, text: &str) -> Result<(), HandlerError> {
        self.embedded.graph().write(handler, text, None)
    }
}
