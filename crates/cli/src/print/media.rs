//! Audio and video, with `-T`: RTP, versions 1 and 2, RTCP (RFC 3550), and what vat sends.
//!
//! Leaves out: the fields of payload types.

use super::view::{Cut, Printed, View};
use super::{Line, put};

pub(super) fn rtp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "rtp";
    if view.len() < 8 {
        put!(line, "udp/rtp, length {} < 8", view.len());
        return Ok(());
    }
    let (first, time) = (view.u32(0)?, view.u32(4)?);
    let old = first >> 30 == 1;
    let header = if old { 8 } else { 12 };
    if view.len() < header {
        put!(line, "udp/rtp, length {} < 12", view.len());
        return Ok(());
    }
    let (name, kind, more, marker) = match old {
        true => ("rtpv1", first >> 16 & 0x3f, first & 0x80_0000, first & 0x40_0000),
        false => ("rtp", first >> 16 & 0x7f, first & 0x1000_0000, first & 0x80_0000),
    };
    let (plus, star) = (if more != 0 { "+" } else { "" }, if marker != 0 { "*" } else { "" });
    put!(line, "udp/{name} {} c{kind} {plus}{star} {} {time}", view.len() - header, first & 0xffff);
    if line.style.verbose > 0 {
        put!(line, " {}", view.u32(8)?);
        more_of_rtp(line, view.skip(header), old, more != 0, kind)?;
    }
    Ok(())
}

/// Options or an extension are passed over; of H.261 the first half word is shown.
fn more_of_rtp(line: &mut Line<'_>, mut rest: View<'_>, old: bool, more: bool, kind: u32) -> Printed {
    let mut left = more;
    while left {
        let word = rest.u32(0)?;
        let words = if old { word >> 16 & 0xff } else { (word & 0xffff) + 1 } as usize;
        if words == 0 || words > rest.len() / 4 {
            line.put(if old { " !opt" } else { " !ext" });
            return Ok(());
        }
        rest = rest.skip(words * 4);
        // The last option has its first bit set.
        left = old && word >> 31 == 0;
    }
    if kind == 0x1f {
        put!(line, " 0x{:04x}", rest.u32(0)? >> 16);
    }
    Ok(())
}

/// All packets of a datagram.
pub(super) fn rtcp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "rtcp";
    let mut rest = view;
    while rest.len() > 0 {
        let size = control(line, rest)?;
        rest = rest.skip(size);
    }
    Ok(())
}

/// Prints a packet of RTCP; its size.
fn control(line: &mut Line<'_>, view: View<'_>) -> Result<usize, Cut> {
    view.take(0, 8)?;
    let (flags, size) = (view.u16(0)?, (usize::from(view.u16(2)?) + 1) * 4);
    let reports = usize::from(flags >> 8 & 0x1f);
    let (name, own, reports) = match flags & 0xff {
        200 => (" sr".to_owned(), 20, reports),
        201 => (" rr".to_owned(), 0, reports),
        202 => (format!(" sdes {size}"), 0, 0),
        203 => (format!(" bye {size}"), 0, 0),
        kind => (format!(" type-0x{kind:x} {size}"), 0, 0),
    };
    line.put(&name);
    if matches!(flags & 0xff, 200 | 201) && size != reports * 24 + own + 8 {
        put!(line, " [{size}]");
    }
    if line.style.verbose > 0 && matches!(flags & 0xff, 200..=203) {
        put!(line, " {}", view.u32(4)?);
    }
    if own > 0 {
        view.take(8, own)?;
        let time = f64::from(view.u32(8)?) + f64::from(view.u32(12)?) / 4_294_967_295.0;
        put!(line, " @{time:.2} {} {}p {}b", view.u32(16)?, view.u32(20)?, view.u32(24)?);
    }
    if reports > 1 {
        put!(line, " c{reports}");
    }
    (0..reports).try_for_each(|at| reception(line, view.skip(8 + own + at * 24)))?;
    Ok(size)
}

/// What a receiver says of a sender: packets lost, the last number, jitter, times.
fn reception(line: &mut Line<'_>, view: View<'_>) -> Printed {
    view.take(0, 24)?;
    if line.style.verbose > 0 {
        put!(line, " {}", view.u32(0)?);
    }
    let [last, since] = [view.u32(16)?, view.u32(20)?].map(|time| f64::from(time) / 65_536.0);
    put!(line, " {}l {}s {}j @{last:.2}+{since:.2}", view.u32(4)? & 0xff_ffff, view.u32(8)?, view.u32(12)?);
    Ok(())
}

pub(super) fn vat(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "vat";
    let len = view.len();
    if len < 2 {
        put!(line, "udp/va/vat, length {len} < 2");
        return Ok(());
    }
    let time = view.u16(0)?;
    if time & 0xf060 != 0 {
        put!(line, "udp/vt {len} {} / {}", time & 0x3ff, time >> 10);
        return Ok(());
    }
    if len < 8 {
        put!(line, "udp/vat, length {len} < 8");
        return Ok(());
    }
    let (first, stamp) = (view.u32(0)?, view.u32(4)?);
    put!(line, "udp/vat {} c{} {stamp}{}", len - 8, first & 0xffff, if first & 0x80_0000 != 0 { "*" } else { "" });
    if first & 0x1f_0000 != 0 {
        put!(line, " f{}", first >> 16 & 0x1f);
    }
    if first & 0x3f00_0000 != 0 {
        put!(line, " s{}", first >> 24 & 0x3f);
    }
    Ok(())
}
