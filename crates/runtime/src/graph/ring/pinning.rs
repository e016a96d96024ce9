//! Flow pinning: which replica has a packet.

pub use crate::io::flow::Fields;
use crate::io::{LinkType, flow};
use netil::app::Toward;

/// Arrivals that follow each other and go to one replica where any may have them.
const RUN: u32 = 64;
/// Arrivals that follow each other and belong to one replica where all replicas have all packets:
/// as many as go through elements at once.
pub(super) const OWN_RUN: u32 = 256;

/// Which replica has a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Any.
    #[default]
    Any,
    /// All packets between two addresses have the same, whichever comes first (`io::flow` says
    /// how).
    Addresses,
    /// All packets between two addresses of their own IP headers have one replica, which is another
    /// one for ICMP errors.
    Own,
    /// All packets from one address have the same replica.
    Source,
    /// All packets to one address have the same replica.
    Destination,
    /// All packets whose bytes are equal in these fields have the same replica.
    Fields(Fields),
    /// All packets of one connection, either way, have the same replica: addresses, protocol and
    /// ports. Fragments go by the others.
    Tuple,
    /// All have it. One of them, by its number, runs it; the others only do again what it does to
    /// state.
    All,
}

impl Flow {
    /// The functions of which people may choose one, with their names.
    pub const NAMED: [(&str, Self); 6] = [
        ("any", Self::Any),
        ("addresses", Self::Addresses),
        ("header", Self::Own),
        ("source", Self::Source),
        ("destination", Self::Destination),
        ("tuple", Self::Tuple),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, flow)| *flow == self).map_or(if self == Self::All { "all" } else { "fields" }, |(name, _)| name)
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, flow)| *flow)
    }

    /// The replica, one of so many, for the arrival with that number.
    pub(in super::super) fn replica(self, number: u32, link: LinkType, bytes: &[u8], replicas: usize) -> usize {
        match self {
            Self::Any => (number / RUN) as usize % replicas,
            Self::Addresses => flow::replica(link, bytes, replicas),
            Self::Own => flow::own_replica(link, bytes, replicas),
            Self::Source => flow::end_replica(link, bytes, Toward::Source, replicas),
            Self::Destination => flow::end_replica(link, bytes, Toward::Destination, replicas),
            Self::Fields(fields) => flow::fields_replica(link, bytes, fields, replicas),
            Self::Tuple => flow::tuple_replica(link, bytes, replicas),
            // The first batch is what the others become copies of.
            Self::All => 0,
        }
    }

    /// The one of so many replicas that an arrival with that number belongs to where all have it.
    pub(super) fn owner(number: u32, replicas: usize) -> usize {
        (number / OWN_RUN) as usize % replicas.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_spread() {
        let mut counts = [0; 4];
        for n in 0..1000_u32 {
            let mut frame = vec![0; 34];
            (frame[12], frame[14]) = (8, 0x45);
            frame[26..30].copy_from_slice(&n.to_be_bytes());
            counts[Flow::Addresses.replica(n, LinkType::EN10MB, &frame, 4)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
        for (name, flow) in Flow::NAMED {
            assert!(flow.replica(0, LinkType::EN10MB, &[], 4) < 4 && flow.name() == name && Flow::named(name) == Some(flow));
        }
        assert!(Flow::named("all").is_none() && Flow::All.name() == "all");
        let replicas: Vec<usize> = [0, RUN - 1, RUN, 4 * RUN].map(|n| Flow::Any.replica(n, LinkType::EN10MB, &[], 4)).to_vec();
        assert_eq!(replicas, [0, 0, 1, 0]);
    }
}
