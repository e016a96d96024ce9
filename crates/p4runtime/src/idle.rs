//! Idle timeouts: entries that no packet has found for as long as they say are told to the primary
//! controllers, once until a packet finds them again.
//!
//! Time is that of packets. Source: P4Runtime specification 1.4, "Idle-timeout".

use crate::device::Device;
use crate::info::Object;
use crate::lock;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::p4::v1::{IdleTimeoutNotification, TableEntry};
use netvm::p4::Switch;
use std::time::{SystemTime, UNIX_EPOCH};

/// Entries are asked so often, in microseconds.
const EVERY: u64 = 1000;
/// Entries of one message.
const PART: usize = 256;

impl Device {
    /// Tells of entries whose time has come since the last time.
    pub fn tell_idle(&mut self, switch: &mut Switch) {
        if switch.now_us().saturating_sub(self.asked_us) < EVERY {
            return;
        }
        self.asked_us = switch.now_us();
        let mut told: Vec<TableEntry> = Vec::new();
        let timed = self.book.entries.iter_mut().filter(|(_, written)| written.entry.idle_timeout_ns > 0);
        for (key, written) in timed {
            let Ok(table) = self.info.table(key.0) else { continue };
            let Ok(Some(idle)) = switch.idle_us(table.name(), written.handle) else { continue };
            let is_idle = idle.saturating_mul(1000) >= written.entry.idle_timeout_ns.unsigned_abs();
            if is_idle && !written.is_told {
                told.push(TableEntry { action: None, ..written.entry.clone() });
            }
            written.is_told = is_idle;
        }
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as i64);
        for part in told.chunks(PART) {
            let update = IdleTimeoutNotification { table_entry: part.to_vec(), timestamp };
            lock(&self.streams).tell_primaries(&Update::IdleTimeoutNotification(update));
        }
    }
}
