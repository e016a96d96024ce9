//! AST + link type → filter IR: what each term means on this link type.
//!
//! The order of tests is that of libpcap 1.10.3's unoptimised code, since a read past the captured
//! bytes rejects the packet on the spot. So are its oddities: `vlan`, `mpls`, `pppoes` and `geneve`
//! shift every later term, across `or` too; `tcp[…]` looks at IPv4 only; ports are not looked for
//! behind IPv6 extension headers; in `a + b` only a's protocol is checked.
//!
//! Each file holds one kind of term; all are methods of [`Lower`].

mod addr;
mod arith;
mod encap;
mod id;
pub(super) mod layout;
mod link;
mod misc;
pub(super) mod names;
mod pf;
mod port;
mod proto;
mod ss7;
mod wlan;

use std::collections::HashMap;

use self::layout::{From, Layout, Offset};
use self::names::Name;
use super::Options;
use super::ast::{Arithop, Ast, Join, Node, NodeId};
use super::error::{Error, Errors, Span};
use super::ir;
use super::ir::{Cmp, Elem, Field, Ir, IrId, Test, Value, ValueId};
use super::link::LinkType;
use super::parser::Res;

pub(super) use id::unknown_host;

/// Errors reported at most.
const MAX_ERRORS: usize = 20;

/// Registers of libpcap's machine; an expression that needs more is refused there, and so here.
const REGISTERS: u32 = 16;

/// A filter in IR form, and which node stands for which term of the source.
#[derive(Default)]
pub(crate) struct Lowered {
    pub ir: Ir,
    pub terms: Vec<(IrId, NodeId)>,
    /// Names of fields, if they were asked for.
    pub names: HashMap<Field, Name>,
}

/// As [`lower`], with the names of fields.
pub(crate) fn lower_with_names(ast: &Ast, link: LinkType, options: &Options) -> Result<Lowered, Errors> {
    lower_and_name(ast, link, options, true)
}

/// Gives a filter its meaning on a link type.
pub(crate) fn lower(ast: &Ast, link: LinkType, options: &Options) -> Result<Lowered, Errors> {
    lower_and_name(ast, link, options, false)
}

fn lower_and_name(ast: &Ast, link: LinkType, options: &Options, naming: bool) -> Result<Lowered, Errors> {
    let Some(root) = ast.root else { return Ok(Lowered::default()) };
    let Some(layout) = link.layout() else { return Err(unsupported(ast, root, link).into()) };
    let mut lower = Lower::new(ast, layout, options);
    lower.naming = naming;
    lower.begin_wlan();
    lower.begin_pf();
    let top = lower.node(root);
    if !lower.errors.is_empty() {
        return Err(super::hints::improved(Errors(lower.errors), &ast.source));
    }
    let top = lower.end_pf(top);
    lower.ir.root = Some(lower.end_wlan(top));
    Ok(Lowered { ir: lower.ir, terms: lower.terms, names: lower.names })
}

fn unsupported(ast: &Ast, root: NodeId, link: LinkType) -> Error {
    Error::new(ast.span(root), format!("filtering on link type {} is not supported", link.0))
        .help(
        "link types read: Ethernet, raw IP, BSD loopback, Linux cooked v1 and v2, PPP, SLIP, Cisco HDLC, Frame Relay, FDDI, token ring, ARCnet, 802.11, PFLOG, MTP2",
    )
}

struct Lower<'a> {
    ast: &'a Ast,
    options: &'a Options,
    ir: Ir,
    layout: Layout,
    wlan: Option<wlan::Frame>,
    /// Where what pf logged begins, behind its header.
    logged: Option<ir::Slot>,
    /// Registers that libpcap would hold at this point.
    registers: u32,
    /// The term being lowered.
    at: Span,
    errors: Vec<Error>,
    terms: Vec<(IrId, NodeId)>,
    naming: bool,
    names: HashMap<Field, Name>,
}

impl<'a> Lower<'a> {
    fn new(ast: &'a Ast, layout: Layout, options: &'a Options) -> Lower<'a> {
        let last = |node: &(Node, Span)| matches!(node.0, Node::Byte { op: b'&' | b'|', .. });
        let ir = Ir::keeping_last(ast.nodes.iter().any(last));
        Lower {
            ast,
            options,
            ir,
            layout,
            wlan: None,
            logged: None,
            registers: 0,
            at: Span::default(),
            errors: Vec::new(),
            terms: Vec::new(),
            naming: false,
            names: HashMap::new(),
        }
    }

    /// Recursion is as deep as the parser allows.
    fn node(&mut self, id: NodeId) -> IrId {
        match self.ast.node(id) {
            Node::Chain { first, rest } => {
                let first = self.node(*first);
                let rest: Vec<_> = rest.iter().map(|&(join, node)| (join, self.node(node))).collect();
                self.ir.push_chain(first, rest)
            }
            Node::Not(inner) => {
                let inner = self.node(*inner);
                self.not(inner)
            }
            term => self.term_or_error(id, term),
        }
    }

    /// After an error the term counts as false, so that later errors are found too.
    fn term_or_error(&mut self, id: NodeId, term: &Node) -> IrId {
        if self.errors.len() >= MAX_ERRORS {
            return self.constant(false);
        }
        self.at = self.ast.span(id);
        let lowered = self.term(term).unwrap_or_else(|error| {
            self.errors.push(error);
            self.constant(false)
        });
        self.terms.push((lowered, id));
        lowered
    }

    fn term(&mut self, term: &Node) -> Res<IrId> {
        match *term {
            Node::Id { quals, id, at } => self.id(quals, id, at),
            Node::Proto(proto) => self.protocol(proto),
            Node::Relation { op, lhs, rhs } => self.relation(op, lhs, rhs),
            Node::Broadcast(proto) => self.broadcast(proto),
            Node::Multicast(proto) => self.multicast(proto),
            Node::Less(length) => Ok(self.at_most(length)),
            Node::Greater(length) => Ok(self.at_least(length)),
            Node::Byte { offset, op, value } => Ok(self.byte(offset, op, value)),
            Node::Direction(outbound) => self.direction(outbound),
            Node::Ifindex(index) => self.ifindex(index),
            Node::Encap(encap, number) => self.encapsulation(encap, number),
            Node::Pppoed => self.linktype(link::PPPOE_DISCOVERY),
            Node::Llc(kind) => self.llc(kind),
            Node::FrameType { mask, value } => self.frame_type(mask, value),
            Node::FrameDirection(value) => self.frame_direction(value),
            Node::Pf(field, value) => self.pf(field, value),
            Node::PfName(field, at) => self.pf_name(field, at),
            Node::Ss7Unit { unit, high } => self.ss7_unit(unit, high),
            Node::Ss7Field { field, high, op, value } => self.ss7_field(field, high, op, value),
            Node::Chain { .. } | Node::Not(_) => Ok(self.constant(false)),
        }
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.at, message)
    }

    /// Takes one of libpcap's registers.
    fn take_register(&mut self) -> Res<()> {
        if self.registers == REGISTERS {
            return Err(self
                .error("too deep: libpcap has no register left for this expression")
                .help("put the nested part on the left, as in `(a * b) + c` instead of `c + (a * b)`"));
        }
        self.registers += 1;
        Ok(())
    }
}

/// Nodes.
impl Lower<'_> {
    fn constant(&mut self, holds: bool) -> IrId {
        self.ir.push_test(Test::Const(holds))
    }

    fn not(&mut self, node: IrId) -> IrId {
        self.ir.push(ir::Node::Not(node))
    }

    fn and(&mut self, nodes: &[IrId]) -> IrId {
        self.chain(Join::And, nodes)
    }

    fn or(&mut self, nodes: &[IrId]) -> IrId {
        self.chain(Join::Or, nodes)
    }

    fn chain(&mut self, join: Join, nodes: &[IrId]) -> IrId {
        match nodes {
            [] => self.constant(join == Join::And),
            [one] => *one,
            [first, rest @ ..] => self.ir.push_chain(*first, rest.iter().map(|&node| (join, node))),
        }
    }

    fn field(&mut self, from: From, offset: u32, bytes: u8) -> Field {
        let l = self.layout;
        let (origin, start) = match from {
            From::LinkHeader => (l.linkhdr, 0),
            From::Start => (Offset::at(0), 0),
            From::LinkType => (l.linktype.unwrap_or(l.linkpl), 0),
            From::Payload => (l.linkpl, 0),
            From::Network | From::Transport4 => (l.linkpl, l.nl),
            From::NetworkNoSnap => (l.linkpl, l.nl_nosnap),
            From::Transport6 => (l.linkpl, l.nl.wrapping_add(40)),
        };
        let base = if from == From::Transport4 { Some(self.ip_header_len()) } else { origin.base(&mut self.ir) };
        let field = Field { base, offset: origin.at.wrapping_add(start).wrapping_add(offset), bytes };
        if self.naming {
            self.names.insert(field, Name::of(from, offset, bytes, l.link));
        }
        field
    }

    /// Length of the IPv4 header, plus the variable part of the payload's offset.
    fn ip_header_len(&mut self) -> ValueId {
        let first = self.field(From::Network, 0, 1);
        let words = self.ir.make(Value::Load(first));
        let words = self.with_constant(Arithop::And, words, 0xf);
        let bytes = self.with_constant(Arithop::Shl, words, 2);
        match self.layout.linkpl.base(&mut self.ir) {
            Some(base) => self.ir.make(Value::Bin(Arithop::Add, bytes, base)),
            None => bytes,
        }
    }

    fn with_constant(&mut self, op: Arithop, value: ValueId, constant: u32) -> ValueId {
        let constant = self.ir.constant(constant);
        self.ir.make(Value::Bin(op, value, constant))
    }

    fn compare(&mut self, lhs: ValueId, op: Cmp, constant: u32) -> IrId {
        let rhs = self.ir.constant(constant);
        self.ir.push_test(Test::Cmp(lhs, op, rhs))
    }

    /// A field of one, two or four bytes compared with a constant.
    fn compare_at(&mut self, from: From, offset: u32, bytes: u8, op: Cmp, constant: u32) -> IrId {
        let field = self.field(from, offset, bytes);
        let lhs = self.ir.make(Value::Load(field));
        self.compare(lhs, op, constant)
    }

    fn equal(&mut self, from: From, offset: u32, bytes: u8, constant: u32) -> IrId {
        self.compare_at(from, offset, bytes, Cmp::Eq, constant)
    }

    /// A field under a mask equals a constant.
    fn masked(&mut self, from: From, offset: u32, bytes: u8, mask: u32, constant: u32) -> IrId {
        let field = self.field(from, offset, bytes);
        self.masked_field(field, mask, constant)
    }

    fn masked_field(&mut self, field: Field, mask: u32, constant: u32) -> IrId {
        let load = self.ir.make(Value::Load(field));
        let lhs = if mask == u32::MAX { load } else { self.with_constant(Arithop::And, load, mask) };
        self.compare(lhs, Cmp::Eq, constant)
    }

    fn element(&mut self, field: Field, (low, high): (u128, u128), plain: IrId, stepwise: bool) -> IrId {
        self.ir.push_elem(Elem { field, low, high, plain, stepwise })
    }
}
