//! Names for addresses, ports and patterns, as `AddressInfo`, `PortInfo` and `IPRewriterPatterns`
//! give them.
//!
//! A name is known in the compound where it is declared and in those within. One name may stand for
//! an address, a network, and an Ethernet address at the same time; `name:ip`, `:ipnet`, `:ip6`,
//! `:ip6net`, `:eth`, `:bcast` and `:gw` say which. Names of the machine's devices have no
//! addresses here: what a configuration means does not depend on where it is read. The message
//! about such a name says how to declare it.
//!
//! Source: Click's manuals of AddressInfo, PortInfo and IPRewriterPatterns.

use super::{ArgumentError, ethernet, integer, prefix};
use crate::click::config;
use crate::click::graph::{Element, Graph};
use crate::diagnostics::Diagnostic;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What a name stands for.
#[derive(Clone, Debug, Default)]
struct Meaning {
    ip: Option<u32>,
    net: Option<(u32, u32)>,
    ip6: Option<u128>,
    net6: Option<(u128, u128)>,
    ethernet: Option<[u8; 6]>,
    port: Option<u16>,
    pattern: Option<String>,
}

/// Classes whose elements say how rewriters choose patterns.
const MAPPERS: [&str; 2] = ["RoundRobinIPMapper", "SourceIPHashMapper"];

/// What reads a name's meaning.
type Declare = fn(&str, &mut Meaning) -> Result<(), ArgumentError>;

/// All names of a configuration.
#[derive(Debug, Default)]
pub struct Names {
    /// By the name with those of the compounds around it.
    known: HashMap<String, Meaning>,
    /// Classes by elements' names.
    classes: HashMap<String, String>,
    /// Arguments of the elements that others ask for theirs.
    mappers: HashMap<String, Vec<String>>,
}

/// The names that an element knows.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    names: &'a Names,
    /// The element's name, with those of its compounds.
    element: &'a str,
}

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

    /// The names known at an element.
    pub fn at<'a>(&'a self, element: &'a str) -> Scope<'a> {
        Scope { names: self, element }
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

/// What there is by a name in the innermost compound around an element that has it.
pub fn innermost<T>(element: &str, name: &str, mut find: impl FnMut(&str) -> Option<T>) -> Option<T> {
    let mut around = element;
    loop {
        let end = around.rfind('/').map_or(0, |at| at + 1);
        match find(&format!("{}{name}", &around[..end])) {
            Some(found) => return Some(found),
            None if end == 0 => return None,
            None => around = &around[..end - 1],
        }
    }
}

impl Scope<'_> {
    /// The innermost meaning of a name that has what is asked for.
    fn find<T>(&self, name: &str, of: impl Fn(&Meaning) -> Option<T>) -> Option<T> {
        innermost(self.element, name, |full| self.names.known.get(full).and_then(&of))
    }

    /// The arguments of a mapper.
    pub fn mapper(&self, name: &str) -> Option<&[String]> {
        innermost(self.element, name, |full| self.names.mappers.get(full)).map(Vec::as_slice)
    }

    /// The class of an element.
    pub fn class(&self, name: &str) -> Option<&str> {
        innermost(self.element, name, |full| self.names.classes.get(full)).map(String::as_str)
    }

    /// Addresses of AddressInfo in which names stand for others: the Ethernet address if they have
    /// one, else the IP address.
    fn put_in(&self, addresses: &str) -> String {
        let shown = |word: &str| {
            let ethernet = self.ethernet(word).map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":"));
            ethernet.or_else(|| self.ip(word).map(|address| Ipv4Addr::from(address).to_string())).unwrap_or_else(|| word.to_owned())
        };
        addresses.split_ascii_whitespace().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// The IPv4 address of a name.
    pub fn ip(&self, name: &str) -> Option<u32> {
        match name.rsplit_once(':') {
            None => self.find(name, |meaning| meaning.ip),
            Some((name, "ip")) => self.find(name, |meaning| meaning.ip),
            Some((name, "bcast")) => self.find(name, |meaning| meaning.net.map(|(address, mask)| address | !mask)),
            Some((name, "gw")) => self.find(name, |meaning| meaning.net.map(|(address, _)| address | 1)),
            Some(_) => None,
        }
    }

    /// The IPv4 network of a name.
    pub fn net(&self, name: &str) -> Option<(u32, u32)> {
        self.find(name.strip_suffix(":ipnet").unwrap_or(name), |meaning| meaning.net)
    }

    /// The IPv6 address of a name.
    pub fn ip6(&self, name: &str) -> Option<u128> {
        self.find(name.strip_suffix(":ip6").unwrap_or(name), |meaning| meaning.ip6)
    }

    /// The IPv6 network of a name.
    pub fn net6(&self, name: &str) -> Option<(u128, u128)> {
        self.find(name.strip_suffix(":ip6net").unwrap_or(name), |meaning| meaning.net6)
    }

    /// The Ethernet address of a name.
    pub fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        self.find(name.strip_suffix(":eth").unwrap_or(name), |meaning| meaning.ethernet)
    }

    /// The port of a name.
    pub fn port(&self, name: &str) -> Option<u16> {
        self.find(name, |meaning| meaning.port)
    }

    /// The pattern of a name.
    pub fn pattern(&self, name: &str) -> Option<String> {
        self.find(name, |meaning| meaning.pattern.clone())
    }
}
