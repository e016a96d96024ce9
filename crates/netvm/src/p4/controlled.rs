//! A [`Switch`] behind control sockets: it answers as a graph with one element, `p4`, that has the
//! handlers of a P4 element.

use super::{Switch, batch, dump};
use crate::application::{Described, HandlerError, NodeStats, Stats};
use crate::control::{Controlled, Handlers};
use runtime::graph::builtin::element_handlers;
use std::time::Duration;

/// The name of the element.
const NAME: &str = "p4";

/// A switch with what is told of it.
pub struct Ruled<'s> {
    /// The switch.
    pub switch: &'s mut Switch,
    /// Packets that came in, and those of which nothing left.
    pub packets: [u64; 2],
    /// For how long the calling thread has only looked for packets.
    pub looked: Duration,
    /// Somebody asked for the end of the run.
    pub stopped: &'s mut bool,
}

/// Which handler a name means; there may be the element's in front.
fn handler(name: &str) -> &str {
    name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
}

impl Handlers for Ruled<'_> {
    fn read(&mut self, name: &str, text: &str) -> Result<String, HandlerError> {
        match handler(name) {
            "tables" => Ok(dump::tables(&self.switch.pipeline, &self.switch.state)),
            "command" => {
                let told = batch::run(self.switch, text, |_| Ok(()))?;
                Ok(told.into_iter().map(|line| line + "\n").collect())
            }
            _ => Err(HandlerError::NoHandler(format!("no handler '{name}'; there are {NAME}.command and {NAME}.tables"))),
        }
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), HandlerError> {
        match handler(name) {
            "command" => Ok(batch::run(self.switch, text, |_| Ok(())).map(drop)?),
            "stop" => {
                *self.stopped = true;
                Ok(())
            }
            _ => Err(HandlerError::NoHandler(format!("no handler '{name}' that is written; there are {NAME}.command and stop"))),
        }
    }

    fn has_handler(&self, name: &str, write: bool) -> bool {
        matches!((handler(name), write), ("command", _) | ("tables", false) | ("stop", true))
    }
}

impl Controlled for Ruled<'_> {
    fn graph(&mut self) -> &mut dyn Handlers {
        self
    }

    fn elements(&self) -> Vec<Described> {
        vec![Described { name: NAME.to_owned(), class: "P4".to_owned(), handlers: element_handlers(&["tables"], &[], &["command"]) }]
    }

    fn stats(&self) -> Stats {
        let [arrivals, nowhere] = self.packets;
        let drops = [("nothing left".to_owned(), nowhere)].into_iter().filter(|(_, count)| *count > 0).collect();
        let node = NodeStats { packets: arrivals, drops, ..NodeStats::default() };
        let looked_ns = self.looked.as_nanos() as u64;
        Stats { arrivals, nodes: vec![(NAME.to_owned(), "P4".to_owned(), node)], looked_ns, ..Stats::default() }
    }

    fn stop(&mut self) {
        *self.stopped = true;
    }
}
