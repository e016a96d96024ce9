//! A program's P4Info, looked into by number.

use crate::fault::{Done, fault};
use crate::proto::p4::config::v1::{self as config, P4Info, Preamble};
use netvm::p4::BigInt;
use prost::Message;
use std::collections::BTreeSet;
use tonic::Code;

pub(crate) struct Info {
    pub all: P4Info,
}

/// An object that has a preamble.
pub(crate) trait Object {
    fn preamble(&self) -> Option<&Preamble>;

    fn id(&self) -> u32 {
        self.preamble().map_or(0, |p| p.id)
    }

    fn name(&self) -> &str {
        self.preamble().map_or("", |p| &p.name)
    }
}

macro_rules! objects {
    ($($what:ident),*) => {
        $(impl Object for config::$what {
            fn preamble(&self) -> Option<&Preamble> {
                self.preamble.as_ref()
            }
        })*
    };
}
objects!(Table, Action, ActionProfile, Counter, DirectCounter, Meter, DirectMeter, Register, Digest, ValueSet, ControllerPacketMetadata);

pub(crate) fn find<'a, T: Object>(all: &'a [T], id: u32, what: &str) -> Done<&'a T> {
    all.iter().find(|o| o.id() == id).map_or_else(|| fault(Code::NotFound, format!("there is no {what} {id:#010x}")), Ok)
}

impl Info {
    pub fn new(wire: &[u8]) -> Result<Self, prost::DecodeError> {
        P4Info::decode(wire).map(|all| Self { all })
    }

    pub fn table(&self, id: u32) -> Done<&config::Table> {
        find(&self.all.tables, id, "table")
    }

    pub fn action(&self, id: u32) -> Done<&config::Action> {
        find(&self.all.actions, id, "action")
    }

    pub fn profile(&self, id: u32) -> Done<&config::ActionProfile> {
        find(&self.all.action_profiles, id, "action profile")
    }

    /// Whether another P4Info describes the same program: all that it names is here under the same
    /// numbers.
    pub fn suits(&self, other: &P4Info) -> Done {
        let own: BTreeSet<(u32, String)> = names(&self.all).into_iter().collect();
        match names(other).into_iter().find(|object| !own.contains(object)) {
            Some((id, name)) => fault(Code::InvalidArgument, format!("the program that runs has no {name} with the number {id:#010x}")),
            None => Ok(()),
        }
    }
}

fn names(info: &P4Info) -> Vec<(u32, String)> {
    fn of<T: Object>(all: &[T]) -> impl Iterator<Item = (u32, String)> + '_ {
        all.iter().map(|o| (o.id(), o.name().to_owned()))
    }
    let tables = of(&info.tables).chain(of(&info.actions)).chain(of(&info.action_profiles));
    let counters = of(&info.counters).chain(of(&info.direct_counters)).chain(of(&info.meters)).chain(of(&info.direct_meters));
    let others = of(&info.registers).chain(of(&info.digests)).chain(of(&info.controller_packet_metadata)).chain(of(&info.value_sets));
    tables.chain(counters).chain(others).collect()
}

/// A number of that many bits.
pub(crate) fn number(bytes: &[u8], width: i32, what: &str) -> Done<BigInt> {
    if bytes.is_empty() {
        return fault(Code::InvalidArgument, format!("the value of {what} is empty"));
    }
    let value = BigInt::from_bytes_be(netvm::p4::Sign::Plus, bytes);
    let fits = width <= 0 || value.bits() <= width.unsigned_abs().into();
    if fits { Ok(value) } else { fault(Code::OutOfRange, format!("the value of {what} has more than {width} bits")) }
}

/// A number in as few bytes as it needs.
pub(crate) fn bytes(value: &BigInt) -> Vec<u8> {
    value.to_bytes_be().1
}
