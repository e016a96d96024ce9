//! 802.11 frames: management, control, data.
//!
//! Source: IEEE 802.11-2020, 9.2 to 9.4; layout of the text as tcpdump's. Of encrypted frames the
//! initialisation vector is shown. Leaves out mesh headers, which tcpdump looks for only with `-H`.

use super::ether::{Ends, Mac};
use super::view::{Cut, Printed, View};
use super::wlan_texts::{REASONS, STATUS};
use super::{Line, escape, llc, names, put};

const MANAGEMENT: u16 = 0;
const CONTROL: u16 = 1;
const DATA: u16 = 2;

const BAR: u16 = 0x8;
const BA: u16 = 0x9;
const PS_POLL: u16 = 0xa;
const RTS: u16 = 0xb;
const CTS: u16 = 0xc;
const ACK: u16 = 0xd;
const CF_END: u16 = 0xe;
const CF_END_ACK: u16 = 0xf;

/// The frame control field.
#[derive(Clone, Copy)]
struct Control(u16);

impl Control {
    fn kind(self) -> u16 {
        self.0 >> 2 & 3
    }

    fn subtype(self) -> u16 {
        self.0 >> 4 & 15
    }

    fn is_to_ds(self) -> bool {
        self.0 & 0x0100 != 0
    }

    fn is_from_ds(self) -> bool {
        self.0 & 0x0200 != 0
    }

    fn protected(self) -> bool {
        self.0 & 0x4000 != 0
    }

    /// Length of the frame's header, or why there is none.
    fn header(self) -> Result<usize, String> {
        match (self.kind(), self.subtype()) {
            (MANAGEMENT, _) => Ok(24),
            (CONTROL, BAR) => Ok(20),
            (CONTROL, 0x7 | PS_POLL | RTS | CF_END | CF_END_ACK) => Ok(16),
            (CONTROL, BA | CTS | ACK) => Ok(10),
            (CONTROL, subtype) => Err(format!("unknown 802.11 ctrl frame subtype ({subtype})")),
            (DATA, subtype) => {
                let addresses = if self.is_to_ds() && self.is_from_ds() { 30 } else { 24 };
                Ok(addresses + if subtype & 8 != 0 { 2 } else { 0 })
            }
            (kind, _) => Err(format!("unknown 802.11 frame type ({kind})")),
        }
    }
}

/// Prints a frame; `padded`: its header is padded to four bytes, `check`: bytes of check sequence
/// behind it.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>, padded: bool, check: usize) -> Printed {
    line.protocol = "802.11";
    let before = line.header;
    line.header += view.captured().len();
    let length = view.len().checked_sub(check).ok_or(Cut)?;
    let view = view.first(length);
    let control = Control(le16(view, 0)?);
    let mut header = match control.header() {
        Ok(header) => header,
        Err(why) => {
            line.header = before;
            line.put(&why);
            return Ok(());
        }
    };
    if padded {
        header = header.next_multiple_of(4);
    }
    line.header = before + header;
    view.take(0, header)?;
    if line.style.link {
        link_text(line, control, view)?;
    }
    let body = view.skip(header);
    match control.kind() {
        MANAGEMENT => management(line, control, Mac(view.array(10)?), body),
        CONTROL => control_text(line, control, view),
        _ if control.subtype() & 4 != 0 => Ok(()),
        _ if control.protected() => {
            line.put("Data");
            encrypted(line, body)
        }
        _ => {
            let size = llc::print(line, body, Some(ends(control, view)?))?;
            line.header += size;
            Ok(())
        }
    }
}

fn le16(view: View<'_>, at: usize) -> Result<u16, Cut> {
    view.array(at).map(u16::from_le_bytes)
}

/// Source and destination of a data frame.
fn ends(control: Control, view: View<'_>) -> Result<Ends, Cut> {
    let (src, dst) = match (control.is_to_ds(), control.is_from_ds()) {
        (false, false) => (10, 4),
        (false, true) => (16, 4),
        (true, false) => (10, 16),
        (true, true) => (24, 16),
    };
    Ok(Ends { src: Mac(view.array(src)?), dst: Mac(view.array(dst)?) })
}

/// The header, with `-e`.
fn link_text(line: &mut Line<'_>, control: Control, view: View<'_>) -> Printed {
    if line.style.verbose > 0 {
        let flags = [
            (0x2000, "More Data "),
            (0x0400, "More Fragments "),
            (0x1000, "Pwr Mgmt "),
            (0x0800, "Retry "),
            (0x8000, "Strictly Ordered "),
            (0x4000, "Protected "),
        ];
        flags.iter().filter(|flag| control.0 & flag.0 != 0).for_each(|flag| line.put(flag.1));
        if (control.kind(), control.subtype()) != (CONTROL, PS_POLL) {
            put!(line, "{}us ", le16(view, 2)?);
        }
    }
    let at = |offset| view.array(offset).map(Mac);
    match (control.kind(), control.subtype()) {
        (MANAGEMENT, _) => put!(line, "BSSID:{} DA:{} SA:{} ", at(16)?, at(4)?, at(10)?),
        (CONTROL, BAR) => block_request(line, view)?,
        (CONTROL, PS_POLL) => put!(line, "BSSID:{} TA:{} ", at(4)?, at(10)?),
        (CONTROL, RTS) => put!(line, "RA:{} TA:{} ", at(4)?, at(10)?),
        (CONTROL, BA | CTS | ACK) => put!(line, "RA:{} ", at(4)?),
        (CONTROL, CF_END | CF_END_ACK) => put!(line, "RA:{} BSSID:{} ", at(4)?, at(10)?),
        (CONTROL, _) => {}
        _ => data_text(line, control, view)?,
    }
    Ok(())
}

fn block_request(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let at = |offset| view.array(offset).map(Mac);
    put!(line, " RA:{} TA:{} CTL({:x}) SEQ({}) ", at(4)?, at(10)?, le16(view, 16)?, le16(view, 18)?);
    Ok(())
}

fn data_text(line: &mut Line<'_>, control: Control, view: View<'_>) -> Printed {
    let subtype = control.subtype();
    if subtype & 0xb != 0 {
        let polled = ["", "Ack", "Poll", "Ack/Poll"][usize::from(subtype & 3)];
        put!(line, "CF {polled}{} ", if subtype & 8 != 0 { "+QoS" } else { "" });
    }
    let at = |offset| view.array(offset).map(Mac);
    let (a, b, c) = (at(4)?, at(10)?, at(16)?);
    match (control.is_to_ds(), control.is_from_ds()) {
        (false, false) => put!(line, "DA:{a} SA:{b} BSSID:{c} "),
        (false, true) => put!(line, "DA:{a} BSSID:{b} SA:{c} "),
        (true, false) => put!(line, "BSSID:{a} SA:{b} DA:{c} "),
        (true, true) => put!(line, "RA:{a} TA:{b} DA:{c} SA:{} ", at(24)?),
    }
    Ok(())
}

fn control_text(line: &mut Line<'_>, control: Control, view: View<'_>) -> Printed {
    let known = [
        (0x7, "Control Wrapper"),
        (BAR, "BAR"),
        (BA, "BA"),
        (PS_POLL, "Power Save-Poll"),
        (RTS, "Request-To-Send"),
        (CTS, "Clear-To-Send"),
        (ACK, "Acknowledgment"),
        (CF_END, "CF-End"),
        (CF_END_ACK, "CF-End+CF-Ack"),
    ];
    line.put(names::find(&known, control.subtype()).unwrap_or("Unknown Ctrl Subtype"));
    match control.subtype() {
        PS_POLL => put!(line, " AID({:x})", le16(view, 2)?),
        _ if line.style.link => {}
        BAR => block_request(line, view)?,
        RTS => put!(line, " TA:{} ", Mac(view.array(10)?)),
        BA | CTS | ACK | CF_END | CF_END_ACK => put!(line, " RA:{} ", Mac(view.array(4)?)),
        _ => {}
    }
    Ok(())
}

/// WEP, and what TKIP and CCMP have in its place.
fn encrypted(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let vector = u32::from_le_bytes(view.array(0)?);
    put!(line, " IV:{:3x} Pad {:x} KeyID {:x}", vector & 0xff_ffff, vector >> 24 & 0x3f, vector >> 30);
    Ok(())
}

fn management(line: &mut Line<'_>, control: Control, src: Mac, body: View<'_>) -> Printed {
    let known = [
        "Assoc Request",
        "Assoc Response",
        "ReAssoc Request",
        "ReAssoc Response",
        "Probe Request",
        "Probe Response",
        "",
        "",
        "Beacon",
        "ATIM",
        "Disassociation",
        "Authentication",
        "DeAuthentication",
        "Action",
    ];
    let subtype = control.subtype();
    match known.get(usize::from(subtype)).filter(|name| !name.is_empty()) {
        Some(name) => line.put(name),
        None => put!(line, "Unhandled Management subtype({subtype:x})"),
    }
    if control.protected() {
        return encrypted(line, body);
    }
    match subtype {
        0x0 => association_request(line, body),
        0x1 | 0x3 => association_response(line, body),
        0x2 => reassociation_request(line, body),
        0x4 => {
            let (elements, whole) = Elements::read(body);
            elements.ssid_text(line);
            elements.rates_text(line);
            whole
        }
        0x5 => beacon(line, body, false),
        0x8 => beacon(line, body, true),
        0xa => {
            put!(line, ": {}", reason(le16(body, 0)?));
            Ok(())
        }
        0xb => authentication(line, body),
        0xc => {
            let reason = reason(le16(body, 0)?);
            if line.style.link {
                put!(line, ": {reason}")
            } else {
                put!(line, " ({src}): {reason}")
            }
            Ok(())
        }
        0xd => action(line, src, body),
        _ => Ok(()),
    }
}

fn reason(code: u16) -> &'static str {
    REASONS.get(usize::from(code)).copied().unwrap_or("Reserved")
}

fn status(code: u16) -> &'static str {
    STATUS.get(usize::from(code)).copied().unwrap_or("n/a")
}

/// Time stamp, interval, capabilities, then elements.
fn beacon(line: &mut Line<'_>, body: View<'_>, kind: bool) -> Printed {
    body.take(0, 12)?;
    let capabilities = le16(body, 10)?;
    let (elements, whole) = Elements::read(body.skip(12));
    elements.ssid_text(line);
    elements.rates_text(line);
    if kind {
        line.put(if capabilities & 1 != 0 { " ESS" } else { " IBSS" });
    }
    if let Some(channel) = elements.channel {
        put!(line, " CH: {channel}");
    }
    if capabilities & 0x10 != 0 {
        line.put(", PRIVACY");
    }
    whole
}

fn association_request(line: &mut Line<'_>, body: View<'_>) -> Printed {
    body.take(0, 4)?;
    let (elements, whole) = Elements::read(body.skip(4));
    elements.ssid_text(line);
    elements.rates_text(line);
    whole
}

fn association_response(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let (capabilities, code, number) = (le16(body, 0)?, le16(body, 2)?, le16(body, 4)?);
    let (_, whole) = Elements::read(body.skip(6));
    let privacy = if capabilities & 0x10 != 0 { " PRIVACY " } else { "" };
    put!(line, " AID({:x}) :{privacy}: {}", number & 0x3fff, status(code));
    whole
}

fn reassociation_request(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let station = Mac(body.array(4)?);
    let (elements, whole) = Elements::read(body.skip(10));
    elements.ssid_text(line);
    put!(line, " AP : {station}");
    whole
}

fn authentication(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let (algorithm, number, code) = (le16(body, 0)?, le16(body, 2)?, le16(body, 4)?);
    let (_, whole) = Elements::read(body.skip(6));
    let name = ["Open System", "Shared Key", "EAP"].get(usize::from(algorithm)).copied().unwrap_or("Reserved");
    let told = if number % 2 == 1 { status(code) } else { "" };
    let challenge = if algorithm == 1 && matches!(number, 2 | 3) { " [Challenge Text]" } else { ":" };
    put!(line, " ({name})-{number:x}{challenge} {told}");
    whole
}

fn action(line: &mut Line<'_>, src: Mac, body: View<'_>) -> Printed {
    let [category, action] = body.array(0)?;
    if line.style.link {
        line.put(": ");
    } else {
        put!(line, " ({src}): ");
    }
    let (name, known): (&str, &[&str]) = match category {
        0 => ("Spectrum Management", &[]),
        1 => ("QoS", &[]),
        2 => ("DLS", &[]),
        3 => ("BA", &["ADDBA Request", "ADDBA Response", "DELBA"]),
        7 => ("HT", &["TxChWidth", "MIMOPwrSave"]),
        13 => ("MeshAction", MESH_ACTIONS),
        14 => ("MultiohopAction", &["Proxy Update", "Proxy Update Confirmation"]),
        15 => ("SelfprotectAction", &["", "Peering Open", "Peering Confirm", "Peering Close", "Group Key Inform", "Group Key Acknowledge"]),
        127 => ("Vendor", &[]),
        number => {
            put!(line, "Reserved({number})");
            ("", &[])
        }
    };
    line.put(name);
    match known.get(usize::from(action)).filter(|name| !name.is_empty()) {
        Some(known) => put!(line, " {known}"),
        None => put!(line, " Act#{action}"),
    }
    Ok(())
}

const MESH_ACTIONS: &[&str] = &[
    "MeshLink",
    "HWMP",
    "Gate Announcement",
    "Congestion Control",
    "MCCA Setup Request",
    "MCCA Setup Reply",
    "MCCA Advertisement Request",
    "MCCA Advertisement",
    "MCCA Teardown",
    "TBTT Adjustment Request",
    "TBTT Adjustment Response",
];

/// What lines show of the elements of a management frame: the first of each kind.
#[derive(Default)]
struct Elements<'v> {
    ssid: Option<&'v [u8]>,
    rates: Option<&'v [u8]>,
    channel: Option<u8>,
}

impl<'v> Elements<'v> {
    /// The elements, as far as they are whole, and whether all are.
    fn read(mut view: View<'v>) -> (Elements<'v>, Printed) {
        let mut found = Elements::default();
        while view.len() > 0 {
            let Ok(element) = element(view) else { return (found, Err(Cut)) };
            let (kind, content) = element;
            match kind {
                0 if content.len() > 32 => return (found, Err(Cut)),
                1 if content.len() > 16 => return (found, Err(Cut)),
                16 if content.len() > 253 => return (found, Err(Cut)),
                5 if content.len() > 254 => return (found, Err(Cut)),
                0 => found.ssid = found.ssid.or(Some(content)),
                1 if !content.is_empty() => found.rates = found.rates.or(Some(content)),
                3 if content.len() == 1 => found.channel = found.channel.or(content.first().copied()),
                _ => {}
            }
            view = view.skip(2 + content.len());
        }
        (found, Ok(()))
    }

    fn ssid_text(&self, line: &mut Line<'_>) {
        if let Some(ssid) = self.ssid {
            let end = ssid.iter().position(|&byte| byte == 0).unwrap_or(ssid.len());
            line.put(" (");
            escape::text(&mut line.text, &ssid[..end]);
            line.put(")");
        }
    }

    /// Half megabits per second; a high bit marks rates that every station must have.
    fn rates_text(&self, line: &mut Line<'_>) {
        let Some(rates) = self.rates else { return };
        for (i, rate) in rates.iter().enumerate() {
            let half = rate & 0x7f;
            let begin = if i == 0 { " [" } else { " " };
            put!(line, "{begin}{}.{}{}", half / 2, half % 2 * 5, if rate & 0x80 != 0 { "*" } else { "" });
        }
        line.put(" Mbit]");
    }
}

/// The first element: its kind and content.
fn element(view: View<'_>) -> Result<(u8, &[u8]), Cut> {
    let [kind, length] = view.array(0)?;
    Ok((kind, view.take(2, length.into())?))
}
