//! How many packets went where among fused elements: compiled code counts what cannot be inferred.

use super::{Count, Counters, exits_of};
use netil::cluster::LinkTarget;

/// How many packets went where.
pub struct Flows {
    /// Members of entries, and where each member's ports lead.
    entries: Vec<u32>,
    links: Vec<Vec<(u32, LinkTarget)>>,
    ways: Counters,
    /// Packets that came in, by entry.
    pub begun: Vec<u64>,
    /// What compiled code counts, by place.
    pub counts: Vec<u64>,
    /// Packets that left, by exit.
    pub exits: Vec<u64>,
    /// Packets that went no further, or left at once, by member.
    pub stayed: Vec<u64>,
}

impl Flows {
    /// Of members whose ports lead there, that packets enter at these ports: member, port.
    pub fn new(links: Vec<Vec<(u32, LinkTarget)>>, entries: &[(u32, u32)], ways: Counters) -> Self {
        let entries = entries.iter().map(|entry| entry.0).collect::<Vec<_>>();
        let all = links.iter().flatten().map(|(_, way)| way);
        let (begun, exits, stayed) = (vec![0; entries.len()], vec![0; exits_of(all) as usize], vec![0; links.len()]);
        let counts = vec![0; ways.places as usize];
        Self { entries, links, ways, begun, counts, exits, stayed }
    }

    /// These flows with nothing counted yet.
    pub fn anew(&self) -> Self {
        let zeros = |counted: &Vec<u64>| vec![0; counted.len()];
        let (begun, counts, exits, stayed) = (zeros(&self.begun), zeros(&self.counts), zeros(&self.exits), zeros(&self.stayed));
        Self { entries: self.entries.clone(), links: self.links.clone(), ways: self.ways.clone(), begun, counts, exits, stayed }
    }

    /// A packet goes by a member's port, not by compiled code.
    pub fn leaves(&mut self, member: u32, port: u32) {
        if let Some(place) = self.ways.at(member, port) {
            self.counts[place as usize] += 1;
        }
    }

    /// Packets that came into each member. Rests do not depend on each other in a circle, so that
    /// after as many rounds as there are members nothing changes.
    pub fn entered(&self) -> Vec<u64> {
        let mut entered = vec![0; self.links.len()];
        for _ in 0..=self.links.len() {
            let before = std::mem::replace(&mut entered, vec![0; self.links.len()]);
            for (member, begun) in self.entries.iter().zip(&self.begun) {
                entered[*member as usize] += begun;
            }
            for (n, links) in self.links.iter().enumerate() {
                for (port, way) in links {
                    if let LinkTarget::Member(to, _) = way {
                        entered[*to as usize] += self.by_port(n, *port, before[n]);
                    }
                }
            }
            if entered == before {
                break;
            }
        }
        entered
    }

    /// Packets that left each member by each linked port, whose id is first.
    pub fn left(&self) -> Vec<Vec<(u32, u64)>> {
        let entered = self.entered();
        let by_port = |n: usize| self.links[n].iter().map(move |(port, _)| *port);
        (0..self.links.len()).map(|n| by_port(n).map(|port| (port, self.by_port(n, port, entered[n]))).collect()).collect()
    }

    /// What went by a member's port, so many having come in.
    fn by_port(&self, member: usize, port: u32, entered: u64) -> u64 {
        let known = |count: &Count| match count {
            Count::At(place) => self.counts[*place as usize],
            Count::Exit(exit) => self.exits[*exit as usize],
            Count::Rest => 0,
        };
        let ports = &self.ways.ports[member];
        match ports.iter().find(|(id, _)| *id == port) {
            Some((_, Count::Rest)) => {
                let others: u64 = ports.iter().map(|(_, count)| known(count)).sum();
                entered.saturating_sub(others + self.stayed[member])
            }
            Some((_, count)) => known(count),
            None => 0,
        }
    }
}
