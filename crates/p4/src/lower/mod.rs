//! The checked program to one NetIL module. Everything is known by then but packets and entries of tables: parsers, controls, functions and actions are inlined where they are
//! applied or called, with copies for their parameters where names could mean the same place.
//!
//! The module has two halves, as BMv2's simple_switch has: what comes in by port `ingress` is parsed, checked and runs through ingress, and leaves by `queued` with headers and
//! metadata in info memory; what comes in by `egress` goes on from there and leaves by `out`. Between them is the packet replication engine, which is not in the module. What comes
//! in by `again` is parsed only: clones of what had arrived. [`crate::Info`] says where in info memory the two talk to each other.

mod call;
mod code;
mod crc;
mod digest;
mod element;
mod expr;
mod externs;
mod learn;
mod mark;
mod meter;
mod packet;
mod place;
mod profile;
mod sets;
mod share;
mod state;
mod stmt;
mod table;

use crate::check::types::Bound;
use crate::hir::{Expr, ExprKind, FnId, InstId, Program, TableId, Type, VarId};
use crate::pipeline::{ArrayMeta, CrcMeta, DigestMeta, Pipeline, ProfileMeta, Saved, SetMeta, TableMeta, info};
pub(crate) use code::limbs;
use code::{Code, LabelId};
use frontends::diagnostics::{Diagnostic, Sources, Span};
use netil::Module;
use netil::module::{Handler, Port, PortKind};
use netil::table::Op;
use place::{Leaf, Place};
use std::collections::HashMap;

pub(crate) type Lowered<T> = Result<T, Box<Diagnostic>>;

fn fault<T>(span: Span, message: impl Into<String>) -> Lowered<T> {
    Err(Box::new(Diagnostic::new(span, message)))
}

/// What a variable stands for.
#[derive(Clone)]
enum Binding {
    Place(Place),
    Const(Expr),
    Object(Vec<InstId>),
    Packet,
}

/// A function, action or control that is being inlined.
struct Frame {
    ret: LabelId,
    result: Option<Place>,
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
    /// By instance and declaration: the module's table, the local for hits and the one for the action.
    known: HashMap<(Vec<InstId>, TableId), (usize, u32, u32)>,
    arrays: HashMap<Vec<InstId>, usize>,
    array_metas: Vec<ArrayMeta>,
    profiles: Vec<ProfileMeta>,
    /// By instance: the profile, and the actions of the tables that use it.
    profiles_known: HashMap<Vec<InstId>, (usize, Vec<FnId>)>,
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
    cursor: u32,
    error: u32,
    out_len: u32,
    standard: Place,
    clone: Clones,
    emitting: packet::Emitting,
    /// The program is to be an element of a graph.
    element: Option<element::Element>,
}

/// Locals for what externs ask of the replication engine.
#[derive(Clone, Copy, Default)]
struct Clones {
    session: u32,
    fields: u32,
    resubmit: u32,
    recirculate: u32,
    truncate: u32,
}

/// Where parameters of `V1Switch` are.
struct Parts {
    blocks: Vec<(InstId, usize)>,
    span: Span,
}

fn parts(program: &Program) -> Lowered<Parts> {
    let whole = Span::default();
    let main = program.top.iter().map(|id| &program.instances[*id]).find(|i| &*i.name == "main");
    let Some(main) = main else { return fault(whole, "the program has no `main`") };
    let Type::Arch(id, _) = &main.ty else { return fault(main.span, "`main` is no package") };
    if &**program.type_name(*id) != "V1Switch" {
        return fault(main.span, format!("the architecture of {} is not supported; v1model's V1Switch is", program.show(&main.ty)));
    }
    let mut blocks = Vec::new();
    for arg in &main.args {
        match (&arg.kind, &arg.ty) {
            (ExprKind::Call { callee: crate::hir::Callee::Construct(inst), .. }, Type::Block(block)) => blocks.push((*inst, *block)),
            _ => return fault(arg.span, "this is no parser or control"),
        }
    }
    if blocks.len() != 6 {
        return fault(main.span, "V1Switch has six parts");
    }
    Ok(Parts { blocks, span: main.span })
}

/// True for a program of the architecture that is supported.
pub(crate) fn is_switch(program: &Program) -> bool {
    let main = program.top.iter().map(|id| &program.instances[*id]).find(|i| &*i.name == "main");
    main.is_some_and(|m| matches!(&m.ty, Type::Arch(id, _) if &**program.type_name(*id) == "V1Switch"))
}

/// Makes the module and what the control plane knows of it.
pub(crate) fn lower(program: &Program, sources: &Sources, marks: bool) -> Lowered<Pipeline> {
    let parts = parts(program)?;
    let mut lower = Lower::new(program, sources);
    if marks {
        let at = lower.allot(4 + crate::marks::RECORD, Span::default())?;
        let errors = program.errors.iter().map(ToString::to_string).collect();
        lower.marks = Some(crate::marks::Marks { at, all: Vec::new(), errors });
    }
    lower.whole(&parts)
}

/// Makes the module of an element with so many inputs and outputs.
pub(crate) fn lower_element(program: &Program, sources: &Sources, inputs: u32, outputs: u32) -> Lowered<Pipeline> {
    let parts = parts(program)?;
    let mut wanted = element::Needs::default();
    loop {
        let mut lower = Lower::new(program, sources);
        lower.element = Some(element::Element::new(inputs, outputs, wanted));
        let (pipeline, needs) = lower.whole_element(&parts)?;
        if needs == wanted {
            return Ok(pipeline);
        }
        wanted = needs;
    }
}

impl<'a> Lower<'a> {
    fn new(program: &'a Program, sources: &'a Sources) -> Self {
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
            cursor: 0,
            error: 0,
            out_len: 0,
            standard: Place { base: 0, dims: Vec::new(), ty: Type::Void, siblings: [].into() },
            clone: Clones::default(),
            emitting: packet::Emitting::default(),
            element: None,
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

    fn whole(&mut self, parts: &Parts) -> Lowered<Pipeline> {
        let program = self.program;
        let parser = &program.blocks[parts.blocks[0].1];
        let [cursor, error, out_len, mode] = [32; 4].map(|w| self.code.new_local(w));
        (self.cursor, self.error, self.out_len) = (cursor, error, out_len);
        let [session, fields, resubmit, recirculate, truncate] = [32; 5].map(|w| self.code.new_local(w));
        self.clone = Clones { session, fields, resubmit, recirculate, truncate };
        let headers = self.new_place(&parser.params[1].ty, parts.span)?;
        let metadata = self.new_place(&parser.params[2].ty, parts.span)?;
        self.standard = self.new_place(&parser.params[3].ty, parts.span)?;
        self.code.depth = 1;
        self.code.set(mode);
        for local in [session, fields, resubmit, recirculate, truncate, cursor, error, out_len] {
            self.code.push(0);
            self.code.set(local);
        }
        let saved = self.saved(&headers, &metadata, parts.span)?;
        (self.info_end, self.info_bytes) = (saved.end, saved.end);
        let (egress, queued) = (self.code.label(), self.code.label());
        self.code.get(mode);
        self.code.push(1);
        self.code.branch(Op::JCmpEq, egress);
        self.ingress(parts, mode, queued, &saved, &headers, &metadata)?;
        self.code.bind(queued);
        self.save(&saved);
        self.tell();
        self.code.op1(Op::PktSend, 3);
        self.code.bind(egress);
        self.egress(parts, &saved, &headers, &metadata)?;
        self.finish(&saved)
    }

    fn ingress(&mut self, parts: &Parts, mode: u32, queued: LabelId, saved: &Saved, headers: &Place, metadata: &Place) -> Lowered<()> {
        let span = parts.span;
        self.clear(headers, span)?;
        self.restore(saved, true);
        self.clear(&self.standard.clone(), span)?;
        for (name, at, width) in
            [("ingress_port", info::INGRESS_PORT, 9), ("instance_type", info::INSTANCE, 32), ("packet_length", info::LENGTH, 32)]
        {
            self.set_standard(name, at, width)?;
        }
        self.set_standard("ingress_global_timestamp", info::TIME, 48)?;
        let standard = self.standard.clone();
        self.run_block(parts, 0, &[None, Some(headers), Some(metadata), Some(&standard)])?;
        self.code.get(self.error);
        self.set_field("parser_error", 32)?;
        self.code.get(self.cursor);
        self.code.op(Op::PktPull);
        self.code.get(mode);
        self.code.branch(Op::JNe, queued);
        self.run_block(parts, 1, &[Some(headers), Some(metadata)])?;
        self.run_block(parts, 2, &[Some(headers), Some(metadata), Some(&standard)])
    }

    fn egress(&mut self, parts: &Parts, saved: &Saved, headers: &Place, metadata: &Place) -> Lowered<()> {
        let standard = self.standard.clone();
        self.restore(saved, false);
        for (name, at, width) in [
            ("egress_port", info::EGRESS_PORT, 9),
            ("egress_rid", info::RID, 16),
            ("instance_type", info::INSTANCE, 32),
            ("packet_length", info::LENGTH, 32),
        ] {
            self.set_standard(name, at, width)?;
        }
        self.set_standard("egress_global_timestamp", info::TIME, 48)?;
        self.code.constant(&0.into(), 9);
        self.set_field("egress_spec", 9)?;
        self.run_block(parts, 3, &[Some(headers), Some(metadata), Some(&standard)])?;
        self.run_block(parts, 4, &[Some(headers), Some(metadata)])?;
        let (no_clone, sent) = (self.code.label(), self.code.label());
        self.code.get(self.clone.session);
        self.code.branch(Op::JEq, no_clone);
        self.save(saved);
        self.tell();
        self.code.op1(Op::PktSendDup, 5);
        self.code.bind(no_clone);
        self.get_field("egress_spec")?;
        self.code.constant(&511.into(), 9);
        self.code.w(Op::WNe, 9);
        self.code.branch(Op::JNe, sent);
        self.mark(crate::marks::MarkKind::Dropped, "", parts.span, &[]);
        self.code.op1(Op::PktDrop, 511);
        self.code.bind(sent);
        self.deparse(parts, headers)?;
        self.save(saved);
        self.tell();
        self.code.op1(Op::PktSend, 4);
        Ok(())
    }

    /// One of the package's parts, its parameters at those places.
    fn run_block(&mut self, parts: &Parts, n: usize, places: &[Option<&Place>]) -> Lowered<()> {
        let (inst, block) = parts.blocks[n];
        let info = &self.program.blocks[block];
        for (param, place) in info.params.iter().zip(places) {
            let binding = place.map_or(Binding::Packet, |p| Binding::Place(p.clone()));
            self.bindings.insert(param.var, binding);
        }
        self.block_body(vec![inst], block, inst)
    }

    fn standard_field(&self, name: &str) -> Lowered<Option<(Place, Leaf)>> {
        let span = Span::default();
        let Type::Struct(id, args) = &self.standard.ty else { return Ok(None) };
        let Some(at) = self.program.fields(*id, args).iter().position(|f| &*f.name == name) else { return Ok(None) };
        let place = self.member(&self.standard, at, span)?;
        let leaf = self.scalar(&place.ty, span)?;
        Ok(Some((place, leaf)))
    }

    /// Takes a value of that width as a field of the standard metadata.
    fn set_field(&mut self, name: &str, width: u16) -> Lowered<()> {
        match self.standard_field(name)? {
            Some((place, leaf)) => {
                self.code.resize(width, leaf.width());
                self.store_leaf(&place, 0, leaf);
            }
            None => self.code.op(Op::Pop),
        }
        Ok(())
    }

    fn get_field(&mut self, name: &str) -> Lowered<u16> {
        match self.standard_field(name)? {
            Some((place, leaf)) => {
                self.load_leaf(&place, 0, leaf);
                Ok(leaf.width())
            }
            None => fault(Span::default(), format!("the standard metadata has no `{name}`")),
        }
    }

    /// A field of the standard metadata from info memory.
    fn set_standard(&mut self, name: &str, at: u32, width: u16) -> Lowered<()> {
        let bits = width.next_multiple_of(8);
        self.code.push(at);
        self.code.w(Op::WiLoad, bits);
        self.code.resize(bits, width);
        self.set_field(name, width)
    }

    /// Tells the replication engine what it needs to know.
    fn tell(&mut self) {
        for (name, at) in [("egress_spec", info::EGRESS_SPEC), ("mcast_grp", info::GROUP), ("egress_port", info::EGRESS_PORT)] {
            if let Ok(width) = self.get_field(name) {
                self.code.resize(width, 16);
                self.code.push(at);
                self.code.w(Op::WiStore, 16);
            }
        }
        let Clones { session, fields, resubmit, recirculate, truncate } = self.clone;
        for (local, at) in [
            (session, info::SESSION),
            (fields, info::FIELDS),
            (resubmit, info::RESUBMIT),
            (recirculate, info::RECIRCULATE),
            (truncate, info::TRUNCATE),
        ] {
            self.code.get(local);
            self.code.push(at);
            self.code.w(Op::WiStore, 32);
        }
    }

    fn finish(&mut self, saved: &Saved) -> Lowered<Pipeline> {
        let port = |name: &str, kind| Port { name: name.to_owned(), kind };
        let (input, output) = (PortKind::PushInput, PortKind::PushOutput);
        let ports = vec![
            port("ingress", input),
            port("egress", input),
            port("again", input),
            port("queued", output),
            port("out", output),
            port("mirror", output),
        ];
        Ok(self.pipeline(saved, ports))
    }

    fn pipeline(&mut self, saved: &Saved, ports: Vec<Port>) -> Pipeline {
        let handler = share::share(std::mem::take(&mut self.code).finish());
        let init = self.defaults();
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
            saved: saved.clone(),
            groups: None,
        }
    }

    /// The init handler: default actions, and the parameters of checks.
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
        code.op(Op::Ret);
        code.finish()
    }
}
