//! What holds for every kind of table.

use super::{declare, exact};
use netil::module::{Entry, TableKind};
use netvm_runtime::coproc::tables;

#[test]
fn what_has_a_timeout_ends_whatever_its_kind() {
    for (kind, name) in TableKind::ALL {
        let mask = if kind.has_mask() { Box::from([0xffff]) } else { Box::default() };
        let mut table = tables::make(&declare(kind, 16, 1, 5, 10), 1);
        table.add(&Entry { mask, value: Box::new([1]), ..exact(vec![7]) }, 0).unwrap();
        assert!(table.find(&[7], 9, true) != 0 && table.find(&[7], 18, false) != 0 && table.find(&[7], 19, true) == 0, "{name}");
    }
}
