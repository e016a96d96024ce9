//! The switch as the protocol knows it: what was written, by the protocol's numbers.

use crate::Settings;
use crate::fault::{Done, fault};
use crate::info::{Info, Object, number};
use crate::matches::match_bytes;
use crate::own_group::OwnGroup;
use crate::proto::p4::v1::{self, TableEntry};
use crate::streams::Streams;
use crate::unacknowledged::Unacknowledged;
use netvm::p4::Sent;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tonic::Code;

/// What tells an entry of a table: its table, its keys and its priority.
pub(crate) type EntryKey = (u32, Vec<u8>, i32);

/// An entry that was written, or that the program has.
pub(crate) struct Written {
    pub handle: u64,
    pub entry: TableEntry,
    /// The group and the members that are its own.
    pub own: Option<OwnGroup>,
    /// It was told that the entry is not used.
    pub is_told: bool,
}

/// Members and groups of a profile: the switch's number, and what was written.
#[derive(Default)]
pub(crate) struct Profile {
    pub members: BTreeMap<u32, (u32, v1::ActionProfileMember)>,
    pub groups: BTreeMap<u32, (u32, v1::ActionProfileGroup)>,
}

/// All that clients wrote.
#[derive(Default)]
pub(crate) struct Book {
    pub entries: BTreeMap<EntryKey, Written>,
    pub defaults: BTreeMap<u32, TableEntry>,
    pub profiles: BTreeMap<u32, Profile>,
    pub groups: BTreeMap<u32, v1::MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, v1::CloneSessionEntry>,
    pub digests: BTreeMap<u32, v1::DigestEntry>,
    pub sets: BTreeMap<u32, v1::ValueSetEntry>,
}

pub(crate) struct Device {
    pub info: Info,
    pub book: Book,
    pub streams: Arc<Mutex<Streams>>,
    pub settings: Settings,
    /// The entries of the program are in the book.
    pub begun: bool,
    /// The changes of the switch that the book has.
    pub seen: u64,
    /// When entries were last asked whether they are idle, in microseconds of the packets' time.
    pub asked_us: u64,
    /// The configuration that a client set.
    pub config: Option<v1::ForwardingPipelineConfig>,
    /// One that waits to be committed.
    pub saved: Option<v1::ForwardingPipelineConfig>,
    /// Packets that left the switch for what clients sent.
    pub sent: Vec<Sent>,
    /// Lists of digests so far.
    pub lists: u64,
    pub unacknowledged: Unacknowledged,
}

pub(crate) use netvm::p4::NamedAction;

impl Device {
    pub fn new(info: Info, streams: Arc<Mutex<Streams>>, settings: Settings) -> Self {
        Self {
            info,
            book: Book::default(),
            streams,
            settings,
            begun: false,
            seen: 0,
            asked_us: 0,
            config: None,
            saved: None,
            sent: Vec::new(),
            lists: 0,
            unacknowledged: Unacknowledged::default(),
        }
    }

    /// An action of the protocol by names.
    pub fn action(&self, action: &v1::Action) -> Done<NamedAction> {
        let known = self.info.action(action.action_id).or_else(|unknown| fault(Code::InvalidArgument, unknown.message))?;
        let mut args = Vec::new();
        for param in &known.params {
            let given: Vec<_> = action.params.iter().filter(|p| p.param_id == param.id).collect();
            let [one] = given[..] else {
                return fault(Code::InvalidArgument, format!("action {} needs {} once", known.name(), param.name));
            };
            args.push((param.name.clone(), number(&one.value, param.bitwidth, &param.name)?));
        }
        if action.params.len() > known.params.len() {
            return fault(Code::InvalidArgument, format!("action {} has {} parameters", known.name(), known.params.len()));
        }
        Ok((known.name().to_owned(), args))
    }

    /// What tells the entry.
    pub fn key(entry: &TableEntry) -> EntryKey {
        (entry.table_id, match_bytes(&entry.r#match), entry.priority)
    }
}
