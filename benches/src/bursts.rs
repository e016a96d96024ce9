//! Applications within another program: packets go in and out by calls, so many at a time, as they
//! come from a device that is more or less busy.
//!
//! Times are the processor's, of all that is done: packets copied in, run, and looked at where they
//! leave. The first pass over the trace, in which tables fill, does not count. C by hand has
//! packets copied in as well, up to 256 at a time, and leaves them in queues.

use crate::applications::{nat_by_hand, router_by_hand};
use crate::hand::{BURST, Hand, Trace};
use crate::traffic::{self, PORTS, Packet};
use netvm::application::{Application, Embedded, Lent, Reading, Settings, Silent};
use netvm::engines;
use netvm::io::LinkType;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Packets that come at a time.
const BURSTS: [usize; 5] = [1, 8, 32, 256, 768];
/// From one packet to the next, in nanoseconds.
const INTERVAL: u64 = 1000;
/// Routes and flows.
const ENTRIES: usize = 1000;

/// One application with one size of bursts.
#[derive(Serialize)]
pub struct Row {
    /// Which.
    pub application: &'static str,
    /// Packets at a time.
    pub burst: usize,
    /// What ran it.
    pub engine: &'static str,
    /// Per packet, nanoseconds.
    pub median_ns: f64,
}

/// What is measured.
struct Case {
    application: &'static str,
    file: &'static str,
    elements: &'static str,
    parameters: BTreeMap<String, String>,
    input: &'static str,
    packets: Vec<Packet>,
    by_hand: Hand,
}

fn cases() -> [Case; 2] {
    let routes = traffic::routes(ENTRIES);
    let table = std::env::temp_dir().join(format!("netvm-bench-routes-{}.txt", std::process::id()));
    // If it cannot be written, the configuration that reads it says so.
    let _ = std::fs::write(&table, traffic::routes_text(&routes, PORTS, 0));
    let words = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let router = Case {
        application: "router",
        file: "apps/router/forward.click",
        elements: "apps/router/elements",
        parameters: words(&[("ROUTES", &table.display().to_string())]),
        input: "in",
        packets: traffic::routed(&routes, None),
        by_hand: router_by_hand(&routes),
    };
    let nat = Case {
        application: "nat",
        file: "apps/nat/forward.click",
        elements: "apps/nat/elements",
        parameters: BTreeMap::new(),
        input: "inside",
        packets: traffic::translated(ENTRIES),
        by_hand: nat_by_hand(ENTRIES),
    };
    [router, nat]
}

/// All of them, on the engines that programs have, or those that are named by words: application,
/// engine, packets at a time.
///
/// # Errors
/// A configuration cannot be read.
pub fn measure(rounds: usize, only: &[String]) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for mut case in cases() {
        let application = case.application;
        let is_named = |engine: &str, burst: usize| {
            let name = format!("{application} {engine} {burst} ");
            only.is_empty() || only.iter().any(|named| name.starts_with(&format!("{named} ")))
        };
        let by_hand = BURSTS.into_iter().filter(|burst| *burst <= BURST && is_named("hand", *burst));
        rows.extend(by_hand.map(|burst| case.row_by_hand(burst, rounds)));
        let rest = ["jit", "aot"].into_iter().flat_map(|engine| BURSTS.map(|burst| (engine, burst)));
        for (engine, burst) in rest.filter(|(engine, burst)| is_named(engine, *burst)) {
            match case.row(engine, burst, rounds) {
                Ok(row) => rows.push(row),
                Err(why) => eprintln!("skipped: {} on {engine}: {why}", case.application),
            }
        }
        case.parameters.get("ROUTES").into_iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
    Ok(rows)
}

impl Case {
    fn row_by_hand(&mut self, burst: usize, rounds: usize) -> Row {
        let trace = Trace::of_bursts(&self.packets, INTERVAL, burst);
        self.by_hand.run(&trace, 1);
        let ns = |_| {
            let begun = processor_time();
            self.by_hand.run(&trace, 1);
            (processor_time() - begun) as f64 / self.packets.len() as f64
        };
        let mut times: Vec<f64> = (0..rounds).map(ns).collect();
        times.sort_by(f64::total_cmp);
        Row { application: self.application, burst, engine: "C by hand", median_ns: times[times.len() / 2] }
    }

    fn row(&self, engine: &'static str, burst: usize, rounds: usize) -> Result<Row, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let file = root.join(self.file);
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let reading = Reading { parameters: self.parameters.clone(), elements: vec![root.join(self.elements)], ..Reading::default() };
        let application = Application::read(&file.display().to_string(), &text, &reading).map_err(|error| error.to_string())?;
        let found = engines::find(engine).ok_or_else(|| format!("no engine {engine}"))?;
        let embedded = application.embed(found, engines::Settings::default(), Settings::default(), Box::new(Silent));
        let mut embedded = embedded.map_err(|error| error.to_string())?;
        let mut now = 0;
        let sent = self.pass(&mut embedded, burst, &mut now)?;
        if sent == 0 {
            return Err("nothing leaves".to_owned());
        }
        let mut times = Vec::new();
        for _ in 0..rounds {
            let begun = processor_time();
            self.pass(&mut embedded, burst, &mut now)?;
            times.push((processor_time() - begun) as f64 / self.packets.len() as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok(Row { application: self.application, burst, engine, median_ns: times[times.len() / 2] })
    }

    /// All packets once; how many left.
    fn pass(&self, embedded: &mut Embedded, burst: usize, now: &mut u64) -> Result<usize, String> {
        let input = embedded.port(self.input).map_err(|error| error.to_string())?;
        let outputs: Vec<usize> = (0..embedded.ports().count()).filter(|port| *port != input || self.application == "nat").collect();
        let mut sent = 0;
        for packets in self.packets.chunks(burst) {
            for packet in packets {
                *now += INTERVAL;
                let lent = Lent { bytes: &packet.bytes, wire_len: packet.bytes.len() as u32, time_ns: *now, link: LinkType::EN10MB };
                embedded.push_to(input, lent);
            }
            embedded.run();
            for output in &outputs {
                sent += embedded.take_from(*output, |packet| std::hint::black_box(packet.bytes.len()) > 0);
            }
        }
        Ok(sent)
    }
}

fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packets_of_a_burst_leave() {
        for case in cases() {
            let row = case.row("jit", 32, 1).unwrap();
            assert!(row.median_ns > 0.0, "{}", case.application);
        }
    }
}
