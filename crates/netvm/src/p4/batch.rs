//! Batches of commands for a program that runs: all of them are done, or none. No packet comes
//! between them.
//!
//! What is there before is kept, and put back if a command is refused: entries with what they have
//! counted, registers, counters and meters, members, groups and sessions.

use super::SwitchError;
use super::members::Profile;
use super::replication::Replication;
use super::{Switch, stf};
use netil::module::Entry;
use std::collections::BTreeMap;

/// What commands may change.
struct Kept {
    tables: Vec<Vec<Entry>>,
    data: Vec<u8>,
    replication: Replication,
    profiles: Vec<Profile>,
    handles: BTreeMap<usize, Vec<Option<Vec<Entry>>>>,
}

impl Kept {
    fn of(switch: &Switch) -> Self {
        Self {
            tables: switch.state.tables.iter().map(|table| table.entries(0)).collect(),
            data: switch.state.data.clone(),
            replication: switch.replication.clone(),
            profiles: switch.profiles.clone(),
            handles: switch.handles.clone(),
        }
    }

    fn put_back(self, switch: &mut Switch) {
        for (table, before) in switch.state.tables.iter_mut().zip(self.tables) {
            let now = table.entries(0);
            if now == before {
                continue;
            }
            for entry in now {
                table.remove(&entry.key, &entry.mask, entry.priority, 0);
            }
            // They were there: there is room for them.
            for entry in before {
                let _ = table.add(&entry, 0);
            }
        }
        switch.state.data = self.data;
        switch.replication = self.replication;
        switch.profiles = self.profiles;
        switch.handles = self.handles;
        switch.changes += 1;
    }
}

/// Runs commands, one on a line; what they tell. If one is refused, or what they have entered does
/// not suit, all is as before.
///
/// # Errors
/// The first line that makes no sense or is refused, or why it does not suit.
pub(super) fn run(
    switch: &mut Switch,
    commands: &str,
    suits: impl FnOnce(&mut Switch) -> Result<(), SwitchError>,
) -> Result<Vec<String>, SwitchError> {
    // One command does nothing if it is refused.
    let is_batch = commands.lines().filter(|line| !line.trim().is_empty()).nth(1).is_some();
    let kept = is_batch.then(|| Kept::of(switch));
    let told = stf::configure(switch, commands).and_then(|told| suits(switch).map(|()| told));
    if let (Err(_), Some(kept)) = (&told, kept) {
        kept.put_back(switch);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::p4::{Switch, load};
    use crate::{Settings, engines};
    use std::path::Path;

    fn start() -> Switch {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/controller.p4");
        Switch::start(load(Path::new(program), &[], &[]).unwrap(), &engines::ALL[0], Settings::default()).unwrap()
    }

    /// All that commands may have changed.
    fn all(switch: &mut Switch) -> Vec<String> {
        let asked = "mc_dump\ncounter_read arrived 3\nregister_read last 2\nmeter_get_rates limits 1\ncounter_read used 0";
        let told = run(switch, asked, |_| Ok(())).unwrap();
        [
            switch.dump(None).unwrap(),
            told,
            vec![format!("{:?}", (switch.members("ways"), switch.groups("ways"), switch.mirroring_sessions()))],
        ]
        .concat()
    }

    const BEFORE: &str = "table_add forward to 9 => 4\nact_prof_create_member ways to 5\nact_prof_create_group ways\n\
        act_prof_add_member_to_group ways 0 0\ntable_indirect_add_with_group chosen 0x800 => 0\nmc_mgrp_create 1\n\
        mc_node_create 7 1 2\nmc_node_associate 1 0\nmirroring_add 3 6\ncounter_write arrived 3 8 90\nregister_write last 2 77\n\
        meter_set_rates limits 1 0.1:5 0.2:9\ncounter_write used 0 4 44";
    const BATCH: &str = "table_modify forward to 0 => 6\ntable_add forward drop 10 =>\ntable_set_default forward tell\n\
        act_prof_create_member ways to 6\nact_prof_add_member_to_group ways 1 0\nmc_mgrp_destroy 1\nmirroring_delete 3\n\
        counter_write arrived 3 0 0\nregister_reset last\nmeter_set_rates limits 1 0.5:5 0.7:9\ntable_clear chosen\ncounter_write used 0 0 0";

    #[test]
    fn a_batch_is_done_whole_or_not_at_all() {
        let mut switch = start();
        run(&mut switch, BEFORE, |_| Ok(())).unwrap();
        let before = all(&mut switch);
        let refused = run(&mut switch, &format!("{BATCH}\nregister_read none 1"), |_| Ok(())).unwrap_err();
        assert!(refused.text().starts_with("line 13: "), "{refused}");
        assert_eq!(all(&mut switch), before);
        assert_eq!(run(&mut switch, BATCH, |_| Err("no".into())).unwrap_err(), "no".into());
        assert_eq!(all(&mut switch), before);
        let mut frame = vec![0; 60];
        (frame[5], frame[12]) = (9, 8);
        assert_eq!(switch.receive(3, &frame, 0)[0].port, 5, "by the group");
        // Handles are given as if nothing had been.
        assert!(run(&mut switch, "table_add forward to 11 => 1", |_| Ok(())).unwrap()[0].contains("handle 1"));
        run(&mut switch, BATCH, |_| Ok(())).unwrap();
        assert_ne!(all(&mut switch), before);
    }
}
