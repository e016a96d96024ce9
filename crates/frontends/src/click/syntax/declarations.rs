//! What `AddressInfo`, `PortInfo`, `IPRewriterPatterns` and mappers of a configuration declare
//! ([`super::names`]).
//!
//! Source: Click's manuals of AddressInfo, PortInfo and IPRewriterPatterns.

use super::names::{Meaning, Names, Scope};
use super::{ArgumentError, ethernet, integer, prefix};
use crate::click::config;
use crate::click::graph::{Element, Graph};
use crate::diagnostics::Diagnostic;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Classes whose elements say how rewriters choose patterns.
const MAPPERS: [&str; 2] = ["RoundRobinIPMapper", "SourceIPHashMapper"];

/// What reads a name's meaning.
type Declare = fn(&str, &mut Meaning) -> Result<(), ArgumentError>;

impl Names {
    /// What the elements of a configuration declare, and what is wrong with that.
    pub fn of(graph: &Graph) -> (Self, Vec<Diagnostic>) {
        let (mut names, mut faults, mut later) = (Self::default(), Vec::new(), Vec::new());
        for element in &graph.elements {
            names.classes.insert(element.name.clone(), element.class.clone());
            if MAPPERS.contains(&element.class.as_str()) {
                names.mappers.insert(element.name.clone(), element.arguments.clone());
            }
            let declare: Declare = match element.class.as_str() {
                "AddressInfo" => address,
                "PortInfo" => port,
                "IPRewriterPatterns" => pattern,
                _ => continue,
            };
            for argument in element.arguments.iter().flat_map(|argument| lines(&element.class, argument)) {
                if names.declare(element, &argument, declare).is_err() {
                    later.push((element, argument, declare));
                }
            }
        }
        // What is named further down is known by now.
        for (element, argument, declare) in later {
            if let Err(wrong) = names.declare(element, &argument, declare) {
                faults.push(Diagnostic::new(element.span, format!("`{argument}` of `{element}`: {wrong}", element = element.name)));
            }
        }
        (names, faults)
    }

    /// `NAME MEANING…`
    fn declare(&mut self, element: &Element, argument: &str, add: Declare) -> Result<(), ArgumentError> {
        let argument = String::from_utf8_lossy(&config::unquote(argument)).into_owned();
        let (name, rest) = config::first_word(&argument);
        if rest.is_empty() {
            return Err(ArgumentError::new("expected `NAME VALUE`"));
        }
        let rest = if element.class == "AddressInfo" { self.at(&element.name).put_in(rest) } else { rest.to_owned() };
        let around = element.name.rfind('/').map_or("", |at| &element.name[..=at]);
        let meaning = self.known.entry(format!("{around}{name}")).or_default();
        add(&rest, meaning)
    }
}

impl Scope<'_> {
    /// Addresses of AddressInfo in which names stand for others: the Ethernet address if they have
    /// one, else the IP address.
    fn put_in(&self, addresses: &str) -> String {
        let shown = |word: &str| {
            let ethernet = self.ethernet(word).map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":"));
            ethernet.or_else(|| self.ip(word).map(|address| Ipv4Addr::from(address).to_string())).unwrap_or_else(|| word.to_owned())
        };
        addresses.split_ascii_whitespace().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// What an argument declares, a name each: ports may have several, and comments behind them.
fn lines(class: &str, argument: &str) -> Vec<String> {
    if class != "PortInfo" {
        return vec![argument.to_owned()];
    }
    let text = String::from_utf8_lossy(&config::unquote(argument)).into_owned();
    let mut words = text.split('#').next().unwrap_or_default().split_ascii_whitespace();
    let (Some(name), port) = (words.next(), words.next().unwrap_or_default()) else { return Vec::new() };
    std::iter::once(name).chain(words).map(|name| format!("{name} {port}")).collect()
}

fn address(text: &str, meaning: &mut Meaning) -> Result<(), ArgumentError> {
    text.split_ascii_whitespace().try_for_each(|word| {
        one_address(word, meaning).ok_or_else(|| ArgumentError::new(format!("`{word}` {}", super::address::not(word, "an address"))))
    })
}

fn one_address(word: &str, meaning: &mut Meaning) -> Option<()> {
    let nothing = Names::default();
    let none = nothing.at("");
    if let Some((address, mask)) = prefix::parse(word, true, &none) {
        let host = address & !mask != 0 || mask == u32::MAX;
        meaning.ip = if host { Some(address) } else { meaning.ip };
        meaning.net = if word.contains('/') { Some((address & mask, mask)) } else { meaning.net };
        return Some(());
    }
    if let Some(address) = ethernet::plain(word) {
        meaning.ethernet = Some(address);
        return Some(());
    }
    if let Ok(address) = word.parse::<Ipv6Addr>() {
        meaning.ip6 = Some(address.into());
        return Some(());
    }
    let (address, mask) = prefix::plain_ip6(word, |_| None)?;
    meaning.ip6 = if address & !mask != 0 || mask == u128::MAX { Some(address) } else { meaning.ip6 };
    meaning.net6 = Some((address & mask, mask));
    Some(())
}

/// A port, perhaps with its protocol, which makes no difference here.
fn port(text: &str, meaning: &mut Meaning) -> Result<(), ArgumentError> {
    let (number, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let number = integer::parse(number, 0).ok().and_then(|number| u16::try_from(number).ok());
    meaning.port = number.filter(|_| matches!(protocol, "tcp" | "udp"));
    meaning.port.map(|_| ()).ok_or_else(|| ArgumentError::new(format!("`{text}` is not a port")))
}

/// What is read where the name is used.
fn pattern(text: &str, meaning: &mut Meaning) -> Result<(), ArgumentError> {
    meaning.pattern = Some(text.to_owned());
    Ok(())
}
