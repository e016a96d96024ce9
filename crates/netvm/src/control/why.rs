//! Where packets went, and why: what the flight recorder of a graph knows, as JSON, and those
//! packets of it that a filter takes.
//!
//! A packet: `packet` (its number), `copy_of`, `time_ns`, `wire_len`, `link`, `bytes` in
//! hexadecimal, `way` (names of elements; null where several ways lead on), `element` and `class`
//! where it ended or is (null if that element is no more), `dropped` with the reason, `failed` (it
//! was at hand when netvm failed; the reason says in what), `rested` (packets behind it were not
//! recorded). Of a run on several threads also `thread`, which has the packet's number, and
//! `copy_of_thread`, which has that of the packet that it is a copy of.

use crate::application::Graph;
use crate::engines::ALL;
use crate::{Error, Filter};
use runtime::graph::ring::{FROM_RING, TO_RING};
use runtime::graph::{OWN_BITS, Recorded};
use runtime::io::LinkType;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where not all packets are recorded, that takes at most one part in so many of the time.
pub const PART: u32 = 100;

/// All that is recorded, the oldest packet first; none if nothing is.
pub fn packets(graph: &Graph) -> Option<Vec<Value>> {
    Some(noted(graph)?.into_iter().map(|noted| noted.told).collect())
}

/// A packet as a graph knows it that may have a part of its way only.
#[derive(Clone)]
pub(crate) struct Noted {
    /// Its number among all graphs, the one that it had in the graph before, and that of the packet
    /// that it is a copy of; 0 where there is none.
    pub number: u64,
    pub from: u64,
    pub of: u64,
    /// It has come from the graph before, and goes to the next.
    pub comes: bool,
    pub goes: bool,
    pub told: Value,
}

/// All that is recorded by a graph that runs a part of an application; none if nothing is.
pub(crate) fn noted(graph: &Graph) -> Option<Vec<Noted>> {
    let is = |class: &str, node: &Option<usize>| node.is_some_and(|node| graph.class(node) == class);
    let noted = |mut it: Recorded| {
        let (comes, goes) = (it.way.iter().any(|node| is(FROM_RING, node)), it.way.last().is_some_and(|node| is(TO_RING, node)));
        it.way.retain(|node| !is(FROM_RING, node) && !is(TO_RING, node));
        Noted { number: it.number, from: it.from, of: it.of, comes, goes, told: packet(&it, graph) }
    };
    Some(graph.recorded()?.into_iter().map(noted).collect())
}

fn packet(recorded: &Recorded, graph: &Graph) -> Value {
    let own = |number: u64| number & ((1 << OWN_BITS) - 1);
    let name = |node: &Option<usize>| node.map(|node| graph.name(node).to_owned());
    let last = recorded.way.last().copied().flatten();
    let hex: String = recorded.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "packet": own(recorded.number), "copy_of": (recorded.of > 0).then_some(own(recorded.of)), "time_ns": recorded.time_ns, "wire_len": recorded.wire_len,
        "link": recorded.link.number(), "bytes": hex, "way": recorded.way.iter().map(name).collect::<Vec<_>>(),
        "element": last.map(|node| graph.name(node)), "class": last.map(|node| graph.class(node)), "dropped": recorded.reason, "failed": recorded.failed,
        "rested": recorded.rested,
    })
}

/// The bytes, link type and length on the wire of a packet.
pub fn bytes(packet: &Value) -> Option<(Vec<u8>, LinkType, u32)> {
    let hex = packet["bytes"].as_str()?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes = (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
    let number = |name: &str| packet[name].as_u64().and_then(|number| u32::try_from(number).ok());
    Some((bytes, LinkType::from_file(number("link")?), number("wire_len")?))
}

/// What became of the packets that a filter takes: `recorded` and `matched`, how many; `sampled`,
/// whether packets between or behind them were not recorded; `ends`, where how many of them ended
/// and why; `packets`, the last `most` of them.
///
/// # Errors
/// The filter is wrong, or has no meaning on the packets.
pub fn answer(packets: Vec<Value>, filter: Option<&str>, most: usize) -> Result<Value, Error> {
    let recorded = packets.len();
    let sampled = packets.iter().any(|packet| packet["rested"] == true);
    let mut filter = filter.map(|text| Filter::new(text, &ALL[0])).transpose()?;
    let mut matching = Vec::new();
    for packet in packets {
        let takes = match (&mut filter, bytes(&packet)) {
            (None, _) => true,
            (Some(filter), Some((bytes, link, wire_len))) => filter.matches(link, &bytes, wire_len)?,
            (Some(_), None) => false,
        };
        if takes {
            matching.push(packet);
        }
    }
    let mut ends: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for packet in &matching {
        let text = |name: &str| packet[name].as_str().unwrap_or_default().to_owned();
        *ends.entry((text("element"), text("class"), text("dropped"))).or_default() += 1;
    }
    let end = |((element, class, dropped), packets): ((String, String, String), u64)| json!({ "element": element, "class": class, "dropped": (!dropped.is_empty()).then_some(dropped), "packets": packets });
    let matched = matching.len();
    let last = matching.split_off(matched.saturating_sub(most));
    Ok(
        json!({ "recorded": recorded, "sampled": sampled, "matched": matched, "ends": ends.into_iter().map(end).collect::<Vec<_>>(), "packets": last }),
    )
}
