//! DNS (RFC 1035), over UDP and TCP, and multicast DNS (RFC 6762).
//!
//! Requests: `id+ TYPE? name. (length)`. Responses:
//! `id answers/authorities/additionals TYPE data, …`; with `-vv` all sections. Records are in
//! `dns_record`, names in `dns_name`.

use super::view::{Cut, Printed, View};
use super::{Line, dns_name, dns_record, names, put};

const HEADER: usize = 12;

/// A message while it is read.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub view: View<'a>,
    pub multicast: bool,
}

/// The header's fields.
struct Header {
    id: u16,
    flags: u16,
    questions: u16,
    answers: u16,
    authorities: u16,
    additionals: u16,
}

impl Header {
    fn read(view: View<'_>) -> Result<Self, Cut> {
        view.take(0, HEADER)?;
        Ok(Self {
            id: view.u16(0)?,
            flags: view.u16(2)?,
            questions: view.u16(4)?,
            answers: view.u16(6)?,
            authorities: view.u16(8)?,
            additionals: view.u16(10)?,
        })
    }

    /// The mark, if the flag is set.
    fn mark(&self, bit: u16, mark: &'static str) -> &'static str {
        if self.flags & bit != 0 { mark } else { "" }
    }

    fn operation(&self) -> String {
        let names = [
            (0, ""),
            (1, " inv_q"),
            (2, " stat"),
            (4, " notify"),
            (5, " update"),
            (9, " updateA"),
            (10, " updateD"),
            (11, " updateDA"),
            (12, " updateM"),
            (13, " updateMA"),
            (14, " zoneInit"),
            (15, " zoneRef"),
        ];
        let number = self.flags >> 11 & 15;
        names::find_or(&names, number, || format!(" op{number}"))
    }
}

pub(super) fn udp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    message(line, Message { view, multicast: false })
}

pub(super) fn multicast(line: &mut Line<'_>, view: View<'_>) -> Printed {
    message(line, Message { view, multicast: true })
}

/// A message whose length stands before it; only one that is wholly in the segment is shown.
pub(super) fn tcp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "domain";
    if view.len() < 2 {
        put!(line, " [DNS over TCP: length {} < 2]", view.len());
        line.invalid();
        return Ok(());
    }
    let (told, rest) = (usize::from(view.u16(0)?), view.skip(2));
    if told != rest.len() {
        put!(line, " [prefix length({told}) != length({})]", rest.len());
        line.invalid();
        return Ok(());
    }
    line.put(" ");
    udp(line, rest)
}

fn message(line: &mut Line<'_>, message: Message<'_>) -> Printed {
    line.protocol = "domain";
    let length = message.view.len();
    if length < HEADER {
        put!(line, "domain [length {length} < {HEADER}]");
        line.invalid();
        return Ok(());
    }
    let header = Header::read(message.view)?;
    match header.flags & 0x8000 {
        0 => request(line, message, &header)?,
        _ => response(line, message, &header)?,
    }
    put!(line, " ({length})");
    Ok(())
}

fn request(line: &mut Line<'_>, message: Message<'_>, header: &Header) -> Printed {
    put!(line, "{}{}{}{}", header.id, header.operation(), header.mark(0x100, "+"), header.mark(0x10, "%"));
    if header.flags & 0x6cf != 0 {
        put!(line, " [b2&3=0x{:x}]", header.flags);
    }
    let inverse = header.flags >> 11 & 15 == 1;
    let (usual_answers, usual_questions) = if inverse { (1, 0) } else { (0, 1) };
    let counts = [(header.answers, usual_answers, "a"), (header.questions, usual_questions, "q")];
    let order = if inverse { [1, 0] } else { [0, 1] };
    for (count, usual, letter) in order.map(|i: usize| counts[i]) {
        if count != usual {
            put!(line, " [{count}{letter}]");
        }
    }
    for (count, letters) in [(header.authorities, "n"), (header.additionals, "au")] {
        if count != 0 {
            put!(line, " [{count}{letters}]");
        }
    }
    let at = questions(line, message, header.questions)?;
    if line.style.verbose > 1 {
        sections(line, message, header, at, "")?;
    }
    Ok(())
}

fn questions(line: &mut Line<'_>, message: Message<'_>, count: u16) -> Result<usize, Cut> {
    let mut at = HEADER;
    for i in 0..count {
        if i > 0 && at >= message.view.captured().len() {
            return Err(Cut);
        }
        at = dns_record::question(line, message, at)?;
    }
    Ok(at)
}

fn response(line: &mut Line<'_>, message: Message<'_>, header: &Header) -> Printed {
    put!(line, "{}{}{}", header.id, header.operation(), dns_record::result(extended(message, header)));
    put!(line, "{}{}", header.mark(0x400, "*"), if header.flags & 0x80 != 0 { "" } else { "-" });
    put!(line, "{}{}", header.mark(0x200, "|"), header.mark(0x20, "$"));
    if header.questions != 1 {
        put!(line, " [{}q]", header.questions);
    }
    let mut at = HEADER;
    for i in 0..header.questions {
        line.put(if i > 0 { "," } else { "" });
        at = match line.style.verbose {
            0 | 1 => dns_name::skip(message.view, at)? + 4,
            _ => {
                line.put(" q:");
                dns_record::question(line, message, at)?
            }
        };
    }
    put!(line, " {}/{}/{}", header.answers, header.authorities, header.additionals);
    match line.style.verbose {
        0 | 1 => records(line, message, header.answers, at).map(drop),
        _ => sections(line, message, header, at, ""),
    }
}

fn sections(line: &mut Line<'_>, message: Message<'_>, header: &Header, at: usize, first: &str) -> Printed {
    let mut at = at;
    for (count, title) in [(header.answers, first), (header.authorities, " ns:"), (header.additionals, " ar:")] {
        if count == 0 {
            continue;
        }
        if !title.is_empty() && at >= message.view.captured().len() {
            return Err(Cut);
        }
        line.put(title);
        at = records(line, message, count, at)?;
    }
    Ok(())
}

/// Prints that many records from `at` on; where they end.
fn records(line: &mut Line<'_>, message: Message<'_>, count: u16, mut at: usize) -> Result<usize, Cut> {
    for i in 0..count {
        if i > 0 {
            if at >= message.view.captured().len() {
                return Err(Cut);
            }
            line.put(",");
        }
        at = dns_record::record(line, message, at)?;
    }
    Ok(at)
}

/// The result, with the upper bits that an OPT record holds (RFC 6891).
fn extended(message: Message<'_>, header: &Header) -> u16 {
    let low = header.flags & 15;
    low | upper(message.view, header).unwrap_or(0) << 4
}

fn upper(view: View<'_>, header: &Header) -> Result<u16, Cut> {
    let mut at = HEADER;
    for _ in 0..header.questions {
        at = dns_name::skip(view, at)? + 4;
    }
    for _ in 0..u32::from(header.answers) + u32::from(header.authorities) {
        at = dns_name::skip(view, at)? + 8;
        at += 2 + usize::from(view.u16(at)?);
    }
    for _ in 0..header.additionals {
        at = dns_name::skip(view, at)?;
        if view.u16(at)? == dns_record::OPT {
            return view.u8(at + 4).map(u16::from);
        }
        at += 10 + usize::from(view.u16(at + 8)?);
    }
    Err(Cut)
}
