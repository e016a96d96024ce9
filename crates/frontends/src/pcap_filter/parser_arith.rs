//! Arithmetic and comparisons.
//!
//! Precedence is that of libpcap's grammar: `|` binds least, then `&`, shifts, `+ -`, `* /`, and
//! unary minus most. `%` and `^` have none there, which its parser generator resolves by shifting:
//! after them everything to the right is their operand, and before them they take the nearest
//! operand only (`1 + 2 % 3 + 4` is `1 + (2 % (3 + 4))`).

use super::ast::{Arith, ArithId, Arithop, Node, Proto, Relop};
use super::error::{Error, Span};
use super::parser::{Item, Parser, Res, Want};
use super::token::{GE, LE, NE, SHL, SHR, Tok, Word};

/// Binds tighter than every operator with a precedence.
const UNARY: u8 = 6;

/// Most operators of one comparison.
const MAX_OPERATORS: u32 = 500;

impl Parser {
    /// Goes on after an operand that may be the left end of a comparison.
    pub(super) fn arithmetic_after(&mut self, item: Item, want: Want) -> Res<Item> {
        let numeric = matches!(item, Item::Number(..) | Item::Arith(_));
        if want == Want::Id || !numeric || !(self.at_operator() || self.relop().is_some()) {
            return Ok(item);
        }
        self.operators = 0;
        let left = self.as_arith(item);
        let lhs = self.arith_from(left, 0)?;
        let Some(op) = self.relop() else { return Ok(Item::Arith(lhs)) };
        self.bump();
        let rhs = self.arith()?;
        let span = self.ast.arith_span(lhs).to(self.ast.arith_span(rhs));
        Ok(Item::Term(self.node(Node::Relation { op, lhs, rhs }, span), None))
    }

    fn as_arith(&mut self, item: Item) -> ArithId {
        match item {
            Item::Number(value, at) => self.push_arith(Arith::Number(value), at),
            Item::Arith(id) => id,
            Item::Term(..) | Item::Id(_) | Item::IdList(_) => self.push_arith(Arith::Number(0), Span::default()),
        }
    }

    fn push_arith(&mut self, arith: Arith, span: Span) -> ArithId {
        let id = ArithId(u32::try_from(self.ast.ariths.len()).unwrap_or(u32::MAX));
        self.ast.ariths.push((arith, span));
        id
    }

    fn arith(&mut self) -> Res<ArithId> {
        let left = self.arith_operand()?;
        self.arith_from(left, 0)
    }

    /// Operators that bind tighter than `above`, after their left operand.
    fn arith_from(&mut self, mut left: ArithId, above: u8) -> Res<ArithId> {
        while let Some((op, precedence)) = self.operator() {
            // An operator without a precedence is always shifted, and then shifts everything.
            let right_above = match precedence {
                None => 0,
                Some(p) if p > above => p,
                Some(_) => break,
            };
            self.bump();
            let right = self.nested(|p| {
                let operand = p.arith_operand()?;
                p.arith_from(operand, right_above)
            })?;
            let span = self.ast.arith_span(left).to(self.ast.arith_span(right));
            left = self.push_arith(Arith::Bin(op, left, right), span);
            self.check_length(left)?;
        }
        Ok(left)
    }

    /// A long chain of operators leans to the left; its depth is bounded like any other.
    fn check_length(&mut self, id: ArithId) -> Res<()> {
        self.operators += 1;
        if self.operators <= MAX_OPERATORS {
            return Ok(());
        }
        let span = self.ast.arith_span(id);
        Err(Error::new(Span { start: span.end, end: span.end }, format!("more than {MAX_OPERATORS} operators in one comparison")))
    }

    /// An operand: a number, `len`, packet bytes, a negated operand or a parenthesis.
    pub(super) fn arith_operand(&mut self) -> Res<ArithId> {
        self.nested(|p| match p.peek() {
            Tok::Number(value) => {
                let at = p.bump().span;
                Ok(p.push_arith(Arith::Number(value), at))
            }
            Tok::Word(Word::Len) => {
                let at = p.bump().span;
                Ok(p.push_arith(Arith::Len, at))
            }
            Tok::Punct(b'-') => p.negative(),
            Tok::Punct(b'(') => p.parenthesised_arith(),
            Tok::Word(Word::Proto(proto)) => p.load(proto),
            _ => Err(p.expected("a number, `len`, `(` or packet bytes such as `ip[2:2]`")),
        })
    }

    fn negative(&mut self) -> Res<ArithId> {
        let minus = self.bump().span;
        let operand = self.arith_operand()?;
        let inner = self.arith_from(operand, UNARY)?;
        let span = minus.to(self.ast.arith_span(inner));
        Ok(self.push_arith(Arith::Neg(inner), span))
    }

    fn parenthesised_arith(&mut self) -> Res<ArithId> {
        let open = self.bump().span;
        let inner = self.arith()?;
        if self.peek() != Tok::Punct(b')') {
            return Err(self.expected("`)` or an operator"));
        }
        let span = open.to(self.bump().span);
        self.ast.ariths[inner.0 as usize].1 = span;
        Ok(inner)
    }

    /// `proto[index]` or `proto[index:size]`.
    pub(super) fn load(&mut self, proto: Proto) -> Res<ArithId> {
        let start = self.bump().span;
        if !self.eat(Tok::Punct(b'[')) {
            return Err(self.expected("`[`"));
        }
        let index = self.nested(Parser::arith)?;
        let size = if self.eat(Tok::Punct(b':')) { self.size()? } else { 1 };
        if self.peek() != Tok::Punct(b']') {
            return Err(self.expected("`]`, `:` and a size, or an operator"));
        }
        let span = start.to(self.bump().span);
        Ok(self.push_arith(Arith::Load { proto, index, size }, span))
    }

    fn size(&mut self) -> Res<u32> {
        match self.peek() {
            Tok::Number(size @ (1 | 2 | 4)) => {
                self.bump();
                Ok(size)
            }
            _ => Err(self.expected("a size of 1, 2 or 4 bytes")),
        }
    }

    fn at_operator(&self) -> bool {
        self.operator().is_some()
    }

    /// The next token as an operator, with its precedence if the grammar gives it one.
    fn operator(&self) -> Option<(Arithop, Option<u8>)> {
        let Tok::Punct(op) = self.peek() else { return None };
        Some(match op {
            b'|' => (Arithop::Or, Some(1)),
            b'&' => (Arithop::And, Some(2)),
            SHL => (Arithop::Shl, Some(3)),
            SHR => (Arithop::Shr, Some(3)),
            b'+' => (Arithop::Add, Some(4)),
            b'-' => (Arithop::Sub, Some(4)),
            b'*' => (Arithop::Mul, Some(5)),
            b'/' => (Arithop::Div, Some(5)),
            b'%' => (Arithop::Mod, None),
            b'^' => (Arithop::Xor, None),
            _ => return None,
        })
    }

    fn relop(&self) -> Option<Relop> {
        let Tok::Punct(op) = self.peek() else { return None };
        Some(match op {
            b'=' => Relop::Eq,
            NE => Relop::Ne,
            b'>' => Relop::Gt,
            GE => Relop::Ge,
            b'<' => Relop::Lt,
            LE => Relop::Le,
            _ => return None,
        })
    }
}
