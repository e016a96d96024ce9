//! Types.

use super::{Parsed, Parser};
use crate::ast::{Expr, Ident, Ty, TyKind};
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        self.nested(Self::ty_here)
    }

    fn ty_here(&mut self) -> Parsed<Ty> {
        let start = self.span();
        let mut ty = self.plain_type()?;
        if self.is("<") && matches!(ty.kind, TyKind::Named(..)) {
            self.at += 1;
            let args = self.type_list()?;
            ty = Ty { kind: TyKind::Args(Box::new(ty), args), span: start.to(self.last()) };
        }
        while self.is("[") {
            self.at += 1;
            let size = self.expr()?;
            self.expect("]")?;
            ty = Ty { kind: TyKind::Stack(Box::new(ty), Box::new(size)), span: start.to(self.last()) };
        }
        Ok(ty)
    }

    /// Types before `>`.
    pub(super) fn type_list(&mut self) -> Parsed<Vec<Ty>> {
        self.list(">", |p| {
            if p.is_word("_") {
                p.at += 1;
                return Ok(Ty { kind: TyKind::DontCare, span: p.last() });
            }
            p.ty()
        })
    }

    fn plain_type(&mut self) -> Parsed<Ty> {
        let start = self.span();
        if self.is(".") {
            self.at += 1;
            let name = self.ident()?;
            return Ok(Ty { kind: TyKind::Named(true, name.name), span: start.to(name.span) });
        }
        let Tok::Ident(word) = self.peek().clone() else { return Err(self.expected("a type")) };
        let simple = match &*word {
            "bool" => TyKind::Bool,
            "error" => TyKind::Error,
            "match_kind" => TyKind::MatchKind,
            "string" => TyKind::Str,
            "void" => TyKind::Void,
            "_" => TyKind::DontCare,
            "bit" | "int" | "varbit" => return self.sized(&word),
            "tuple" | "list" if self.is_at(1, "<") => return self.collection(&word),
            _ => {
                let name = self.ident()?;
                return Ok(Ty { kind: TyKind::Named(false, name.name), span: name.span });
            }
        };
        self.at += 1;
        Ok(Ty { kind: simple, span: start })
    }

    fn sized(&mut self, word: &str) -> Parsed<Ty> {
        let start = self.span();
        self.at += 1;
        if !self.is("<") {
            let kind = match word {
                "bit" => TyKind::Bit(None),
                "int" => TyKind::Integer,
                _ => return Err(self.expected("`<` and the greatest width")),
            };
            return Ok(Ty { kind, span: start });
        }
        self.at += 1;
        let width = Box::new(self.width()?);
        self.expect(">")?;
        let kind = match word {
            "bit" => TyKind::Bit(Some(width)),
            "int" => TyKind::Int(width),
            _ => TyKind::Varbit(width),
        };
        Ok(Ty { kind, span: start.to(self.last()) })
    }

    /// An expression without comparisons and shifts, which `>` would end.
    fn width(&mut self) -> Parsed<Expr> {
        self.binary(8)
    }

    /// `name[size]…`: an array whose size stands behind its name.
    pub(super) fn array_suffix(&mut self, mut ty: Ty) -> Parsed<Ty> {
        while self.eat("[") {
            let size = self.expr()?;
            self.expect("]")?;
            let span = ty.span;
            ty = Ty { kind: TyKind::Stack(Box::new(ty), Box::new(size)), span };
        }
        Ok(ty)
    }

    fn collection(&mut self, word: &str) -> Parsed<Ty> {
        let start = self.span();
        self.at += 2;
        let mut args = self.type_list()?;
        let span = start.to(self.last());
        match (word, args.len()) {
            ("tuple", _) => Ok(Ty { kind: TyKind::Tuple(args), span }),
            (_, 1) => Ok(Ty { kind: TyKind::List(Box::new(args.remove(0))), span }),
            _ => Err(self.expected("one type in `list<T>`")),
        }
    }

    /// `<A, B>` of a declaration.
    pub(super) fn type_params(&mut self) -> Parsed<Vec<Ident>> {
        if !self.eat("<") {
            return Ok(Vec::new());
        }
        let params = self.list(">", Self::ident)?;
        self.types.extend(params.iter().map(|p| p.name.clone()));
        Ok(params)
    }
}
