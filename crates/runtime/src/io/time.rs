//! Timestamps of packets, and the resolutions that capture files store them with.
//!
//! Invariant: [`Timestamp::nanos`] is below one second. A capture may say otherwise (a microsecond
//! field of two million); the excess is carried into the seconds, so no value is lost and order is
//! kept.
//!
//! Source: draft-ietf-opsawg-pcap (classic), draft-ietf-opsawg-pcapng section 4.2 (`if_tsresol`,
//! `if_tsoffset`). Leaves out: leap seconds and `if_tzone`, which no reader honours.

use std::fmt;

const NANOS: u64 = 1_000_000_000;

/// When a packet was captured: seconds and nanoseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds since the epoch; negative before it.
    pub secs: i64,
    /// Nanoseconds within the second, below 1,000,000,000.
    pub nanos: u32,
    /// How many digits the source could tell apart.
    pub precision: Precision,
}

/// Digits of a second that a capture, or a reader of it, keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// Microseconds, or coarser: six digits.
    #[default]
    Micro,
    /// Nanoseconds, or finer: nine digits.
    Nano,
}

impl Timestamp {
    /// A timestamp from seconds and microseconds; an excess of microseconds is carried into the
    /// seconds.
    pub fn from_micros(secs: i64, micros: u32) -> Self {
        Self::carried(secs, u64::from(micros) * 1000, Precision::Micro)
    }

    /// A timestamp from seconds and nanoseconds; an excess of nanoseconds is carried into the
    /// seconds.
    pub fn from_nanos(secs: i64, nanos: u32) -> Self {
        Self::carried(secs, u64::from(nanos), Precision::Nano)
    }

    /// Nanoseconds since the epoch, saturating at the ends of `i64` (years 1677 and 2262).
    pub fn as_nanos(&self) -> i64 {
        self.secs.saturating_mul(NANOS as i64).saturating_add(i64::from(self.nanos))
    }

    /// The fraction of the second in microseconds, cut off, not rounded (as every capture tool
    /// does).
    pub fn micros(&self) -> u32 {
        self.nanos / 1000
    }

    fn carried(secs: i64, nanos: u64, precision: Precision) -> Self {
        let secs = secs.saturating_add((nanos / NANOS) as i64);
        Self { secs, nanos: (nanos % NANOS) as u32, precision }
    }
}

/// Seconds, a point and six or nine digits: `1700000000.000001`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.precision {
            Precision::Micro => write!(f, "{}.{:06}", self.secs, self.micros()),
            Precision::Nano => write!(f, "{}.{:09}", self.secs, self.nanos),
        }
    }
}

/// The length of one tick of an interface's clock in pcapng: the value of its `if_tsresol` option.
///
/// The low seven bits are an exponent; the top bit chooses base 2 instead of 10. Only values whose
/// ticks per second fit 64 bits exist, the same that libpcap accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resolution(u8);

impl Resolution {
    /// Ticks of 10⁻⁶ s, what pcapng assumes when nothing is said.
    pub const MICRO: Self = Self(6);
    /// Ticks of 10⁻⁹ s.
    pub const NANO: Self = Self(9);

    /// Reads the option's value; `None` where ticks per second exceed 64 bits (above 10¹⁹ or 2⁶³).
    pub fn from_option(value: u8) -> Option<Self> {
        let limit = if value & 0x80 == 0 { 19 } else { 63 };
        (value & 0x7f <= limit).then_some(Self(value))
    }

    /// The option's value.
    pub fn option(self) -> u8 {
        self.0
    }

    /// Ticks in a second; at least 1.
    pub fn ticks(self) -> u64 {
        let exponent = u32::from(self.0 & 0x7f);
        if self.0 & 0x80 == 0 { 10u64.pow(exponent) } else { 1 << exponent }
    }

    /// The digits needed to print a time of this resolution.
    pub fn precision(self) -> Precision {
        if self.ticks() > 1_000_000 { Precision::Nano } else { Precision::Micro }
    }

    /// The time `ticks` ticks after `offset` seconds; what is finer than a nanosecond is cut off.
    pub fn at(self, ticks: u64, offset: i64) -> Timestamp {
        let per_second = self.ticks();
        let secs = ((ticks / per_second) as i64).wrapping_add(offset);
        let part = u128::from(ticks % per_second) * u128::from(NANOS) / u128::from(per_second);
        Timestamp { secs, nanos: part as u32, precision: self.precision() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_microseconds_are_carried() {
        let t = Timestamp::from_micros(10, 2_500_000);
        assert_eq!((t.secs, t.nanos), (12, 500_000_000));
        assert_eq!(t.to_string(), "12.500000");
    }

    #[test]
    fn the_ends_of_the_range_do_not_overflow() {
        assert_eq!(Timestamp::from_micros(i64::MAX, u32::MAX).secs, i64::MAX);
        assert_eq!(Timestamp::from_nanos(i64::MAX, 0).as_nanos(), i64::MAX);
        assert_eq!(Resolution(0).at(u64::MAX, i64::MAX).nanos, 0);
    }

    #[test]
    fn decimal_and_binary_resolutions_agree_on_half_a_second() {
        for option in [1, 3, 6, 9, 12, 19, 0x81, 0x94, 0xbf] {
            let resolution = Resolution::from_option(option).unwrap();
            let t = resolution.at(resolution.ticks() / 2, 7);
            assert_eq!((t.secs, t.nanos), (7, 500_000_000), "if_tsresol {option:#x}");
        }
    }

    #[test]
    fn resolutions_beyond_64_bits_are_refused() {
        assert_eq!(Resolution::from_option(20), None);
        assert_eq!(Resolution::from_option(0x80 | 64), None);
        assert_eq!(Resolution::from_option(0x80 | 63).map(Resolution::ticks), Some(1 << 63));
    }

    #[test]
    fn print_shows_the_digits_of_the_source() {
        assert_eq!(Timestamp::from_nanos(1, 5).to_string(), "1.000000005");
        assert_eq!(Resolution::from_option(3).map(|r| r.at(1_234, 0).to_string()), Some("1.234000".into()));
    }
}
