//! Exit queues: where the queues lie that packets leave by, those of exits and those of packets
//! that members drop by a number. Which of several queues a packet goes into is a number that a
//! member computed; where they lie in a row in that order, the queue need not be looked up (a
//! switch: 0.3 ns a packet).
//!
//! Invariant: each queue has a place of its own.

use super::Member;
use super::dispatch::numbered;
use super::identical::Identical;
use super::links::all_links;
use netil::cluster::LinkTarget;

/// The places of queues, by exit and behind exits by member that drops.
pub(crate) struct ExitQueues {
    /// How many exits there are.
    exits: u32,
    places: Vec<Option<u32>>,
    /// Places that are taken.
    taken: u32,
}

impl ExitQueues {
    /// Those of so many exits, and of members whose fast paths give dropped packets the number
    /// behind their last port.
    pub fn of(members: &[&Member<'_>], identical: &Identical, droppers: &[u32], exits: u32) -> Self {
        let mut queues = Self { exits, places: vec![None; exits as usize + droppers.len()], taken: 0 };
        for n in identical.firsts() {
            match numbered(members[n], identical, n) {
                Some((_, ways)) => {
                    let dropped = droppers.iter().position(|member| *member == n as u32).map(|at| queues.dropped(at));
                    queues.put(ways.iter().filter_map(exit).chain(dropped));
                }
                None => queues.of_identical(members, &identical.of_first(n)),
            }
        }
        (0..queues.places.len() as u32).for_each(|queue| queues.put([queue].into_iter()));
        queues
    }

    /// By each of their ports those of all members that share code.
    fn of_identical(&mut self, members: &[&Member<'_>], group: &[u32]) {
        let links: Vec<Vec<(u32, LinkTarget)>> = group.iter().map(|member| all_links(members[*member as usize])).collect();
        for k in 0..links[0].len() {
            self.put(links.iter().filter_map(|links| exit(&links[k].1)));
        }
    }

    /// Gives those places in a row that have none.
    fn put(&mut self, queues: impl Iterator<Item = u32>) {
        for queue in queues {
            let place = &mut self.places[queue as usize];
            if place.is_none() {
                *place = Some(self.taken);
                self.taken += 1;
            }
        }
    }

    /// The queue of packets that the n-th of the members drops that have one.
    pub fn dropped(&self, n: usize) -> u32 {
        self.exits + n as u32
    }

    /// Where a queue lies.
    pub fn place(&self, queue: u32) -> u32 {
        self.places[queue as usize].unwrap_or(queue)
    }

    /// All places, in the order of queues.
    pub fn places(&self) -> Vec<u32> {
        (0..self.places.len() as u32).map(|queue| self.place(queue)).collect()
    }
}

fn exit(way: &LinkTarget) -> Option<u32> {
    if let LinkTarget::Exit(exit) | LinkTarget::LastExit(exit) = way { Some(*exit) } else { None }
}
