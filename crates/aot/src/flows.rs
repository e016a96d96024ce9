//! How many packets went where among fused elements: compiled code counts what cannot be inferred.

use compiler::cluster::{Count, Counters, Member, exits};
use netil::cluster::Way;

/// How many packets went where.
pub(crate) struct Flows {
    /// Members of entries, and where each member's ports lead.
    entries: Vec<u32>,
    links: Vec<Vec<(u32, Way)>>,
    ways: Counters,
    /// By entry, by place, by exit, and what went no further or left at once by member.
    pub(crate) begun: Vec<u64>,
    pub(crate) counts: Vec<u64>,
    pub(crate) left: Vec<u64>,
    pub(crate) stayed: Vec<u64>,
}

impl Flows {
    pub(crate) fn new(members: &[&Member<'_>], entries: &[(u32, u32)], ways: Counters) -> Self {
        let links = members.iter().map(|member| member.links.clone()).collect();
        let entries = entries.iter().map(|entry| entry.0).collect::<Vec<_>>();
        let (begun, left, stayed) = (vec![0; entries.len()], vec![0; exits(members) as usize], vec![0; members.len()]);
        let counts = vec![0; ways.places as usize];
        Self { entries, links, ways, begun, counts, left, stayed }
    }

    /// By member. Rests do not depend on each other in a circle, so that after as many rounds as there are members nothing changes.
    pub(crate) fn entered(&self) -> Vec<u64> {
        let mut entered = vec![0; self.links.len()];
        for _ in 0..=self.links.len() {
            let before = std::mem::replace(&mut entered, vec![0; self.links.len()]);
            for (member, begun) in self.entries.iter().zip(&self.begun) {
                entered[*member as usize] += begun;
            }
            for (n, links) in self.links.iter().enumerate() {
                for (port, way) in links {
                    if let Way::Member(to, _) = way {
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

    /// What went by a member's port, so many having come in.
    fn by_port(&self, member: usize, port: u32, entered: u64) -> u64 {
        let known = |count: &Count| match count {
            Count::At(place) => self.counts[*place as usize],
            Count::Exit(exit) => self.left[*exit as usize],
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
