//! Expressions: numbers and names with `+ − * / ( )`, computed exactly; the result must fit in 32
//! bits.
//!
//! Parsed with an explicit stack into postfix form, so that no text nests too deep. The original
//! computes modulo 2^32 and divides as signed numbers; the two differ only where an intermediate
//! result leaves 32 bits or exceeds 2^31 before a division.

use super::lex::{Kind, Token};
use super::literal;
use super::parse::{Failed, Parser};

/// An expression in postfix form with the token it starts with.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub first: Token,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Number(i128),
    Name(Token),
    Apply(u8),
}

/// Why an expression has no value.
pub(super) enum NoValue {
    /// A name that is not defined.
    Unknown(Token),
    /// Division by zero or a result that is out of all bounds.
    Undefined,
}

/// Stands for unary minus among the operators.
const NEGATE: u8 = b'n';

impl Expr {
    /// The name, if the expression is nothing else.
    pub fn lone_name(&self) -> Option<Token> {
        match self.nodes[..] {
            [Node::Name(token)] => Some(token),
            _ => None,
        }
    }

    /// The value, given those of names.
    pub fn value(&self, name: impl Fn(Token) -> Option<i64>) -> Result<i128, NoValue> {
        let mut stack: Vec<i128> = Vec::new();
        for node in &self.nodes {
            let v = match *node {
                Node::Number(v) => Some(v),
                Node::Name(token) => Some(name(token).ok_or(NoValue::Unknown(token))?.into()),
                Node::Apply(NEGATE) => stack.pop().and_then(i128::checked_neg),
                Node::Apply(op) => stack.pop().and_then(|b| apply(op, stack.pop()?, b)),
            };
            stack.push(v.ok_or(NoValue::Undefined)?);
        }
        stack.pop().ok_or(NoValue::Undefined)
    }
}

fn apply(op: u8, a: i128, b: i128) -> Option<i128> {
    match op {
        b'+' => a.checked_add(b),
        b'-' => a.checked_sub(b),
        b'*' => a.checked_mul(b),
        _ => a.checked_div(b),
    }
}

fn precedence(op: u8) -> u8 {
    match op {
        b'+' | b'-' => 1,
        b'*' | b'/' => 2,
        NEGATE => 3,
        _ => 0,
    }
}

impl Parser<'_> {
    /// An expression; `what` says what is wanted where there is none.
    pub fn expr(&mut self, what: &str) -> Result<Expr, Failed> {
        let first = self.peek();
        let (mut nodes, mut operators, mut open) = (Vec::new(), Vec::new(), 0usize);
        loop {
            while let Kind::Mark(c @ (b'(' | b'-')) = self.peek().kind {
                open += usize::from(c == b'(');
                operators.push((if c == b'(' { c } else { NEGATE }, self.next()));
            }
            nodes.push(self.factor(what)?);
            while open > 0 && self.at_mark(b')') {
                self.next();
                open -= 1;
                unwind(&mut nodes, &mut operators, 1);
                operators.pop();
            }
            let Kind::Mark(op @ (b'+' | b'-' | b'*' | b'/')) = self.peek().kind else { break };
            unwind(&mut nodes, &mut operators, precedence(op));
            operators.push((op, self.next()));
        }
        unwind(&mut nodes, &mut operators, 1);
        match operators.pop() {
            Some((_, open)) => Err(self.error(open, "this parenthesis is not closed")),
            None => Ok(Expr { first, nodes }),
        }
    }

    fn factor(&mut self, what: &str) -> Result<Node, Failed> {
        let token = self.peek();
        let value = match token.kind {
            Kind::Number => self.number(token)?.into(),
            Kind::Quad => literal::quad(self.text(token)).ok_or_else(|| self.error(token, "a part of this address is above 255"))?.into(),
            Kind::Pairs => match literal::pairs(self.text(token)).as_deref() {
                Some([v]) if *v <= u64::from(u32::MAX) || self.text(token).len() == 11 => i128::from(*v),
                _ => return Err(self.error(token, "only four pairs fit in 32 bits")),
            },
            Kind::Word if !super::RESERVED.contains(&self.text(token)) && self.is_operand(token) => return Ok(Node::Name(self.next())),
            Kind::Text | Kind::Anonymous => return Ok(Node::Name(self.next())),
            _ => return Err(self.expected(what)),
        };
        self.next();
        Ok(Node::Number(value))
    }

    /// False for a mnemonic on a line of its own, where an operand is missing before it.
    fn is_operand(&self, token: Token) -> bool {
        token.line == self.previous().line || super::mnemonic(self.text(token)).is_none()
    }

    pub fn number(&mut self, token: Token) -> Result<u32, Failed> {
        let text = self.text(token);
        let value = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => text.parse(),
        };
        value.map_err(|_| self.error(token, "this number does not fit in 32 bits"))
    }
}

/// Moves operators of at least that precedence to the output, down to an open parenthesis.
fn unwind(nodes: &mut Vec<Node>, operators: &mut Vec<(u8, Token)>, least: u8) {
    while let Some((op, _)) = operators.pop_if(|(op, _)| precedence(*op) >= least) {
        nodes.push(Node::Apply(op));
    }
}
