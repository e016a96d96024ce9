//! Names of hosts from a file of the user's, in the form of /etc/hosts: an address, then names; `#`
//! begins a comment.
//!
//! Only the first name of an address is kept, and nothing is ever looked up elsewhere.

use crate::failure::{Failure, Outcome};
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

/// Names by address.
#[derive(Debug, Default)]
pub(crate) struct Hosts(HashMap<IpAddr, String>);

impl Hosts {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::failed(format_args!("--hosts {}: {error}", path.display())))?;
        Self::parse(&text).map_err(|(line, why)| Failure::failed(format_args!("--hosts {}: line {line}: {why}", path.display())))
    }

    /// The text of a file, whose lines are all right.
    pub(crate) fn text(path: &Path) -> Outcome<String> {
        Self::read(path)?;
        std::fs::read_to_string(path).map_err(|error| Failure::failed(format_args!("--hosts {}: {error}", path.display())))
    }

    /// The name of an address.
    pub(crate) fn name(&self, address: IpAddr) -> Option<&str> {
        self.0.get(&address).map(String::as_str)
    }

    /// What is wrong comes with the number of its line, from 1.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut names = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(first) = words.next() else { continue };
            // The zone of a link-local address says nothing of a packet.
            let bare = first.split('%').next().unwrap_or(first);
            let address = bare.parse().map_err(|_| (number, format!("'{}' is not an address", first.escape_debug())))?;
            let name = words.next().ok_or_else(|| (number, format!("{address} has no name behind it")))?;
            if name.chars().any(char::is_control) {
                return Err((number, "a name has a control character".to_owned()));
            }
            names.entry(address).or_insert_with(|| name.to_owned());
        }
        Ok(Self(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_names_count_and_faults_have_a_line() {
        let hosts = Hosts::parse("# mine\n10.0.0.1\trouter gw # x\n\nfe80::1%eth0 link\n10.0.0.1 other\n").unwrap();
        assert_eq!(hosts.name("10.0.0.1".parse().unwrap()), Some("router"));
        assert_eq!(hosts.name("fe80::1".parse().unwrap()), Some("link"));
        assert_eq!(hosts.name("10.0.0.2".parse().unwrap()), None);
        assert_eq!(Hosts::parse("10.0.0.1 a\nrouter 10.0.0.1\n").unwrap_err(), (2, "'router' is not an address".into()));
        assert_eq!(Hosts::parse("::1").unwrap_err().0, 1);
    }
}
