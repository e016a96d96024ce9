//! PIM, version 2 (RFC 7761, RFC 3973, RFC 5015), with `-v` all messages, and version 1, which IGMP
//! carries.

use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Line, checksum, hex, ip4, ip6, names, put, time};
use std::net::IpAddr;

#[rustfmt::skip]
const KINDS: [&str; 12] = [
    "Hello", "Register", "Register Stop", "Join / Prune", "Bootstrap", "Assert", "Graft", "Graft Acknowledgement",
    "Candidate RP Advertisement", "Prune Refresh", "DF Election", "ECMP Redirect",
];
const REGISTER: u8 = 1;
const ACKNOWLEDGEMENT: u8 = 7;
#[rustfmt::skip]
const OPTIONS: &[(u16, &str)] = &[
    (1, "Hold Time"), (2, "LAN Prune Delay"), (18, "DR Priority (Old)"), (19, "DR Priority"), (20, "Generation ID"),
    (21, "State Refresh Capability"), (22, "Bi-Directional Capability"), (24, "Address List"), (65_001, "Address List (Old)"),
];

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "pim";
    let first = view.u8(0)?;
    let (version, kind) = (first >> 4, first & 15);
    let name = KINDS.get(usize::from(kind)).copied().unwrap_or("Unknown Type");
    match (version, line.style.verbose) {
        (2, 0) => put!(line, "PIMv2, {name}, length {}", view.len()),
        (2, _) => {
            put!(line, "PIMv2, length {}\n\t{name}", view.len());
            line.protocol = "pimv2";
            return verbose(line, ip, kind, view);
        }
        _ => put!(line, "PIMv{version}, length {}", view.len()),
    }
    Ok(())
}

/// A message whose addresses are read one after the other.
struct Message<'a> {
    rest: View<'a>,
    /// Bytes of each address, as RFC 2117 told them; otherwise each says what it is.
    size: u8,
}

/// What is encoded along with an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    Group,
    Source,
}

impl<'a> Message<'a> {
    /// The next `n` bytes.
    fn take(&mut self, n: usize) -> Result<View<'a>, Cut> {
        let taken = View::new(self.rest.take(0, n)?, n);
        self.rest = self.rest.skip(n);
        Ok(taken)
    }

    /// Prints the next address.
    fn address(&mut self, line: &mut Line<'_>, with: With) -> Printed {
        let v6 = match self.size {
            0 => {
                let head = self.take(2)?;
                match (head.u8(0)?, head.u8(1)?) {
                    (1, 0) => false,
                    (2, 0) => true,
                    _ => return Err(Cut),
                }
            }
            4 => false,
            16 => true,
            _ => return Err(Cut),
        };
        let before = if with == With::Nothing { 0 } else { 2 };
        let all = self.take(before + if v6 { 16 } else { 4 })?;
        match v6 {
            true => line.put(&ip6::address_at(all, before)?),
            false => put!(line, "{}", all.v4(before)?),
        }
        if with == With::Nothing {
            return Ok(());
        }
        let (flags, mask) = (all.u8(0)?, all.u8(1)?);
        if mask != if v6 { 128 } else { 32 } {
            put!(line, "/{mask}");
        }
        encoding(line, with, flags);
        Ok(())
    }
}

fn encoding(line: &mut Line<'_>, with: With, flags: u8) {
    match with {
        _ if flags == 0 => {}
        With::Source => {
            line.put("(");
            for (bit, letter) in [(4, "S"), (2, "W"), (1, "R")] {
                line.put(if flags & bit != 0 { letter } else { "" });
            }
            if flags & 0xf8 != 0 {
                put!(line, "+0x{:02x}", flags & 0xf8);
            }
            line.put(")");
        }
        _ => put!(line, "(0x{flags:02x})"),
    }
}

fn verbose(line: &mut Line<'_>, ip: &Ip, kind: u8, view: View<'_>) -> Printed {
    if view.len() < 2 {
        put!(line, "[length {} < 2]", view.len());
        line.invalid();
        return Ok(());
    }
    let second = view.u8(1)?;
    if second & 15 != 0 {
        line.put(", RFC2117-encoding");
    }
    if view.len() < 4 {
        put!(line, "[length {} < 4]", view.len());
        line.invalid();
        return Ok(());
    }
    put!(line, ", cksum 0x{:04x} ({})", view.u16(2)?, sum(ip, kind, view)?);
    let mut message = Message { rest: view.skip(4), size: second & 15 };
    match kind {
        0 => hello(line, &mut message),
        REGISTER => register(line, message.rest),
        2 => pairs(line, &mut message, &[(" group=", With::Group), (" source=", With::Nothing)]),
        3 | 6 | ACKNOWLEDGEMENT => join(line, kind, &mut message),
        4 => bootstrap(line, &mut message),
        5 => assertion(line, &mut message),
        8 => candidate(line, &mut message),
        9 => {
            pairs(line, &mut message, &[(" src=", With::Nothing), (" grp=", With::Group), (" forwarder=", With::Nothing)])?;
            put!(line, " TUNR {}", time::span(message.take(2)?.u16(0)?.into()));
            Ok(())
        }
        10 => election(line, second >> 4, &mut message),
        _ => {
            put!(line, " [type {kind}]");
            Ok(())
        }
    }
}

/// Whether the checksum is right. That of a register covers its header, or, as older ones had it,
/// all.
fn sum(ip: &Ip, kind: u8, view: View<'_>) -> Result<&'static str, Cut> {
    let found = view.u16(2)?;
    let right = |part: View<'_>| {
        let pseudo = match ip.src {
            IpAddr::V4(_) => 0,
            IpAddr::V6(_) => checksum::pseudo(ip.src, ip.last, 103, part),
        };
        part.is_whole().then(|| checksum::expected(found, part.captured(), pseudo).is_none())
    };
    let header = if kind == REGISTER { right(view.first(8)) } else { Some(false) };
    Ok(match if header == Some(false) { right(view) } else { header } {
        _ if found == 0 => "unverified",
        Some(true) => "correct",
        Some(false) => "incorrect",
        None => "unverified",
    })
}

fn pairs(line: &mut Line<'_>, message: &mut Message<'_>, addresses: &[(&str, With)]) -> Printed {
    for (name, with) in addresses {
        line.put(name);
        message.address(line, *with)?;
    }
    Ok(())
}

fn hello(line: &mut Line<'_>, message: &mut Message<'_>) -> Printed {
    while message.rest.len() > 0 {
        let head = message.take(4)?;
        let (kind, length) = (head.u16(0)?, usize::from(head.u16(2)?));
        let name = names::find(OPTIONS, kind).unwrap_or("Unknown");
        put!(line, "\n\t  {name} Option ({kind}), length {length}, Value: ");
        let value = message.take(length)?;
        let wrong = match kind {
            1 => length != 2,
            18 | 19 => length != 4 && length != 0,
            2 | 20 | 21 => length != 4,
            _ => false,
        };
        if wrong {
            put!(line, "[option length {length} != {}]", if kind == 1 { 2 } else { 4 });
            line.invalid();
            return Ok(());
        }
        option(line, kind, value, message.size)?;
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, value.captured(), "\n\t    ");
        }
    }
    Ok(())
}

fn option(line: &mut Line<'_>, kind: u16, value: View<'_>, size: u8) -> Printed {
    match kind {
        1 => line.put(&time::span(value.u16(0)?.into())),
        2 => {
            let delay = value.u16(0)?;
            put!(line, "\n\t    T-bit={}, LAN delay {}ms, Override interval {}ms", delay >> 15, delay & 0x7fff, value.u16(2)?);
        }
        18 | 19 if value.len() == 0 => line.put("Bi-Directional Capability (Old)"),
        18 | 19 => put!(line, "{}", value.u32(0)?),
        20 => put!(line, "0x{:08x}", value.u32(0)?),
        21 => {
            put!(line, "v{}", value.u8(0)?);
            match value.u8(1)? {
                0 => {}
                interval => put!(line, ", interval {}", time::span(interval.into())),
            }
            match value.u16(2)? {
                0 => {}
                reserved => put!(line, " ?0x{reserved:04x}?"),
            }
        }
        24 | 65_001 => {
            let mut list = Message { rest: value, size };
            while line.style.verbose > 1 && list.rest.len() > 0 {
                line.put("\n\t    ");
                list.address(line, With::Nothing)?;
            }
        }
        22 => {}
        _ if line.style.verbose == 1 => hex::indented(&mut line.text, value.captured(), "\n\t    "),
        _ => {}
    }
    Ok(())
}

fn register(line: &mut Line<'_>, rest: View<'_>) -> Printed {
    let flags = match rest.u32(0)? {
        0x8000_0000 => "Border",
        0x4000_0000 => "Null",
        _ => "none",
    };
    put!(line, ", Flags [ {flags} ]\n\t");
    let inner = rest.skip(4);
    if inner.len() == 0 {
        return Err(Cut);
    }
    match inner.u8(0)? >> 4 {
        0 => put!(line, "IP-Null-header {} > {}", inner.v4(12)?, inner.v4(16)?),
        4 => return ip4::print(line, inner),
        6 => return ip6::print(line, inner),
        version => put!(line, "IP ver {version}"),
    }
    Ok(())
}

fn join(line: &mut Line<'_>, kind: u8, message: &mut Message<'_>) -> Printed {
    let with_neighbor = kind != ACKNOWLEDGEMENT;
    if with_neighbor {
        line.put(", upstream-neighbor: ");
        message.address(line, With::Nothing)?;
    }
    let head = message.take(4)?;
    let groups = head.u8(1)?;
    put!(line, "\n\t  {groups} group(s)");
    match head.u16(2)? {
        _ if !with_neighbor => {}
        u16::MAX => line.put(", holdtime: infinite"),
        time => put!(line, ", holdtime: {}", time::span(time.into())),
    }
    for group in 1..=groups {
        put!(line, "\n\t    group #{group}: ");
        message.address(line, With::Group)?;
        let counts = message.take(4)?;
        let (joined, pruned) = (counts.u16(0)?, counts.u16(2)?);
        put!(line, ", joined sources: {joined}, pruned sources: {pruned}");
        for (count, what) in [(joined, "joined"), (pruned, "pruned")] {
            for source in 1..=count {
                put!(line, "\n\t      {what} source #{source}: ");
                message.address(line, With::Source)?;
            }
        }
    }
    Ok(())
}

fn bootstrap(line: &mut Line<'_>, message: &mut Message<'_>) -> Printed {
    let head = message.take(4)?;
    put!(line, " tag={:x} hashmlen={} BSRprio={} BSR=", head.u16(0)?, head.u8(2)?, head.u8(3)?);
    message.address(line, With::Nothing)?;
    let mut group = 0;
    while message.rest.len() > 0 {
        put!(line, " (group{group}: ");
        message.address(line, With::Group)?;
        let counts = message.take(4)?;
        put!(line, " RPcnt={} FRPcnt={}", counts.u8(0)?, counts.u8(1)?);
        for point in 0..counts.u8(1)? {
            if message.rest.len() == 0 {
                break;
            }
            put!(line, " RP{point}=");
            message.address(line, With::Nothing)?;
            let times = message.take(4)?;
            put!(line, ",holdtime={},prio={}", time::span(times.u16(0)?.into()), times.u8(2)?);
        }
        line.put(")");
        group += 1;
    }
    Ok(())
}

fn assertion(line: &mut Line<'_>, message: &mut Message<'_>) -> Printed {
    pairs(line, message, &[(" group=", With::Group), (" src=", With::Nothing)])?;
    let metrics = message.take(8)?;
    let preference = metrics.u32(0)?;
    let tree = if preference >> 31 == 1 { " RPT" } else { "" };
    put!(line, "{tree} pref={} metric={}", preference & 0x7fff_ffff, metrics.u32(4)?);
    Ok(())
}

fn candidate(line: &mut Line<'_>, message: &mut Message<'_>) -> Printed {
    let head = message.take(4)?;
    let count = head.u8(0)?;
    put!(line, " prefix-cnt={count} prio={} holdtime={} RP=", head.u8(1)?, time::span(head.u16(2)?.into()));
    message.address(line, With::Nothing)?;
    for group in 0..count {
        if message.rest.len() == 0 {
            break;
        }
        put!(line, " Group{group}=");
        message.address(line, With::Group)?;
    }
    Ok(())
}

/// Who forwards (RFC 5015, section 3.6.2).
fn election(line: &mut Line<'_>, subtype: u8, message: &mut Message<'_>) -> Printed {
    let name = names::find(&[(1, "Offer"), (2, "Winner"), (3, "Backoff"), (4, "Pass")], subtype).unwrap_or("Unknown");
    put!(line, "\n\t  {name}, rpa=");
    message.address(line, With::Nothing)?;
    let metrics = message.take(8)?;
    put!(line, " sender pref={} sender metric={}", metrics.u32(0)?, metrics.u32(4)?);
    if !matches!(subtype, 3 | 4) {
        return Ok(());
    }
    let who = if subtype == 3 { "offer" } else { "new winner" };
    put!(line, "\n\t  {who} addr=");
    message.address(line, With::Nothing)?;
    let metrics = message.take(8)?;
    put!(line, " {who} pref={} {who} metric={}", metrics.u32(0)?, metrics.u32(4)?);
    if subtype == 3 {
        put!(line, " interval {}ms", message.take(2)?.u16(0)?);
    }
    Ok(())
}

/// Version 1, which begins with IGMP's header.
pub(super) fn version_1(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "pimv1";
    let kinds = ["Query", "Register", "Register-Stop", "Join/Prune", "RP-reachable", "Assert", "Graft", "Graft-ACK"];
    let kind = view.u8(1)?;
    match kinds.get(usize::from(kind)) {
        Some(name) => put!(line, " {name}"),
        None => put!(line, " [type {kind}]"),
    }
    let verbose = line.style.verbose > 0;
    match kind {
        0 => query(line, view)?,
        1 => {
            view.take(8, 20)?;
            put!(line, " for {} > {}", view.v4(20)?, view.v4(24)?);
        }
        2 => put!(line, " for {} > {}", view.v4(8)?, view.v4(12)?),
        4 if verbose => {
            put!(line, " group {}", view.v4(8)?);
            mask(line, view, 12)?;
            put!(line, " RP {} hold {}", view.v4(16)?, time::span(view.u16(22)?.into()));
        }
        5 => {
            put!(line, " for {} > {}", view.v4(16)?, view.v4(8)?);
            mask(line, view, 12)?;
            let preference = view.u32(20)?;
            let tree = if preference >> 31 == 1 { "RP-tree" } else { "SPT" };
            put!(line, " {tree} pref {} metric {}", preference & 0x7fff_ffff, view.u32(24)?);
        }
        3 | 6 | 7 if verbose => old_join(line, view.skip(8))?,
        _ => {}
    }
    match view.u8(4)? >> 4 {
        1 => {}
        version => put!(line, " [v{version}]"),
    }
    Ok(())
}

fn query(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if let Ok(mode) = view.u8(8) {
        match ["Dense", "Sparse", "Sparse-Dense"].get(usize::from(mode >> 4)) {
            Some(name) => put!(line, " {name}-mode"),
            None => put!(line, " mode-{}", mode >> 4),
        }
    }
    if line.style.verbose > 0 {
        put!(line, " (Hold-time {})", time::span(view.u16(10)?.into()));
    }
    Ok(())
}

/// A mask, unless all its bits are set.
fn mask(line: &mut Line<'_>, view: View<'_>, at: usize) -> Printed {
    if view.u32(at)? != u32::MAX {
        put!(line, "/{}", view.v4(at)?);
    }
    Ok(())
}

fn old_join(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.take(0, 30).is_ok() && view.u8(11)? == 1 && u32::from(view.u16(20)?) + u32::from(view.u16(22)?) == 1 {
        return single_join(line, view);
    }
    let all = line.style.verbose > 1;
    let before = if all { "\n" } else { "" };
    put!(line, "{before} Upstream Nbr: {}", view.v4(0)?);
    put!(line, "{before} Hold time: {}", time::span(view.u16(6)?.into()));
    let (groups, mut rest) = (if all { view.u8(11)? } else { 0 }, view.skip(12));
    for _ in 0..groups {
        put!(line, "\n\tGroup: {}", rest.v4(0)?);
        mask(line, rest, 4)?;
        let (joined, pruned) = (rest.u16(8)?, rest.u16(10)?);
        put!(line, " joined: {joined} pruned: {pruned}");
        rest = rest.skip(12);
        for i in 0..u32::from(joined) + u32::from(pruned) {
            let (first, second) = (rest.u8(0)?, rest.u8(1)?);
            let mode = if first & 1 != 0 { "Sparse" } else { "Dense" };
            let (wildcard, tree) = (if second & 0x80 != 0 { "WC " } else { "" }, if second & 0x40 != 0 { "RP" } else { "SPT" });
            let what = if i < joined.into() { "Join " } else { "Prune" };
            put!(line, "\n\t{what} {mode} {wildcard}{tree} {}/{}", rest.v4(2)?, second & 0x3f);
            rest = rest.skip(6);
        }
    }
    Ok(())
}

/// One group with one source.
fn single_join(line: &mut Line<'_>, view: View<'_>) -> Printed {
    put!(line, " RPF {} ", view.v4(0)?);
    match view.u16(6)? {
        180 => {}
        time => put!(line, "Hold {}", time::span(time.into())),
    }
    let (first, second) = (view.u8(24)?, view.u8(25)?);
    let what = if view.u16(20)? != 0 { "Join" } else { "Prune" };
    put!(line, "{what} ({}/{}, {}", view.v4(26)?, second & 0x3f, view.v4(12)?);
    mask(line, view, 16)?;
    let mode = if first & 1 != 0 { "Sparse" } else { "Dense" };
    put!(line, ") {mode}{} {}", if second & 0x80 != 0 { " WC" } else { "" }, if second & 0x40 != 0 { "RP" } else { "SPT" });
    Ok(())
}
