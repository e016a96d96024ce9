//! Slot programs do what the interpreter does: filters of the front end's tests, and NetIL of the corpus.

use frontends::pcap_filter::{self, LinkType};
use machine::x11::{self, Element, Link, Made, Pipeline, Refused};
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::{HandlerKind, PortKind};
use netil::{Interpreter, Verified, asm, verify};
use netvm_machine as machine;
use runtime::io::synth;
use std::path::Path;
use std::sync::Arc;

fn packets() -> Vec<Vec<u8>> {
    let whole = synth::mixed_trace(11, 150);
    let cut = whole.iter().enumerate().map(|(i, (_, bytes))| bytes[..(14 + i * 7 % 76).min(bytes.len())].to_vec());
    whole.iter().map(|(_, bytes)| bytes.clone()).chain(cut).collect()
}

fn filter(expression: &str) -> Option<Arc<Verified>> {
    let module = pcap_filter::compile(expression, LinkType::ETHERNET, &pcap_filter::Options::default()).ok()?;
    Some(Arc::new(verify(module).unwrap()))
}

fn input(program: &Verified) -> u32 {
    program.module().all_ports().iter().find(|(_, port)| port.kind == PortKind::PushInput).map_or(0, |(id, _)| *id)
}

/// Its number, if there is but one.
fn only_input(program: &Verified) -> Option<u32> {
    let ports = program.module().all_ports();
    let inputs: Vec<u32> = ports.iter().filter(|(_, port)| port.kind == PortKind::PushInput).map(|(id, _)| *id).collect();
    if let [only] = inputs[..] { Some(only) } else { None }
}

fn compiled(program: &Verified) -> Result<Made, Refused> {
    let ways = program.module().all_ports().iter().map(|(id, _)| (*id, Link::Port(*id))).collect();
    x11::compile(&[Element { program, ways }], only_input(program), &x11::Machine::built_in())
}

/// What becomes of packets, their bytes, and what is kept.
fn interpreted(program: &Arc<Verified>, packets: &[Vec<u8>]) -> (Vec<(Disposition, Vec<u8>)>, State) {
    let (mut engine, mut state, mut out) = (Interpreter::new(Arc::clone(program)), State::plain(program).unwrap(), Outcome::default());
    let _ = engine.init(&mut state);
    let run = |packet: &Vec<u8>| {
        let mut burst = [ExchangeBuffer::borrowed(packet)];
        burst[0].port = input(program);
        burst[0].info = vec![0; program.module().info_size as usize];
        engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
        (out.dispositions[0], burst[0].bytes().to_vec())
    };
    let all = packets.iter().map(run).collect();
    (all, state)
}

fn same(what: &str, program: &Arc<Verified>, made: &Made, packets: &[Vec<u8>]) {
    let (wanted, kept) = interpreted(program, packets);
    let mut pipeline = Pipeline::new(&made.program, vec![Arc::clone(program)]).unwrap();
    for (n, packet) in packets.iter().enumerate() {
        let mut buffer = ExchangeBuffer::borrowed(packet);
        buffer.port = input(program);
        buffer.info = vec![0; program.module().info_size as usize];
        let (got, buffer) = pipeline.run(buffer);
        assert_eq!((got, buffer.bytes()), (wanted[n].0, wanted[n].1.as_slice()), "{what}: packet {n}: {packet:02x?}\n{}", made.program);
    }
    assert_eq!(pipeline.states[0].data, kept.data, "{what}\n{}", made.program);
    for (mine, other) in pipeline.states[0].tables.iter().zip(&kept.tables) {
        assert_eq!(mine.entries(0), other.entries(0), "{what}\n{}", made.program);
    }
}

#[test]
fn filters_of_the_corpus() {
    let packets = packets();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frontends/tests/data/expressions.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let (mut done, mut refused) = (0, Vec::new());
    for expression in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let Some(program) = filter(expression) else { continue };
        match compiled(&program) {
            Ok(made) => {
                same(expression, &program, &made, &packets);
                done += 1;
            }
            Err(why) => refused.push(format!("{expression}: {why}")),
        }
    }
    println!("{done} done, {} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(done > 300, "{done} done, refused: {}", refused.join("\n"));
}

#[test]
fn programs_of_the_corpus() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run");
    let (mut done, mut refused) = (0, Vec::new());
    for file in std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "netil")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (name, body) in text.split("; case: ").skip(1).filter_map(|part| part.split_once('\n')) {
            let Ok(module) = asm::assemble(body, "case.netil") else { continue };
            let Ok(program) = verify(module).map(Arc::new) else { continue };
            if State::plain(&program).is_err() {
                continue;
            }
            let hex = body.lines().filter_map(|line| line.strip_prefix("; packet:"));
            let bytes = |hex: &str| {
                let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
                digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
            };
            let all: Vec<Vec<u8>> = hex.map(bytes).chain(packets().into_iter().step_by(7)).collect();
            match compiled(&program) {
                Ok(made) => {
                    same(name, &program, &made, &all);
                    done += 1;
                }
                Err(why) => refused.push(format!("{name}: {why}")),
            }
        }
    }
    println!("{done} done, {} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(done > 20, "{done} done, refused: {}", refused.join("\n"));
}

#[test]
fn listings() {
    let all = ["ip", "ip src 10.1.1.1", "ip and tcp", "ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30", "ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1", "tcp dst port 80"];
    for text in all {
        let made = compiled(&filter(text).unwrap()).unwrap();
        println!("{text}: {:?} {} {}\n{}", made.program.size(), made.registers, made.flags, made.program);
    }
}

#[test]
fn listings_are_read_again() {
    for text in ["ip", "tcp port 80", "portrange 6000-6010 and not host 10.1.2.3", "host 10.0.0.1 or host 10.0.0.2 or host 10.0.0.3"] {
        let program = compiled(&filter(text).unwrap()).unwrap().program;
        let again = x11::assemble::assemble(&program.to_string(), program.sets.clone(), program.traps.clone(), &x11::Machine::built_in());
        assert_eq!(again.as_ref(), Ok(&program), "{program}");
    }
}

fn netil(name: &str) -> Arc<Verified> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("x11").join(name);
    let module = asm::assemble(&std::fs::read_to_string(&file).unwrap(), name).unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(verify(module).unwrap_or_else(|e| panic!("{e:?}")))
}

#[test]
fn learner() {
    let program = netil("learner.netil");
    let made = compiled(&program).unwrap();
    println!("{:?} {:?}\n{}", made.program.size(), made.hazards, made.program);
}

#[test]
fn counted() {
    let (filter, counter) = (filter("tcp dst port 80").unwrap(), netil("counter.netil"));
    let elements = [Element { program: &filter, ways: vec![(1, Link::Element(1, 0))] }, Element { program: &counter, ways: vec![(1, Link::Port(1))] }];
    let made = x11::compile(&elements, Some(0), &x11::Machine::built_in()).unwrap();
    println!("{:?} {:?}\n{}", made.program.size(), made.hazards, made.program);
}
