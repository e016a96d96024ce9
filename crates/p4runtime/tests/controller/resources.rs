//! Weights of members, entries with actions of their own, entries of the program, idle timeouts,
//! registers of structures.

use super::*;

const RESOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/resources.p4");

/// An entry of the table `chosen` for that type.
fn chosen(it: &Controller, action: ActionType) -> v1::TableEntry {
    let exact = field_match::FieldMatchType::Exact(field_match::Exact { value: vec![9, 0] });
    v1::TableEntry {
        table_id: it.number("chosen"),
        r#match: vec![v1::FieldMatch { field_id: 1, field_match_type: Some(exact) }],
        action: Some(v1::TableAction { r#type: Some(action) }),
        ..Default::default()
    }
}

/// Frames whose sources, and with them the hashes, are those numbers.
fn ports(device: &Device, sources: std::ops::Range<u8>) -> Vec<u32> {
    let of = |source: u8| {
        let mut frame = frame(0, source);
        frame[12] = 9;
        device.receive(0, &frame)
    };
    sources.flat_map(of).collect()
}

#[test]
fn members_of_groups_have_weights() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let profile = it.number("ways");
        for (id, port) in [(1, 5u8), (2, 6)] {
            let action = Some(it.action("to", &[&[port]]));
            let member = v1::ActionProfileMember { action_profile_id: profile, member_id: id, action };
            assert_eq!(it.one(Type::Insert, Kind::ActionProfileMember(member)).await, Code::Ok);
        }
        let group = |weights: [i32; 2]| {
            let member = |(member_id, weight)| v1::action_profile_group::Member { member_id, weight, ..Default::default() };
            let members = (1..).zip(weights).map(member).collect();
            Kind::ActionProfileGroup(v1::ActionProfileGroup { action_profile_id: profile, group_id: 1, members, max_size: 0 })
        };
        assert_eq!(it.one(Type::Insert, group([-1, 1])).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Insert, group([1 << 20, 1])).await, Code::ResourceExhausted);
        assert_eq!(it.one(Type::Insert, group([1, 3])).await, Code::Ok);
        let entry = chosen(&it, ActionType::ActionProfileGroupId(1));
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry)).await, Code::Ok);
        assert_eq!(ports(&device, 16..24), [5, 6, 6, 6, 5, 6, 6, 6]);
        assert_eq!(it.one(Type::Modify, group([2, 1])).await, Code::Ok);
        assert_eq!(ports(&device, 18..24), [5, 5, 6, 5, 5, 6]);
        assert_eq!(it.read(group([0, 0])).await, [group([2, 1])]);
    });
    device.end();
}

#[test]
fn entries_bring_their_actions_with_them() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let set = |it: &Controller, all: &[(u8, i32)]| {
            let of = |(port, weight): &(u8, i32)| v1::ActionProfileAction {
                action: Some(it.action("to", &[&[*port]])),
                weight: *weight,
                ..Default::default()
            };
            let action_profile_actions = all.iter().map(of).collect();
            let set = v1::ActionProfileActionSet { action_profile_actions, ..Default::default() };
            Kind::TableEntry(chosen(it, ActionType::ActionProfileActionSet(set)))
        };
        let (first, second) = (set(&it, &[(5, 1), (6, 2)]), set(&it, &[(7, 1)]));
        assert_eq!(it.one(Type::Insert, set(&it, &[])).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Insert, set(&it, &[(5, 0)])).await, Code::InvalidArgument);
        assert_eq!(it.one(Type::Insert, first.clone()).await, Code::Ok);
        assert_eq!(ports(&device, 18..24), [5, 6, 6, 5, 6, 6]);
        assert_eq!(it.read(second.clone()).await, std::slice::from_ref(&first));
        assert_eq!(it.one(Type::Modify, second.clone()).await, Code::Ok);
        assert_eq!(ports(&device, 18..21), [7, 7, 7]);
        // All that it had is free again: so often there would be no room otherwise.
        for _ in 0..40 {
            assert_eq!(it.one(Type::Modify, first.clone()).await, Code::Ok);
        }
        assert_eq!(it.one(Type::Delete, first.clone()).await, Code::Ok);
        assert_eq!(ports(&device, 18..20), [0, 0]);
        let refused = it.write(Atomicity::RollbackOnError, vec![(Type::Insert, second.clone()), (Type::Insert, second)]).await;
        assert_eq!(errors(&refused.unwrap_err()), [Code::Aborted, Code::AlreadyExists]);
        assert_eq!(ports(&device, 18..20), [0, 0]);
        let none = v1::ActionProfileMember { action_profile_id: it.number("ways"), ..Default::default() };
        assert_eq!(it.read(Kind::ActionProfileMember(none)).await, []);
    });
    device.end();
}

#[test]
fn entries_of_the_program_are_read_and_time_out() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let of = |it: &Controller, name: &str| v1::TableEntry { table_id: it.number(name), ..Default::default() };
        let read = it.read(Kind::TableEntry(of(&it, "fixed"))).await;
        let all: Vec<_> = read.into_iter().map(|e| if let Kind::TableEntry(e) = e { e } else { panic!("{e:?}") }).collect();
        assert!(all.len() == 2 && all.iter().all(|e| e.is_const), "{all:?}");
        let best = all.iter().max_by_key(|e| e.priority).unwrap();
        let ternary = field_match::Ternary { value: vec![8, 0], mask: vec![0xff, 0] };
        assert_eq!(best.r#match, [v1::FieldMatch { field_id: 1, field_match_type: Some(field_match::FieldMatchType::Ternary(ternary)) }]);
        let plain = v1::TableEntry { is_const: false, ..best.clone() };
        assert_eq!(it.one(Type::Delete, Kind::TableEntry(plain.clone())).await, Code::PermissionDenied);
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(plain)).await, Code::PermissionDenied);
        // One that is not constant: changed, and told when nobody used it for some time.
        let read = it.read(Kind::TableEntry(of(&it, "first"))).await;
        let [Kind::TableEntry(entry)] = &read[..] else { panic!("{read:?}") };
        assert!(!entry.is_const && entry.priority == 0);
        let mut far = frame(0, 0);
        (far[0], far[12]) = (0xa0, 1);
        assert_eq!(device.receive_at(0, &far, 1_000_000_000), [2]);
        let action = Some(v1::TableAction { r#type: Some(ActionType::Action(it.action("to", &[&[3]]))) });
        let timed = v1::TableEntry { action, idle_timeout_ns: 5_000_000, ..entry.clone() };
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(timed.clone())).await, Code::Ok);
        assert_eq!(device.receive_at(0, &far, 1_001_000_000), [3]);
        assert_eq!(device.receive_at(0, &frame(0, 0), 1_009_000_000), [1]);
        let Told::IdleTimeoutNotification(told) = it.next().await else { panic!("no notification") };
        assert_eq!(told.table_entry.len(), 1);
        assert_eq!((&told.table_entry[0].r#match, told.table_entry[0].idle_timeout_ns), (&timed.r#match, 5_000_000));
        let asked = v1::TableEntry { time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()), ..of(&it, "first") };
        let read = it.read(Kind::TableEntry(asked)).await;
        let [Kind::TableEntry(read)] = &read[..] else { panic!("{read:?}") };
        assert_eq!(read.time_since_last_hit.map(|t| t.elapsed_ns), Some(8_000_000));
        let untimed = v1::TableEntry { idle_timeout_ns: 1, ..chosen(&it, ActionType::ActionProfileMemberId(1)) };
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(untimed)).await, Code::InvalidArgument);
        // A new configuration: the program's entry is what it was.
        let info = it.info.clone();
        it.configure(Step::VerifyAndCommit, info, 1).await.unwrap();
        assert_eq!(device.receive_at(0, &far, 1_010_000_000), [2]);
        assert_eq!(it.read(Kind::TableEntry(of(&it, "fixed"))).await.len(), 2);
    });
    device.end();
}

#[test]
fn registers_of_structures_are_written_and_read() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let cell = |it: &Controller, index, members: Vec<Data>| {
            let members = members.into_iter().map(|d| v1::P4Data { data: Some(d) }).collect();
            let data = Some(v1::P4Data { data: Some(Data::Struct(v1::P4StructLike { members })) });
            Kind::RegisterEntry(v1::RegisterEntry { register_id: it.number("places"), index: Some(v1::Index { index }), data })
        };
        let known = vec![Data::Bool(true), Data::Bitstring(vec![1, 2]), Data::Bitstring(vec![9, 1])];
        let written = cell(&it, 1, known.clone());
        assert_eq!(it.one(Type::Modify, written.clone()).await, Code::Ok);
        assert_eq!(it.read(written.clone()).await, [written]);
        let short = cell(&it, 1, known[1..].to_vec());
        assert_eq!(it.one(Type::Modify, short).await, Code::InvalidArgument);
        let mut to_known = frame(1, 20);
        to_known[12] = 7;
        assert_eq!(device.receive(5, &to_known), [0x102]);
        let by_program = cell(&it, 3, vec![Data::Bool(false), Data::Bitstring(vec![5]), Data::Bitstring(vec![9, 1])]);
        assert_eq!(it.read(by_program.clone()).await, [by_program]);
    });
    device.end();
}

#[test]
fn entries_are_read_from_protobuf_text() {
    let info = netvm::p4::p4info(Path::new(RESOURCES), &[], &[]).unwrap();
    let known = P4Info::decode(&info.to_wire()[..]).unwrap();
    let number = |name: &str| {
        let tables = known.tables.iter().map(|t| &t.preamble).chain(known.actions.iter().map(|t| &t.preamble));
        let mut all = tables.chain(known.action_profiles.iter().map(|t| &t.preamble)).flatten();
        all.find(|p| p.alias == name).unwrap().id
    };
    let (first, fixed, chosen, to, ways) = (number("first"), number("fixed"), number("chosen"), number("to"), number("ways"));
    let entry = |table: u32, rest: &str| format!("updates {{ type: INSERT entity {{ table_entry {{ table_id: {table} {rest} }} }} }}\n");
    let port = |port: &str| format!("action {{ action_id: {to} params {{ param_id: 1 value: \"{port}\" }} }}");
    let text = [
        "# proto-message: p4.v1.WriteRequest\n".to_owned(),
        entry(
            first,
            &format!(
                "match {{ field_id: 1 lpm {{ value: \"\\xb0\\000\\0\\0\\0\" '\\000' prefix_len: 8 }} }} action {{ {} }}",
                port("\\006")
            ),
        ),
        // Constant: there already.
        entry(
            fixed,
            &format!(
                "match: < field_id: 1 ternary: < value: '\\x08\\000' mask: '\\xff\\000' > > priority: 2 action {{ {} }}",
                port("\\001")
            ),
        ),
        format!(
            "updates {{ type: INSERT entity {{ action_profile_member {{ action_profile_id: {ways} member_id: 0x3 {} }} }} }}\n",
            port("\\t")
        ),
        format!(
            "updates {{ type: INSERT entity {{ action_profile_group {{ action_profile_id: {ways} group_id: 1 members {{ member_id: 3 weight: 2 }} }} }} }}\n"
        ),
        entry(chosen, "match { field_id: 1 exact { value: '\\011\\000' } } action { action_profile_group_id: 1 }"),
    ];
    let start = || {
        let pipeline = netvm::p4::load(Path::new(RESOURCES), &[], &[]).unwrap();
        Switch::start(pipeline, &netvm::engines::ALL[0], netvm::Settings::default()).unwrap()
    };
    let mut switch = start();
    p4runtime::text::enter(&mut switch, &info, &text.concat()).unwrap();
    let mut by = |first: u8, kind: u8| {
        let mut frame = frame(0, 0);
        (frame[0], frame[12]) = (first, kind);
        switch.receive(0, &frame, 0)[0].port
    };
    assert_eq!((by(0xb0, 1), by(0xa0, 1), by(0, 9), by(0, 8)), (6, 2, 9, 1));
    let refused = |text: &str| p4runtime::text::enter(&mut start(), &info, text).unwrap_err().to_string();
    assert!(refused("\nupdates { entity { table_entry { table_id: 5 } } }").starts_with("line 2: "));
    assert!(refused("updates { entity { table_entry { table_id: x } } }").starts_with("line 1: `x` is no number for table_id"));
    assert!(refused("updates {\n\n\"").starts_with("line 3: ") && refused("updates { a: \"\\q\" }").contains("no byte is escaped"));
    assert!(
        refused(&"updates { ".repeat(100_000)).contains("nested too deep") && refused("updates { type: FLY entity { } }").contains("`FLY`")
    );
    // Half of a text is refused or means less, and never a panic.
    let whole = text.concat();
    (0..whole.len())
        .filter(|at| whole.is_char_boundary(*at))
        .for_each(|at| drop(p4runtime::text::enter(&mut start(), &info, &whole[..at])));
}
