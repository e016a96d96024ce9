//! Packets for a program that asks for them while it runs: those that are before it.

use super::Graph;
use super::together::{Together, exchange};
use crate::io::LinkType;
use netil::exec::{ExchangeBuffer, PacketSource, State};

/// What is before a program that asks while it runs, and what is known of the packet that it got
/// last.
pub(super) struct Before<'g> {
    pub(super) graph: &'g mut Graph,
    pub(super) node: usize,
    pub(super) together: &'g Together,
    pub(super) time: Option<u64>,
    pub(super) rounds: u8,
    pub(super) link: LinkType,
}

impl PacketSource for Before<'_> {
    fn next(&mut self, state: &mut State, port: u32) -> Option<ExchangeBuffer<'static>> {
        exchange(self.together, state, &mut self.graph.core.shared);
        let packet = self.graph.pull_input(self.node, port);
        exchange(self.together, state, &mut self.graph.core.shared);
        let packet = packet?;
        (self.time, self.rounds, self.link) = (Some(packet.buffer.time_ns), packet.rounds, packet.link);
        Some(packet.buffer)
    }
}
