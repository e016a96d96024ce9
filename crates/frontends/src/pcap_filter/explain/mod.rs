//! What a filter says, in words, and why it takes or leaves a packet.
//!
//! Everything is plain data: printing it is the caller's. Evaluation is term by term, on the IR, so
//! the account is of the filter's meaning and not of the code made from it.

mod flow;
mod trace;
mod words;

use super::ast::Ast;
use super::doubts;
use super::error::{Error, Errors, Span};
use super::link::LinkType;
use super::lower::{self, Lowered};
use super::{Options, parse};

pub use flow::{Goal, Step};
pub use words::Sentence;

/// A filter ready to be explained.
pub struct Explainer {
    ast: Ast,
    lowered: Lowered,
}

impl Explainer {
    /// Parses a filter and gives it its meaning on a link type.
    ///
    /// # Errors
    /// Whatever is wrong with the filter, with places in `source`.
    pub fn new(source: &str, link: LinkType, options: &Options) -> Result<Explainer, Errors> {
        let ast = parse(source)?;
        let lowered = lower::lower_with_names(&ast, link, options)?;
        Ok(Explainer { ast, lowered })
    }

    /// The filter term by term, in source order; empty if it accepts every packet.
    #[must_use]
    pub fn words(&self) -> Vec<Sentence> {
        words::sentences(&self.ast)
    }

    /// The filter's terms in source order, each with where the filter goes from it; empty if it
    /// accepts every packet.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        flow::steps(&self.ast)
    }

    /// What is likely a mistake: terms that can never hold, a filter that rejects or accepts every
    /// packet.
    #[must_use]
    pub fn doubts(&self) -> Vec<Error> {
        doubts::of(&self.ast, &self.lowered)
    }

    /// What each term makes of one packet of `wire_len` bytes, of which `packet` was captured.
    #[must_use]
    pub fn packet(&self, packet: &[u8], wire_len: u32) -> Explanation {
        trace::explain(&self.ast, &self.lowered, packet, wire_len)
    }
}

/// Why a packet is accepted or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The filter's verdict.
    pub accepted: bool,
    /// The filter's terms in source order.
    pub terms: Vec<Term>,
}

/// One term and what it made of the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Where the term stands in the source.
    pub span: Span,
    /// How its evaluation ended.
    pub outcome: Outcome,
    /// What was looked at, in order, each only once.
    pub findings: Vec<Finding>,
}

/// How the evaluation of a term ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The term holds (before any `not`).
    Held,
    /// The term does not hold.
    Failed,
    /// It had to read bytes `start..end`, and `have` were captured: the packet is rejected whatever
    /// the other terms say.
    TooShort {
        /// First byte needed.
        start: u64,
        /// Byte after the last one needed.
        end: u64,
        /// Bytes captured.
        have: u64,
    },
    /// It divided by zero: the packet is rejected.
    DivisionByZero,
    /// Its walk along headers comes back to where it was (libpcap would never end): the packet is
    /// rejected.
    Endless,
    /// The terms before it had decided.
    NotReached,
}

/// One test of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at: `IPv4 protocol`, `2 bytes at 36`, `len`.
    pub what: String,
    /// The bytes it was read from, if it is a field.
    pub bytes: Option<(u64, u64)>,
    /// What was found, as people write such a value; empty if the packet was too short.
    pub found: String,
    /// What was asked for: `= 6`, `in 10.0.0.0–10.255.255.255`.
    pub wanted: String,
    /// Whether that is so.
    pub holds: bool,
}
