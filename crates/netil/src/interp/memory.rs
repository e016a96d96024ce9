//! Loads, stores and copies: every access is checked against the memory's size, which is what the program declares even where the state's
//! memory is larger.

use super::Run;
use crate::exec::TrapKind;
use crate::table::Space;
use crate::wide;
use std::ops::Range;

impl Run<'_, '_> {
    /// The memory as it is now.
    pub(super) fn memory(&self, space: Space) -> &[u8] {
        match space {
            Space::Packet => self.buffer.bytes(),
            Space::Info => &self.buffer.info,
            Space::Data => &self.state.data[..self.program.module().data_size as usize],
            Space::Shared => &self.state.shared[..self.program.shared_size() as usize],
            Space::Initialised => &self.program.module().data,
        }
    }

    fn memory_mut(&mut self, space: Space) -> &mut [u8] {
        match space {
            Space::Packet => self.buffer.bytes_mut(),
            Space::Info => &mut self.buffer.info,
            Space::Data => &mut self.state.data[..self.program.module().data_size as usize],
            Space::Shared => &mut self.state.shared[..self.program.shared_size() as usize],
            Space::Initialised => &mut [],
        }
    }

    /// The bytes `at..at + size`, or the trap.
    pub(super) fn range(&self, space: Space, at: u32, size: u64) -> Result<Range<usize>, TrapKind> {
        let end = u64::from(at) + size;
        if end > self.memory(space).len() as u64 {
            return Err(TrapKind::OutOfBounds(space));
        }
        Ok(at as usize..end as usize)
    }

    pub(super) fn read(&self, space: Space, at: u32, size: u64) -> Result<Vec<u64>, TrapKind> {
        let bytes = &self.memory(space)[self.range(space, at, size)?];
        Ok(if big_endian(space) { wide::from_be_bytes(bytes) } else { wide::from_le_bytes(bytes) })
    }

    fn write(&mut self, space: Space, at: u32, size: u64, value: &[u64]) -> Result<(), TrapKind> {
        let range = self.range(space, at, size)?;
        let bytes = &mut self.memory_mut(space)[range];
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
        let value = self.read(space, at, u64::from(width / 8))?;
        self.stack.extend(value);
        Ok(())
    }

    pub(super) fn wide_store(&mut self, space: Space, width: u16) -> Result<(), TrapKind> {
        let at = self.pop();
        let value = self.pop_wide(width);
        self.write(space, at, u64::from(width / 8), &value)
    }

    /// Pops length, destination, source. The source is checked first.
    pub(super) fn copy(&mut self, from: Space, to: Space) -> Result<(), TrapKind> {
        let (len, destination, source) = (self.pop(), self.pop(), self.pop());
        let source = self.range(from, source, len.into())?;
        let destination = self.range(to, destination, len.into())?;
        let bytes = self.memory(from)[source].to_vec();
        self.memory_mut(to)[destination].copy_from_slice(&bytes);
        Ok(())
    }
}

/// The packet and initialised data are in network byte order, the other memories little-endian.
fn big_endian(space: Space) -> bool {
    matches!(space, Space::Packet | Space::Initialised)
}
