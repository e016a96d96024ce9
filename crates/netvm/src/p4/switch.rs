//! A P4 program between its ports: what comes in is run through ingress, the replication engine and
//! egress. The order is that of BMv2's simple_switch; architectures with another one decide in
//! ingress, see [`p4::pipeline`].
//!
//! After ingress: a clone, resubmission, multicast, drop, unicast; of these the first that applies,
//! but for the clone. After egress: a clone, drop, recirculation, sending. A packet may come round
//! [`MAX_ROUNDS`] times and have [`MAX_COPIES`] copies; what is more is dropped. [`super::burst`]
//! takes several packets at once.
//!
//! Source: BMv2, `docs/simple_switch.md`.

use super::fused::Fused;
use super::journey::{Job, Journey, Provenance, Sent};
use super::members::Profile;
use super::packet_info::{address, address_arrival, departing, get16, get32, put};
use super::passes::Following;
use super::replication::Replication;
use crate::engines::EngineInfo;
use crate::{Error, Settings};
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use netil::number;
use netil::{Engine, Verified};
use p4::pipeline::{DROP, Pipeline, TableMeta, info, ports};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often one packet may be resubmitted and recirculated.
const MAX_ROUNDS: u32 = 64;
/// The most packets that one may become.
pub(super) const MAX_COPIES: usize = 4096;
/// The most buffers that are kept.
pub(super) const MOST_SPARE: usize = 512;

/// What a program told the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The name of its type.
    pub name: String,
    /// Microseconds since the first packet.
    pub time_us: u64,
    /// Names and numbers.
    pub values: Vec<(String, p4::BigInt)>,
}

/// The most digests that are kept until they are taken.
const MAX_DIGESTS: usize = 1 << 16;

/// A program with its tables and what it keeps.
pub struct Switch {
    pub(super) pipeline: Pipeline,
    pub(super) engine: Box<dyn Engine>,
    pub(super) state: State,
    pub(super) replication: Replication,
    /// By profile of the pipeline.
    pub(super) profiles: Vec<Profile>,
    /// By table of the pipeline: what was entered, and is not taken out.
    pub(super) handles: BTreeMap<usize, Vec<Option<Vec<netil::module::Entry>>>>,
    /// Microseconds since the first packet.
    pub(super) now_us: u64,
    /// What a packet that is followed has met.
    pub(super) following: Option<Following>,
    /// The name of the packet that comes in.
    pub(super) name: String,
    /// What the program said, if that is wanted.
    pub(super) messages: Option<Vec<(String, String)>>,
    /// How often the control plane changed entries, default actions, members or groups.
    pub(super) changes: u64,
    /// Ports that are down.
    pub(super) down: BTreeSet<u32>,
    digests: Vec<Digest>,
    pub(super) outcome: Outcome,
    start_ns: Option<u64>,
    /// Buffers whose memory may be used again.
    pub(super) spare: Vec<ExchangeBuffer<'static>>,
    /// The straight way as machine code or compiled C.
    pub(super) fused: Option<Fused>,
}

impl Switch {
    /// Makes a program ready.
    ///
    /// # Errors
    /// The engine cannot take the program.
    pub fn start(pipeline: Pipeline, engine: &EngineInfo, settings: Settings) -> Result<Self, Error> {
        let program = Arc::new(crate::load::verify(pipeline.module.clone(), "the compiled program")?);
        let mut state = new_state(&program, settings)?;
        let elements = engine.elements;
        let mut engine = engine.make(Arc::clone(&program), settings.engine)?;
        engine.init(&mut state).map_err(|_| Error::Init("the program's start".to_owned()))?;
        let handles = initial_handles(&pipeline);
        let fused = if pipeline.order.straight_at_once() { Fused::new(&program, &*engine, elements, settings.engine) } else { None };
        let profiles = pipeline.profiles.iter().map(|_| Profile::default()).collect();
        Ok(Self {
            pipeline,
            engine,
            state,
            replication: Replication::default(),
            profiles,
            handles,
            now_us: 0,
            following: None,
            name: String::new(),
            messages: None,
            changes: 0,
            down: BTreeSet::new(),
            digests: Vec::new(),
            outcome: Outcome::default(),
            start_ns: None,
            spare: Vec::new(),
            fused,
        })
    }

    /// A packet comes in by a port; what leaves, in order.
    pub fn receive(&mut self, port: u32, bytes: &[u8], time_ns: u64) -> Vec<Sent> {
        let way = Provenance { rounds: 0, name: std::mem::take(&mut self.name), cause: "arrived", longest: None };
        let mut packet = self.arrived(time_ns);
        packet.jobs.push(Job::Ingress { bytes: bytes.into(), port, path: self.pipeline.paths.arrived, info: Vec::new(), way });
        self.rest(packet)
    }

    /// A packet without anything to do: time goes on.
    fn arrived<'p>(&mut self, time_ns: u64) -> Journey<'p> {
        Journey { time: self.clock(time_ns), ..Journey::default() }
    }

    /// Time goes on to that of a packet: microseconds since the first one, and nanoseconds since
    /// 1970.
    pub(super) fn clock(&mut self, time_ns: u64) -> (u64, u64) {
        let start = *self.start_ns.get_or_insert(time_ns);
        let time = time_ns.saturating_sub(start) / 1000;
        self.now_us = self.now_us.max(time);
        (time, time_ns)
    }

    /// Does all that is to be done with a packet; what left, in order.
    pub(super) fn rest(&mut self, mut packet: Journey<'_>) -> Vec<Sent> {
        while let Some(job) = packet.jobs.pop() {
            packet.copies += 1;
            if packet.copies > MAX_COPIES {
                break;
            }
            match job {
                Job::Ingress { bytes, port, path, info, way } => {
                    if way.rounds <= MAX_ROUNDS {
                        self.ingress(bytes, port, path, info, way, &mut packet);
                    }
                }
                Job::Egress { buffer, way } => self.egress(buffer, way, &mut packet),
            }
        }
        packet.sent
    }

    /// Time passes without a packet, once there was one: for those who ask how long something was
    /// not used.
    pub fn pass(&mut self, time_ns: u64) {
        if let Some(start) = self.start_ns {
            self.now_us = self.now_us.max(time_ns.saturating_sub(start) / 1000);
        }
    }

    /// What the program told the control plane since it was last asked; of more than 65,536 digests
    /// the first.
    pub fn digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.digests)
    }

    /// Takes a digest out of info memory.
    fn learn(&mut self, info: &mut [u8], time_us: u64) {
        let Some(number) = get16(info, info::DIGEST).checked_sub(1) else { return };
        put(info, info::DIGEST, &[0, 0]);
        let Some(meta) = self.pipeline.digests.get(usize::from(number)).filter(|_| self.digests.len() < MAX_DIGESTS) else { return };
        let value = |width: u32, at: u32| info.get(at as usize..(at + width.div_ceil(8)) as usize).unwrap_or_default();
        let number = |(name, width, at): &(String, u32, u32)| (name.clone(), p4::BigInt::from_bytes_le(p4::Sign::Plus, value(*width, *at)));
        self.digests.push(Digest { name: meta.name.clone(), time_us, values: meta.fields.iter().map(number).collect() });
    }

    /// Runs packets that come in by one of the module's ports; where they left is in the outcome.
    pub(super) fn run_all(&mut self, port: u32, buffers: &mut [ExchangeBuffer<'static>]) {
        // Each run of a half has a number of its own: what the switch makes copies of draws apart.
        buffers.iter_mut().for_each(|buffer| (buffer.port, buffer.number) = (port, number::NONE));
        self.engine.run(HandlerKind::Push, buffers, &mut self.state, &mut self.outcome);
    }

    /// Whether the packet of that number left the module.
    pub(super) fn left(&self, packet: usize) -> bool {
        matches!(self.outcome.dispositions.get(packet), Some(Disposition::Port(_)))
    }

    /// Runs a packet; true if it left the module.
    fn run(&mut self, port: u32, buffer: &mut ExchangeBuffer<'static>) -> bool {
        self.run_all(port, std::slice::from_mut(buffer));
        self.left(0)
    }

    /// A packet before ingress, with that at the beginning of its info memory.
    fn arrival(&mut self, bytes: &[u8], port: u32, path: u32, info: &[u8], time: (u64, u64)) -> ExchangeBuffer<'static> {
        let mut buffer = self.spare.pop().unwrap_or_else(ExchangeBuffer::none);
        self.arrive(&mut buffer, bytes, port, time);
        put(&mut buffer.info, 0, info);
        address_arrival(&mut buffer.info, port, path, bytes.len(), time.0);
        buffer
    }

    /// Makes a buffer one with a packet that arrives.
    pub(super) fn arrive(&self, buffer: &mut ExchangeBuffer<'static>, bytes: &[u8], port: u32, time: (u64, u64)) {
        buffer.refill(bytes, self.pipeline.info_bytes as usize);
        buffer.time_ns = time.1;
        address_arrival(&mut buffer.info, port, self.pipeline.paths.arrived, bytes.len(), time.0);
    }

    /// A buffer is not used any more.
    fn keep(&mut self, buffer: ExchangeBuffer<'static>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(buffer);
        }
    }

    fn ingress<'p>(&mut self, bytes: Cow<'p, [u8]>, port: u32, path: u32, info: Vec<u8>, way: Provenance, packet: &mut Journey<'p>) {
        let mut buffer = self.arrival(&bytes, port, path, &info, packet.time);
        let left = self.run(ports::INGRESS, &mut buffer);
        self.behind_ingress(left.then_some(buffer), bytes, port, way, packet);
    }

    /// What follows ingress.
    pub(super) fn behind_ingress<'p>(
        &mut self,
        left: Option<ExchangeBuffer<'static>>,
        bytes: Cow<'p, [u8]>,
        port: u32,
        way: Provenance,
        packet: &mut Journey<'p>,
    ) {
        let Some(mut buffer) = left else {
            return self.passed("ingress", way.cause, &way.name, port, || "dropped: the program made a fault".to_owned());
        };
        self.learn(&mut buffer.info, packet.time.0);
        self.passed("ingress", way.cause, &way.name, port, || fate(&buffer.info));
        let paths = self.pipeline.paths;
        self.clone_ingress(&bytes, port, &buffer.info, &way, packet);
        let resubmit = get32(&buffer.info, info::RESUBMIT);
        if resubmit > 0 {
            let info = self.preserved(&buffer.info, resubmit);
            packet.jobs.push(Job::Ingress { bytes, port, path: paths.resubmitted, info, way: way.again("resubmitted") });
            return self.keep(buffer);
        }
        let group = get32(&buffer.info, info::GROUP);
        if group > 0 {
            self.multicast(&buffer, group, paths.multicast, &way, "multicast", packet);
            return self.keep(buffer);
        }
        match get32(&buffer.info, info::EGRESS_SPEC) {
            DROP => self.keep(buffer),
            to => Self::enqueue(buffer, to, 0, paths.unicast, Provenance { cause: "unicast", ..way }, packet),
        }
    }

    fn enqueue(mut buffer: ExchangeBuffer<'static>, port: u32, rid: u16, path: u32, way: Provenance, packet: &mut Journey<'_>) {
        address(&mut buffer.info, port, rid, path);
        packet.jobs.push(Job::Egress { buffer, way });
    }

    /// The way of a new copy.
    fn copied(&mut self, way: &Provenance, cause: &'static str) -> Provenance {
        let name = self.following.as_mut().map_or_else(String::new, |f| f.copy(&way.name));
        Provenance { rounds: way.rounds, name, cause, longest: way.longest }
    }

    fn multicast(
        &mut self,
        buffer: &ExchangeBuffer<'static>,
        group: u32,
        path: u32,
        way: &Provenance,
        cause: &'static str,
        packet: &mut Journey<'_>,
    ) {
        for (rid, port) in self.replication.copies(group) {
            let way = self.copied(way, cause);
            Self::enqueue(buffer.clone(), port, rid, path, way, packet);
        }
    }

    /// Copies for a session. They have the lowest class of service unless the session has one of
    /// its own.
    fn mirror(&mut self, session: u32, mut buffer: ExchangeBuffer<'static>, path: u32, way: &Provenance, packet: &mut Journey<'_>) {
        let given = self.replication.session_copies.get(&session).cloned().unwrap_or_default();
        put(&mut buffer.info, info::CLASS, &given.class.to_le_bytes());
        for (rid, port) in given.copies {
            let way = Provenance { longest: given.longest, ..self.copied(way, "clone") };
            Self::enqueue(buffer.clone(), port, rid, path, way, packet);
        }
        put(&mut buffer.info, info::CLASS, &[0, 0]);
        let Some(to) = self.replication.sessions.get(&session).copied() else { return };
        if let Some(group) = to.group {
            self.multicast(&buffer, group, path, way, "clone", packet);
        }
        if let Some(port) = to.port {
            let way = self.copied(way, "clone");
            Self::enqueue(buffer.clone(), port, 0, path, way, packet);
        }
    }

    /// A clone of the packet as it had come in, to egress.
    fn clone_ingress(&mut self, bytes: &[u8], port: u32, out: &[u8], way: &Provenance, packet: &mut Journey<'_>) {
        let session = get32(out, info::SESSION);
        if session == 0 {
            return;
        }
        let info = self.preserved(out, get32(out, info::FIELDS));
        let path = self.pipeline.paths.ingress_clone;
        let session = session & !info::SESSION_ASKED;
        let mut buffer = self.arrival(bytes, port, path, &info, packet.time);
        if self.run(ports::AGAIN, &mut buffer) {
            self.passed("parser", "clone", &way.name, port, || format!("to mirroring session {session}"));
            self.mirror(session, buffer, path, way, packet);
        }
    }

    /// Info memory of zeros but for the metadata of a field list, whose number is one less.
    fn preserved(&self, from: &[u8], list: u32) -> Vec<u8> {
        let mut info = vec![0; self.pipeline.info_bytes as usize];
        self.each_metadata(|range, lists| {
            if list > 0 && lists.contains(&(list - 1)) {
                info[range.clone()].copy_from_slice(&from[range]);
            }
        });
        info
    }

    fn each_metadata(&self, mut f: impl FnMut(std::ops::Range<usize>, &[u32])) {
        let leaves = &self.pipeline.saved.leaves;
        for (n, leaf) in leaves.iter().enumerate().filter(|(_, l)| l.metadata) {
            let end = leaves.get(n + 1).map_or(self.pipeline.saved.end, |next| next.at);
            f(leaf.at as usize..end as usize, &leaf.lists);
        }
    }

    fn egress(&mut self, mut buffer: ExchangeBuffer<'static>, way: Provenance, packet: &mut Journey<'_>) {
        put(&mut buffer.info, info::TIME, &packet.time.0.to_le_bytes()[..6]);
        let left = self.run(ports::EGRESS, &mut buffer);
        let clones = self.outcome.clones.drain(..).map(|c| c.buffer).collect();
        self.behind_egress(buffer, left, clones, way, packet);
    }

    /// What follows egress.
    pub(super) fn behind_egress(
        &mut self,
        buffer: ExchangeBuffer<'static>,
        left: bool,
        clones: Vec<ExchangeBuffer<'static>>,
        way: Provenance,
        packet: &mut Journey<'_>,
    ) {
        let port = get32(&buffer.info, info::EGRESS_PORT);
        let end = || if left { departure(&buffer) } else { "dropped behind egress".to_owned() };
        self.passed("egress", way.cause, &way.name, port, end);
        clones.into_iter().for_each(|clone| self.clone_egress(clone, &way, packet));
        if left {
            self.leave(&buffer, &way, packet);
        }
        self.keep(buffer);
    }

    /// Egress has sent a packet: it leaves, or comes round.
    fn leave(&mut self, buffer: &ExchangeBuffer<'static>, way: &Provenance, packet: &mut Journey<'_>) {
        let (out, whole) = (&buffer.info, buffer.bytes());
        let bytes = &whole[..way.longest.map_or(whole.len(), |most| whole.len().min(most as usize))];
        let recirculate = get32(out, info::RECIRCULATE);
        if recirculate > 0 {
            let info = self.preserved(out, recirculate);
            let (port, path) = (get32(out, info::INGRESS_PORT), self.pipeline.paths.recirculated);
            packet.jobs.push(Job::Ingress { bytes: bytes.to_vec().into(), port, path, info, way: way.again("recirculated") });
            return;
        }
        let leaves = departing(whole, out);
        let leaves = leaves[..leaves.len().min(bytes.len())].to_vec();
        packet.sent.push(Sent { port: get32(out, info::EGRESS_PORT), bytes: leaves });
    }

    fn clone_egress(&mut self, mut clone: ExchangeBuffer<'static>, way: &Provenance, packet: &mut Journey<'_>) {
        let (session, list) = (get32(&clone.info, info::SESSION), get32(&clone.info, info::FIELDS));
        let mut kept = clone.info.clone();
        self.each_metadata(|range, lists| {
            if list == 0 || !lists.contains(&(list - 1)) {
                kept[range].fill(0);
            }
        });
        clone.info = kept;
        self.mirror(session & !info::SESSION_ASKED, clone, self.pipeline.paths.egress_clone, way, packet);
    }
}

fn new_state(program: &Verified, settings: Settings) -> Result<State, Error> {
    let make = |_: usize, d: &netil::module::Table| runtime::coproc::tables::make(d, settings.seed);
    let mut state = State::made_of(program, &runtime::coproc::make, &make)?;
    (state.seed, state.budget) = (settings.seed, settings.budget);
    Ok(state)
}

/// The entries that the program has, as if they had been entered first.
fn initial_handles(pipeline: &Pipeline) -> BTreeMap<usize, Vec<Option<Vec<netil::module::Entry>>>> {
    let of = |meta: &TableMeta| meta.initial.iter().map(|entry| meta.initial_entry(entry).ok()).collect();
    pipeline.tables.iter().enumerate().filter(|(_, meta)| !meta.initial.is_empty()).map(|(n, meta)| (n, of(meta))).collect()
}

/// What ingress decided.
fn fate(out: &[u8]) -> String {
    let (group, to) = (get32(out, info::GROUP), get32(out, info::EGRESS_SPEC));
    match () {
        () if get32(out, info::RESUBMIT) > 0 => "resubmitted".to_owned(),
        () if group > 0 => format!("to multicast group {group}"),
        () if to == DROP => "dropped by ingress".to_owned(),
        () => format!("to port {to}"),
    }
}

/// What becomes of a packet behind egress.
fn departure(buffer: &ExchangeBuffer<'static>) -> String {
    let out = &buffer.info;
    let length = buffer.bytes().len();
    match (get32(out, info::RECIRCULATE), get32(out, info::TRUNCATE).checked_sub(1)) {
        (1.., _) => "recirculated".to_owned(),
        (0, Some(most)) => format!("sent by port {}, truncated to {} bytes", get32(out, info::EGRESS_PORT), length.min(most as usize)),
        (0, None) => format!("sent by port {}, {length} bytes", get32(out, info::EGRESS_PORT)),
    }
}
