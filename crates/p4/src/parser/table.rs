//! Tables and their properties.

use super::{Parsed, Parser};
use crate::ast::{ActionRef, EntryDecl, KeyElement, Property, PropertyKind, TableDecl};

impl Parser<'_> {
    pub(super) fn table(&mut self) -> Parsed<TableDecl> {
        self.expect_word("table")?;
        let name = self.ident()?;
        self.expect("{")?;
        let mut properties = Vec::new();
        while !self.eat("}") {
            properties.push(self.property()?);
        }
        Ok(TableDecl { name, properties })
    }

    fn property(&mut self) -> Parsed<Property> {
        let annotations = self.annotations()?;
        let is_const = self.eat_word("const");
        let name = self.word()?;
        self.expect("=")?;
        let kind = match (&*name.name, self.is("{")) {
            ("key", true) => {
                self.at += 1;
                PropertyKind::Key(self.until_brace(Self::key)?)
            }
            ("actions", true) => {
                self.at += 1;
                PropertyKind::Actions(self.until_brace(|p| {
                    let action = p.action_ref()?;
                    p.expect(";")?;
                    Ok(action)
                })?)
            }
            ("entries", true) => {
                self.at += 1;
                PropertyKind::Entries(self.until_brace(Self::entry)?)
            }
            _ => {
                let value = self.expr()?;
                self.expect(";")?;
                PropertyKind::Value(value)
            }
        };
        if self.is(";") {
            self.at += 1;
        }
        Ok(Property { annotations, is_const, name, kind })
    }

    fn until_brace<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat("}") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn key(&mut self) -> Parsed<KeyElement> {
        let value = self.expr()?;
        self.expect(":")?;
        let kind = self.word()?;
        let annotations = self.annotations()?;
        self.expect(";")?;
        Ok(KeyElement { value, kind, annotations })
    }

    fn action_ref(&mut self) -> Parsed<ActionRef> {
        let start = self.span();
        let annotations = self.annotations()?;
        let dot = self.eat(".");
        let name = self.ident()?;
        let args = if self.is("(") { Some(self.args()?) } else { None };
        Ok(ActionRef { annotations, dot, name, args, span: start.to(self.last()) })
    }

    fn entry(&mut self) -> Parsed<EntryDecl> {
        let start = self.span();
        let annotations = self.annotations()?;
        self.eat_word("const");
        let mut priority = None;
        if self.is_word("priority") && self.is_at(1, "=") {
            self.at += 2;
            priority = Some(self.expr()?);
            self.expect(":")?;
        }
        let keys = self.keyset()?;
        self.expect(":")?;
        let action = self.action_ref()?;
        let behind = self.annotations()?;
        self.expect(";")?;
        Ok(EntryDecl { annotations: [annotations, behind].concat(), priority, keys, action, span: start.to(self.last()) })
    }
}
