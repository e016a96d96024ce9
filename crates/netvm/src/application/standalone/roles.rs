//! Elements that netvm itself has: what each is in C, with the functions of
//! `elements/standalone/elements.h`.
//!
//! A class is a function that makes a [`Role`] of its arguments. Arguments have been checked by the
//! runtime; what it takes and standalone programs cannot do is refused here.

mod ends;
mod made;
mod queues;
mod rates;
mod scheds;

use super::click::processing::Kind;
use super::role::{End, Ready, Role};
use super::wires::Wires;
use runtime::graph::{Args, ElementError, builtin};

/// An element and what is around it.
pub(super) struct Context<'a> {
    pub wires: &'a Wires<'a>,
    pub element: usize,
    pub name: &'a str,
    pub class: &'a str,
    pub arguments: &'a [String],
    /// Of its random numbers.
    pub seed: u64,
}

/// A role, or nothing of an element that is only read, or why there is none.
pub(super) type Made = Result<Role, ElementError>;

/// What an element is here; `None` if it does nothing.
pub(super) fn role(context: &Context<'_>) -> Result<Option<Role>, ElementError> {
    let role = match context.class {
        "FromDump" | "FromDevice" | "PollDevice" => ends::source(context),
        "ToDump" | "ToDevice" | "ToHost" => ends::sink(context),
        "Discard" => ends::discard(context),
        "TimedSink" => ends::timed_sink(context),
        "Idle" => Ok(ends::idle()),
        "Queue" | "NotifierQueue" | "FullNoteQueue" | "QuickNoteQueue" | "ThreadSafeQueue" | "SimpleQueue" | "MixedQueue"
        | "FrontDropQueue" => queues::queue(context),
        "RED" => queues::red(context),
        "Unqueue" => queues::unqueue(context),
        "InfiniteSource" => made::infinite(context),
        "TimedSource" => made::timed(context),
        "RatedSource" => made::rated(context),
        "Shaper" | "BandwidthShaper" => rates::shaper(context),
        "RatedUnqueue" | "BandwidthRatedUnqueue" => rates::unqueue(context),
        "DelayShaper" => rates::delay(context),
        "RoundRobinSched" | "SimpleRoundRobinSched" | "PrioSched" | "SimplePrioSched" => scheds::plain(context),
        "StrideSched" => scheds::stride(context),
        "TimeSortedSched" => scheds::sorted(context),
        "PullTee" => scheds::pull_tee(context),
        class if builtin::facts(class).informs => return Ok(None),
        _ => Err(ElementError::unsupported("the standalone build does not have this class")),
    };
    role.map(Some)
}

impl Context<'_> {
    fn args(&self, positional: &[&'static str], keywords: &[&'static str]) -> Result<Args, ElementError> {
        Args::parse(self.arguments, positional, keywords)
    }

    fn is_pulled_from(&self) -> bool {
        self.wires.outputs(self.element).first() == Some(&Kind::Pull)
    }

    /// Whether it pulls at its input.
    fn pulls(&self) -> bool {
        self.wires.inputs(self.element).first() == Some(&Kind::Pull)
    }

    fn inputs(&self) -> usize {
        self.wires.inputs(self.element).len()
    }

    fn outputs(&self) -> usize {
        self.wires.outputs(self.element).len()
    }
}

/// Refuses an argument that standalone programs have nothing for.
fn refuse(args: &Args, name: &str) -> Result<(), ElementError> {
    if args.has(name) { Err(ElementError::unsupported(format!("the standalone build does not have {name}"))) } else { Ok(()) }
}

/// A whole number that is not negative.
fn number(text: &str) -> Result<u64, ElementError> {
    let args = Args::parse(&[format!("NUMBER {text}")], &[], &["NUMBER"])?;
    u64::try_from(args.integer("NUMBER", 0)?).map_err(|_| ElementError::argument(format!("expected a number, not '{text}'")))
}
