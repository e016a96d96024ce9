//! SNMP: versions 1 (RFC 1157), 2c (RFC 1901, RFC 3416) and 3 with its user-based security (RFC
//! 3412, RFC 3414). Objects are numbers, as with `-n` in tcpdump; what is encrypted is not shown.

use super::ber::{Element, Kind, Stop};
use super::view::{Cut, Printed, View};
use super::{Line, put};

type Part = Result<(), Stop>;

const VERSIONS: [&str; 4] = ["SNMPv1", "SNMPv2c", "", "SNMPv3"];
const GET: u8 = 0;
const GET_NEXT: u8 = 1;
const RESPONSE: u8 = 2;
const TRAP: u8 = 4;
const BULK: u8 = 5;
const ENTERPRISE: i32 = 6;
const ERRORS: &[&str] = &[
    "noError",
    "tooBig",
    "noSuchName",
    "badValue",
    "readOnly",
    "genErr",
    "noAccess",
    "wrongType",
    "wrongLength",
    "wrongEncoding",
    "wrongValue",
    "noCreation",
    "inconsistentValue",
    "resourceUnavailable",
    "commitFailed",
    "undoFailed",
    "authorizationError",
    "notWritable",
    "inconsistentName",
];
const TRAPS: &[&str] = &["coldStart", "warmStart", "linkDown", "linkUp", "authenticationFailure", "egpNeighborLoss", "enterpriseSpecific"];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "snmp";
    line.put(" ");
    within(message(line, view))
}

/// A part that ends early does not end what it is in.
fn within(part: Part) -> Printed {
    match part {
        Err(Stop::Cut) => Err(Cut),
        Ok(()) | Err(Stop::End) => Ok(()),
    }
}

/// Reads the next element, which must be of this kind.
fn next<'a>(line: &mut Line<'_>, rest: &mut View<'a>, kind: Kind, otherwise: &str) -> Result<Element<'a>, Stop> {
    let element = Element::read(line, *rest)?;
    if element.kind != kind {
        put!(line, "[{otherwise}]");
        element.print(line);
        return Err(Stop::End);
    }
    *rest = rest.skip(element.size);
    Ok(element)
}

fn inside<'a>(element: &Element<'a>) -> View<'a> {
    View::new(element.value, element.value.len())
}

/// With `-v`, what parts begin and end with.
fn brace(line: &mut Line<'_>, text: &str) {
    if line.style.verbose > 0 {
        line.put(text);
    }
}

fn extra(line: &mut Line<'_>, rest: View<'_>, behind: &str) {
    if rest.len() > 0 {
        put!(line, "[{} extra after {behind}]", rest.len());
    }
}

/// As `extra`, behind a sequence's last element, whose size tcpdump takes off what is behind it.
fn more(line: &mut Line<'_>, last: &Element<'_>, rest: View<'_>, behind: &str) {
    extra(line, rest.skip(last.size), behind);
}

fn message(line: &mut Line<'_>, view: View<'_>) -> Part {
    let mut rest = view;
    let all = next(line, &mut rest, Kind::Sequence, "!init SEQ")?;
    extra(line, rest, "iSEQ");
    let mut rest = inside(&all);
    let version = next(line, &mut rest, Kind::Integer, "version!=INT")?.number();
    let Some(name) = [0, 1, 3].contains(&version).then(|| VERSIONS[version as usize]) else {
        put!(line, "SNMP [version = {version}]");
        return Ok(());
    };
    brace(line, &format!("{{ {name} "));
    match version {
        3 => within(secured(line, rest))?,
        _ => within(community(line, rest, version))?,
    }
    brace(line, "} ");
    Ok(())
}

fn community(line: &mut Line<'_>, mut rest: View<'_>, version: i32) -> Part {
    let name = next(line, &mut rest, Kind::String, "comm!=STR")?;
    if name.value != b"public" {
        line.put("C=");
        name.text(line);
        line.put(" ");
    }
    operation(line, rest, version)
}

/// Version 3: what the message is, who sends it, and what is asked.
fn secured(line: &mut Line<'_>, view: View<'_>) -> Part {
    let mut rest = view;
    let global = next(line, &mut rest, Kind::Sequence, "!message")?;
    brace(line, "{ ");
    let mut fields = inside(&global);
    next(line, &mut fields, Kind::Integer, "msgID!=INT")?;
    next(line, &mut fields, Kind::Integer, "msgMaxSize!=INT")?;
    let flags = next(line, &mut fields, Kind::String, "msgFlags!=STR")?;
    let &[flags] = flags.value else {
        put!(line, "[msgFlags size {}]", flags.value.len());
        return Ok(());
    };
    // Encryption without authentication does not exist.
    if flags > 7 || flags & 3 == 2 {
        put!(line, "[msgFlags=0x{flags:02X}]");
        return Ok(());
    }
    line.put("F=");
    for (bit, letter) in [(1, "a"), (2, "p"), (4, "r")] {
        line.put(if flags & bit != 0 { letter } else { "" });
    }
    line.put(" ");
    let model = next(line, &mut fields, Kind::Integer, "msgSecurityModel!=INT")?;
    more(line, &model, fields, "message SEQ");
    let model = model.number();
    brace(line, "} ");
    if model != 3 {
        put!(line, "[security model {model}]");
        return Ok(());
    }
    brace(line, "{ USM ");
    // tcpdump goes on behind the last field, even if more follows in the sequence.
    let mut rest = view.skip(global.size - fields.len());
    let user = next(line, &mut rest, Kind::String, "msgSecurityParameters!=STR")?;
    within(security(line, inside(&user)))?;
    brace(line, "} { ScopedPDU ");
    within(scoped(line, rest))?;
    brace(line, "} ");
    Ok(())
}

fn security(line: &mut Line<'_>, mut rest: View<'_>) -> Part {
    let all = next(line, &mut rest, Kind::Sequence, "!usm")?;
    let mut rest = inside(&all);
    next(line, &mut rest, Kind::String, "msgAuthoritativeEngineID!=STR")?;
    for (name, otherwise) in [("B", "msgAuthoritativeEngineBoots!=INT"), ("T", "msgAuthoritativeEngineTime!=INT")] {
        let number = next(line, &mut rest, Kind::Integer, otherwise)?.number();
        brace(line, &format!("{name}={number} "));
    }
    let user = next(line, &mut rest, Kind::String, "msgUserName!=STR")?;
    line.put("U=");
    user.text(line);
    line.put(" ");
    next(line, &mut rest, Kind::String, "msgAuthenticationParameters!=STR")?;
    let privacy = next(line, &mut rest, Kind::String, "msgPrivacyParameters!=STR")?;
    more(line, &privacy, rest, "usm SEQ");
    Ok(())
}

fn scoped(line: &mut Line<'_>, mut rest: View<'_>) -> Part {
    let all = next(line, &mut rest, Kind::Sequence, "!scoped PDU")?;
    let mut rest = inside(&all);
    let engine = next(line, &mut rest, Kind::String, "contextEngineID!=STR")?;
    line.put("E=");
    engine.bytes(line);
    line.put(" ");
    let name = next(line, &mut rest, Kind::String, "contextName!=STR")?;
    line.put("C=");
    name.text(line);
    line.put(" ");
    operation(line, rest, 3)
}

/// What is asked, answered or told.
fn operation(line: &mut Line<'_>, view: View<'_>, version: i32) -> Part {
    let all = Element::read(line, view)?;
    if all.kind != Kind::Message {
        line.put("[no PDU]");
        return Ok(());
    }
    extra(line, view.skip(all.size), "PDU");
    brace(line, "{ ");
    all.print(line);
    line.put(" ");
    match (version, all.tag) {
        (0, BULK..) => {
            line.put("[v2 PDU in v1 message]");
            return Ok(());
        }
        (1, TRAP) => {
            line.put("[v1 PDU in v2 message]");
            return Ok(());
        }
        (_, TRAP) => within(trap(line, inside(&all)))?,
        _ => within(request(line, all.tag, inside(&all)))?,
    }
    brace(line, " } ");
    Ok(())
}

fn request(line: &mut Line<'_>, tag: u8, mut rest: View<'_>) -> Part {
    let id = next(line, &mut rest, Kind::Integer, "reqId!=INT")?.number();
    brace(line, &format!("R={id} "));
    let status = next(line, &mut rest, Kind::Integer, "errorStatus!=INT")?.number();
    let name = || named(ERRORS, status, &format!("err={}", status as u32));
    match tag {
        BULK => put!(line, " N={status}"),
        _ if status == 0 => {}
        RESPONSE => put!(line, " {}", name()),
        _ => put!(line, "[errorStatus({})!=0]", name()),
    }
    let index = next(line, &mut rest, Kind::Integer, "errorIndex!=INT")?.number();
    match tag {
        BULK => put!(line, " M={index}"),
        RESPONSE if index == 0 => line.put(if status == 0 { "" } else { "[errorIndex==0]" }),
        RESPONSE if status == 0 => put!(line, "[errorIndex({index}) w/o errorStatus]"),
        RESPONSE => put!(line, "@{index}"),
        _ if index != 0 => put!(line, "[errorIndex({index})!=0]"),
        _ => {}
    }
    variables(line, tag, rest)
}

fn named(names: &[&str], number: i32, otherwise: &str) -> String {
    usize::try_from(number).ok().and_then(|number| names.get(number)).map_or(otherwise, |name| name).to_owned()
}

/// A trap of version 1.
fn trap(line: &mut Line<'_>, mut rest: View<'_>) -> Part {
    line.put(" ");
    next(line, &mut rest, Kind::Object, "enterprise!=OID")?.print(line);
    line.put(" ");
    next(line, &mut rest, Kind::Address, "agent-addr!=INETADDR")?.print(line);
    let generic = next(line, &mut rest, Kind::Integer, "generic-trap!=INT")?.number();
    put!(line, " {}", named(TRAPS, generic, &format!("gt={generic}")));
    let specific = next(line, &mut rest, Kind::Integer, "specific-trap!=INT")?.number();
    match (generic, specific) {
        (ENTERPRISE, _) => put!(line, " s={specific}"),
        (_, 0) => {}
        _ => put!(line, "[specific-trap({specific})!=0]"),
    }
    line.put(" ");
    next(line, &mut rest, Kind::Unsigned, "time-stamp!=TIMETICKS")?.print(line);
    variables(line, TRAP, rest)
}

/// Objects, and their values where it is not asked for these.
fn variables(line: &mut Line<'_>, tag: u8, mut rest: View<'_>) -> Part {
    let all = next(line, &mut rest, Kind::Sequence, "!SEQ of varbind")?;
    extra(line, rest, "SEQ of varbind");
    let mut rest = inside(&all);
    let asked = matches!(tag, GET | GET_NEXT | BULK);
    while rest.len() > 0 {
        line.put(" ");
        let one = next(line, &mut rest, Kind::Sequence, "!varbind")?;
        let mut pair = inside(&one);
        next(line, &mut pair, Kind::Object, "objName!=OID")?.print(line);
        line.put(if asked { "" } else { "=" });
        let value = Element::read(line, pair)?;
        if asked && value.kind != Kind::Null {
            line.put("[objVal!=NULL]");
        }
        value.print(line);
    }
    Ok(())
}
