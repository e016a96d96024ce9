//! An element's push handler as a C function of a packet, with its memories; packets that it sends
//! go on by a call of the next element's function, or leave.

use super::super::calls::store;
use super::super::scalar::{Frame, Scalar, ctype};
use super::super::{Unsupported, sets, with_sets};
use super::cuts::{self, BUDGET, Pieces};
use super::division::NodePartition;
use super::{Leave, MOST_STATE, array, opencl, searches, tables};
use crate::backends::graph::{Link, OutputWire};
use crate::mir::{Block, Func, Helper, Op, Order, Site, Value};
use netil::copro::CoproError;
use netil::exec::{DropReason, EXCEPTIONS, MAX_COPIED, MAX_COPIES, State, TrapKind};
use netil::ops::CmpOp;
use netil::table::Space;
use netil::{Module, Verified};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The program in static memory.
pub(super) struct Core<'a> {
    /// Its number.
    pub n: usize,
    pub module: &'a Module,
    pub shared: u32,
    /// Where its ports lead; where a program is alone, packets leave by each.
    pub ways: Option<&'a [OutputWire]>,
    pub ends: &'a [Leave],
    /// What is in which node.
    pub plan: &'a NodePartition,
    /// Bytes of info memory, behind which lies what packets take along from node to node.
    pub info: u32,
    /// The piece that is being written.
    pub piece: Cell<usize>,
    /// The handler sends copies: it ends with the port that the packet goes to, when they have
    /// gone.
    pub copies: bool,
    pub seed: u64,
    /// The host fills tables.
    pub outside: bool,
    /// OpenCL C: nothing lasts, and packets do not grow.
    pub opencl: bool,
    /// The place of what was refused.
    pub refused: Cell<Option<Site>>,
    /// By piece what packets may be dropped with, as C has it; none for a trap.
    pub ends_here: RefCell<BTreeSet<(usize, Option<String>)>>,
}

/// The parameters of an element's function.
pub(super) const PARAMETERS: &str = "(struct netvm_packet *k, struct nv_run *r, uint8_t *info, uint32_t port)";

/// Memories, tables and the function `eN` of a program.
pub(super) fn emit(core: &Core<'_>, program: &Verified, func: &Func, state: &State) -> Result<String, Unsupported> {
    let n = core.n;
    let module = with_sets(program.module(), func);
    let sets = sets::Sets::new(&module, func)?.scalar().replace("set", &format!("e{n}_set"));
    if core.opencl {
        opencl::admits(func)?;
        let constants =
            core.memories(state)?.replace("static const uint8_t", "__constant uint8_t").replace("static uint8_t", "__constant uint8_t");
        return Ok(constants + &sets.replace("static const ", "__constant ") + &core.handler()?);
    }
    Ok(core.memories(state)? + &tables::emit(n, core.module, state, core.outside)? + &sets + &core.handler()?)
}

impl Core<'_> {
    /// Memories as the init handler left them.
    fn memories(&self, state: &State) -> Result<String, Unsupported> {
        let (n, bytes) = (self.n, self.module.data_size as usize + self.shared as usize);
        if bytes > MOST_STATE {
            return Err(Unsupported(format!("{bytes} bytes of data and shared memory; {MOST_STATE} are the most")));
        }
        let mut text = array(&format!("static uint8_t nv_data{n}"), &state.data);
        text += &array(&format!("static uint8_t nv_shared{n}"), &state.shared);
        text += &array(&format!("static const uint8_t nv_initialised{n}"), &self.module.data);
        if self.opencl {
            return Ok(text);
        }
        let exceptions: Vec<String> = state.exceptions.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "static uint32_t nv_exceptions{n}[{EXCEPTIONS}] __attribute__((unused)) = {{ {} }};", exceptions.join(", "));
        Ok(text)
    }

    /// A function for each piece.
    fn handler(&self) -> Result<String, Unsupported> {
        let pieces = &self.plan.pieces[self.n];
        let mut text: String = (0..pieces.pieces.len()).map(|piece| self.function(pieces, piece)).collect::<Result<_, _>>()?;
        if self.copies {
            text += &self.copying();
        }
        Ok(text)
    }

    /// A handler that sends copies: they go on their ways in order, then the packet.
    fn copying(&self) -> String {
        let n = self.n;
        let mut text = format!("\nstatic void e{n}_by{PARAMETERS}\n{{\n    (void)info;\n");
        match self.ways {
            None => text += &format!("    nv_end(k, r, NETVM_SENT, {n}u, port, 0);\n"),
            Some(ways) => {
                text += "    switch (port) {\n";
                for way in ways {
                    let _ = writeln!(text, "    case {}u: {}", way.port, self.goes(way.port));
                }
                text += &format!("    default: {}\n    }}\n", self.dropped("NETVM_NOWHERE"));
            }
        }
        let _ = writeln!(text, "}}\n\nstatic void e{n}{PARAMETERS}\n{{\n    struct nv_copies copies = {{ .first = 0, .goes = NV_ENDED }};");
        let _ = writeln!(text, "    e{n}_copying(k, r, info, port, &copies);\n    nv_go_copies(&copies, e{n}_by);");
        text + &format!("    if (copies.goes != NV_ENDED)\n        e{n}_by(k, r, info, (uint32_t)copies.goes);\n}}\n")
    }

    /// A packet that is sent goes on.
    fn goes(&self, port: u32) -> String {
        let Some(ways) = self.ways else { return self.ends_by("NETVM_SENT", &format!("{port}u")) };
        let Some(way) = ways.iter().find(|way| way.port == port) else { return self.dropped("NETVM_NOWHERE") };
        let go = match way.to {
            Link::Element(n, port) if self.is_apart(n) => format!("{{ nv_end(k, r, NETVM_GOES, {n}u, {port}u, 0); return; }}"),
            Link::Element(n, port) => format!("{{ e{n}(k, r, info, {port}u); return; }}"),
            Link::End(end) => match self.ends[end] {
                Leave::Output(output) => self.ends_by("NETVM_SENT", &format!("{output}u")),
                Leave::Discard => self.dropped("NETVM_DISCARDED"),
            },
        };
        if !way.again {
            return go;
        }
        format!("{{ if (r->rounds++ >= NV_ROUNDS) {} {go} }}", self.dropped("NETVM_ROUNDS"))
    }

    /// A copy of the packet, which waits until the handler has ended.
    fn copied(&self, port: u32, site: Site) -> String {
        let (many, room) = (self.trap(TrapKind::Copies, site), self.trap(TrapKind::NoRoom, site));
        let info = self.module.info_size;
        let bytes = format!("(uint64_t)r->len + {info}");
        let paid = self.paid(&bytes, site);
        format!(
            "if (NV_RARELY(copies->count == {MAX_COPIES} || copies->bytes + {bytes} > {MAX_COPIED})) {many}\n    {paid}if (NV_RARELY(!nv_copy(copies, k, r, info, {port}u))) {room}\n    copies->bytes += {bytes};"
        )
    }

    fn function(&self, pieces: &Pieces, at: usize) -> Result<String, Unsupported> {
        self.piece.set(at);
        let (piece, func) = (&pieces.pieces[at], &pieces.func);
        let mut scalar = Scalar { func, frame: self, body: String::new(), probability: None };
        for v in &piece.again {
            scalar.op(*v)?;
        }
        if at > 0 {
            let _ = writeln!(scalar.body, "    goto block{};", piece.start.0);
        }
        for block in &piece.blocks {
            scalar.block(*block)?;
        }
        let mut text = self.head(at);
        text += &self.variables(&scalar, pieces, at);
        for param in func.block(Block(0)).params.iter().filter(|_| at == 0) {
            let _ = writeln!(text, "    {param:?} = port;");
        }
        if at > 0 {
            text += &self.brought(pieces, at);
        }
        text += &scalar.body;
        for next in pieces.next(at) {
            text += &self.left(pieces, next);
        }
        Ok(text + "}\n")
    }

    /// A function's beginning.
    fn head(&self, piece: usize) -> String {
        let n = self.n;
        let name = match piece {
            0 if self.copies => format!("e{n}_copying{}", PARAMETERS.replace(')', ", struct nv_copies *copies)")),
            0 => format!("e{n}{PARAMETERS}"),
            _ => format!("e{n}_{piece}{PARAMETERS}"),
        };
        let mut text = format!("\nstatic void {name}\n{{\n    uint32_t budget = NV_BUDGET;\n");
        let memory = if self.opencl { "__constant uint8_t" } else { "uint8_t" };
        let constant = if self.opencl { memory } else { "const uint8_t" };
        let exceptions = if self.opencl { "0".to_owned() } else { format!("nv_exceptions{n}") };
        if !self.module.coprocessors.is_empty() {
            text += "    uint32_t shown = 0;\n    (void)shown;\n";
        }
        let _ = writeln!(text, "    {memory} *const data = nv_data{n}, *const shared = nv_shared{n};");
        let _ = writeln!(text, "    {constant} *const initialised = nv_initialised{n};");
        let _ = writeln!(text, "    uint32_t *const exceptions = {exceptions};");
        text + "    (void)budget, (void)info, (void)data, (void)shared, (void)initialised, (void)exceptions, (void)port;\n"
    }

    /// Variables of a piece, with those that it hands to others.
    fn variables(&self, scalar: &Scalar<'_>, pieces: &Pieces, at: usize) -> String {
        let (piece, func) = (&pieces.pieces[at], &pieces.func);
        let params = pieces.next(at).flat_map(|next| &func.block(pieces.pieces[next].start).params);
        let own = piece.blocks.iter().flat_map(|b| func.block(*b).params.iter().chain(&func.block(*b).ops));
        let all: BTreeSet<Value> = own.chain(params).chain(&piece.kept).chain(&piece.again).copied().collect();
        scalar.declared(all.iter())
    }

    /// What packets bring along.
    fn brought(&self, pieces: &Pieces, at: usize) -> String {
        let mut text = format!("    budget = (uint32_t)nv_le(info + {}, {BUDGET});\n", self.info);
        for (v, at) in places(pieces, at, self.info) {
            let bytes = cuts::bytes(&pieces.func, v);
            let get = |at: u32, bytes: u32| format!("nv_le(info + {at}, {bytes})");
            let _ = match bytes {
                ..=8 => writeln!(text, "    {v:?} = ({}){};", ctype(pieces.func.width(v)), get(at, bytes)),
                _ => writeln!(text, "    {v:?} = (unsigned __int128){} << 64 | {};", get(at + 8, bytes - 8), get(at, 8)),
            };
        }
        text
    }

    /// Where a piece ends: what the next one needs is kept, and the packet goes on there.
    fn left(&self, pieces: &Pieces, next: usize) -> String {
        let mut text = format!("block{}:\n    __attribute__((unused));\n", pieces.pieces[next].start.0);
        let _ = writeln!(text, "    nv_put_le(info + {}, {BUDGET}, budget);", self.info);
        for (v, at) in places(pieces, next, self.info) {
            let bytes = cuts::bytes(&pieces.func, v);
            let _ = writeln!(text, "    nv_put_le(info + {at}, {}, (uint64_t){v:?});", bytes.min(8));
            if bytes > 8 {
                let _ = writeln!(text, "    nv_put_le(info + {}, {}, (uint64_t)({v:?} >> 64));", at + 8, bytes - 8);
            }
        }
        let unit = self.plan.unit(self.n, next);
        text + &format!("    nv_end(k, r, NETVM_GOES, {unit}u, 0, 0);\n    return;\n")
    }

    /// The packet goes no further here.
    fn ends_by(&self, end: &str, value: &str) -> String {
        format!("{{ nv_end(k, r, {end}, {}u, {value}, 0); return; }}", self.n)
    }

    fn dropped(&self, why: &str) -> String {
        self.ends_here.borrow_mut().insert((self.piece.get(), Some(why.to_owned())));
        self.ends_by("NETVM_DROPPED", why)
    }

    /// Whether an element is in another node.
    fn is_apart(&self, element: usize) -> bool {
        self.plan.nodes[element] != self.plan.nodes[self.plan.unit(self.n, self.piece.get())]
    }

    /// A range that must lie in a memory.
    fn inside(&self, space: Space, start: &str, length: &str, site: Site) -> String {
        let trap = self.trap(TrapKind::OutOfBounds(space), site);
        format!("if (NV_RARELY((uint64_t){start} + {length} > {})) {trap}\n    ", self.size(space))
    }

    fn paid(&self, bytes: &str, site: Site) -> String {
        format!("if (NV_RARELY(!nv_pay(&budget, {bytes}))) {}\n    ", self.trap(TrapKind::Budget, site))
    }

    fn helper(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Option<String> {
        let Op::Helper(helper, args, site) = op else { return None };
        let (arg, site) = (|k: usize| scalar.val(args[k]), *site);
        let run = || self.inside(Space::Packet, &arg(0), &arg(1), site) + &self.paid(&arg(1), site);
        let complement = |value: String| format!("(0xffff ^ ({value} & 0xffff))");
        Some(match helper {
            Helper::Inside => self.inside(Space::Packet, &arg(0), &arg(1), site),
            Helper::Checksum => run() + &format!("{v:?} = 0xffff ^ nv_sum(nv_p(r) + {}, {});", arg(0), arg(1)),
            Helper::ChecksumValid => run() + &format!("{v:?} = nv_sum_right(nv_p(r) + {}, {});", arg(0), arg(1)),
            Helper::CrcPacket(kind) => run() + &crc(v, *kind, &format!("nv_p(r) + {}", arg(0)), &arg(1))?,
            Helper::Crc(kind) => {
                let bytes: Vec<String> = [24, 16, 8, 0].iter().map(|by| format!("(uint8_t)({} >> {by})", arg(0))).collect();
                crc(v, *kind, &format!("(const uint8_t[]){{ {} }}", bytes.join(", ")), "4")?
            }
            Helper::ChecksumAdd => format!("{v:?} = 0xffff ^ nv_fold({} + ({} & 0xffff));", complement(arg(0)), arg(1)),
            Helper::ChecksumSub => format!("{v:?} = 0xffff ^ nv_fold({} + {});", complement(arg(0)), complement(arg(1))),
            Helper::Hash if !args.is_empty() => {
                let words: Vec<String> = args.iter().map(|a| scalar.val(*a)).collect();
                format!("{v:?} = nv_murmur((const uint32_t[]){{ {} }}, {});", words.join(", "), args.len())
            }
            Helper::Scan(size) => {
                let inside = self.inside(Space::Packet, &arg(0), "1", site) + &self.paid(&format!("r->len - {}", arg(0)), site);
                inside + &format!("{v:?} = nv_scan(r, {size}, {}, {});", arg(0), arg(1))
            }
            Helper::FieldCmp(op) => self.field_cmp(v, *op, [arg(0), arg(1), arg(2)], site)?,
            Helper::Copy(from, to) => self.copy([*from, *to], [arg(0), arg(1), arg(2)], site),
            Helper::InfoClear => format!("memset(info, 0, {});", self.module.info_size),
            Helper::Moved => format!("{v:?} = r->moved;"),
            Helper::IsPresent => format!("{v:?} = 1;"),
            Helper::SetTime => format!("r->time_ns = {};", arg(0)),
            Helper::SetWire => format!("r->missing = {0} > r->len ? {0} - r->len : 0;", arg(0)),
            Helper::SendCopy(port) if self.copies => self.copied(*port, site),
            Helper::PullHead | Helper::TrimTail | Helper::PushHead | Helper::GrowTail | Helper::Unpull => {
                self.moves(*helper, &arg(0), site)
            }
            Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproShow(_) | Helper::CoproInvoke(..) => {
                self.unit(v, *helper, args.first().map(|a| scalar.val(*a)), site)?
            }
            _ => return self.in_table(scalar, v, (*helper, args), site),
        })
    }

    /// What is done with a coprocessor: there are units that search packets.
    fn unit(&self, v: Value, helper: Helper, value: Option<String>, site: Site) -> Option<String> {
        let (Helper::CoproIn(unit, _) | Helper::CoproOut(unit, _) | Helper::CoproShow(unit) | Helper::CoproInvoke(unit, _)) = helper else {
            return None;
        };
        let coprocessor = &self.module.coprocessors.get(unit as usize)?.name;
        if self.opencl || !searches::is_known(coprocessor) {
            return None;
        }
        let name = format!("nv_unit{}_{unit}", self.n);
        Some(match helper {
            Helper::CoproIn(_, register) => format!("{v:?} = {name}.registers[{register}];"),
            Helper::CoproOut(_, register) => format!("{name}.registers[{register}] = {};", value?),
            Helper::CoproInvoke(_, operation) => {
                let failed = |error| self.trap(TrapKind::Coprocessor(unit as u8, error), site);
                format!(
                    "switch ({}(&{name}, r, {operation}, shown >> {unit} & 1, &budget)) {{\n    case NV_DONE: break;\n    case NV_NO_BUDGET: {}\n    case NV_NOT_SHOWN: {}\n    case NV_NO_GROUP: {}\n    case NV_NOT_LOADED: {}\n    }}",
                    searches::function(coprocessor),
                    self.trap(TrapKind::Budget, site),
                    failed(CoproError::NoPacket),
                    failed(CoproError::BadRegister),
                    failed(CoproError::NotInitialised)
                )
            }
            _ => format!("shown |= 1u << {unit};"),
        })
    }

    /// A lookup, or work on an entry.
    fn in_table(&self, scalar: &Scalar<'_>, v: Value, (helper, args): (Helper, &[Value]), site: Site) -> Option<String> {
        let named = |table: u32| (tables::name(self.n, table as usize), &self.module.tables[table as usize]);
        let arg = |k: usize| scalar.val(args[k]);
        let changed = |table: u32, enters: bool| {
            let (name, declared) = named(table);
            let done = tables::changed(&name, declared, &arg(0), "r->time_ns", enters);
            format!("{v:?} = {};", done.as_deref().unwrap_or("0"))
        };
        Some(match helper {
            Helper::Find(table) | Helper::Peek(table) => {
                let (name, declared) = named(table);
                let refresh = matches!(helper, Helper::Find(_));
                format!("{v:?} = {};", tables::find(&name, declared, &arg(0), "r->time_ns", refresh))
            }
            Helper::Insert(table) => changed(table, true),
            Helper::DeleteEntry(table) => changed(table, false),
            Helper::EntryLoad(table, at) => {
                let width = scalar.func.width(v);
                let get = match width / 8 {
                    bytes @ ..=8 => format!("({})nv_le(e, {bytes})", ctype(width)),
                    bytes => format!("(unsigned __int128)nv_le(e + 8, {}) << 64 | nv_le(e, 8)", bytes - 8),
                };
                self.entry((table, at), &arg(0), site, &format!("{v:?} = {get};"))
            }
            Helper::EntryStore(table, at) => self.entry((table, at), &arg(1), site, &store(scalar, Order::Little, "e", args[0])),
            _ => return None,
        })
    }

    /// Work on a value's byte, at `e`.
    fn entry(&self, (table, at): (u32, u32), entry: &str, site: Site, work: &str) -> String {
        let value = tables::value(&tables::name(self.n, table as usize), &self.module.tables[table as usize], entry);
        let trap = self.trap(TrapKind::NoEntry, site);
        format!("if (NV_RARELY(!{entry})) {trap}\n    {{ uint8_t *e = {value} + {at}; {work} }}")
    }

    fn field_cmp(&self, v: Value, op: CmpOp, [a, b, len]: [String; 3], site: Site) -> Option<String> {
        let sign = match op {
            CmpOp::Eq => "==",
            CmpOp::Ne => "!=",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
            _ => return None,
        };
        let before = self.inside(Space::Packet, &a, &len, site) + &self.inside(Space::Packet, &b, &len, site) + &self.paid(&len, site);
        Some(before + &format!("{v:?} = memcmp(nv_p(r) + {a}, nv_p(r) + {b}, {len}) {sign} 0;"))
    }

    fn copy(&self, [from, to]: [Space; 2], [source, target, len]: [String; 3], site: Site) -> String {
        let before = self.inside(from, &source, &len, site) + &self.inside(to, &target, &len, site) + &self.paid(&len, site);
        before + &format!("memmove({} + {target}, {} + {source}, {len});", self.base(to), self.base(from))
    }

    /// The packet gets so many bytes more or less at one end.
    fn moves(&self, helper: Helper, n: &str, site: Site) -> String {
        let (no_room, outside) = (self.trap(TrapKind::NoRoom, site), self.trap(TrapKind::OutOfBounds(Space::Packet), site));
        let short = format!("if (NV_RARELY({n} > r->len)) {outside}\n    ");
        let long = format!("if (NV_RARELY((uint64_t){n} + r->len > NETVM_LONGEST)) {no_room}\n    ");
        let paid = self.paid(&format!("(uint64_t){n} + r->len"), site);
        match helper {
            Helper::PullHead => format!("{short}nv_pull(r, {n});"),
            Helper::TrimTail => format!("{short}r->len -= {n};"),
            Helper::PushHead => format!("{long}{paid}if (NV_RARELY(!nv_room(r, {n}, 0))) {no_room}\n    nv_push(r, {n});"),
            Helper::GrowTail => format!("{long}{paid}if (NV_RARELY(!nv_room(r, 0, {n}))) {no_room}\n    nv_grow(r, {n});"),
            _ => format!("{long}if (NV_RARELY({n} > r->front)) {outside}\n    nv_unpull(r, {n});"),
        }
    }
}

/// Where values lie that packets bring along to a piece.
fn places(pieces: &Pieces, piece: usize, info: u32) -> Vec<(Value, u32)> {
    let mut at = info + BUDGET;
    let place = |v: &Value| {
        let place = (*v, at);
        at += cuts::bytes(&pieces.func, *v);
        place
    };
    pieces.pieces[piece].kept.iter().map(place).collect()
}

/// What an operation is called that there is no C for.
fn lacking(helper: Helper, op: &Op) -> String {
    let what = match helper {
        Helper::SendCopy(_) => "copies of packets",
        Helper::Create => "packets that the program makes",
        Helper::Delete => "packets that are given up on the way",
        Helper::Hold | Helper::Take => "packets that wait in the program",
        Helper::Receive(_) => "packets that the program asks for",
        Helper::SetTimer(_) => "timers",
        Helper::Walk(_) | Helper::Due(_) | Helper::NextKey(_) | Helper::WalkedKey(_) | Helper::Deadline(_) => "walks over tables",
        Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => "coprocessors",
        _ => return format!("'{op}'"),
    };
    what.to_owned()
}

/// `netil::digest::crc`.
fn crc(v: Value, kind: u8, bytes: &str, len: &str) -> Option<String> {
    let (polynomial, mask) = match kind {
        0 => ("0xedb88320u", "0xffffffffu"),
        1 => ("0x8408u", "0xffffu"),
        2 => ("0x82f63b78u", "0xffffffffu"),
        _ => return None,
    };
    Some(format!("{v:?} = {mask} ^ nv_crc({polynomial}, {mask}, {bytes}, {len});"))
}

impl Frame for Core<'_> {
    fn len(&self) -> &'static str {
        "r->len"
    }

    fn moves(&self) -> bool {
        true
    }

    fn trusts(&self) -> bool {
        true
    }

    fn base(&self, space: Space) -> &'static str {
        match space {
            Space::Packet => "nv_p(r)",
            Space::Info => "info",
            Space::Data => "data",
            Space::Shared => "shared",
            Space::Initialised => "initialised",
        }
    }

    fn size(&self, space: Space) -> String {
        match space {
            Space::Packet => "r->len".to_owned(),
            Space::Info => format!("{}u", self.module.info_size),
            Space::Data => format!("{}u", self.module.data_size),
            Space::Shared => format!("{}u", self.shared),
            Space::Initialised => format!("{}u", self.module.data.len()),
        }
    }

    fn trap(&self, kind: TrapKind, site: Site) -> String {
        self.ends_here.borrow_mut().insert((self.piece.get(), None));
        format!("{{ nv_end(k, r, NETVM_TRAPPED, {}u, {}u, {site}u); return; }}", self.n, kind.code())
    }

    fn send(&self, port: u32) -> String {
        if self.copies { format!("{{ copies->goes = {port}u; return; }}") } else { self.goes(port) }
    }

    fn send_by(&self, value: &str, first: u32) -> String {
        if self.copies {
            return format!("{{ copies->goes = {value} + {first}u; return; }}");
        }
        let Some(ways) = self.ways else { return self.ends_by("NETVM_SENT", &format!("{value} + {first}u")) };
        let mut text = format!("switch ({value} + {first}u) {{\n");
        for way in ways {
            let _ = writeln!(text, "    case {}u: {}", way.port, self.send(way.port));
        }
        text + &format!("    default: {}\n    }}", self.dropped("NETVM_NOWHERE"))
    }

    fn drop(&self, reason: DropReason) -> String {
        match reason {
            DropReason::Program(n) => self.dropped(&format!("{n}u")),
            _ => self.dropped("0u"),
        }
    }

    fn set(&self, number: u32) -> String {
        format!("e{}_set{number}", self.n)
    }

    fn wire_len(&self) -> String {
        "(r->len + r->missing)".to_owned()
    }

    fn time_ns(&self) -> String {
        "r->time_ns".to_owned()
    }

    fn other(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Result<String, Unsupported> {
        if self.opencl {
            opencl::admits_op(op, self.ways.is_some()).map_err(|what| {
                self.refused.set(if let Op::Helper(.., site) = op { Some(*site) } else { None });
                Unsupported(what.to_owned())
            })?;
        }
        Ok(match op {
            // Nothing takes a packet away.
            Op::Present(_) => String::new(),
            Op::ExceptionLoad(k) => format!("{v:?} = exceptions[{k}];"),
            Op::ExceptionStore(k, a) => format!("exceptions[{k}] = {};", scalar.val(*a)),
            Op::Store(space, order, addr, offset, value, _) => store(scalar, *order, &scalar.at(*space, *addr, *offset), *value),
            Op::Random(site) => {
                let (number, place) = (if self.opencl { "k" } else { "r" }, u64::from(*site) << 2 | scalar.func.kind as u64);
                format!("{v:?} = nv_random({number}->number, {place}u, {:#x}u);", self.seed)
            }
            Op::Helper(helper, _, site) => self.helper(scalar, v, op).ok_or_else(|| {
                self.refused.set(Some(*site));
                Unsupported(lacking(*helper, op))
            })?,
            other => return Err(Unsupported(format!("'{other}'"))),
        })
    }
}
