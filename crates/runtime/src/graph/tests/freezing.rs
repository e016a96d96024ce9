//! Duplication as the paper has it: the original is frozen until its duplicate has left. Here the
//! handler goes on at once, and its copies leave when it has ended; nobody can tell, but who has
//! memory together with an element that sends copies (docs/netil.md).
//!
//! [`Frozen`] is the paper's meaning, as plain as can be: it runs small programs statement by
//! statement, and a statement that sends a copy lets that go all its way before the next one. What
//! comes to which element, in which order, with which bytes and annotations must be what it is in
//! graphs of the same programs in NetIL.
//!
//! `NETVM_CASES` sets the number of generated graphs, `NETVM_SEED` the first.

use super::*;
use crate::graph::{At, Info, Observer, Packet};
use crate::io::synth::Random;
use netil::app::PieceOf;
use std::fmt::Write as _;

/// Bytes of packets.
const LENGTH: u64 = 8;
/// Bytes of info, data and shared memory each.
const MEMORY: u64 = 4;
/// Packets that each run begins with.
const PACKETS: usize = 12;

/// A byte that programs read and write.
#[derive(Clone, Copy)]
struct Byte {
    of: Memory,
    at: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Packet,
    Info,
    Data,
    Shared,
}

enum Statement {
    /// The first becomes the second and a number.
    Set(Byte, Byte, u8),
    /// Only if the byte is above a number.
    If(Byte, u8, Vec<Statement>),
    /// A copy leaves.
    Copy(usize),
}

/// Statements; then the packet leaves by the first port if the byte is above 127, else by the
/// second, if there is one.
struct Program {
    statements: Vec<Statement>,
    byte: Byte,
    ports: (usize, Option<usize>),
    /// Where outputs lead: to an element, or out.
    outputs: Vec<Option<usize>>,
}

/// What comes to an element: which, the packet's bytes, its annotations.
type Arrival = (usize, Vec<u8>, Vec<u8>);

/* The paper's meaning. */

struct Frozen<'p> {
    programs: &'p [Program],
    data: Vec<[u8; MEMORY as usize]>,
    shared: [u8; MEMORY as usize],
    arrivals: Vec<Arrival>,
}

#[derive(Clone)]
struct Exchange {
    packet: [u8; LENGTH as usize],
    info: [u8; MEMORY as usize],
}

impl Frozen<'_> {
    fn of(programs: &[Program]) -> Vec<Arrival> {
        let mut all =
            Frozen { programs, data: vec![[0; MEMORY as usize]; programs.len()], shared: [0; MEMORY as usize], arrivals: Vec::new() };
        let first = Exchange { packet: std::array::from_fn(|at| at as u8), info: [0; MEMORY as usize] };
        (0..PACKETS).for_each(|_| all.enter(Some(0), first.clone()));
        all.arrivals
    }

    /// A packet comes to an element, or goes out.
    fn enter(&mut self, node: Option<usize>, mut exchange: Exchange) {
        self.arrivals.push((node.unwrap_or(self.programs.len()), exchange.packet.to_vec(), exchange.info.to_vec()));
        let Some(node) = node else { return };
        let program = &self.programs[node];
        self.run(node, &program.statements, &mut exchange);
        let (first, second) = program.ports;
        match (*self.byte(node, &mut exchange, program.byte) > 127, second) {
            (true, _) => self.enter(program.outputs[first], exchange),
            (false, Some(port)) => self.enter(program.outputs[port], exchange),
            (false, None) => {}
        }
    }

    fn run(&mut self, node: usize, statements: &[Statement], exchange: &mut Exchange) {
        for statement in statements {
            match statement {
                Statement::Set(to, from, number) => {
                    let value = self.byte(node, exchange, *from).wrapping_add(*number);
                    *self.byte(node, exchange, *to) = value;
                }
                Statement::If(byte, number, then) if *self.byte(node, exchange, *byte) > *number => self.run(node, then, exchange),
                Statement::If(..) => {}
                // The packet waits here until its copy has left.
                Statement::Copy(port) => self.enter(self.programs[node].outputs[*port], exchange.clone()),
            }
        }
    }

    fn byte<'b>(&'b mut self, node: usize, exchange: &'b mut Exchange, Byte { of, at }: Byte) -> &'b mut u8 {
        let memory: &mut [u8] = match of {
            Memory::Packet => &mut exchange.packet,
            Memory::Info => &mut exchange.info,
            Memory::Data => &mut self.data[node],
            Memory::Shared => &mut self.shared,
        };
        &mut memory[usize::from(at)]
    }
}

/* The same in NetIL. */

impl Program {
    fn text(&self) -> String {
        let ports: String = (0..self.outputs.len()).map(|port| format!("push_output out{port} ")).collect();
        let mut text = format!(
            "segment .metadata .info_size {MEMORY} .datamem_size {MEMORY} .shared_size {MEMORY} ends segment .ports push_input in0 {ports}ends segment .push pop\n"
        );
        let mut labels = 0;
        write(&mut text, &self.statements, &mut labels);
        let (first, second) = self.ports;
        let otherwise = second.map_or_else(|| "pkt.drop 0".to_owned(), |port| format!("pkt.send out{port}"));
        let _ = write!(text, "{} push 127 jcmp.g sends {otherwise} sends: pkt.send out{first} ends", self.byte.loaded());
        text
    }
}

impl Byte {
    fn loaded(self) -> String {
        let load = match self.of {
            Memory::Packet => "upload.8",
            Memory::Info => "uiload.8",
            Memory::Data => "umload.8",
            Memory::Shared => "usload.8",
        };
        format!("push {} {load}", self.at)
    }

    fn stored(self) -> String {
        let store = match self.of {
            Memory::Packet => "pstore.8",
            Memory::Info => "istore.8",
            Memory::Data => "mstore.8",
            Memory::Shared => "sstore.8",
        };
        format!("push {} {store}", self.at)
    }
}

fn write(text: &mut String, statements: &[Statement], labels: &mut usize) {
    for statement in statements {
        match statement {
            Statement::Set(to, from, number) => *text += &format!("{} push {number} add {}\n", from.loaded(), to.stored()),
            Statement::Copy(port) => *text += &format!("pkt.senddup out{port}\n"),
            Statement::If(byte, number, then) => {
                *labels += 1;
                let label = *labels;
                *text += &format!("{} push {number} jcmp.le skip{label}\n", byte.loaded());
                write(text, then, labels);
                *text += &format!("skip{label}: ");
            }
        }
    }
}

/// Who writes down what comes to elements; the source is not one of them.
struct Watching(Arc<Mutex<Vec<Arrival>>>);

impl Observer for Watching {
    fn enters(&mut self, at: At, packet: &mut Packet, _: &Info) {
        self.0.lock().unwrap().push((at.node, packet.buffer.bytes().to_vec(), packet.buffer.info.to_vec()));
    }

    fn leaves(&mut self, _: At, _: &mut Packet, _: bool, _: &Info) {}

    fn drops(&mut self, _: usize, _: &str, _: &Packet, _: &Info) {}

    fn wakes(&mut self, _: usize) {}
}

fn in_netil(programs: &[Program]) -> Vec<Arrival> {
    let data: String = (0..LENGTH).map(|byte| format!("{byte:02x} ")).collect();
    let mut text: String = (0..programs.len()).map(|node| format!("p{node} :: Idle\n")).collect();
    text += &format!("out :: Discard\n s :: InfiniteSource(DATA \\<{data}> | LIMIT {PACKETS})\n s -> p0\n");
    for (node, program) in programs.iter().enumerate() {
        for (port, to) in program.outputs.iter().enumerate() {
            let to = to.map_or_else(|| "out".to_owned(), |to| format!("p{to}"));
            let _ = writeln!(text, "p{node} [{port}] -> {to}");
        }
    }
    let mut app = application(&text, &[]);
    for (node, program) in programs.iter().enumerate() {
        let module = netil::asm::assemble(&program.text(), "p").unwrap_or_else(|why| panic!("{}: {why:?}", program.text()));
        app.instances[node].body = Body::Program(Arc::new(netil::verify(module).unwrap()));
    }
    app.pieces = vec![(0..programs.len() as u32).map(|instance| PieceOf { instance, at: 0, len: MEMORY as u32 }).collect()];
    let (mut graph, _) = graph(&app, Settings { simulated: true, ..Settings::default() }).unwrap();
    let arrivals = Arc::default();
    graph.observe(Box::new(Watching(Arc::clone(&arrivals))));
    graph.start();
    while graph.turn() {}
    drop(graph);
    Arc::into_inner(arrivals).unwrap().into_inner().unwrap()
}

/* Programs from seeds. */

struct Writer {
    random: Random,
    outputs: usize,
    /// Copies that may still be sent.
    copies: usize,
    /// Shared memory is used: not behind a statement that sends a copy, unless that is wanted.
    shares: bool,
    everywhere: bool,
}

impl Writer {
    fn below(&mut self, n: usize) -> usize {
        self.random.within(0, n as u64) as usize
    }

    fn byte(&mut self) -> Byte {
        let all = [Memory::Packet, Memory::Info, Memory::Data, Memory::Shared];
        let of = all[self.below(if self.shares { 4 } else { 3 })];
        Byte { of, at: self.below(if of == Memory::Packet { LENGTH } else { MEMORY } as usize) as u8 }
    }

    fn statements(&mut self, most: usize, depth: usize) -> Vec<Statement> {
        let mut all = Vec::new();
        for _ in 0..1 + self.below(most) {
            all.push(match self.below(6) {
                0 if depth > 0 => Statement::If(self.byte(), self.random.within(0, 200) as u8, self.statements(3, depth - 1)),
                1 | 2 if self.copies > 0 => {
                    self.copies -= 1;
                    self.shares &= self.everywhere;
                    Statement::Copy(self.below(self.outputs))
                }
                _ => Statement::Set(self.byte(), self.byte(), self.random.within(0, 256) as u8),
            });
        }
        all
    }
}

/// Elements that lead to later ones, or out. `everywhere`: they use shared memory also behind
/// statements that send copies.
fn programs(seed: u64, everywhere: bool) -> Vec<Program> {
    let mut random = Random(seed);
    let count = random.within(2, 7) as usize;
    let program = |node: usize| {
        let outputs: Vec<Option<usize>> = (0..random.within(1, 4))
            .map(|_| Some(random.within(node as u64 + 1, count as u64 + 1) as usize).filter(|to| *to < count))
            .collect();
        let shares = random.within(0, 2) == 0;
        let mut writer = Writer { random: Random(random.next()), outputs: outputs.len(), copies: 2, shares, everywhere };
        let statements = writer.statements(7, 2);
        let (byte, first, second) = (writer.byte(), writer.below(outputs.len()), writer.below(outputs.len() + 1));
        Program { statements, byte, ports: (first, Some(second).filter(|port| *port < outputs.len())), outputs }
    };
    (0..count).map(program).collect()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn freezing_is_invisible_but_to_who_has_memory_with_the_sender() {
    let (first, cases) = (setting("NETVM_SEED", 1), setting("NETVM_CASES", 400));
    let mut copies = 0;
    for seed in first..first + cases {
        let programs = programs(seed, false);
        let (found, wanted) = (in_netil(&programs), Frozen::of(&programs));
        let at = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        let texts = || programs.iter().map(Program::text).collect::<Vec<_>>().join("\n");
        assert!(
            found == wanted,
            "NETVM_SEED={seed}: arrival {at:?} of {} and {}: {:?}, with freezing {:?}\n{}",
            found.len(),
            wanted.len(),
            at.map(|at| &found[at]),
            at.map(|at| &wanted[at]),
            texts()
        );
        copies += usize::from(found.len() > PACKETS * programs.len());
    }
    assert!(copies > cases as usize / 20, "the test is of copies: {copies} of {cases} graphs have many");
    let tells = |seed: &u64| {
        let programs = programs(*seed, true);
        in_netil(&programs) != Frozen::of(&programs)
    };
    assert!((1..50).any(|seed| tells(&seed)), "who has memory with the sender can tell");
}
