//! `netvm synth`: captures of synthetic traffic.

use crate::failure::{Failure, Outcome};
use netvm::io::between::{Between, Network};
use netvm::io::synth::messages::Messages;
use netvm::io::synth::services::Services;
use netvm::io::synth::{Mix, dhcp};
use netvm::io::{LinkType, Precision, Timestamp, WriteOptions, Writer};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Write a capture of synthetic traffic, to try things with
///
/// Packets as an uplink shows them: TCP, UDP, ICMP, IPv6, ARP, VLAN tags, fragments. The same
/// options give the same packets on every machine. With --ether, --src, --dst or --arp there is
/// IPv4 only, between hosts of those networks, as a router's port would receive it. No packet
/// belongs to a conversation. With --traffic there is what an application of apps/ has to do with.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm synth uplink.pcap -c 50000
  netvm synth eth0.pcap --ether 02:00:00:00:00:00 --src 10.0.0.0/24 --dst 10.0.1.0/24 --arp
  netvm synth lan.pcap -c 100000 --traffic dhcp:20000")]
pub(crate) struct Args {
    /// The capture; its name says the format, as with `filter -w`
    #[arg(value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    output: PathBuf,

    /// How many packets
    #[arg(short = 'c', long, value_name = "N", default_value_t = 10_000)]
    count: usize,

    /// Another seed gives other packets
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Something else than single packets: `dhcp:N`, what N hosts send to their DHCP server;
    /// `services:N`, N TCP connections of application protocols at a time; `messages:N`, messages
    /// of N flows in shuffled fragments, some with attacks
    #[arg(long, value_name = "KIND:N", value_parser = traffic, conflicts_with_all = ["ether", "src", "dst", "arp"])]
    traffic: Option<Traffic>,

    /// Send all frames to this Ethernet address
    #[arg(long, value_name = "MAC", value_parser = ether)]
    ether: Option<[u8; 6]>,

    /// Sources are hosts of this network, from its second address on
    #[arg(long, value_name = "ADDR[/LEN]", value_parser = network)]
    src: Option<Network>,

    /// Destinations are hosts of this network
    #[arg(long, value_name = "ADDR[/LEN]", value_parser = network)]
    dst: Option<Network>,

    /// Begin with ARP replies in which the hosts of --src tell their Ethernet addresses
    #[arg(long, requires = "src")]
    arp: bool,
}

/// What an application has to do with.
#[derive(Clone, Copy, Debug)]
enum Traffic {
    /// So many hosts.
    Dhcp(u32),
    /// So many connections at a time.
    Services(u32),
    /// So many flows.
    Messages(u32),
}

type Packets = Box<dyn Iterator<Item = (Timestamp, Vec<u8>)>>;

fn packets(args: &Args) -> Packets {
    let plain = args.ether.is_none() && args.src.is_none() && args.dst.is_none();
    let between = Between { ether: args.ether, src: args.src, dst: args.dst, arp: args.arp };
    match args.traffic {
        Some(Traffic::Dhcp(hosts)) => Box::new(dhcp::Hosts::new(args.seed, hosts)),
        Some(Traffic::Services(connections)) => Box::new(Services::new(args.seed, connections)),
        Some(Traffic::Messages(flows)) => Box::new(Messages::new(args.seed, flows)),
        None if plain => Box::new(Mix::new(args.seed)),
        None => Box::new(between.packets(args.seed)),
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let packets = packets(args);
    let plan = WriteOptions { precision: Precision::Micro, ..WriteOptions::for_output(&args.output, &[]) };
    let mut writer = Writer::create(&args.output, &plan)?;
    for (time, frame) in packets.take(args.count) {
        writer.write_packet(LinkType::EN10MB, time, u32::try_from(frame.len()).map_err(Failure::failed)?, &frame)?;
    }
    Ok(writer.finish().map(drop)?)
}

fn traffic(text: &str) -> Result<Traffic, String> {
    let wrong = || "expected dhcp:N, services:N or messages:N, with N from 1 to 1048576".to_owned();
    let (kind, number) = text.split_once(':').ok_or_else(wrong)?;
    match (kind, number.parse()) {
        ("dhcp", Ok(hosts @ 1..=dhcp::MOST)) => Ok(Traffic::Dhcp(hosts)),
        ("dhcp", _) => Err(format!("dhcp takes from 1 to {} hosts", dhcp::MOST)),
        ("services", Ok(connections @ 1..=1_048_576)) => Ok(Traffic::Services(connections)),
        ("messages", Ok(flows @ 1..=1_048_576)) => Ok(Traffic::Messages(flows)),
        _ => Err(wrong()),
    }
}

fn ether(text: &str) -> Result<[u8; 6], String> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| "not an Ethernet address such as 02:00:00:00:00:01".to_owned())
}

fn network(text: &str) -> Result<Network, String> {
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let wrong = || "not an IPv4 address or network such as 10.0.0.0/24".to_owned();
    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
    match length.parse::<u8>() {
        Ok(length @ 0..=32) => Ok((address, length)),
        _ => Err(wrong()),
    }
}
