//! Signals that scripts hear. One that comes is heard once: the script's run from the beginning;
//! when it has ended by itself, it hears the next.
//!
//! Source: Click's manual of Script. Leaves out: signals that tell of a fault of the process, or
//! that no process can hear; and signals to other processes.

use super::builtin::Ctx;
use super::{Graph, HandlerError, Stream};

/// Signals by their names, as POSIX numbers them or Linux does on all of its processors but Alpha,
/// MIPS, PA-RISC and SPARC.
const NAMES: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("USR1", 10),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("TSTP", 20),
    ("IO", 29),
];

/// The number of a signal that is named or numbered.
pub(super) fn number(text: &str) -> Result<i32, HandlerError> {
    let known = NAMES.iter().find(|(name, number)| *name == text || number.to_string() == text);
    let names = || NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    known
        .map(|(_, number)| *number)
        .ok_or_else(|| HandlerError::invalid(format!("'{text}' is no signal that can be heard: there are {}", names())))
}

impl Graph {
    /// Runs the scripts that hear what has come. Those that do not hear again leave the signal to
    /// do what it does.
    pub(super) fn take_signals(&mut self) {
        // Each signal that has come is there once, so that few are enough.
        for _ in 0..NAMES.len() {
            let Some(signal) = self.outside.host.signalled() else { return };
            for node in self.requests.signals.remove(&signal).unwrap_or_default() {
                let run = self.with_builtin(node, |builtin, ctx| builtin.handlers_mut().map(|handlers| handlers.write("run", "", ctx)));
                if let Some(Some(Err(error))) = run {
                    self.outside.host.write(Stream::Err, format!("{error}\n").as_bytes());
                }
                self.settle();
            }
            if !self.requests.signals.contains_key(&signal) {
                self.outside.host.hear(signal, false);
            }
        }
    }
}

impl Ctx<'_> {
    /// This element hears a signal once.
    pub(super) fn hear(&mut self, signal: i32) {
        let hearers = self.graph.requests.signals.entry(signal).or_default();
        if !hearers.contains(&self.node) {
            hearers.push(self.node);
        }
        self.graph.outside.host.hear(signal, true);
    }

    /// `SIGNAL PROCESS…`: sends this process a signal. Configurations may come from others, and are
    /// no reason to end other programs.
    pub(super) fn kill(&mut self, words: &[&str]) -> Result<(), HandlerError> {
        let (signal, processes) = words.split_first().ok_or("kill: expected a signal and processes")?;
        let signal = number(signal)?;
        for process in processes {
            match process.parse() == Ok(std::process::id()) {
                true => self.graph.outside.host.raise(signal),
                false => return Err(HandlerError::invalid(format!("kill: {process} is not this process, which is $$"))),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!((number("USR1"), number("15")), (Ok(10), Ok(15)));
        assert!(["KILL", "9", "11", "-1", ""].iter().all(|text| number(text).is_err()));
    }
}
