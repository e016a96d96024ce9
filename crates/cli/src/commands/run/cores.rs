//! `netvm run --place`: a configuration on several threads.

use super::Args;
use super::placed::{self, Placed};
use super::results::{announce, asked, say_handlers, tell, warn};
use super::terminal::{Terminal, unless_ended};
use crate::failure::{self, Failure, Outcome};
use crate::progress::Progress;
use crate::signals::Signals;
use netvm::application::{
    Application, Cores, Cuts, Library, MOST_THREADS, Placement, PlacementError, Policies, Policy, Reading, Rearrangement, Recipe, Settings,
    Stage,
};
use netvm::control::Server;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The most replicas that are asked for.
const MOST: usize = 256;

/// How many replicas there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaPlacement {
    /// As many as the load keeps busy, where packets may go to any; else as many as cores.
    Auto,
    /// So many.
    Replicas(usize),
    /// One, and what runs in order in several stages.
    Pipeline(Cuts),
    /// As a file says.
    Written(Arc<Placed>),
}

/// Which order of packets is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kept {
    #[default]
    Total,
    Flow,
}

impl Kept {
    /// Where elements run then.
    pub(crate) fn place(
        self,
        application: &Application,
        relax: &[String],
        state: &[State],
        (in_order, cuts): (&[String], &Cuts),
    ) -> Result<Placement, PlacementError> {
        match self {
            Self::Total => Placement::total_but(application.application(), relax, &Policies(state.to_vec()), in_order)?
                .cut_by(application.application(), cuts),
            Self::Flow if !in_order.is_empty() => {
                Err(PlacementError::Application("with --order flow each replica has all elements: nothing is in order".to_owned()))
            }
            Self::Flow => {
                Placement::by_flow(application.application(), relax, &Policies(state.to_vec()))?.cut_by(application.application(), cuts)
            }
        }
    }
}

/// How state is shared: by all elements, or by one.
pub(crate) type State = (Option<String>, Policy);

/// A policy, or one for an element or class: `NAME=lock`.
pub(crate) fn parse_state(text: &str) -> Result<State, String> {
    let (of, word) = text.rsplit_once('=').map_or((None, text), |(of, word)| (Some(of.to_owned()), word));
    let policy = Policy::ALL.into_iter().find(|policy| policy.word() == word);
    let words = || Policy::ALL.map(Policy::word).join(", ");
    policy.map(|policy| (of, policy)).ok_or_else(|| format!("expected one of {}, or ELEMENT=lock and the like", words()))
}

/// `auto`, `pipeline`, `pipeline:N`, `rtc:N`, or a file.
pub(crate) fn parse(text: &str) -> Result<ReplicaPlacement, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(ReplicaPlacement::Auto),
        None if text == "pipeline" => Ok(ReplicaPlacement::Pipeline(Cuts::Queues)),
        Some(("pipeline", number)) => match number.parse() {
            Ok(threads) if (2..=MOST_THREADS).contains(&threads) => Ok(ReplicaPlacement::Pipeline(Cuts::Threads(threads))),
            _ => Err(format!("pipeline takes from 2 to {MOST_THREADS} threads")),
        },
        Some(("rtc", number)) => match number.parse() {
            Ok(replicas) if (1..=MOST).contains(&replicas) => Ok(ReplicaPlacement::Replicas(replicas)),
            _ => Err(format!("rtc takes from 1 to {MOST} replicas")),
        },
        _ if Path::new(text).is_file() => placed::read(Path::new(text), MOST).map(|placed| ReplicaPlacement::Written(Arc::new(placed))),
        _ => Err("expected auto, pipeline, pipeline:N with the number of threads, rtc:N with that of replicas, or a file with a placement"
            .to_owned()),
    }
}

impl ReplicaPlacement {
    fn replicas(&self) -> usize {
        match self {
            Self::Auto => std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST)),
            Self::Replicas(replicas) => *replicas,
            Self::Pipeline(_) => 1,
            Self::Written(placed) => placed.replicas,
        }
    }

    /// Whether their number follows the load from the start. Where elements keep state by flow,
    /// flows stay where they begin, so there are as many as cores from the start.
    fn plans(&self, placement: &Placement) -> bool {
        *self == Self::Auto && placement.keeps_replicas().is_none() && placement.keeps_flow().is_none()
    }

    /// Elements that run in order, and where these are cut into stages.
    fn cuts(&self) -> (&[String], &Cuts) {
        match self {
            Self::Written(placed) => (&placed.in_order, &placed.cuts),
            Self::Pipeline(cuts) => (&[], cuts),
            Self::Auto | Self::Replicas(_) => (&[], &Cuts::None),
        }
    }

    /// Whether elements are in replicas that a file says must be.
    ///
    /// # Errors
    /// One that there is not, or that cannot be.
    fn check(&self, application: &Application, placement: &Placement) -> Result<(), PlacementError> {
        let Self::Written(placed) = self else { return Ok(()) };
        let instances = &application.application().instances;
        for name in &placed.replicated {
            let is_it = |at: &usize| instances[*at].name == *name || instances[*at].class == *name;
            let mut of = (0..instances.len()).filter(is_it).peekable();
            if of.peek().is_none() {
                return Err(PlacementError::Asked(format!("replica {name}: no element has that name or class")));
            }
            if let Some(at) = of.find(|at| placement.stages[*at] != Stage::Replica) {
                let why = placement.reasons[at]
                    .as_deref()
                    .unwrap_or("it reads packets from captures or devices, or is behind elements that run in order");
                let name = format!("replica {name}: `{}`", instances[at].name);
                return Err(PlacementError::Application(format!("{name} cannot be in replicas: {why}")));
            }
        }
        Ok(())
    }
}

/// Which thread each element is on, and why.
pub(super) fn explain(args: &Args, application: &Application, place: &ReplicaPlacement) -> Outcome<Placement> {
    let placement = args.order.place(application, &args.relax, &args.state, place.cuts()).map_err(|why| match args.order {
        _ if matches!(why, PlacementError::Asked(_)) => Failure::failed(why),
        Kept::Total => Failure::failed(format_args!("this configuration runs on one thread only: {why}")),
        Kept::Flow => Failure::failed(format_args!(
            "replicas cannot have all of this configuration: {why}; --relax NAME lets each have its own state"
        )),
    })?;
    place.check(application, &placement).map_err(|why| match why {
        PlacementError::Asked(_) => Failure::usage(format_args!("--place: {why}")),
        PlacementError::Application(_) => Failure::failed(format_args!("--place: {why}")),
    })?;
    if args.explain_place {
        let plans = place.plans(&placement);
        let replicas = if plans { 1 } else { place.replicas() };
        failure::eprint_lossy(placement.explain(application.application(), Some(replicas)).trim_end());
        if plans {
            failure::eprint_lossy("auto: one replica until it is known what packets cost; what is chosen then is told");
        }
    }
    Ok(placement)
}

pub(super) fn run(
    args: &Args,
    place: &ReplicaPlacement,
    application: &Application,
    (settings, server): (Settings, Option<Server>),
    signals: &Signals,
    reading: &Reading,
) -> Outcome {
    let live = !settings.live.is_empty();
    let placement = explain(args, application, place)?;
    let plans = place.plans(&placement);
    let replicas = if plans { 1 } else { place.replicas() };
    let begun = Instant::now();
    let host = Box::new(Terminal::new(signals.clone(), args.json, None));
    let name = application.name().to_owned();
    let recipe = Recipe::new(name, reading.clone(), args.engine.get(), args.engine.settings(), settings.clone());
    let started = application.start_on(placement, replicas, args.engine.get(), args.engine.settings(), settings, host);
    let mut cores = unless_ended(started, signals)?;
    let (order, relax, state, written) = (args.order, args.relax.clone(), args.state.clone(), place.clone());
    let (again, given) = ((args.relax.clone(), args.state.clone()), order);
    cores.renew_by(recipe, Box::new(move |new| order.place(new, &relax, &state, written.cuts())));
    cores.place_by(application.version(), Box::new(move |text| rearranged(text, given, &again)));
    if super::record::wanted(args, application) {
        let (packets, all) = super::record::amount(args);
        cores.record(packets, all).map_err(|why| Failure::usage(format_args!("--record: {why}")))?;
    }
    cores.schedule(application.application()).iter().for_each(failure::warning);
    cores.pin(&args.pin).map_err(|why| Failure::usage(format_args!("--pin: {why}")))?;
    if let ReplicaPlacement::Written(placed) = place {
        let pin = |(thread, core): &(String, usize)| cores.move_thread(thread, Some(*core)).map(|_| ());
        placed.pins.iter().try_for_each(pin).map_err(|why| Failure::usage(format_args!("--place: {why}")))?;
    }
    if plans {
        // What has no replicas stays as it is.
        let _ = cores.plan(Cores::PLAN);
    }
    announce(&cores.stats());
    let whole = super::record::guarded(&mut cores, |cores| drive(cores, signals, server, args.explain_place))?;
    let handlers = if args.json { asked(cores.graph(), &args.handlers)? } else { Vec::new() };
    if !args.json {
        say_handlers(cores.graph(), &args.handlers)?;
    }
    let stats = cores.stats();
    tell(args, &stats, handlers, begun.elapsed().as_secs_f64())?;
    cores.advice().iter().for_each(failure::warning);
    warn(application, &Library::of(&reading.elements), &stats);
    // A run on live devices has no other end than a signal.
    if !live {
        signals.result()?;
    }
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// Another placement, as it is written.
fn rearranged(text: &str, order: Kept, (relax, state): &(Vec<String>, Vec<State>)) -> Result<Rearrangement, PlacementError> {
    let place = parse(text).map_err(PlacementError::Asked)?;
    let replicas = (place != ReplicaPlacement::Auto).then(|| place.replicas());
    let pins = if let ReplicaPlacement::Written(placed) = &place { placed.pins.clone() } else { Vec::new() };
    let (relax, state) = (relax.clone(), state.clone());
    let put = move |new: &Application| {
        let placement = order.place(new, &relax, &state, place.cuts())?;
        place.check(new, &placement).map(|()| placement)
    };
    Ok(Rearrangement { place: Box::new(put), replicas, pins })
}

/// Runs to the end or to a signal, and completes outputs. False if something was damaged.
fn drive(cores: &mut Cores, signals: &Signals, mut server: Option<Server>, explains: bool) -> bool {
    let mut bar = Progress::new(true);
    cores.start();
    while cores.turn() {
        bar.at(cores.progress());
        if let Some(server) = server.as_mut().filter(|_| !cores.is_behind()) {
            server.serve(cores);
        }
        cores.take_news().iter().for_each(failure::warning);
        cores.take_plans().iter().filter(|_| explains).for_each(|plan| failure::eprint_lossy(&format!("auto: {plan}")));
        if signals.stop() {
            cores.stop();
        }
    }
    bar.clear();
    if let Some(plan) = cores.planned().filter(|_| explains) {
        failure::eprint_lossy(&format!("auto: at the end {plan}"));
    }
    let faults = cores.finish();
    for fault in &faults {
        let graph = cores.graph();
        match graph.name(fault.instance) {
            "" => failure::error(&fault.message()),
            name => failure::error(&format!("{name} :: {}: {}", graph.class(fault.instance), fault.message())),
        }
    }
    if cores.has_crashed() {
        super::record::write(cores);
    }
    faults.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_read() {
        assert_eq!(parse("auto"), Ok(ReplicaPlacement::Auto));
        assert_eq!(parse("pipeline"), Ok(ReplicaPlacement::Pipeline(Cuts::Queues)));
        assert_eq!(parse("pipeline:5"), Ok(ReplicaPlacement::Pipeline(Cuts::Threads(5))));
        assert_eq!(parse("rtc:4"), Ok(ReplicaPlacement::Replicas(4)));
        assert_eq!(parse_state("x=shard"), Ok((Some("x".to_owned()), Policy::Shard)));
        assert!(parse_state("fast").unwrap_err().contains("auto, lock, transaction, copies, replicate, affinity, shard"));
        for wrong in ["rtc", "rtc:0", "rtc:x", "rtc:257", "pipeline:1", "pipeline:65", "4", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
