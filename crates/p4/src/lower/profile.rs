//! Action profiles and selectors: an entry names a member, or a group of which the packet's hash
//! chooses one; the member has the action.
//!
//! Members and groups are tables of the module. The member of a group is the hash of the selector
//! keys modulo the group's size, in the order of members' numbers, as in BMv2. A group without
//! members, a member that is not there, or one whose action the table does not have runs no action.

use super::place::StorageLocation;
use super::table::property;
use super::{Lower, Lowered, fault};
use crate::hir::{Expr, FnId, PROFILES, Table, Type};
use crate::pipeline::{ActionMeta, GROUP_SIZE, ProfileMeta, TableMeta};
use netil::module::{TableKind, entry_type};
use netil::table::Op;
use num_traits::ToPrimitive;

/// Members or groups of a profile that does not say how many it has.
const DEFAULT_SIZE: u32 = 1024;
/// Positions of groups for each member.
const SHARES: u32 = 16;
/// Which action runs where none does.
const NO_ACTION: u32 = 0xffff;

impl Lower<'_> {
    /// The action profile of a table, made when it is first used.
    pub(super) fn profile(&mut self, table: &Table, actions: &[ActionMeta], value_bytes: u32) -> Lowered<Option<usize>> {
        let Some(object) = property(table, PROFILES) else { return Ok(None) };
        let Some(path) = self.object_path(object) else { return fault(object.span, "this is no action profile") };
        let selector = self.is_selector(object)?;
        if let Some(known) = self.profiles_known.get(&path).copied() {
            self.join_profile(known, table, actions, value_bytes);
            return Ok(Some(known));
        }
        if !table.entries.is_empty() {
            return fault(table.span, "a table with an action profile has no entries of its own");
        }
        let args = &self.program.instances[path[path.len() - 1]].args;
        let size = args.iter().find(|a| matches!(a.ty, Type::Bit(_))).map(|a| self.known_number(a)).transpose()?;
        let size = size.unwrap_or(DEFAULT_SIZE).clamp(1, 1 << 20);
        let name = self.name_of(&path);
        let members = self.side_table(&format!("{name}_members"), 32, value_bytes, size);
        let groups = selector.then(|| self.side_table(&format!("{name}_groups"), 64, 4, (size * SHARES).clamp(1024, 1 << 22)));
        self.profiles.push(ProfileMeta { name, members, groups, actions: Vec::new(), value_bytes, size });
        self.profile_actions.push(Vec::new());
        let profile = self.profiles.len() - 1;
        self.profiles_known.insert(path, profile);
        self.join_profile(profile, table, actions, value_bytes);
        Ok(Some(profile))
    }

    /// Adds the actions of one more table to those of a profile.
    fn join_profile(&mut self, profile: usize, table: &Table, actions: &[ActionMeta], value_bytes: u32) {
        let (meta, known) = (&mut self.profiles[profile], &mut self.profile_actions[profile]);
        for (action, info) in table.actions.iter().zip(actions) {
            if !known.contains(&action.action) {
                known.push(action.action);
                meta.actions.push(info.clone());
            }
        }
        meta.value_bytes = meta.value_bytes.max(value_bytes);
        let members = &mut self.tables[meta.members as usize];
        members.value_bytes = members.value_bytes.max(value_bytes);
    }

    /// The numbers of a table's actions in the values of a profile's members.
    pub(super) fn member_numbers(&self, profile: usize, table: &Table) -> Vec<u32> {
        let known: &[FnId] = &self.profile_actions[profile];
        table.actions.iter().map(|a| known.iter().position(|f| *f == a.action).map_or(NO_ACTION, |n| n as u32)).collect()
    }

    fn is_selector(&self, object: &Expr) -> Lowered<bool> {
        match self.class(object).as_str() {
            "action_selector" | "ActionSelector" => Ok(true),
            "action_profile" | "ActionProfile" => Ok(false),
            other => fault(object.span, format!("{other} is no action profile")),
        }
    }

    fn side_table(&mut self, name: &str, key_bits: u16, value_bytes: u32, capacity: u32) -> u32 {
        let name = format!("{name}_{}", self.tables.len());
        let kind = TableKind::Exact;
        self.tables.push(netil::module::Table { name, kind, key_bits, value_bytes, capacity, timeout_ns: 0, entries: Vec::new() });
        self.tables.len() as u32 - 1
    }

    /// From an entry to its member, whose reference is in the local that comes back; to `none`
    /// where there is none.
    pub(super) fn member_entry(
        &mut self,
        table: &Table,
        meta: &TableMeta,
        entry: u32,
        keys: &[StorageLocation],
        none: usize,
    ) -> Lowered<(u32, u32)> {
        let (Some(profile), Some(number)) = (meta.profile, meta.table) else { return fault(table.span, "no profile") };
        let (members, groups) = (self.profiles[profile].members, self.profiles[profile].groups);
        let member = self.code.new_local(32);
        self.code.get(entry);
        self.code.op3(Op::TLoad, number, 32, 0);
        self.code.set(member);
        if let Some(groups) = groups {
            let direct = self.code.label();
            self.code.get(entry);
            self.code.op3(Op::TLoad, number, 32, 32 / 8);
            self.code.branch(Op::JEq, direct);
            self.choose_member(table, (number, entry), groups, keys, member, none)?;
            self.code.bind(direct);
        }
        self.code.get(member);
        Ok((self.find_side(members, none), members))
    }

    /// Looks up the key on the stack; the reference is in a local.
    fn find_side(&mut self, table: u32, none: usize) -> u32 {
        let found = self.code.new_local(entry_type(table));
        self.code.op1(Op::TFind, table);
        self.code.set(found);
        self.code.get(found);
        self.code.op1(Op::TValid, table);
        self.code.branch(Op::JEq, none);
        found
    }

    fn choose_member(
        &mut self,
        table: &Table,
        (number, entry): (u32, u32),
        groups: u32,
        keys: &[StorageLocation],
        member: u32,
        none: usize,
    ) -> Lowered<()> {
        let hash = self.selector_hash(table, keys)?;
        let group = |l: &mut Self| {
            l.code.get(entry);
            l.code.op3(Op::TLoad, number, 32, 32 / 8);
            l.code.op(Op::Dec1);
        };
        let size = self.code.new_local(32);
        group(self);
        self.code.push(GROUP_SIZE);
        self.code.op2(Op::WConcat, 32, 32);
        let found = self.find_side(groups, none);
        self.code.get(found);
        self.code.op3(Op::TLoad, groups, 32, 0);
        self.code.set(size);
        self.code.get(size);
        self.code.branch(Op::JEq, none);
        group(self);
        self.code.get(hash);
        self.code.get(size);
        self.code.resize(32, 64);
        self.code.w(Op::WMod, 64);
        self.code.resize(64, 32);
        self.code.op2(Op::WConcat, 32, 32);
        let found = self.find_side(groups, none);
        self.code.get(found);
        self.code.op3(Op::TLoad, groups, 32, 0);
        self.code.set(member);
        Ok(())
    }

    /// The hash of the selector keys, 64 bits in a local.
    fn selector_hash(&mut self, table: &Table, keys: &[StorageLocation]) -> Lowered<u32> {
        let hash = self.code.new_local(64);
        let path = property(table, PROFILES).and_then(|o| self.object_path(o));
        let Some(path) = path else { return fault(table.span, "no selector") };
        let program = self.program;
        let args = &program.instances[path[path.len() - 1]].args;
        let Some(algorithm) = args.iter().find(|a| matches!(a.ty, Type::Enum(_))) else { return fault(table.span, "no algorithm") };
        let output = args.iter().rfind(|a| matches!(a.ty, Type::Bit(_))).and_then(|a| self.known_number(a).ok()).unwrap_or(64);
        let ty = Type::Tuple(keys.iter().map(|k| k.ty.clone()).collect());
        let data = self.new_place(&ty, table.span)?;
        for (n, key) in keys.iter().enumerate() {
            let to = self.member(&data, n, table.span)?;
            self.copy(&to, key, table.span)?;
        }
        let call = Expr { kind: crate::hir::ExprKind::Default, ty: Type::Void, span: table.span };
        let name = self.algorithm(algorithm)?;
        let width = self.digest_of(&data, &name, false, &call)?;
        let kept = output.to_u16().unwrap_or(64).clamp(1, 64).min(width);
        self.code.resize(width, kept);
        self.code.resize(kept, 64);
        self.code.set(hash);
        Ok(hash)
    }

    /// What is told of a packet for which an entry was found, and no member.
    pub(super) fn no_member(&mut self, hit: u32, run: u32) {
        self.code.push(1);
        self.code.set(hit);
        self.code.push(NO_ACTION);
        self.code.set(run);
    }
}
