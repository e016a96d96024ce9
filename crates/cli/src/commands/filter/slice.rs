//! `--from`, `--to`: packets of a time.

use crate::failure::{Failure, Outcome};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use netvm::io::Burst;
use netvm::netil::exec::Selection;

/// Which packets count by their time.
#[derive(clap::Args)]
pub(crate) struct SliceArgs {
    /// Leave out packets before that time: 2026-11-25 06:00:00.5, the same with Z or +01:00, or
    /// seconds since 1970
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    from: Option<String>,

    /// Leave out packets at that time and after it
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    to: Option<String>,
}

/// Nanoseconds since 1970: from the first on and before the second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    from: Option<i64>,
    to: Option<i64>,
}

impl SliceArgs {
    pub(crate) fn get(&self) -> Outcome<Slice> {
        let time = |text: &Option<String>| text.as_deref().map(parse).transpose();
        Ok(Slice { from: time(&self.from)?, to: time(&self.to)? })
    }
}

impl Slice {
    /// Whether a time is within.
    pub(crate) fn has(&self, nanos: i64) -> bool {
        self.from.is_none_or(|from| nanos >= from) && self.to.is_none_or(|to| nanos < to)
    }

    /// Takes packets of other times out of a selection.
    pub(crate) fn keep(&self, burst: &Burst<'_>, selection: &mut Selection) {
        if self.from.is_none() && self.to.is_none() {
            return;
        }
        for i in 0..burst.len() {
            if selection.get(i) && !self.has(burst.timestamp(i).as_nanos()) {
                selection.bits[i / 64] &= !(1 << (i % 64));
            }
        }
    }
}

/// A time in nanoseconds since 1970; without a zone it is that of this machine (TZ).
fn parse(text: &str) -> Outcome<i64> {
    let wrong = || Failure::usage(format_args!("{text}: not a time such as 2026-11-25 06:00:00, 2026-11-25T06:00:00Z or 1764050400.25"));
    if let Some(nanos) = epoch(text) {
        return Ok(nanos);
    }
    let nanos = match text.parse::<jiff::Timestamp>() {
        Ok(time) => time.as_nanosecond(),
        Err(_) => {
            let local: DateTime = text.parse().map_err(|_| wrong())?;
            let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
            local.to_zoned(zone).map_err(|_| wrong())?.timestamp().as_nanosecond()
        }
    };
    i64::try_from(nanos).map_err(|_| wrong())
}

/// Seconds with up to nine digits after the point.
fn epoch(text: &str) -> Option<i64> {
    let (secs, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(part) || part.len() > 9 || !is_number(secs.strip_prefix('-').unwrap_or(secs)) {
        return None;
    }
    let nanos: i64 = format!("{part:0<9}").parse().ok()?;
    let secs: i64 = secs.parse().ok()?;
    secs.checked_mul(1_000_000_000)?.checked_add(if secs < 0 { -nanos } else { nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_as_people_write_them() {
        let nanos = |text| parse(text).ok();
        assert_eq!(nanos("1700000000.25"), Some(1_700_000_000_250_000_000));
        assert_eq!(nanos("2023-11-14T22:13:20.25Z"), nanos("1700000000.25"));
        assert_eq!(nanos("2023-11-14 23:13:20.25+01:00"), nanos("1700000000.25"));
        assert!(nanos("2023-11-14 22:13:20").is_some());
        for text in ["", "x", "1.2.3", "2023-13-01 00:00:00", "99999999999999999999", "1.0000000001"] {
            assert_eq!(nanos(text), None, "{text}");
        }
        let slice = Slice { from: Some(5), to: Some(7) };
        assert_eq!([4, 5, 6, 7].map(|nanos| slice.has(nanos)), [false, true, true, false]);
    }
}
