//! First sequence numbers of TCP connections, so that lines can show how far a connection has come;
//! and who began a key exchange.
//!
//! As in tcpdump: a connection begins with the first packet seen that has ACK set, or with SYN and
//! ACK; that packet shows the numbers as they are, later ones the distance. Bounded: past
//! [`MAX_FLOWS`] connections the memory starts anew.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// Connections that are remembered.
pub(super) const MAX_FLOWS: usize = 1 << 18;

#[derive(Default)]
pub(super) struct Flows {
    first: HashMap<(IpAddr, IpAddr, u16, u16), Start>,
    /// Key exchanges by the initiator's cookie: who began and who answers.
    exchanges: VecDeque<(u64, (IpAddr, IpAddr))>,
}

/// Key exchanges that are remembered, as many as tcpdump does.
const MAX_EXCHANGES: usize = 20;

/// The numbers a connection began with: those of the end with the smaller port, then of the other.
#[derive(Clone, Copy)]
struct Start {
    seq: u32,
    ack: u32,
}

/// A segment's numbers as shown, and what its selective acknowledgements count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub seq: u32,
    pub ack: u32,
    pub sack_base: u32,
}

impl Flows {
    /// What to show for a segment from `(address, port)` to `(address, port)` that has ACK set.
    pub(super) fn show(&mut self, from: (IpAddr, u16), to: (IpAddr, u16), syn: bool, seq: u32, ack: u32) -> Shown {
        let reverse = from.1 > to.1 || from.1 == to.1 && from.0 > to.0;
        let key = if reverse { (to.0, from.0, to.1, from.1) } else { (from.0, to.0, from.1, to.1) };
        let expected = ack.wrapping_sub(1);
        match self.first.get(&key) {
            Some(&start) if !syn => start.relative(reverse, seq, ack),
            _ => {
                let start = if reverse { Start { seq: expected, ack: seq } } else { Start { seq, ack: expected } };
                self.remember(key, start);
                Shown { seq, ack, sack_base: start.sack_base(reverse) }
            }
        }
    }

    /// Who began the key exchange with this cookie, and who answers.
    pub(super) fn initiator(&self, cookie: u64) -> Option<(IpAddr, IpAddr)> {
        self.exchanges.iter().find(|(known, _)| *known == cookie).map(|(_, ends)| *ends)
    }

    /// A key exchange begins.
    pub(super) fn began(&mut self, cookie: u64, ends: (IpAddr, IpAddr)) {
        if self.exchanges.len() >= MAX_EXCHANGES {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back((cookie, ends));
    }

    fn remember(&mut self, key: (IpAddr, IpAddr, u16, u16), start: Start) {
        if self.first.len() >= MAX_FLOWS {
            self.first.clear();
        }
        self.first.insert(key, start);
    }
}

impl Start {
    fn relative(self, reverse: bool, seq: u32, ack: u32) -> Shown {
        let (from, to) = if reverse { (self.ack, self.seq) } else { (self.seq, self.ack) };
        Shown { seq: seq.wrapping_sub(from), ack: ack.wrapping_sub(to), sack_base: self.sack_base(reverse) }
    }

    fn sack_base(self, reverse: bool) -> u32 {
        if reverse { self.seq } else { self.ack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn end(last: u8, port: u16) -> (IpAddr, u16) {
        (Ipv4Addr::new(10, 0, 0, last).into(), port)
    }

    #[test]
    fn later_segments_show_distances_in_both_directions() {
        let mut flows = Flows::default();
        let (client, server) = (end(1, 4000), end(2, 80));
        let first = flows.show(server, client, true, 500, 101);
        assert_eq!((first.seq, first.ack), (500, 101));
        let shown = flows.show(client, server, false, 101, 501);
        assert_eq!((shown.seq, shown.ack), (1, 1));
        let shown = flows.show(server, client, false, 501, 111);
        assert_eq!((shown.seq, shown.ack, shown.sack_base), (1, 11, 100));
    }

    #[test]
    fn a_syn_begins_the_connection_anew() {
        let mut flows = Flows::default();
        flows.show(end(1, 80), end(1, 80), false, 5, 6);
        assert_eq!(flows.show(end(1, 80), end(1, 80), true, 70, 80).seq, 70);
        assert_eq!(flows.show(end(1, 80), end(1, 80), false, 71, 81).seq, 1);
    }
}
