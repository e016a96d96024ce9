//! One primitive of an IP pattern, such as `src tcp port & 10 >= 8`: what was left out is taken
//! from the one before, and it becomes tests.
//!
//! Tests of what stands behind the IP header are of first fragments only.
//!
//! Source: Click's manual of IPClassifier.

use super::formula::{Area, Field, Formula, Op, Test};
use super::words::{Bits, Kind, Protocol, TCP, UDP};
use crate::click::syntax::ArgumentError;
use netil::fields::{self, fragment, ip, ip_protocol, tcp, udp};

/// Which of two addresses or ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Source,
    Destination,
    Both,
    Either,
}

/// How it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Relation {
    #[default]
    Equal,
    Differs,
    Above,
    Below,
    AtLeast,
    AtMost,
}

/// With what it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Data {
    #[default]
    None,
    Number(u32),
    Host(u32),
    Net(u32, u32),
    Named(Kind, u32),
    Protocol(Protocol),
}

/// A mask as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    Number(u32),
    Address(u32),
}

/// What was read of a primitive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Primitive {
    pub(super) kind: Option<Kind>,
    pub(super) ends: Option<Ends>,
    pub(super) protocol: Option<Protocol>,
    pub(super) mask: Option<Mask>,
    pub(super) relation: Relation,
    pub(super) data: Data,
}

const PROTOCOL: Bits = Bits::of(ip::PROTOCOL, None);
const TOS: Bits = Bits::of(ip::TOS, None);

impl Primitive {
    /// Takes over what is left out, and says what is tested.
    pub(super) fn formula(&mut self, before: &Self) -> Result<Formula, ArgumentError> {
        let kind = self.complete(before)?;
        self.kind = Some(kind);
        match kind {
            Kind::Host | Kind::Net => self.host(),
            Kind::Protocol => self.of_protocol(),
            Kind::Port => self.port(),
            Kind::TcpOption => self.option(),
            Kind::Ect | Kind::Ce => self.congestion(kind),
            Kind::Fragment | Kind::Unfragmented => self.fragment(kind),
            Kind::Bits(bits) => self.bits(bits),
        }
    }

    /// The kind, if need be from the value or from the primitive before.
    fn complete(&mut self, before: &Self) -> Result<Kind, ArgumentError> {
        if let Some(kind) = self.kind {
            return Ok(kind);
        }
        let kind = match self.data {
            Data::Host(_) => Kind::Host,
            Data::Net(..) => Kind::Net,
            Data::Named(kind, _) => kind,
            Data::Protocol(_) => Kind::Protocol,
            Data::Number(_) => match before.kind {
                Some(kind @ (Kind::Bits(_) | Kind::Protocol | Kind::Port)) => kind,
                _ => return Err(ArgumentError::new("a number alone: say of which header field, or `port`")),
            },
            Data::None if self.protocol.is_some() => Kind::Protocol,
            Data::None => return Err(ArgumentError::new("something is missing")),
        };
        match kind {
            Kind::Host | Kind::Net | Kind::TcpOption => self.ends = self.ends.or(before.ends),
            Kind::Port => {
                self.ends = self.ends.or(before.ends);
                self.protocol = self.protocol.or(before.protocol.filter(has_ports));
            }
            Kind::Bits(bits) => self.protocol = self.protocol.or(bits.protocol),
            _ => {}
        }
        Ok(kind)
    }

    fn host(&self) -> Result<Formula, ArgumentError> {
        let (address, mask) = match self.data {
            Data::Host(address) => (address, u32::MAX),
            Data::Net(address, mask) => (address, mask),
            _ => return Err(ArgumentError::new("an address is missing")),
        };
        let mask = match self.mask {
            Some(Mask::Number(mask) | Mask::Address(mask)) => mask,
            None => mask,
        };
        if !matches!(self.relation, Relation::Equal | Relation::Differs) {
            return Err(ArgumentError::new("addresses are not greater or less than others"));
        }
        let end = |field| equal(Area::Ip, field, mask, address);
        Ok(self.either_end(end(ip::SRC), end(ip::DST), self.relation == Relation::Differs))
    }

    fn of_protocol(&mut self) -> Result<Formula, ArgumentError> {
        let given = match self.data {
            Data::Number(number) => {
                Some(Protocol::Number(u8::try_from(number).map_err(|_| ArgumentError::new("a protocol is out of range, 0 to 255"))?))
            }
            Data::Protocol(protocol) => Some(protocol),
            Data::None => None,
            _ => return Err(ArgumentError::new("a protocol is missing")),
        };
        let protocol = match (self.protocol, given) {
            (Some(one), Some(other)) if one != other => return Err(ArgumentError::new("two protocols")),
            (one, other) => other.or(one).ok_or("a protocol is missing")?,
        };
        let plain = self.relation == Relation::Equal && self.mask.is_none();
        // What follows may be of it: `tcp port 80 or 81`.
        self.protocol = Some(protocol).filter(|_| plain);
        match protocol {
            Protocol::Number(number) => Ok(self.compared(PROTOCOL, number.into())?.simple()),
            _ if plain => Ok(is_protocol(protocol)),
            _ => Err(ArgumentError::new("this protocol has no operators and masks")),
        }
    }

    fn port(&mut self) -> Result<Formula, ArgumentError> {
        let number = match self.data {
            Data::Number(number) | Data::Named(Kind::Port, number) => number,
            _ => return Err(ArgumentError::new("a port is missing")),
        };
        let protocol = self.protocol.unwrap_or(Protocol::TcpOrUdp);
        if !has_ports(&protocol) {
            return Err(ArgumentError::new("this protocol has no ports"));
        }
        self.protocol = Some(protocol);
        let (op, value, negated) = self.normal(number, 0xffff)?;
        let mask = self.numeric_mask(0xffff)?;
        let end = |field| comparison(Field::of(Area::Transport, field), mask, op, value);
        let ends = match value {
            Some(_) => self.either_end(end(udp::SPORT), end(udp::DPORT), negated),
            None => Formula::Is(!negated),
        };
        Ok(behind_header(Some(protocol), ends))
    }

    fn option(&mut self) -> Result<Formula, ArgumentError> {
        let bits = match self.data {
            Data::Number(number) | Data::Named(Kind::TcpOption, number) => number,
            _ => return Err(ArgumentError::new("a TCP option is missing")),
        };
        if self.protocol.is_some_and(|protocol| protocol != TCP) {
            return Err(ArgumentError::new("only TCP has these options"));
        }
        if self.relation != Relation::Equal || self.mask.is_some() {
            return Err(ArgumentError::new("TCP options have no operators and masks"));
        }
        self.protocol = Some(TCP);
        let bits = Some(bits).filter(|bits| *bits <= 255).ok_or("TCP options are out of range, 0 to 255")?;
        Ok(behind_header(Some(TCP), equal(Area::Transport, tcp::FLAGS, bits, bits)))
    }

    /// Bits of the traffic class that tell of congestion (RFC 3168).
    fn congestion(&mut self, kind: Kind) -> Result<Formula, ArgumentError> {
        self.kind = Some(Kind::Bits(TOS));
        match (kind, self.data) {
            (Kind::Ect, Data::None) => Ok(comparison(Field::of(Area::Ip, ip::TOS), 3, Op::Differs, Some(0))),
            (Kind::Ect, Data::Number(_)) => self.bits(Bits { width: 2, ..TOS }),
            (Kind::Ce, Data::None) if self.mask.is_none() => Ok(equal(Area::Ip, ip::TOS, 3, 3)),
            _ => Err(ArgumentError::new("`ip ce` has no value")),
        }
    }

    /// More fragments follow, or some were before.
    fn fragment(&self, kind: Kind) -> Result<Formula, ArgumentError> {
        if self.data != Data::None || self.mask.is_some() {
            return Err(ArgumentError::new("`ip frag` and `ip unfrag` have no value"));
        }
        let op = if kind == Kind::Fragment { Op::Differs } else { Op::Equal };
        Ok(comparison(Field::of(Area::Ip, ip::FRAGMENT), u32::from(fragment::MORE | fragment::OFFSET), op, Some(0)))
    }

    fn bits(&self, bits: Bits) -> Result<Formula, ArgumentError> {
        let number = match self.data {
            Data::Number(number) => number,
            Data::Named(kind, number) if Some(kind) == self.kind => number,
            _ => return Err(ArgumentError::new("a value is missing")),
        };
        let protocol = self.protocol.or(bits.protocol);
        let compared = self.compared(bits, number)?;
        if bits.area == Area::Transport {
            return Ok(behind_header(protocol, compared));
        }
        Ok(Formula::All(protocol.map(is_protocol).into_iter().chain([compared]).collect()).simple())
    }

    /// A field's bits against a number.
    fn compared(&self, bits: Bits, number: u32) -> Result<Formula, ArgumentError> {
        let full = u32::MAX >> (32 - bits.width.clamp(1, 32));
        let (op, value, negated) = self.normal(number, full)?;
        let mask = self.numeric_mask(full)? << bits.shift;
        let field = Field { area: bits.area, offset: bits.offset, bytes: bits.bytes };
        let compared = comparison(field, mask, op, value.map(|value| value << bits.shift));
        Ok(if negated { opposite(compared) } else { compared })
    }

    /// Equal to or above a number, perhaps the opposite of it; without a number it always holds.
    fn normal(&self, number: u32, full: u32) -> Result<(Op, Option<u32>, bool), ArgumentError> {
        let mask = self.numeric_mask(full)?;
        let in_range = || {
            Some(number)
                .filter(|number| *number <= full)
                .ok_or_else(|| ArgumentError::new(format!("{number} is out of range, 0 to {full}")))
        };
        Ok(match self.relation {
            Relation::Equal => (Op::Equal, Some(in_range()?), false),
            Relation::Differs => (Op::Equal, Some(in_range()?), true),
            Relation::Above if number >= mask => (Op::Equal, None, true),
            Relation::AtMost if number >= mask => (Op::Equal, None, false),
            Relation::Above => (Op::Above, Some(number), false),
            Relation::AtMost => (Op::Above, Some(number), true),
            Relation::Below if number == 0 => (Op::Equal, None, true),
            Relation::AtLeast if number == 0 => (Op::Equal, None, false),
            Relation::Below if number > mask => (Op::Equal, None, false),
            Relation::AtLeast if number > mask => (Op::Equal, None, true),
            Relation::Below => (Op::Above, Some(number - 1), true),
            Relation::AtLeast => (Op::Above, Some(number - 1), false),
        })
    }

    fn numeric_mask(&self, full: u32) -> Result<u32, ArgumentError> {
        match self.mask {
            None => Ok(full),
            Some(Mask::Number(mask)) if mask & !full == 0 => Ok(mask),
            Some(Mask::Number(mask)) => Err(ArgumentError::new(format!("the mask {mask:#x} is out of range, 0 to {full:#x}"))),
            Some(Mask::Address(_)) => Err(ArgumentError::new("an address is no mask for this")),
        }
    }

    /// A condition of source and destination.
    fn either_end(&self, source: Formula, destination: Formula, negated: bool) -> Formula {
        let both = match self.ends.unwrap_or(Ends::Either) {
            Ends::Source => source,
            Ends::Destination => destination,
            Ends::Both => Formula::All(vec![source, destination]).simple(),
            Ends::Either => Formula::Any(vec![source, destination]).simple(),
        };
        if negated { opposite(both) } else { both }
    }
}

/// TCP, UDP and DCCP.
fn has_ports(protocol: &Protocol) -> bool {
    [TCP, UDP, Protocol::TcpOrUdp, Protocol::Number(33)].contains(protocol)
}

/// A test; one without a number holds.
fn comparison(field: Field, mask: u32, op: Op, value: Option<u32>) -> Formula {
    value.map_or(Formula::Is(true), |value| Formula::Test(Test { field, mask, op, value }).simple())
}

/// Tests that hold where these do not, but for packets that do not have the bytes.
fn opposite(formula: Formula) -> Formula {
    let all = |of: Vec<Formula>| of.into_iter().map(opposite).collect();
    match formula {
        Formula::Is(is) => Formula::Is(!is),
        Formula::All(of) => Formula::Any(all(of)).simple(),
        Formula::Any(of) => Formula::All(all(of)).simple(),
        Formula::Test(test) => {
            let op = match test.op {
                Op::Equal => Op::Differs,
                Op::Differs => Op::Equal,
                Op::Above => Op::AtMost,
                Op::AtMost => Op::Above,
            };
            Formula::Test(Test { op, ..test })
        }
        other => other.negated(),
    }
}

/// Those bits of a field of a header are these.
fn equal(area: Area, field: fields::Field, mask: u32, value: u32) -> Formula {
    Formula::equal(area, field.offset, field.bytes, mask, value)
}

/// The packet is of that protocol.
fn is_protocol(protocol: Protocol) -> Formula {
    let number = |number| equal(Area::Ip, ip::PROTOCOL, 0xff, number);
    match protocol {
        Protocol::Number(one) => number(one.into()),
        Protocol::TcpOrUdp => Formula::Any(vec![number(ip_protocol::TCP.into()), number(ip_protocol::UDP.into())]),
        Protocol::Any => Formula::Is(true),
    }
}

/// A condition of what stands behind the IP header, which only first fragments have.
fn behind_header(protocol: Option<Protocol>, condition: Formula) -> Formula {
    let first = equal(Area::Ip, ip::FRAGMENT, fragment::OFFSET.into(), 0);
    Formula::All(protocol.map(is_protocol).into_iter().chain([first, condition]).collect()).simple()
}
