//! Loads, stores and copies.

use super::Run;
use crate::exec::TrapKind;
use crate::table::Space;
use crate::wide;

impl Run<'_, '_> {
    pub(super) fn read(&self, space: Space, at: u32, size: u32) -> Result<Vec<u64>, TrapKind> {
        let memory = self.machine.memory(self.program, space);
        let bytes = &memory[self.machine.range(self.program, space, at, size)?];
        Ok(if big_endian(space) { wide::from_be_bytes(bytes) } else { wide::from_le_bytes(bytes) })
    }

    fn write(&mut self, space: Space, at: u32, size: u32, value: &[u64]) -> Result<(), TrapKind> {
        let range = self.machine.range(self.program, space, at, size)?;
        let bytes = &mut self.machine.memory_mut(self.program, space)[range];
        if big_endian(space) {
            wide::to_be_bytes(value, bytes)
        } else {
            wide::to_le_bytes(value, bytes)
        }
        Ok(())
    }

    pub(super) fn load(&mut self, space: Space, bytes: u8, signed: bool) -> Result<(), TrapKind> {
        let at = self.pop();
        let value = self.read(space, at, bytes.into())?;
        let extended = wide::resize(u16::from(bytes) * 8, 64, signed, &value)[0];
        self.push(extended as u32);
        Ok(())
    }

    pub(super) fn store(&mut self, space: Space, bytes: u8) -> Result<(), TrapKind> {
        let (at, value) = (self.pop(), self.pop());
        self.write(space, at, bytes.into(), &[value.into()])
    }

    pub(super) fn wide_load(&mut self, space: Space, width: u16) -> Result<(), TrapKind> {
        let at = self.pop();
        let value = self.read(space, at, u32::from(width / 8))?;
        self.stack.extend(value);
        Ok(())
    }

    pub(super) fn wide_store(&mut self, space: Space, width: u16) -> Result<(), TrapKind> {
        let at = self.pop();
        let value = self.pop_wide(width);
        self.write(space, at, u32::from(width / 8), &value)
    }

    /// Pops length, destination, source.
    pub(super) fn copy(&mut self, from: Space, to: Space) -> Result<(), TrapKind> {
        let (len, target, source) = (self.pop(), self.pop(), self.pop());
        self.machine.copy(self.program, [from, to], [source, target, len], &mut self.budget)
    }
}

/// The packet and initialised data are in network byte order, the other memories little-endian.
fn big_endian(space: Space) -> bool {
    matches!(space, Space::Packet | Space::Initialised)
}
