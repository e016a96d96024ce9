//! Terms that can never hold, and filters that select nothing or everything: mistakes that are no
//! errors.
//!
//! A term is asked for with what must hold for it to count: what it is joined to by `and`, before
//! it and around it. The decision graph of these and of the term is simplified, which keeps every
//! verdict; where nothing is left but rejection, the term cannot hold. What is joined by `or`
//! before a term does not count against it: `tcp or tcp port 80` says one thing twice, which harms
//! nobody. Nor do terms under `not`, which never hold for a reason.
//!
//! Leaves out: contradictions that take more than the facts of [`facts`](super::facts); filters of
//! more than [`MAX_TERMS`] terms.

use super::ast::{Ast, Join, Node as Term, NodeId};
use super::error::{Error, ErrorKind, Span};
use super::graph::{self, Graph, Target};
use super::ir::{Ir, IrId, Node};
use super::lower::Lowered;
use super::simplify;

/// Lists are long, and their terms alike.
const MAX_TERMS: usize = 64;

/// Doubts about a filter, in source order.
pub(super) fn of(ast: &Ast, lowered: &Lowered) -> Vec<Error> {
    let (Some(root), Some(top)) = (lowered.ir.root, ast.root) else { return Vec::new() };
    if lowered.terms.len() > MAX_TERMS {
        return Vec::new();
    }
    let mut search = Search { ir: lowered.ir.clone(), ast, lowered, context: Vec::new(), found: Vec::new() };
    search.node(root);
    let whole = graph::build(&mut search.ir, Some(root));
    let whole = simplify::simplify(&search.ir, whole);
    let span = whole_span(ast, top);
    let mut found = search.found;
    match found.first_mut() {
        _ if accepts_all(&whole) => found.insert(0, Error::new(span, "expression matches every packet")),
        Some(first) if whole.entry == Target::Reject => first.message = format!("expression rejects all packets: {}", first.message),
        None if whole.entry == Target::Reject => found.push(Error::new(span, "expression rejects all packets")),
        _ => {}
    }
    found
}

fn whole_span(ast: &Ast, id: NodeId) -> Span {
    let span = ast.span(id);
    match ast.node(id) {
        Term::Chain { first, rest } => {
            let last = rest.last().map_or(*first, |&(_, node)| node);
            Span { start: whole_span(ast, *first).start.min(span.start), end: whole_span(ast, last).end.max(span.end) }
        }
        Term::Not(inner) => Span { end: whole_span(ast, *inner).end.max(span.end), ..span },
        _ => span,
    }
}

/// No way rejects but by a packet that is too short.
fn accepts_all(graph: &Graph) -> bool {
    graph.entry != Target::Reject && graph.blocks.iter().all(|block| block.yes != Target::Reject && block.no != Target::Reject)
}

/// Terms that must hold, the first and those joined to it.
type Prefix = (IrId, Vec<(Join, IrId)>);

struct Search<'a> {
    ir: Ir,
    ast: &'a Ast,
    lowered: &'a Lowered,
    /// What must hold for the node to count, from the outside in.
    context: Vec<Prefix>,
    found: Vec<Error>,
}

impl Search<'_> {
    /// Recursion is as deep as the parser allows.
    fn node(&mut self, id: IrId) {
        if let Some(&(_, term)) = self.lowered.terms.iter().find(|(node, _)| *node == id) {
            return self.term(id, term);
        }
        if let Node::Chain(first, rest) = self.ir.node(id) {
            let rest = self.ir.links(rest).to_vec();
            self.node(first);
            for (at, &(join, node)) in rest.iter().enumerate() {
                let depth = self.context.len();
                if join == Join::And {
                    self.context.push((first, rest[..at].to_vec()));
                }
                self.node(node);
                self.context.truncate(depth);
            }
        }
    }

    fn term(&mut self, id: IrId, term: NodeId) {
        if self.can_hold(Some(id)) || !self.can_hold(None) {
            return;
        }
        let error = Error::new(self.ast.span(term), "this term can never hold").kind(ErrorKind::NeverHolds);
        let context = std::mem::take(&mut self.context);
        let alone = self.can_hold(Some(id));
        self.context = context;
        self.found.push(error.help(help(self.ast, term, alone)));
    }

    /// Whether some packet may reach the end of the context, and the node hold for it.
    fn can_hold(&mut self, node: Option<IrId>) -> bool {
        let graph = graph::conjunction(&mut self.ir, &self.context, node);
        simplify::simplify(&self.ir, graph).entry != Target::Reject
    }
}

fn help(ast: &Ast, term: NodeId, alone: bool) -> String {
    let text = ast.span(term).text(&ast.source);
    let transport = ["tcp", "udp", "icmp", "igmp", "sctp"].into_iter().find(|name| text.contains(&format!("{name}[")));
    match transport {
        _ if !alone && matches!(ast.node(term), Term::Relation { .. }) => {
            "no bytes make it true: one is 255 at most, two are 65535, and `&` leaves only the bits of its mask".to_owned()
        }
        _ if !alone && text.contains("proto") => {
            "there is no such packet of this link type; the number of an IP protocol is 255 at most".to_owned()
        }
        _ if !alone => "there is no such packet of this link type".to_owned(),
        Some(name) if ast.source.contains("ip6") => {
            format!("`{name}[…]` looks at IPv4 only; bytes behind the fixed header of IPv6 are `ip6[40 + OFFSET]`")
        }
        _ => "it contradicts what is joined to it by `and`".to_owned(),
    }
}
