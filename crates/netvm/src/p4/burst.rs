//! Several packets at once: ingress for all of them, then the replication engine, then egress for
//! all that goes there. What comes round or is cloned behind egress goes its way after that, packet
//! by packet.
//!
//! Most programs for v1model have a straight way for packets that ingress sends to one port
//! ([`super::straight`]): ingress and egress in one run.
//!
//! What leaves, and what the program keeps, is what one packet after the other gives: where the
//! program could tell the difference ([`p4::pipeline::Order`]), or somebody follows packets or
//! listens to what it says, they are run so.

use super::Switch;
use super::arrivals::{Arrived, Departures, Times, of_packet};
use super::journey::{Job, Journey, Provenance};
use super::packet_info::{address, departing, get16, get32, put};
use super::switch::{MAX_COPIES, MOST_SPARE};
use netil::exec::ExchangeBuffer;
use p4::pipeline::{DROP, info, ports};

/// A packet before egress: whose it is, and how it came there.
struct Waiting {
    of: usize,
    way: Provenance,
}

/// Whether ingress has asked for nothing else than one port, or none.
fn goes_on(info: &[u8]) -> bool {
    [info::SESSION, info::RESUBMIT, info::GROUP].iter().all(|at| get32(info, *at) == 0) && get16(info, info::DIGEST) == 0
}

impl Switch {
    /// Packets come in, one behind the other; what leaves.
    pub fn receive_all(&mut self, packets: &[Arrived<'_>], departures: &mut Departures) {
        departures.clear();
        let is_watched = self.following.is_some() || self.messages.is_some();
        let order = self.pipeline.order;
        let is_straight = order.straight_at_once();
        if is_watched || !(is_straight || order.ingress_at_once()) {
            for (of, packet) in packets.iter().enumerate() {
                departures.extend(of, self.receive(packet.port, packet.bytes, packet.time_ns));
            }
            return;
        }
        let times: Vec<Times> = packets.iter().map(|packet| self.clock(packet.time_ns)).collect();
        if is_straight {
            return self.straight(packets, &times, departures);
        }
        let mut buffers = std::mem::take(&mut self.spare);
        buffers.resize_with(buffers.len().max(packets.len()), ExchangeBuffer::none);
        for ((buffer, packet), time) in buffers.iter_mut().zip(packets).zip(&times) {
            self.arrive(buffer, packet.bytes, packet.port, *time);
        }
        self.by_halves(packets, &times, &mut buffers, departures);
        buffers.append(&mut self.spare);
        buffers.truncate(MOST_SPARE);
        self.spare = buffers;
    }

    /// Runs ingress for all packets before egress.
    fn by_halves(&mut self, packets: &[Arrived<'_>], times: &[Times], buffers: &mut Vec<ExchangeBuffer<'static>>, all: &mut Departures) {
        self.run_all(ports::INGRESS, &mut buffers[..packets.len()]);
        let left: Vec<bool> = (0..packets.len()).map(|n| self.left(n)).collect();
        let goes_on =
            self.pipeline.order.egress_at_once() && left.iter().zip(&*buffers).all(|(left, buffer)| *left && goes_on(&buffer.info));
        if goes_on {
            self.one_port_each(times, buffers, all);
        } else {
            let came = buffers.drain(..packets.len()).zip(left).map(|(buffer, left)| left.then_some(buffer)).collect();
            self.each_its_way(packets, times, came, all);
        }
    }

    /// Packets of which ingress has sent each to one port, or dropped it: they stay where they are.
    fn one_port_each(&mut self, times: &[Times], buffers: &mut [ExchangeBuffer<'static>], all: &mut Departures) {
        let mut waiting = Vec::with_capacity(times.len());
        for (of, time) in times.iter().enumerate() {
            let info = &mut buffers[of].info;
            let to = get32(info, info::EGRESS_SPEC);
            if to != DROP {
                address(info, to, 0, self.pipeline.paths.unicast);
                put(info, info::TIME, &time.0.to_le_bytes()[..6]);
                buffers.swap(waiting.len(), of);
                waiting.push(of);
            }
        }
        self.run_all(ports::EGRESS, &mut buffers[..waiting.len()]);
        let left: Vec<bool> = (0..waiting.len()).map(|n| self.left(n)).collect();
        let mut clones = std::mem::take(&mut self.outcome.clones).into_iter().peekable();
        for (n, of) in waiting.into_iter().enumerate() {
            let own = of_packet(&mut clones, n);
            if own.is_empty() && get32(&buffers[n].info, info::RECIRCULATE) == 0 {
                if left[n] {
                    all.push(of, get32(&buffers[n].info, info::EGRESS_PORT), departing(buffers[n].bytes(), &buffers[n].info));
                }
                continue;
            }
            let buffer = std::mem::replace(&mut buffers[n], ExchangeBuffer::none());
            let mut journey = Journey { time: times[of], copies: 2, ..Journey::default() };
            self.behind_egress(buffer, left[n], own, Provenance { cause: "unicast", ..Provenance::default() }, &mut journey);
            all.extend(of, self.rest(journey));
        }
    }

    /// Packets behind ingress, those that left it.
    fn each_its_way(&mut self, packets: &[Arrived<'_>], times: &[Times], came: Vec<Option<ExchangeBuffer<'static>>>, all: &mut Departures) {
        let mut journeys = Vec::with_capacity(packets.len());
        for ((packet, time), buffer) in packets.iter().zip(times).zip(came) {
            let mut journey = Journey { time: *time, copies: 1, ..Journey::default() };
            let way = Provenance { cause: "arrived", ..Provenance::default() };
            self.behind_ingress(buffer, packet.bytes.into(), packet.port, way, &mut journey);
            journeys.push(journey);
        }
        if self.pipeline.order.egress_at_once() {
            self.egress_at_once(&mut journeys);
        }
        journeys.into_iter().enumerate().for_each(|(of, journey)| all.extend(of, self.rest(journey)));
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
            let own = of_packet(&mut clones, n);
            self.behind_egress(buffer, left[n], own, way, &mut journeys[of]);
        }
    }
}
