//! The whiteboard of LBL (wb), with `-T wb`: announcements, drawing operations, requests for
//! repairs and answers to them. There is no specification: the fields are those of tcpdump.
//!
//! As in tcpdump, what a page vector reply says of a page's sources are as many as the upper byte
//! of their number.

use super::view::{Cut, Printed, View};
use super::{Line, escape, names, put};

const HEADER: usize = 12;
#[rustfmt::skip]
const OPERATIONS: &[(u8, &str)] = &[
    (2, "RECT"), (3, "LINE"), (4, "ML"), (5, "DEL"), (6, "XFORM"), (7, "ELL"), (8, "CHAR"), (9, "STR"), (10, "NOP"), (11, "PSCODE"),
    (12, "PSCOMP"), (13, "REF"), (14, "SKIP"), (15, "HOLE"),
];
const SKIP: u8 = 14;
const HOLE: u8 = 15;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "wb";
    if view.len() < HEADER {
        line.invalid();
        return Ok(());
    }
    view.take(0, HEADER)?;
    if view.u8(11)? != 0 {
        line.put("*");
    }
    let body = view.skip(HEADER);
    let whole = match view.u8(10)? {
        0 => drawing(line, body),
        1 => announcement(line, body),
        2 => repair_request(line, body),
        3 => repair(line, body),
        4 => {
            line.put(" wb-kill");
            Ok(true)
        }
        5 => pages_request(line, body),
        7 => pages(line, body),
        kind => {
            put!(line, " wb-{kind}!");
            Ok(false)
        }
    }?;
    if !whole {
        line.invalid();
    }
    Ok(())
}

/// The page that is there: who made it, and its number.
fn page(view: View<'_>, at: usize) -> Result<String, Cut> {
    Ok(format!("{}:{}", view.v4(at)?, view.u32(at + 4)?))
}

/// A page with the range of sequence numbers behind it.
fn range(view: View<'_>, at: usize) -> Result<String, Cut> {
    Ok(format!("{}<{}:{}>", page(view, at)?, view.u32(at + 8)?, view.u32(at + 12)?))
}

/// Prints `so many` sources and offsets.
fn sources(line: &mut Line<'_>, view: View<'_>, number: usize) -> Printed {
    for n in 0..number {
        let before = if n == 0 { '<' } else { ',' };
        put!(line, "{before}{}:{}", view.v4(8 * n)?, view.u32(8 * n + 4)?);
    }
    Ok(())
}

fn announcement(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    const FIXED: usize = 28;
    line.put(" wb-id:");
    if view.len() < FIXED {
        return Ok(false);
    }
    put!(line, " {}/{} (max {}/{}) ", view.u32(12)?, page(view, 16)?, view.u32(0)?, page(view, 4)?);
    view.take(0, FIXED)?;
    let (number, rest) = (usize::from(view.u16(24)?), view.skip(FIXED));
    if rest.len() < 8 * number {
        return Ok(false);
    }
    sources(line, rest, number)?;
    line.put("> \"");
    name(line, rest.skip(8 * number))?;
    line.put("\"");
    Ok(true)
}

/// A text up to its zero; cut if neither that nor all of it was captured.
fn name(line: &mut Line<'_>, view: View<'_>) -> Printed {
    escape::until_zero(&mut line.text, view.captured());
    if view.is_whole() || view.captured().contains(&0) { Ok(()) } else { Err(Cut) }
}

fn repair_request(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    line.put(" wb-rreq:");
    if view.len() < 20 {
        return Ok(false);
    }
    put!(line, " please repair {} {}", view.v4(0)?, range(view, 4)?);
    Ok(true)
}

fn pages_request(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    line.put(" wb-preq:");
    if view.len() < 16 {
        return Ok(false);
    }
    put!(line, " need {}/{}", view.u32(8)?, page(view, 0)?);
    view.take(0, 16)?;
    Ok(true)
}

fn pages(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    const STATE: usize = 16;
    line.put(" wb-prep:");
    if view.len() < 4 {
        return Ok(false);
    }
    let mut rest = view.skip(4);
    for _ in 0..view.u32(0)? {
        put!(line, " {}/{}", rest.u32(0)?, page(rest, 4)?);
        rest.take(0, STATE)?;
        let number = usize::from(rest.u8(12)?);
        sources(line, rest.skip(STATE), number)?;
        line.put(">");
        rest = rest.skip(STATE + 8 * number);
    }
    Ok(true)
}

fn repair(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    line.put(" wb-rrep:");
    if view.len() < 20 {
        return Ok(false);
    }
    put!(line, " for {} {}", view.v4(0)?, range(view, 4)?);
    operations(line, view, 4)?;
    Ok(true)
}

fn drawing(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    line.put(" wb-dop:");
    if view.len() < 16 {
        return Ok(false);
    }
    put!(line, " {}", range(view, 0)?);
    operations(line, view, 0)?;
    Ok(true)
}

/// With `-v`, the operations behind the page and the range of their numbers.
fn operations(line: &mut Line<'_>, view: View<'_>, at: usize) -> Printed {
    if line.style.verbose == 0 {
        return Ok(());
    }
    let (mut number, last) = (view.u32(at + 8)?, view.u32(at + 12)?);
    let mut rest = view.skip(at + 16);
    line.put(" <");
    while number <= last {
        let kind = rest.u8(7)?;
        put!(line, " {}", names::find_or(OPERATIONS, kind, || format!("dop-{kind}!")));
        if kind == SKIP || kind == HOLE {
            let to = rest.u32(0)?;
            put!(line, "{}", to.wrapping_sub(number).wrapping_add(1));
            if number > to || to > last {
                line.put("[|]");
            }
            if to < number {
                return Ok(());
            }
            number = to;
        }
        rest = rest.skip((8 + usize::from(rest.u16(4)?)).next_multiple_of(4));
        number = number.wrapping_add(1);
    }
    line.put(" >");
    Ok(())
}
