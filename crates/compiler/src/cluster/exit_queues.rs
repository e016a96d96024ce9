//! Where the lists lie that packets leave by: those of exits, and those of what members drop by a number. Which of several lists a packet goes into, a number says that a
//! member computed; where they lie in a row in that order, the list need not be looked up (a switch: 0.3 ns a packet).
//!
//! Invariant: each list has a place of its own.

use super::kin::Kin;
use super::linked::Member;
use super::ways::{all_links, numbered};
use netil::cluster::Way;

/// The places of lists, by exit and behind exits by member that drops.
pub(super) struct Lists {
    /// How many exits there are.
    exits: u32,
    places: Vec<Option<u32>>,
    /// Places that are taken.
    taken: u32,
}

impl Lists {
    /// Those of so many exits, and of members whose quick forms give the number behind their last port to packets that are dropped.
    pub fn of(members: &[&Member<'_>], kin: &Kin, refusing: &[u32], exits: u32) -> Self {
        let mut lists = Self { exits, places: vec![None; exits as usize + refusing.len()], taken: 0 };
        for n in kin.firsts() {
            match numbered(members[n], kin, n) {
                Some((_, ways)) => {
                    let refused = refusing.iter().position(|member| *member == n as u32).map(|at| lists.refused(at));
                    lists.put(ways.iter().filter_map(exit).chain(refused));
                }
                None => lists.of_kin(members, &kin.of_first(n)),
            }
        }
        (0..lists.places.len() as u32).for_each(|list| lists.put([list].into_iter()));
        lists
    }

    /// By each of their ports those of all kin.
    fn of_kin(&mut self, members: &[&Member<'_>], kin: &[u32]) {
        let links: Vec<Vec<(u32, Way)>> = kin.iter().map(|member| all_links(members[*member as usize])).collect();
        for k in 0..links[0].len() {
            self.put(links.iter().filter_map(|links| exit(&links[k].1)));
        }
    }

    /// Gives those places in a row that have none.
    fn put(&mut self, lists: impl Iterator<Item = u32>) {
        for list in lists {
            let place = &mut self.places[list as usize];
            if place.is_none() {
                *place = Some(self.taken);
                self.taken += 1;
            }
        }
    }

    /// The list of what the n-th of the members drops that have one.
    pub fn refused(&self, n: usize) -> u32 {
        self.exits + n as u32
    }

    /// Where a list lies.
    pub fn place(&self, list: u32) -> u32 {
        self.places[list as usize].unwrap_or(list)
    }

    /// All places, in the order of lists.
    pub fn places(&self) -> Vec<u32> {
        (0..self.places.len() as u32).map(|list| self.place(list)).collect()
    }
}

fn exit(way: &Way) -> Option<u32> {
    if let Way::Exit(exit) | Way::LastExit(exit) = way { Some(*exit) } else { None }
}
