//! The applications of the NetTM paper (Table 1) with the traffic that it describes: few flows,
//! which threads contend for, and many.

use super::cores::Subject;
use super::{INTERVAL, in_repository};
use netvm::io::Timestamp;
use netvm::io::synth::dhcp::Hosts;
use netvm::io::synth::messages::Messages;
use netvm::io::synth::services::Services;
use std::collections::BTreeMap;

/// Packets in a trace.
const PACKETS: usize = 32_768;
/// Packets that are timed: these applications take microseconds for some.
const TIMED: usize = 200_000;

/// So many TCP connections of application protocols at a time.
pub fn classifier(connections: usize) -> Subject {
    of("classifier", "apps/classifier", "in", Services::new(1, number(connections)))
}

/// Messages of so many flows in shuffled fragments.
pub fn intruder(flows: usize) -> Subject {
    of("intruder", "apps/intruder", "in", Messages::new(1, number(flows)))
}

/// What so many hosts ask of their server.
pub fn dhcp(hosts: usize) -> Subject {
    of("dhcp", "apps/dhcp", "lan", Hosts::new(1, number(hosts)))
}

fn number(entries: usize) -> u32 {
    u32::try_from(entries).unwrap_or(u32::MAX)
}

fn of(application: &'static str, folder: &str, device: &str, traffic: impl Iterator<Item = (Timestamp, Vec<u8>)>) -> Subject {
    let packets = traffic.take(PACKETS).map(|(_, bytes)| bytes).collect();
    Subject {
        application,
        file: in_repository(&format!("{folder}/{application}.click")),
        elements: vec![in_repository(&format!("{folder}/elements"))],
        parameters: BTreeMap::new(),
        inputs: BTreeMap::from([(device.to_owned(), packets)]),
        interval: INTERVAL,
        timed: TIMED,
    }
}
