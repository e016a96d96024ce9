//! A P4 program between its ports: what comes in is run through ingress, the replication engine and egress, in the order of BMv2's simple_switch.
//!
//! After ingress: a clone, resubmission, multicast, drop, unicast; of these the first that applies, but for the clone. After egress: a clone, drop, recirculation, sending.
//! A packet may come round [`MAX_ROUNDS`] times and have [`MAX_COPIES`] copies; what is more is dropped.
//!
//! Source: BMv2, `docs/simple_switch.md`.

use super::profiles::Profile;
use super::replication::Replication;
use crate::engines::EngineInfo;
use crate::{Error, Settings};
use netil::Engine;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use p4::pipeline::{Pipeline, info};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How often one packet may be resubmitted and recirculated.
const MAX_ROUNDS: u32 = 64;
/// The most packets that one may become.
const MAX_COPIES: usize = 4096;
/// The port that drops.
const DROP: u16 = 511;

mod instance {
    pub const INGRESS_CLONE: u32 = 1;
    pub const EGRESS_CLONE: u32 = 2;
    pub const RECIRCULATED: u32 = 4;
    pub const REPLICATED: u32 = 5;
    pub const RESUBMITTED: u32 = 6;
}

/// A packet that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// By which port.
    pub port: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

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

/// A packet on its way.
enum Job {
    Ingress { bytes: Vec<u8>, port: u16, instance: u32, info: Vec<u8>, rounds: u32 },
    Egress { buffer: ExchangeBuffer<'static>, rounds: u32 },
}

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
    digests: Vec<Digest>,
    outcome: Outcome,
    start_ns: Option<u64>,
}

fn get32(info: &[u8], at: u32) -> u32 {
    info.get(at as usize..at as usize + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn get16(info: &[u8], at: u32) -> u16 {
    info.get(at as usize..at as usize + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn put(info: &mut [u8], at: u32, bytes: &[u8]) {
    if let Some(to) = info.get_mut(at as usize..at as usize + bytes.len()) {
        to.copy_from_slice(bytes);
    }
}

impl Switch {
    /// Makes a program ready.
    ///
    /// # Errors
    /// The engine cannot take the program.
    pub fn start(pipeline: Pipeline, engine: &EngineInfo, settings: Settings) -> Result<Self, Error> {
        let program = Arc::new(crate::load::verify(pipeline.module.clone(), "the compiled program")?);
        let make = |_: usize, d: &netil::module::Table| runtime::coproc::tables::make(d, settings.seed);
        let mut state = State::made_of(&program, &runtime::coproc::make, &make)?;
        (state.seed, state.budget) = (settings.seed, settings.budget);
        let mut engine = engine.make(Arc::clone(&program), settings.engine)?;
        engine.init(&mut state).map_err(|_| Error::Init("the program's start".to_owned()))?;
        let profiles = pipeline.profiles.iter().map(|_| Profile::default()).collect();
        Ok(Self {
            pipeline,
            engine,
            state,
            replication: Replication::default(),
            profiles,
            handles: BTreeMap::new(),
            now_us: 0,
            digests: Vec::new(),
            outcome: Outcome::default(),
            start_ns: None,
        })
    }

    /// A packet comes in by a port; what leaves, in order.
    pub fn receive(&mut self, port: u16, bytes: &[u8], time_ns: u64) -> Vec<Sent> {
        let start = *self.start_ns.get_or_insert(time_ns);
        let time = time_ns.saturating_sub(start) / 1000;
        self.now_us = self.now_us.max(time);
        let info = vec![0; self.pipeline.info_bytes as usize];
        let mut jobs = VecDeque::from([Job::Ingress { bytes: bytes.to_vec(), port, instance: 0, info, rounds: 0 }]);
        let (mut sent, mut copies) = (Vec::new(), 0);
        while let Some(job) = jobs.pop_front() {
            copies += 1;
            if copies > MAX_COPIES {
                break;
            }
            match job {
                Job::Ingress { bytes, port, instance, info, rounds } => {
                    if rounds <= MAX_ROUNDS {
                        self.ingress(bytes, port, instance, info, rounds, (time, time_ns), &mut jobs);
                    }
                }
                Job::Egress { buffer, rounds } => self.egress(buffer, rounds, time, &mut jobs, &mut sent),
            }
        }
        sent
    }

    /// What the program told the control plane since it was last asked; of more than 65,536 digests the first.
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

    /// Runs a packet that comes in by one of the module's ports; where it left.
    fn run(&mut self, port: u32, mut buffer: ExchangeBuffer<'static>) -> Option<(u32, ExchangeBuffer<'static>)> {
        buffer.port = port;
        self.engine.run(HandlerKind::Push, std::slice::from_mut(&mut buffer), &mut self.state, &mut self.outcome);
        match self.outcome.dispositions.first() {
            Some(Disposition::Port(port)) => Some((*port, buffer)),
            _ => None,
        }
    }

    fn arrival(bytes: &[u8], port: u16, instance: u32, mut info: Vec<u8>, (time, time_ns): (u64, u64)) -> ExchangeBuffer<'static> {
        put(&mut info, info::INGRESS_PORT, &port.to_le_bytes());
        put(&mut info, info::INSTANCE, &instance.to_le_bytes());
        put(&mut info, info::LENGTH, &(bytes.len() as u32).to_le_bytes());
        put(&mut info, info::TIME, &time.to_le_bytes()[..6]);
        let mut buffer = ExchangeBuffer::borrowed(bytes).into_owned();
        (buffer.info, buffer.time_ns) = (info, time_ns);
        buffer
    }

    #[expect(clippy::too_many_arguments, reason = "what belongs to a packet")]
    fn ingress(
        &mut self,
        bytes: Vec<u8>,
        port: u16,
        instance: u32,
        info: Vec<u8>,
        rounds: u32,
        time: (u64, u64),
        jobs: &mut VecDeque<Job>,
    ) {
        let buffer = Self::arrival(&bytes, port, instance, info, time);
        let Some((_, mut buffer)) = self.run(0, buffer) else { return };
        self.learn(&mut buffer.info, time.0);
        let out = buffer.info.clone();
        self.clone_ingress(&bytes, port, &out, rounds, time, jobs);
        let resubmit = get32(&out, info::RESUBMIT);
        if resubmit > 0 {
            let info = self.preserved(&out, resubmit);
            jobs.push_back(Job::Ingress { bytes, port, instance: instance::RESUBMITTED, info, rounds: rounds + 1 });
            return;
        }
        let group = get16(&out, info::GROUP);
        if group > 0 {
            return self.multicast(&buffer, group, instance::REPLICATED, rounds, jobs);
        }
        let to = get16(&out, info::EGRESS_SPEC);
        if to != DROP {
            self.enqueue(buffer, to, 0, 0, rounds, jobs);
        }
    }

    fn enqueue(&self, mut buffer: ExchangeBuffer<'static>, port: u16, rid: u16, instance: u32, rounds: u32, jobs: &mut VecDeque<Job>) {
        put(&mut buffer.info, info::EGRESS_PORT, &port.to_le_bytes());
        put(&mut buffer.info, info::RID, &rid.to_le_bytes());
        put(&mut buffer.info, info::INSTANCE, &instance.to_le_bytes());
        jobs.push_back(Job::Egress { buffer, rounds });
    }

    fn multicast(&self, buffer: &ExchangeBuffer<'static>, group: u16, instance: u32, rounds: u32, jobs: &mut VecDeque<Job>) {
        for (rid, port) in self.replication.copies(group) {
            self.enqueue(buffer.clone(), port, rid, instance, rounds, jobs);
        }
    }

    fn mirror(&self, session: u32, buffer: &ExchangeBuffer<'static>, instance: u32, rounds: u32, jobs: &mut VecDeque<Job>) {
        let Some(to) = self.replication.sessions.get(&session) else { return };
        if let Some(group) = to.group {
            self.multicast(buffer, group, instance, rounds, jobs);
        }
        if let Some(port) = to.port {
            self.enqueue(buffer.clone(), port, 0, instance, rounds, jobs);
        }
    }

    /// A clone of the packet as it had come in: parsed again, then to egress.
    fn clone_ingress(&mut self, bytes: &[u8], port: u16, out: &[u8], rounds: u32, time: (u64, u64), jobs: &mut VecDeque<Job>) {
        let session = get32(out, info::SESSION);
        if session == 0 {
            return;
        }
        let info = self.preserved(out, get32(out, info::FIELDS));
        let buffer = Self::arrival(bytes, port, instance::INGRESS_CLONE, info, time);
        if let Some((_, buffer)) = self.run(2, buffer) {
            self.mirror(session & 0x7fff_ffff, &buffer, instance::INGRESS_CLONE, rounds, jobs);
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

    fn egress(&mut self, mut buffer: ExchangeBuffer<'static>, rounds: u32, time: u64, jobs: &mut VecDeque<Job>, sent: &mut Vec<Sent>) {
        put(&mut buffer.info, info::TIME, &time.to_le_bytes()[..6]);
        let left = self.run(1, buffer);
        let clones: Vec<_> = self.outcome.clones.drain(..).map(|c| c.buffer).collect();
        for mut clone in clones {
            let (session, list) = (get32(&clone.info, info::SESSION), get32(&clone.info, info::FIELDS));
            let mut kept = clone.info.clone();
            self.each_metadata(|range, lists| {
                if list == 0 || !lists.contains(&(list - 1)) {
                    kept[range].fill(0);
                }
            });
            clone.info = kept;
            self.mirror(session & 0x7fff_ffff, &clone, instance::EGRESS_CLONE, rounds, jobs);
        }
        let Some((_, buffer)) = left else { return };
        let out = &buffer.info;
        let mut bytes = buffer.bytes().to_vec();
        let recirculate = get32(out, info::RECIRCULATE);
        if recirculate > 0 {
            let info = self.preserved(out, recirculate);
            let port = get16(out, info::INGRESS_PORT);
            jobs.push_back(Job::Ingress { bytes, port, instance: instance::RECIRCULATED, info, rounds: rounds + 1 });
            return;
        }
        if let Some(length) = get32(out, info::TRUNCATE).checked_sub(1) {
            bytes.truncate(length as usize);
        }
        sent.push(Sent { port: get16(out, info::EGRESS_PORT), bytes });
    }
}
