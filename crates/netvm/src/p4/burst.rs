//! Several packets at once: ingress for all of them, then the replication engine, then egress for all that goes there. What comes round or is cloned behind egress goes its way after that,
//! packet by packet.
//!
//! What leaves, and what the program keeps, is what one packet after the other gives: where the program could tell the difference ([`p4::pipeline::Order`]), or somebody follows
//! packets or listens to what it says, they are run so.

use super::Switch;
use super::switch::{Job, Journey, MAX_COPIES, Sent, Way, put};
use netil::exec::ExchangeBuffer;
use p4::pipeline::{info, ports};

/// A packet that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'p> {
    /// By which port.
    pub port: u32,
    /// Its bytes.
    pub bytes: &'p [u8],
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
}

/// A packet before egress: whose it is, and how it came there.
struct Waiting {
    of: usize,
    way: Way,
}

impl Switch {
    /// Packets come in, one behind the other; for each what leaves, in order.
    pub fn receive_all(&mut self, packets: &[Arrived<'_>]) -> Vec<Vec<Sent>> {
        let is_watched = self.following.is_some() || self.messages.is_some();
        if is_watched || !self.pipeline.order.ingress_at_once() {
            return packets.iter().map(|packet| self.receive(packet.port, packet.bytes, packet.time_ns)).collect();
        }
        let mut journeys = self.ingress_at_once(packets);
        if self.pipeline.order.egress_at_once() {
            self.egress_at_once(&mut journeys);
        }
        journeys.into_iter().map(|journey| self.rest(journey)).collect()
    }

    fn ingress_at_once<'p>(&mut self, packets: &[Arrived<'p>]) -> Vec<Journey<'p>> {
        let mut journeys: Vec<Journey<'p>> = packets.iter().map(|packet| self.arrived(packet.time_ns)).collect();
        let path = self.pipeline.paths.arrived;
        let arrival = |(packet, journey): (&Arrived<'_>, &Journey<'_>)| self.arrival(packet.bytes, packet.port, path, &[], journey.time);
        let mut buffers: Vec<ExchangeBuffer<'static>> = packets.iter().zip(&journeys).map(arrival).collect();
        self.run_all(ports::INGRESS, &mut buffers);
        let left: Vec<bool> = (0..packets.len()).map(|n| self.left(n)).collect();
        for (n, buffer) in buffers.into_iter().enumerate() {
            let (packet, journey) = (packets[n], &mut journeys[n]);
            journey.copies = 1;
            let way = Way { cause: "arrived", ..Way::default() };
            self.behind_ingress(left[n].then_some(buffer), packet.bytes.into(), packet.port, way, journey);
        }
        journeys
    }

    /// Runs egress for all that waits there; what came round meanwhile stays.
    fn egress_at_once(&mut self, journeys: &mut [Journey<'_>]) {
        let (mut waiting, mut buffers) = (Vec::new(), Vec::new());
        for (of, journey) in journeys.iter_mut().enumerate() {
            // What comes behind something else than egress must wait for that.
            while let Some(Job::Egress { .. }) = journey.jobs.next().filter(|_| journey.copies < MAX_COPIES) {
                let Some(Job::Egress { mut buffer, way }) = journey.jobs.pop() else { break };
                put(&mut buffer.info, info::TIME, &journey.time.0.to_le_bytes()[..6]);
                journey.copies += 1;
                waiting.push(Waiting { of, way });
                buffers.push(buffer);
            }
        }
        self.run_all(ports::EGRESS, &mut buffers);
        let left: Vec<bool> = (0..buffers.len()).map(|n| self.left(n)).collect();
        let mut clones = std::mem::take(&mut self.outcome.clones).into_iter().peekable();
        for ((n, buffer), Waiting { of, way }) in buffers.into_iter().enumerate().zip(waiting) {
            let mut own = Vec::new();
            while let Some(clone) = clones.next_if(|clone| clone.source as usize == n) {
                own.push(clone.buffer);
            }
            self.behind_egress(buffer, left[n], own, way, &mut journeys[of]);
        }
    }
}
