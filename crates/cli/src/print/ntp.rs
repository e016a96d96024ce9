//! NTP (RFC 5905): version, mode and length; with `-v` the clocks, and the header of control
//! messages (RFC 1305, appendix B).

use super::view::{Cut, Printed, View};
use super::{Line, escape, put};

const MODES: [&str; 8] =
    ["unspecified", "symmetric active", "symmetric passive", "Client", "Server", "Broadcast", "Control Message", "Reserved"];
const CONTROL: u8 = 6;
const PRIVATE: u8 = 7;
const CLOCKS: usize = 48;
const CONTROL_HEADER: usize = 12;
/// Seconds from 1900 to 1970.
const EPOCH: i64 = 2_208_988_800;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ntp";
    let first = view.u8(0)?;
    let mode = first & 7;
    put!(line, "NTPv{}, {}, length {}", first >> 3 & 7, MODES[usize::from(mode)], view.len());
    if line.style.verbose == 0 {
        return Ok(());
    }
    let leap = ["", "+1s", "-1s", "clock unsynchronized"][usize::from(first >> 6)];
    put!(line, "\n\tLeap indicator: {leap} ({})", first & 0xc0);
    match mode {
        PRIVATE => Ok(()),
        CONTROL => control(line, view),
        _ if view.len() < CLOCKS => {
            line.invalid();
            view.take(0, view.len()).map(drop)
        }
        _ => clocks(line, view),
    }
}

fn control(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let count = if view.len() < CONTROL_HEADER { 0 } else { usize::from(view.u16(10)?) };
    if view.len() >= CONTROL_HEADER {
        let flags = view.u8(1)?;
        let said = |bit: u8, set: &'static str, clear: &'static str| if flags & bit != 0 { set } else { clear };
        put!(line, ", {}, {}", said(0x80, "Response", "Request"), said(0x40, "Error", "OK"));
        put!(line, ", {}, OpCode={}\n\tSequence={}", said(0x20, "More", "Last"), flags & 31, view.u16(2)?);
        match view.u16(4)? {
            0 => line.put(", Status=0"),
            status => put!(line, ", Status={status:#x}"),
        }
        put!(line, ", Assoc.={}, Offset={}, Count={count}", view.u16(6)?, view.u16(8)?);
    }
    if CONTROL_HEADER + count > view.len() {
        line.invalid();
        return view.take(0, view.len()).map(drop);
    }
    if count > 0 {
        view.take(CONTROL_HEADER, count)?;
        line.put("\n\tTO-BE-DONE: data not interpreted");
    }
    Ok(())
}

fn clocks(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let stratum = view.u8(1)?;
    let name = match stratum {
        0 => "unspecified",
        1 => "primary reference",
        2..=15 => "secondary reference",
        _ => "reserved",
    };
    let (poll, precision) = (view.u8(2)?.cast_signed(), view.u8(3)?.cast_signed());
    put!(line, ", Stratum {stratum} ({name}), poll {poll}");
    match poll {
        0..32 => put!(line, " ({}s)", 1u32 << poll),
        -31..0 => put!(line, " (1/{}s)", 1u32 << -poll),
        _ => {}
    }
    put!(line, ", precision {precision}\n\tRoot Delay: {}", short(view, 4)?);
    put!(line, ", Root dispersion: {}, Reference-ID: ", short(view, 8)?);
    match stratum {
        0 => line.put("(unspec)"),
        1 => escape::text(&mut line.text, view.take(12, 4)?),
        62 | 63 => {
            put!(line, "{} INFO_{}", view.v4(12)?, if stratum == 62 { "QUERY" } else { "REPLY" });
            return Ok(());
        }
        _ => put!(line, "0x{:08x}", view.u32(12)?),
    }
    let names = ["Reference Timestamp:  ", "Originator Timestamp: ", "Receive Timestamp:    ", "Transmit Timestamp:   "];
    for (name, at) in names.into_iter().zip((16..).step_by(8)) {
        put!(line, "\n\t  {name}{}", time(view, at)?);
    }
    put!(line, "\n\t    Originator - Receive Timestamp:  {}", difference(view, 24, 32)?);
    put!(line, "\n\t    Originator - Transmit Timestamp: {}", difference(view, 24, 40)?);
    trailer(line, view)
}

/// A key's number and a digest of 16 or 20 bytes, or the number alone.
fn trailer(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let digest = match view.len() - CLOCKS {
        0 => return Ok(()),
        4 => 0,
        20 => 16,
        24 => 20,
        more => {
            put!(line, "\n\t({more} more bytes after the header)");
            return Ok(());
        }
    };
    put!(line, "\n\tKey id: {}", view.u32(CLOCKS)?);
    if digest > 0 {
        let bytes = view.take(CLOCKS + 4, digest)?;
        line.put("\n\tAuthentication: ");
        for byte in bytes {
            put!(line, "{byte:02x}");
        }
    }
    Ok(())
}

/// A fixed-point number with 16 bits on either side.
fn short(view: View<'_>, at: usize) -> Result<String, Cut> {
    let micros = (f64::from(view.u16(at + 2)?) / 65_536.0 * 1_000_000.0) as u32;
    Ok(format!("{}.{micros:06}", view.u16(at)?))
}

fn nanos(fraction: u32) -> u32 {
    (f64::from(fraction) / 4_294_967_296.0 * 1_000_000_000.0) as u32
}

/// Seconds since 1900 with 32 bits behind the point, and the date.
pub(super) fn time(view: View<'_>, at: usize) -> Result<String, Cut> {
    let (seconds, fraction) = (view.u32(at)?, view.u32(at + 4)?);
    let date = match jiff::Timestamp::from_second(i64::from(seconds) - EPOCH) {
        Ok(date) if seconds != 0 => format!(" ({date})"),
        _ => String::new(),
    };
    Ok(format!("{seconds}.{:09}{date}", nanos(fraction)))
}

/// How much later the second time is; the time itself if the first is none.
fn difference(view: View<'_>, first: usize, second: usize) -> Result<String, Cut> {
    let (from, to) = (view.u64(first)?, view.u64(second)?);
    if from == 0 {
        return time(view, second);
    }
    let ahead = to > from;
    let distance = from.abs_diff(to);
    Ok(format!("{}{}.{:09}", if ahead { "+" } else { "-" }, distance >> 32, nanos(distance as u32)))
}
