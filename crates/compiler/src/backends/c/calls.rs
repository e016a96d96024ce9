//! Calls of the runtime: which it is, what it does with the packet, and the words that it is given;
//! and stores.

use super::scalar::Scalar;
use crate::mir::{Call, Order, PacketUse, Value};

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
    match helper.row().packet {
        PacketUse::No => "NV_NOTHING",
        PacketUse::Reads => "NV_READS",
        PacketUse::Views => "NV_VIEWS",
        PacketUse::Moves => "NV_MOVES",
        PacketUse::All => "NV_ALL",
    }
}

/// A value in two words.
pub(super) fn halves(scalar: &Scalar<'_>, value: Value) -> [String; 2] {
    let high = if scalar.func.width(value) > 64 { format!("(uint64_t)({value:?} >> 64)") } else { "0".to_owned() };
    [format!("(uint64_t){value:?}"), high]
}

/// A value is stored.
pub(super) fn store(scalar: &Scalar<'_>, order: Order, at: &str, value: Value) -> String {
    let (bytes, v) = (scalar.func.width(value) / 8, scalar.val(value));
    let put = if order == Order::Big { "nv_put_be" } else { "nv_put_le" };
    if order == Order::Big && scalar.is_in_parts(value) {
        return format!("nv_put_be({at}, 2, {v}_high), nv_put_be({at} + 2, 4, {v}_low);");
    }
    if bytes <= 8 {
        return format!("{put}({at}, {bytes}, {v});");
    }
    let rest = bytes - 8;
    match order {
        Order::Big => format!("{put}({at}, 8, (uint64_t)({v} >> {})); {put}({at} + 8, {rest}, (uint64_t){v});", 8 * rest),
        Order::Little => format!("{put}({at}, 8, (uint64_t){v}); {put}({at} + 8, {rest}, (uint64_t)({v} >> 64));"),
    }
}
