//! How long packets stay in the router while it is loaded: NRTE paper, Figure 4.
//!
//! The forward path of apps/router runs within this program. Packets are due at even times of the
//! machine's clock, at a part of the rate that the router takes at most; all that are due go in,
//! the router runs, and what leaves has stayed since it was due. So waiting counts, for packets
//! before it as for whatever else the machine does. The most is measured first, with bursts of
//! [`BURST`]. Packets are told by their order: the router has one way, and drops none of these.

use crate::traffic::{self, PORTS, Packet};
use netvm::application::{Application, Embedded, Lent, Reading, Settings, Silent};
use netvm::engines;
use netvm::io::LinkType;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// Parts of the most that the router takes, in percent.
const LOADS: [u32; 7] = [10, 30, 50, 70, 80, 90, 95];
/// Packets that go in together at most.
const BURST: usize = 256;
/// Routes.
const ROUTES: usize = 1000;
/// How long each load lasts.
const LASTS: Duration = Duration::from_millis(1500);
/// How long the most is measured.
const MOST: Duration = Duration::from_millis(500);

/// A load.
#[derive(Serialize)]
pub struct Row {
    /// What ran the router.
    pub engine: &'static str,
    /// In percent of the most.
    pub load: u32,
    /// Millions of packets a second that came.
    pub mpps: f64,
    /// How long packets stayed, in microseconds: the median, and what 90, 99 and 99.9 percent stay
    /// less than.
    pub us: [f64; 4],
    /// Packets that did not leave.
    pub lost: u64,
}

/// The router and its packets.
struct Router {
    embedded: Embedded,
    packets: Vec<Packet>,
    input: usize,
    outputs: Vec<usize>,
}

impl Router {
    fn new(engine: &str) -> Result<Self, String> {
        let routes = traffic::routes(ROUTES);
        let table = std::env::temp_dir().join(format!("netvm-bench-latency-{}.txt", std::process::id()));
        let told = |error: std::io::Error| format!("{}: {error}", table.display());
        std::fs::write(&table, traffic::routes_text(&routes, PORTS, 0)).map_err(told)?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let file = root.join("apps/router/forward.click");
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parameters = [("ROUTES".to_owned(), table.display().to_string())].into();
        let reading = Reading { parameters, elements: vec![root.join("apps/router/elements")], ..Reading::default() };
        let application = Application::read(&file.display().to_string(), &text, &reading).map_err(|error| error.to_string())?;
        let engine = engines::find(engine).ok_or_else(|| format!("no engine {engine}"))?;
        let embedded = application.embed(engine, engines::Settings::default(), Settings::default(), Box::new(Silent));
        let embedded = embedded.map_err(|error| error.to_string());
        std::fs::remove_file(&table).map_err(told)?;
        let embedded = embedded?;
        let input = embedded.port("in").map_err(|error| error.to_string())?;
        let outputs = (0..embedded.ports().count()).filter(|port| *port != input).collect();
        Ok(Self { embedded, packets: traffic::routed(&routes, None), input, outputs })
    }

    /// So many packets go in, the first of which is that one of all, and the router runs; how many
    /// left.
    fn run(&mut self, first: u64, count: usize) -> u64 {
        for n in first..first + count as u64 {
            let bytes = &self.packets[n as usize % self.packets.len()].bytes;
            let lent = Lent { bytes, wire_len: bytes.len() as u32, time_ns: n, link: LinkType::EN10MB };
            self.embedded.push_to(self.input, lent);
        }
        self.embedded.run();
        let mut left = 0;
        for output in &self.outputs {
            left += self.embedded.take_from(*output, |packet| std::hint::black_box(packet.bytes.len()) > 0) as u64;
        }
        left
    }

    /// Nanoseconds of a packet where the next burst is always there.
    fn least(&mut self, next: &mut u64) -> f64 {
        let (begun, first) = (Instant::now(), *next);
        while begun.elapsed() < MOST {
            self.run(*next, BURST);
            *next += BURST as u64;
        }
        begun.elapsed().as_nanos() as f64 / (*next - first) as f64
    }

    /// Packets that are due at such distances.
    fn loaded(&mut self, apart_ns: f64, next: &mut u64) -> (Vec<f64>, u64) {
        let (begun, first) = (Instant::now(), *next);
        let (mut stays, mut left) = (Vec::new(), 0);
        while begun.elapsed() < LASTS {
            let due = (begun.elapsed().as_nanos() as f64 / apart_ns) as u64 + 1;
            let count = ((first + due).saturating_sub(*next) as usize).min(BURST);
            if count == 0 {
                std::hint::spin_loop();
                continue;
            }
            left += self.run(*next, count);
            let now = begun.elapsed().as_nanos() as f64;
            stays.extend((*next - first..*next - first + count as u64).map(|n| now - n as f64 * apart_ns));
            *next += count as u64;
        }
        (stays, *next - first - left)
    }
}

/// All loads, on the engines that programs have.
///
/// # Errors
/// The router cannot be read.
pub fn measure() -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for engine in ["jit", "aot"] {
        let mut router = match Router::new(engine) {
            Ok(router) => router,
            Err(why) => {
                eprintln!("skipped: the router on {engine}: {why}");
                continue;
            }
        };
        let mut next = 0;
        router.least(&mut next);
        let least = router.least(&mut next);
        for load in LOADS {
            let apart = least * 100.0 / f64::from(load);
            let (mut stays, lost) = router.loaded(apart, &mut next);
            stays.sort_by(f64::total_cmp);
            let at = |part: f64| stays.get((stays.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN) / 1e3;
            let row = Row { engine, load, mpps: 1e3 / apart, us: [0.5, 0.9, 0.99, 0.999].map(at), lost };
            eprintln!(
                "router on {engine}, {load} % of {:.2} million packets/s: {:.1} us in the middle, {:.1} of 99 %",
                1e3 / least,
                row.us[0],
                row.us[2]
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The rows as text.
pub fn table(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let [median, ninety, most, longest] = row.us;
        format!(
            "| {} | {} % | {:.2} | {median:.1} | {ninety:.1} | {most:.1} | {longest:.1} | {} |\n",
            row.engine, row.load, row.mpps, row.lost
        )
    };
    let head = "\nHow long packets stay in the router, in us\n| engine | load | Mpps | median | 90 % | 99 % | 99.9 % | lost |\n|---|---|---|---|---|---|---|---|\n";
    rows.iter().fold(head.to_owned(), |text, row| text + &line(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_and_stay_for_some_time() {
        let mut router = Router::new("jit").unwrap();
        assert_eq!(router.run(0, 200), 200);
        let mut next = 200;
        // One in 20 us is little load even in a debug build.
        let (stays, lost) = router.loaded(20_000.0, &mut next);
        assert!(lost == 0 && stays.len() > 1000 && stays.iter().all(|stay| *stay > 0.0), "{} {lost}", stays.len());
    }
}
