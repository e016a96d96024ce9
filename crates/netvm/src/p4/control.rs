//! The control plane of a [`Switch`]: tables, registers, counters, groups and sessions, by the
//! names that the program gives them.
//!
//! A name may be written without what stands in front of it, as long as it means one thing.

use super::error::{SwitchError, full, in_use, invalid, missing};
use super::members::Indirect;
use super::{BigInt, Switch};
use netil::module::Entry;
use netil::tables::Table;
use p4::entries::KeyMatch;
use p4::pipeline::{ActionMeta, ArrayKind, ArrayMeta, TableMeta};

/// The one of some names that is meant: the same, or the only one that ends so.
pub(super) fn find<'a, T>(all: &'a [T], name: impl Fn(&T) -> &str, wanted: &str, what: &str) -> Result<(usize, &'a T), SwitchError> {
    if let Some(at) = all.iter().position(|t| name(t) == wanted) {
        return Ok((at, &all[at]));
    }
    let ends = |t: &T| name(t).strip_suffix(wanted).is_some_and(|rest| rest.ends_with('.'));
    let mut found = all.iter().enumerate().filter(|(_, t)| ends(t));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some((_, a)), Some((_, b))) => Err(invalid(format!("`{wanted}` may be {} or {}", name(a), name(b)))),
        (None, _) => {
            let known: Vec<&str> = all.iter().map(name).collect();
            if known.is_empty() {
                return Err(missing(format!("there is no {what} `{wanted}`: the program has none")));
            }
            Err(missing(format!("there is no {what} `{wanted}`; there are: {}", known.join(", "))))
        }
    }
}

impl Switch {
    /// The port by which packets go to controllers unless something else is said.
    #[must_use]
    pub fn cpu_port(&self) -> u32 {
        self.pipeline.cpu_port
    }

    /// The highest port that packets can leave by.
    #[must_use]
    pub fn last_port(&self) -> u32 {
        self.pipeline.last_port
    }

    /// How often entries, default actions, members or groups were changed, by whatever door.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The table of that name.
    ///
    /// # Errors
    /// There is none, or several.
    pub fn table(&self, name: &str) -> Result<&TableMeta, SwitchError> {
        find(&self.pipeline.tables, |t| &t.name, name, "table").map(|t| t.1)
    }

    /// Enters an entry; of several that match the one with the higher priority is found. Its
    /// handle, which counts the table's entries from 0.
    ///
    /// # Errors
    /// Keys, action or arguments do not suit the table, or it is full.
    pub fn add(
        &mut self,
        table: &str,
        keys: &[KeyMatch],
        priority: u32,
        action: &str,
        args: &[(String, BigInt)],
    ) -> Result<u64, SwitchError> {
        let meta = self.table(table)?.clone();
        if meta.profile.is_some() {
            return Err(invalid(format!("table {} takes its actions from a profile: an entry names a member or a group", meta.name)));
        }
        let value = action_value(&meta.name, &meta.actions, meta.value_bytes, action, args)?;
        self.enter_entries(&meta, keys, priority, &value)
    }

    /// Enters an entry that names a member or a group of the table's action profile. Its handle.
    ///
    /// # Errors
    /// The table has no profile, the keys do not suit it, there is no such member or group, or it
    /// is full.
    pub fn add_indirect(&mut self, table: &str, keys: &[KeyMatch], priority: u32, to: Indirect) -> Result<u64, SwitchError> {
        let meta = self.table(table)?.clone();
        let Some(profile) = meta.profile else { return Err(invalid(format!("table {} has no action profile", meta.name))) };
        let value = self.indirect(profile, meta.value_bytes, to)?;
        self.enter_entries(&meta, keys, priority, &value)
    }

    /// The handle of an entry of these keys, masks and priority.
    pub(super) fn handle_of(&mut self, table: &str, keys: &[KeyMatch], priority: u32) -> Result<Option<usize>, SwitchError> {
        let (at, meta) = find(&self.pipeline.tables, |t| &t.name, table, "table")?;
        let (entries, number) = (meta.entries(keys, priority, &vec![0; meta.value_bytes as usize])?, meta.table);
        let Some(table) = number.and_then(|n| self.state.tables.get_mut(n as usize)) else { return Ok(None) };
        Ok(twin(&mut **table, self.handles.get(&at).map_or(&[], Vec::as_slice), &entries))
    }

    fn enter_entries(&mut self, meta: &TableMeta, keys: &[KeyMatch], priority: u32, value: &[u8]) -> Result<u64, SwitchError> {
        let (at, _) = find(&self.pipeline.tables, |t| &t.name, &meta.name, "table")?;
        if meta.const_entries {
            return Err(in_use(format!("the entries of table {} are constant", meta.name)));
        }
        let Some(number) = meta.table else { return Err(invalid(format!("table {} has no keys", meta.name))) };
        let Some(table) = self.state.tables.get_mut(number as usize) else { return Err(missing("no such table")) };
        let mut value = value.to_vec();
        // An entry that is new was used just now.
        if let Some(place) = meta.last_hit.and_then(|at| value.get_mut(at as usize..at as usize + 8)) {
            place.copy_from_slice(&self.now_us.to_le_bytes());
        }
        let entries = meta.entries(keys, priority, &value)?;
        let mut new: Vec<&Entry> = Vec::new();
        for entry in &entries {
            let known = table.known(&entry.key, &entry.mask, entry.priority, 0);
            let is_new = table.value(known).is_none();
            if let Err(why) = table.add(entry, 0) {
                // All of them or none.
                for entry in new {
                    table.remove(&entry.key, &entry.mask, entry.priority, 0);
                }
                return Err(full(format!("{}: {why}", meta.name)));
            }
            new.extend(is_new.then_some(entry));
        }
        self.changes += 1;
        let handles = self.handles.entry(at).or_default();
        handles.push(Some(entries));
        Ok(handles.len() as u64 - 1)
    }

    /// The entries of the module that an entry became.
    pub(super) fn entered(&self, table: &str, handle: u64) -> Result<Vec<Entry>, SwitchError> {
        let (at, meta) = find(&self.pipeline.tables, |t| &t.name, table, "table")?;
        let all = self.handles.get(&at).map_or(&[][..], Vec::as_slice);
        let found = usize::try_from(handle).ok().and_then(|n| all.get(n)).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| missing(format!("table {} has no entry {handle}", meta.name)))
    }

    /// Gives an entry another action or other arguments.
    ///
    /// # Errors
    /// There is no such entry, or the action does not suit.
    pub fn modify(&mut self, table: &str, handle: u64, action: &str, args: &[(String, BigInt)]) -> Result<(), SwitchError> {
        let meta = self.table(table)?.clone();
        let value = action_value(&meta.name, &meta.actions, meta.value_bytes, action, args)?;
        changeable(&meta)?;
        let entries = self.entered(&meta.name, handle)?;
        self.changes += 1;
        let kept = meta.counter.or(meta.meter).or(meta.last_hit).unwrap_or(meta.value_bytes) as usize;
        let table = meta.table.and_then(|n| self.state.tables.get_mut(n as usize)).ok_or_else(|| missing("no such table"))?;
        for entry in &entries {
            let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
            if let Some(old) = table.value_mut(found) {
                old[..kept].copy_from_slice(&value[..kept]);
            }
        }
        Ok(())
    }

    /// Takes an entry out.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn delete(&mut self, table: &str, handle: u64) -> Result<(), SwitchError> {
        let (at, meta) = find(&self.pipeline.tables, |t| &t.name, table, "table")?;
        changeable(meta)?;
        let (entries, number) = (self.entered(&meta.name.clone(), handle)?, meta.table);
        self.changes += 1;
        if let Some(gone) = self.handles.get_mut(&at).and_then(|all| all.get_mut(handle as usize)) {
            *gone = None;
        }
        if let Some(table) = number.and_then(|n| self.state.tables.get_mut(n as usize)) {
            for entry in &entries {
                table.remove(&entry.key, &entry.mask, entry.priority, 0);
            }
        }
        Ok(())
    }

    /// Takes out the handle of an entry in whose place another one with the same keys has been
    /// entered.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn forget(&mut self, table: &str, handle: u64) -> Result<(), SwitchError> {
        let (at, meta) = find(&self.pipeline.tables, |t| &t.name, table, "table")?;
        let (entries, name) = (self.entered(&meta.name.clone(), handle)?, meta.name.clone());
        let others = self.handles.get(&at).into_iter().flatten().enumerate().filter(|(n, _)| *n as u64 != handle);
        let same = |a: &Entry, b: &Entry| a.key == b.key && a.mask == b.mask && a.priority == b.priority;
        let covered =
            others.filter_map(|(_, e)| e.as_ref()).any(|e| e.iter().zip(&entries).all(|(a, b)| same(a, b)) && e.len() == entries.len());
        if !covered {
            return Err(missing(format!("table {name} has no other entry like {handle}")));
        }
        self.changes += 1;
        if let Some(gone) = self.handles.get_mut(&at).and_then(|all| all.get_mut(handle as usize)) {
            *gone = None;
        }
        Ok(())
    }

    /// How long ago an entry was found or made, in microseconds, if its table tells of entries that
    /// are not used.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn idle_us(&mut self, table: &str, handle: u64) -> Result<Option<u64>, SwitchError> {
        let meta = self.table(table)?;
        let (Some(at), Some(number)) = (meta.last_hit, meta.table) else { return Ok(None) };
        let entries = self.entered(&meta.name.clone(), handle)?;
        let table = self.state.tables.get_mut(number as usize).ok_or_else(|| missing("no such table"))?;
        let mut last = 0;
        for entry in &entries {
            let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
            last = last.max(word(table.value(found).ok_or_else(|| missing("there is no such entry"))?, at as usize));
        }
        Ok(Some(self.now_us.saturating_sub(last)))
    }

    /// Microseconds since the first packet.
    #[must_use]
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Takes all entries out that are not constant.
    ///
    /// # Errors
    /// There is no such table.
    pub fn clear(&mut self, table: &str) -> Result<(), SwitchError> {
        let (at, meta) = find(&self.pipeline.tables, |t| &t.name, table, "table")?;
        if meta.const_entries {
            return Ok(());
        }
        let (name, entered) = (meta.name.clone(), self.handles.get(&at).map_or(0, Vec::len) as u64);
        for handle in 0..entered {
            if self.entered(&name, handle).is_ok() {
                self.delete(&name, handle)?;
            }
        }
        Ok(())
    }

    /// Sets the default action of a table.
    ///
    /// # Errors
    /// Action or arguments do not suit the table.
    pub fn set_default(&mut self, table: &str, action: &str, args: &[(String, BigInt)]) -> Result<(), SwitchError> {
        let meta = self.table(table)?.clone();
        let value = action_value(&meta.name, &meta.actions, meta.value_bytes, action, args)?;
        let same = value.iter().zip(meta.default.iter().chain(std::iter::repeat(&0))).all(|(a, b)| a == b);
        if meta.const_default && !same {
            return Err(in_use(format!("the default action of table {} is constant", meta.name)));
        }
        self.changes += 1;
        let at = meta.default_at as usize;
        match self.state.data.get_mut(at..at + value.len()) {
            Some(place) => place.copy_from_slice(&value),
            None => return Err(missing("no such table")),
        }
        Ok(())
    }

    /// Sets the default action that the program has.
    ///
    /// # Errors
    /// There is no such table.
    pub fn reset_default(&mut self, table: &str) -> Result<(), SwitchError> {
        let meta = self.table(table)?.clone();
        self.changes += 1;
        let at = meta.default_at as usize;
        let Some(place) = self.state.data.get_mut(at..at + meta.value_bytes as usize) else { return Err(missing("no such table")) };
        place.fill(0);
        place.iter_mut().zip(&meta.default).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    pub(super) fn array(&self, name: &str, kind: ArrayKind, index: u64) -> Result<(ArrayMeta, usize), SwitchError> {
        let all: Vec<ArrayMeta> = self.pipeline.arrays.iter().filter(|a| a.kind == kind).cloned().collect();
        let what = match kind {
            ArrayKind::Register => "register",
            ArrayKind::Counter => "counter",
            ArrayKind::Meter => "meter",
        };
        let (_, meta) = find(&all, |a| &a.name, name, what)?;
        if index >= u64::from(meta.count) {
            return Err(missing(format!("{} has {} cells, and no {index}", meta.name, meta.count)));
        }
        Ok((meta.clone(), meta.at as usize + index as usize * meta.stride as usize))
    }

    /// A register's cell.
    ///
    /// # Errors
    /// There is no such cell.
    pub fn register_read(&self, name: &str, index: u64) -> Result<BigInt, SwitchError> {
        let (meta, at) = self.array(name, ArrayKind::Register, index)?;
        Ok(self
            .state
            .data
            .get(at..at + meta.stride as usize)
            .map_or_else(BigInt::default, |bytes| BigInt::from_bytes_le(p4::Sign::Plus, bytes)))
    }

    /// Sets a register's cell.
    ///
    /// # Errors
    /// There is no such cell.
    pub fn register_write(&mut self, name: &str, index: u64, value: &BigInt) -> Result<(), SwitchError> {
        let (meta, at) = self.array(name, ArrayKind::Register, index)?;
        let (width, bytes) = (u64::from(meta.width), value.to_bytes_le().1);
        if value.bits() > width {
            return Err(invalid(format!("{value} does not fit the {width} bits of {}", meta.name)));
        }
        if let Some(cell) = self.state.data.get_mut(at..at + meta.stride as usize) {
            cell.fill(0);
            cell.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }

    /// Sets all cells of a register to 0.
    ///
    /// # Errors
    /// There is no such register.
    pub fn register_reset(&mut self, name: &str) -> Result<(), SwitchError> {
        let (meta, at) = self.array(name, ArrayKind::Register, 0)?;
        if let Some(cells) = self.state.data.get_mut(at..at + (meta.count * meta.stride) as usize) {
            cells.fill(0);
        }
        Ok(())
    }

    /// Packets and bytes of an entry with a direct counter, by its handle.
    ///
    /// # Errors
    /// There is no such counter or entry.
    pub fn direct_counter(&mut self, name: &str, handle: u64) -> Result<(u64, u64), SwitchError> {
        let direct: Vec<TableMeta> = self.pipeline.tables.iter().filter(|t| t.counter.is_some()).cloned().collect();
        let (_, meta) = find(&direct, |t| &t.counter_name, name, "direct counter")?;
        let (Some(at), Some(number)) = (meta.counter, meta.table) else { return Err(invalid(format!("{name} counts nothing"))) };
        let entries = self.entered(&meta.name, handle)?;
        let table = self.state.tables.get_mut(number as usize).ok_or_else(|| missing("no such table"))?;
        let (mut packets, mut bytes) = (0, 0);
        for entry in &entries {
            let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
            let value = table.value(found).ok_or_else(|| missing("there is no such entry"))?;
            packets += word(value, at as usize);
            bytes += word(value, at as usize + 8);
        }
        Ok((packets, bytes))
    }

    /// Sets packets and bytes of an entry with a direct counter, by its handle.
    ///
    /// # Errors
    /// There is no such counter or entry.
    pub fn direct_counter_write(&mut self, name: &str, handle: u64, packets: u64, bytes: u64) -> Result<(), SwitchError> {
        let direct: Vec<TableMeta> = self.pipeline.tables.iter().filter(|t| t.counter.is_some()).cloned().collect();
        let (_, meta) = find(&direct, |t| &t.counter_name, name, "direct counter")?;
        let (Some(at), Some(number)) = (meta.counter, meta.table) else { return Err(invalid(format!("{name} counts nothing"))) };
        let entries = self.entered(&meta.name, handle)?;
        let table = self.state.tables.get_mut(number as usize).ok_or_else(|| missing("no such table"))?;
        // All of an entry's counts are in the first of the module's entries.
        for (n, entry) in entries.iter().enumerate() {
            let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
            let counts = if n == 0 { [packets, bytes] } else { [0, 0] };
            if let Some(cell) = table.value_mut(found).and_then(|value| value.get_mut(at as usize..at as usize + 16)) {
                cell[..8].copy_from_slice(&counts[0].to_le_bytes());
                cell[8..].copy_from_slice(&counts[1].to_le_bytes());
            }
        }
        Ok(())
    }

    /// How many cells a register, counter or meter has.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn cells(&self, name: &str, kind: ArrayKind) -> Result<u32, SwitchError> {
        self.array(name, kind, 0).map(|(meta, _)| meta.count)
    }

    /// Packets and bytes of a counter's cell.
    ///
    /// # Errors
    /// There is no such cell.
    pub fn counter_read(&self, name: &str, index: u64) -> Result<(u64, u64), SwitchError> {
        let (_, at) = self.array(name, ArrayKind::Counter, index)?;
        Ok((word(&self.state.data, at), word(&self.state.data, at + 8)))
    }

    /// Sets a counter's cell.
    ///
    /// # Errors
    /// There is no such cell.
    pub fn counter_write(&mut self, name: &str, index: u64, packets: u64, bytes: u64) -> Result<(), SwitchError> {
        let (_, at) = self.array(name, ArrayKind::Counter, index)?;
        if let Some(cell) = self.state.data.get_mut(at..at + 16) {
            cell[..8].copy_from_slice(&packets.to_le_bytes());
            cell[8..].copy_from_slice(&bytes.to_le_bytes());
        }
        Ok(())
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Whether the entries of a table may be changed.
fn changeable(meta: &TableMeta) -> Result<(), SwitchError> {
    if meta.const_entries { Err(in_use(format!("the entries of table {} are constant", meta.name))) } else { Ok(()) }
}

/// An entry's value from the names of an action and its parameters.
pub(super) fn action_value(
    of: &str,
    actions: &[ActionMeta],
    bytes: u32,
    action: &str,
    args: &[(String, BigInt)],
) -> Result<Vec<u8>, SwitchError> {
    let (at, info) = find(actions, |a| &a.name, action, &format!("action of {of}"))?;
    let mut values = Vec::new();
    for (n, param) in info.params.iter().enumerate() {
        let named = args.iter().find(|(name, _)| *name == param.name);
        let placed = args.get(n).filter(|(name, _)| name.is_empty());
        let Some((_, value)) = named.or(placed) else { return Err(invalid(format!("action {} needs `{}`", info.name, param.name))) };
        values.push(value.clone());
    }
    if args.len() > values.len() {
        return Err(invalid(format!("action {} takes {} parameters, not {}", info.name, values.len(), args.len())));
    }
    p4::entries::value(of, actions, bytes, at, &values).map_err(SwitchError::from)
}

/// The handle of an entry that became entries of these keys, masks and priorities.
fn twin(table: &mut dyn Table, all: &[Option<Vec<Entry>>], entries: &[Entry]) -> Option<usize> {
    let mut is_known = |entry: &Entry| {
        let known = table.known(&entry.key, &entry.mask, entry.priority, 0);
        table.value(known).is_some()
    };
    if !entries.iter().all(&mut is_known) {
        return None;
    }
    let is_same = |(a, b): (&Entry, &Entry)| a.key == b.key && a.mask == b.mask && a.priority == b.priority;
    let is_twin = |its: &Vec<Entry>| its.len() == entries.len() && its.iter().zip(entries).all(is_same);
    all.iter().position(|its| its.as_ref().is_some_and(is_twin))
}
