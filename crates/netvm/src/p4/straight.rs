//! The straight way of packets that ingress sends to one port ([`p4::pipeline::ports::STRAIGHT`]):
//! ingress and egress in one run, as fused elements of an application run, as machine code or
//! compiled C; by the switch's engine where neither can be had.
//!
//! What asks for the replication engine goes on when the burst has been run.

use super::Switch;
use super::arrivals::{Arrived, Departures, Times, of_packet};
use super::fused::{EXITS, Reached, SLOTS};
use super::journey::{Journey, Provenance};
use super::packet_info::{departing, get32};
use netil::exec::{Disposition, ExchangeBuffer};
use p4::pipeline::{info, ports};

impl Switch {
    /// Runs packets the straight way.
    pub(super) fn straight(&mut self, packets: &[Arrived<'_>], times: &[Times], left: &mut Departures) {
        let Some(mut fused) = self.fused.take() else { return self.straight_alone(packets, times, left) };
        for (n, (packets, times)) in packets.chunks(SLOTS).zip(times.chunks(SLOTS)).enumerate() {
            fused.run(packets, times, &mut self.state);
            let reached = std::mem::take(&mut fused.reached);
            for (of, reached) in reached.iter().enumerate() {
                let (slot, (port, clones)) = match *reached {
                    Reached::End => continue,
                    Reached::Exit(slot, exit) => (slot, (EXITS.get(exit as usize).copied(), Vec::new())),
                    Reached::Rare(slot, number) => (slot, std::mem::take(&mut fused.rare[number as usize])),
                };
                fused.free.push(slot);
                let out = fused.pool.info(slot);
                if port == Some(ports::OUT) && clones.is_empty() && get32(out, info::RECIRCULATE) == 0 {
                    left.push(n * SLOTS + of, get32(out, info::EGRESS_PORT), departing(fused.pool.bytes(slot), out));
                } else {
                    let buffer = fused.pool.lift(slot);
                    let clones = clones.into_iter().map(|clone| clone.buffer).collect();
                    left.extend(n * SLOTS + of, self.go_on(&packets[of], times[of], buffer, port, clones));
                }
            }
            fused.reached = reached;
            fused.pool.give_back(&fused.free);
            fused.free.clear();
        }
        self.fused = Some(fused);
    }

    /// Runs packets the straight way by the engine.
    fn straight_alone(&mut self, packets: &[Arrived<'_>], times: &[Times], left: &mut Departures) {
        let mut buffers: Vec<ExchangeBuffer<'static>> =
            packets.iter().map(|_| self.spare.pop().unwrap_or_else(ExchangeBuffer::none)).collect();
        for ((buffer, packet), time) in buffers.iter_mut().zip(packets).zip(times) {
            self.arrive(buffer, packet.bytes, packet.port, *time);
        }
        self.run_all(ports::STRAIGHT, &mut buffers);
        let dispositions = std::mem::take(&mut self.outcome.dispositions);
        let mut clones = std::mem::take(&mut self.outcome.clones).into_iter().peekable();
        for (of, (buffer, disposition)) in buffers.into_iter().zip(dispositions).enumerate() {
            let own = of_packet(&mut clones, of);
            let port = if let Disposition::Port(port) = disposition { Some(port) } else { None };
            left.extend(of, self.go_on(&packets[of], times[of], buffer, port, own));
        }
    }

    /// What leaves of a packet that was run.
    fn go_on(
        &mut self,
        packet: &Arrived<'_>,
        time: Times,
        buffer: ExchangeBuffer<'static>,
        port: Option<u32>,
        clones: Vec<ExchangeBuffer<'static>>,
    ) -> Vec<super::Sent> {
        let mut journey = Journey { time, ..Journey::default() };
        if port == Some(ports::QUEUED) {
            journey.copies = 1;
            self.behind_ingress(
                Some(buffer),
                packet.bytes.into(),
                packet.port,
                Provenance { cause: "arrived", ..Provenance::default() },
                &mut journey,
            );
        } else {
            journey.copies = 2;
            self.behind_egress(buffer, port.is_some(), clones, Provenance { cause: "unicast", ..Provenance::default() }, &mut journey);
        }
        self.rest(journey)
    }
}
