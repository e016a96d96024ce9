//! Digests: what is told to the control plane travels in info memory behind headers and metadata,
//! and is taken there after ingress.
//!
//! Of several digests of one packet the last one counts, as in BMv2. Values are those at the call.

use super::{Lower, Lowered};
use crate::hir::{Expr, Type};
use crate::pipeline::{DigestMeta, info};
use netil::table::Op;

impl Lower<'_> {
    /// Tells the control plane a value under a name.
    pub(super) fn learn(&mut self, data: &Expr, name: String, call: &Expr) -> Lowered<()> {
        let place = self.held(data)?;
        let mut fields = Vec::new();
        self.set_fields(&place.ty, String::new(), call.span, &mut fields)?;
        let mut at = self.info_end;
        let mut meta = DigestMeta { name, fields: Vec::new() };
        let leaves = self.leaves(&place.ty, call.span)?;
        let mut numbers = (0u32..).zip(leaves).filter(|(_, l)| !matches!(l, super::place::Leaf::Valid | super::place::Leaf::Next));
        for (name, width) in fields {
            let Some((n, leaf)) = numbers.next() else { break };
            let whole = width.next_multiple_of(8);
            self.load_leaf(&place, n, leaf);
            self.code.resize(leaf.width(), whole as u16);
            self.code.push(at);
            self.code.w(Op::WiStore, whole as u16);
            meta.fields.push((name, width, at));
            at += whole / 8;
        }
        self.info_bytes = self.info_bytes.max(at);
        let number = self.digests.iter().position(|d| *d == meta).unwrap_or_else(|| {
            self.digests.push(meta);
            self.digests.len() - 1
        });
        self.code.constant(&(number + 1).into(), 16);
        self.code.push(info::DIGEST);
        self.code.w(Op::WiStore, 16);
        Ok(())
    }

    /// The name of a digest that is called as its type.
    pub(super) fn digest_name(&self, ty: &Type) -> String {
        match ty {
            Type::Struct(id, _) => self.program.type_name(*id).to_string(),
            _ => "digest".to_owned(),
        }
    }
}
