//! Calls of the runtime: which it is, what it does with the packet, and the words that it is given.

use super::scalar::Scalar;
use crate::mir::{Call, Func, Helper, Value};

/// An operand's limbs; of what is no wide call one word.
pub(super) fn limbs(scalar: &Scalar<'_>, a: Value, wide: bool) -> Vec<String> {
    let v = scalar.val(a);
    match scalar.func.width(a) {
        65.. if wide => vec![format!("(uint64_t){v}"), format!("(uint64_t)({v} >> 64)")],
        _ => vec![v],
    }
}

/// What a call does with the packet, as the text names it.
pub(super) fn touches(call: Call) -> &'static str {
    let (Call::Helper(helper, _) | Call::Wide(helper, ..)) = call else { return "NV_NOTHING" };
    match helper {
        helper if !helper.needs_packet() => "NV_NOTHING",
        Helper::Scan(_) | Helper::FieldCmp(_) | Helper::Checksum | Helper::ChecksumValid | Helper::CrcPacket(_) | Helper::Inside => {
            "NV_READS"
        }
        // These trap if there is no packet, and leave annotations as they are.
        Helper::PushHead | Helper::PullHead | Helper::TrimTail | Helper::GrowTail | Helper::Unpull => "NV_MOVES",
        _ => "NV_ALL",
    }
}

pub(super) fn call_of(func: &Func, v: Value, helper: Helper, args: &[Value]) -> Call {
    if !helper.is_wide() {
        return Call::Helper(helper, args.len());
    }
    let mut widths = [0; 2];
    widths.iter_mut().zip(args).for_each(|(width, a)| *width = func.width(*a));
    Call::Wide(helper, widths, func.width(v))
}
