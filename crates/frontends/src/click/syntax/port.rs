//! TCP and UDP ports: numbers, Click's names, the names that a `PortInfo` gives them, or the
//! machine's services, as filters have them.

use super::{ArgumentError, Reading, Scope, integer, number};
use crate::c::Value;

/// Names that are known without being declared. Source: Click's manual of IPClassifier.
const NAMES: [(&str, u16); 34] = [
    ("auth", 113),
    ("bootpc", 68),
    ("bootps", 67),
    ("chargen", 19),
    ("daytime", 13),
    ("discard", 9),
    ("dns", 53),
    ("domain", 53),
    ("echo", 7),
    ("finger", 79),
    ("ftp", 21),
    ("ftp-data", 20),
    ("https", 443),
    ("imap3", 220),
    ("imaps", 993),
    ("irc", 194),
    ("netbios-dgm", 138),
    ("netbios-ns", 137),
    ("netbios-ssn", 139),
    ("nntp", 119),
    ("ntp", 123),
    ("pop3", 110),
    ("pop3s", 995),
    ("pptp", 1723),
    ("rip", 520),
    ("route", 520),
    ("smtp", 25),
    ("snmp", 161),
    ("snmp-trap", 162),
    ("ssh", 22),
    ("sunrpc", 111),
    ("telnet", 23),
    ("tftp", 69),
    ("www", 80),
];

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let port = match integer::parse(text, 0) {
        Ok(port) => port,
        Err(_) => i128::from(named(text, reading.names).or_else(|| service(text)).ok_or("is not a port")?),
    };
    number(in_range(port)?, reading.ty)
}

/// A number of 16 bits.
pub(super) fn in_range(number: i128) -> Result<i128, ArgumentError> {
    if (0..=0xffff).contains(&number) { Ok(number) } else { Err(ArgumentError::new("is out of range, 0 to 65535")) }
}

/// The port of a service that the machine knows, or that is well known.
pub(in crate::click) fn service(name: &str) -> Option<u16> {
    crate::pcap_filter::names::service(name).and_then(|service| u16::try_from(service.port).ok())
}

/// The port of a name.
pub(in crate::click) fn named(name: &str, names: &Scope<'_>) -> Option<u16> {
    names.port(name).or_else(|| NAMES.iter().find(|(known, _)| *known == name).map(|(_, port)| *port))
}
