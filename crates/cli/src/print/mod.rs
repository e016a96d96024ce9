//! Packets as lines of text, the way `tcpdump -nn` writes them.
//!
//! Pure functions from bytes to text, but for two memories that a reader expects: the last packet's
//! time (`-ttt`) and the first sequence numbers of TCP connections (`flows`). Nothing is ever
//! looked up: no host, no service, no interface has a name. Whatever the bytes are, printing ends,
//! with `[|proto]` where the captured bytes stop.
//!
//! Where this differs from tcpdump 4.99.3, and why:
//! - Of what TCP and UDP carry, `apps` lists what is decoded; other lines end with `length N`
//!   (docs/printing.md says which and how far).
//! - Protocols without a printer here give their name, or number, and length.
//! - `-v` shows no fields of OpenFlow, ForCES and SCTP chunks. `-ttt` and `-ttttt` count hours on
//!   past a day.
//! - Port 8472 is VXLAN, as Linux has it; tcpdump reads OTV there.
//! - `-e` shows no names of network card makers; cooked captures that were read from files number
//!   interfaces, tcpdump names them after those of the machine it happens to run on.
//! - `-x` of frames behind a PPI header shows what follows the inner header; tcpdump counts that
//!   header twice.
//! - TCP MD5 signatures are shown as hexadecimal bytes.

mod aodv;
mod aoe;
mod apps;
mod arp;
mod babel;
mod babel_fields;
mod bcm_li;
mod ber;
mod bfd;
mod bgp;
mod bgp_attributes;
mod bgp_routes;
mod bootp;
mod carp;
mod cdp;
mod chdlc;
mod checksum;
mod dccp;
mod dhcp;
mod dhcp6;
mod dns;
mod dns_name;
mod dns_record;
mod dvmrp;
mod eap;
mod eigrp;
mod escape;
mod ether;
mod flows;
mod frame_relay;
mod gtp;
mod hex;
mod hsrp;
mod icmp;
mod icmp6;
mod igmp;
mod ike;
mod ike1;
mod ike2;
mod ip4;
mod ip6;
mod isis;
mod isis_bridges;
mod isis_fields;
mod isis_reach;
mod link;
mod llc;
mod lldp;
mod lldp_bridges;
mod lldp_media;
mod lmp;
mod loopback;
mod m3ua;
mod media;
mod mld;
mod mptcp;
mod names;
mod nd;
mod netflow;
mod ntp;
mod openflow;
mod ospf;
mod ospf3;
mod ospf_lsa;
mod ospf_te;
mod overlay;
mod pgm;
mod pim;
mod ppp;
mod ppp_control;
mod ptp;
mod radio;
mod radius;
mod radius_attributes;
mod resp;
mod rip;
mod rpc;
mod rpl;
mod sctp;
mod slow;
mod snmp;
mod someip;
mod ssh;
mod stp;
mod syslog;
mod tcp;
mod tcp_options;
mod telnet;
mod text;
mod tftp;
mod time;
mod tls;
mod transport;
mod tunnel;
mod udld;
mod udp;
pub(crate) mod view;
mod vrrp;
mod wb;
mod wlan;
mod wlan_texts;
mod zmtp;

use flows::Flows;
use netvm::io::{LinkType, Timestamp};
use std::fmt::Write as _;
use std::net::IpAddr;
pub use time::{TimeForm, TimeStyle, Zone};
use view::View;

/// What is printed of a packet, and how.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// The link-layer header (`-e`).
    pub link: bool,
    /// How much more than a line (`-v`, `-vv`).
    pub verbose: u8,
    /// Less than usual (`-q`).
    pub quiet: bool,
    /// No word about the checksums of IPv4, TCP and UDP (`-K`).
    pub unchecked: bool,
    /// TCP sequence numbers as they are (`-S`).
    pub absolute: bool,
    /// The number of the packet before it (`-#`).
    pub number: bool,
    /// The time before it (`-t` …).
    pub time: TimeStyle,
    /// The packet's bytes after it (`-x`, `-X`, `-A`).
    pub dump: Dump,
    /// What UDP and TCP carry, whatever their ports (`-T`).
    pub carried: Option<Carried>,
    /// The name of an interface by its number, where those of the packets are known.
    pub interface: Option<fn(u32) -> Option<String>>,
}

/// What UDP and TCP may be said to carry, as tcpdump has it. What is not over TCP is over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Carried {
    /// Ad hoc On-Demand Distance Vector routing.
    Aodv,
    /// CARP, where VRRP would be.
    Carp,
    /// Cisco NetFlow.
    Cnfp,
    /// DNS, over TCP too.
    Domain,
    /// GTP, with the packet inside (not in tcpdump).
    Gtp,
    /// Link management, as on port 701.
    Lmp,
    /// Pragmatic General Multicast.
    Pgm,
    /// Pragmatic General Multicast with ZeroMQ's frames in its data, where IP carries it, too.
    #[value(name = "pgm_zmtp1")]
    PgmZmtp1,
    /// Precision time.
    Ptp,
    /// RADIUS.
    Radius,
    /// Redis, over TCP.
    Resp,
    /// Remote procedure calls.
    Rpc,
    /// RTP's control packets.
    Rtcp,
    /// Audio and video.
    Rtp,
    /// SNMP.
    Snmp,
    /// SOME/IP.
    Someip,
    /// TFTP.
    Tftp,
    /// TLS, over TCP: hellos with the server's name (not in tcpdump).
    Tls,
    /// Visual audio tool.
    Vat,
    /// Virtual extensible LAN.
    Vxlan,
    /// Distributed whiteboard.
    Wb,
    /// ZeroMQ's frames, over TCP.
    Zmtp1,
}

/// The packet's bytes under its line; with or without link-layer header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dump {
    /// None.
    #[default]
    None,
    /// Hexadecimal (`-x`, `-xx`).
    Hex {
        /// From the link-layer header on.
        link: bool,
    },
    /// Hexadecimal and text (`-X`, `-XX`).
    Both {
        /// From the link-layer header on.
        link: bool,
    },
    /// Text (`-A`, `-AA`).
    Text {
        /// From the link-layer header on.
        link: bool,
    },
}

/// A packet to print.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Its length on the wire in bytes.
    pub wire_len: u32,
    /// What it begins with.
    pub link: LinkType,
    /// When it was captured.
    pub time: Timestamp,
    /// Its number, from 1, among those printed.
    pub number: u64,
}

/// The ends of a packet: of the outermost IP header, and of what it carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Source and destination address.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// IP protocol number, that of the last extension header for IPv6.
    pub protocol: Option<u8>,
    /// TCP or UDP source and destination port.
    pub ports: Option<(u16, u16)>,
}

/// Prints packets, one after the other.
pub struct Printer {
    style: Style,
    clock: time::Clock,
    flows: Flows,
    text: String,
    ends: Ends,
}

impl Printer {
    /// A printer that has seen nothing; times of day are those of `zone`.
    pub fn new(style: Style, zone: Zone) -> Self {
        Self { clock: time::Clock::new(style.time, zone), style, flows: Flows::default(), text: String::new(), ends: Ends::default() }
    }

    /// The packet's text: a line or more, each with its line end.
    pub fn print(&mut self, packet: &Packet<'_>) -> &str {
        self.text.clear();
        if self.style.number {
            let _ = write!(self.text, "{:5}  ", packet.number);
        }
        match invalid(packet) {
            Some(why) => self.text.push_str(&why),
            None => self.packet(packet),
        }
        self.text.push('\n');
        &self.text
    }

    /// The text of the packet that was printed last.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ends of the packet that was printed last.
    pub fn ends(&self) -> Ends {
        self.ends
    }

    fn packet(&mut self, packet: &Packet<'_>) {
        self.clock.write(&mut self.text, packet.time);
        let view = View::new(packet.bytes, packet.wire_len as usize);
        let header = self.body(packet.link, view);
        self.dump(packet.bytes, header);
    }

    /// The protocols; returns the length of the link-layer header.
    fn body(&mut self, link: LinkType, view: View<'_>) -> usize {
        let text = std::mem::take(&mut self.text);
        let mut line = Line { text, style: &self.style, flows: &mut self.flows, protocol: "", header: 0, depth: 0, ends: Ends::default() };
        if link::print(&mut line, link, view).is_err() {
            line.cut();
        }
        let Line { text, header, ends, .. } = line;
        (self.text, self.ends) = (text, ends);
        header
    }

    fn dump(&mut self, bytes: &[u8], header: usize) {
        let part = |link: bool| if link { bytes } else { bytes.get(header..).unwrap_or(&[]) };
        match self.style.dump {
            Dump::None => {}
            Dump::Hex { link } => hex::hex(&mut self.text, part(link)),
            Dump::Both { link } => hex::hex_and_text(&mut self.text, part(link)),
            Dump::Text { link } => hex::text(&mut self.text, part(link)),
        }
    }
}

/// What is wrong with lengths that no packet can have.
fn invalid(packet: &Packet<'_>) -> Option<String> {
    let (captured, wire) = (packet.bytes.len(), packet.wire_len);
    let mut faults = Vec::new();
    if captured == 0 {
        faults.push(" caplen==0".to_owned());
    }
    match wire {
        0 => faults.push(" len==0".to_owned()),
        _ if (wire as usize) < captured => faults.push(format!(" len({wire}) < caplen({captured})")),
        _ => {}
    }
    (!faults.is_empty()).then(|| format!("[Invalid header:{}]", faults.join(",")))
}

/// The text of one packet while it is written.
struct Line<'p> {
    text: String,
    style: &'p Style,
    flows: &'p mut Flows,
    /// The protocol being printed, named where the packet is cut.
    protocol: &'static str,
    /// Length of the link-layer header.
    header: usize,
    /// Packets within packets.
    depth: u8,
    ends: Ends,
}

/// Packets within packets that are followed; more is a hostile packet.
const MAX_DEPTH: u8 = 16;

impl Line<'_> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn cut(&mut self) {
        let protocol = self.protocol;
        let _ = write!(self.text, " [|{protocol}]");
    }

    fn invalid(&mut self) {
        self.put(" (invalid)");
    }

    /// The bytes of what has no printer, unless the packet's are shown in hexadecimal anyway.
    fn unknown(&mut self, view: View<'_>) {
        if !self.style.quiet && matches!(self.style.dump, Dump::None | Dump::Text { .. }) {
            hex::hex_and_text(&mut self.text, view.captured());
        }
    }

    /// Prints a packet within the packet, if that is not too deep.
    fn nested(&mut self, print: impl FnOnce(&mut Self) -> view::Printed) -> view::Printed {
        if self.depth >= MAX_DEPTH {
            self.put("[nested too deep]");
            return Ok(());
        }
        self.depth += 1;
        let printed = print(self);
        self.depth -= 1;
        printed
    }
}

/// Appends formatted text to a line.
macro_rules! put {
    ($line:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!($line.text, $($arg)*);
    }};
}
use put;
