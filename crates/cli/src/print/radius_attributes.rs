//! Attributes of RADIUS: their names and values.
//!
//! Source: the registry of attributes (IANA) and the RFCs that it names.

use super::view::{Cut, Printed, View};
use super::{Line, eap, hex, ip6, names, ntp, put};
use std::net::Ipv6Addr;

/// How a value is printed.
#[derive(Clone, Copy)]
enum Value {
    Text,
    /// Text behind a tag (RFC 2868), which may be missing.
    Tagged,
    Password,
    VlanName,
    Eap,
    Number,
    Named(Names),
    /// A name behind a tag.
    TaggedNamed(Names),
    Preference,
    Vlan,
    Duration,
    /// A number of which one means that the server chooses.
    Network(u32, &'static str),
    Address,
    /// An address of which two mean that somebody chooses.
    Chosen,
    Address6,
    Prefix6,
    HomeLink,
    Vendor,
    Time,
    Features,
    Operator,
    Location,
    LocationData,
    LocationRules,
    Cause,
    Digits,
    Challenge,
    Rules,
    None,
}

/// Names of numbers: the first is that of the number given, or of 0.
type Names = (u32, &'static [&'static str]);

use Value::{Address, Address6, Duration, Named, Number, Prefix6, Tagged, TaggedNamed, Text};

#[rustfmt::skip]
const SERVICES: Names = (1, &[
    "Login", "Framed", "Callback Login", "Callback Framed", "Outbound", "Administrative", "NAS Prompt", "Authenticate Only",
    "Callback NAS Prompt", "Call Check", "Callback Administrative", "Voice", "Fax", "Modem Relay", "IAPP-Register", "IAPP-AP-Check",
    "Authorize Only", "Framed-Management", "Additional-Authorization",
]);
const FRAMED: Names = (1, &["PPP", "SLIP", "ARAP", "Gandalf proprietary", "Xylogics IPX/SLIP", "X.75 Synchronous", "GPRS PDP Context"]);
const ROUTING: Names = (0, &["None", "Send", "Listen", "Send&Listen"]);
const COMPRESSION: Names = (0, &["None", "VJ TCP/IP", "IPX", "Stac-LZS"]);
#[rustfmt::skip]
const LOGIN: Names = (0, &[
    "Telnet", "Rlogin", "TCP Clear", "PortMaster(proprietary)", "LAT", "X.25-PAD", "X.25-T3POS", "Unassigned", "TCP Clear Quiet",
]);
const TERMINATION: Names = (0, &["Default", "RADIUS-Request"]);
const INGRESS: Names = (1, &["Enabled", "Disabled"]);
#[rustfmt::skip]
const PORTS: Names = (0, &[
    "Async", "Sync", "ISDN Sync", "ISDN Async V.120", "ISDN Async V.110", "Virtual", "PIAFS", "HDLC Clear Channel", "X.25", "X.75",
    "G.3 Fax", "SDSL", "ADSL-CAP", "ADSL-DMT", "ISDN-DSL", "Ethernet", "xDSL", "Cable", "Wireless - Other", "Wireless - IEEE 802.11",
    "Token-Ring", "FDDI", "Wireless - CDMA200", "Wireless - UMTS", "Wireless - 1X-EV", "IAPP", "FTTP", "Wireless - IEEE 802.16",
    "Wireless - IEEE 802.20", "Wireless - IEEE 802.22", "PPPoA", "PPPoEoA", "PPPoEoE", "PPPoEoVLAN", "PPPoEoQinQ", "xPON", "Wireless - XGP",
    "WiMAX Pre-Release 8 IWK Function", "WIMAX-WIFI-IWK", "WIMAX-SFF", "WIMAX-HA-LMA", "WIMAX-DHCP", "WIMAX-LBS", "WIMAX-WVS",
]);
#[rustfmt::skip]
const ACCOUNTING: Names = (1, &[
    "Start", "Stop", "Interim-Update", "Unassigned", "Unassigned", "Unassigned", "Accounting-On", "Accounting-Off", "Tunnel-Start",
    "Tunnel-Stop", "Tunnel-Reject", "Tunnel-Link-Start", "Tunnel-Link-Stop", "Tunnel-Link-Reject", "Failed",
]);
const AUTHENTIC: Names = (1, &["RADIUS", "Local", "Remote", "Diameter"]);
#[rustfmt::skip]
const CAUSES: Names = (1, &[
    "User Request", "Lost Carrier", "Lost Service", "Idle Timeout", "Session Timeout", "Admin Reset", "Admin Reboot", "Port Error",
    "NAS Error", "NAS Request", "NAS Reboot", "Port Unneeded", "Port Preempted", "Port Suspended", "Service Unavailable", "Callback",
    "User Error", "Host Request", "Supplicant Restart", "Reauthentication Failure", "Port Reinitialized",
    "Port Administratively Disabled", "Lost Power",
]);
#[rustfmt::skip]
const TUNNELS: Names = (1, &[
    "PPTP", "L2F", "L2TP", "ATMP", "VTP", "AH", "IP-IP", "MIN-IP-IP", "ESP", "GRE", "DVS", "IP-in-IP Tunneling", "VLAN",
]);
#[rustfmt::skip]
const MEDIA: Names = (1, &[
    "IPv4", "IPv6", "NSAP", "HDLC", "BBN 1822", "802", "E.163", "E.164", "F.69", "X.121", "IPX", "Appletalk", "Decnet IV",
    "Banyan Vines", "E.164 with NSAP subaddress",
]);
const ZONES: Names = (1, &["Only access to dfl zone", "Use zone filter inc.", "Not used", "Use zone filter exc."]);
const PROMPTS: Names = (0, &["No Echo", "Echo"]);
#[rustfmt::skip]
const ERRORS: &[(u32, &str)] = &[
    (201, "Residual Session Context Removed"), (202, "Invalid EAP Packet (Ignored)"), (401, "Unsupported Attribute"),
    (402, "Missing Attribute"), (403, "NAS Identification Mismatch"), (404, "Invalid Request"), (405, "Unsupported Service"),
    (406, "Unsupported Extension"), (407, "Invalid Attribute Value"), (501, "Administratively Prohibited"),
    (502, "Request Not Routable (Proxy)"), (503, "Session Context Not Found"), (504, "Session Context Not Removable"),
    (505, "Other Proxy Processing Error"), (506, "Resources Unavailable"), (507, "Request Initiated"),
    (508, "Multiple Session Selection Unsupported"), (509, "Location Info Required"),
];

/// Attributes by their numbers: name and value.
#[rustfmt::skip]
const ATTRIBUTES: &[(u8, (&str, Value))] = &[
    (1, ("User-Name", Text)), (2, ("User-Password", Value::None)), (3, ("CHAP-Password", Value::None)), (4, ("NAS-IP-Address", Address)),
    (5, ("NAS-Port", Number)), (6, ("Service-Type", Named(SERVICES))), (7, ("Framed-Protocol", Named(FRAMED))),
    (8, ("Framed-IP-Address", Value::Chosen)), (9, ("Framed-IP-Netmask", Address)), (10, ("Framed-Routing", Named(ROUTING))),
    (11, ("Filter-Id", Text)), (12, ("Framed-MTU", Number)), (13, ("Framed-Compression", Named(COMPRESSION))),
    (14, ("Login-IP-Host", Value::Chosen)), (15, ("Login-Service", Named(LOGIN))), (16, ("Login-TCP-Port", Number)),
    (17, ("Unassigned", Value::None)), (18, ("Reply-Message", Text)), (19, ("Callback-Number", Text)), (20, ("Callback-Id", Text)),
    (21, ("Unassigned", Value::None)), (22, ("Framed-Route", Text)), (23, ("Framed-IPX-Network", Value::Network(0xffff_fffe, "NAS Select"))),
    (24, ("State", Text)), (25, ("Class", Text)), (26, ("Vendor-Specific", Value::Vendor)), (27, ("Session-Timeout", Duration)),
    (28, ("Idle-Timeout", Duration)), (29, ("Termination-Action", Named(TERMINATION))), (30, ("Called-Station-Id", Text)),
    (31, ("Calling-Station-Id", Text)), (32, ("NAS-Identifier", Text)), (33, ("Proxy-State", Text)), (34, ("Login-LAT-Service", Text)),
    (35, ("Login-LAT-Node", Text)), (36, ("Login-LAT-Group", Text)), (37, ("Framed-AppleTalk-Link", Value::Network(0, "Unnumbered"))),
    (38, ("Framed-AppleTalk-Network", Value::Network(0, "NAS assigned"))), (39, ("Framed-AppleTalk-Zone", Text)),
    (40, ("Acct-Status-Type", Named(ACCOUNTING))), (41, ("Acct-Delay-Time", Duration)), (42, ("Acct-Input-Octets", Number)),
    (43, ("Acct-Output-Octets", Number)), (44, ("Acct-Session-Id", Text)), (45, ("Acct-Authentic", Named(AUTHENTIC))),
    (46, ("Acct-Session-Time", Duration)), (47, ("Acct-Input-Packets", Number)), (48, ("Acct-Output-Packets", Number)),
    (49, ("Acct-Terminate-Cause", Named(CAUSES))), (50, ("Acct-Multi-Session-Id", Text)), (51, ("Acct-Link-Count", Number)),
    (52, ("Acct-Input-Gigawords", Number)), (53, ("Acct-Output-Gigawords", Number)), (54, ("Unassigned", Value::None)),
    (55, ("Event-Timestamp", Value::Time)), (56, ("Egress-VLANID", Value::Vlan)), (57, ("Ingress-Filters", Named(INGRESS))),
    (58, ("Egress-VLAN-Name", Value::VlanName)), (59, ("User-Priority-Table", Value::None)), (60, ("CHAP-Challenge", Text)),
    (61, ("NAS-Port-Type", Named(PORTS))), (62, ("Port-Limit", Number)), (63, ("Login-LAT-Port", Text)),
    (64, ("Tunnel-Type", TaggedNamed(TUNNELS))), (65, ("Tunnel-Medium-Type", TaggedNamed(MEDIA))), (66, ("Tunnel-Client-Endpoint", Tagged)),
    (67, ("Tunnel-Server-Endpoint", Tagged)), (68, ("Acct-Tunnel-Connection", Text)), (69, ("Tunnel-Password", Value::Password)),
    (70, ("ARAP-Password", Value::Challenge)), (71, ("ARAP-Features", Value::Rules)), (72, ("ARAP-Zone-Access", Named(ZONES))),
    (73, ("ARAP-Security", Text)), (74, ("ARAP-Security-Data", Text)), (75, ("Password-Retry", Number)), (76, ("Prompt", Named(PROMPTS))),
    (77, ("Connect-Info", Text)), (78, ("Configuration-Token", Text)), (79, ("EAP-Message", Value::Eap)), (80, ("Message-Authenticator", Text)),
    (81, ("Tunnel-Private-Group-ID", Tagged)), (82, ("Tunnel-Assignment-ID", Tagged)), (83, ("Tunnel-Preference", Value::Preference)),
    (84, ("ARAP-Challenge-Response", Value::Digits)), (85, ("Acct-Interim-Interval", Duration)), (86, ("Acct-Tunnel-Packets-Lost", Number)),
    (87, ("NAS-Port-Id", Text)), (88, ("Framed-Pool", Text)), (89, ("CUI", Text)), (90, ("Tunnel-Client-Auth-ID", Tagged)),
    (91, ("Tunnel-Server-Auth-ID", Tagged)), (92, ("NAS-Filter-Rule", Text)), (93, ("Unassigned", Value::None)),
    (94, ("Originating-Line-Info", Value::None)), (95, ("NAS-IPv6-Address", Address6)), (96, ("Framed-Interface-ID", Value::None)),
    (97, ("Framed-IPv6-Prefix", Prefix6)), (98, ("Login-IPv6-Host", Address6)), (99, ("Framed-IPv6-Route", Text)),
    (100, ("Framed-IPv6-Pool", Text)), (101, ("Error-Cause", Value::Cause)), (102, ("EAP-Key-Name", Value::None)), (103, ("Digest-Response", Text)),
    (104, ("Digest-Realm", Text)), (105, ("Digest-Nonce", Text)), (106, ("Digest-Response-Auth", Text)), (107, ("Digest-Nextnonce", Text)),
    (108, ("Digest-Method", Text)), (109, ("Digest-URI", Text)), (110, ("Digest-Qop", Text)), (111, ("Digest-Algorithm", Text)),
    (112, ("Digest-Entity-Body-Hash", Text)), (113, ("Digest-CNonce", Text)), (114, ("Digest-Nonce-Count", Text)), (115, ("Digest-Username", Text)),
    (116, ("Digest-Opaque", Text)), (117, ("Digest-Auth-Param", Text)), (118, ("Digest-AKA-Auts", Text)), (119, ("Digest-Domain", Text)),
    (120, ("Digest-Stale", Text)), (121, ("Digest-HA1", Text)), (122, ("SIP-AOR", Text)), (123, ("Delegated-IPv6-Prefix", Prefix6)),
    (124, ("MIP6-Feature-Vector", Value::Features)), (125, ("MIP6-Home-Link-Prefix", Value::HomeLink)), (126, ("Operator-Name", Value::Operator)),
    (127, ("Location-Information", Value::Location)), (128, ("Location-Data", Value::LocationData)),
    (129, ("Basic-Location-Policy-Rules", Value::LocationRules)),
];

pub(super) fn name(kind: u8) -> &'static str {
    names::find_any(ATTRIBUTES, kind).map_or("Unknown", |(name, _)| name)
}

/// Prints the value of an attribute.
pub(super) fn print(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let Some((_, how)) = names::find_any(ATTRIBUTES, kind) else { return Ok(()) };
    let right = match how {
        Number | Named(_) | TaggedNamed(_) | Value::Preference | Value::Vlan | Duration | Value::Network(..) => 4,
        Address | Value::Chosen | Value::Time => 4,
        Address6 => 16,
        Value::HomeLink => 17,
        Value::Challenge => 16,
        Value::Rules => 14,
        Value::Features => 8,
        Value::Cause if value.len() != 4 => {
            put!(line, "Error: length {} != 4", value.len());
            return Ok(());
        }
        _ => value.len(),
    };
    if value.len() != right {
        put!(line, "ERROR: length {} != {right}", value.len());
        return Ok(());
    }
    match how {
        Text | Tagged | Value::Password | Value::VlanName | Value::Eap => text(line, how, value),
        Address | Value::Chosen | Address6 | Prefix6 | Value::HomeLink => address(line, how, value),
        Value::Operator | Value::Location | Value::LocationData | Value::LocationRules => place(line, how, value),
        _ => number(line, how, value),
    }
}

/// Text up to the first zero; what is not printable as a dot.
fn plain(line: &mut Line<'_>, bytes: &[u8]) {
    let text = bytes.iter().take_while(|byte| **byte != 0);
    line.text.extend(text.map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }));
}

fn tag(line: &mut Line<'_>, tag: u8) {
    match tag {
        0 => line.put("Tag[Unused] "),
        _ => put!(line, "Tag[{tag}] "),
    }
}

fn vlan_tag(line: &mut Line<'_>, tag: u8) {
    put!(line, "{} (0x{tag:02x}) ", names::find(&[(0x31, "Tagged"), (0x32, "Untagged")], tag).unwrap_or("Unknown tag"));
}

fn text(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    let bytes = value.take(0, value.len())?;
    let first = value.u8(0)?;
    match how {
        Value::Password => {
            let salt = value.u16(1)?;
            tag(line, if first > 0x1f { 0 } else { first });
            put!(line, "Salt {salt} ");
            plain(line, &bytes[3..]);
        }
        Tagged if first <= 0x1f => {
            tag(line, first);
            plain(line, &bytes[1..]);
        }
        Value::VlanName => {
            vlan_tag(line, first);
            plain(line, &bytes[1..]);
        }
        Value::Eap => return eap::message(line, value),
        _ => plain(line, bytes),
    }
    Ok(())
}

fn address(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    match how {
        Value::Chosen if value.u32(0)? == u32::MAX => line.put("User Selected"),
        Value::Chosen if value.u32(0)? == u32::MAX - 1 => line.put("NAS Select"),
        Address | Value::Chosen => put!(line, "{}", value.v4(0)?),
        Address6 => line.put(&ip6::address_at(value, 0)?),
        Value::HomeLink if value.u8(0)? <= 128 => put!(line, "{}/{}", ip6::address_at(value, 1)?, value.u8(0)?),
        Value::HomeLink => put!(line, "ERROR: netmask {} not in range (0..128)", value.u8(0)?),
        _ if !(2..=18).contains(&value.len()) => put!(line, "ERROR: length {} not in range (2..18)", value.len()),
        _ => {
            let given = &value.take(0, value.len())?[2..];
            let width = value.u8(1)?;
            if width > 128 {
                put!(line, "ERROR: netmask {width} not in range (0..128)");
                return Ok(());
            }
            let mut octets = [0; 16];
            octets[..given.len()].copy_from_slice(given);
            put!(line, "{}/{width}", ip6::address(Ipv6Addr::from(octets)));
            line.put(if usize::from(width) > 8 * given.len() { " (inconsistent prefix length)" } else { "" });
        }
    }
    Ok(())
}

fn number(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    match how {
        Number => put!(line, "{}", value.u32(0)?),
        Named(names) => named(line, names, value.u32(0)?),
        TaggedNamed(names) => {
            tag(line, value.u8(0)?);
            named(line, names, value.u24(1)?);
        }
        Value::Preference => {
            tag(line, value.u8(0)?);
            put!(line, "{}", value.u24(1)?);
        }
        Value::Vlan => {
            vlan_tag(line, value.u8(0)?);
            put!(line, "{}", value.u24(1)?);
        }
        Duration => match value.u32(0)? {
            seconds @ 0..60 => put!(line, "{seconds:02} secs"),
            seconds @ 60..3600 => put!(line, "{:02}:{:02} min", seconds / 60, seconds % 60),
            seconds => put!(line, "{:02}:{:02}:{:02} hours", seconds / 3600, seconds % 3600 / 60, seconds % 60),
        },
        Value::Network(special, text) => match value.u32(0)? {
            network if network == special => line.put(text),
            network => put!(line, "{network}"),
        },
        Value::Time => {
            let time = jiff::Timestamp::from_second(value.u32(0)?.into()).unwrap_or_default();
            put!(line, "{}", time.strftime("%a %b %e %H:%M:%S %Y"));
        }
        Value::Features => features(line, value.u64(0)?),
        Value::Cause => {
            let cause = value.u32(0)?;
            let name = names::find_or(ERRORS, cause, || format!("Error-Cause {cause} not known"));
            put!(line, "Error cause {cause}: {name}");
        }
        Value::Digits if value.len() < 8 => put!(line, "ERROR: length {} != 8", value.len()),
        Value::Digits => put!(line, "{:016X}", value.u64(0)?),
        Value::Challenge => put!(line, "User_challenge ({:016X}) User_resp({:016X})", value.u64(0)?, value.u64(8)?),
        Value::Rules => {
            put!(line, "User {} change password", if value.u8(0)? != 0 { "can" } else { "cannot" });
            put!(line, ", Min password length: {}, created at: {:08X}", value.u8(1)?, value.u32(2)?);
            put!(line, ", expires in: {:08X}, Current Time: {:08X}", value.u32(6)?, value.u32(10)?);
        }
        Value::Vendor => vendor(line, value)?,
        _ => {}
    }
    Ok(())
}

fn named(line: &mut Line<'_>, (first, names): Names, number: u32) {
    match number.checked_sub(first).and_then(|at| names.get(at as usize)) {
        Some(name) => line.put(name),
        None => put!(line, "#{number}"),
    }
}

/// Mobile IPv6 (RFC 5447 and successors).
fn features(line: &mut Line<'_>, set: u64) {
    #[rustfmt::skip]
    let known = [
        (0, "MIP6_INTEGRATED"), (1, "LOCAL_HOME_AGENT_ASSIGNMENT"), (40, "PMIP6_SUPPORTED"), (41, "IP4_HOA_SUPPORTED"),
        (42, "LOCAL_MAG_ROUTING_SUPPORTED"), (43, "ASSIGN_LOCAL_IP"), (44, "MIP4_SUPPORTED"), (45, "OPTIMIZED_IDLE_MODE_MOBILITY"),
        (46, "GTPv2_SUPPORTED"), (47, "IP4_TRANSPORT_SUPPORTED"), (48, "IP4_HOA_ONLY_SUPPORTED"), (49, "INTER_MAG_ROUTING_SUPPORTED"),
    ];
    let names: Vec<&str> = known.iter().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, name)| *name).collect();
    put!(line, "[{}]", names.join(", "));
}

fn vendor(line: &mut Line<'_>, value: View<'_>) -> Result<(), Cut> {
    let maker = value.u32(0)?;
    put!(line, "Vendor: {} ({maker})", names::maker(maker));
    let mut rest = value.skip(4);
    while rest.len() >= 2 {
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        if length < 2 || length > rest.len() {
            let why = if length < 2 { "must be >= 2" } else { "goes past end of vendor-specific attribute" };
            put!(line, "\n\t    Vendor Attribute: {kind}, Length: {length} (bogus, {why})");
            break;
        }
        let bytes = rest.take(2, length - 2)?;
        put!(line, "\n\t    Vendor Attribute: {kind}, Length: {}, Value: ", length - 2);
        line.text.extend(bytes.iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }));
        rest = rest.skip(length);
    }
    Ok(())
}

/// Operators and places (RFC 5580).
fn place(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    value.take(0, value.len())?;
    let least = match how {
        Value::Operator => 2,
        Value::LocationData => 3,
        Value::LocationRules => 10,
        _ => 21,
    };
    if value.len() < least {
        put!(line, "ERROR: length {} < {least}", value.len());
        return Ok(());
    }
    let quoted = |line: &mut Line<'_>, at: usize| super::escape::text(&mut line.text, value.skip(at).captured());
    match how {
        Value::Operator => {
            let space = value.u8(0)?;
            let table = [(0x30, "TADIG"), (0x31, "REALM"), (0x32, "E212"), (0x33, "ICC")];
            put!(line, "[{}] ", names::find_or(&table, space, || format!("unknown namespace {space}")));
            quoted(line, 1);
        }
        Value::LocationData => {
            put!(line, "index {}, location", value.u16(0)?);
            hex::indented_text(&mut line.text, value.skip(2).captured(), "\n\t    ");
        }
        Value::LocationRules => {
            let flags = value.u16(0)?;
            let mut set: Vec<String> = (0..15).filter(|bit| flags >> bit & 1 == 1).map(|bit| format!("MBZ-{}", 15 - bit)).collect();
            set.extend((flags >> 15 == 1).then(|| "Retransmission Allowed".to_owned()));
            let set = if set.is_empty() { "none".to_owned() } else { set.join(", ") };
            put!(line, "flags [{set}], retention expires {}", ntp::time(value, 2)?);
            if value.len() > 10 {
                line.put(", note well \"");
                quoted(line, 10);
                line.put("\"");
            }
        }
        _ => {
            let (code, entity) = (value.u8(2)?, value.u8(3)?);
            let code = names::find_or(&[(0, "Civic"), (1, "Geospatial")], code, || format!("Unknown ({code})"));
            let entity = names::find_or(&[(0, "User"), (1, "RADIUS")], entity, || format!("Unknown ({entity})"));
            put!(line, "index {}, code {code}, entity {entity}, ", value.u16(0)?);
            put!(line, "sighting time {}, time to live {}, method \"", ntp::time(value, 4)?, ntp::time(value, 12)?);
            quoted(line, 20);
            line.put("\"");
        }
    }
    Ok(())
}
