//! The checked program to one NetIL module. Everything is known by then but packets and entries of
//! tables: parsers, controls, functions and actions are inlined where they are applied or called,
//! with copies for their parameters where names could mean the same place.
//!
//! The module has two halves, as BMv2's simple_switch has: what comes in by port `ingress` is
//! parsed, checked and runs through ingress, and leaves by `queued` with headers and metadata in
//! info memory; what comes in by `egress` goes on from there and leaves by `out`. Between them is
//! the packet replication engine, which is not in the module. What comes in by `again` is a clone
//! of what had arrived, on its way to egress. [`crate::pipeline::info`] says where in info memory
//! the two talk to each other.
//!
//! What the halves are made of is the architecture's: see [`arch`].

pub(crate) mod arch;
mod arguments;
mod call;
mod code;
mod crc;
mod digest;
mod expr;
mod externs;
mod kept;
mod learn;
mod mark;
mod meter;
mod packet;
mod place;
mod plain;
mod profile;
mod sets;
mod share;
mod state;
mod stmt;
mod table;

use crate::Optimisation;
use crate::check::types::Bound;
use crate::hir::{Expr, FnId, InstId, Program, TableId, Type, VarId};
use crate::pipeline::{ArrayMeta, CrcMeta, DigestMeta, Paths, Pipeline, ProfileMeta, Saved, SetMeta, TableMeta};
use code::{Code, LabelId};
use frontends::diagnostics::{Diagnostic, Sources, Span};
use netil::Module;
use netil::module::{Handler, Port, PortKind};
use netil::table::Op;
use num_bigint::BigInt;
use place::StorageLocation;
use std::collections::{BTreeMap, HashMap};

pub(crate) type Lowered<T> = Result<T, Box<Diagnostic>>;

fn fault<T>(span: Span, message: impl Into<String>) -> Lowered<T> {
    Err(Box::new(Diagnostic::new(span, message)))
}

/// What a variable stands for.
#[derive(Clone)]
enum Binding {
    Place(StorageLocation),
    Const(Expr),
    Object(Vec<InstId>),
    Packet,
}

/// A function, action or control that is being inlined.
struct Frame {
    ret: LabelId,
    result: Option<StorageLocation>,
}

/// The most instructions of a module.
const MAX_CODE: usize = 400_000;
/// Bytes of data memory for headers on their way out.
const OUT: u32 = 16 << 10;
/// Bytes for values whose bytes are needed in a row.
const SCRATCH: u32 = 4 << 10;

pub(crate) struct Lower<'a> {
    program: &'a Program,
    sources: &'a Sources,
    code: Code,
    bindings: HashMap<VarId, Binding>,
    bound: Bound,
    path: Vec<InstId>,
    frames: Vec<Frame>,
    exits: Vec<LabelId>,
    loops: Vec<(LabelId, LabelId)>,
    depth: usize,
    /// The statement that is being lowered.
    now: Span,
    data_size: u32,
    tables: Vec<netil::module::Table>,
    metas: Vec<TableMeta>,
    /// By instance and declaration: the module's table, the local for hits and the one for the
    /// action.
    known: HashMap<(Vec<InstId>, TableId), (usize, u32, u32)>,
    arrays: HashMap<Vec<InstId>, usize>,
    array_metas: Vec<ArrayMeta>,
    profiles: Vec<ProfileMeta>,
    /// The actions of each profile, in the order of their numbers: those of all tables that use it.
    profile_actions: Vec<Vec<FnId>>,
    profiles_known: HashMap<Vec<InstId>, usize>,
    sets: Vec<SetMeta>,
    sets_known: HashMap<(Vec<InstId>, VarId), usize>,
    digests: Vec<DigestMeta>,
    crcs: Vec<CrcMeta>,
    /// How many checksums and hashes there are, which gives them their names.
    calculations: usize,
    /// By instance: the local with the colour of the entry that was found.
    direct_meters: HashMap<Vec<InstId>, u32>,
    /// Behind headers and metadata in info memory.
    info_end: u32,
    info_bytes: u32,
    /// Initialised data.
    marks: Option<crate::marks::Marks>,
    constants: Vec<u8>,
    crc_tables: HashMap<u32, u32>,
    /// Registers that do not begin with 0: first byte, bytes of a cell, cells, and the value.
    initial: Vec<(u32, u32, u32, BigInt)>,
    architecture: &'static arch::Architecture,
    /// The port of the module that the packet came in by.
    mode: u32,
    cursor: u32,
    error: u32,
    out_len: u32,
    /// Bytes of the packet as it came in.
    length: u32,
    /// By instance: the local of a checksum that is a block's own.
    running: HashMap<Vec<InstId>, u32>,
    /// The standard metadata of v1model, and what its externs ask of the replication engine.
    standard: StorageLocation,
    /// In v1model: by how many bytes headers that were made valid or invalid have changed the
    /// packet.
    grown: Option<u32>,
    asked: arch::Asked,
    emitting: packet::Emitting,
    /// The program is to be an element of a graph.
    element: Option<arch::Element>,
    /// What is left out of optimisations, and what has been done.
    without: Vec<Optimisation>,
    done: plain::Done,
    /// By table where the numbers of its actions are, and how many, if entries do not have them.
    maps: BTreeMap<usize, (u32, u32)>,
    cells: plain::Cells,
    /// Fields of metadata.
    metadata: usize,
    /// Actions that are being inlined.
    inside: usize,
    /// What packets do to registers and meters.
    uses: kept::AllUses,
    /// The half that is being lowered.
    half: kept::Half,
    /// There are random numbers; packets may come round; egress may make clones.
    draws: bool,
    comes_round: bool,
    mirrors: bool,
    /// Ingress may ask for something else than one port or none.
    deviates: bool,
    /// Packets for one port go from ingress to egress at once.
    straight: bool,
}

/// Makes the module and what the control plane knows of it.
pub(crate) fn lower(program: &Program, sources: &Sources, reading: crate::Reading<'_>) -> Lowered<Pipeline> {
    let (architecture, parts) = arch::parts(program)?;
    let mut lower = Lower::new(program, sources, architecture, reading.without);
    if reading.marks {
        let at = lower.allot(4 + crate::marks::RECORD, Span::default())?;
        let errors = program.errors.iter().map(ToString::to_string).collect();
        lower.marks = Some(crate::marks::Marks { at, all: Vec::new(), errors });
    }
    lower.whole(&parts)
}

/// Makes the module of an element with so many inputs and outputs.
pub(crate) fn lower_element(
    program: &Program,
    sources: &Sources,
    reading: crate::Reading<'_>,
    inputs: u32,
    outputs: u32,
) -> Lowered<Pipeline> {
    let (architecture, parts) = arch::parts(program)?;
    let Some(whole) = architecture.element else {
        return fault(parts.span, format!("programs for {} run by themselves, and not as elements of a graph", architecture.name));
    };
    let mut wanted = arch::Needs::default();
    loop {
        let mut lower = Lower::new(program, sources, architecture, reading.without);
        lower.element = Some(arch::Element::new(inputs, outputs, wanted));
        let (pipeline, needs) = whole(&mut lower, &parts)?;
        if needs == wanted {
            return Ok(pipeline);
        }
        wanted = needs;
    }
}

impl<'a> Lower<'a> {
    fn new(program: &'a Program, sources: &'a Sources, architecture: &'static arch::Architecture, without: &[Optimisation]) -> Self {
        Self {
            program,
            sources,
            code: Code::default(),
            bindings: HashMap::new(),
            bound: Bound::new(),
            path: Vec::new(),
            frames: Vec::new(),
            exits: Vec::new(),
            loops: Vec::new(),
            depth: 0,
            now: Span::default(),
            data_size: OUT + SCRATCH,
            tables: Vec::new(),
            metas: Vec::new(),
            known: HashMap::new(),
            arrays: HashMap::new(),
            array_metas: Vec::new(),
            profiles: Vec::new(),
            profile_actions: Vec::new(),
            profiles_known: HashMap::new(),
            sets: Vec::new(),
            sets_known: HashMap::new(),
            digests: Vec::new(),
            crcs: Vec::new(),
            calculations: 0,
            direct_meters: HashMap::new(),
            info_end: 0,
            info_bytes: 0,
            marks: None,
            constants: Vec::new(),
            crc_tables: HashMap::new(),
            initial: Vec::new(),
            architecture,
            mode: 0,
            cursor: 0,
            error: 0,
            out_len: 0,
            length: 0,
            running: HashMap::new(),
            standard: StorageLocation { base: 0, dims: Vec::new(), ty: Type::Void, siblings: [].into() },
            grown: None,
            asked: arch::Asked::default(),
            emitting: packet::Emitting::default(),
            element: None,
            without: without.to_vec(),
            done: plain::Done::default(),
            maps: BTreeMap::new(),
            cells: plain::Cells::new(),
            metadata: 0,
            inside: 0,
            uses: kept::AllUses::new(),
            half: kept::Half::default(),
            draws: false,
            comes_round: false,
            mirrors: false,
            deviates: false,
            straight: false,
        }
    }
}

impl Lower<'_> {
    fn at(&mut self, span: Span) {
        self.code.line = self.sources.line(span.start).1;
    }

    /// A type with the parameters of the function that is being inlined put in.
    fn resolve(&self, ty: &Type) -> Type {
        self.program.substitute(ty, &self.bound)
    }

    fn allot(&mut self, bytes: u32, span: Span) -> Lowered<u32> {
        let at = self.data_size;
        match at.checked_add(bytes.next_multiple_of(8)).filter(|end| *end <= 48 << 20) {
            Some(end) => {
                self.data_size = end;
                Ok(at)
            }
            None => fault(span, "registers, counters and meters take more than 48 MiB"),
        }
    }

    fn whole(&mut self, parts: &arch::Parts) -> Lowered<Pipeline> {
        let [mode, cursor, error, out_len, length] = [32; 5].map(|w| self.code.new_local(w));
        (self.mode, self.cursor, self.error, self.out_len, self.length) = (mode, cursor, error, out_len, length);
        self.code.depth = 1;
        self.code.set(mode);
        for local in [cursor, error, out_len, length] {
            self.code.push(0);
            self.code.set(local);
        }
        let (saved, paths) = (self.architecture.lower)(self, parts)?;
        self.finish(saved, paths)
    }

    fn finish(&mut self, saved: Saved, paths: Paths) -> Lowered<Pipeline> {
        let port = |name: &str, kind| Port { name: name.to_owned(), kind };
        let (input, output) = (PortKind::PushInput, PortKind::PushOutput);
        let mut ports = vec![
            port("ingress", input),
            port("egress", input),
            port("again", input),
            port("queued", output),
            port("out", output),
            port("mirror", output),
        ];
        ports.extend(self.straight.then(|| port("straight", input)));
        Ok(self.pipeline(saved, paths, ports))
    }

    fn pipeline(&mut self, saved: Saved, paths: Paths, ports: Vec<Port>) -> Pipeline {
        let handler = share::share(plain::in_memory(std::mem::take(&mut self.code).finish(), &self.cells));
        let init = self.defaults();
        let (optimised, kept, order) = (self.told(), self.keeps(), self.order());
        let module = Module {
            name: "p4".to_owned(),
            ports,
            data_size: self.data_size,
            info_size: self.info_bytes,
            data: std::mem::take(&mut self.constants),
            tables: std::mem::take(&mut self.tables),
            init: Some(init),
            push: Some(handler),
            ..Module::default()
        };
        Pipeline {
            module,
            tables: std::mem::take(&mut self.metas),
            arrays: std::mem::take(&mut self.array_metas),
            profiles: std::mem::take(&mut self.profiles),
            sets: std::mem::take(&mut self.sets),
            digests: std::mem::take(&mut self.digests),
            crcs: std::mem::take(&mut self.crcs),
            info_bytes: self.info_bytes,
            marks: self.marks.take(),
            saved,
            paths,
            cpu_port: self.architecture.cpu_port,
            last_port: self.architecture.last_port,
            groups: None,
            optimised,
            kept,
            order,
        }
    }

    /// The init handler: default actions, the parameters of checks, and registers that do not begin
    /// with 0.
    fn defaults(&mut self) -> Handler {
        let mut code = Code::default();
        for meta in &self.metas {
            for (n, byte) in meta.default.iter().enumerate().filter(|(_, b)| **b != 0) {
                code.push(u32::from(*byte));
                code.push(meta.default_at + n as u32);
                code.op(Op::MStore8);
            }
        }
        for crc in &self.crcs {
            let image = crate::crc::Parameters::standard(crc.width).image();
            for (at, word) in (crc.at..).step_by(4).zip(image.chunks_exact(4)) {
                code.push(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
                code.push(at);
                code.w(Op::WmStore, 32);
            }
        }
        for (at, count) in self.maps.values() {
            (1..*count).for_each(|n| {
                code.push(n);
                code.push(at + 2 * n);
                code.op(Op::MStore16);
            });
        }
        for (at, stride, count, value) in &self.initial {
            fill(&mut code, *at, *stride, *count, value);
        }
        code.op(Op::Ret);
        code.finish()
    }
}

/// Writes a value to all cells of a register.
fn fill(code: &mut Code, at: u32, stride: u32, count: u32, value: &BigInt) {
    let (cell, head, bits) = (code.new_local(32), code.label(), (stride * 8) as u16);
    code.push(at);
    code.set(cell);
    code.bind(head);
    code.constant(value, bits);
    code.get(cell);
    code.w(Op::WmStore, bits);
    code.get(cell);
    code.push(stride);
    code.op(Op::Add);
    code.set(cell);
    code.get(cell);
    code.push(at + stride * count);
    code.branch(Op::JCmpNeq, head);
}
