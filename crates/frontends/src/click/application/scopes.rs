//! Tables and variables that several elements have together, as the scopes say that their classes
//! declare.
//!
//! A table that is said to be another element's is that one, with its capacity and timeout. Those
//! that are one by a global or universal scope must be declared alike; entries that they have from
//! the start come together in the order of the elements. Variables that are one have the same type
//! and initial value.
//!
//! Source: NP-Click paper, section 4.2.1.

use super::{Graph, Modules};
use crate::c::{Compiled, TableScope, Variable};
use crate::click::syntax::names::innermost;
use netil::app::{Datum, Kept, Scope};
use netil::module::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A table or variable: the element's number, and its own among those of its program.
pub(super) type At = (usize, usize);

/// Elements with what is wrong with them.
type Wrong = Vec<(usize, String)>;

/// What is one: lists of at least two, of tables first the one whose declaration counts.
#[derive(Default)]
pub(super) struct Together {
    pub(super) tables: Vec<Vec<At>>,
    /// Elements, with the places and sizes of variables in their shared memories.
    pub(super) variables: Vec<Vec<(usize, u32, u32)>>,
}

/// The tables and variables that are one.
pub(super) fn shared(graph: &Graph, modules: &mut Modules, wrong: &mut Wrong) -> Together {
    let scopes = Scopes { graph, named: named_tables(modules), what: "table" };
    let tables = scopes.groups(wrong);
    tables.iter().for_each(|group| scopes.check_tables(group, modules, wrong));
    tables.iter().for_each(|group| gather(group, graph, modules, wrong));
    let scopes = Scopes { graph, named: named_variables(modules), what: "variable with a scope" };
    let variables = scopes.groups(wrong);
    variables.iter().for_each(|group| scopes.check_variables(group, modules, wrong));
    let piece = |at: &At| (at.0, variable(modules, *at).at, variable(modules, *at).size);
    Together { tables, variables: variables.iter().map(|group| group.iter().map(piece).collect()).collect() }
}

/// What an instance has, with the scopes that its class declares.
pub(super) fn data(compiled: &Compiled, instance: u32) -> Vec<Datum> {
    let one = |name: &str, scope: &TableScope, kept| {
        let (scope, of_other) = match scope {
            TableScope::Local => (Scope::Local, false),
            TableScope::Regional => (Scope::Regional, false),
            TableScope::Global => (Scope::Global, false),
            TableScope::Universal => (Scope::Universal, false),
            TableScope::Of { .. } => (Scope::Regional, true),
        };
        Datum { instance, name: name.to_owned(), scope, of_other, kept }
    };
    let tables = compiled.module.tables.iter().zip(&compiled.scopes).enumerate();
    let tables = tables.map(|(n, (table, scope))| one(&table.name, scope, Kept::Table(n as u32)));
    let variables = compiled.variables.iter().map(|v| one(&v.name, &v.scope, Kept::Shared { at: v.at, len: v.size }));
    let statics = compiled.statics.iter().map(|v| one(&v.name, &TableScope::Local, Kept::Data { at: v.at, len: v.len }));
    tables.chain(variables).chain(statics).collect()
}

fn table(modules: &Modules, at: At) -> &Table {
    &modules[&at.0].module.tables[at.1]
}

fn variable(modules: &Modules, at: At) -> &Variable {
    &modules[&at.0].variables[at.1]
}

/// What elements have, with names and scopes.
type Named = BTreeMap<usize, Vec<(String, TableScope)>>;

fn named_tables(modules: &Modules) -> Named {
    let scoped =
        |n: &usize| modules[n].module.tables.iter().zip(&modules[n].scopes).map(|(t, scope)| (t.name.clone(), scope.clone())).collect();
    modules.keys().map(|n| (*n, scoped(n))).collect()
}

fn named_variables(modules: &Modules) -> Named {
    let scoped = |n: &usize| modules[n].variables.iter().map(|v| (v.name.clone(), v.scope.clone())).collect();
    modules.keys().map(|n| (*n, scoped(n))).collect()
}

struct Scopes<'a> {
    graph: &'a Graph,
    named: Named,
    what: &'static str,
}

impl Scopes<'_> {
    /// Those that are one.
    fn groups(&self, wrong: &mut Wrong) -> Vec<Vec<At>> {
        let (mut groups, mut followers): (BTreeMap<String, Vec<At>>, Vec<At>) = Default::default();
        let all = self.named.iter().flat_map(|(n, own)| (0..own.len()).map(move |at| (*n, at)));
        for at in all {
            match self.key(at) {
                Some(key) => groups.entry(key).or_default().push(at),
                None => followers.push(at),
            }
        }
        for at in followers {
            match self.followed(at) {
                Ok(first) => groups.entry(self.key(first).unwrap_or_default()).or_default().push(at),
                Err(why) => wrong.push((at.0, why)),
            }
        }
        let mut groups: Vec<Vec<At>> = groups.into_values().filter(|group| group.len() > 1).collect();
        groups.sort_unstable();
        groups
    }

    /// What those that are one have in common; none of one that is another element's.
    fn key(&self, at: At) -> Option<String> {
        let (name, scope) = &self.named[&at.0][at.1];
        Some(match scope {
            TableScope::Local | TableScope::Regional => format!("{} {name}", at.0),
            TableScope::Global => format!("class {} {name}", self.graph.elements[at.0].class),
            TableScope::Universal => format!("all {name}"),
            TableScope::Of { .. } => return None,
        })
    }

    /// The one that one is which is said to be another element's, however many say so in turn.
    fn followed(&self, from: At) -> Result<At, String> {
        let (mut at, what) = (from, self.what);
        for _ in 0..=self.named.len() {
            let (_, TableScope::Of { element, table }) = &self.named[&at.0][at.1] else { return Ok(at) };
            let name = &self.graph.elements[at.0].name;
            let to = self.element(element, name).ok_or_else(|| format!("there is no element `{element}`"))?;
            let found = self.named.get(&to).and_then(|own| own.iter().position(|(known, _)| known == table));
            at = (to, found.ok_or_else(|| format!("`{element} :: {}` has no {what} `{table}`", self.graph.elements[to].class))?);
        }
        Err(format!("the {what} `{}` is said to be another element's, in a circle", self.named[&from.0][from.1].0))
    }

    /// The element of that name in the innermost compound around another that has one.
    fn element(&self, name: &str, from: &str) -> Option<usize> {
        innermost(from, name, |full| self.graph.elements.iter().position(|element| element.name == full))
    }

    /// `name`, and whose it is as well.
    fn one(&self, at: At, first: At) -> String {
        format!("`{}`, which is one with that of `{}`", self.named[&at.0][at.1].0, self.graph.elements[first.0].name)
    }

    /// What is not alike, and elements that would have one table by two names.
    fn check_tables(&self, group: &[At], modules: &Modules, wrong: &mut Wrong) {
        let (first, mut seen) = (group[0], BTreeSet::new());
        for at in group {
            let (own, as_first, one) = (table(modules, *at), table(modules, first), self.one(*at, first));
            let limits = |table: &Table| (table.capacity, table.timeout_ns);
            if !seen.insert(at.0) {
                wrong.push((at.0, format!("it has the table {one}, by another name as well")));
            } else if !own.is_like(as_first) {
                wrong.push((at.0, format!("the table {one}, has another kind, or other keys or values")));
            } else if self.key(*at).is_some() && limits(own) != limits(as_first) {
                wrong.push((at.0, format!("the table {one}, has another capacity or timeout")));
            }
        }
    }

    /// What is not alike of variables, and elements that would have one by two names; a variable
    /// that is another element's need not say the initial value again.
    fn check_variables(&self, group: &[At], modules: &Modules, wrong: &mut Wrong) {
        let first = group.iter().copied().find(|at| self.key(*at).is_some()).unwrap_or(group[0]);
        let mut seen = BTreeSet::new();
        for at in group {
            let (own, as_first, one) = (variable(modules, *at), variable(modules, first), self.one(*at, first));
            let says_nothing = self.key(*at).is_none() && own.init.is_empty();
            if !seen.insert(at.0) {
                wrong.push((at.0, format!("it has the variable {one}, by another name as well")));
            } else if own.ty != as_first.ty {
                wrong.push((at.0, format!("the variable {one}, has another type")));
            } else if own.init != as_first.init && !says_nothing {
                wrong.push((at.0, format!("the variable {one}, has another initial value")));
            }
        }
    }
}

/// Moves the entries that the tables of a group have from the start to the first.
fn gather(group: &[At], graph: &Graph, modules: &mut Modules, wrong: &mut Wrong) {
    let mut all = Vec::new();
    for (n, table) in group {
        let compiled = modules.get_mut(n).filter(|compiled| !compiled.module.tables[*table].entries.is_empty());
        all.extend(compiled.map(|compiled| std::mem::take(&mut Rc::make_mut(compiled).module.tables[*table].entries)).unwrap_or_default());
    }
    // Elements whose tables are empty keep their program in common.
    if all.is_empty() {
        return;
    }
    let first = modules.get_mut(&group[0].0).map(|compiled| &mut Rc::make_mut(compiled).module.tables[group[0].1]);
    let Some(first) = first else { return };
    if all.len() > first.capacity as usize {
        let (name, room) = (&graph.elements[group[0].0].name, first.capacity);
        wrong.push((
            group[0].0,
            format!("{} entries for the table `{}` of `{name}` and others, which has room for {room}", all.len(), first.name),
        ));
    }
    first.entries = all;
}
