//! Streams of controllers: who is the primary of its role, and what is sent to whom.
//!
//! The primary of a role is the stream with the highest election id; one without an id is a backup.
//! Every change is told to all of the role.
//!
//! Source: P4Runtime specification 1.4, "Client Arbitration and Controller Replication".

use crate::proto::google::rpc;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::p4::v1::{MasterArbitrationUpdate, Role, StreamMessageResponse, Uint128};
use std::collections::BTreeMap;
use tokio::sync::mpsc;
use tonic::{Code, Status};

/// Streams at one time.
const MOST_STREAMS: usize = 16;
/// Messages that wait to be taken; what is more is lost.
pub(crate) const MOST_WAITING: usize = 1024;

pub(crate) type Message = Result<StreamMessageResponse, Status>;

struct Stream {
    to: mpsc::Sender<Message>,
    /// The role and the election id, once it has arbitrated.
    claim: Option<(String, u128)>,
    role: Option<Role>,
}

#[derive(Default)]
pub(crate) struct Streams {
    all: BTreeMap<u64, Stream>,
    next: u64,
    /// The number of the device.
    device: u64,
    /// The highest election ids of roles so far.
    highest: BTreeMap<String, u128>,
}

pub(crate) fn number(id: Option<&Uint128>) -> u128 {
    id.map_or(0, |id| u128::from(id.high) << 64 | u128::from(id.low))
}

fn halves(id: u128) -> Uint128 {
    Uint128 { high: (id >> 64) as u64, low: id as u64 }
}

impl Streams {
    /// Those of a device.
    pub fn of(device: u64) -> Self {
        Self { device, ..Self::default() }
    }

    /// A new stream; its number and where its messages come out.
    pub fn open(&mut self) -> Result<(u64, mpsc::Receiver<Message>), Status> {
        if self.all.len() >= MOST_STREAMS {
            return Err(Status::resource_exhausted("too many streams"));
        }
        let (to, from) = mpsc::channel(MOST_WAITING);
        self.next += 1;
        self.all.insert(self.next, Stream { to, claim: None, role: None });
        Ok((self.next, from))
    }

    pub fn close(&mut self, id: u64) {
        let gone = self.all.remove(&id).and_then(|s| s.claim);
        if let Some((role, _)) = gone {
            self.announce(&role);
        }
    }

    /// The election id of a role's primary.
    fn primary(&self, role: &str) -> Option<u128> {
        let claims = self.all.values().filter_map(|s| s.claim.as_ref()).filter(|(r, id)| r == role && *id > 0);
        let now = claims.map(|c| c.1).max()?;
        // A backup does not become primary of itself when the primary goes.
        (self.highest.get(role).is_none_or(|highest| now >= *highest)).then_some(now)
    }

    /// Whether a controller has said that it has that role; the one without a name is there always.
    pub fn knows(&self, role: &str) -> bool {
        role.is_empty() || self.highest.contains_key(role)
    }

    /// A stream says who it is.
    pub fn arbitrate(&mut self, id: u64, update: &MasterArbitrationUpdate) -> Result<(), Status> {
        if update.role.as_ref().is_some_and(|role| role.config.is_some()) {
            return Err(Status::invalid_argument("a role's configuration is agreed upon outside of the standard, and none is known here"));
        }
        let role = update.role.as_ref().map(|r| r.name.clone()).unwrap_or_default();
        let election = number(update.election_id.as_ref());
        let same = |(other, s): (&u64, &Stream)| *other != id && election > 0 && s.claim.as_ref() == Some(&(role.clone(), election));
        if self.all.iter().any(same) {
            return Err(Status::invalid_argument("another controller has this election id"));
        }
        let was_primary = self.stream_is_primary(id);
        let Some(stream) = self.all.get_mut(&id) else { return Err(Status::internal("no such stream")) };
        if stream.claim.as_ref().is_some_and(|(before, _)| *before != role) {
            return Err(Status::failed_precondition("a stream keeps its role"));
        }
        stream.claim = Some((role.clone(), election));
        stream.role.clone_from(&update.role);
        let highest = self.highest.entry(role.clone()).or_default();
        *highest = election.max(*highest);
        if election == *highest || was_primary {
            self.announce(&role);
        } else {
            self.tell(id, &role);
        }
        Ok(())
    }

    fn announce(&mut self, role: &str) {
        let own = |s: &Stream| s.claim.as_ref().is_some_and(|(r, _)| r == role);
        let ids: Vec<u64> = self.all.iter().filter(|(_, s)| own(s)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.tell(id, role));
    }

    /// Tells a stream who the primary of its role is.
    fn tell(&self, id: u64, role: &str) {
        let Some(stream) = self.all.get(&id) else { return };
        let (primary, own) = (self.primary(role), stream.claim.as_ref().map(|c| c.1));
        let (code, message) = match primary {
            Some(_) if primary == own => (Code::Ok, "you are the primary"),
            Some(_) => (Code::AlreadyExists, "you are a backup"),
            None => (Code::NotFound, "there is no primary"),
        };
        let status = rpc::Status { code: code as i32, message: message.to_owned(), details: Vec::new() };
        let highest = self.highest.get(role).copied().filter(|id| *id > 0);
        self.send(
            id,
            Update::Arbitration(MasterArbitrationUpdate {
                device_id: self.device,
                role: stream.role.clone(),
                election_id: highest.map(halves),
                status: Some(status),
            }),
        );
    }

    /// Whether that is the primary of its role.
    pub fn is_primary(&self, role: &str, election: u128) -> bool {
        election > 0 && self.primary(role) == Some(election)
    }

    /// Whether that stream is the primary of its role.
    pub fn stream_is_primary(&self, id: u64) -> bool {
        self.all.get(&id).and_then(|s| s.claim.as_ref()).is_some_and(|(role, election)| self.is_primary(role, *election))
    }

    pub fn send(&self, id: u64, update: Update) {
        if let Some(stream) = self.all.get(&id) {
            // A client that takes nothing loses what is more.
            let _ = stream.to.try_send(Ok(StreamMessageResponse { update: Some(update) }));
        }
    }

    /// Ends a stream with a reason.
    pub fn end(&self, id: u64, status: Status) {
        if let Some(stream) = self.all.get(&id) {
            let _ = stream.to.try_send(Err(status));
        }
    }

    /// Sends to the primaries of all roles.
    pub fn tell_primaries(&self, update: &Update) {
        let ids = self.all.keys().filter(|id| self.stream_is_primary(**id));
        ids.for_each(|id| self.send(*id, update.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(streams: &mut Streams, id: u64, election: u64) -> Result<(), Status> {
        let election_id = Some(Uint128 { high: 0, low: election });
        streams.arbitrate(id, &MasterArbitrationUpdate { election_id, ..Default::default() })
    }

    fn codes(from: &mut mpsc::Receiver<Message>) -> Vec<i32> {
        let mut out = Vec::new();
        while let Ok(Ok(StreamMessageResponse { update: Some(Update::Arbitration(update)) })) = from.try_recv() {
            out.push(update.status.map_or(-1, |s| s.code));
        }
        out
    }

    #[test]
    fn the_highest_election_id_is_the_primary() {
        let mut streams = Streams::default();
        let ((a, mut from_a), (b, mut from_b)) = (streams.open().unwrap(), streams.open().unwrap());
        claim(&mut streams, a, 1).unwrap();
        claim(&mut streams, b, 2).unwrap();
        assert_eq!((codes(&mut from_a), codes(&mut from_b)), (vec![0, 6], vec![0]));
        assert!(claim(&mut streams, a, 2).is_err(), "the id is taken");
        assert!(streams.is_primary("", 2) && !streams.is_primary("", 1) && !streams.is_primary("other", 2));
        streams.close(b);
        assert_eq!(codes(&mut from_a), vec![5], "a backup does not become primary of itself");
        claim(&mut streams, a, 3).unwrap();
        assert_eq!(codes(&mut from_a), vec![0]);
    }

    #[test]
    fn streams_are_limited() {
        let mut streams = Streams::default();
        let open: Vec<_> = (0..MOST_STREAMS).map(|_| streams.open().unwrap()).collect();
        assert!(streams.open().is_err());
        streams.close(open[0].0);
        assert!(streams.open().is_ok());
    }
}
