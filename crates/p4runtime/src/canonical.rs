//! Numbers of clients in as few bytes as they need, which is how they are read again.
//!
//! Source: P4Runtime specification 1.4, "Bytestrings".

use crate::proto::p4::v1::entity::Entity as Kind;
use crate::proto::p4::v1::field_match::FieldMatchType;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::replica::PortKind;
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::{Action, FieldMatch, Replica, TableEntry};

/// Takes zeros in front away; of nothing but zeros one stays.
fn strip(bytes: &mut Vec<u8>) {
    let zeros = bytes.iter().take_while(|b| **b == 0).count().min(bytes.len().saturating_sub(1));
    bytes.drain(..zeros);
}

/// A field of a match.
pub(crate) fn field(mut field: FieldMatch) -> FieldMatch {
    match &mut field.field_match_type {
        Some(FieldMatchType::Exact(m)) => strip(&mut m.value),
        Some(FieldMatchType::Ternary(m)) => [&mut m.value, &mut m.mask].into_iter().for_each(strip),
        Some(FieldMatchType::Lpm(m)) => strip(&mut m.value),
        Some(FieldMatchType::Range(m)) => [&mut m.low, &mut m.high].into_iter().for_each(strip),
        Some(FieldMatchType::Optional(m)) => strip(&mut m.value),
        _ => {}
    }
    field
}

fn fields(all: &mut Vec<FieldMatch>) {
    *all = std::mem::take(all).into_iter().map(field).collect();
}

fn action(action: &mut Action) {
    action.params.iter_mut().for_each(|param| strip(&mut param.value));
}

fn entry(entry: &mut TableEntry) {
    fields(&mut entry.r#match);
    match entry.action.as_mut().and_then(|a| a.r#type.as_mut()) {
        Some(ActionType::Action(one)) => action(one),
        Some(ActionType::ActionProfileActionSet(set)) => {
            set.action_profile_actions.iter_mut().filter_map(|a| a.action.as_mut()).for_each(action);
        }
        _ => {}
    }
}

fn replicas(all: &mut [Replica]) {
    for replica in all {
        if let Some(PortKind::Port(port)) = &mut replica.port_kind {
            strip(port);
        }
    }
}

/// All numbers of an entity that is written.
pub(crate) fn entity(mut entity: Kind) -> Kind {
    match &mut entity {
        Kind::TableEntry(it) => entry(it),
        Kind::ActionProfileMember(member) => member.action.iter_mut().for_each(action),
        Kind::ValueSetEntry(set) => set.members.iter_mut().for_each(|member| fields(&mut member.r#match)),
        Kind::DirectCounterEntry(it) => it.table_entry.iter_mut().for_each(entry),
        Kind::DirectMeterEntry(it) => it.table_entry.iter_mut().for_each(entry),
        Kind::PacketReplicationEngineEntry(it) => match &mut it.r#type {
            Some(Replication::MulticastGroupEntry(group)) => replicas(&mut group.replicas),
            Some(Replication::CloneSessionEntry(session)) => replicas(&mut session.replicas),
            None => {}
        },
        _ => {}
    }
    entity
}
