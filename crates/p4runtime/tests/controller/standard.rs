//! What the standard says that a server must refuse, and with which code.
//!
//! Source: P4Runtime specification 1.4, "P4 Entity Messages".

use super::*;
use crate::v1::packet_replication_engine_entry::Type as Engine;

const RESOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/resources.p4");

fn index(index: i64) -> Option<v1::Index> {
    Some(v1::Index { index })
}

fn engine(kind: Engine) -> Kind {
    Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) })
}

fn group(id: u32, copies: &[(u32, u8)]) -> Kind {
    let port = |port: u8| Some(replica::PortKind::Port(vec![port]));
    let one = |(instance, to): &(u32, u8)| v1::Replica { instance: *instance, port_kind: port(*to), ..Default::default() };
    let entry = v1::MulticastGroupEntry { multicast_group_id: id, replicas: copies.iter().map(one).collect(), metadata: Vec::new() };
    engine(Engine::MulticastGroupEntry(entry))
}

/// Refused to read, with that code.
async fn unread(it: &mut Controller, entity: Kind) -> Code {
    let entities = vec![v1::Entity { entity: Some(entity) }];
    it.client.read(v1::ReadRequest { device_id: 7, entities, ..Default::default() }).await.map_or_else(|e| e.code(), |_| Code::Ok)
}

#[test]
fn counters_and_meters() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let data = Some(v1::CounterData { packet_count: 5, byte_count: 6 });
        let counter = |it: &Controller, at, data| v1::CounterEntry { counter_id: it.number("arrived"), index: index(at), data };
        let set = counter(&it, 2, data);
        assert_eq!(it.one(Type::Modify, Kind::CounterEntry(set)).await, Code::Ok);
        // Without data it stays.
        assert_eq!(it.one(Type::Modify, Kind::CounterEntry(counter(&it, 2, None))).await, Code::Ok);
        assert_eq!(it.read(Kind::CounterEntry(counter(&it, 2, None))).await, [Kind::CounterEntry(set)]);
        for (at, code) in [(-1, Code::InvalidArgument), (16, Code::OutOfRange)] {
            let wrong = Kind::CounterEntry(counter(&it, at, data));
            assert_eq!((it.one(Type::Modify, wrong.clone()).await, unread(&mut it, wrong).await), (code, code));
        }
        let entry = it.forward(1, "to", &[&[5]]);
        let direct = |data| Kind::DirectCounterEntry(v1::DirectCounterEntry { table_entry: Some(entry.clone()), data });
        assert_eq!(it.one(Type::Modify, direct(data)).await, Code::NotFound);
        assert_eq!(unread(&mut it, direct(None)).await, Code::NotFound);
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry.clone())).await, Code::Ok);
        assert_eq!(it.one(Type::Modify, direct(data)).await, Code::Ok);
        assert_eq!(it.one(Type::Modify, direct(None)).await, Code::Ok);
        let read = it.read(direct(None)).await;
        assert!(matches!(&read[..], [Kind::DirectCounterEntry(e)] if e.data == data), "{read:?}");
        let config = v1::MeterConfig { cir: 1000, cburst: 5, pir: 2000, pburst: 6, eburst: 0 };
        let meter = |it: &Controller, config, counter_data| {
            Kind::MeterEntry(v1::MeterEntry { meter_id: it.number("limits"), index: index(0), config: Some(config), counter_data })
        };
        let excess = meter(&it, v1::MeterConfig { eburst: 1, ..config }, None);
        assert_eq!(it.one(Type::Modify, excess).await, Code::InvalidArgument);
        let colors = meter(&it, config, Some(v1::MeterCounterData::default()));
        assert_eq!((it.one(Type::Modify, colors.clone()).await, unread(&mut it, colors).await), (Code::Unimplemented, Code::Unimplemented));
        let colors = v1::TableEntry { meter_counter_data: Some(v1::MeterCounterData::default()), ..it.forward(2, "to", &[&[5]]) };
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(colors)).await, Code::Unimplemented);
    });
    device.end();
}

#[test]
fn entries_of_tables() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let to = |it: &Controller, port| Some(v1::TableAction { r#type: Some(ActionType::Action(it.action("to", &[&[port]]))) });
        let prefix = field_match::FieldMatchType::Lpm(field_match::Lpm { value: vec![0xb0, 0, 0, 0, 0, 0], prefix_len: 8 });
        let first = v1::TableEntry {
            table_id: it.number("first"),
            r#match: vec![v1::FieldMatch { field_id: 1, field_match_type: Some(prefix) }],
            action: to(&it, 3),
            ..Default::default()
        };
        let idle = Some(v1::table_entry::IdleTimeout::default());
        let default = v1::TableEntry { is_default_action: true, r#match: Vec::new(), ..first.clone() };
        let refused = [
            (Type::Insert, v1::TableEntry { is_const: true, ..first.clone() }),
            (Type::Insert, v1::TableEntry { idle_timeout_ns: -1, ..first.clone() }),
            (Type::Modify, v1::TableEntry { idle_timeout_ns: 5, ..default.clone() }),
            (Type::Modify, v1::TableEntry { time_since_last_hit: idle, ..default.clone() }),
            (Type::Insert, default.clone()),
            (Type::Delete, default),
        ];
        for (kind, entry) in refused {
            assert_eq!(it.one(kind, Kind::TableEntry(entry.clone())).await, Code::InvalidArgument, "{entry:?}");
        }
        let all = it.read(Kind::TableEntry(v1::TableEntry { table_id: it.number("fixed"), ..Default::default() })).await;
        let Kind::TableEntry(constant) = all[0].clone() else { panic!("{all:?}") };
        let free = v1::TableEntry { is_const: false, ..constant.clone() };
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(constant)).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(free.clone())).await, Code::PermissionDenied);
        assert_eq!(it.one(Type::Delete, Kind::TableEntry(free.clone())).await, Code::PermissionDenied);
        // Without an action only what belongs to the entry is modified, and here nothing does.
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(v1::TableEntry { action: None, ..free })).await, Code::Ok);
    });
    device.end();
}

#[test]
fn members_and_groups() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let profile = it.number("ways");
        let member = |it: &Controller, id| {
            let action = Some(it.action("to", &[&[4]]));
            v1::ActionProfileMember { action_profile_id: profile, member_id: id, action }
        };
        let (first, second) = (member(&it, 1), member(&it, 2));
        let unknown = v1::Action { action_id: 0x0100_0001, params: Vec::new() };
        let odd = v1::ActionProfileMember { action: Some(unknown), ..first.clone() };
        assert_eq!(it.one(Type::Insert, Kind::ActionProfileMember(odd)).await, Code::InvalidArgument);
        for member in [&first, &second] {
            assert_eq!(it.one(Type::Insert, Kind::ActionProfileMember(member.clone())).await, Code::Ok);
        }
        let of = |weights: &[i32], max_size, port: &[u8]| {
            use v1::action_profile_group::member::WatchKind;
            let watch_kind = Some(WatchKind::WatchPort(port.to_vec()));
            let one = |(member_id, weight): (u32, &i32)| v1::action_profile_group::Member {
                member_id,
                weight: *weight,
                watch_kind: watch_kind.clone(),
            };
            let members = (1..).zip(weights).map(one).collect();
            Kind::ActionProfileGroup(v1::ActionProfileGroup { action_profile_id: profile, group_id: 9, members, max_size })
        };
        for wrong in [of(&[0], 0, &[]), of(&[1], -1, &[]), of(&[1], 0, &[2, 0])] {
            assert_eq!(it.one(Type::Insert, wrong.clone()).await, Code::InvalidArgument, "{wrong:?}");
        }
        assert_eq!(it.one(Type::Insert, of(&[2, 1], 2, &[])).await, Code::ResourceExhausted);
        assert_eq!(it.one(Type::Insert, of(&[1, 1], 2, &[1])).await, Code::Ok);
        assert_eq!(it.one(Type::Modify, of(&[1, 1], 3, &[])).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Modify, of(&[1], 2, &[])).await, Code::Ok);
        let exact = |type_: u8| {
            let value = field_match::FieldMatchType::Exact(field_match::Exact { value: vec![type_] });
            vec![v1::FieldMatch { field_id: 1, field_match_type: Some(value) }]
        };
        let entry = |it: &Controller, key, r#type| {
            let action = Some(v1::TableAction { r#type: Some(r#type) });
            Kind::TableEntry(v1::TableEntry { table_id: it.number("chosen"), r#match: exact(key), action, ..Default::default() })
        };
        let (named, alone) = (entry(&it, 1, ActionType::ActionProfileGroupId(9)), entry(&it, 2, ActionType::ActionProfileMemberId(2)));
        for entry in [&named, &alone] {
            assert_eq!(it.one(Type::Insert, entry.clone()).await, Code::Ok);
        }
        assert_eq!(it.one(Type::Delete, of(&[], 0, &[])).await, Code::FailedPrecondition);
        assert_eq!(it.one(Type::Delete, Kind::ActionProfileMember(second)).await, Code::FailedPrecondition);
        // Entries with action sets of their own are not beside them, nor the other way round.
        let one = v1::ActionProfileAction { action: Some(it.action("to", &[&[5]])), weight: 1, ..Default::default() };
        let set = |it: &Controller| {
            let set = v1::ActionProfileActionSet { action_profile_actions: vec![one.clone()], ..Default::default() };
            entry(it, 3, ActionType::ActionProfileActionSet(set))
        };
        let own = set(&it);
        assert_eq!(it.one(Type::Insert, own.clone()).await, Code::InvalidArgument);
        for entry in [named.clone(), alone] {
            assert_eq!(it.one(Type::Delete, entry).await, Code::Ok);
        }
        assert_eq!(it.one(Type::Insert, own).await, Code::Ok);
        assert_eq!(it.one(Type::Insert, named).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Delete, of(&[], 0, &[])).await, Code::Ok);
    });
    device.end();
}

#[test]
fn copies_and_roles() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        for wrong in [group(0, &[(1, 1)]), group(4, &[(1, 1), (2, 1), (1, 1)]), group(4, &[(1 << 16, 1)])] {
            assert_eq!(it.one(Type::Insert, wrong.clone()).await, Code::InvalidArgument, "{wrong:?}");
        }
        assert_eq!(it.one(Type::Insert, group(4, &[(1, 1), (2, 1)])).await, Code::Ok);
        let none = engine(Engine::CloneSessionEntry(v1::CloneSessionEntry::default()));
        assert_eq!(it.one(Type::Insert, none).await, Code::InvalidArgument);
        let request = v1::WriteRequest { device_id: 7, election_id: it.id(), role: "nobody".to_owned(), ..Default::default() };
        assert_eq!(it.client.write(request).await.unwrap_err().code(), Code::NotFound);
    });
    device.end();
}
