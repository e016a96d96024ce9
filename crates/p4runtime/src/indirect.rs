//! Members and groups of action profiles, multicast groups and clone sessions.

use crate::device::Device;
use crate::fault::{Done, Fault, fault, refused};
use crate::info::{Object, bytes};
use crate::proto::p4::v1::replica::PortKind;
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, Replica};
use netvm::p4::{SessionCopies, Switch};
use std::collections::BTreeSet;
use tonic::Code;

/// The most copies of a multicast group or a clone session.
const MOST_COPIES: usize = 4096;

fn missing(what: &str, id: u32) -> Fault {
    Fault { code: Code::NotFound, message: format!("there is no {what} {id}") }
}

/// Whether an update suits what is there.
fn suits(kind: UpdateType, there: bool, what: &str, id: u32) -> Done {
    match (kind, there) {
        (UpdateType::Insert, true) => fault(Code::AlreadyExists, format!("{what} {id} is there already")),
        (UpdateType::Modify | UpdateType::Delete, false) => Err(missing(what, id)),
        (UpdateType::Unspecified, _) => fault(Code::InvalidArgument, "the update has no type"),
        _ => Ok(()),
    }
}

/// A weight that is one.
pub(crate) fn weight(given: i32) -> Done<u32> {
    match u32::try_from(given) {
        Ok(weight) if weight > 0 => Ok(weight),
        _ => fault(Code::InvalidArgument, format!("{given} is no weight: it is 1 at least")),
    }
}

/// The sum of weights is that of the selector at most, if it has one.
pub(crate) fn sizes(members: &[(u32, u32)], most: i32) -> Done {
    let sum: u64 = members.iter().map(|(_, weight)| u64::from(*weight)).sum();
    match u64::try_from(most) {
        Ok(most) if most > 0 && sum > most => {
            fault(Code::ResourceExhausted, format!("the weights of a group are {most} at most, and not {sum}"))
        }
        _ => Ok(()),
    }
}

/// The number of a port that is watched, if one is; the last port has that number.
pub(crate) fn watch_port(bytes: &[u8], last: u32) -> Done<Option<u32>> {
    let fits = bytes.iter().rev().skip(4).all(|byte| *byte == 0);
    let port = bytes.iter().fold(0, |port, byte| port << 8 | u32::from(*byte));
    if !fits || port > last {
        return fault(Code::InvalidArgument, format!("a port that is watched has a number up to {last}"));
    }
    Ok((!bytes.is_empty()).then_some(port))
}

/// The most that the weights of a group may be together, 0 for no such limit: what it says itself,
/// within what its selector says.
fn most(group: &v1::ActionProfileGroup, of_selector: i32) -> Done<i32> {
    match group.max_size {
        size if size < 0 || of_selector > 0 && size > of_selector => {
            fault(Code::InvalidArgument, format!("`max_size` of a group is {of_selector} at most, and not {size}"))
        }
        0 => Ok(of_selector),
        size => Ok(size),
    }
}

impl Device {
    pub fn member(&mut self, switch: &mut Switch, kind: UpdateType, member: &v1::ActionProfileMember) -> Done {
        let name = self.info.profile(member.action_profile_id)?.name().to_owned();
        let (profile, id) = (member.action_profile_id, member.member_id);
        let known = self.book.profiles.get(&profile).and_then(|p| p.members.get(&id)).map(|(number, _)| *number);
        suits(kind, known.is_some(), "member", id)?;
        let number = match (kind, known) {
            (UpdateType::Delete, Some(number)) => {
                self.unused(profile, &ActionType::ActionProfileMemberId(id))?;
                switch.member_delete(&name, number).map_err(refused)?;
                self.book.profiles.entry(profile).or_default().members.remove(&id);
                return Ok(());
            }
            (_, known) => {
                let Some(action) = &member.action else { return fault(Code::InvalidArgument, "the member has no action") };
                let (action, args) = self.action(action)?;
                match known {
                    Some(number) => switch.member_modify(&name, number, &action, &args).map(|()| number),
                    None => switch.member_create(&name, &action, &args),
                }
            }
        };
        let number = number.map_err(refused)?;
        self.book.profiles.entry(profile).or_default().members.insert(id, (number, member.clone()));
        Ok(())
    }

    pub fn group(&mut self, switch: &mut Switch, kind: UpdateType, group: &v1::ActionProfileGroup) -> Done {
        let info = self.info.profile(group.action_profile_id)?;
        let name = info.name().to_owned();
        if !info.with_selector {
            return fault(Code::InvalidArgument, format!("{name} is no selector, and has no groups"));
        }
        let (profile, id) = (group.action_profile_id, group.group_id);
        let known = self.book.profiles.get(&profile).and_then(|p| p.groups.get(&id)).map(|(number, group)| (*number, group.max_size));
        suits(kind, known.is_some(), "group", id)?;
        if let (UpdateType::Delete, Some((number, _))) = (kind, known) {
            self.unused(profile, &ActionType::ActionProfileGroupId(id))?;
            switch.group_delete(&name, number).map_err(refused)?;
            self.book.profiles.entry(profile).or_default().groups.remove(&id);
            return Ok(());
        }
        let most = most(group, info.max_group_size)?;
        let [wanted, watched] = self.members_of(group, most, switch.last_port())?;
        let number = match known {
            Some((_, size)) if size != group.max_size => {
                return fault(Code::InvalidArgument, format!("`max_size` of group {id} stays {size}"));
            }
            Some((number, _)) => number,
            None => switch.group_new(&name).map_err(refused)?,
        };
        let filled = switch.group_members(&name, number, &wanted).and_then(|()| switch.group_watch(&name, number, &watched));
        if let Err(why) = filled {
            // One that is new and cannot be filled is not there.
            known.map_or_else(|| switch.group_delete(&name, number), |_| Ok(())).map_err(refused)?;
            return Err(refused(why));
        }
        self.book.profiles.entry(profile).or_default().groups.insert(id, (number, group.clone()));
        Ok(())
    }

    /// Refuses to take out what entries of tables name.
    fn unused(&self, profile: u32, what: &ActionType) -> Done {
        let names = |entry: &v1::TableEntry| entry.action.as_ref().and_then(|action| action.r#type.as_ref()) == Some(what);
        let of_profile = |id: u32| self.info.table(id).is_ok_and(|table| table.implementation_id == profile);
        let mut entries = self.book.entries.values().map(|written| &written.entry);
        if entries.any(|entry| names(entry) && of_profile(entry.table_id)) {
            return fault(Code::FailedPrecondition, "entries of a table name it");
        }
        Ok(())
    }

    /// The switch's numbers of a group's members with their weights, and of those that watch a port
    /// with that.
    fn members_of(&self, group: &v1::ActionProfileGroup, most: i32, last_port: u32) -> Done<[Vec<(u32, u32)>; 2]> {
        let known = self.book.profiles.get(&group.action_profile_id);
        use v1::action_profile_group::member::WatchKind;
        let (mut out, mut watched, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for member in &group.members {
            let number = known.and_then(|p| p.members.get(&member.member_id)).map(|(number, _)| *number);
            let number = number.ok_or_else(|| missing("member", member.member_id))?;
            if !seen.insert(number) {
                return fault(Code::InvalidArgument, format!("member {} is given twice", member.member_id));
            }
            watched.extend(match &member.watch_kind {
                Some(WatchKind::WatchPort(port)) => watch_port(port, last_port)?.map(|port| (number, port)),
                // What stood there before version 1.0 says nothing.
                _ => None,
            });
            out.push((number, weight(member.weight)?));
        }
        sizes(&out, most)?;
        Ok([out, watched])
    }

    pub fn replication(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::PacketReplicationEngineEntry) -> Done {
        use v1::packet_replication_engine_entry::Type;
        match &entry.r#type {
            Some(Type::MulticastGroupEntry(group)) => self.multicast(switch, kind, group),
            Some(Type::CloneSessionEntry(session)) => self.session(switch, kind, session),
            None => fault(Code::InvalidArgument, "the entry of the replication engine is empty"),
        }
    }

    fn multicast(&mut self, switch: &mut Switch, kind: UpdateType, group: &v1::MulticastGroupEntry) -> Done {
        let id = group.multicast_group_id;
        if id == 0 {
            return fault(Code::InvalidArgument, "there is no multicast group 0");
        }
        suits(kind, self.book.groups.contains_key(&id), "multicast group", id)?;
        if kind == UpdateType::Delete {
            switch.group_copies(id, None);
            self.book.groups.remove(&id);
            return Ok(());
        }
        switch.group_copies(id, Some(copies(&group.replicas, switch.last_port())?));
        self.book.groups.insert(id, group.clone());
        Ok(())
    }

    fn session(&mut self, switch: &mut Switch, kind: UpdateType, session: &v1::CloneSessionEntry) -> Done {
        let id = session.session_id;
        if id == 0 {
            return fault(Code::InvalidArgument, "there is no clone session 0");
        }
        suits(kind, self.book.sessions.contains_key(&id), "clone session", id)?;
        if kind == UpdateType::Delete {
            switch.session_copies(id, None);
            self.book.sessions.remove(&id);
            return Ok(());
        }
        let (Ok(length), Ok(class)) = (u32::try_from(session.packet_length_bytes), u8::try_from(session.class_of_service)) else {
            return fault(Code::InvalidArgument, "a clone session has a length that is not negative, and a class of service of 8 bits");
        };
        let copies = copies(&session.replicas, switch.last_port())?;
        let longest = Some(length).filter(|length| *length > 0);
        switch.session_copies(id, Some(SessionCopies { copies, class: class.into(), longest }));
        self.book.sessions.insert(id, session.clone());
        Ok(())
    }
}

/// Numbers and ports of copies.
pub(crate) fn copies(replicas: &[Replica], last: u32) -> Done<Vec<(u16, u32)>> {
    if replicas.len() > MOST_COPIES {
        return fault(Code::ResourceExhausted, format!("more than {MOST_COPIES} replicas"));
    }
    let one = |replica: &Replica| {
        #[expect(deprecated, reason = "older controllers send it")]
        let port = match &replica.port_kind {
            Some(PortKind::EgressPort(port)) => Some(*port),
            Some(PortKind::Port(bytes)) if bytes.len() <= 4 => Some(bytes.iter().fold(0, |port, byte| port << 8 | u32::from(*byte))),
            _ => None,
        };
        let port = port.filter(|p| *p <= last);
        match (u16::try_from(replica.instance), port) {
            (Ok(rid), Some(port)) => Ok((rid, port)),
            _ => fault(Code::InvalidArgument, format!("a replica has a port up to {last} and an instance below 65536")),
        }
    };
    let all: Vec<(u16, u32)> = replicas.iter().map(one).collect::<Done<_>>()?;
    let mut seen = BTreeSet::new();
    match all.iter().find(|copy| !seen.insert(**copy)) {
        Some((rid, port)) => fault(Code::InvalidArgument, format!("two replicas have port {port} and instance {rid}")),
        None => Ok(all),
    }
}

/// The replicas of copies.
pub(crate) fn replicas(copies: &[(u16, u32)]) -> Vec<Replica> {
    let port = |port: u32| Some(PortKind::Port(bytes(&port.into())));
    copies.iter().map(|(rid, to)| Replica { instance: (*rid).into(), port_kind: port(*to), ..Replica::default() }).collect()
}
