//! Digests: those that a client asked for are told to the primary controllers in lists.

use crate::device::Device;
use crate::fault::{Done, fault};
use crate::info::{Object, bytes, find};
use crate::lock;
use crate::proto::p4::v1::p4_data::Data;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, P4Data, P4StructLike};
use netvm::p4::{Digest, Switch};
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
        Ok(())
    }

    /// Tells what the program told since the last time.
    pub fn tell_digests(&mut self, switch: &mut Switch) {
        if self.book.digests.is_empty() {
            return;
        }
        let all = switch.digests();
        for (id, entry) in self.book.digests.clone() {
            let Ok(digest) = find(&self.info.all.digests, id, "digest") else { continue };
            let own: Vec<&Digest> = all.iter().filter(|d| d.name == digest.name()).collect();
            let size = entry.config.map_or(0, |c| c.max_list_size);
            let size = usize::try_from(size).ok().filter(|n| *n > 0).unwrap_or(LIST);
            for list in own.chunks(size) {
                self.lists += 1;
                let timestamp = list.first().map_or(0, |d| d.time_us.saturating_mul(1000)).cast_signed();
                let data = list.iter().map(|d| values(d)).collect();
                let update = v1::DigestList { digest_id: id, list_id: self.lists, data, timestamp };
                lock(&self.streams).tell_primaries(&Update::Digest(update));
            }
        }
    }
}

/// A digest's fields; one that is alone stands for itself.
fn values(digest: &Digest) -> P4Data {
    let one = |value| P4Data { data: Some(Data::Bitstring(bytes(value))) };
    let members = digest.values.iter().map(|(_, value)| one(value)).collect();
    P4Data { data: Some(Data::Struct(P4StructLike { members })) }
}
