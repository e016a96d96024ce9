//! The generated NetIL: it verifies, it never traps, and the interpreter's verdicts are those of
//! plain evaluation. (That plain evaluation is libpcap's meaning is shown in
//! pcap_filter_oracle.rs.)

mod oracle;

use std::sync::Arc;

use netil::exec::{Disposition, DropReason, ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use netil::{Interpreter, Verified, verify};
use netvm_frontends::pcap_filter::{Filter, LinkType, Options};
use oracle::packets::{LINKS, cut_everywhere, made};
use oracle::{Packet, amount};

const EXPRESSIONS: &str = include_str!("data/expressions.txt");

fn verified(filter: &Filter, text: &str) -> Verified {
    let program = verify(filter.module()).unwrap_or_else(|errors| {
        let list: String = errors.iter().map(|e| format!("{e}\n")).collect();
        panic!("`{text}`:\n{list}");
    });
    assert!(program.is_filter(), "`{text}` does more than a filter may");
    program
}

fn run(interpreter: &mut Interpreter, state: &mut State, packet: &Packet) -> Disposition {
    let mut buffer = ExchangeBuffer::borrowed(&packet.bytes);
    buffer.set_wire_len(packet.wire_len);
    let mut outcome = Outcome::default();
    interpreter.run(HandlerKind::Push, &mut [buffer], state, &mut outcome);
    outcome.dispositions[0]
}

fn check(text: &str, link: u32, packets: &[Packet]) {
    let Ok(filter) = Filter::compile(text, LinkType(link), &Options::default()) else { return };
    let program = Arc::new(verified(&filter, text));
    let mut state = State::plain(&program).expect("no coprocessors");
    let mut interpreter = Interpreter::new(Arc::clone(&program));
    for packet in packets {
        let verdict = match run(&mut interpreter, &mut state, packet) {
            Disposition::Port(_) => true,
            Disposition::Drop(DropReason::Verdict) => false,
            other => panic!("`{text}` on link type {link}: {other:?}, packet {:02x?}", packet.bytes),
        };
        let wanted = filter.matches(&packet.bytes, packet.wire_len);
        assert_eq!(verdict, wanted, "`{text}` on link type {link}, wire {}, packet {:02x?}", packet.wire_len, packet.bytes);
    }
}

#[test]
fn code_has_the_meaning_of_the_filter() {
    for link in LINKS {
        let made = made(link, amount("NETVM_CODE_PACKETS", 250), 3);
        let mut packets = cut_everywhere(&made[..4]);
        packets.extend(made);
        for text in EXPRESSIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            check(text, link, &packets);
        }
    }
}
