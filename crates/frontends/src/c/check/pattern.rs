//! STRINGS and REGEX: what packets are searched for.

use super::class::name_of;
use super::{Checker, Symbol};
use crate::c::ast::{self, Arg, ExprKind};
use crate::c::tree::{self, Pattern, PatternText};
use crate::c::types::Type;
use crate::diagnostics::Span;
use std::sync::Arc;

/// The most bytes of one string.
const LONGEST: usize = u16::MAX as usize;

impl Checker<'_> {
    /// `STRINGS(name, "one", two, ...)`, `REGEX(name, "expression")`: texts are string parameters
    /// or stand there.
    pub(super) fn pattern_word(&mut self, args: &[Arg], is_regex: bool) -> Option<()> {
        let (name, texts) = args.split_first()?;
        let name = name_of(name)?;
        if texts.is_empty() || is_regex && texts.len() > 1 || texts.len() > LONGEST {
            return None;
        }
        let span = texts[0].span();
        let texts = texts.iter().map(|text| self.pattern_text(text)).collect::<Option<Vec<_>>>()?;
        self.declare(name, Symbol::Pattern(self.program.patterns.len()));
        self.program.patterns.push(Pattern { name: Arc::clone(&name.text), is_regex, texts, span });
        Some(())
    }

    /// `STRINGS_OF(name, list)`: the texts of a parameter that is a list.
    pub(super) fn strings_of(&mut self, args: &[Arg]) -> Option<()> {
        let [name, list] = args else { return None };
        let (name, list) = (name_of(name)?, name_of(list)?);
        let found = self.lookup(&list.text).map(|(symbol, _)| symbol.clone());
        let Some(Symbol::Param(id)) = found.filter(|symbol| matches!(symbol, Symbol::Param(id) if self.is_texts(*id))) else {
            self.fault_help(
                list.span,
                format!("`{}` is no list of texts", list.text),
                "declare it: PARAM_LIST(string, words, \"WORDS\", REQUIRED);",
            );
            return Some(());
        };
        self.declare(name, Symbol::Pattern(self.program.patterns.len()));
        self.program.patterns.push(Pattern {
            name: Arc::clone(&name.text),
            is_regex: false,
            texts: vec![PatternText::List(id)],
            span: list.span,
        });
        Some(())
    }

    /// Whether a parameter is a list of texts.
    pub(super) fn is_texts(&self, param: usize) -> bool {
        let param = &self.program.class.params[param];
        param.list && param.ctype == Type::Text
    }

    fn pattern_text(&mut self, arg: &Arg) -> Option<PatternText> {
        let Arg::Expr(ast::Expr { kind, span }) = arg else { return None };
        match kind {
            ExprKind::Text(bytes) => Some(self.literal_text(bytes, *span)),
            ExprKind::Name(name) => match self.lookup(&name.text) {
                Some((Symbol::Param(id), _)) if self.program.class.params[*id].ctype == Type::Text && !self.is_texts(*id) => {
                    Some(PatternText::Param(*id))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn literal_text(&mut self, bytes: &[u8], span: Span) -> PatternText {
        if bytes.is_empty() || bytes.contains(&0) || bytes.len() > LONGEST {
            self.fault(span, format!("a text to be searched for has 1 to {LONGEST} bytes, none of them 0"));
        }
        PatternText::Literal(Arc::from(bytes))
    }

    /// What is searched for, as an argument.
    pub(super) fn pattern(&mut self, arg: &ast::Arg, is_regex: bool) -> Option<tree::Arg> {
        let word = if is_regex { "REGEX" } else { "STRINGS" };
        if let ast::Arg::Expr(ast::Expr { kind: ExprKind::Name(name), .. }) = arg {
            match self.lookup(&name.text) {
                Some((Symbol::Pattern(id), _)) if self.program.patterns[*id].is_regex == is_regex => return Some(tree::Arg::Pattern(*id)),
                None => {
                    self.unknown(name, word);
                    return None;
                }
                Some(_) => {}
            }
        }
        self.fault_help(arg.span(), format!("this is declared by no {word}"), format!("declare it: {word}(name, \"text\");"));
        None
    }
}
