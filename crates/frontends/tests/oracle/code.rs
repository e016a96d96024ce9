//! Every form of a filter on packets: plain evaluation, the graph, and the generated NetIL.

use std::sync::Arc;

use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use netil::{Interpreter, verify};
use netvm_frontends::pcap_filter::Filter;

use super::{Packet, Verdict};

struct Code {
    interpreter: Interpreter,
    state: State,
}

impl Code {
    fn new(filter: &Filter, text: &str) -> Code {
        let program = verify(filter.module()).unwrap_or_else(|e| panic!("`{text}`: {}", e[0]));
        let program = Arc::new(program);
        Code { state: State::plain(&program).expect("no coprocessors"), interpreter: Interpreter::new(program) }
    }

    fn run(&mut self, packet: &Packet) -> Disposition {
        let mut buffer = ExchangeBuffer::borrowed(&packet.bytes);
        buffer.set_wire_len(packet.wire_len);
        let mut outcome = Outcome::default();
        self.interpreter.run(HandlerKind::Push, &mut [buffer], &mut self.state, &mut outcome);
        outcome.dispositions[0]
    }
}

/// Holds every form of a filter against libpcap's verdicts.
pub fn judged(ours: &Filter, text: &str, packets: &[Packet], plain: &[Verdict]) {
    let mut code = Code::new(ours, text);
    for (packet, theirs) in packets.iter().zip(plain) {
        let verdict = ours.matches(&packet.bytes, packet.wire_len);
        let graph = ours.matches_as_graph(&packet.bytes, packet.wire_len);
        let wanted = *theirs == Verdict::Accept;
        let where_ = || format!("wire {}, {} bytes: {:02x?}", packet.wire_len, packet.bytes.len(), packet.bytes);
        assert_eq!(verdict, wanted, "plain evaluation, {}", where_());
        assert_eq!(graph, wanted, "graph, {}", where_());
        match code.run(packet) {
            Disposition::Port(_) => assert!(wanted, "code accepts, {}", where_()),
            Disposition::Drop(_) => assert!(!wanted, "code drops, {}", where_()),
            Disposition::Trap(trap) => panic!("{trap:?}, {}", where_()),
        }
    }
}
