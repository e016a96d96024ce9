//! A filter expression, compiled for each link type that its packets have.

use crate::engines::{AUTO, EngineInfo, Programs, Settings};
use crate::frontends::pcap_filter::{self, classic, explain::Explainer};
use crate::session::fresh_state;
use crate::{Error, Profile};
use netil::Engine;
use netil::Verified;
use netil::exec::{Packets, Selection, State};
use runtime::io::{Burst, LinkType};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A filter expression and, for each link type seen so far, an engine that runs it.
pub struct Filter {
    source: String,
    engine: &'static EngineInfo,
    settings: Settings,
    profile: Option<Arc<Profile>>,
    compiled: Vec<Compiled>,
    wire_len: Vec<u32>,
    time_ns: Vec<u64>,
}

/// A filter made ready for one link type.
pub struct Compiled {
    /// The link type.
    pub link: LinkType,
    /// The program it became, as the engine runs it.
    pub program: Arc<Verified>,
    /// The program that C for many packets at once is made of: by a profile its terms may stand in
    /// another order.
    pub many: Arc<Verified>,
    /// From text to something that runs.
    pub took: Duration,
    /// For captures of big-endian machines, where that makes a difference.
    big_endian: bool,
    engine: Box<dyn Engine>,
    state: State,
    /// What [`Compiled::matches`] selected last.
    matched: Selection,
}

impl Filter {
    /// A filter for any link type; the empty expression selects every packet.
    ///
    /// # Errors
    /// The expression is wrong whatever the link type.
    pub fn new(source: &str, engine: &'static EngineInfo) -> Result<Self, Error> {
        pcap_filter::parse(source).map_err(|errors| Error::Filter { source: source.to_owned(), errors })?;
        let (settings, source) = (Settings::default(), source.to_owned());
        Ok(Self { source, engine, settings, profile: None, compiled: Vec::new(), wire_len: Vec::new(), time_ns: Vec::new() })
    }

    /// This filter with other settings for the engine, which count for what is compiled from now
    /// on.
    pub fn with_settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// This filter with its terms in the order that suits packets like those of the profile, where
    /// some are of the link type that it is compiled for; counts for what is compiled from now on.
    pub fn with_profile(self, profile: Profile) -> Self {
        Self { profile: Some(Arc::new(profile)), ..self }
    }

    /// A filter for Ethernet alone, with the engine that suits the input: what a program that
    /// embeds filters mostly wants.
    ///
    /// ```
    /// let mut filter = netvm::Filter::ethernet("ether multicast and greater 100")?;
    /// let (near, far): (&[u8], &[u8]) = (&[0; 120], &[0xff; 120]);
    /// let hits = filter.matches(&[near, far]);
    /// assert!(!hits.get(0) && hits.get(1));
    /// # Ok::<(), netvm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::compile`].
    pub fn ethernet(source: &str) -> Result<Compiled, Error> {
        Self::compile(source, LinkType::EN10MB, &AUTO)
    }

    /// A filter for one link type alone.
    ///
    /// # Errors
    /// As [`Filter::new`] and [`Filter::prepare`].
    pub fn compile(source: &str, link: LinkType, engine: &'static EngineInfo) -> Result<Compiled, Error> {
        Compiled::new(source, link, false, engine, Settings::default(), None)
    }

    /// A filter for one link type alone, with settings for the engine.
    ///
    /// # Errors
    /// As [`Filter::compile`].
    pub fn compile_with(source: &str, link: LinkType, engine: &'static EngineInfo, settings: Settings) -> Result<Compiled, Error> {
        Compiled::new(source, link, false, engine, settings, None)
    }

    /// What tells in words what a filter does, and why it takes or leaves a packet.
    ///
    /// # Errors
    /// The expression is wrong, or has no meaning on the link type.
    pub fn explainer(source: &str, link: LinkType) -> Result<Explainer, Error> {
        let wrong = |errors| Error::Filter { source: source.to_owned(), errors: with_name(errors, link) };
        Explainer::new(source, pcap_filter::LinkType(link.number()), &pcap_filter::Options::default()).map_err(wrong)
    }

    /// What is likely a mistake in the expression, drawn with its places; empty if nothing is.
    ///
    /// # Errors
    /// The expression has no meaning on the link type.
    pub fn warnings(&self, link: LinkType, color: bool) -> Result<String, Error> {
        let wrong = |errors| Error::Filter { source: self.source.clone(), errors: with_name(errors, link) };
        let options = pcap_filter::Options::default();
        let doubts = pcap_filter::doubts(&self.source, pcap_filter::LinkType(link.number()), &options).map_err(wrong)?;
        Ok(pcap_filter::render_warnings(&doubts, &self.source, color))
    }

    /// The filter in classic BPF, as the kernel's sockets take it; what that cannot say is refused.
    ///
    /// # Errors
    /// The expression has no meaning on the link type.
    pub fn classic(&self, link: LinkType) -> Result<Result<classic::Program, classic::Refused>, Error> {
        let wrong = |errors| Error::Filter { source: self.source.clone(), errors: with_name(errors, link) };
        let options = pcap_filter::Options::default();
        Ok(pcap_filter::Filter::compile(&self.source, pcap_filter::LinkType(link.number()), &options).map_err(wrong)?.classic())
    }

    /// The expression.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// True if every packet is selected without being looked at.
    pub fn is_empty(&self) -> bool {
        self.source.trim().is_empty()
    }

    /// What it was compiled to so far.
    pub fn compiled(&self) -> &[Compiled] {
        &self.compiled
    }

    /// A copy of this filter for another thread; what was compiled is shared.
    ///
    /// # Errors
    /// A coprocessor has no implementation.
    pub fn another(&self) -> Result<Self, Error> {
        let compiled = self.compiled.iter().map(Compiled::another).collect::<Result<_, _>>()?;
        Ok(Self {
            source: self.source.clone(),
            engine: self.engine,
            settings: self.settings,
            profile: self.profile.clone(),
            compiled,
            wire_len: Vec::new(),
            time_ns: Vec::new(),
        })
    }

    /// Compiles the filter for a link type, unless that was done.
    ///
    /// # Errors
    /// The expression has no meaning on that link type, or the engine cannot take the program.
    pub fn prepare(&mut self, link: LinkType) -> Result<&Compiled, Error> {
        let at = self.index(link, false)?;
        Ok(&self.compiled[at])
    }

    /// Selects packets of a burst; `out` is overwritten.
    ///
    /// # Errors
    /// The expression has no meaning on the burst's link type.
    pub fn select(&mut self, burst: &Burst<'_>, out: &mut Selection) -> Result<(), Error> {
        if self.is_empty() {
            out.reset(burst.len());
            (0..burst.len()).for_each(|i| out.set(i));
            return Ok(());
        }
        let at = self.index(burst.link_type(), burst.is_swapped() != cfg!(target_endian = "big"))?;
        let compiled = &mut self.compiled[at];
        let uses = compiled.program.uses();
        self.wire_len.clear();
        self.time_ns.clear();
        if uses.wire_len {
            burst.wire_lens(&mut self.wire_len);
        }
        if uses.time {
            burst.times_ns(&mut self.time_ns);
        }
        let packets = Packets { frames: burst.packets(), wire_len: &self.wire_len, time_ns: &self.time_ns };
        compiled.engine.select(&packets, &mut compiled.state, out);
        Ok(())
    }

    /// The verdict on one packet.
    ///
    /// # Errors
    /// The expression has no meaning on the link type.
    pub fn matches(&mut self, link: LinkType, packet: &[u8], wire_len: u32) -> Result<bool, Error> {
        if self.is_empty() {
            return Ok(true);
        }
        let at = self.index(link, false)?;
        Ok(self.compiled[at].one(packet, wire_len))
    }

    /// BSD loopback headers are in the byte order of the machine that wrote the capture.
    fn index(&mut self, link: LinkType, big_endian: bool) -> Result<usize, Error> {
        let big_endian = big_endian && link == LinkType::NULL;
        if let Some(at) = self.compiled.iter().position(|c| c.link == link && c.big_endian == big_endian) {
            return Ok(at);
        }
        let profile = self.profile.as_deref();
        self.compiled.push(Compiled::new(&self.source, link, big_endian, self.engine, self.settings, profile)?);
        Ok(self.compiled.len() - 1)
    }
}

impl Compiled {
    fn new(
        source: &str,
        link: LinkType,
        big_endian: bool,
        engine: &EngineInfo,
        settings: Settings,
        profile: Option<&Profile>,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let programs = programs(source, link, big_endian, profile)?;
        let many = Arc::clone(&programs.many);
        let engine = engine.make(programs, settings)?;
        let program = Arc::clone(engine.program());
        let state = fresh_state(&program)?;
        Ok(Self { link, program, many, took: start.elapsed(), big_endian, engine, state, matched: Selection::default() })
    }

    /// A copy of this filter for another thread; what was compiled is shared.
    ///
    /// # Errors
    /// A coprocessor has no implementation.
    pub fn another(&self) -> Result<Self, Error> {
        let (program, many, engine) = (Arc::clone(&self.program), Arc::clone(&self.many), self.engine.another());
        let state = fresh_state(&program)?;
        let (link, took, big_endian) = (self.link, self.took, self.big_endian);
        Ok(Self { link, program, many, took, big_endian, engine, state, matched: Selection::default() })
    }

    /// The name of the engine that runs it.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// What runs it at the moment, in words.
    pub fn detail(&self) -> String {
        self.engine.detail()
    }

    /// Selects packets of this link type; `out` is overwritten.
    pub fn select(&mut self, packets: &Packets<'_>, out: &mut Selection) {
        self.engine.select(packets, &mut self.state, out);
    }

    /// Which packets of a burst match: a bit for each, in their order. The packets are of this link
    /// type and were captured whole, so that their lengths are those on the wire; for others, and
    /// to keep several selections, there is [`Compiled::select`].
    ///
    /// Some hundred packets at a time are best: what a call costs is then shared, and the packets
    /// stay in the cache.
    pub fn matches(&mut self, frames: &[&[u8]]) -> &Selection {
        let packets = Packets { frames, wire_len: &[], time_ns: &[] };
        self.engine.select(&packets, &mut self.state, &mut self.matched);
        &self.matched
    }

    fn one(&mut self, packet: &[u8], wire_len: u32) -> bool {
        let packets = Packets { frames: &[packet], wire_len: &[wire_len], time_ns: &[0] };
        self.engine.select(&packets, &mut self.state, &mut self.matched);
        self.matched.get(0)
    }
}

/// The program that an expression becomes for a link type; by a profile, one for each way to run
/// it.
///
/// # Errors
/// The expression is wrong, or has no meaning on that link type.
fn programs(source: &str, link: LinkType, big_endian_file: bool, profile: Option<&Profile>) -> Result<Programs, Error> {
    let wrong = |errors| Error::Filter { source: source.to_owned(), errors: with_name(errors, link) };
    let options = pcap_filter::Options { big_endian_file, ..pcap_filter::Options::default() };
    let of_link = pcap_filter::LinkType(link.number());
    let verified = |filter: Result<pcap_filter::Filter, _>| crate::load::verify(filter.map_err(wrong)?.module(), "filter").map(Arc::new);
    let written = verified(pcap_filter::Filter::compile(source, of_link, &options))?;
    match profile.and_then(|profile| profile.of_link(link)) {
        None => Ok(written.into()),
        Some(profile) => Ok(Programs::ordered(written, verified(pcap_filter::Filter::profiled(source, of_link, &options, profile))?)),
    }
}

/// Puts the link type's name into errors that have its number.
fn with_name(mut errors: pcap_filter::Errors, link: LinkType) -> pcap_filter::Errors {
    if let Some(name) = link.name() {
        let (number, named) = (format!("link type {} ", link.number()), format!("link type {name} ({}) ", link.number()));
        errors.0.iter_mut().for_each(|error| error.message = error.message.replace(&number, &named));
    }
    errors
}
