//! Elements one behind the other on cores of their own, or all on each core: how much either gains.
//!
//! In a pipeline an element's core hands a packet to the next one by the work queue, which costs cycles at each end; a packet leaves a core when it is done there and those before it have. The slowest element bounds
//! the rate. It may have several cores, which take packets in turn. Run to completion, each core does all for a packet, and takes it from the queue once.
//!
//! Source: NetVM paper, sections 5.4 and 6.3.5 (figure 14). Left out: sections that cores may not be in at the same time.

use crate::description::Machine;
use crate::steps::{self, Step, Work};
use crate::trace::{Event, PacketTrace, Trace};

/// Cycles of a lone thread.
pub fn cycles(work: &Work, machine: &Machine) -> u64 {
    let issue = u64::from(machine.processor.issue);
    let one = |step: &Step| match step {
        Step::Compute(count) => u64::from(*count).div_ceil(issue),
        Step::Access(access) => {
            let memory = machine.memory.values().nth(access.memory as usize);
            let waits = |m: &crate::description::Memory| u64::from(m.latency) + u64::from(m.service) * u64::from(access.units.max(1) - 1);
            1 + memory.filter(|m| !(access.write && m.posted_stores)).map_or(0, waits)
        }
        Step::Enter(_) | Step::Leave(_) => 0,
    };
    work.steps.iter().map(one).sum()
}

/// By packet, cycles in each element, in the order of elements.
pub fn by_element(trace: &Trace, machine: &Machine) -> Vec<Vec<u64>> {
    let mut bare = machine.clone();
    for port in [&mut bare.receive, &mut bare.transmit] {
        port.instructions = 0.0;
        port.accesses.clear();
    }
    let of = |element: usize| {
        let packets = trace.packets.iter().map(|packet| PacketTrace { events: own(&packet.events, element as u32), ..packet.clone() });
        let alone = Trace { elements: trace.elements.clone(), packets: packets.collect(), left_out: 0 };
        steps::of(&alone, &bare).iter().map(|work| cycles(work, &bare)).collect::<Vec<_>>()
    };
    let columns: Vec<Vec<u64>> = (0..trace.elements.len()).map(of).collect();
    (0..trace.packets.len()).map(|packet| columns.iter().map(|column| column[packet]).collect()).collect()
}

/// What an element does itself.
fn own(events: &[Event], element: u32) -> Vec<Event> {
    let (mut runs, mut kept) = (Vec::new(), Vec::new());
    for event in events {
        if let Event::Begin(n) = event {
            runs.push(*n);
        }
        if runs.last() == Some(&element) {
            kept.push(*event);
        }
        if *event == Event::End {
            runs.pop();
        }
    }
    kept
}

/// Cycles for all packets in a pipeline whose elements have so many cores each; `hop` is what a packet's change of cores takes on each of them.
pub fn pipeline(packets: &[Vec<u64>], cores: &[usize], hop: u64) -> u64 {
    let mut free: Vec<Vec<u64>> = cores.iter().map(|n| vec![0; (*n).max(1)]).collect();
    let mut end = 0;
    for (number, packet) in packets.iter().enumerate() {
        let mut ready = 0;
        for (cycles, free) in packet.iter().zip(&mut free).filter(|(cycles, _)| **cycles > 0) {
            let place = number % free.len();
            let core = &mut free[place];
            *core = (*core).max(ready) + cycles + hop;
            ready = *core;
        }
        end = end.max(ready);
    }
    end
}

/// Cycles for all packets run to completion on so many cores.
pub fn to_completion(packets: &[Vec<u64>], cores: usize, hop: u64) -> u64 {
    let mut free = vec![0_u64; cores.max(1)];
    for packet in packets {
        if let Some(core) = free.iter_mut().min() {
            *core += packet.iter().sum::<u64>() + hop;
        }
    }
    free.into_iter().max().unwrap_or(0)
}

/// So many cores given to elements, each next one to the element that is slowest then; none has less than one.
pub fn balanced(packets: &[Vec<u64>], cores: usize) -> Vec<usize> {
    let elements = packets.first().map_or(0, Vec::len);
    let all: Vec<u64> = (0..elements).map(|n| packets.iter().map(|packet| packet[n]).sum()).collect();
    let mut given = vec![1; elements];
    for _ in elements..cores {
        let slowest = (0..elements).max_by_key(|n| (all[*n] / given[*n] as u64, std::cmp::Reverse(*n)));
        slowest.into_iter().for_each(|n| given[n] += 1);
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of 10, 60 and 30 cycles, hops of 5: on one core 100 packets take 10,500 cycles.
    #[test]
    fn the_slowest_element_bounds_a_pipeline() {
        let packets = vec![vec![10, 60, 30]; 100];
        assert_eq!(to_completion(&packets, 1, 5), 10_500);
        // The first packet is through after 15 + 65 + 35; each further one 65 later.
        assert_eq!(pipeline(&packets, &[1, 1, 1], 5), 115 + 99 * 65);
        // Two cores for the slow one: each 65 for two packets, so the last element's 35 bound it.
        assert_eq!(balanced(&packets, 4), [1, 2, 1]);
        assert_eq!(pipeline(&packets, &[1, 2, 1], 5), 115 + 99 * 35);
        assert_eq!(to_completion(&packets, 3, 5), 34 * 105);
    }
}
