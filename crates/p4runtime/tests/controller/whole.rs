//! What is written as a whole and taken back as a whole: value sets, batches, configurations that
//! are saved; clone sessions; digests and what acknowledges them.

use super::*;

const WATCHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/watched.p4");

/// The value set with those members: value and mask of the type, ends of the last byte.
fn set(it: &Controller, members: &[([u16; 2], [u8; 2])]) -> Kind {
    let field = |field_id, kind| v1::FieldMatch { field_id, field_match_type: Some(kind) };
    let member = |(kind, last): &([u16; 2], [u8; 2])| {
        let [value, mask] = kind.map(|n| n.to_be_bytes().to_vec());
        let [low, high] = last.map(|n| vec![n]);
        let kind = field(1, field_match::FieldMatchType::Ternary(field_match::Ternary { value, mask }));
        let last = field(2, field_match::FieldMatchType::Range(field_match::Range { low, high }));
        v1::ValueSetMember { r#match: vec![kind, last] }
    };
    let id = it.info.value_sets[0].preamble.as_ref().unwrap().id;
    Kind::ValueSetEntry(v1::ValueSetEntry { value_set_id: id, members: members.iter().map(member).collect() })
}

fn typed(kind: u16, last: u8) -> Vec<u8> {
    let mut bytes = frame(1, last);
    bytes[12..14].copy_from_slice(&kind.to_be_bytes());
    bytes
}

/// The session 5 to port 9.
fn session(length: i32, class: u32) -> Kind {
    let replica = v1::Replica { instance: 1, port_kind: Some(replica::PortKind::Port(vec![9])), ..Default::default() };
    let session = v1::CloneSessionEntry { session_id: 5, replicas: vec![replica], class_of_service: class, packet_length_bytes: length };
    let entry = packet_replication_engine_entry::Type::CloneSessionEntry(session);
    Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(entry) })
}

/// An entry of the table `any` for types with that upper byte, or for all.
fn any(it: &Controller, upper: Option<u8>, port: u8) -> v1::TableEntry {
    let ternary = |upper| field_match::FieldMatchType::Ternary(field_match::Ternary { value: vec![upper, 0], mask: vec![0xff, 0] });
    let field = |upper| v1::FieldMatch { field_id: 1, field_match_type: Some(ternary(upper)) };
    v1::TableEntry {
        table_id: it.number("any"),
        r#match: upper.map(field).into_iter().collect(),
        action: Some(v1::TableAction { r#type: Some(ActionType::Action(it.action("to", &[&[port]]))) }),
        priority: 1,
        ..Default::default()
    }
}

#[test]
fn value_sets_have_masks_and_ranges() {
    let device = Device::of(WATCHED);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        assert_eq!(it.one(Type::Insert, session(0, 0)).await, Code::Ok);
        let is_wanted = |kind, last| device.receive(3, &typed(kind, last)).contains(&9);
        let none = set(&it, &[]);
        assert_eq!(it.read(none.clone()).await, std::slice::from_ref(&none));
        assert!(!is_wanted(0x800, 5));
        // The range is six prefixes, which the set of two members takes.
        let both = set(&it, &[([0x800, 0xff00], [1, 14]), ([0x900, 0xffff], [255, 255])]);
        assert_eq!(it.one(Type::Insert, both.clone()).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Modify, both.clone()).await, Code::Ok);
        assert!(is_wanted(0x8aa, 1) && is_wanted(0x800, 14) && is_wanted(0x900, 255));
        assert!(!is_wanted(0x800, 15) && !is_wanted(0x900, 1) && !is_wanted(0x700, 5));
        assert_eq!(it.read(none.clone()).await, std::slice::from_ref(&both));
        // What is refused changes nothing.
        let three = set(&it, &[([0x800, 0xff00], [1, 1]), ([0x900, 0xffff], [2, 2]), ([0xa00, 0xffff], [3, 3])]);
        assert_eq!(it.one(Type::Modify, three).await, Code::ResourceExhausted);
        assert_eq!(it.one(Type::Modify, set(&it, &[([0x801, 0xff00], [1, 14])])).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Modify, set(&it, &[([0x800, 0xff00], [14, 1])])).await, Code::InvalidArgument);
        let twice = set(&it, &[([0x800, 0xff00], [1, 14]), ([0x800, 0xff00], [1, 14])]);
        assert_eq!(it.one(Type::Modify, twice).await, Code::AlreadyExists);
        let Kind::ValueSetEntry(mut odd) = both.clone() else { unreachable!() };
        odd.members[0].r#match[0].field_id = 7;
        assert_eq!(it.one(Type::Modify, Kind::ValueSetEntry(odd)).await, Code::InvalidArgument);
        assert!(is_wanted(0x8aa, 1) && is_wanted(0x900, 255));
        // Taken back with the batch.
        let missing = Kind::TableEntry(any(&it, Some(3), 3));
        let batch = vec![(Type::Modify, none.clone()), (Type::Delete, missing)];
        let refused = it.write(Atomicity::RollbackOnError, batch).await.unwrap_err();
        assert_eq!(errors(&refused), [Code::Aborted, Code::NotFound]);
        assert!(is_wanted(0x8aa, 1));
        assert_eq!(it.one(Type::Modify, none).await, Code::Ok);
        assert!(!is_wanted(0x8aa, 1));
    });
    device.end();
}

#[test]
fn what_a_batch_changed_is_as_it_was() {
    let device = Device::of(WATCHED);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let config = Some(v1::MeterConfig { cir: 1000, cburst: 5, pir: 2000, pburst: 6, eburst: 0 });
        let first = v1::TableEntry { meter_config: config, ..any(&it, Some(8), 2) };
        let all = any(&it, None, 4);
        let entries = [first.clone(), all.clone()].map(|e| (Type::Insert, Kind::TableEntry(e)));
        it.write(Atomicity::ContinueOnError, entries.to_vec()).await.unwrap();
        assert_eq!(device.receive(0, &typed(0x800, 1)), [2]);
        assert_eq!(device.receive(0, &typed(0x100, 1)), [4]);
        let wanted = |e: &v1::TableEntry| v1::TableEntry {
            counter_data: Some(v1::CounterData::default()),
            meter_config: Some(v1::MeterConfig::default()),
            ..e.clone()
        };
        let ways = |index| v1::CounterEntry {
            counter_id: it.number("ways"),
            index,
            data: Some(v1::CounterData { packet_count: 9, byte_count: 0 }),
        };
        let (every, missing) = (ways(None), any(&it, Some(3), 3));
        assert_eq!(
            it.one(Type::Modify, Kind::CounterEntry(v1::CounterEntry { index: Some(v1::Index { index: 2 }), ..every })).await,
            Code::Ok
        );
        let (counts, before) = (it.read(Kind::CounterEntry(every)).await, it.read(Kind::TableEntry(wanted(&first))).await);
        let changed = v1::TableEntry { counter_data: Some(v1::CounterData { packet_count: 77, byte_count: 0 }), ..any(&it, Some(8), 6) };
        let zeros = v1::CounterEntry { data: Some(v1::CounterData::default()), ..every };
        let batch = vec![
            (Type::Modify, Kind::CounterEntry(zeros)),
            (Type::Modify, Kind::TableEntry(changed)),
            (Type::Delete, Kind::TableEntry(first.clone())),
            (Type::Delete, Kind::TableEntry(all.clone())),
            (Type::Delete, Kind::TableEntry(missing)),
        ];
        for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
            let refused = it.write(atomicity, batch.clone()).await.unwrap_err();
            assert_eq!(errors(&refused)[4], Code::NotFound);
            assert_eq!(it.read(Kind::CounterEntry(every)).await, counts, "each cell");
            assert_eq!(it.read(Kind::TableEntry(wanted(&first))).await, before, "counts and rates");
            let [Kind::TableEntry(read)] = &before[..] else { panic!("{before:?}") };
            assert_eq!((read.meter_config, read.counter_data.map(|c| c.packet_count)), (config, Some(1)));
        }
        assert_eq!(device.receive(0, &typed(0x100, 1)), [4], "the entry for all is that for all");
        // A meter that an entry says nothing of has no rates.
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(any(&it, Some(8), 2))).await, Code::Ok);
        let read = it.read(Kind::TableEntry(wanted(&first))).await;
        assert!(matches!(&read[..], [Kind::TableEntry(e)] if e.meter_config.is_none()), "{read:?}");
    });
    device.end();
}

#[test]
fn clones_are_as_long_as_their_session_says() {
    let device = Device::of(WATCHED);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let wanted = set(&it, &[([0x800, 0xffff], [0, 255])]);
        assert_eq!(it.one(Type::Modify, wanted).await, Code::Ok);
        let entry = any(&it, Some(8), 2);
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry)).await, Code::Ok);
        let lengths = || {
            let mut all: Vec<_> = device.copies(0, &typed(0x800, 1), 0).iter().map(|sent| (sent.port, sent.bytes.len())).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(it.one(Type::Insert, session(20, 3)).await, Code::Ok);
        assert_eq!(lengths(), [(2, 60), (9, 20)]);
        assert_eq!(it.read(session(0, 0)).await, [session(20, 3)]);
        assert_eq!(it.one(Type::Modify, session(200, 0)).await, Code::Ok);
        assert_eq!(lengths(), [(2, 60), (9, 60)]);
        assert_eq!(it.one(Type::Modify, session(-1, 0)).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Modify, session(0, 256)).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Delete, session(0, 0)).await, Code::Ok);
        assert_eq!(lengths(), [(2, 60)]);
    });
    device.end();
}

#[test]
fn a_configuration_is_saved_until_it_is_committed() {
    let device = Device::of(WATCHED);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let info = it.info.clone();
        assert_eq!(it.configure(Step::Commit, info.clone(), 1).await.unwrap_err().code(), Code::FailedPrecondition);
        it.configure(Step::VerifyAndCommit, info.clone(), 2).await.unwrap();
        let entry = any(&it, None, 4);
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry)).await, Code::Ok);
        it.configure(Step::VerifyAndSave, info.clone(), 3).await.unwrap();
        assert_eq!(device.receive(0, &typed(0x100, 1)), [4]);
        let request = v1::GetForwardingPipelineConfigRequest { device_id: 7, ..Default::default() };
        let cookie = async |it: &mut Controller| {
            let config = it.client.get_forwarding_pipeline_config(request).await.unwrap().into_inner().config.unwrap();
            config.cookie.unwrap().cookie
        };
        assert_eq!(cookie(&mut it).await, 2);
        it.configure(Step::Commit, info.clone(), 0).await.unwrap();
        assert_eq!(cookie(&mut it).await, 3);
        assert_eq!(device.receive(0, &typed(0x100, 1)), [0], "entries are gone");
        assert_eq!(it.configure(Step::Commit, info.clone(), 0).await.unwrap_err().code(), Code::FailedPrecondition);
        let mut other = info;
        other.value_sets[0].preamble.as_mut().unwrap().id += 1;
        assert_eq!(it.configure(Step::Verify, other, 4).await.unwrap_err().code(), Code::InvalidArgument);
    });
    device.end();
}

/// What was told is told again when its list is acknowledged, or the time for that is over.
#[test]
fn digests_wait_for_their_acknowledgement() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let config = Some(v1::digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 1_000_000_000 });
        let digest_id = it.number("seen_t");
        assert_eq!(it.one(Type::Insert, Kind::DigestEntry(v1::DigestEntry { digest_id, config })).await, Code::Ok);
        let told = async |it: &mut Controller| match it.next().await {
            Told::Digest(list) => (list.list_id, format!("{:?}", list.data)),
            other => panic!("{other:?}"),
        };
        let (first, second) = (frame(77, 66), frame(77, 67));
        device.receive_at(2, &first, 1_000_000_000);
        let (list, data) = told(&mut it).await;
        // A digest that was told already is passed over; another one is not.
        device.receive_at(2, &first, 1_500_000_000);
        device.receive_at(2, &second, 1_600_000_000);
        let (next, other) = told(&mut it).await;
        assert!(next == list + 1 && other != data, "{other}");
        it.say(Ask::DigestAck(v1::DigestListAck { digest_id, list_id: list })).await;
        // A request behind it: what was said before has been heard.
        it.read(Kind::DigestEntry(v1::DigestEntry::default())).await;
        device.receive_at(2, &second, 1_700_000_000);
        device.receive_at(2, &first, 1_700_000_000);
        assert_eq!(told(&mut it).await.1, data);
        device.receive_at(2, &second, 2_600_000_000);
        assert_eq!(told(&mut it).await.1, other);
    });
    device.end();
}

/// Entities of every kind, with bytes changed, are refused or done; and read.
#[test]
fn damaged_entities_do_no_harm() {
    let device = Device::of(WATCHED);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let entry = any(&it, Some(8), 2);
        let counted = v1::TableEntry { counter_data: Some(v1::CounterData { packet_count: 1, byte_count: 2 }), ..entry.clone() };
        let config = Some(v1::MeterConfig { cir: 1000, cburst: 5, pir: 2000, pburst: 6, eburst: 0 });
        let index = Some(v1::Index { index: 1 });
        let group = v1::MulticastGroupEntry { multicast_group_id: 4, ..Default::default() };
        let group = packet_replication_engine_entry::Type::MulticastGroupEntry(group);
        let mut sound: Vec<Vec<u8>> = [
            set(&it, &[([0x800, 0xff00], [1, 14]), ([0x900, 0xffff], [255, 255])]),
            session(20, 3),
            Kind::TableEntry(counted),
            Kind::CounterEntry(v1::CounterEntry { counter_id: it.number("ways"), index, data: Some(v1::CounterData::default()) }),
            Kind::DirectMeterEntry(v1::DirectMeterEntry { table_entry: Some(entry.clone()), config, counter_data: None }),
            Kind::DirectCounterEntry(v1::DirectCounterEntry { table_entry: Some(entry), data: Some(v1::CounterData::default()) }),
            Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(group) }),
            Kind::RegisterEntry(v1::RegisterEntry { register_id: 1, index, data: None }),
            Kind::DigestEntry(v1::DigestEntry { digest_id: 1, config: None }),
            Kind::ActionProfileMember(v1::ActionProfileMember { action_profile_id: 1, member_id: 2, action: None }),
            Kind::ActionProfileGroup(v1::ActionProfileGroup { action_profile_id: 1, group_id: 2, ..Default::default() }),
        ]
        .map(|kind| v1::Entity { entity: Some(kind) }.encode_to_vec())
        .into();
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |n: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 8) as usize % n
        };
        let mut done = 0;
        for round in 0..1500 {
            let at = random(sound.len());
            let mut bytes = sound[at].clone();
            for _ in 0..random(3) {
                let at = random(bytes.len());
                bytes[at] = [random(256) as u8, 0, 255, bytes[at] ^ 1][random(4)];
            }
            let Ok(v1::Entity { entity: Some(entity) }) = v1::Entity::decode(&bytes[..]) else { continue };
            let kind = [Type::Insert, Type::Modify, Type::Delete][random(3)];
            let atomicity = [Atomicity::ContinueOnError, Atomicity::RollbackOnError][random(2)];
            done += usize::from(it.write(atomicity, vec![(kind, entity.clone())]).await.is_ok());
            let entities = vec![v1::Entity { entity: Some(entity) }];
            if let Ok(answer) = it.client.read(v1::ReadRequest { device_id: 7, entities, ..Default::default() }).await {
                let mut parts = answer.into_inner();
                while let Ok(Some(_)) = parts.message().await {}
            }
            if round % 100 == 0 {
                sound.push(bytes);
            }
        }
        assert!(done > 50, "{done} were done");
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(any(&it, Some(200), 2))).await, Code::Ok);
    });
    assert_eq!(device.receive(0, &typed(200 << 8, 1)), [2]);
    device.end();
}

/// Numbers with zeros in front are the same numbers, and are read without.
#[test]
fn numbers_are_read_in_as_few_bytes_as_they_need() {
    let device = Device::of(WATCHED);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let short = any(&it, Some(8), 2);
        let mut long = short.clone();
        let ternary = field_match::Ternary { value: vec![0, 0, 8, 0], mask: vec![0, 0xff, 0] };
        long.r#match[0].field_match_type = Some(field_match::FieldMatchType::Ternary(ternary));
        long.action = Some(v1::TableAction { r#type: Some(ActionType::Action(it.action("to", &[&[0, 0, 2]]))) });
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(long.clone())).await, Code::Ok);
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(short.clone())).await, Code::AlreadyExists);
        assert_eq!(it.read(Kind::TableEntry(long.clone())).await, [Kind::TableEntry(short.clone())]);
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(long)).await, Code::Ok);
        assert_eq!(it.read(Kind::TableEntry(v1::TableEntry::default())).await, [Kind::TableEntry(short)]);
        let Kind::PacketReplicationEngineEntry(mut wide) = session(0, 0) else { unreachable!() };
        if let Some(packet_replication_engine_entry::Type::CloneSessionEntry(session)) = &mut wide.r#type {
            session.replicas[0].port_kind = Some(replica::PortKind::Port(vec![0, 0, 0, 0, 9]));
        }
        assert_eq!(it.one(Type::Insert, Kind::PacketReplicationEngineEntry(wide)).await, Code::Ok);
        assert_eq!(it.read(session(0, 0)).await, [session(0, 0)]);
    });
    device.end();
}
