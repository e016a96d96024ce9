//! Transactions whose conflicts are certain: the engine that runs one changes the state in common
//! meanwhile, as another graph would.

use crate::graph::ended::Ended;
use crate::graph::program::Program;
use crate::graph::share::{Common, Memory, Policy, Share};
use crate::graph::together::Together;
use crate::graph::transaction::MOST_RUNS;
use crate::graph::{ElementError, Factories, Info, Packet, Settings};
use netil::engine::Engine;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, PacketSource, Packets, Selection, State};
use netil::module::HandlerKind;
use netil::{Interpreter, Verified};
use std::sync::Arc;

/// Adds one to the first byte of its memory, and to that of the packet.
const COUNTS: &str = "segment .ports push_input a push_output b ends
    segment .push .datamem_size 8
     pop
     push 0 umload.8 push 1 add push 0 mstore.8
     push 0 upload.8 push 1 add push 0 pstore.8
     pkt.send b
    ends";

/// Behind each of so many runs the memory's fifth byte is another.
struct Meddling {
    inner: Interpreter,
    share: Share,
    runs: u32,
}

impl Engine for Meddling {
    fn name(&self) -> &'static str {
        "meddling"
    }

    fn program(&self) -> &Arc<Verified> {
        Engine::program(&self.inner)
    }

    fn another(&self) -> Box<dyn Engine> {
        Engine::another(&self.inner)
    }

    fn init(&mut self, state: &mut State) -> Result<(), Disposition> {
        Engine::init(&mut self.inner, state)
    }

    fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome) {
        Engine::run(&mut self.inner, kind, burst, state, out);
        if self.runs > 0 {
            self.runs -= 1;
            let slot = self.share.state(0, self.inner.program().module(), || Ok(State::empty())).unwrap();
            slot.expect("it is in common").lock().data[4] += 1;
        }
    }

    fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome) {
        Engine::pull(&mut self.inner, request, state, source, out);
    }

    fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection) {
        Engine::select(&mut self.inner, packets, state, out);
    }
}

/// Runs a packet so many of whose runs conflict: commits, aborts and runs with the lock, the two
/// bytes of memory, and the packet's first byte.
fn run(conflicts: u32) -> ([u64; 3], [u8; 2], u8) {
    let memory = Memory::default();
    let common = Common::new(1, [(0, Policy::Transaction(Arc::new(memory.clone())))].into());
    let share = Share { index: 0, replicas: 1, common: Arc::new(common) };
    let engine = |program: Arc<Verified>| -> Result<Box<dyn Engine>, ElementError> {
        Ok(Box::new(Meddling { inner: Interpreter::new(program), share: share.clone(), runs: conflicts }))
    };
    let factories = Factories { engine: &engine, coprocessor: &crate::coproc::make, table: &crate::coproc::tables::make_for };
    let program = Arc::new(netil::verify(netil::asm::assemble(COUNTS, "t").unwrap()).unwrap());
    let settings = Settings { share: Some(share.clone()), ..Settings::default() };
    let mut element = Program::new(&program, &factories, &settings, 0, Together::default(), false).unwrap();
    element.prepare_transactions();
    let (slot, mut packet) = (element.slot().expect("it is in common"), Packet::new(&[40; 20], 0, &Info::default()));
    assert!(matches!(element.transact(&slot, &memory, &mut packet, 0), Ended::Leaves(_)), "{conflicts}");
    let told = element.transactions().expect("they are counted");
    let state = slot.lock();
    ([told.commits, told.aborts, told.locked], [state.data[0], state.data[4]], packet.buffer.bytes()[0])
}

#[test]
fn what_an_aborted_run_did_is_not_seen_and_the_lock_comes_at_last() {
    for conflicts in [0, 1, MOST_RUNS - 1] {
        assert_eq!(run(conflicts), ([1, u64::from(conflicts), 0], [1, conflicts as u8], 41), "{conflicts}");
    }
    assert_eq!(run(MOST_RUNS), ([0, u64::from(MOST_RUNS), 1], [1, MOST_RUNS as u8], 41));
}
