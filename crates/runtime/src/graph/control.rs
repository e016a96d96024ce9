//! The handlers that a program declares: text from and to its data memory.
//!
//! Data memory is little-endian. Text is Click's: decimal numbers (hexadecimal is read too), `true`
//! and `false`, addresses in their usual forms.

use super::program::Program;
use super::{HandlerError, text};
use netil::module::ControlType;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

impl Program {
    /// The number of a handler that is read or written, and whether the pull handler runs with it.
    pub(super) fn control(&self, name: &str, write: bool) -> Option<(u32, bool)> {
        let controls = &self.module().controls;
        let fits = |control: &netil::module::Control| if write { control.write } else { control.read };
        controls.iter().position(|control| control.name == name && fits(control)).map(|at| (at as u32, controls[at].call))
    }

    /// The value of a handler as text; of those that print, what was printed.
    pub(super) fn value(&self, index: u32, printed: &[u8]) -> String {
        let Some(control) = self.module().controls.get(index as usize) else { return String::new() };
        let at = control.at as usize;
        let bytes = self.state.data.get(at..at + control.ty.size() as usize).unwrap_or_default();
        match control.ty {
            ControlType::Text => String::from_utf8_lossy(printed).into_owned(),
            ty => shown(ty, bytes),
        }
    }

    /// Sets the value of a handler from text.
    pub(super) fn set_value(&mut self, index: u32, text: &str) -> Result<(), HandlerError> {
        let Some(control) = self.module().controls.get(index as usize) else { return Ok(()) };
        let (at, size) = (control.at as usize, control.ty.size() as usize);
        let bytes = parsed(control.ty, text.trim())?;
        if let Some(place) = self.state.data.get_mut(at..at + size) {
            place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().take(16).rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

fn shown(ty: ControlType, bytes: &[u8]) -> String {
    let value = number(bytes);
    match ty {
        ControlType::Unsigned(_) => value.to_string(),
        ControlType::Signed(bits) => {
            let shift = 128 - u32::from(bits.clamp(1, 128));
            ((value << shift) as i128 >> shift).to_string()
        }
        ControlType::Bool => (value != 0).to_string(),
        ControlType::Ip4 => Ipv4Addr::from(value as u32).to_string(),
        ControlType::Ip6 => Ipv6Addr::from(value).to_string(),
        ControlType::Mac => {
            let octets: Vec<_> = (0..6).rev().map(|i| format!("{:02X}", (value >> (8 * i)) as u8)).collect();
            octets.join("-")
        }
        ControlType::Text | ControlType::None => String::new(),
    }
}

fn parsed(ty: ControlType, value: &str) -> Result<[u8; 16], HandlerError> {
    let value = text::unquoted(value);
    let wrong = |what: &str| HandlerError::invalid(format!("expected {what}, not '{value}'"));
    let number = match ty {
        ControlType::Unsigned(bits) => in_range(&value, 0, bits).ok_or_else(|| wrong(&numbers(&value, 0, bits)))?,
        ControlType::Signed(bits) => in_range(&value, 1, bits).ok_or_else(|| wrong(&numbers(&value, 1, bits)))?,
        ControlType::Bool => text::boolean(&value).ok_or_else(|| wrong("true or false"))?.into(),
        ControlType::Ip4 => u32::from(value.parse::<Ipv4Addr>().map_err(|_| wrong("an IP address"))?).into(),
        ControlType::Ip6 => value.parse::<Ipv6Addr>().map_err(|_| wrong("an IPv6 address"))?.into(),
        ControlType::Mac => mac(&value).ok_or_else(|| wrong("an Ethernet address"))?.into(),
        ControlType::Text => return Err(HandlerError::invalid("cannot be written")),
        ControlType::None => 0,
    };
    Ok(number.to_le_bytes())
}

/// The numbers of so many bits, one of them for the sign.
fn range(sign: u32, bits: u16) -> RangeInclusive<i128> {
    let bits = u32::from(bits).min(64) - sign;
    let least = if sign == 0 { 0 } else { -(1i128 << bits) };
    least..=(1i128 << bits) - 1
}

fn in_range(text: &str, sign: u32, bits: u16) -> Option<u128> {
    text::whole(text).filter(|number| range(sign, bits).contains(number)).map(|number| number as u128)
}

/// What is wanted in place of a text: a number; if it is one, from where to where.
fn numbers(text: &str, sign: u32, bits: u16) -> String {
    let range = range(sign, bits);
    match text::whole(text) {
        Some(_) => format!("a number from {} to {}", range.start(), range.end()),
        None => "a number".to_owned(),
    }
}

fn mac(text: &str) -> Option<u64> {
    let octets: Vec<_> = text.split(['-', ':']).map(|octet| u8::from_str_radix(octet, 16).ok()).collect::<Option<_>>()?;
    (octets.len() == 6).then(|| octets.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_shown() {
        let cases = [
            (ControlType::Unsigned(16), "65535"),
            (ControlType::Signed(16), "-32768"),
            (ControlType::Unsigned(64), "18446744073709551615"),
            (ControlType::Signed(64), "-9223372036854775808"),
            (ControlType::Bool, "true"),
            (ControlType::Ip4, "10.0.0.255"),
            (ControlType::Ip6, "2001:db8::1"),
            (ControlType::Mac, "00-01-02-0A-0B-FF"),
        ];
        for (ty, text) in cases {
            assert_eq!(shown(ty, &parsed(ty, text).unwrap()[..ty.size() as usize]), text);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (ty, text) in [
            (ControlType::Unsigned(8), "256"),
            (ControlType::Unsigned(8), "-1"),
            (ControlType::Signed(8), "128"),
            (ControlType::Unsigned(64), "-1"),
            (ControlType::Unsigned(64), "18446744073709551616"),
            (ControlType::Signed(64), "9223372036854775808"),
            (ControlType::Signed(64), "-9223372036854775809"),
            (ControlType::Bool, "maybe"),
            (ControlType::Ip4, "1.2.3"),
            (ControlType::Mac, "1:2:3:4:5"),
        ] {
            assert!(parsed(ty, text).is_err(), "{text}");
        }
        let told = |ty, text| parsed(ty, text).unwrap_err();
        assert_eq!(told(ControlType::Unsigned(8), "256").text(), "expected a number from 0 to 255, not '256'");
        assert_eq!(told(ControlType::Signed(16), "32768").text(), "expected a number from -32768 to 32767, not '32768'");
        assert_eq!(told(ControlType::Signed(16), "x").text(), "expected a number, not 'x'");
    }
}
