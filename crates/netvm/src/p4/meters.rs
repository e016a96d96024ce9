//! Rates of meters, and parameters of checks, of a [`Switch`].

use super::Switch;
use super::control::find;
use super::error::{SwitchError, invalid, missing};
use p4::crc::Parameters;
use p4::pipeline::{ArrayKind, meter};
use std::ops::Range;

/// A rate in units a microsecond, and the burst in units; a unit is a packet or a byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Units a microsecond.
    pub per_us: f64,
    /// The most units at once.
    pub burst: u32,
}

fn put(cell: &mut [u8], at: u32, value: u64) {
    if let Some(to) = cell.get_mut(at as usize..at as usize + 8) {
        to.copy_from_slice(&value.to_le_bytes());
    }
}

fn get(cell: &[u8], at: u32) -> u64 {
    cell.get(at as usize..at as usize + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Writes a meter; its buckets are full then.
fn write(cell: &mut [u8], committed: Rate, peak: Rate, now_us: u64) {
    for (bucket, rate) in [(0, committed), (8, peak)] {
        let burst = u64::from(rate.burst) << meter::FRACTION;
        put(cell, meter::RATE + bucket, (rate.per_us * (1u64 << meter::FRACTION) as f64).ceil() as u64);
        put(cell, meter::BURST + bucket, burst);
        put(cell, meter::TOKENS + bucket, burst);
    }
    put(cell, meter::LAST, now_us);
    put(cell, meter::SET, 1);
}

fn read(cell: &[u8]) -> Option<(Rate, Rate)> {
    let rate = |bucket: u32| Rate {
        per_us: get(cell, meter::RATE + bucket) as f64 / (1u64 << meter::FRACTION) as f64,
        burst: (get(cell, meter::BURST + bucket) >> meter::FRACTION) as u32,
    };
    (get(cell, meter::SET) == 1).then(|| (rate(0), rate(8)))
}

impl Switch {
    /// Sets the rates of a meter's cell, or of all where no index is given: committed and peak, the
    /// higher one. Of a direct meter the index is an entry's handle.
    ///
    /// # Errors
    /// There is no such meter or cell, or the peak rate is below the committed one.
    pub fn meter_set(&mut self, name: &str, index: Option<u64>, committed: Rate, peak: Rate) -> Result<(), SwitchError> {
        let sound = |r: Rate| r.per_us.is_finite() && r.per_us >= 0.0 && r.per_us < 2e9;
        if !sound(committed) || !sound(peak) || peak.per_us < committed.per_us {
            return Err(invalid(
                "rates are numbers of units a microsecond, the committed one first, then the peak rate, which is no lower",
            ));
        }
        let now = self.now_us;
        if self.is_direct_meter(name) {
            return self.each_direct(name, index, |value, at| {
                let end = value.len().min(at + meter::BYTES as usize);
                write(&mut value[at..end], committed, peak, now);
            });
        }
        for range in self.meter_cells(name, index)? {
            if let Some(cell) = self.state.data.get_mut(range) {
                write(cell, committed, peak, now);
            }
        }
        Ok(())
    }

    /// Takes the rates of a meter's cell, or of an entry's direct meter, away: all packets are
    /// green.
    ///
    /// # Errors
    /// There is no such meter or cell.
    pub fn meter_reset(&mut self, name: &str, index: u64) -> Result<(), SwitchError> {
        if self.is_direct_meter(name) {
            return self.each_direct(name, Some(index), |value, at| {
                let end = value.len().min(at + meter::BYTES as usize);
                value[at..end].fill(0);
            });
        }
        for range in self.meter_cells(name, Some(index))? {
            if let Some(cell) = self.state.data.get_mut(range) {
                cell.fill(0);
            }
        }
        Ok(())
    }

    /// The rates of a meter's cell, if it has any.
    ///
    /// # Errors
    /// There is no such meter or cell.
    pub fn meter_get(&mut self, name: &str, index: u64) -> Result<Option<(Rate, Rate)>, SwitchError> {
        if self.is_direct_meter(name) {
            let mut found = None;
            self.each_direct(name, Some(index), |value, at| found = value.get(at..).and_then(read))?;
            return Ok(found);
        }
        let cells = self.meter_cells(name, Some(index))?;
        Ok(cells.first().and_then(|range| self.state.data.get(range.clone())).and_then(read))
    }

    fn meter_cells(&self, name: &str, index: Option<u64>) -> Result<Vec<Range<usize>>, SwitchError> {
        let bytes = meter::BYTES as usize;
        let (meta, first) = self.array(name, ArrayKind::Meter, index.unwrap_or(0))?;
        let count = if index.is_some() { 1 } else { meta.count as usize };
        Ok((0..count).map(|n| first + n * bytes..first + (n + 1) * bytes).collect())
    }

    fn is_direct_meter(&self, name: &str) -> bool {
        let direct: Vec<&str> = self.pipeline.tables.iter().filter(|t| t.meter.is_some()).map(|t| t.meter_name.as_str()).collect();
        find(&direct, |n| n, name, "meter").is_ok()
    }

    /// Changes the values of an entry with a direct meter, or of all entries of its table.
    fn each_direct(&mut self, name: &str, handle: Option<u64>, mut change: impl FnMut(&mut [u8], usize)) -> Result<(), SwitchError> {
        let direct: Vec<_> = self.pipeline.tables.iter().filter(|t| t.meter.is_some()).cloned().collect();
        let (_, meta) = find(&direct, |t| &t.meter_name, name, "direct meter")?;
        let (Some(at), Some(number)) = (meta.meter, meta.table) else { return Err(invalid(format!("{name} is no meter"))) };
        let entries = match handle {
            Some(handle) => self.entered(&meta.name, handle)?,
            None => self.state.tables.get(number as usize).map_or_else(Vec::new, |t| t.entries(0)),
        };
        let table = self.state.tables.get_mut(number as usize).ok_or_else(|| missing("no such table"))?;
        for entry in entries {
            let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
            if let Some(value) = table.value_mut(found) {
                change(value, at as usize);
            }
        }
        Ok(())
    }

    /// Sets the parameters of a hash that the program calls crc16_custom or crc32_custom.
    ///
    /// # Errors
    /// There is no such calculation, or it has another width.
    pub fn crc_set(&mut self, name: &str, parameters: Parameters) -> Result<(), SwitchError> {
        let (_, meta) = find(&self.pipeline.crcs, |c| &c.name, name, "calculation with parameters")?;
        if meta.width != parameters.width {
            return Err(invalid(format!("{name} is a check of {} bits", meta.width)));
        }
        let image = parameters.image();
        match self.state.data.get_mut(meta.at as usize..meta.at as usize + image.len()) {
            Some(place) => place.copy_from_slice(&image),
            None => return Err(missing("no such calculation")),
        }
        Ok(())
    }
}
