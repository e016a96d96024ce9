//! What came by other doors: clients read it, change it and take it out.

use super::*;

const RESOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/resources.p4");

fn exact(it: &Controller, action: v1::Action) -> v1::TableEntry {
    v1::TableEntry { action: Some(v1::TableAction { r#type: Some(ActionType::Action(action)) }), ..it.forward(9, "to", &[&[4]]) }
}

#[test]
fn entries_and_default_actions_are_read_changed_and_taken_out() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        device.commands("table_add forward to 9 => 4");
        let all = Kind::TableEntry(v1::TableEntry { table_id: it.number("forward"), ..Default::default() });
        let entry = exact(&it, it.action("to", &[&[4]]));
        assert_eq!(it.read(all.clone()).await, [Kind::TableEntry(entry.clone())]);
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry.clone())).await, Code::AlreadyExists);
        // What a client wrote changes by another door.
        assert_eq!(it.one(Type::Modify, Kind::TableEntry(exact(&it, it.action("to", &[&[5]])))).await, Code::Ok);
        assert_eq!(device.receive(1, &frame(9, 1)), [5]);
        device.commands("table_modify forward to 0 => 6");
        let changed = exact(&it, it.action("to", &[&[6]]));
        assert_eq!(it.read(all.clone()).await, [Kind::TableEntry(changed.clone())]);
        assert_eq!(it.one(Type::Delete, Kind::TableEntry(changed.clone())).await, Code::Ok);
        assert!(device.receive(1, &frame(9, 1)).is_empty());
        // What a client wrote is taken out by another door.
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry.clone())).await, Code::Ok);
        device.commands("table_clear forward");
        assert_eq!(it.read(all.clone()).await, []);
        assert_eq!(it.one(Type::Delete, Kind::TableEntry(entry)).await, Code::NotFound);
        let default = v1::TableEntry { is_default_action: true, table_id: it.number("forward"), ..Default::default() };
        device.commands("table_set_default forward to 3");
        let action = Some(v1::TableAction { r#type: Some(ActionType::Action(it.action("to", &[&[3]]))) });
        assert_eq!(it.read(Kind::TableEntry(default.clone())).await, [Kind::TableEntry(v1::TableEntry { action, ..default })]);
    });
    device.end();
}

#[test]
fn members_and_groups_have_numbers_of_their_own() {
    let device = Device::of(RESOURCES);
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        device.commands(
            "act_prof_create_member ways to 5\nact_prof_create_member ways to 6\nact_prof_create_group ways\n\
             act_prof_add_member_to_group ways 1 0\ntable_indirect_add_with_group chosen 0x900 => 0\n\
             table_indirect_add chosen 0x901 => 0\ntable_add first to 0xb00000000000/8 => 7\n",
        );
        let profile = it.number("ways");
        let member = |id: u32, port: u8, it: &Controller| {
            let action = Some(it.action("to", &[&[port]]));
            Kind::ActionProfileMember(v1::ActionProfileMember { action_profile_id: profile, member_id: id, action })
        };
        let wanted = Kind::ActionProfileMember(v1::ActionProfileMember { action_profile_id: profile, ..Default::default() });
        assert_eq!(it.read(wanted).await, [member(1 << 31, 5, &it), member((1 << 31) + 1, 6, &it)]);
        let wanted = Kind::ActionProfileGroup(v1::ActionProfileGroup { action_profile_id: profile, ..Default::default() });
        let members = vec![v1::action_profile_group::Member { member_id: (1 << 31) + 1, weight: 1, ..Default::default() }];
        let group = v1::ActionProfileGroup { action_profile_id: profile, group_id: 1 << 31, members, max_size: 0 };
        assert_eq!(it.read(wanted).await, [Kind::ActionProfileGroup(group)]);
        let targets = it.read(Kind::TableEntry(v1::TableEntry { table_id: it.number("chosen"), ..Default::default() })).await;
        let targets: Vec<_> =
            targets.into_iter().map(|kind| if let Kind::TableEntry(e) = kind { e.action.unwrap().r#type } else { None }).collect();
        assert_eq!(targets, [Some(ActionType::ActionProfileGroupId(1 << 31)), Some(ActionType::ActionProfileMemberId(1 << 31))]);
        // The entry of the program and the new one, with their prefixes.
        let first = it.read(Kind::TableEntry(v1::TableEntry { table_id: it.number("first"), ..Default::default() })).await;
        assert_eq!(first.len(), 2);
        // A new configuration takes all of it out, and leaves what the program has.
        it.configure(Step::VerifyAndCommit, it.info.clone(), 1).await.unwrap();
        let left = it.read(Kind::TableEntry(v1::TableEntry::default())).await;
        assert_eq!(left.len(), 3, "{left:?}");
        let members = Kind::ActionProfileMember(v1::ActionProfileMember { action_profile_id: profile, ..Default::default() });
        assert_eq!(it.read(members).await, []);
    });
    device.end();
}

#[test]
fn multicast_groups_and_sessions_are_read_changed_and_taken_out() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(it.forward(5, "spread", &[&[4]]))).await, Code::Ok);
        device.commands("mc_mgrp_create 4\nmc_node_create 7 1 2\nmc_node_associate 4 0\nmirroring_add 3 6\nmirroring_add_mc 8 4");
        let engine = |kind| Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) });
        let replicas = |copies: &[(u32, u8)]| {
            let port = |port: u8| Some(replica::PortKind::Port(vec![port]));
            copies.iter().map(|(instance, to)| v1::Replica { instance: *instance, port_kind: port(*to), ..Default::default() }).collect()
        };
        let group = |copies: &[(u32, u8)]| {
            let entry = v1::MulticastGroupEntry { multicast_group_id: 4, replicas: replicas(copies), metadata: Vec::new() };
            engine(packet_replication_engine_entry::Type::MulticastGroupEntry(entry))
        };
        let session = |session_id, copies: &[(u32, u8)]| {
            let entry = v1::CloneSessionEntry { session_id, replicas: replicas(copies), ..Default::default() };
            engine(packet_replication_engine_entry::Type::CloneSessionEntry(entry))
        };
        let all = Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry::default());
        let made = [group(&[(7, 1), (7, 2)]), session(3, &[(0, 6)]), session(8, &[(7, 1), (7, 2)])];
        assert_eq!(it.read(all.clone()).await, made);
        assert_eq!(it.one(Type::Insert, group(&[(1, 3)])).await, Code::AlreadyExists);
        assert_eq!(device.receive(3, &frame(5, 9)), [1, 2]);
        // What a client writes stands in the place of what there was.
        assert_eq!(it.one(Type::Modify, group(&[(1, 3)])).await, Code::Ok);
        assert_eq!(device.receive(3, &frame(5, 9)), [3]);
        assert_eq!(it.read(all.clone()).await[0], group(&[(1, 3)]));
        // And what commands take out is gone.
        device.commands("mc_mgrp_destroy 4\nmirroring_delete 8");
        assert_eq!(it.read(all.clone()).await, [session(3, &[(0, 6)])]);
        assert_eq!(it.one(Type::Delete, session(3, &[])).await, Code::Ok);
        assert_eq!(it.read(all).await, []);
        device.commands("mc_mgrp_create 4\nmirroring_add 3 6");
        it.configure(Step::VerifyAndCommit, it.info.clone(), 1).await.unwrap();
        device.turn(|switch, _| assert!(switch.multicast_groups().is_empty() && switch.mirroring_sessions().is_empty()));
    });
    device.end();
}
