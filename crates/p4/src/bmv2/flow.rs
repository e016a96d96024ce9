//! Control flow: from nodes that name what comes next, as files have it, to statements that stand
//! one in the other.
//!
//! A node that is entered by one way only stands in the arm that leads to it. One where several
//! ways meet stands behind the node that all of them come through (its dominator); a way that does
//! not reach it by falling out of its arm sets the variable `go` and leaves out what stands
//! between. Nothing is written twice.
//!
//! Jumps that lead back, as actions have them for loops, lead through a loop around all: the node
//! where it goes on is in the variable `at`.
//!
//! Source: N. Ramsey, Beyond Relooper (ICFP 2022), with a variable instead of labels, which P4 does
//! not have.

use super::text::Text;
use frontends::diagnostics::Origin;
use std::collections::HashSet;
use std::sync::Arc;

/// Where control flow ends.
pub(super) const END: usize = usize::MAX;
/// How deep arms may stand one in the other.
const MAX_DEPTH: usize = 100;

/// Where a node leads to.
#[derive(Clone, Debug)]
pub(super) enum Arms {
    One(usize),
    If(String, usize, usize),
    /// Labels of each arm; none for the default.
    Switch(String, Vec<(Vec<String>, usize)>),
}

impl Arms {
    fn all(&mut self) -> Vec<&mut usize> {
        match self {
            Self::One(to) => vec![to],
            Self::If(_, yes, no) => vec![yes, no],
            Self::Switch(_, arms) => arms.iter_mut().map(|(_, to)| to).collect(),
        }
    }

    fn targets(&self) -> Vec<usize> {
        let mut all = match self {
            Self::One(to) => vec![*to],
            Self::If(_, yes, no) => vec![*yes, *no],
            Self::Switch(_, arms) => arms.iter().map(|(_, to)| *to).collect(),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub lines: Vec<String>,
    pub arms: Arms,
    pub origin: Option<Arc<Origin>>,
}

/// Why nodes cannot be written.
pub(super) enum Unwritten {
    /// Control comes to this node again.
    Circle(usize),
    Deep,
}

/// Writes the nodes that are reached from the first one.
pub(super) fn write(nodes: &[Node], start: usize, text: &mut Text) -> Result<(), Unwritten> {
    if start == END {
        return Ok(());
    }
    let order = sorted(nodes, start)?;
    let mut shape = Structurer::new(nodes, &order);
    // The first run finds out what is left out by `go`.
    shape.region(start, &mut vec![END], 0, &mut Text::default())?;
    if !shape.guarded.is_empty() {
        text.line("bit<32> go = 0;");
    }
    shape.region(start, &mut vec![END], 0, text)
}

/// Writes nodes among which control may come round.
pub(super) fn write_rounds(nodes: &[Node], start: usize, text: &mut Text) -> Result<(), Unwritten> {
    let heads = heads(nodes, start);
    if heads.is_empty() {
        return write(nodes, start, text);
    }
    // What leads to a head of a loop begins another round, with the head.
    let mut cut = nodes.to_vec();
    for (n, head) in heads.iter().enumerate() {
        let target = |to: &&mut usize| **to == *head;
        cut.iter_mut().flat_map(|node| node.arms.all()).filter(target).for_each(|to| *to = nodes.len() + n);
        let lines = vec![format!("at = {};", head + 1), "continue;".to_owned()];
        cut.push(Node { lines, arms: Arms::One(END), origin: None });
    }
    text.line(&format!("for (bit<32> at = {}; true; ) {{", start + 1));
    for first in heads.iter().filter(|head| **head != start).chain([&start]) {
        text.line(&format!("if (at == {}) {{", first + 1));
        write(&cut, *first, text)?;
        text.line("return;");
        text.line("}");
    }
    text.line("}");
    Ok(())
}

/// The nodes that control comes to again, once each.
fn heads(nodes: &[Node], start: usize) -> Vec<usize> {
    const OPEN: u8 = 1;
    let (mut state, mut heads) = (vec![0u8; nodes.len()], Vec::new());
    let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut enter = Some(start).filter(|start| *start != END);
    loop {
        if let Some(node) = enter.take() {
            state[node] = OPEN;
            stack.push((node, nodes[node].arms.targets()));
        }
        let Some((node, rest)) = stack.last_mut() else { return heads };
        match rest.pop() {
            Some(END) => {}
            Some(to) if state[to] == 0 => enter = Some(to),
            Some(to) if state[to] == OPEN && !heads.contains(&to) => heads.push(to),
            Some(_) => {}
            None => {
                state[*node] = 2;
                stack.pop();
            }
        }
    }
}

/// What is reached, each node behind those that lead to it.
fn sorted(nodes: &[Node], start: usize) -> Result<Vec<usize>, Unwritten> {
    const OPEN: u8 = 1;
    let (mut state, mut order) = (vec![0u8; nodes.len()], Vec::new());
    let mut stack = vec![(start, nodes[start].arms.targets())];
    state[start] = OPEN;
    while let Some((node, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(END) => {}
            Some(to) if state[to] == OPEN => return Err(Unwritten::Circle(to)),
            Some(to) if state[to] == 0 => {
                state[to] = OPEN;
                stack.push((to, nodes[to].arms.targets()));
            }
            Some(_) => {}
            None => {
                state[*node] = 2;
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    Ok(order)
}

struct Structurer<'a> {
    nodes: &'a [Node],
    /// Several ways meet here.
    meets: Vec<bool>,
    /// Behind each node: those that it dominates and where ways meet, in order.
    behind: Vec<Vec<usize>>,
    /// What is left out unless `go` names it.
    guarded: HashSet<usize>,
}

impl<'a> Structurer<'a> {
    fn new(nodes: &'a [Node], order: &[usize]) -> Self {
        let (mut place, mut before) = (vec![0; nodes.len()], vec![Vec::new(); nodes.len()]);
        for (n, node) in order.iter().enumerate() {
            place[*node] = n;
            nodes[*node].arms.targets().into_iter().filter(|to| *to != END).for_each(|to| before[to].push(*node));
        }
        let mut dominator = vec![order[0]; nodes.len()];
        let (mut meets, mut behind) = (vec![false; nodes.len()], vec![Vec::new(); nodes.len()]);
        for node in &order[1..] {
            let common = before[*node].iter().copied().reduce(|mut a, mut b| {
                while a != b {
                    if place[a] > place[b] { a = dominator[a] } else { b = dominator[b] }
                }
                a
            });
            dominator[*node] = common.unwrap_or(order[0]);
            if before[*node].len() > 1 {
                meets[*node] = true;
                behind[dominator[*node]].push(*node);
            }
        }
        Self { nodes, meets, behind, guarded: HashSet::new() }
    }

    /// Writes a node and all that it dominates. `next` has what stands behind, the nearest last.
    fn region(&mut self, first: usize, next: &mut Vec<usize>, depth: usize, text: &mut Text) -> Result<(), Unwritten> {
        if depth > MAX_DEPTH {
            return Err(Unwritten::Deep);
        }
        let (mut node, nodes) = (first, self.nodes);
        loop {
            text.from(nodes[node].origin.clone());
            text.lines(&nodes[node].lines);
            let behind = self.behind[node].clone();
            next.extend(behind.iter().rev());
            match &nodes[node].arms {
                Arms::One(to) if *to != END && !self.meets[*to] => {
                    node = *to;
                    continue;
                }
                arms => self.arms(arms, next, depth, text)?,
            }
            let Some((last, others)) = behind.split_last() else { return Ok(()) };
            for other in others {
                next.pop();
                self.one_behind(*other, next, depth, text)?;
            }
            next.pop();
            if self.guarded.contains(last) {
                return self.one_behind(*last, next, depth, text);
            }
            node = *last;
        }
    }

    fn one_behind(&mut self, node: usize, next: &mut Vec<usize>, depth: usize, text: &mut Text) -> Result<(), Unwritten> {
        if !self.guarded.contains(&node) {
            return self.region(node, next, depth + 1, text);
        }
        text.line(&format!("if (go == {}) {{", node + 1));
        self.region(node, next, depth + 1, text)?;
        text.line("}");
        Ok(())
    }

    fn arms(&mut self, arms: &Arms, next: &mut Vec<usize>, depth: usize, text: &mut Text) -> Result<(), Unwritten> {
        match arms {
            Arms::One(to) => self.go(*to, next, depth, text),
            Arms::If(condition, yes, no) if self.falls(*yes, next) => {
                if self.falls(*no, next) {
                    return Ok(());
                }
                text.line(&format!("if (!({condition})) {{"));
                self.go(*no, next, depth, text)?;
                text.line("}");
                Ok(())
            }
            Arms::If(condition, yes, no) => {
                text.line(&format!("if ({condition}) {{"));
                self.go(*yes, next, depth, text)?;
                text.line("}");
                if !self.falls(*no, next) {
                    text.line("else {");
                    self.go(*no, next, depth, text)?;
                    text.line("}");
                }
                Ok(())
            }
            Arms::Switch(value, arms) => {
                text.line(&format!("switch ({value}) {{"));
                for (labels, to) in arms {
                    let (last, others) = labels.split_last().map_or(("default", &[][..]), |(last, others)| (last.as_str(), others));
                    others.iter().for_each(|label| text.line(&format!("{label}:")));
                    text.line(&format!("{last}: {{"));
                    self.go(*to, next, depth, text)?;
                    text.line("}");
                }
                text.line("}");
                Ok(())
            }
        }
    }

    /// True if control gets there by itself.
    fn falls(&self, to: usize, next: &[usize]) -> bool {
        next.last() == Some(&to) && !self.guarded.contains(&to)
    }

    fn go(&mut self, to: usize, next: &mut Vec<usize>, depth: usize, text: &mut Text) -> Result<(), Unwritten> {
        if to != END && !self.meets[to] {
            return self.region(to, next, depth + 1, text);
        }
        if self.falls(to, next) {
            return Ok(());
        }
        if to == END {
            text.line("return;");
            return Ok(());
        }
        if next.last() != Some(&to) {
            // What stands between is left out.
            let from = next.iter().rposition(|n| *n == to).unwrap_or(0);
            self.guarded.extend(&next[from..]);
        }
        text.line(&format!("go = {};", to + 1));
        Ok(())
    }
}
