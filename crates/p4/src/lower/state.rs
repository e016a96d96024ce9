//! Headers and metadata in info memory, between the halves of a program.

use super::{Lower, Lowered, fault};
use crate::hir::Type;
use crate::lower::place::{Leaf, StorageLocation};
use crate::pipeline::{Saved, SavedLeaf, info};
use frontends::diagnostics::Span;
use netil::table::Op;

impl Lower<'_> {
    /// Where everything goes: places, and the field lists of those that are metadata.
    pub(super) fn saved(&mut self, places: &[(&StorageLocation, Option<&[u32]>)], span: Span) -> Lowered<Saved> {
        let mut saved = Saved { leaves: Vec::new(), end: info::STATE };
        for (place, lists) in places {
            self.lay(place, lists.is_some(), lists.unwrap_or_default(), span, &mut saved)?;
        }
        (self.info_end, self.info_bytes) = (saved.end, saved.end);
        if saved.end > 16 << 10 {
            return fault(span, "headers and metadata take more than 16 KiB");
        }
        Ok(saved)
    }

    fn lay(&self, place: &StorageLocation, metadata: bool, lists: &[u32], span: Span, saved: &mut Saved) -> Lowered<()> {
        if let (Type::Struct(id, args), true) = (&place.ty, metadata) {
            let header = self.program.aggregate(&place.ty) == Some(crate::ast::Aggregate::Header);
            if !header {
                for (n, field) in self.program.fields(*id, args).iter().enumerate() {
                    let member = self.member(place, n, span)?;
                    let lists: Vec<u32> = lists.iter().chain(&field.lists).copied().collect();
                    self.lay(&member, metadata, &lists, span, saved)?;
                }
                return Ok(());
            }
        }
        for (n, leaf) in self.leaves(&place.ty, span)?.into_iter().enumerate() {
            let width = leaf.width();
            let bytes = match leaf {
                Leaf::Valid | Leaf::Bool => 1,
                _ => u32::from(width.div_ceil(8)),
            };
            let local = place.base + n as u32;
            saved.leaves.push(SavedLeaf { local, width, at: saved.end, metadata, lists: lists.to_vec() });
            saved.end += bytes;
        }
        Ok(())
    }

    pub(super) fn save(&mut self, saved: &Saved) {
        self.save_at(saved, Op::WiStore, 0);
    }

    /// Stores everything in a memory, from that place on.
    pub(super) fn save_at(&mut self, saved: &Saved, store: Op, from: u32) {
        for (n, leaf) in saved.leaves.iter().enumerate() {
            let bits = Self::bits(saved, n);
            self.code.get(leaf.local);
            self.code.resize(leaf.width, bits);
            self.code.push(from + leaf.at);
            self.code.w(store, bits);
        }
    }

    fn bits(saved: &Saved, n: usize) -> u16 {
        let end = saved.leaves.get(n + 1).map_or(saved.end, |next| next.at);
        ((end - saved.leaves[n].at) * 8) as u16
    }

    /// Loads what travelled, or only the program's metadata.
    pub(super) fn restore(&mut self, saved: &Saved, only_metadata: bool) {
        self.restore_at(saved, Op::WiLoad, 0, only_metadata);
    }

    /// Loads it from a memory, from that place on.
    pub(super) fn restore_at(&mut self, saved: &Saved, load: Op, from: u32, only_metadata: bool) {
        for (n, leaf) in saved.leaves.iter().enumerate().filter(|(_, l)| l.metadata || !only_metadata) {
            let bits = Self::bits(saved, n);
            self.code.push(from + leaf.at);
            self.code.w(load, bits);
            self.code.resize(bits, leaf.width);
            self.code.set(leaf.local);
        }
    }
}
