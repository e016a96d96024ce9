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

use std::collections::HashMap;

/// What a name stands for.
#[derive(Clone, Debug, Default)]
pub(super) struct Meaning {
    pub(super) ip: Option<u32>,
    pub(super) net: Option<(u32, u32)>,
    pub(super) ip6: Option<u128>,
    pub(super) net6: Option<(u128, u128)>,
    pub(super) ethernet: Option<[u8; 6]>,
    pub(super) port: Option<u16>,
    pub(super) pattern: Option<String>,
}

/// All names of a configuration.
#[derive(Debug, Default)]
pub struct Names {
    /// By the name with those of the compounds around it.
    pub(super) known: HashMap<String, Meaning>,
    /// Classes by elements' names.
    pub(super) classes: HashMap<String, String>,
    /// Arguments of the elements that others ask for theirs.
    pub(super) mappers: HashMap<String, Vec<String>>,
}

/// The names that an element knows.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    names: &'a Names,
    /// The element's name, with those of its compounds.
    element: &'a str,
}

impl Names {
    /// The names known at an element.
    pub fn at<'a>(&'a self, element: &'a str) -> Scope<'a> {
        Scope { names: self, element }
    }
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
