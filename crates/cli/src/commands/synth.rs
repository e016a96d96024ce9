//! `netvm synth`: captures of synthetic traffic.

use crate::failure::{Failure, Outcome};
use netvm::io::between::{Between, Network};
use netvm::io::synth::Mix;
use netvm::io::{LinkType, Plan, Precision, Timestamp, Writer};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Write a capture of synthetic traffic, to try things with
///
/// Packets as an uplink shows them: TCP, UDP, ICMP, IPv6, ARP, VLAN tags, fragments. The same options give the same packets on every machine. With --ether, --src, --dst or
/// --arp there is IPv4 only, between hosts of those networks, as a router's port would receive it. No packet belongs to a conversation.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm synth uplink.pcap -c 50000
  netvm synth eth0.pcap --ether 02:00:00:00:00:00 --src 10.0.0.0/24 --dst 10.0.1.0/24 --arp")]
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

pub(crate) fn run(args: &Args) -> Outcome {
    let plain = args.ether.is_none() && args.src.is_none() && args.dst.is_none();
    let between = Between { ether: args.ether, src: args.src, dst: args.dst, arp: args.arp };
    let packets: Box<dyn Iterator<Item = (Timestamp, Vec<u8>)>> =
        if plain { Box::new(Mix::new(args.seed)) } else { Box::new(between.packets(args.seed)) };
    let plan = Plan { precision: Precision::Micro, ..Plan::for_output(&args.output, &[]) };
    let mut writer = Writer::create(&args.output, &plan)?;
    for (time, frame) in packets.take(args.count) {
        writer.write_packet(LinkType::EN10MB, time, u32::try_from(frame.len()).map_err(Failure::failed)?, &frame)?;
    }
    Ok(writer.finish().map(drop)?)
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
