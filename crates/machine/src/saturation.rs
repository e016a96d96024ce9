//! The highest rate at which no packet is dropped: packets arrive evenly, and the search halves the
//! interval between a rate that is sustained and one that is not.
//!
//! A rate is sustained if nine of ten runs drop nothing; each run begins at another packet of the
//! trace. The NetTM paper says so of runs of five seconds; how long they are is for the caller to
//! say. The trace is repeated; a run ends early when the machine comes to a state in which it was
//! before, because what follows has been seen without a drop.

use crate::description::Machine;
use crate::model::signature::Signature;
use crate::model::{Options, Report, Scheme, simulate_with};
use crate::steps::Work;

/// Runs at one rate, and how many of them may drop packets.
const RUNS: usize = 10;
const MAY_DROP: usize = 1;
/// Halvings: the rate is found within a part in a thousand of what the machine does with packets
/// always there.
const STEPS: usize = 10;

/// What was found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Saturation {
    /// How elements were kept from each other.
    pub scheme: Scheme,
    /// The highest rate that was sustained, in packets a second.
    pub packets_per_second: f64,
    /// Simulated seconds of each run.
    pub seconds: f64,
    /// A run at that rate.
    pub report: Report,
}

/// Searches; `seconds` are simulated.
pub fn search(machine: &Machine, work: &[Work], scheme: Scheme, seconds: f64) -> Saturation {
    let options = |rate: f64, run: usize| Options {
        scheme,
        packets: ((rate * seconds) as u64).max(1),
        first: run * work.len() / RUNS,
        interval: Some(machine.clock_mhz * 1e6 / rate),
        until_drop: true,
        until_repeat: true,
    };
    let busy = Options { scheme, packets: work.len() as u64, first: 0, interval: None, until_drop: false, until_repeat: false };
    let signature = Signature::of(machine, work, scheme);
    let simulate = |options: &Options| simulate_with(machine, work, options, &signature);
    let most = simulate(&busy).packets_per_second * 1.02;
    let (mut low, mut high) = (0.0, most.max(1.0));
    for _ in 0..STEPS {
        let rate = f64::midpoint(low, high);
        let mut dropping = 0;
        for run in 0..RUNS {
            dropping += usize::from(simulate(&options(rate, run)).dropped > 0);
            // The other runs decide nothing.
            if dropping > MAY_DROP || run + 1 - dropping >= RUNS - MAY_DROP {
                break;
            }
        }
        *(if dropping > MAY_DROP { &mut high } else { &mut low }) = rate;
    }
    let report = simulate(&Options { until_drop: false, ..options(low.max(1.0), 0) });
    Saturation { scheme, packets_per_second: low, seconds, report }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Step;

    #[test]
    fn a_machine_that_always_works_is_saturated_at_its_speed() {
        let machine = crate::description::named("netthreads").unwrap();
        // Eight threads on two cores; each packet is 1,000 instructions: 2 × 125 MHz / 1,000.
        let work: Vec<Work> = (0..100).map(|n| Work { steps: vec![Step::Compute(1000)], flow: n, bytes: 60 }).collect();
        let found = search(&machine, &work, Scheme::Locks, 0.002);
        assert!((235_000.0..=255_000.0).contains(&found.packets_per_second), "{}", found.packets_per_second);
        assert_eq!(found.report.dropped, 0);
        // All packets of one flow are for one thread, which issues at most each fourth cycle when
        // others do, and each cycle when none does.
        let one: Vec<Work> = work.iter().map(|work| Work { flow: 1, ..work.clone() }).collect();
        let affine = search(&machine, &one, Scheme::ThreadAffinity, 0.002);
        assert!((110_000.0..=128_000.0).contains(&affine.packets_per_second), "{}", affine.packets_per_second);
    }
}
