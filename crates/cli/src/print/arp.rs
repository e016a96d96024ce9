//! ARP and its relatives (RFC 826, RFC 903, RFC 2390).

use super::view::{Cut, Printed, View};
use super::{Line, ether::Mac, names, put};
use netvm::netil::fields::{arp, ethertype};
use std::net::Ipv4Addr;

/// The fixed fields; addresses follow: sender hardware, sender protocol, target hardware, target
/// protocol.
struct Arp<'a> {
    view: View<'a>,
    hardware: u16,
    protocol: u16,
    hardware_len: usize,
    protocol_len: usize,
}

impl Arp<'_> {
    fn hardware_address(&self, target: bool) -> Result<String, Cut> {
        let at = 8 + usize::from(target) * (self.hardware_len + self.protocol_len);
        let bytes = self.view.take(at, self.hardware_len)?;
        if let Ok(mac) = bytes.try_into() {
            return Ok(Mac(mac).to_string());
        }
        let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Ok(if digits.is_empty() { "<empty>".to_owned() } else { digits.join(":") })
    }

    fn protocol_address(&self, target: bool) -> Result<String, Cut> {
        let at = 8 + self.hardware_len + usize::from(target) * (self.hardware_len + self.protocol_len);
        match (self.protocol, self.protocol_len) {
            (ethertype::IPV4, 4) => Ok(Ipv4Addr::from(self.view.u32(at)?).to_string()),
            (ethertype::IPV4, _) => Ok("<wrong len>".to_owned()),
            _ => Ok("<wrong proto type>".to_owned()),
        }
    }

    fn target_is_known(&self) -> Result<bool, Cut> {
        let at = 8 + self.hardware_len + self.protocol_len;
        Ok(self.view.take(at, self.hardware_len)?.iter().any(|b| *b != 0))
    }
}

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "arp";
    view.take(0, 8)?;
    let arp = Arp {
        view,
        hardware: view.half(arp::HARDWARE)?,
        protocol: view.half(arp::PROTOCOL)?,
        hardware_len: view.byte(arp::HARDWARE_SIZE)?.into(),
        protocol_len: view.byte(arp::PROTOCOL_SIZE)?.into(),
    };
    view.take(8, 2 * (arp.hardware_len + arp.protocol_len))?;
    if !line.style.link {
        line.put("ARP, ");
    }
    let usual = arp.protocol == ethertype::IPV4 && arp.protocol_len == 4 && arp.hardware_len != 0;
    if !usual || line.style.verbose > 0 {
        kinds(line, &arp);
    }
    if usual || line.style.verbose > 0 {
        let separator = if line.style.verbose > 0 { ", " } else { "" };
        line.put(separator);
        if !operation(line, &arp)? {
            line.unknown(view);
            return Ok(());
        }
    }
    put!(line, ", length {}", view.len());
    Ok(())
}

fn kinds(line: &mut Line<'_>, arp: &Arp<'_>) {
    let hardware = names::find(
        &[(1, "Ethernet"), (6, "TokenRing"), (7, "ArcNet"), (15, "FrameRelay"), (17, "Strip"), (24, "IEEE 1394")],
        arp.hardware,
    );
    let hardware = hardware.map_or_else(|| format!("Unknown Hardware ({})", arp.hardware), str::to_owned);
    let protocol = match names::ethertype(arp.protocol) {
        "Unknown" => format!("Unknown Protocol (0x{:04x})", arp.protocol),
        name => name.to_owned(),
    };
    put!(line, "{hardware} (len {}), {protocol} (len {})", arp.hardware_len, arp.protocol_len);
}

/// Prints the operation with its addresses; false if it is unknown.
fn operation(line: &mut Line<'_>, arp: &Arp<'_>) -> Result<bool, Cut> {
    let (from, to) = (arp.protocol_address(false)?, arp.protocol_address(true)?);
    let (from_mac, to_mac) = (arp.hardware_address(false)?, arp.hardware_address(true)?);
    match arp.view.half(arp::OPERATION)? {
        1 if arp.target_is_known()? => put!(line, "Request who-has {to} ({to_mac}) tell {from}"),
        1 => put!(line, "Request who-has {to} tell {from}"),
        2 => put!(line, "Reply {from} is-at {from_mac}"),
        3 => put!(line, "Reverse Request who-is {to_mac} tell {from_mac}"),
        4 => put!(line, "Reverse Reply {to_mac} at {to}"),
        8 => put!(line, "Inverse Request who-is {to_mac} tell {from_mac}"),
        9 => put!(line, "Inverse Reply {from_mac} at {from}"),
        other => {
            put!(line, "Unknown ({other}) ");
            return Ok(false);
        }
    }
    Ok(true)
}
