//! Declarations.

use super::{Parsed, Parser};
use crate::ast::{Aggregate, Decl, DeclKind, Dir, Field, Ident, Method, Param, Signature, Ty};

impl Parser<'_> {
    pub(super) fn declaration(&mut self) -> Parsed<Decl> {
        self.nested(|p| {
            let annotations = p.annotations()?;
            let start = p.span();
            let kind = p.decl_kind()?;
            Ok(Decl { annotations, span: start.to(p.last()), kind })
        })
    }

    fn decl_kind(&mut self) -> Parsed<DeclKind> {
        match self.word_at(0).unwrap_or("") {
            "const" => {
                self.at += 1;
                let (ty, name) = (self.ty()?, self.ident()?);
                self.expect("=")?;
                let value = self.expr()?;
                self.expect(";")?;
                Ok(DeclKind::Const { ty, name, value })
            }
            "action" => {
                self.at += 1;
                let name = self.ident()?;
                let params = self.params()?;
                Ok(DeclKind::Action { sig: Signature { name, type_params: Vec::new(), params }, body: self.block()? })
            }
            "table" => self.table().map(DeclKind::Table),
            "extern" => self.extern_decl(),
            "control" => self.control(),
            "parser" => self.parser(),
            "package" => {
                self.at += 1;
                let sig = self.signature(true)?;
                self.expect(";")?;
                Ok(DeclKind::Package(sig))
            }
            "struct" => self.aggregate(Aggregate::Struct),
            "header" => self.aggregate(Aggregate::Header),
            "header_union" => self.aggregate(Aggregate::Union),
            "enum" => self.enum_decl(),
            "typedef" => self.typedef(false),
            "type" if !self.is_at(1, "(") => self.typedef(true),
            "error" if self.is_at(1, "{") => {
                self.at += 2;
                self.list("}", Self::ident).map(DeclKind::Errors)
            }
            "match_kind" if self.is_at(1, "{") => {
                self.at += 2;
                self.list("}", Self::ident).map(DeclKind::MatchKinds)
            }
            "value_set" if self.is_at(1, "<") => self.value_set(),
            _ => self.typed_decl(),
        }
    }

    /// A variable, an instance or a function: all begin with a type.
    fn typed_decl(&mut self) -> Parsed<DeclKind> {
        let ty = self.ty()?;
        if self.is("(") {
            let args = self.args()?;
            let name = self.ident()?;
            let ty = self.array_suffix(ty)?;
            let body = if self.eat("=") { Some(self.instance_body()?) } else { None };
            self.expect(";")?;
            return Ok(DeclKind::Instance { ty, args, name, body });
        }
        let name = self.ident()?;
        if self.is("<") || self.is("(") {
            let type_params = self.type_params()?;
            let params = self.params()?;
            return Ok(DeclKind::Function { result: ty, sig: Signature { name, type_params, params }, body: self.block()? });
        }
        let ty = self.array_suffix(ty)?;
        let value = if self.eat("=") { Some(self.expr()?) } else { None };
        self.expect(";")?;
        Ok(DeclKind::Var { ty, name, value })
    }

    fn instance_body(&mut self) -> Parsed<Vec<Decl>> {
        self.expect("{")?;
        let mut items = Vec::new();
        while !self.eat("}") {
            items.push(self.declaration()?);
        }
        Ok(items)
    }

    fn value_set(&mut self) -> Parsed<DeclKind> {
        self.at += 1;
        self.expect("<")?;
        let ty = self.ty()?;
        self.expect(">")?;
        self.expect("(")?;
        let size = self.expr()?;
        self.expect(")")?;
        let name = self.ident()?;
        self.expect(";")?;
        Ok(DeclKind::ValueSet { ty, size, name })
    }

    fn signature(&mut self, generic: bool) -> Parsed<Signature> {
        let name = self.ident()?;
        self.types.insert(name.name.clone());
        let type_params = if generic { self.type_params()? } else { Vec::new() };
        Ok(Signature { name, type_params, params: self.params()? })
    }

    pub(super) fn params(&mut self) -> Parsed<Vec<Param>> {
        self.expect("(")?;
        self.list(")", |p| {
            let annotations = p.annotations()?;
            let dir = match p.word_at(0) {
                Some("in") => Dir::In,
                Some("out") => Dir::Out,
                Some("inout") => Dir::InOut,
                _ => Dir::None,
            };
            p.at += usize::from(dir != Dir::None);
            let (ty, name) = (p.ty()?, p.ident()?);
            let default = if p.eat("=") { Some(p.expr()?) } else { None };
            Ok(Param { annotations, dir, ty, name, default })
        })
    }

    fn extern_decl(&mut self) -> Parsed<DeclKind> {
        self.at += 1;
        let is_object = self.name_at(0) && (self.is_at(1, "{") || self.is_at(1, "<"));
        let head = is_object.then(|| self.attempt(Self::extern_head)).flatten();
        let Some((name, type_params)) = head else {
            let result = self.ty()?;
            let name = self.ident()?;
            let type_params = self.type_params()?;
            let params = self.params()?;
            self.expect(";")?;
            return Ok(DeclKind::ExternFunction { result, sig: Signature { name, type_params, params } });
        };
        let mut methods = Vec::new();
        while !self.eat("}") {
            methods.push(self.method(&name)?);
        }
        Ok(DeclKind::Extern { name, type_params, methods })
    }

    fn extern_head(&mut self) -> Parsed<(Ident, Vec<Ident>)> {
        let name = self.ident()?;
        let params = self.type_params()?;
        self.expect("{")?;
        self.types.insert(name.name.clone());
        Ok((name, params))
    }

    fn method(&mut self, of: &Ident) -> Parsed<Method> {
        let annotations = self.annotations()?;
        let is_abstract = self.eat_word("abstract");
        if self.is_word(&of.name) && self.is_at(1, "(") {
            let name = self.ident()?;
            let sig = Signature { name, type_params: Vec::new(), params: self.params()? };
            self.expect(";")?;
            return Ok(Method { sig, result: None, is_abstract, annotations });
        }
        let result = self.ty()?;
        let name = self.ident()?;
        let type_params = self.type_params()?;
        let sig = Signature { name, type_params, params: self.params()? };
        self.expect(";")?;
        Ok(Method { sig, result: Some(result), is_abstract, annotations })
    }

    fn control(&mut self) -> Parsed<DeclKind> {
        self.at += 1;
        let sig = self.signature(true)?;
        if self.eat(";") {
            return Ok(DeclKind::ControlType(sig));
        }
        let ctor = if self.is("(") { self.params()? } else { Vec::new() };
        self.expect("{")?;
        let mut locals = Vec::new();
        loop {
            let at = self.at;
            self.annotations()?;
            if self.is_word("apply") && (self.is_at(1, "{") || self.is_at(1, "@")) {
                break;
            }
            self.at = at;
            if !self.eat(";") {
                locals.push(self.declaration()?);
            }
        }
        self.expect_word("apply")?;
        let body = self.block()?;
        self.expect("}")?;
        Ok(DeclKind::Control { sig, ctor, locals, body })
    }

    fn parser(&mut self) -> Parsed<DeclKind> {
        self.at += 1;
        let sig = self.signature(true)?;
        if self.eat(";") {
            return Ok(DeclKind::ParserType(sig));
        }
        let ctor = if self.is("(") { self.params()? } else { Vec::new() };
        self.expect("{")?;
        let (mut locals, mut states) = (Vec::new(), Vec::new());
        while !self.eat("}") {
            let at = self.at;
            self.annotations()?;
            let state = self.is_word("state") && self.name_at(1) && self.is_at(2, "{");
            self.at = at;
            if state {
                states.push(self.state()?);
            } else if states.is_empty() {
                locals.push(self.declaration()?);
            } else {
                return Err(self.expected("a state or `}`"));
            }
        }
        Ok(DeclKind::Parser { sig, ctor, locals, states })
    }

    fn aggregate(&mut self, what: Aggregate) -> Parsed<DeclKind> {
        self.at += 1;
        let name = self.ident()?;
        self.types.insert(name.name.clone());
        let type_params = self.type_params()?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.eat("}") {
            let annotations = self.annotations()?;
            let (ty, name) = (self.ty()?, self.ident()?);
            let ty = self.array_suffix(ty)?;
            self.expect(";")?;
            fields.push(Field { annotations, ty, name });
        }
        Ok(DeclKind::Aggregate { what, name, type_params, fields })
    }

    fn enum_decl(&mut self) -> Parsed<DeclKind> {
        self.at += 1;
        let ty: Option<Ty> = if self.is_at(1, "{") { None } else { Some(self.ty()?) };
        let name = self.ident()?;
        self.types.insert(name.name.clone());
        self.expect("{")?;
        match ty {
            None => Ok(DeclKind::Enum { name, members: self.list("}", Self::ident)? }),
            Some(ty) => {
                let members = self.list("}", |p| {
                    let name = p.ident()?;
                    p.expect("=")?;
                    Ok((name, p.expr()?))
                })?;
                Ok(DeclKind::SerEnum { ty, name, members })
            }
        }
    }

    fn typedef(&mut self, new: bool) -> Parsed<DeclKind> {
        self.at += 1;
        let (ty, name) = (self.ty()?, self.ident()?);
        self.types.insert(name.name.clone());
        self.expect(";")?;
        Ok(DeclKind::Typedef { ty, name, new })
    }
}
