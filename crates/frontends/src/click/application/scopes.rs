//! Tables that several elements have together, as the scopes say that their classes declare.
//!
//! A table that is said to be another element's is that one, with its capacity and timeout. Those that are one by a global or universal scope must be declared
//! alike; entries that they have from the start come together in the order of the elements.
//!
//! Source: NP-Click paper, section 4.2.1.

use super::{Graph, Modules};
use crate::c::TableScope;
use crate::click::syntax::names::innermost;
use netil::module::Table;
use std::collections::{BTreeMap, BTreeSet};

/// A table: the element's number, and the table's in its program.
pub(super) type At = (usize, usize);

/// Elements with what is wrong with them.
type Wrong = Vec<(usize, String)>;

/// The tables that are one: lists of at least two, first the one whose declaration counts.
pub(super) fn shared(graph: &Graph, modules: &mut Modules, wrong: &mut Wrong) -> Vec<Vec<At>> {
    let scopes = Scopes { graph, modules };
    let (mut groups, mut followers): (BTreeMap<String, Vec<At>>, Vec<At>) = Default::default();
    for at in scopes.all() {
        match scopes.key(at) {
            Some(key) => groups.entry(key).or_default().push(at),
            None => followers.push(at),
        }
    }
    for at in followers {
        match scopes.followed(at) {
            Ok(first) => groups.entry(scopes.key(first).unwrap_or_default()).or_default().push(at),
            Err(why) => wrong.push((at.0, why)),
        }
    }
    let mut groups: Vec<Vec<At>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    groups.iter().for_each(|group| scopes.check(group, wrong));
    groups.iter().for_each(|group| gather(group, graph, modules, wrong));
    groups
}

struct Scopes<'a> {
    graph: &'a Graph,
    modules: &'a Modules,
}

impl Scopes<'_> {
    /// All tables, in the order of the elements.
    fn all(&self) -> Vec<At> {
        let elements: BTreeSet<usize> = self.modules.keys().copied().collect();
        elements.into_iter().flat_map(|n| (0..self.modules[&n].scopes.len()).map(move |table| (n, table))).collect()
    }

    fn table(&self, at: At) -> &Table {
        &self.modules[&at.0].module.tables[at.1]
    }

    /// What tables that are one have in common; none of one that is another element's.
    fn key(&self, at: At) -> Option<String> {
        let name = &self.table(at).name;
        Some(match &self.modules[&at.0].scopes[at.1] {
            TableScope::Local | TableScope::Regional => format!("{} {name}", at.0),
            TableScope::Global => format!("class {} {name}", self.graph.elements[at.0].class),
            TableScope::Universal => format!("all {name}"),
            TableScope::Of { .. } => return None,
        })
    }

    /// The table that one is which is said to be another element's, however many say so in turn.
    fn followed(&self, from: At) -> Result<At, String> {
        let mut at = from;
        for _ in 0..=self.modules.len() {
            let TableScope::Of { element, table } = &self.modules[&at.0].scopes[at.1] else { return Ok(at) };
            let name = &self.graph.elements[at.0].name;
            let to = self.named(element, name).ok_or_else(|| format!("there is no element `{element}`"))?;
            let tables = self.modules.get(&to).map(|other| &other.module.tables);
            let found = tables.and_then(|tables| tables.iter().position(|known| known.name == *table));
            at = (to, found.ok_or_else(|| format!("`{element} :: {}` has no table `{table}`", self.graph.elements[to].class))?);
        }
        Err(format!("the table `{}` is said to be another element's, in a circle", self.table(from).name))
    }

    /// The element of that name in the innermost compound around another that has one.
    fn named(&self, name: &str, from: &str) -> Option<usize> {
        innermost(from, name, |full| self.graph.elements.iter().position(|element| element.name == full))
    }

    /// What is not alike, and elements that would have one table by two names.
    fn check(&self, group: &[At], wrong: &mut Wrong) {
        let (first, mut seen) = (group[0], BTreeSet::new());
        for at in group {
            let (table, as_first) = (self.table(*at), self.table(first));
            let one = format!("`{}`, which is one with that of `{}`", table.name, self.graph.elements[first.0].name);
            let limits = |table: &Table| (table.capacity, table.timeout_ns);
            if !seen.insert(at.0) {
                wrong.push((at.0, format!("it has the table {one}, by another name as well")));
            } else if !table.is_like(as_first) {
                wrong.push((at.0, format!("the table {one}, has another kind, or other keys or values")));
            } else if self.key(*at).is_some() && limits(table) != limits(as_first) {
                wrong.push((at.0, format!("the table {one}, has another capacity or timeout")));
            }
        }
    }
}

/// Moves the entries that the tables of a group have from the start to the first.
fn gather(group: &[At], graph: &Graph, modules: &mut Modules, wrong: &mut Wrong) {
    let mut all = Vec::new();
    for (n, table) in group {
        all.extend(modules.get_mut(n).map(|compiled| std::mem::take(&mut compiled.module.tables[*table].entries)).unwrap_or_default());
    }
    let Some(first) = modules.get_mut(&group[0].0).map(|compiled| &mut compiled.module.tables[group[0].1]) else { return };
    if all.len() > first.capacity as usize {
        let (name, room) = (&graph.elements[group[0].0].name, first.capacity);
        wrong.push((
            group[0].0,
            format!("{} entries for the table `{}` of `{name}` and others, which has room for {room}", all.len(), first.name),
        ));
    }
    first.entries = all;
}
