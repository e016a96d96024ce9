//! Digests: those that a client asked for are told to the primary controllers in lists. What was
//! told is not told again before its list is acknowledged, or the time for that is over.
//!
//! Time is that of packets. Lists do not wait to be longer: they are told with the next burst of
//! packets, before any longest time that a client may name.
//!
//! Source: P4Runtime specification 1.4, "DigestEntry".

use crate::device::Device;
use crate::fault::{Done, fault};
use crate::info::{Object, bytes, find};
use crate::lock;
use crate::proto::p4::v1::p4_data::Data;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, P4Data, P4StructLike};
use netvm::p4::{Digest, Switch};
use prost::Message;
use tonic::Code;

/// Digests of a list that says no size.
const LIST: usize = 64;

impl Device {
    pub fn digest_entry(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::DigestEntry) -> Done {
        find(&self.info.all.digests, entry.digest_id, "digest")?;
        let known = self.book.digests.contains_key(&entry.digest_id);
        if self.book.digests.is_empty() {
            // What was told before anybody asked is for nobody.
            switch.digests();
        }
        match (kind, known) {
            (UpdateType::Insert, true) => return fault(Code::AlreadyExists, "the digest is asked for already"),
            (UpdateType::Modify | UpdateType::Delete, false) => return fault(Code::NotFound, "the digest is not asked for"),
            (UpdateType::Delete, true) => drop(self.book.digests.remove(&entry.digest_id)),
            _ => drop(self.book.digests.insert(entry.digest_id, *entry)),
        }
        self.unacknowledged.forget(entry.digest_id);
        Ok(())
    }

    /// Tells what the program told since the last time.
    pub fn tell_digests(&mut self, switch: &mut Switch) {
        if self.book.digests.is_empty() {
            return;
        }
        let all = switch.digests();
        for (id, entry) in self.book.digests.clone() {
            let Ok(name) = find(&self.info.all.digests, id, "digest").map(|digest| digest.name().to_owned()) else { continue };
            let config = entry.config.unwrap_or_default();
            let size = usize::try_from(config.max_list_size).ok().filter(|n| *n > 0).unwrap_or(LIST);
            let timeout = u64::try_from(config.ack_timeout_ns).unwrap_or(0);
            let mut list: Vec<(P4Data, u64)> = Vec::new();
            for digest in all.iter().filter(|d| d.name == name) {
                let data = values(digest);
                let what = (id, data.encode_to_vec());
                if timeout > 0 && !self.unacknowledged.may_tell(what, self.lists + 1, digest.time_us, timeout) {
                    continue;
                }
                list.push((data, digest.time_us));
                if list.len() == size {
                    self.tell_list(id, std::mem::take(&mut list));
                }
            }
            self.tell_list(id, list);
        }
    }

    fn tell_list(&mut self, digest_id: u32, list: Vec<(P4Data, u64)>) {
        let Some((_, first)) = list.first() else { return };
        self.lists += 1;
        let timestamp = first.saturating_mul(1000).cast_signed();
        let data = list.into_iter().map(|(data, _)| data).collect();
        let update = v1::DigestList { digest_id, list_id: self.lists, data, timestamp };
        lock(&self.streams).tell_primaries(&Update::Digest(update));
    }
}

/// A digest's fields; one that is alone stands for itself.
fn values(digest: &Digest) -> P4Data {
    let one = |value| P4Data { data: Some(Data::Bitstring(bytes(value))) };
    let members = digest.values.iter().map(|(_, value)| one(value)).collect();
    P4Data { data: Some(Data::Struct(P4StructLike { members })) }
}
