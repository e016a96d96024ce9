//! Values of a table's entries, in slots beside each other; a handle is a slot's number + 1.
//!
//! Where no program writes to them, equal values share a slot: a routing table of a million routes
//! has few next hops, and these stay in the cache.
//!
//! Invariant: `uses` counts the entries of each slot, and a slot with none is in `free`.

use super::Seeded;
use super::area::Area;
use std::collections::HashMap;

/// The slots.
pub struct Values {
    area: Area,
    stride: usize,
    bytes: usize,
    uses: Vec<u32>,
    free: Vec<u32>,
    /// Handles by value, where they are shared.
    shared: Option<HashMap<Box<[u8]>, u32, Seeded>>,
}

impl Values {
    /// For so many entries with values of so many bytes; `None` if there is no memory for them.
    pub fn new(entries: usize, bytes: usize, shared: bool, seed: Seeded) -> Option<Self> {
        let stride = netil::layout::value_stride(bytes);
        let area = Area::new(entries.checked_mul(stride)?)?;
        Some(Self { area, stride, bytes, uses: Vec::new(), free: Vec::new(), shared: shared.then(|| HashMap::with_hasher(seed)) })
    }

    /// One more entry of that value.
    pub fn enter(&mut self, value: &[u8]) -> u32 {
        if let Some(handle) = self.shared.as_ref().and_then(|shared| shared.get(value)) {
            self.uses[*handle as usize - 1] += 1;
            return *handle;
        }
        let handle = self.free.pop().unwrap_or_else(|| {
            self.uses.push(0);
            self.uses.len() as u32
        });
        self.uses[handle as usize - 1] = 1;
        self.write(handle, value);
        if let Some(shared) = &mut self.shared {
            shared.insert(value.into(), handle);
        }
        handle
    }

    /// One entry less.
    pub fn leave(&mut self, handle: u32) {
        let uses = &mut self.uses[handle as usize - 1];
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        self.free.push(handle);
        let range = self.range(handle);
        if let Some(shared) = &mut self.shared {
            shared.remove(&self.area[range]);
        }
    }

    /// An entry has another value now, and this handle.
    pub fn replace(&mut self, handle: u32, value: &[u8]) -> u32 {
        if self.shared.is_none() {
            self.write(handle, value);
            return handle;
        }
        let new = self.enter(value);
        self.leave(handle);
        new
    }

    fn write(&mut self, handle: u32, value: &[u8]) {
        let range = self.range(handle);
        self.area[range].iter_mut().zip(value).for_each(|(to, byte)| *to = *byte);
    }

    fn range(&self, handle: u32) -> std::ops::Range<usize> {
        let at = (handle as usize - 1) * self.stride;
        at..at + self.bytes
    }

    /// The greatest handle that was ever given.
    pub fn len(&self) -> usize {
        self.uses.len()
    }

    fn is_used(&self, handle: u32) -> bool {
        (handle as usize).checked_sub(1).and_then(|i| self.uses.get(i)).is_some_and(|uses| *uses > 0)
    }

    /// The value, if there is an entry of that handle.
    pub fn get(&self, handle: u32) -> Option<&[u8]> {
        self.is_used(handle).then(|| &self.area[self.range(handle)])
    }

    /// The value for writing, if there is an entry of that handle.
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut [u8]> {
        let range = self.is_used(handle).then(|| self.range(handle))?;
        Some(&mut self.area[range])
    }

    /// All slots.
    pub fn area(&mut self) -> &mut [u8] {
        &mut self.area
    }
}
