//! The flight recorder of `netvm run`: the ways of the last packets are kept, and written to a file
//! if the run crashes.

use super::Args;
use crate::commands::ctl;
use crate::failure::{self, Failure, Outcome};
use netvm::application::{Application, Graph, RECORD};
use netvm::control::{Controlled, why};
use netvm::netil::fault::{caught, said};
use serde_json::Value;
use std::path::PathBuf;

/// So many packets are kept if nothing is said.
const USUAL: usize = 4096;
/// Of configurations with more elements packets are recorded only where it is asked for.
const MOST_ELEMENTS: usize = 10_000;

/// Whether packets are recorded: they are unless that is declined, or not possible where nobody
/// asks for it.
pub(super) fn wanted(args: &Args, application: &Application) -> bool {
    let usual = args.target.is_none() && application.application().instances.len() <= MOST_ELEMENTS;
    args.record.map_or(usual, |packets| packets > 0)
}

/// How many packets are kept, and whether all that come are recorded.
pub(super) fn amount(args: &Args) -> (usize, bool) {
    args.record.map_or((USUAL, false), |packets| (packets as usize, true))
}

/// Records packets from now on.
pub(super) fn begin(amount: (usize, bool), graph: &mut Graph) -> Outcome {
    let begun = match amount {
        (packets, true) => graph.record(packets, RECORD),
        (packets, false) => graph.record_some(packets, RECORD, why::PART),
    };
    begun.map_err(Failure::failed)
}

/// Does the work. If it panics, what was recorded is written to a file, and the run has failed.
pub(super) fn guarded<R: Controlled, T>(run: &mut R, work: impl FnOnce(&mut R) -> T) -> Outcome<T> {
    // The run is only looked at afterwards.
    caught(|| work(run)).map_err(|panic| {
        write(run);
        Failure::failed(format_args!("netvm has failed: {}", said(&*panic)))
    })
}

/// Writes what was recorded to a file, as far as something was, and tells where, and which packet
/// was at hand.
pub(super) fn write(run: &impl Controlled) {
    let Some(packets) = caught(|| run.recorded()).ok().flatten() else { return };
    for packet in packets.iter().filter(|packet| packet["failed"] == true) {
        failure::error(&format!("{}\n  {}", packet["dropped"].as_str().unwrap_or_default(), ctl::packet(packet)));
    }
    let file = file();
    match std::fs::write(&file, Value::Array(packets).to_string()) {
        Ok(()) => failure::error(&format!("the last packets are in {}; netvm ctl why --file reads it", file.display())),
        Err(error) => failure::error(&format!("the last packets could not be written: {error}")),
    }
}

fn file() -> PathBuf {
    PathBuf::from(format!("netvm-crash-{}.json", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netvm::application::{Application, Host, Settings, Stream};
    use netvm::engines;

    struct Quiet;

    impl Host for Quiet {
        fn write(&mut self, _: Stream, _: &[u8]) {}
    }

    #[test]
    fn what_was_recorded_is_written_when_a_run_crashes() {
        let mut application = Application::read("test", "InfiniteSource(LIMIT 5) -> d :: Discard", &Default::default()).unwrap();
        application.record().unwrap();
        let mut graph = application.start(&engines::ALL[0], engines::Settings::default(), Settings::default(), Box::new(Quiet)).unwrap();
        begin((3, true), &mut graph).unwrap();
        let crashes = |graph: &mut Graph| {
            graph.start();
            while graph.turn() {}
            // As a fault of ours would.
            why::packets(graph).is_none().then_some(1).expect("a fault")
        };
        let crashed = guarded(&mut graph, crashes).unwrap_err();
        assert_eq!(crashed.message(), "netvm has failed: a fault");
        let text = std::fs::read_to_string(file()).unwrap();
        std::fs::remove_file(file()).unwrap();
        let packets: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(packets.iter().map(|packet| &packet["element"]).collect::<Vec<_>>(), ["d", "d", "d"]);
    }
}
