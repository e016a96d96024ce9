//! Lists of addresses, one a line, as block lists are published: IPv4 and IPv6 addresses, networks
//! and ranges, with comments after `#` or `;`.
//!
//! Such a text is taken for `host A or net N or …`. A text is a list if the first line that says
//! something is one address, network or range, as then all others must be; no such text is a
//! filter, so nothing that is a filter changes its meaning. Bits of a network's address outside its
//! mask are left out, which a filter would refuse.

use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A line of a list that is no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// The line's number, from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.text.chars().take(MAX_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
        write!(
            f,
            "line {}: `{text}` is no address, network (192.0.2.0/24) or range (192.0.2.1-192.0.2.9), as the lines before are",
            self.line
        )
    }
}

impl std::error::Error for BadEntry {}

/// Characters of a bad line that are shown.
const MAX_SHOWN: usize = 60;

/// The filter for a list of addresses; `None` if the text is not such a list.
///
/// # Errors
/// A later line is no entry.
pub fn filter_of_list(text: &str) -> Result<Option<String>, BadEntry> {
    let said = |line: &'_ str| line.find(['#', ';']).map_or(line.len(), |at| at);
    let lines = text.trim_start_matches('\u{feff}').lines().map(|line| line[..said(line)].trim());
    let mut filter = String::new();
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let Some(networks) = entry(line) else {
            return if filter.is_empty() { Ok(None) } else { Err(BadEntry { line: number, text: line.to_owned() }) };
        };
        for network in networks {
            let join = if filter.is_empty() { "" } else { " or " };
            // Writing to a string does not fail.
            let _ = write!(filter, "{join}{network}");
        }
    }
    Ok((!filter.is_empty()).then_some(filter))
}

fn entry(line: &str) -> Option<Vec<String>> {
    if let Some((address, length)) = line.split_once('/') {
        return network(address.parse().ok()?, length.parse().ok()?).map(|network| vec![network]);
    }
    if let Some((first, last)) = line.split_once('-') {
        return networks(first.trim(), last.trim());
    }
    let address: IpAddr = line.parse().ok()?;
    Some(vec![format!("host {address}")])
}

fn network(address: IpAddr, length: u32) -> Option<String> {
    Some(match address {
        IpAddr::V4(v4) if length <= 32 => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            format!("net {}/{length}", Ipv4Addr::from(u32::from(v4) & mask))
        }
        IpAddr::V6(v6) if length <= 128 => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            format!("net {}/{length}", Ipv6Addr::from(u128::from(v6) & mask))
        }
        _ => return None,
    })
}

/// The fewest networks that have the addresses from the first to the last; `None` if these are no
/// addresses in that order.
pub(super) fn networks(first: &str, last: &str) -> Option<Vec<String>> {
    let (mut low, high, width) = match (first.parse().ok()?, last.parse().ok()?) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(u32::from(a)), u128::from(u32::from(b)), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a), u128::from(b), 128),
        _ => return None,
    };
    let mut found = Vec::new();
    while low <= high {
        let aligned = low.trailing_zeros().min(width);
        let left = (high - low).checked_add(1).map_or(128, u128::ilog2);
        let free = aligned.min(left);
        let address = match width {
            32 => IpAddr::V4(Ipv4Addr::from(u32::try_from(low).ok()?)),
            _ => IpAddr::V6(Ipv6Addr::from(low)),
        };
        found.push(if free == 0 { format!("host {address}") } else { format!("net {address}/{}", width - free) });
        match 1u128.checked_shl(free).and_then(|size| low.checked_add(size)) {
            Some(next) => low = next,
            None => break,
        }
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_list_is_a_filter() {
        let text = "# one a line\r\n192.0.2.0/24 ; SBL1\n\n198.51.100.7\n2001:db8::/32\n10.0.0.9/8\n192.0.2.1-192.0.2.4\n";
        let filter = "net 192.0.2.0/24 or host 198.51.100.7 or net 2001:db8::/32 or net 10.0.0.0/8 or host 192.0.2.1 or net 192.0.2.2/31 or host 192.0.2.4";
        assert_eq!(filter_of_list(text).as_ref().map(Option::as_deref), Ok(Some(filter)));
        assert!(super::super::parse(filter).is_ok());
    }

    #[test]
    fn what_is_no_list_stays_what_it_is() {
        for text in ["host 10.0.0.1", "", "# nothing", "tcp\n10.0.0.1", "10.0.0.1/33", "10.0.0.1 or 10.0.0.2", "10.0.0.2-10.0.0.1", "tcp"] {
            assert_eq!(filter_of_list(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn a_bad_line_is_told_by_its_number() {
        let bad = |line, text: &str| Err(BadEntry { line, text: text.into() });
        assert_eq!(filter_of_list("# today\n192.0.2.1\n\nexample.com # no address\n"), bad(4, "example.com"));
        assert_eq!(filter_of_list("192.0.2.0/24\n192.0.2.0/33"), bad(2, "192.0.2.0/33"));
        assert_eq!(filter_of_list("10.0.0.1\ntcp"), bad(2, "tcp"));
    }

    #[test]
    fn ranges_reach_both_ends() {
        assert_eq!(networks("0.0.0.0", "255.255.255.255").unwrap(), ["net 0.0.0.0/0"]);
        assert_eq!(networks("255.255.255.254", "255.255.255.255").unwrap(), ["net 255.255.255.254/31"]);
        assert_eq!(networks("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").unwrap(), ["net ::/0"]);
        assert_eq!(networks("::1", "::1").unwrap(), ["host ::1"]);
        assert_eq!(networks("1.0.0.0", "::1"), None);
    }
}
