//! Tables that packets change, and what their keys are made of, for people.

use super::super::table_sums::sum_tables;
use compiler::keys::{Base, Byte};
use compiler::mir::states::States;
use compiler::mir::{Func, Helper, Op};
use compiler::passes;
use netil::Verified;
use netil::module::HandlerKind;
use runtime::graph::ring::Fields;
use std::collections::BTreeSet;

/// The name of a table.
pub(super) fn name(program: &Verified, table: u32) -> &str {
    program.module().tables.get(table as usize).map_or("?", |table| table.name.as_str())
}

/// The push handler of a program, optimised.
pub(super) fn pushed(program: &Verified) -> Option<Func> {
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default());
    optimised.ok().flatten().map(|(func, _)| func)
}

/// Tables that packets change, or whose entries live longer as packets ask for them.
pub(super) fn changed(program: &Verified, func: &Func) -> BTreeSet<u32> {
    let ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|value| func.op(*value));
    let helpers: Vec<Helper> = ops.filter_map(|op| if let Op::Helper(helper, ..) = op { Some(*helper) } else { None }).collect();
    let changes = |(number, table): &(u32, &netil::module::Table)| {
        // One that does not say which table it works on may work on any.
        let its = helpers.iter().filter(|helper| helper.table().is_none_or(|of| of == *number)).map(|helper| helper.row());
        its.into_iter().any(|row| row.writes.meets(CONTENTS) || table.timeout_ns != 0 && row.reads.meets(States::TABLE))
    };
    (0..).zip(&program.module().tables).filter(changes).map(|(number, _)| number).collect()
}

/// Those of which each replica cannot have one whatever their keys are: packets do more than add to
/// them.
pub(super) fn kept(program: &Verified, func: &Func) -> BTreeSet<u32> {
    let mut kept = changed(program, func);
    sum_tables(program, func).iter().for_each(|table| _ = kept.remove(&table.number));
    kept
}

/// What a table is made of.
const CONTENTS: States = States::TABLE.and(States::ENTRIES);

/// What a key is made of.
pub(super) fn described(key: &[Byte]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for byte in key.iter().rev() {
        let word = word(*byte);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    match words.split_last() {
        None => "constant".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

fn word(byte: Byte) -> &'static str {
    match byte {
        Byte::Zero => "",
        Byte::Plain => "numbers that are no addresses",
        Byte::Unknown => "something not known",
        // What this is of IPv6 stands in for the rest of it, which comes with it.
        Byte::Packet(Base::Network, 12..16) => "the source address",
        Byte::Packet(Base::Network, 16..20) => "the destination address",
        Byte::Packet(Base::Network, 9) => "the protocol",
        Byte::Packet(Base::Network, 4..6) => "the identification",
        Byte::Packet(Base::Network, _) => "fields of the IP header",
        Byte::Packet(Base::Transport, 0..2) => "the source port",
        Byte::Packet(Base::Transport, 2..4) => "the destination port",
        Byte::Packet(Base::Transport, 20..28) => "the addresses of a quoted packet",
        Byte::Packet(Base::Transport, _) => "bytes behind the IP header",
        Byte::Packet(Base::Start, 0..6) => "the Ethernet destination",
        Byte::Packet(Base::Start, 6..12) => "the Ethernet source",
        Byte::Packet(Base::Start, _) => "bytes at fixed places of the frame",
    }
}

/// Which bytes they are, for people.
pub(super) fn fields_shown(fields: Fields) -> String {
    let Fields { header, at, len, other } = fields;
    let word = match (header, at, len, other) {
        (true, 12, 4, None) => return "the source address".to_owned(),
        (true, 16, 4, None) => return "the destination address".to_owned(),
        (true, 8, 16, None) => return "the source address of IPv6".to_owned(),
        (true, 24, 16, None) => return "the destination address of IPv6".to_owned(),
        (true, 12, 4, Some(16)) | (true, 8, 16, Some(24)) => return "both addresses, in either order".to_owned(),
        (true, ..) => "IP header",
        (false, ..) => "frame",
    };
    let places = |at: u16| if len == 1 { format!("{at}") } else { format!("{at} to {}", at + len - 1) };
    let other = other.map_or_else(String::new, |other| format!(" and {}, in either order", places(other)));
    format!("byte{} {}{other} of the {word}", if len == 1 && other.is_empty() { "" } else { "s" }, places(at))
}
