//! The time before a line: `-t` none, `-tt` seconds since 1970, `-ttt` since the line before,
//! `-tttt` with the date, `-ttttt` since the first line.

use jiff::tz::TimeZone;
use netvm::io::{Precision, Timestamp};
use std::fmt::Write as _;

/// What is shown of a packet's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeStyle {
    /// In which form.
    pub form: TimeForm,
    /// Six digits of a second or nine.
    pub precision: Precision,
}

/// The forms of a packet's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// The time of day.
    #[default]
    Day,
    /// Nothing.
    None,
    /// Seconds since 1970.
    Epoch,
    /// Since the packet before.
    Delta,
    /// Date and time of day.
    Date,
    /// Since the first packet.
    SinceFirst,
}

/// The time zone of times of day.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// The one that the environment variable `TZ` or else the system says; UTC if neither does.
    pub fn system() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }
}

/// Writes times, remembering what `-ttt` counts from.
pub(super) struct Clock {
    style: TimeStyle,
    zone: TimeZone,
    from: Option<Timestamp>,
}

impl Clock {
    pub(super) fn new(style: TimeStyle, zone: Zone) -> Self {
        Self { style, zone: zone.0, from: None }
    }

    /// Appends the time and a space.
    pub(super) fn write(&mut self, out: &mut String, time: Timestamp) {
        match self.style.form {
            TimeForm::None => {}
            TimeForm::Day => self.of_day(out, time, false),
            TimeForm::Date => self.of_day(out, time, true),
            TimeForm::Epoch => {
                let _ = write!(out, "{}", time.secs);
                self.fraction(out, time.nanos);
            }
            TimeForm::Delta | TimeForm::SinceFirst => self.distance(out, time),
        }
    }

    fn of_day(&self, out: &mut String, time: Timestamp, date: bool) {
        // A time that no calendar has, say of a damaged record, is shown as seconds.
        let Ok(instant) = jiff::Timestamp::from_second(time.secs) else {
            let _ = write!(out, "{}", time.secs);
            return self.fraction(out, time.nanos);
        };
        let local = self.zone.to_datetime(instant);
        if date {
            let _ = write!(out, "{:04}-{:02}-{:02} ", local.year(), local.month(), local.day());
        }
        let _ = write!(out, "{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second());
        self.fraction(out, time.nanos);
    }

    fn distance(&mut self, out: &mut String, time: Timestamp) {
        let from = *self.from.get_or_insert(time);
        if self.style.form == TimeForm::Delta {
            self.from = Some(time);
        }
        let nanos = self.nanos(time) - self.nanos(from);
        let sign = if nanos < 0 { '-' } else { ' ' };
        let (seconds, rest) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
        let _ = write!(out, "{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        self.fraction(out, rest as u32);
    }

    /// Since 1970, as far as digits are shown.
    fn nanos(&self, time: Timestamp) -> i128 {
        let part = match self.style.precision {
            Precision::Micro => time.nanos / 1000 * 1000,
            Precision::Nano => time.nanos,
        };
        i128::from(time.secs) * 1_000_000_000 + i128::from(part)
    }

    fn fraction(&self, out: &mut String, nanos: u32) {
        let _ = match self.style.precision {
            Precision::Micro => write!(out, ".{:06} ", nanos / 1000),
            Precision::Nano => write!(out, ".{nanos:09} "),
        };
    }
}

/// Seconds in the units that they fill: `1h30m`.
pub(super) fn span(seconds: u32) -> String {
    if seconds == 0 {
        return "0s".to_owned();
    }
    let (mut left, mut text) = (seconds, String::new());
    for (unit, letter) in [(31_536_000, 'y'), (604_800, 'w'), (86_400, 'd'), (3600, 'h'), (60, 'm'), (1, 's')] {
        if left >= unit {
            text += &format!("{}{letter}", left / unit);
            left %= unit;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: TimeForm, precision: Precision, times: &[(i64, u32)]) -> String {
        let mut clock = Clock::new(TimeStyle { form, precision }, Zone::utc());
        let mut out = String::new();
        times.iter().for_each(|&(secs, nanos)| clock.write(&mut out, Timestamp::from_nanos(secs, nanos)));
        out
    }

    #[test]
    fn the_five_forms() {
        let times = [(1_700_000_000, 1_500), (1_700_003_599, 999_999_999), (1_699_999_999, 0)];
        let made = |form| written(form, Precision::Micro, &times);
        assert_eq!(made(TimeForm::Day), "22:13:20.000001 23:13:19.999999 22:13:19.000000 ");
        assert_eq!(made(TimeForm::Epoch), "1700000000.000001 1700003599.999999 1699999999.000000 ");
        assert_eq!(made(TimeForm::Delta), " 00:00:00.000000  00:59:59.999998 -01:00:00.999999 ");
        assert_eq!(made(TimeForm::SinceFirst), " 00:00:00.000000  00:59:59.999998 -00:00:01.000001 ");
        assert_eq!(made(TimeForm::Date).lines().next().unwrap().split(' ').next(), Some("2023-11-14"));
        assert_eq!(made(TimeForm::None), "");
    }

    #[test]
    fn nanoseconds_and_impossible_times() {
        assert_eq!(written(TimeForm::Day, Precision::Nano, &[(0, 7)]), "00:00:00.000000007 ");
        assert_eq!(written(TimeForm::Day, Precision::Micro, &[(i64::MAX, 0)]), format!("{}.000000 ", i64::MAX));
        assert!(written(TimeForm::Delta, Precision::Micro, &[(i64::MIN, 0), (i64::MAX, 0)]).len() > 20);
    }
}
