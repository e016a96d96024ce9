//! What IPRewriter does with the first packet of a flow, for each input: `drop`, `pass OUT`,
//! `keep FOUT ROUT`, `pattern SADDR SPORT DADDR DPORT FOUT ROUT`.
//!
//! An element's name instead is that of a mapper, RoundRobinIPMapper or SourceIPHashMapper, whose
//! patterns it stands for.
//!
//! A source port may be a range, `1024-65535`; a free port of it is taken, the packet's own if it
//! is one. `#` behind it: ports are taken in order; `?`: at random. A pattern may have the name
//! that an `IPRewriterPatterns` gives it.
//!
//! ICMPPingRewriter's patterns are `SADDR DADDR IDENT`, and identifiers begin with 0.
//!
//! IPAddrRewriter's patterns are `SADDR -` or `- -`, where SADDR may be a range, `1.0.0.1-1.0.0.9`,
//! or a prefix, whose first and last address are left out; IPAddrPairRewriter's are `SADDR DADDR`.
//!
//! Source: Click's manuals of IPRewriter, IPAddrRewriter, IPAddrPairRewriter and ICMPPingRewriter.

mod mapper;

use super::request::{Generated, Request};
use super::{ArgumentError, address, integer, prefix, routes};
use crate::c::Value;
use std::fmt::Write as _;

/// What a pattern puts in: 0 keeps what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pattern {
    saddr: u32,
    /// The last of a range of addresses.
    saddr_last: u32,
    daddr: u32,
    sport: (u16, u16),
    dport: u16,
    sequential: bool,
    random: bool,
}

/// How the fields of a pattern are read.
type Fields = fn(&Request<'_>, &[&str]) -> Result<Pattern, ArgumentError>;

/// Patterns of addresses and ports.
pub(super) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    specifications(request, pattern, true)
}

/// Patterns of source addresses.
pub(super) fn write_addresses(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    specifications(request, addresses, false)
}

/// Patterns of source and destination addresses.
pub(super) fn write_pairs(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    specifications(request, pairs, false)
}

/// Patterns of addresses and identifiers.
pub(super) fn write_pings(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    specifications(request, pings, false)
}

/// Writes `static const struct rewrite_spec NAME[]` and `enum { NAME_count }`.
fn specifications(request: &Request<'_>, fields: Fields, mapped: bool) -> Result<Generated, Vec<ArgumentError>> {
    let (given, wanted) = (request.arguments.len(), request.inputs as usize);
    if given != wanted {
        return Err(vec![ArgumentError::new(format!("{given} specifications for {wanted} inputs: each input needs one"))]);
    }
    let mut patterns = Vec::new();
    let read = |(n, argument): (usize, &String)| {
        row(request, argument, fields, mapped, &mut patterns).map_err(|wrong| ArgumentError::new(format!("input spec {n}: {wrong}")))
    };
    let (rows, faults): (Vec<_>, Vec<_>) = request.arguments.iter().enumerate().map(read).partition(Result::is_ok);
    if !faults.is_empty() {
        return Err(faults.into_iter().filter_map(Result::err).collect());
    }
    let rows: Vec<Vec<String>> = rows.into_iter().flatten().collect();
    let choices = choices(request, &rows);
    let name = request.name;
    let mut source = format!("enum {{ {name}_count = {given} }};\nstatic const struct rewrite_spec {name}[] = {{\n");
    for row in rows.iter().filter_map(|rows| rows.first()) {
        let _ = writeln!(source, "    {{ {row} }},");
    }
    Ok(Generated::source(source + "};\n" + &choices?))
}

/// What mappers choose from: `NAME_choices[]`, and for each input `NAME_mappers[]`, where its part
/// of them begins, how many there are, and `NAME_nodes[]`, by which sources are spread over them.
fn choices(request: &Request<'_>, rows: &[Vec<String>]) -> Result<String, Vec<ArgumentError>> {
    let name = request.name;
    let (mut choices, mut mappers, mut nodes) = (Vec::new(), String::new(), Vec::new());
    for (argument, rows) in request.arguments.iter().zip(rows) {
        let first = nodes.len();
        if rows.len() > 1 {
            nodes.extend(mapper::nodes(request, argument).map_err(|wrong| vec![wrong])?);
        }
        let count = if rows.len() > 1 { rows.len() - 1 } else { 0 };
        let _ = writeln!(mappers, "    {{ {}, {count}, {first}, {} }},", choices.len(), nodes.len() - first);
        choices.extend(rows.iter().skip(1));
    }
    let mut text =
        format!("enum {{ {name}_choices_count = {} }};\nstatic const struct rewrite_spec {name}_choices[] = {{\n", choices.len());
    for row in &choices {
        let _ = writeln!(text, "    {{ {row} }},");
    }
    if choices.is_empty() {
        let _ = writeln!(text, "    {{ {} }},", initialiser("DROP", 0, 0, Pattern::default(), 0));
    }
    let _ = write!(
        text,
        "}};\nstatic const struct rewrite_mapper {name}_mappers[] = {{\n{mappers}}};\nstatic const struct rewrite_node {name}_nodes[] = {{\n"
    );
    for (key, choice) in &nodes {
        let _ = writeln!(text, "    {{ {key}, {choice} }},");
    }
    if nodes.is_empty() {
        text += "    { 0, 0 },\n";
    }
    Ok(text + "};\n")
}

/// What a mapper's own arguments are: patterns of addresses and ports. Nothing is made of them here
/// but their number.
pub(super) fn write_mapper(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let mut patterns = Vec::new();
    let all =
        if request.arguments.first().is_some_and(|first| mapper::is_seed(first)) { &request.arguments[1..] } else { request.arguments };
    if all.is_empty() {
        return Err(vec![ArgumentError::new("no patterns given")]);
    }
    // Outputs are those of the rewriter, which looks whether it has them.
    let request = Request { outputs: u32::MAX, ..*request };
    let mut read = |argument: &String| mapper::choice(&request, argument, request.arguments.len() > all.len(), pattern, &mut patterns);
    let faults: Vec<ArgumentError> = all.iter().filter_map(|argument| read(argument).err()).collect();
    match faults.is_empty() {
        true => Ok(Generated::source(format!("enum {{ {}_count = {} }};\n", request.name, all.len()))),
        false => Err(faults),
    }
}

/// One specification as an initialiser; patterns that are the same have the same number. Behind
/// that of a mapper, those that it chooses from.
fn row(
    request: &Request<'_>,
    argument: &str,
    fields: Fields,
    mapped: bool,
    patterns: &mut Vec<Pattern>,
) -> Result<Vec<String>, ArgumentError> {
    let words = Request::words(argument);
    if let [name] = &words[..]
        && let Some(arguments) = request.names.mapper(name)
    {
        if !mapped {
            return Err(ArgumentError::new(format!("`{name}` has patterns of addresses and ports, which this class does not take")));
        }
        return mapper::rows(request, arguments, fields, patterns);
    }
    single(request, argument, fields, patterns).map(|row| vec![row])
}

fn single(request: &Request<'_>, argument: &str, fields: Fields, patterns: &mut Vec<Pattern>) -> Result<String, ArgumentError> {
    let words = Request::words(argument);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = |text: &str| match routes::output(request, text)? {
        Value::Int(number) => Ok::<u64, ArgumentError>(number),
        _ => Err(ArgumentError::new("an output is a number")),
    };
    match words[..] {
        ["drop" | "discard"] => Ok(initialiser("DROP", 0, 0, Pattern::default(), 0)),
        ["pass" | "passthrough" | "nochange"] => Ok(initialiser("PASS", output("0")?, 0, Pattern::default(), 0)),
        ["pass" | "passthrough" | "nochange", to] => Ok(initialiser("PASS", output(to)?, 0, Pattern::default(), 0)),
        ["keep", forward, reply] => Ok(initialiser("KEEP", output(forward)?, output(reply)?, Pattern::default(), 0)),
        ["pattern", ref given @ .., forward, reply] => {
            let words = if let [name] = *given { named(request, name)? } else { given.iter().map(|word| (*word).to_owned()).collect() };
            let pattern = fields(request, &words.iter().map(String::as_str).collect::<Vec<_>>())?;
            let number = patterns.iter().position(|known| *known == pattern).unwrap_or(patterns.len());
            if number == patterns.len() {
                patterns.push(pattern);
            }
            Ok(initialiser("PATTERN", output(forward)?, output(reply)?, pattern, number))
        }
        _ => Err(ArgumentError::new(format!("`{argument}`: expected `drop`, `pass OUT`, `keep FOUT ROUT` or `pattern … FOUT ROUT`"))),
    }
}

fn initialiser(kind: &str, forward: u64, reply: u64, pattern: Pattern, number: usize) -> String {
    let Pattern { saddr, saddr_last, daddr, sport: (first, last), dport, sequential, random } = pattern;
    format!(
        "REWRITE_{kind}, {forward}, {reply}, htonl({saddr:#x}), htonl({daddr:#x}), {first}, {last}, htons({dport}), {sequential}, {random}, {number}, htonl({saddr_last:#x})"
    )
}

/// The fields of the pattern that has that name.
fn named(request: &Request<'_>, name: &str) -> Result<Vec<String>, ArgumentError> {
    let pattern = request.names.pattern(name).ok_or_else(|| ArgumentError::new(format!("there is no pattern `{name}`")))?;
    Ok(pattern.split_ascii_whitespace().map(str::to_owned).collect())
}

/// `SADDR SPORT DADDR DPORT`.
fn pattern(request: &Request<'_>, fields: &[&str]) -> Result<Pattern, ArgumentError> {
    let [saddr, sport, daddr, dport] = *fields else { return Err(ArgumentError::new("a pattern is SADDR SPORT DADDR DPORT")) };
    let saddr = host(request, saddr, "source")?;
    let (range, sequential, random) = choice(sport);
    let ports = match range {
        "-" if range == sport => Some((0, 0)),
        range => ports(range),
    };
    let sport = ports.ok_or("bad source port")?;
    let daddr = host(request, daddr, "destination")?;
    let dport = if dport == "-" { 0 } else { port(dport).ok_or("bad destination port")? };
    Ok(Pattern { saddr, daddr, sport, dport, sequential, random, ..Pattern::default() })
}

fn host(request: &Request<'_>, text: &str, what: &str) -> Result<u32, ArgumentError> {
    match text {
        "-" => Ok(0),
        text => address::parse(text, &request.names).ok_or_else(|| ArgumentError::new(format!("bad {what} address"))),
    }
}

/// `SADDR DADDR IDENT`, or a pattern of ports, of which the source port is the identifier.
fn pings(request: &Request<'_>, fields: &[&str]) -> Result<Pattern, ArgumentError> {
    let [saddr, daddr, ident] = match *fields {
        [saddr, daddr, ident] => [saddr, daddr, ident],
        [_, _, _, _] => return Ok(Pattern { dport: 0, ..pattern(request, fields)? }),
        _ => return Err(ArgumentError::new("a pattern is SADDR DADDR IDENT")),
    };
    let (saddr, daddr) = (host(request, saddr, "source")?, host(request, daddr, "destination")?);
    let (range, sequential, random) = choice(ident);
    let sport = if range == "-" && range == ident { Some((0, 0)) } else { identifiers(range) };
    Ok(Pattern { saddr, daddr, sport: sport.ok_or("bad identifier")?, sequential, random, ..Pattern::default() })
}

/// An identifier or two; 0 alone stands for none.
fn identifiers(text: &str) -> Option<(u16, u16)> {
    let number = |text: &str| integer::parse(text, 0).ok().and_then(|number| u16::try_from(number).ok());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    number(first).zip(number(last)).filter(|(first, last)| first <= last && *last > 0)
}

/// A range and how one of it is chosen: in order, at random.
fn choice(text: &str) -> (&str, bool, bool) {
    match (text.strip_suffix('#'), text.strip_suffix('?')) {
        (Some(range), _) => (range, true, false),
        (None, Some(range)) => (range, false, true),
        (None, None) => (text, false, false),
    }
}

/// `SADDR -`.
fn addresses(request: &Request<'_>, fields: &[&str]) -> Result<Pattern, ArgumentError> {
    match *fields {
        [saddr, "-"] => sources(request, saddr),
        [saddr, _, _, _] => pattern(request, fields).and_then(|_| sources(request, saddr)),
        _ => Err(ArgumentError::new("a pattern is SADDR -, or - -")),
    }
}

/// `SADDR DADDR`.
fn pairs(request: &Request<'_>, fields: &[&str]) -> Result<Pattern, ArgumentError> {
    match *fields {
        [saddr, daddr] => Ok(Pattern { daddr: host(request, daddr, "destination")?, ..sources(request, saddr)? }),
        [saddr, _, daddr, _] => pattern(request, fields).and_then(|_| pairs(request, &[saddr, daddr])),
        _ => Err(ArgumentError::new("a pattern is SADDR DADDR")),
    }
}

/// An address, a range or `-`: the first and the last source address.
fn sources(request: &Request<'_>, text: &str) -> Result<Pattern, ArgumentError> {
    if text == "-" {
        return Ok(Pattern::default());
    }
    let (range, sequential, random) = choice(text);
    let two = range.split_once('-').map(|(first, last)| address::parse(first, &request.names).zip(address::parse(last, &request.names)));
    let two = two.unwrap_or_else(|| within(range, request)).filter(|(first, last)| first <= last);
    let (saddr, saddr_last) = two.ok_or("bad source address")?;
    Ok(Pattern { saddr, saddr_last, sequential, random, ..Pattern::default() })
}

/// An address, or those of a prefix.
fn within(text: &str, request: &Request<'_>) -> Option<(u32, u32)> {
    let (address, mask) = prefix::parse(text, true, &request.names)?;
    let (first, last) = (address & mask, address | !mask);
    match (last - first, mask.leading_ones() == mask.count_ones()) {
        (_, false) => None,
        (0 | 1, true) => Some((first, last)),
        (_, true) => Some((first + 1, last - 1)),
    }
}

/// A port or two. There is no port 0, though ranges may begin with it.
fn ports(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = if first == "0" && text != first { Some(1) } else { port(first) };
    first.zip(port(last)).filter(|(first, last)| first <= last)
}

fn port(text: &str) -> Option<u16> {
    integer::parse(text, 0).ok().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}
