//! The filter language of libpcap and tcpdump, pcap-filter(7), as a front end.
//!
//! ```text
//! text ──lexer, parser──▶ Ast ──lower (link type)──▶ filter IR ──merge, order──▶ graph ──simplify──▶ graph ──codegen──▶ netil::Module
//!                          └─▶ words                     ├─▶ eval: the meaning; explain
//!                                                        └──graph──▶ classic::Program: classic BPF
//! ```
//!
//! A filter selects exactly the packets that tcpdump 4.99 with libpcap 1.10.3 selects from a
//! capture file, oddities included. Its yardstick is libpcap's unoptimised code: libpcap's
//! optimiser changes verdicts on packets that are cut short.
//!
//! Two terms follow later versions, since 1.10.3 misreads them: ARCnet addresses (`link host $c0`)
//! and `!=` of SS7 fields.
//!
//! Left out, with an error that says so: link types other than those of [`LinkType`], host names
//! that are in no file (they need DNS), what a capture file does not hold (`inbound` on Ethernet,
//! `ifname` …), and nesting deeper than 500. Where libpcap's own behaviour is not defined, ours is:
//! a variable offset is 0 before `geneve` sets it (`not geneve or ip`), and a chain of headers that
//! leads back to itself, in which libpcap never ends, rejects the packet, and arithmetic before the
//! first term that looks at an 802.11 frame behind a radio header (`radio[2:2] != 0 and type data`)
//! does not overwrite the register in which libpcap keeps where that frame begins.

mod ast;
pub mod classic;
mod codegen;
mod cost;
mod doubts;
mod error;
mod eval;
pub mod explain;
mod facts;
mod graph;
mod hints;
mod hosts;
mod ir;
mod lexer;
mod link;
mod lists;
mod lower;
mod merge;
pub(crate) mod names;
mod names_table;
mod order;
mod parser;
mod parser_arith;
mod parser_logged;
mod parser_term;
mod reads;
mod sample;
mod shape;
mod simplify;
pub(crate) mod suggest;
mod token;
mod wlan;

pub use ast::Ast;
pub use error::{Error, ErrorKind, Errors, Span, render_warnings};
pub use hosts::with_hosts;
pub use link::LinkType;
pub use lists::{BadEntry, filter_of_list};
pub use parser::parse;
pub use sample::Profile;

/// What a filter depends on besides its text and the link type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Network mask for `ip broadcast`; `None` refuses that term. tcpdump takes 0 for capture
    /// files, and so does the default.
    pub netmask: Option<u32>,
    /// The capture file was written by a big-endian machine, which shows in BSD loopback headers.
    pub big_endian_file: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { netmask: Some(0), big_endian_file: false }
    }
}

/// Compiles a filter for a link type.
///
/// # Errors
/// Whatever is wrong with the filter, with places in `source`.
pub fn compile(source: &str, link: LinkType, options: &Options) -> Result<netil::Module, Errors> {
    Filter::compile(source, link, options).map(|filter| filter.module())
}

/// What is likely a mistake in a filter that compiles: terms that can never hold, a filter that
/// rejects or accepts every packet.
///
/// # Errors
/// Whatever is wrong with the filter, with places in `source`.
pub fn doubts(source: &str, link: LinkType, options: &Options) -> Result<Vec<Error>, Errors> {
    let ast = parse(source)?;
    let lowered = lower::lower(&ast, link, options)?;
    Ok(doubts::of(&ast, &lowered))
}

/// A filter that has a meaning on a link type.
pub struct Filter {
    source: String,
    lowered: lower::Lowered,
    graph: graph::Graph,
}

impl Filter {
    /// Parses a filter and gives it its meaning on a link type.
    ///
    /// # Errors
    /// Whatever is wrong with the filter, with places in `source`.
    pub fn compile(source: &str, link: LinkType, options: &Options) -> Result<Filter, Errors> {
        Filter::ordered(source, link, options, None)
    }

    /// Compiles a filter with its terms in the order that suits packets like those of a profile. It
    /// selects the same packets.
    ///
    /// # Errors
    /// As [`Filter::compile`].
    pub fn profiled(source: &str, link: LinkType, options: &Options, profile: &Profile) -> Result<Filter, Errors> {
        Filter::ordered(source, link, options, Some(profile))
    }

    fn ordered(source: &str, link: LinkType, options: &Options, profile: Option<&Profile>) -> Result<Filter, Errors> {
        let ast = parse(source)?;
        let mut lowered = lower::lower(&ast, link, options)?;
        let merged = merge::merge(&mut lowered.ir);
        let ordered = order::order(&mut lowered.ir, merged, profile);
        let graph = graph::build(&mut lowered.ir, ordered);
        let graph = simplify::simplify(&lowered.ir, graph);
        Ok(Filter { source: ast.source, lowered, graph })
    }

    /// The filter as a NetIL program: one push handler that accepts with `ret 1` and drops with
    /// `ret 0`, and never traps.
    #[must_use]
    pub fn module(&self) -> netil::Module {
        codegen::generate(&self.lowered.ir, &self.graph, &self.source)
    }

    /// The filter in classic BPF, which selects the same packets: its length grows with the
    /// filter's.
    ///
    /// # Errors
    /// What classic BPF cannot say.
    pub fn classic(&self) -> Result<classic::Program, classic::Refused> {
        classic::compile(&self.lowered.ir)
    }

    /// The verdict on one packet, by plain evaluation: slow, and the meaning of everything faster.
    #[must_use]
    pub fn matches(&self, packet: &[u8], wire_len: u32) -> bool {
        eval::Machine::new(&self.lowered.ir, packet, wire_len).verdict()
    }

    /// The verdict of the form that code is made from; for tests, which hold it against
    /// [`Filter::matches`].
    #[doc(hidden)]
    #[must_use]
    pub fn matches_as_graph(&self, packet: &[u8], wire_len: u32) -> bool {
        let mut machine = eval::Machine::new(&self.lowered.ir, packet, wire_len);
        self.graph.verdict(&mut machine).unwrap_or(false)
    }
}
