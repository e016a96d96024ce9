//! A packet on its way between the ports of a switch: what is still to be done with it, and what
//! has left.

use netil::exec::ExchangeBuffer;
use std::borrow::Cow;
use std::collections::VecDeque;

/// A packet that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// By which port.
    pub port: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A packet on its way.
pub(super) enum Job<'p> {
    Ingress { bytes: Cow<'p, [u8]>, port: u32, path: u32, info: Vec<u8>, way: Provenance },
    Egress { buffer: ExchangeBuffer<'static>, way: Provenance },
}

/// A packet that came in, and all that has become of it so far.
#[derive(Default)]
pub(super) struct Journey<'p> {
    pub jobs: Jobs<'p>,
    pub sent: Vec<Sent>,
    /// Microseconds since the first packet, and nanoseconds since 1970.
    pub time: (u64, u64),
    /// How many packets it has become.
    pub copies: usize,
}

/// What is to be done, in order. Most packets have one thing to do at a time, which needs no
/// memory.
#[derive(Default)]
pub(super) struct Jobs<'p> {
    first: Option<Job<'p>>,
    others: VecDeque<Job<'p>>,
}

impl<'p> Jobs<'p> {
    pub fn push(&mut self, job: Job<'p>) {
        if self.first.is_none() {
            self.first = Some(job);
        } else {
            self.others.push_back(job);
        }
    }

    pub fn pop(&mut self) -> Option<Job<'p>> {
        let first = self.first.take();
        self.first = self.others.pop_front();
        first
    }

    /// What comes next.
    pub fn next(&self) -> Option<&Job<'p>> {
        self.first.as_ref()
    }
}

/// How a packet came where it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Provenance {
    /// How often it came round.
    pub rounds: u32,
    /// Its name, if it is followed.
    pub name: String,
    pub cause: &'static str,
    /// So many bytes of it leave at most, as its mirroring session says.
    pub longest: Option<u32>,
}

impl Provenance {
    pub fn again(&self, cause: &'static str) -> Self {
        Self { rounds: self.rounds + 1, name: self.name.clone(), cause, longest: None }
    }
}
