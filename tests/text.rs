//! Targets that take text: NetIL source, filter expressions, Click configurations, element classes
//! in C, P4 programs.

use frontends::c::{self, InfoLayout, Instance, SourceFile};
use frontends::click;
use frontends::click::processing::Kind;
use frontends::pcap_filter::{Filter, LinkType, Options};
use netil::asm::assemble;
use netil::disasm::disassemble;
use netil::exec::{ExchangeBuffer, Outcome, Packets, Selection, State};
use netil::module::HandlerKind;
use netil::{Interpreter, verify};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The link types that a filter can be for, and one that it cannot.
const LINKS: [u32; 13] = [0, 1, 9, 12, 50, 51, 101, 108, 113, 228, 229, 276, 147];

/// Any text assembles or is refused with messages; what assembles is disassembled to text of the
/// same module.
pub fn asm_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match assemble(text, "fuzz.netil") {
        Err(errors) => assert!(!errors.to_string().is_empty()),
        Ok(module) => {
            let _ = verify(module.clone());
            let shown = disassemble(&module);
            let again = assemble(&shown, "again").unwrap_or_else(|e| panic!("{e}\n{shown}"));
            assert_eq!(disassemble(&again), shown);
        }
    }
}

/// Any expression is compiled or refused with messages, on every link type; what is compiled
/// verifies, and its code gives the verdict that plain evaluation gives. The packet follows the
/// expression after a zero byte.
pub fn filter_parser(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |b| *b == 0);
    let Ok(source) = std::str::from_utf8(parts.next().unwrap_or_default()) else { return };
    let packet = parts.next().unwrap_or_default();
    for link in LINKS {
        match Filter::compile(source, LinkType(link), &Options::default()) {
            Err(errors) => assert!(!errors.to_string().is_empty()),
            Ok(filter) => same_verdict(&filter, packet),
        }
    }
}

fn same_verdict(filter: &Filter, packet: &[u8]) {
    let program = verify(filter.module()).unwrap_or_else(|e| panic!("{}", e[0]));
    let program = Arc::new(program);
    let mut state = State::plain(&program).expect("a filter has no coprocessors");
    let mut selection = Selection::default();
    let wire_len = packet.len() as u32 + 4;
    Interpreter::new(program).select(&Packets { frames: &[packet], wire_len: &[wire_len], time_ns: &[0] }, &mut state, &mut selection);
    assert_eq!(selection.get(0), filter.matches(packet, wire_len));
}

/// A Click configuration either has faults that can be drawn, or means the same when it is printed
/// without its shorthand.
pub fn click_text(bytes: &[u8]) {
    let source = String::from_utf8_lossy(bytes);
    let flat = |text: &str| click::flatten(text, &BTreeMap::new());
    match flat(&source) {
        Err(faults) => assert!(!faults.0.is_empty() && !faults.render("fuzz", &source, false).is_empty()),
        Ok(graph) => {
            let text = graph.to_string();
            let again = flat(&text).unwrap_or_else(|faults| panic!("{}", faults.render("printed", &text, false)));
            assert_eq!(again.to_string(), text);
        }
    }
}

/// A header of the library, for classes that include it.
fn header(name: &str) -> Option<String> {
    let text = match name {
        "click.h" => include_str!("../elements/include/click.h"),
        "rate.h" => include_str!("../elements/include/rate.h"),
        "flow.h" => include_str!("../elements/include/flow.h"),
        _ => return None,
    };
    Some(text.to_owned())
}

/// The text of an element class either has faults that can be drawn, or becomes a program that
/// verifies, and runs. Three lines of text are as good as an element of many; values of parameters
/// are the defaults, so what requires one is only described.
pub fn element_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = SourceFile { name: "fuzz.c", text: &text };
    let drawn = |faults: &c::Diagnostics| assert!(!faults.render(false).is_empty());
    if let Err(faults) = c::describe(source, &header) {
        return drawn(&faults);
    }
    for kind in [Kind::Push, Kind::Pull] {
        let instance = Instance { name: "e".to_owned(), inputs: vec![kind], outputs: vec![kind, Kind::Push], ..Instance::default() };
        match c::compile(source, &header, &instance, &mut InfoLayout::default()) {
            Err(faults) => drawn(&faults),
            Ok(compiled) => run_element(compiled.module, bytes),
        }
    }
}

/// Runs a class's program on a packet that is its own text, as far as a small budget goes.
fn run_element(module: netil::Module, bytes: &[u8]) {
    let program = Arc::new(verify(module).unwrap_or_else(|errors| panic!("{}", errors[0])));
    let Ok(mut state) = State::new(&program, &runtime::coproc::make) else { return };
    state.budget = 1000;
    let mut engine = Interpreter::new(Arc::clone(&program));
    if engine.init(&mut state).is_err() {
        return;
    }
    let mut packets = [ExchangeBuffer::borrowed(&bytes[..bytes.len().min(100)]), ExchangeBuffer::borrowed(&[0; 60])];
    packets[1].time_ns = 1_000_000_000;
    engine.run(HandlerKind::Push, &mut packets, &mut state, &mut Outcome::default());
}

/// A P4 program is refused with messages that can be drawn, or what is made of it verifies, with
/// marks and without.
pub fn p4_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for marks in [false, true] {
        let reading = p4::Reading { folders: &[], defines: &[], load: &|_| None, marks, without: &[] };
        match p4::compile(std::path::Path::new("fuzz.p4"), &text, reading) {
            Ok(pipeline) => drop(verify(pipeline.module).unwrap_or_else(|e| panic!("{}", e[0]))),
            Err(refused) => assert!(!refused.first().is_empty() && refused.render(false).contains("error")),
        }
    }
}
