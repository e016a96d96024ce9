//! How many replicas there are to be, from what packets cost in each stage (`--place auto`).
//!
//! Looked at again and again: the processor time of each stage's threads, and for how long these
//! waited for a processor. With the costs of a packet in the sources `s`, in replicas `m` and in
//! order `o`, a run on `c` cores with `r` replicas takes at least
//! `max(s, m / r, o, (s + m + o) / c)` a packet: each stage has one thread, and all share the
//! cores. The best number is the smallest that comes within [`CLOSE`] of what more would give. As
//! many are wanted as the load keeps busy, up to that number.
//!
//! Hysteresis: replicas are added above [`BUSY`] and taken out below [`IDLE`], and only if
//! [`AGREE`] looks one after the other say the same, so that a moment's load changes nothing.
//!
//! Source: sched-stats of the kernel's documentation (`/proc/PID/task/TID/schedstat`: nanoseconds
//! on a processor, and waiting for one). Left out: moves to one thread and back, for which state
//! would have to go from graph to graph; the cost of handing over, which is part of what stages
//! take.

use super::error::ChangeError;
use super::{Cores, Epochs, Mode};
use std::time::{Duration, Instant};

/// What more replicas must not gain any more, of the whole.
const CLOSE: f64 = 1.05;
/// Above it, of its time, a replica is busy.
const BUSY: f64 = 0.7;
/// Below it the load would fit fewer.
const IDLE: f64 = 0.5;
/// Looks that must agree.
const AGREE: u32 = 3;
/// With fewer packets between two looks nothing is known.
const FEW: u64 = 1000;
/// The most replicas.
const MOST: usize = 256;

/// What the threads of the stages have had and done: sources, replicas, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Nanoseconds on processors.
    pub ran: [u64; 3],
    /// Nanoseconds waiting for one.
    pub waited: [u64; 3],
    /// Packets that arrived.
    pub packets: u64,
}

/// What a packet costs in each stage, in nanoseconds of a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs(pub [f64; 3]);

impl Costs {
    /// The least time between two packets with so many replicas.
    fn period(self, replicas: usize, cores: usize) -> f64 {
        let [sources, middle, rest] = self.0;
        let all = sources + middle + rest;
        [sources, middle / replicas as f64, rest, all / cores as f64].into_iter().fold(f64::MIN_POSITIVE, f64::max)
    }

    /// The smallest number of replicas that does nearly as well as any.
    fn best(self, cores: usize) -> usize {
        let least = self.period(MOST, cores);
        (1..=MOST).find(|replicas| self.period(*replicas, cores) <= least * CLOSE).unwrap_or(MOST)
    }
}

/// Chooses from time to time.
pub(super) struct Planner {
    every: Duration,
    cores: usize,
    looked: Instant,
    last: Option<Seen>,
    /// What the last looks said, and how many did.
    said: (usize, u32),
    told: String,
}

impl Planner {
    pub(super) fn new(every: Duration, cores: usize) -> Self {
        let told = "not measured yet".to_owned();
        Self { every, cores: cores.max(1), looked: Instant::now(), last: None, said: (0, 0), told }
    }

    /// Whether it is time to look; how long the last time is ago.
    pub(super) fn is_due(&mut self) -> Option<Duration> {
        let passed = self.looked.elapsed();
        (passed >= self.every).then(|| {
            self.looked = Instant::now();
            passed
        })
    }

    /// The model and what it says, for people.
    pub(super) fn told(&self) -> &str {
        &self.told
    }

    /// What was seen that long after the last time, with so many replicas: how many there are to
    /// be, if that is another number.
    pub(super) fn look(&mut self, seen: Seen, passed: Duration, replicas: usize) -> Option<usize> {
        let last = self.last.replace(seen)?;
        let packets = seen.packets.saturating_sub(last.packets);
        if packets < FEW {
            return None;
        }
        let ran = [0, 1, 2].map(|stage| seen.ran[stage].saturating_sub(last.ran[stage]) as f64);
        let costs = Costs(ran.map(|ran| ran / packets as f64));
        let waited = seen.waited[1].saturating_sub(last.waited[1]) as f64;
        // Threads' worth of work for replicas.
        let busy = (ran[1] + waited) / (passed.as_nanos() as f64).max(1.0);
        let wanted = wanted(costs.best(self.cores), busy, replicas);
        self.said = if wanted == self.said.0 { (wanted, self.said.1 + 1) } else { (wanted, 1) };
        self.told = tell(costs, busy, (replicas, wanted), self.cores);
        (wanted != replicas && self.said.1 >= AGREE).then(|| {
            self.said = (wanted, 0);
            wanted
        })
    }
}

/// How many replicas there are to be, where more than `best` gain nothing and the load keeps `busy`
/// of `now` at work.
fn wanted(best: usize, busy: f64, now: usize) -> usize {
    let for_load = |share: f64| ((busy / share).ceil().max(1.0) as usize).min(best);
    match (for_load(BUSY), for_load(IDLE)) {
        (more, _) if more > now => more,
        (_, fewer) if fewer < now => fewer,
        _ => now,
    }
}

fn tell(costs: Costs, busy: f64, (now, wanted): (usize, usize), cores: usize) -> String {
    let [sources, middle, rest] = costs.0;
    let rate = |replicas: usize| 1e3 / costs.period(replicas, cores);
    let best = costs.best(cores);
    format!(
        "{wanted} {}: a packet costs {sources:.0} ns in the sources, {middle:.0} in replicas, {rest:.0} in order, and the load keeps {busy:.1} replicas busy; on {cores} cores at most \
         {:.2} million packets/s with {now}, {:.2} with {best}, and more gain nothing",
        if wanted == 1 { "replica" } else { "replicas" },
        rate(now),
        rate(best),
    )
}

/// Nanoseconds that a thread of this process was on a processor, and waited for one.
pub(super) fn of_thread(id: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Cores {
    /// How often the number of replicas is looked at.
    pub const PLAN: Duration = Duration::from_millis(100);

    /// Lets the number of replicas follow what packets cost and the load, looked at so often, until
    /// a number is asked for ([`Cores::set_replicas`]).
    ///
    /// # Errors
    /// Why the number cannot change.
    pub fn plan(&mut self, every: Duration) -> Result<(), ChangeError> {
        let now = self.replicas().map_or(1, |replicas| replicas.wanted);
        // Whoever cannot have as many as it has cannot have others.
        self.set_replicas(now)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.planner = Some(Planner::new(every, cores));
        Ok(())
    }

    /// The model that the number of replicas follows and what it says at present, if it follows
    /// one.
    pub fn planned(&self) -> Option<&str> {
        self.planner.as_ref().map(Planner::told)
    }

    /// What was chosen since this was asked last, and why.
    pub fn take_plans(&mut self) -> Vec<String> {
        std::mem::take(&mut self.plans)
    }

    /// Changes the number of replicas if it is time to look, and to change it.
    pub(super) fn make_plans(&mut self) {
        let Some(passed) = self.planner.as_mut().and_then(Planner::is_due) else { return };
        let Some(now) = self.replicas().filter(|now| now.active == now.wanted) else { return };
        let Some(seen) = self.seen() else { return };
        let Some(mut planner) = self.planner.take() else { return };
        let fewer = |wanted: &usize| *wanted > now.active || self.can_have_fewer();
        if let Some(wanted) = planner.look(seen, passed, now.active).filter(fewer) {
            match self.set_replicas(wanted) {
                Ok(_) => self.plans.push(planner.told().to_owned()),
                Err(why) => self.news.push(why.to_string()),
            }
        }
        self.planner = Some(planner);
    }

    /// Whether replicas can be taken out.
    fn can_have_fewer(&self) -> bool {
        let Mode::Total(Epochs { crew: Some(crew), .. }) = &self.mode else { return false };
        crew.can_shrink()
    }

    /// None where the system does not tell what threads have had.
    fn seen(&self) -> Option<Seen> {
        let mut seen = Seen::default();
        for (n, thread) in self.threads().iter().enumerate() {
            let stage = match thread.name.starts_with("replica") {
                true => 1,
                false => 2 * usize::from(n > 0),
            };
            let (ran, waited) = of_thread(thread.id)?;
            seen.ran[stage] += ran.saturating_sub(thread.looked.as_nanos() as u64);
            seen.waited[stage] += waited;
            seen.packets += if stage == 0 { thread.packets } else { 0 };
        }
        Some(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(100);

    /// A run of looks at that load: how many replicas there are after each. Costs in ns; `mpps`
    /// arrive if they can.
    fn run(planner: &mut Planner, seen: &mut Seen, (costs, mpps): ([u64; 3], f64), replicas: &mut usize, looks: usize) -> Vec<usize> {
        let costs_of = Costs(costs.map(|cost| cost as f64));
        (0..looks)
            .map(|_| {
                let most = 1e3 / costs_of.period(*replicas, planner.cores);
                let packets = (mpps.min(most) * 1e6 * STEP.as_secs_f64()) as u64;
                seen.packets += packets;
                (0..3).for_each(|stage| seen.ran[stage] += costs[stage] * packets);
                // Who is saturated and does not run waits for a processor.
                let idle = (*replicas as u64 * STEP.as_nanos() as u64).saturating_sub(costs[1] * packets);
                seen.waited[1] += if mpps >= most { idle } else { 0 };
                *replicas = planner.look(*seen, STEP, *replicas).unwrap_or(*replicas);
                *replicas
            })
            .collect()
    }

    #[test]
    fn the_model_knows_which_stage_is_the_slowest() {
        assert_eq!(Costs([10.0, 400.0, 20.0]).best(8), 8, "the cores are the limit: 430 / 8");
        assert_eq!(Costs([100.0, 400.0, 20.0]).best(8), 4, "the sources are");
        assert_eq!(Costs([100.0, 90.0, 20.0]).best(8), 1);
        assert_eq!(Costs([10.0, 400.0, 20.0]).best(1), 1, "one core gains nothing");
        assert_eq!(Costs([10.0, 400.0, 20.0]).best(2), 2);
    }

    #[test]
    fn replicas_follow_the_load_and_not_its_moments() {
        let (mut planner, mut seen, mut replicas) = (Planner::new(STEP, 8), Seen::default(), 1);
        let heavy = [20, 600, 30];
        let found = run(&mut planner, &mut seen, (heavy, f64::INFINITY), &mut replicas, 40);
        assert_eq!((found[2], found[3], *found.last().unwrap()), (1, 2, 8), "three looks agree each time: {found:?}");
        assert!(
            planner.told().starts_with("8 replicas: a packet costs 20 ns in the sources, 600 in replicas, 30 in order"),
            "{}",
            planner.told()
        );
        // Two looks at little load change nothing.
        for _ in 0..5 {
            run(&mut planner, &mut seen, (heavy, 0.5), &mut replicas, 2);
            run(&mut planner, &mut seen, (heavy, f64::INFINITY), &mut replicas, 1);
        }
        assert_eq!(replicas, 8);
        run(&mut planner, &mut seen, (heavy, 1.0), &mut replicas, 10);
        assert_eq!(replicas, 2, "600 ns a million times a second keep 0.6 of a thread busy, more than half");
        run(&mut planner, &mut seen, ([20, 25, 30], f64::INFINITY), &mut replicas, 10);
        assert_eq!(replicas, 1, "another mix of packets, and replicas are not the slowest any more");
        seen.packets += FEW - 1;
        assert_eq!(planner.look(seen, STEP, 1), None, "nothing is known of few packets");
    }

    #[test]
    fn a_thread_has_had_time() {
        let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        if let Some((before, _)) = of_thread(id) {
            let end = Instant::now() + Duration::from_millis(30);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            assert!(of_thread(id).unwrap().0 > before);
        }
        assert_eq!(of_thread(u32::MAX), None);
    }
}
