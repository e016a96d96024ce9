//! C for a processor without an operating system: one program's push handler, what lasts between packets in static memory, no library.
//!
//! The text is one for all processors: bytes are put in order by the preprocessor (`__BYTE_ORDER__`), accesses that may not be aligned are copies, which
//! compilers make as good as the machine allows. The init handler has run, in the interpreter, when the text is made; memories begin as it left them.
//! A packet lies in a buffer of the caller (`freestanding.h`), and is changed in place.
//!
//! Leaves out, with a reason that names the operation: tables, coprocessors, timers, pull handlers, packets that are made, copied, given up or held, values of more than 128 bits.

use super::member::store;
use super::scalar::{Form, Scalar};
use super::{MAX_SIZE, Unsupported, tables, with_sets};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Helper, Op, Site, Value};
use netil::exec::{DEFAULT_BUDGET, DropReason, EXCEPTIONS, State, TrapKind};
use netil::module::HandlerKind;
use netil::ops::CmpOp;
use netil::table::Space;
use netil::{Interpreter, Module, Verified};
use std::fmt::Write as _;
use std::sync::Arc;

/// What callers include.
pub const HEADER: &str = include_str!("freestanding.h");

/// The most bytes of data and shared memory.
const MOST_STATE: usize = 1 << 24;

/// The C text of a program; it includes [`HEADER`] as `netvm.h`.
///
/// # Errors
/// The program does what this C is not made for.
pub fn emit(program: &Verified, func: &Func) -> Result<String, Unsupported> {
    let module = with_sets(program.module(), func);
    if program.module().handler(HandlerKind::Pull).is_some() {
        return Err(Unsupported("a pull handler: nothing asks for packets".to_owned()));
    }
    let size = func.blocks.iter().map(|b| b.ops.len() + b.end.edges().len()).sum::<usize>();
    if size > MAX_SIZE {
        return Err(Unsupported(format!("a program of {size} operations and branches; {MAX_SIZE} are the most")));
    }
    let sets = tables::Tables::new(&module, func)?;
    let core = Core { module: &module, shared: program.shared_size() };
    let mut text = String::from("/* Made by netvm from a verified program. */\n");
    text += include_str!("freestanding_libc.c");
    text += &include_str!("values.c").replace("#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n", "");
    text += include_str!("sums.c");
    text += include_str!("freestanding.c");
    text += &core.memories(program)?;
    text += &sets.scalar();
    text += &core.handler(func)?;
    Ok(text + RUN)
}

const RUN: &str = "
void netvm_run(struct netvm_packet *packets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        push(&packets[i]);
}

uint8_t *netvm_data(void)
{
    return nv_data;
}

uint32_t netvm_data_size(void)
{
    return NV_DATA;
}
";

/// The program in static memory.
struct Core<'a> {
    module: &'a Module,
    shared: u32,
}

impl Core<'_> {
    /// Memories as the init handler left them.
    fn memories(&self, program: &Verified) -> Result<String, Unsupported> {
        let bytes = self.module.data_size as usize + self.shared as usize;
        if bytes > MOST_STATE {
            return Err(Unsupported(format!("{bytes} bytes of data and shared memory; {MOST_STATE} are the most")));
        }
        let mut state = State::plain(program).map_err(|why| Unsupported(why.to_string()))?;
        Interpreter::new(Arc::new(program.clone()))
            .init(&mut state)
            .or_else(|how| if program.is_filter() { Ok(()) } else { Err(Unsupported(format!("an init handler that fails: {how:?}"))) })?;
        let mut text = format!("\nenum {{ NV_DATA = {}, NV_BUDGET = {DEFAULT_BUDGET} }};\n", self.module.data_size);
        text += &array("static uint8_t nv_data", &state.data);
        text += &array("static uint8_t nv_shared", &state.shared);
        text += &array("static const uint8_t nv_initialised", &self.module.data);
        let exceptions: Vec<String> = state.exceptions.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "static uint32_t nv_exceptions[{EXCEPTIONS}] __attribute__((unused)) = {{ {} }};", exceptions.join(", "));
        Ok(text + "static uint64_t nv_number __attribute__((unused));\n")
    }

    fn handler(&self, func: &Func) -> Result<String, Unsupported> {
        let mut scalar = Scalar { func, form: self, body: String::new(), likely: None };
        let cfg = Cfg::new(func);
        for block in &cfg.order {
            scalar.block(*block)?;
        }
        let mut text = String::from("\nstatic void push(struct netvm_packet *k)\n{\n");
        text += "    struct nv_run run = { k->buffer, k->size, k->at, k->len, k->wire_len > k->len ? k->wire_len - k->len : 0, 0, 0, k->time_ns, nv_number++ };\n";
        text += "    struct nv_run *const r = &run;\n    uint32_t budget = NV_BUDGET;\n";
        let _ = writeln!(text, "    uint8_t info[{}] __attribute__((aligned(8))) = {{ 0 }};", self.module.info_size.max(1));
        text += &scalar.variables(&cfg);
        text += "    (void)budget, (void)info;\n";
        for param in &func.block(Block(0)).params {
            let _ = writeln!(text, "    {param:?} = k->input;");
        }
        Ok(text + &scalar.body + "}\n")
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
            Helper::InfoClear => "memset(info, 0, sizeof info);".to_owned(),
            Helper::Moved => format!("{v:?} = r->moved;"),
            Helper::IsPresent => format!("{v:?} = 1;"),
            Helper::SetTime => format!("r->time_ns = {};", arg(0)),
            Helper::SetWire => format!("r->missing = {0} > r->len ? {0} - r->len : 0;", arg(0)),
            Helper::PullHead | Helper::TrimTail | Helper::PushHead | Helper::GrowTail | Helper::Unpull => {
                self.moves(*helper, &arg(0), site)
            }
            _ => return None,
        })
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

/// A static array; what is all zeros has no initialiser.
fn array(name: &str, bytes: &[u8]) -> String {
    let mut text = format!("{name}[{}] __attribute__((unused, aligned(8)))", bytes.len().max(1));
    let last = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    if last > 0 {
        text += " = {";
        for (i, byte) in bytes[..last].iter().enumerate() {
            let _ = write!(text, "{}{byte},", if i % 32 == 0 { "\n    " } else { " " });
        }
        text += "\n}";
    }
    text + ";\n"
}

impl Form for Core<'_> {
    fn len(&self) -> &'static str {
        "r->len"
    }

    fn moves(&self) -> bool {
        true
    }

    fn trusts(&self) -> bool {
        true
    }

    fn is_there(&self) -> bool {
        true
    }

    fn base(&self, space: Space) -> &'static str {
        match space {
            Space::Packet => "nv_p(r)",
            Space::Info => "info",
            Space::Data => "nv_data",
            Space::Shared => "nv_shared",
            Space::Initialised => "nv_initialised",
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
        format!("{{ nv_end(k, r, NETVM_TRAPPED, {}u, {site}u); return; }}", kind.code())
    }

    fn send(&self, port: u32) -> String {
        format!("{{ nv_end(k, r, NETVM_SENT, {port}u, 0); return; }}")
    }

    fn send_by(&self, value: &str, first: u32) -> String {
        format!("{{ nv_end(k, r, NETVM_SENT, {value} + {first}u, 0); return; }}")
    }

    fn drop(&self, reason: DropReason) -> String {
        let value = if let DropReason::Program(n) = reason { n } else { 0 };
        format!("{{ nv_end(k, r, NETVM_DROPPED, {value}u, 0); return; }}")
    }

    fn set(&self, number: u32) -> String {
        format!("set{number}")
    }

    fn wire_len(&self) -> String {
        "(r->len + r->missing)".to_owned()
    }

    fn time_ns(&self) -> String {
        "r->time_ns".to_owned()
    }

    fn other(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Result<String, Unsupported> {
        Ok(match op {
            // Nothing takes a packet away.
            Op::Present(_) => String::new(),
            Op::ExceptionLoad(k) => format!("{v:?} = nv_exceptions[{k}];"),
            Op::ExceptionStore(k, a) => format!("nv_exceptions[{k}] = {};", scalar.val(*a)),
            Op::Store(space, order, addr, offset, value, _) => store(scalar, *order, &scalar.at(*space, *addr, *offset), *value),
            Op::Random(site) => {
                format!("{v:?} = nv_random(r->number, {}u);", u64::from(*site) << 2 | scalar.func.kind as u64)
            }
            Op::Helper(..) => self.helper(scalar, v, op).ok_or_else(|| Unsupported(format!("'{op}'")))?,
            other => return Err(Unsupported(format!("'{other}'"))),
        })
    }
}
