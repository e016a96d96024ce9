//! Routes as `ip route` and `ip -6 route` print them, one a line, or as elements take them:
//! `PREFIX [GATEWAY] OUTPUT`, the output a number.
//!
//! Of a route with several ways (`nexthop`, on the same line or on lines of their own) the first is
//! taken. What is `unreachable`, `prohibit` or a `blackhole` goes nowhere, so that no shorter
//! prefix takes it. Of routes to one prefix, which stand together, the first has the least metric
//! and counts. Broadcasts, multicasts, the machine's own addresses and `throw` are not routes for
//! packets that pass through.
//!
//! Source: ip-route(8).

use super::{NOWHERE, Route, Routes, prefix};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is known of the lines before.
#[derive(Default)]
pub(super) struct Lines {
    /// The route before said of no way yet.
    open: bool,
}

impl Lines {
    /// Adds the route of a line, or a way to the one before.
    pub(super) fn line(&mut self, line: &str, routes: &mut Routes) -> Result<Option<Route>, String> {
        let mut words = line.split_ascii_whitespace().peekable();
        if line.starts_with([' ', '\t']) && words.peek() == Some(&"nexthop") {
            let (gateway, port) = way(words, &mut routes.ports)?;
            if let Some(last) = routes.all.last_mut().filter(|_| self.open) {
                (last.gateway, last.port) = (gateway, port.unwrap_or(0));
            }
            self.open = false;
            return Ok(None);
        }
        self.open = false;
        let mut to = words.next().unwrap_or("");
        match to {
            "unreachable" | "blackhole" | "prohibit" => return self.first_of_prefix(nowhere(words.next().unwrap_or(""))?, routes),
            "throw" | "broadcast" | "multicast" | "anycast" | "local" | "nat" => return Ok(None),
            "unicast" => to = words.next().ok_or("a prefix is missing")?,
            _ => {}
        }
        if let Some(route) = numbered(to, words.clone()) {
            return route.map(Some);
        }
        let (gateway, port) = way(words, &mut routes.ports)?;
        self.open = gateway.is_none() && port.is_none();
        let (address, length) = match (to, gateway) {
            ("default", Some(IpAddr::V6(_))) => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
            ("default", _) => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            (text, _) => prefix(text).ok_or_else(|| format!("`{text}` is not a prefix"))?,
        };
        self.first_of_prefix(Route::new(address, length, gateway, port.unwrap_or(0)), routes)
    }

    /// The route, if the one before is not to the same prefix.
    fn first_of_prefix(&mut self, route: Option<Route>, routes: &Routes) -> Result<Option<Route>, String> {
        let place = |route: &Route| (route.address, route.length);
        let is_second = route.is_some() && routes.all.last().map(place) == route.as_ref().map(place);
        self.open &= !is_second;
        Ok(route.filter(|_| !is_second))
    }
}

/// A route that packets do not get farther on; none if it is the default, since without one they do
/// not either.
fn nowhere(to: &str) -> Result<Option<Route>, String> {
    if to == "default" {
        return Ok(None);
    }
    let (address, length) = prefix(to).ok_or_else(|| format!("`{to}` is not a prefix"))?;
    Ok(Route::new(address, length, None, NOWHERE))
}

/// A route whose output is a number, the last word.
fn numbered<'a>(to: &str, mut words: impl Iterator<Item = &'a str>) -> Option<Result<Route, String>> {
    let (gateway, port) = match (words.next()?, words.next()) {
        (port, None) => (None, port),
        ("-", Some(port)) => (None, port),
        (gateway, Some(port)) => (Some(gateway.parse().ok()?), port),
    };
    let port = port.parse().ok().filter(|_| words.next().is_none())?;
    let route = prefix(to).and_then(|(address, length)| Route::new(address, length, gateway, port));
    Some(route.ok_or_else(|| format!("`{to}` is not a prefix")))
}

/// The first router and device that are named.
fn way<'a>(mut words: impl Iterator<Item = &'a str>, ports: &mut Vec<String>) -> Result<(Option<IpAddr>, Option<u32>), String> {
    let (mut gateway, mut device) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "via" if gateway.is_none() => gateway = Some(router(&mut words)?),
            "dev" if device.is_none() => device = Some(words.next().ok_or("a device is missing behind `dev`")?),
            _ => {}
        }
    }
    Ok((gateway, device.map(|device| port(device, ports)).transpose()?))
}

/// The address behind `via`, perhaps behind its family.
fn router<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<IpAddr, String> {
    let word = words.next().ok_or("an address is missing behind `via`")?;
    let word = if matches!(word, "inet" | "inet6") { words.next().unwrap_or("") } else { word };
    word.parse().map_err(|_| format!("`{word}` is not an address"))
}

/// The number of a device.
fn port(device: &str, ports: &mut Vec<String>) -> Result<u32, String> {
    const MOST: usize = 1 << 16;
    if let Some(known) = ports.iter().position(|known| known == device) {
        return Ok(known as u32);
    }
    if ports.len() == MOST {
        return Err(format!("more than {MOST} devices"));
    }
    ports.push(device.to_owned());
    Ok(ports.len() as u32 - 1)
}
