//! Action profiles, selectors and value sets of a [`Switch`].
//!
//! Members and groups have numbers from 0, the lowest that is free, as in BMv2. What is written
//! goes to tables of the module, see [`p4::pipeline::ProfileMeta`].

use super::control::{action_value, find};
use super::dump::{NamedAction, action};
use super::error::{SwitchError, full, in_use, invalid, missing};
use super::members::{Group, Indirect};
use super::{BigInt, Switch};
use netil::module::Entry;
use p4::entries::KeyMatch;
use p4::pipeline::{GROUP_SIZE, ProfileMeta, SetMeta};
use std::collections::{BTreeMap, BTreeSet};

/// The most positions of a group.
const MOST_POSITIONS: u32 = 1 << 16;

/// The lowest number that is not among those, which ascend.
fn lowest_free(taken: &[u32]) -> u32 {
    (0..).zip(taken).find(|(n, t)| n != *t).map_or(taken.len() as u32, |(n, _)| n)
}

impl Switch {
    fn profile(&self, name: &str) -> Result<(usize, ProfileMeta), SwitchError> {
        find(&self.pipeline.profiles, |p| &p.name, name, "action profile").map(|(at, meta)| (at, meta.clone()))
    }

    /// The members of a profile by their numbers, and what they do.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn members(&mut self, profile: &str) -> Result<Vec<(u32, NamedAction)>, SwitchError> {
        let (at, meta) = self.profile(profile)?;
        let table = self.state.tables.get_mut(meta.members as usize).ok_or_else(|| missing("no such table"))?;
        let of = |member: &u32| {
            let found = table.known(&[u64::from(*member)], &[], 0, 0);
            Some((*member, action(&meta.actions, table.value(found)?)?))
        };
        Ok(self.profiles[at].members.iter().filter_map(of).collect())
    }

    /// The groups of a profile.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn groups(&self, profile: &str) -> Result<Vec<Group>, SwitchError> {
        let (at, _) = self.profile(profile)?;
        let of = |(group, members): (&u32, &BTreeMap<u32, u32>)| (*group, members.iter().map(|(m, n)| (*m, *n)).collect());
        Ok(self.profiles[at].groups.iter().map(of).collect())
    }

    fn enter(&mut self, table: u32, key: u64, value: &[u8]) -> Result<(), SwitchError> {
        self.changes += 1;
        let entry = Entry { key: vec![key].into(), mask: Box::default(), priority: 0, value: value.into() };
        let table = self.state.tables.get_mut(table as usize).ok_or_else(|| missing("no such table"))?;
        table.add(&entry, 0).map_err(|why| full(why.to_string()))
    }

    fn take_out(&mut self, table: u32, key: u64) {
        self.changes += 1;
        if let Some(table) = self.state.tables.get_mut(table as usize) {
            table.remove(&[key], &[], 0, 0);
        }
    }

    /// Makes a member of an action and its arguments; its number.
    ///
    /// # Errors
    /// The profile, the action or the arguments do not exist, or the profile is full.
    pub fn member_create(&mut self, profile: &str, action: &str, args: &[(String, BigInt)]) -> Result<u32, SwitchError> {
        let (at, meta) = self.profile(profile)?;
        let value = action_value(&meta.name, &meta.actions, meta.value_bytes, action, args)?;
        let taken: Vec<u32> = self.profiles[at].members.iter().copied().collect();
        if taken.len() >= meta.size as usize {
            return Err(full(format!("{} has its {} members", meta.name, meta.size)));
        }
        let number = lowest_free(&taken);
        self.enter(meta.members, number.into(), &value)?;
        self.profiles[at].members.insert(number);
        Ok(number)
    }

    /// Gives a member another action or other arguments.
    ///
    /// # Errors
    /// There is no such member, or the action does not suit.
    pub fn member_modify(&mut self, profile: &str, member: u32, action: &str, args: &[(String, BigInt)]) -> Result<(), SwitchError> {
        let (at, meta) = self.profile(profile)?;
        self.member(at, member)?;
        let value = action_value(&meta.name, &meta.actions, meta.value_bytes, action, args)?;
        self.enter(meta.members, member.into(), &value)
    }

    /// Takes a member out, which no group may have then.
    ///
    /// # Errors
    /// There is no such member, or a group has it.
    pub fn member_delete(&mut self, profile: &str, member: u32) -> Result<(), SwitchError> {
        let (at, meta) = self.profile(profile)?;
        self.member(at, member)?;
        if let Some((group, _)) = self.profiles[at].groups.iter().find(|(_, members)| members.contains_key(&member)) {
            return Err(in_use(format!("member {member} is in group {group}")));
        }
        self.profiles[at].members.remove(&member);
        self.take_out(meta.members, member.into());
        Ok(())
    }

    fn member(&self, profile: usize, member: u32) -> Result<(), SwitchError> {
        let name = &self.pipeline.profiles[profile].name;
        if self.profiles[profile].members.contains(&member) { Ok(()) } else { Err(missing(format!("{name} has no member {member}"))) }
    }

    /// Makes an empty group; its number.
    ///
    /// # Errors
    /// There is no such profile, or it has no selector.
    pub fn group_new(&mut self, profile: &str) -> Result<u32, SwitchError> {
        let (at, meta) = self.profile(profile)?;
        if meta.groups.is_none() {
            return Err(missing(format!("{} is no action selector, and has no groups", meta.name)));
        }
        let taken: Vec<u32> = self.profiles[at].groups.keys().copied().collect();
        let number = lowest_free(&taken);
        self.profiles[at].groups.insert(number, BTreeMap::new());
        self.write_group(at, number, 0)?;
        Ok(number)
    }

    /// Takes a group out.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group_delete(&mut self, profile: &str, group: u32) -> Result<(), SwitchError> {
        let (at, meta) = self.profile(profile)?;
        let members = positions(self.group(at, group)?);
        self.profiles[at].groups.remove(&group);
        self.profiles[at].watched.retain(|(of, _), _| *of != group);
        if let Some(table) = meta.groups {
            (0..members).chain([GROUP_SIZE]).for_each(|n| self.take_out(table, position(group, n)));
        }
        Ok(())
    }

    fn group(&mut self, profile: usize, group: u32) -> Result<&mut BTreeMap<u32, u32>, SwitchError> {
        let name = &self.pipeline.profiles[profile].name;
        self.profiles[profile].groups.get_mut(&group).ok_or_else(|| missing(format!("{name} has no group {group}")))
    }

    /// Puts a member into a group.
    ///
    /// # Errors
    /// One of them is not there, or the member is in the group already.
    pub fn group_add(&mut self, profile: &str, member: u32, group: u32) -> Result<(), SwitchError> {
        let (at, _) = self.profile(profile)?;
        self.member(at, member)?;
        let mut members = self.group(at, group)?.clone();
        if members.insert(member, 1).is_some() {
            return Err(in_use(format!("member {member} is in group {group}")));
        }
        self.set_group(at, group, members)
    }

    /// Gives a group all its members, and how many positions each of them has: so many times as
    /// often it is chosen.
    ///
    /// # Errors
    /// One of them is not there, or the positions are too many.
    pub fn group_members(&mut self, profile: &str, group: u32, members: &[(u32, u32)]) -> Result<(), SwitchError> {
        let (at, _) = self.profile(profile)?;
        members.iter().try_for_each(|(member, _)| self.member(at, *member))?;
        if let Some((member, _)) = members.iter().find(|(_, weight)| *weight == 0) {
            return Err(invalid(format!("member {member} has a weight of 1 at least")));
        }
        self.set_group(at, group, members.iter().copied().collect())
    }

    /// Writes a group anew; it stays as it was if that is too much.
    fn set_group(&mut self, at: usize, group: u32, members: BTreeMap<u32, u32>) -> Result<(), SwitchError> {
        let name = self.pipeline.profiles[at].name.clone();
        let total: u64 = members.values().map(|weight| u64::from(*weight)).sum();
        if total > u64::from(MOST_POSITIONS) {
            return Err(full(format!("{name} is full: a group has {MOST_POSITIONS} positions at most, and not {total}")));
        }
        let before = std::mem::replace(self.group(at, group)?, members);
        let done = self.write_group(at, group, positions(&before));
        if done.is_err() {
            *self.group(at, group)? = before;
            self.write_group(at, group, total as u32)?;
        }
        done
    }

    /// Takes a member out of a group.
    ///
    /// # Errors
    /// It is not there.
    pub fn group_remove(&mut self, profile: &str, member: u32, group: u32) -> Result<(), SwitchError> {
        let (at, _) = self.profile(profile)?;
        let mut members = self.group(at, group)?.clone();
        if members.remove(&member).is_none() {
            return Err(missing(format!("member {member} is not in group {group}")));
        }
        self.set_group(at, group, members)
    }

    /// Says which members of a group are chosen only while a port is up: members with their ports;
    /// the others of the group always.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group_watch(&mut self, profile: &str, group: u32, ports: &[(u32, u32)]) -> Result<(), SwitchError> {
        let (at, _) = self.profile(profile)?;
        let before = positions(self.group(at, group)?);
        let watched = &mut self.profiles[at].watched;
        watched.retain(|(of, _), _| *of != group);
        watched.extend(ports.iter().map(|(member, port)| ((group, *member), *port)));
        self.write_group(at, group, before)
    }

    /// A port is up, or down from now on: members of groups that watch it are chosen or not.
    ///
    /// # Errors
    /// A group does not fit any more.
    pub fn port_is_up(&mut self, port: u32, up: bool) -> Result<(), SwitchError> {
        let changed = if up { self.down.remove(&port) } else { self.down.insert(port) };
        if !changed {
            return Ok(());
        }
        for at in 0..self.profiles.len() {
            let watching = self.profiles[at].watched.iter().filter(|(_, watched)| **watched == port);
            let groups: BTreeSet<u32> = watching.map(|((group, _), _)| *group).collect();
            for group in groups {
                let before = positions(self.group(at, group)?);
                self.write_group(at, group, before)?;
            }
        }
        Ok(())
    }

    /// Writes a group, of which `before` positions were written.
    fn write_group(&mut self, profile: usize, group: u32, before: u32) -> Result<(), SwitchError> {
        let Some(table) = self.pipeline.profiles[profile].groups else { return Ok(()) };
        let all = self.group(profile, group)?.clone();
        let watched = &self.profiles[profile].watched;
        let is_up = |member: &u32| watched.get(&(group, *member)).is_none_or(|port| !self.down.contains(port));
        let of = |(member, weight): (&u32, &u32)| std::iter::repeat_n(*member, *weight as usize);
        let members: Vec<u32> = all.iter().filter(|(member, _)| is_up(member)).flat_map(of).collect();
        for (n, member) in (0..).zip(&members) {
            self.enter(table, position(group, n), &member.to_le_bytes())?;
        }
        (members.len() as u32..before).for_each(|n| self.take_out(table, position(group, n)));
        self.enter(table, position(group, GROUP_SIZE), &(members.len() as u32).to_le_bytes())
    }

    /// What an entry holds that names a member or a group.
    pub(super) fn indirect(&self, profile: usize, bytes: u32, to: Indirect) -> Result<Vec<u8>, SwitchError> {
        let mut value = vec![0; bytes as usize];
        match to {
            Indirect::Member(member) => {
                self.member(profile, member)?;
                value[..4].copy_from_slice(&member.to_le_bytes());
            }
            Indirect::Group(group) => {
                let name = &self.pipeline.profiles[profile].name;
                if !self.profiles[profile].groups.contains_key(&group) {
                    return Err(missing(format!("{name} has no group {group}")));
                }
                value[4..8].copy_from_slice(&(group + 1).to_le_bytes());
            }
        }
        Ok(value)
    }

    /// Puts a member into a value set: a match for each of its parts, or one for all of its bits.
    ///
    /// # Errors
    /// There is no such set, the parts do not suit it, or it is full.
    pub fn set_add(&mut self, name: &str, parts: &[KeyMatch]) -> Result<(), SwitchError> {
        let (_, meta) = find(&self.pipeline.sets, |s| &s.name, name, "value set")?;
        let (entries, table) = (set_entries(meta, parts)?, meta.table);
        let whole = meta.name.clone();
        let table = self.state.tables.get_mut(table as usize).ok_or_else(|| missing("no such table"))?;
        entries.iter().try_for_each(|entry| table.add(entry, 0).map_err(|why| full(format!("{whole}: {why}"))))
    }

    /// Gives a value set just these members; if that cannot be, it keeps those that it has.
    ///
    /// # Errors
    /// There is no such set, the parts do not suit it, or they are too many.
    pub fn set_all(&mut self, name: &str, members: &[Vec<KeyMatch>]) -> Result<(), SwitchError> {
        let (_, meta) = find(&self.pipeline.sets, |s| &s.name, name, "value set")?;
        let new: Vec<Entry> = members.iter().map(|parts| set_entries(meta, parts)).collect::<Result<Vec<_>, _>>()?.concat();
        let (whole, number) = (meta.name.clone(), meta.table as usize);
        let table = self.state.tables.get_mut(number).ok_or_else(|| missing("no such table"))?;
        let before = table.entries(0);
        for entry in &before {
            table.remove(&entry.key, &entry.mask, entry.priority, 0);
        }
        let added = new.iter().try_for_each(|entry| table.add(entry, 0));
        added.map_err(|why| {
            for entry in &new {
                table.remove(&entry.key, &entry.mask, entry.priority, 0);
            }
            for entry in &before {
                // They were there: there is room for them.
                let _ = table.add(entry, 0);
            }
            full(format!("{whole}: {why}"))
        })
    }

    /// Takes a member out of a value set.
    ///
    /// # Errors
    /// There is no such set, or no such member.
    pub fn set_remove(&mut self, name: &str, parts: &[KeyMatch]) -> Result<(), SwitchError> {
        let (_, meta) = find(&self.pipeline.sets, |s| &s.name, name, "value set")?;
        let (entries, table) = (set_entries(meta, parts)?, meta.table);
        let table = self.state.tables.get_mut(table as usize).ok_or_else(|| missing("no such table"))?;
        let gone = entries.iter().filter(|e| table.remove(&e.key, &e.mask, e.priority, 0)).count();
        if gone == entries.len() { Ok(()) } else { Err(missing(format!("{name} has no such member"))) }
    }

    /// Empties a value set.
    ///
    /// # Errors
    /// There is no such set.
    pub fn set_clear(&mut self, name: &str) -> Result<(), SwitchError> {
        let (_, meta) = find(&self.pipeline.sets, |s| &s.name, name, "value set")?;
        let table = self.state.tables.get_mut(meta.table as usize).ok_or_else(|| missing("no such table"))?;
        for entry in table.entries(0) {
            table.remove(&entry.key, &entry.mask, entry.priority, 0);
        }
        Ok(())
    }
}

/// How many positions a group has.
fn positions(members: &BTreeMap<u32, u32>) -> u32 {
    members.values().sum()
}

/// A group's key: the group in the upper half.
fn position(group: u32, at: u32) -> u64 {
    u64::from(group) << 32 | u64::from(at)
}

fn set_entries(meta: &SetMeta, parts: &[KeyMatch]) -> Result<Vec<Entry>, SwitchError> {
    let widths: Vec<u32> = match parts {
        [_] => vec![meta.fields.iter().map(|f| f.1).sum()],
        _ => meta.fields.iter().map(|f| f.1).collect(),
    };
    if parts.len() != widths.len() {
        return Err(invalid(format!("a member of {} has {} parts, not {}", meta.name, meta.fields.len(), parts.len())));
    }
    if let Some((part, width)) = parts.iter().zip(&widths).find(|(part, width)| !part.fits(**width)) {
        return Err(invalid(format!("{}: {part} does not fit a part of {width} bits", meta.name)));
    }
    p4::entries::ternary(&widths, meta.key_bits, parts, meta.mask.as_ref()).map_err(SwitchError::from)
}

#[cfg(test)]
mod tests {
    use super::lowest_free;

    #[test]
    fn the_lowest_free_number_is_given() {
        assert_eq!(lowest_free(&[]), 0);
        assert_eq!(lowest_free(&[0, 1, 2]), 3);
        assert_eq!(lowest_free(&[0, 2]), 1);
        assert_eq!(lowest_free(&[1]), 0);
    }
}
