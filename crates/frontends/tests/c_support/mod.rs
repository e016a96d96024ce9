//! An element made of a text, and its runs on the interpreter.
#![allow(dead_code, reason = "each test uses a part")]

use netil::copro::{CoproError, Coprocessor, Registers, Views};
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State, Trap};
use netil::interp::Interpreter;
use netil::module::{HandlerKind, Module};
use netvm_frontends::c::{self, InfoLayout, Instance, SourceFile, Value};
use netvm_frontends::click::processing::Kind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A class with those ports around some text.
pub fn class(ports: &str, text: &str) -> String {
    format!("#include <netvm.h>\nELEMENT(E, \"{ports}\", \"a/a\");\n{text}\n")
}

pub fn values(values: &[(&str, u64)]) -> BTreeMap<String, Value> {
    values.iter().map(|(name, value)| ((*name).to_owned(), Value::Int(*value))).collect()
}

/// Some of what the runtime's console does.
#[derive(Default)]
struct Console {
    data: Vec<u8>,
    text: Vec<u8>,
}

impl Coprocessor for Console {
    fn init(&mut self, data: &[u8]) -> u32 {
        self.data = data.to_vec();
        0
    }

    fn invoke(&mut self, operation: u32, r: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        let wide = u64::from(r[1]) << 32 | u64::from(r[0]);
        let text = match operation {
            0 => String::from_utf8_lossy(&self.data[r[0] as usize..][..r[1] as usize]).into_owned(),
            1 => wide.to_string(),
            2 => (wide as i64).to_string(),
            3 => format!("{wide:0digits$x}", digits = r[2] as usize),
            4 => std::net::Ipv4Addr::from(r[0]).to_string(),
            5 => std::net::Ipv6Addr::from_bits(r[..4].iter().fold(0, |value, word| value << 32 | u128::from(*word))).to_string(),
            9 => format!("{}.{:09}", wide / 1_000_000_000, wide % 1_000_000_000),
            _ => format!("{:04x}{:08x}", r[0], r[1]),
        };
        self.text.extend(text.bytes());
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        0
    }

    fn drain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }
}

pub struct Element {
    interpreter: Interpreter,
    pub state: State,
    /// Ports of the copies that the last run sent.
    pub clones: Vec<u32>,
}

impl Element {
    pub fn new(text: &str, inputs: usize, outputs: usize, values: BTreeMap<String, Value>) -> Self {
        Self::with_kinds(text, vec![Kind::Push; inputs], vec![Kind::Push; outputs], values)
    }

    pub fn with_kinds(text: &str, inputs: Vec<Kind>, outputs: Vec<Kind>, values: BTreeMap<String, Value>) -> Self {
        let instance = Instance { name: "e".to_owned(), inputs, outputs, values, ..Instance::default() };
        let source = SourceFile { name: "e.c", text };
        let compiled = c::compile(source, &|_| None, &instance, &mut InfoLayout::default());
        Self::of(compiled.unwrap_or_else(|faults| panic!("{}", faults.render(false))).module)
    }

    pub fn of(module: Module) -> Self {
        let shown = netil::disasm::disassemble(&module);
        let program = Arc::new(netil::verify(module).unwrap_or_else(|errors| panic!("{}\n{shown}", errors[0])));
        let mut interpreter = Interpreter::new(Arc::clone(&program));
        let mut state = State::new(&program, &|_| Some(Box::new(Console::default()))).unwrap();
        interpreter.init(&mut state).unwrap();
        Self { interpreter, state, clones: Vec::new() }
    }

    pub fn module(&self) -> &Module {
        self.interpreter.program().module()
    }

    pub fn describe(&self, trap: &Trap) -> String {
        self.interpreter.program().describe(trap)
    }

    pub fn reasons(&self) -> Vec<&str> {
        self.module().reasons.iter().map(|reason| reason.name.as_str()).collect()
    }

    pub fn data(&self, at: u32, size: usize) -> Vec<u8> {
        self.state.data[at as usize..][..size].to_vec()
    }

    pub fn push(&mut self, packet: &[u8]) -> (Disposition, Vec<u8>) {
        self.run(HandlerKind::Push, ExchangeBuffer::borrowed(packet))
    }

    /// A pull at output 0, with a packet that waits at input 0.
    pub fn pull(&mut self, packet: Option<&[u8]>) -> (Disposition, Vec<u8>) {
        if self.state.inputs.is_empty() {
            self.state.inputs.resize_with(self.module().ports.len(), Default::default);
        }
        self.state.inputs[0].extend(packet.map(|bytes| ExchangeBuffer::borrowed(bytes).into_owned()));
        self.event(1)
    }

    pub fn event(&mut self, port: u32) -> (Disposition, Vec<u8>) {
        let mut buffer = ExchangeBuffer::none();
        buffer.port = port;
        self.run(HandlerKind::Pull, buffer)
    }

    fn run(&mut self, kind: HandlerKind, buffer: ExchangeBuffer<'_>) -> (Disposition, Vec<u8>) {
        let mut burst = [buffer];
        let mut outcome = Outcome::default();
        self.interpreter.run(kind, &mut burst, &mut self.state, &mut outcome);
        self.clones = outcome.clones.iter().map(|clone| clone.port).collect();
        (outcome.dispositions[0], burst[0].bytes().to_vec())
    }

    pub fn printed(&mut self) -> String {
        String::from_utf8(self.state.coprocessors[0].unit.drain()).unwrap()
    }
}
