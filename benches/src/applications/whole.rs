//! P4 programs by themselves, with the switch around them that clones, multicasts and takes packets
//! round: one packet after the other and in bursts; as elements of a graph; and beside BMv2 where
//! it is built ([`super::bmv2`]).
//!
//! Both ways of the switch must send the same before they are timed, and elements on all engines. A
//! time is the processor's.

use super::bmv2::{self, Bmv2};
use super::p4::{self, Whole};
use crate::tables::processor_time;
use crate::traffic::{PORTS, Popularity};
use netvm::p4::{Arrived, Departures, Sent, Switch, stf};
use netvm::{Settings, engines};
use serde::Serialize;
use std::path::Path;

/// Packets that come at a time, as between interfaces.
const BURST: usize = 64;
/// Packets that are timed in a round.
const TIMED: usize = 1 << 16;

/// Engines of elements, and passes over the trace in a round.
pub const ENGINES: [(&str, u64); 2] = [("jit", 2), ("aot", 8)];

/// One program.
#[derive(Serialize)]
pub struct Row {
    /// Which.
    pub program: &'static str,
    /// Per packet, one after the other.
    pub single_ns: f64,
    /// In bursts.
    pub burst_ns: f64,
    /// As an element, on each of [`ENGINES`].
    pub element_ns: Vec<f64>,
    /// BMv2, if it is there.
    pub bmv2_ns: Option<f64>,
    /// Why it has no time, or what it did otherwise.
    pub bmv2_wrong: Option<String>,
}

/// Measures the programs of the benchmark, or those of them that are named (`P4-switch`).
///
/// # Errors
/// One cannot be run, or sends something else in bursts.
pub fn measure(rounds: usize, only: &[String], bmv2: Option<&Path>) -> Result<Vec<Row>, String> {
    let _cleared = super::sides::Cleared;
    let bmv2 = bmv2.map(Bmv2::find).transpose()?;
    let forward = p4::whole_forward("P4 forward", 1_000, Popularity::Uniform);
    let all = [forward, p4::whole_switch(4_096), p4::whole_paper(1_000), p4::whole_acl(10_000), p4::whole_meters(56_000)];
    let is_chosen = |whole: &Whole| only.is_empty() || only.iter().any(|name| name.replace('-', " ") == whole.application);
    all.into_iter()
        .filter(is_chosen)
        .map(|whole| {
            let row = row(&whole, rounds, bmv2.as_ref())?;
            Ok(Row { element_ns: as_element(&whole, rounds)?, ..row })
        })
        .collect()
}

fn started(whole: &Whole) -> Result<Switch, String> {
    let defines = [("SIZE".to_owned(), whole.size.to_string())];
    let pipeline = netvm::p4::load(&whole.source(), &[], &defines).map_err(|error| error.to_string())?;
    let engine = engines::find("jit").ok_or("no engine jit")?;
    let mut switch = Switch::start(pipeline, engine, Settings::default()).map_err(|error| error.to_string())?;
    stf::configure(&mut switch, &whole.commands)?;
    Ok(switch)
}

fn arrived(whole: &Whole) -> Vec<Arrived<'_>> {
    let packet = |(n, packet): (usize, &'_ crate::traffic::Packet)| (packet.port, n as u64 * super::INTERVAL);
    let times = whole.packets.iter().enumerate().take(TIMED).map(packet);
    times.zip(&whole.packets).map(|((port, time_ns), packet)| Arrived { port, bytes: &packet.bytes, time_ns }).collect()
}

fn row(whole: &Whole, rounds: usize, bmv2: Option<&Bmv2>) -> Result<Row, String> {
    let (mut single, mut burst, packets) = (started(whole)?, started(whole)?, arrived(whole));
    let ways: [Vec<Sent>; 2] = [by_one(&mut single, &packets), by_bursts(&mut burst, &packets)];
    if ways[0] != ways[1] {
        return Err(format!("{}: bursts send something else", whole.application));
    }
    let (mut singles, mut bursts) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        singles.push(timed(packets.len(), || drop(by_one(&mut single, &packets))));
        bursts.push(timed(packets.len(), || through(&mut burst, &packets)));
    }
    let [single_ns, burst_ns] = [singles, bursts].map(|mut times| super::median(&mut times).unwrap_or(f64::NAN));
    let few = &packets[..bmv2::PACKETS.min(packets.len())];
    let beside = bmv2.map(|bmv2| bmv2.run(whole, &by_port(&by_one(&mut started(whole)?, few))));
    let (bmv2_ns, bmv2_wrong) = match beside {
        None => (None, None),
        Some(Ok(ran)) => (Some(ran.ns), ran.wrong),
        Some(Err(why)) => (None, Some(why)),
    };
    eprintln!("{}  one by one {single_ns:.0}  bursts {burst_ns:.0}", whole.application);
    Ok(Row { program: whole.application, single_ns, burst_ns, element_ns: Vec::new(), bmv2_ns, bmv2_wrong })
}

/// What a packet takes in an element.
fn as_element(whole: &Whole, rounds: usize) -> Result<Vec<f64>, String> {
    let side = |engine: &'static engines::EngineInfo| whole.clone().element(&[]).by(engine, engines::Settings::default());
    let wanted = side(&engines::ALL[0])?.outputs(1)?;
    let one = |(engine, passes)| {
        let mut side = side(engines::find(engine).ok_or("an engine that there is not")?)?;
        if side.outputs(1)? != wanted {
            return Err(format!("{}: {engine} sends other packets than the interpreter", whole.application));
        }
        let mut times = (0..rounds).map(|_| side.ns(passes).map(|(ns, _)| ns)).collect::<Result<Vec<f64>, String>>()?;
        Ok(super::median(&mut times).unwrap_or(f64::NAN))
    };
    ENGINES.into_iter().map(one).collect()
}

fn by_one(switch: &mut Switch, packets: &[Arrived<'_>]) -> Vec<Sent> {
    packets.iter().flat_map(|packet| switch.receive(packet.port, packet.bytes, packet.time_ns)).collect()
}

fn by_bursts(switch: &mut Switch, packets: &[Arrived<'_>]) -> Vec<Sent> {
    let (mut left, mut all) = (Departures::default(), Vec::new());
    for packets in packets.chunks(BURST) {
        switch.receive_all(packets, &mut left);
        all.extend(left.iter().map(|left| Sent { port: left.port, bytes: left.bytes.to_vec() }));
    }
    all
}

/// Takes what left no further, as those do who give it to a device at once.
fn through(switch: &mut Switch, packets: &[Arrived<'_>]) {
    let mut left = Departures::default();
    packets.chunks(BURST).for_each(|packets| switch.receive_all(packets, &mut left));
}

fn timed(packets: usize, run: impl FnOnce()) -> f64 {
    let begun = processor_time();
    run();
    (processor_time() - begun) as f64 / packets as f64
}

/// The bytes that left by each port.
fn by_port(sent: &[Sent]) -> Vec<Vec<u8>> {
    let of = |port: u32| sent.iter().filter(|packet| packet.port == port).flat_map(|packet| packet.bytes.iter().copied()).collect();
    (0..PORTS).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_send_all_packets_and_the_same_ones_in_bursts() {
        let forward = p4::whole_forward("P4 forward", 100, Popularity::Uniform);
        for whole in [forward, p4::whole_switch(64), p4::whole_acl(100), p4::whole_meters(100)] {
            let packets = &arrived(&whole)[..2000];
            let sent = by_one(&mut started(&whole).unwrap(), packets);
            assert_eq!(by_bursts(&mut started(&whole).unwrap(), packets), sent, "{}", whole.application);
            // A switch does not send frames back.
            assert!(sent.len() > packets.len() / 2 && sent.len() <= packets.len(), "{}: {}", whole.application, sent.len());
            assert_eq!(by_port(&sent).concat().len(), sent.len() * crate::traffic::LENGTH);
        }
    }
}
