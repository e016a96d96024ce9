//! Slot programs do what the interpreter does: filters of the front end's tests, and NetIL of the
//! corpus.

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
    // As docs/machines.md says.
    assert_eq!(done, 480, "refused: {}", refused.join("\n"));
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

/// What the paper has numbers for, or says that it wrote by hand: a name, and elements one behind
/// the other.
fn by_hand() -> Vec<(&'static str, Vec<Arc<Verified>>)> {
    let one = |text: &str| vec![filter(text).unwrap()];
    vec![
        ("filter1", one("ip")),
        ("filter2", one("ip src 10.1.1.1")),
        ("filter3", one("ip and tcp")),
        ("filter4", one("ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30")),
        ("filter5", one("ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1")),
        ("counted", vec![filter("tcp dst port 80").unwrap(), netil("counter.netil")]),
        ("learner", vec![netil("learner.netil")]),
        ("classifier", vec![netil("classifier.netil")]),
    ]
}

fn chained(elements: &[Arc<Verified>]) -> Made {
    let last = elements.len() - 1;
    let ways = |n: usize| {
        if n < last {
            vec![(1, Link::Element(n + 1, 0))]
        } else {
            elements[n].module().all_ports().iter().map(|(id, _)| (*id, Link::Port(*id))).collect()
        }
    };
    let all: Vec<_> = elements.iter().enumerate().map(|(n, program)| Element { program, ways: ways(n) }).collect();
    x11::compile(&all, only_input(&elements[0]), &x11::Machine::built_in()).unwrap_or_else(|why| panic!("{why}"))
}

/// Packets for which the filters of the paper hold, those for which they nearly do, and others.
fn tried() -> Vec<Vec<u8>> {
    let mut all = packets();
    // Answers, so that stations are known.
    let answer = |p: &Vec<u8>| [&p[6..12], &p[..6], &p[12..]].concat();
    all.extend(packets().iter().filter(|p| p.len() >= 12).map(answer).collect::<Vec<_>>());
    let plain = all.iter().find(|p| p.len() > 60 && p[12..14] == [8, 0] && p[23] == 6).unwrap().clone();
    for (src, dst, ports) in [
        ([10, 1, 1, 1], [10, 2, 2, 2], [20, 30]),
        ([10, 1, 1, 1], [10, 2, 2, 2], [20, 80]),
        ([10, 2, 2, 2], [10, 1, 1, 1], [20, 30]),
        ([10, 4, 4, 4], [1, 2, 3, 4], [1, 25]),
    ] {
        let mut packet = plain.clone();
        packet[14] = 0x45;
        packet[20..22].fill(0);
        packet[26..30].copy_from_slice(&src);
        packet[30..34].copy_from_slice(&dst);
        packet[34..38].copy_from_slice(&[0, ports[0], 0, ports[1]]);
        (12..60.min(packet.len())).for_each(|at| all.push([&packet[..at], &[packet[at] ^ 1], &packet[at + 1..]].concat()));
        all.push(packet);
    }
    all
}

#[test]
fn automatic_within_five_percent_of_programs_by_hand() {
    for (name, elements) in by_hand() {
        let made = chained(&elements);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("x11").join(format!("{name}.x11"));
        let text = std::fs::read_to_string(&file).unwrap();
        let hand = x11::assemble::assemble(&text, made.program.sets.clone(), made.program.traps.clone(), &x11::Machine::built_in());
        let hand = hand.unwrap_or_else(|why| panic!("{name}: {why}"));
        same_programs(name, &elements, &made.program, &hand);
        let (own, by_hand) = (made.program.size(), hand.size());
        println!(
            "{name:<12} {:>3} operations in {:>3} instructions, {:>3} stages; by hand {:>3}, {:>3} and {:>3}",
            own.operations, own.instructions, own.stages, by_hand.operations, by_hand.instructions, by_hand.stages
        );
        assert!(own.operations * 100 <= by_hand.operations * 105, "{name}: {own:?}, by hand {by_hand:?}\n{}\n{hand}", made.program);
        assert!(own.instructions * 100 <= by_hand.instructions * 105, "{name}: {own:?}, by hand {by_hand:?}\n{}\n{hand}", made.program);
        assert!(own.stages * 100 <= by_hand.stages * 105, "{name}: {own:?}, by hand {by_hand:?}\n{}\n{hand}", made.program);
    }
}

/// Checks that packets leave both programs alike by the same ports, and that both keep the same.
fn same_programs(name: &str, elements: &[Arc<Verified>], first: &x11::Program, second: &x11::Program) {
    let mut pipelines = [first, second].map(|program| Pipeline::new(program, elements.to_vec()).unwrap());
    let mut ports = std::collections::BTreeSet::new();
    for (n, packet) in tried().iter().enumerate() {
        let run = |pipeline: &mut Pipeline<'_>| {
            let mut buffer = ExchangeBuffer::borrowed(packet);
            buffer.port = n as u32 % 4;
            let (disposition, buffer) = pipeline.run(buffer);
            (disposition, buffer.bytes().to_vec())
        };
        let got = pipelines.each_mut().map(run);
        ports.insert(format!("{:?}", got[0].0));
        assert_eq!(got[0], got[1], "{name}: packet {n}: {packet:02x?}\n{first}\n{second}");
    }
    assert!(ports.len() > 1, "{name}: all packets went the same way: {ports:?}");
    let kept = |pipeline: &Pipeline<'_>| -> Vec<_> {
        pipeline.states.iter().map(|s| (s.data.clone(), s.tables.iter().map(|t| t.entries(0)).collect::<Vec<_>>())).collect()
    };
    assert_eq!(kept(&pipelines[0]), kept(&pipelines[1]), "{name}");
}

#[test]
fn an_increment_is_one_operation_and_loses_nothing_in_lock_step() {
    let elements = vec![filter("ip").unwrap(), netil("counter.netil")];
    let made = chained(&elements);
    assert_eq!(made.hazards, []);
    let wanted = packets().iter().filter(|p| p.len() >= 14 && p[12..14] == [8, 0]).count() as u32;
    let all = packets();
    let machine = x11::Machine::built_in();
    let mut pipeline = Pipeline::new(&made.program, elements).unwrap();
    let (done, cycles) = pipeline.lock_step(all.iter().map(|p| ExchangeBuffer::borrowed(p)), &machine);
    assert_eq!(pipeline.states[1].data, wanted.to_le_bytes());
    // Stages 0 to 10, of which the last is an access point of 4 cycles; a packet enters each 4
    // cycles.
    assert_eq!(made.program.size().stages, 11, "{}", made.program);
    assert_eq!((done.len(), cycles), (all.len(), 4 * (all.len() as u64 - 1) + 10 + 4));
}

/// Frames of one station that nobody knows, so many cycles apart: in the window each of them finds
/// it unknown.
#[test]
fn the_learners_window_is_what_the_warning_says() {
    let program = netil("learner.netil");
    let made = chained(&[Arc::clone(&program)]);
    let [hazard] = &made.hazards[..] else { panic!("one hazard: {:?}", made.hazards) };
    // The lookup at stage 10 takes 4 cycles, ten instructions lie before the insertion at stage 21:
    // 14 cycles, in which 3.5 packets come.
    assert_eq!((hazard.stages, hazard.packets, hazard.table), ((10, 21), 4, Some(0)));
    let mut frame = vec![0; 60];
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    let by_port = |n: u32| {
        let mut buffer = ExchangeBuffer::borrowed(&frame);
        buffer.port = n;
        buffer
    };
    let learned = |pipeline: &Pipeline<'_>| pipeline.states[0].tables[0].entries(0).iter().map(|e| e.value[0]).collect::<Vec<_>>();
    let mut pipeline = Pipeline::new(&made.program, vec![Arc::clone(&program)]).unwrap();
    (0..9).for_each(|n| drop(pipeline.run(by_port(n))));
    assert_eq!(learned(&pipeline), [0], "one after the other, the first packet says where the station is");
    let mut pipeline = Pipeline::new(&made.program, vec![program]).unwrap();
    pipeline.lock_step((0..9).map(by_port), &x11::Machine::built_in());
    assert_eq!(learned(&pipeline), [3], "packets 0 to 3 have looked before the first insertion, and the last of them wins");
}

#[test]
fn what_the_machine_cannot_do_is_told_with_the_place() {
    let why = |text: &str| compiled(&filter(text).unwrap()).unwrap_err();
    assert_eq!(why("ip[8] / ip[1] > 0").to_string(), "push handler, instruction 16: a division: the pipeline's arithmetic has none");
    assert!(why("ip6 protochain 6").to_string().contains("a loop at instruction"));
    let machine = x11::Machine { pipeline: x11::Stages { stages: 3, ..x11::Machine::built_in().pipeline }, ..x11::Machine::built_in() };
    let program = filter("ip").unwrap();
    let small = x11::compile(&[Element { program: &program, ways: vec![(1, Link::Port(1))] }], Some(0), &machine);
    assert_eq!(small.unwrap_err().to_string(), "4 stages; the pipeline has 3");
}

/// Some packets have other beginnings; all that are left read, add and store behind moves of the
/// packet's ends.
fn moving(moves: &str) -> Arc<Verified> {
    let text = format!(
        "segment .push\n pop\n push 12\n upload.16\n push 0x0800\n jcmp.neq other\n push 14\n upload.8\n push 13\n pstore.8\n{moves}\
         push 0\n upload.8\n push 3\n upload.8\n add\n push 2\n pstore.8\n push 4\n spload.32\n push 6\n pstore.32\n push 1\n ret\n\
         other:\n exit 3\nends\n"
    );
    Arc::new(verify(asm::assemble(&text, "moving.netil").unwrap_or_else(|why| panic!("{why}\n{text}"))).unwrap())
}

#[test]
fn ends_move_by_constants() {
    // Short packets trap at the move, or at the access behind it.
    let short = (12..60).map(|n| [&[2; 12][..], &[8, 0], &[7; 46]].concat()[..n].to_vec());
    let packets: Vec<Vec<u8>> = packets().into_iter().chain(short).collect();
    let pull = |n: u32| format!(" push {n}\n pkt.pull\n");
    let push = |n: u32| format!(" push {n}\n pkt.push\n");
    let all = [
        pull(14),
        pull(13),
        push(14),
        push(4) + " push 0xaabbccdd\n push 0\n pstore.32\n",
        pull(14) + &push(18),
        pull(14) + " push 14\n pkt.unpull\n",
        pull(20) + &push(5) + " push 7\n pkt.unpull\n" + &pull(3),
        " push 9\n pkt.trim\n".to_owned(),
        " push 6\n pkt.grow\n".to_owned() + &pull(50),
        pull(14) + " pbl\n push 0\n pstore.16\n" + &push(2) + " pkt.moved\n push 4\n pstore.32\n",
    ];
    for moves in all {
        let program = moving(&moves);
        let made = compiled(&program).unwrap_or_else(|why| panic!("{moves}: {why}"));
        same(&moves, &program, &made, &packets);
        // A listing is read as what it is a listing of.
        let text = made.program.to_string();
        assert!(["pull", "push", "trim"].iter().any(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn ends_that_are_elsewhere_are_refused() {
    let why = |moves: &str| compiled(&moving(moves)).map(|made| made.program.to_string()).unwrap_err().to_string();
    let computed = why(" push 14\n upload.8\n pkt.pull\n");
    assert!(computed.contains("an end of the packet that moves by a computed number of bytes"), "{computed}");
    let two = why(" push 14\n upload.8\n push 4\n jcmp.neq on\n push 4\n pkt.pull\n jump on\non:\n");
    assert!(two.contains("packets come here whose heads have moved by 4 and by 0 bytes") || two.contains("by 0 and by 4 bytes"), "{two}");
    let back = why(" push 3\n pkt.pull\n push 4\n pkt.unpull\n");
    assert!(back.contains("bytes that are brought back, more than were taken away on every way"), "{back}");
}

fn plain(code: &str) -> Arc<Verified> {
    let text = format!("segment .push\n pop {code}\nends\n");
    Arc::new(verify(asm::assemble(&text, "plain.netil").unwrap_or_else(|why| panic!("{why}\n{text}"))).unwrap())
}

/// Checksums of an IPv4 header's length, of constant ranges (odd ones too), with words added and
/// taken out; and a tail cut by a computed number of bytes.
#[test]
fn checksums_are_sums_of_words() {
    let length = "push 14 upload.8 push 15 and push 2 shl";
    let all = format!(
        "push 14 push 20 chksum.calc push 0 pstore.16 push 14 {length} chksum.calc push 2 pstore.16 push 14 push 21 chksum.calc push 4 pstore.16
         push 15 push 6 chksum.calc push 6 pstore.16 push 16 upload.16 push 18 upload.16 chksum.add push 8 pstore.16
         push 16 upload.16 push 20 upload.16 chksum.sub push 10 pstore.16 push 17 upload.8 pkt.trim push 14 {length} chksum.jump right push 0 ret\nright:\n push 1 ret"
    );
    let program = plain(&all);
    let made = compiled(&program).unwrap();
    let mut packets: Vec<Vec<u8>> = tried();
    packets.extend((0..200u32).map(|n| {
        let bytes = (0..14 + n % 70).map(|i| (n.wrapping_mul(0x9e37_79b9).wrapping_mul(i | 1) >> 13) as u8);
        bytes.map(|byte| if n % 3 == 0 && byte % 4 > 0 { 255 * (byte % 2) } else { byte }).collect()
    }));
    // Headers whose checksums are right.
    for packet in packets.clone().into_iter().filter(|packet| packet.len() > 34) {
        let (mut right, len) = (packet, 20);
        right[14] = 0x45;
        right[24..26].fill(0);
        let sum = netil::digest::internet_checksum(&right[14..14 + len]);
        right[24..26].copy_from_slice(&sum.to_be_bytes());
        packets.push(right);
    }
    let verdicts = interpreted(&program, &packets).0;
    assert!(
        verdicts.iter().any(|(how, _)| *how == verdicts[verdicts.len() - 1].0)
            && verdicts.iter().any(|(how, _)| *how != verdicts[verdicts.len() - 1].0)
    );
    same("checksums", &program, &made, &packets);
}

#[test]
fn checksums_of_ranges_without_bounds_are_refused() {
    for (code, part) in [
        ("push 0 pbl chksum.calc push 0 pstore.16", "may have more than 128 bytes"),
        ("push 0 upload.8 push 20 chksum.calc push 0 pstore.16", "from a computed place on"),
        ("push 14 push 14 upload.8 push 15 and chksum.calc push 0 pstore.16", "may be odd"),
        ("push 0 push 130 chksum.calc push 0 pstore.16", "may have more than 128 bytes"),
    ] {
        let why = compiled(&plain(&format!("{code} push 1 ret"))).unwrap_err();
        assert!(why.reason.contains(part), "{code}: {}", why.reason);
    }
}
