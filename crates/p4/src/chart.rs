//! Parsers and controls as graphs, for those who draw them: a box for each parser state, table,
//! condition and row of statements, an arrow for each way from one to the next.
//!
//! There is a chart for each part of the program's package, in the order in which packets go
//! through them, and for each parser and control that these apply.

use crate::hir::{BlockId, Callee, Expr, ExprKind, InstId, Next, Program, Stmt, StmtKind, TableId, Target, Type};
use crate::lower::arch;
use frontends::diagnostics::{Sources, Span};
use std::collections::HashMap;

/// A parser or control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// What it is, and its name.
    pub heading: String,
    /// Its boxes.
    pub boxes: Vec<ChartBox>,
    /// Ways from one box to another.
    pub arrows: Vec<Arrow>,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxKind {
    /// Where packets come in or leave.
    End,
    /// A state, a condition, statements.
    Plain,
    /// A table, or another parser or control.
    Whole,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartBox {
    /// What it stands for.
    pub kind: BoxKind,
    /// Its first line.
    pub title: String,
    /// Its second line, which may be empty.
    pub detail: String,
    /// All that it stands for.
    pub whole: String,
    /// The place of a state, a condition or a table, as marks have it: `file:line:column`.
    pub place: String,
}

/// A way from one box to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The box that it leaves.
    pub from: usize,
    /// The box that it enters.
    pub to: usize,
    /// When it is taken; empty for always.
    pub label: String,
}

/// The longest line in a box, and at an arrow.
const WIDEST: usize = 36;
const LABEL: usize = 24;

/// Boxes that are left, and when.
type Loose = Vec<(usize, String)>;

struct Draw<'a> {
    program: &'a Program,
    sources: &'a Sources,
    chart: Chart,
    /// Ways that leave the body.
    left: Loose,
    /// Ways that leave the loop, and that begin its next round.
    loops: Vec<(Loose, Loose)>,
    applied: Vec<(InstId, BlockId)>,
}

/// All charts of a program.
pub(crate) fn charts(program: &Program, sources: &Sources) -> Vec<Chart> {
    let mut waiting = match arch::parts(program) {
        Ok((_, parts)) => parts.blocks,
        Err(_) => all(program),
    };
    waiting.reverse();
    let (mut seen, mut charts) = (Vec::new(), Vec::new());
    while let Some((inst, block)) = waiting.pop() {
        if seen.contains(&block) {
            continue;
        }
        seen.push(block);
        let mut draw = Draw { program, sources, chart: Chart::default(), left: Vec::new(), loops: Vec::new(), applied: Vec::new() };
        draw.block(inst, block);
        waiting.extend(draw.applied.into_iter().rev());
        charts.push(draw.chart);
    }
    charts
}

/// Parsers and controls of a program whose architecture is not known.
fn all(program: &Program) -> Vec<(InstId, BlockId)> {
    let block = |(n, instance): (usize, &crate::hir::Instance)| match instance.ty {
        Type::Block(block) => Some((n, block)),
        _ => None,
    };
    program.instances.iter().enumerate().filter_map(block).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

impl Draw<'_> {
    /// A part of the program's text, in one line.
    fn text(&self, span: Span) -> String {
        self.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, kind: BoxKind, title: &str, detail: &str, whole: &str) -> usize {
        let whole = if whole.is_empty() { title } else { whole };
        self.chart.boxes.push(ChartBox {
            kind,
            title: cut(title, WIDEST),
            detail: cut(detail, WIDEST),
            whole: whole.to_owned(),
            place: String::new(),
        });
        self.chart.boxes.len() - 1
    }

    /// Says where what a box stands for is.
    fn put(&mut self, at: usize, span: Span) {
        let (file, line, column) = self.sources.place(span.start);
        self.chart.boxes[at].place = format!("{file}:{line}:{column}");
    }

    fn arrow(&mut self, from: usize, to: usize, label: &str) {
        if let Some(known) = self.chart.arrows.iter_mut().find(|arrow| arrow.from == from && arrow.to == to) {
            known.label = cut(&format!("{}, {label}", known.label), LABEL);
            return;
        }
        self.chart.arrows.push(Arrow { from, to, label: cut(label, LABEL) });
    }

    fn join(&mut self, loose: Loose, to: usize) {
        loose.into_iter().for_each(|(from, label)| self.arrow(from, to, &label));
    }

    /// A box that all these ways lead to.
    fn follow(&mut self, loose: Loose, kind: BoxKind, title: &str, detail: &str, whole: &str) -> usize {
        let at = self.add(kind, title, detail, whole);
        self.join(loose, at);
        at
    }

    fn block(&mut self, inst: InstId, id: BlockId) {
        let (program, block) = (self.program, &self.program.blocks[id]);
        let name = &program.instances[inst].public.0;
        let what = if block.is_parser { "parser" } else { "control" };
        self.chart.heading = if **name == *block.name { format!("{what} {name}") } else { format!("{what} {} ({name})", block.name) };
        if block.is_parser {
            return self.states(id);
        }
        let start = self.add(BoxKind::End, "in", "", "");
        let mut loose = self.stmts(&block.body, vec![(start, String::new())]);
        loose.append(&mut self.left);
        self.follow(loose, BoxKind::End, "out", "", "");
    }

    fn states(&mut self, id: BlockId) {
        let block = &self.program.blocks[id];
        for state in &block.states {
            let lines: Vec<String> = state.body.iter().map(|stmt| self.text(stmt.span)).collect();
            let extracted: Vec<String> = state.body.iter().filter_map(|stmt| self.extracted(stmt)).collect();
            let detail = if extracted.is_empty() { lines.first().cloned().unwrap_or_default() } else { extracted.join(", ") };
            let at = self.add(BoxKind::Plain, &state.name, &detail, &lines.join("\n"));
            self.put(at, state.span);
        }
        let mut ends: HashMap<bool, usize> = HashMap::new();
        for (n, state) in block.states.iter().enumerate() {
            let ways: Vec<(String, Target)> = match &state.next {
                Next::To(target) => vec![(String::new(), *target)],
                Next::Select(_, cases) => cases.iter().map(|(sets, target)| (self.case(sets), *target)).collect(),
            };
            for (label, target) in ways {
                let to = match target {
                    Target::State(to) => to,
                    end => *ends.entry(end == Target::Accept).or_insert_with(|| {
                        let name = if end == Target::Accept { "accept" } else { "reject" };
                        self.chart.boxes.push(ChartBox {
                            kind: BoxKind::End,
                            title: name.to_owned(),
                            detail: String::new(),
                            whole: name.to_owned(),
                            place: String::new(),
                        });
                        self.chart.boxes.len() - 1
                    }),
                };
                self.arrow(n, to, &label);
            }
        }
    }

    /// What a statement extracts, and the parsers that it applies.
    fn extracted(&mut self, stmt: &Stmt) -> Option<String> {
        let StmtKind::Call(Expr { kind: ExprKind::Call { callee, args, .. }, .. }) = &stmt.kind else { return None };
        match callee {
            Callee::Method(_, f) if &*self.program.functions[*f].name == "extract" => args.first()?.as_ref().map(|arg| self.text(arg.span)),
            Callee::Block(object) => {
                self.apply(object);
                Some(self.text(stmt.span))
            }
            _ => None,
        }
    }

    fn case(&self, sets: &[Expr]) -> String {
        let one = |set: &Expr| match set.kind {
            ExprKind::Everything | ExprKind::Default => "default".to_owned(),
            _ => self.text(set.span),
        };
        sets.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn apply(&mut self, object: &Expr) {
        let (ExprKind::Instance(inst) | ExprKind::Call { callee: Callee::Construct(inst), .. }) = object.kind else { return };
        if let Type::Block(block) = self.program.instances[inst].ty {
            self.applied.push((inst, block));
        }
    }

    /// Statements behind those ways; the ways that go on behind them.
    fn stmts(&mut self, all: &[Stmt], mut loose: Loose) -> Loose {
        let mut row: Vec<&Stmt> = Vec::new();
        for stmt in all {
            if self.is_plain(stmt) {
                row.push(stmt);
                continue;
            }
            loose = self.row(&mut row, loose);
            if loose.is_empty() {
                return loose;
            }
            loose = self.stmt(stmt, loose);
        }
        self.row(&mut row, loose)
    }

    /// Whether a statement goes into a box with others.
    fn is_plain(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Var(..) | StmtKind::Assign(..) | StmtKind::Update(..) => true,
            StmtKind::Call(Expr { kind: ExprKind::Call { callee, .. }, .. }) => !matches!(callee, Callee::Table(_) | Callee::Block(_)),
            _ => false,
        }
    }

    /// Statements in a row.
    fn row(&mut self, row: &mut Vec<&Stmt>, loose: Loose) -> Loose {
        let lines: Vec<String> = row.drain(..).map(|stmt| self.text(stmt.span)).collect();
        if lines.is_empty() || loose.is_empty() {
            return loose;
        }
        let detail = if lines.len() > 1 { format!("and {} more", lines.len() - 1) } else { String::new() };
        let at = self.follow(loose, BoxKind::Plain, &lines[0], &detail, &lines.join("\n"));
        vec![(at, String::new())]
    }

    fn stmt(&mut self, stmt: &Stmt, loose: Loose) -> Loose {
        match &stmt.kind {
            StmtKind::Call(Expr { kind: ExprKind::Call { callee, .. }, span, .. }) => match callee {
                Callee::Table(table) => vec![(self.table(*table, loose), String::new())],
                Callee::Block(object) => {
                    self.apply(object);
                    let text = self.text(*span);
                    vec![(self.follow(loose, BoxKind::Whole, &text, "", ""), String::new())]
                }
                _ => loose,
            },
            StmtKind::If(condition, yes, no) => self.branch(condition, yes, no, loose),
            StmtKind::Block(inner) => self.stmts(inner, loose),
            StmtKind::Return(_) | StmtKind::Exit => {
                self.left.extend(loose);
                Vec::new()
            }
            StmtKind::SwitchAction(table, cases) => {
                let at = self.table(*table, loose);
                let actions = &self.program.tables[*table].actions;
                let name = |label: &Option<usize>| match label.and_then(|n| actions.get(n)) {
                    Some(action) => self.program.functions[action.action].name.to_string(),
                    None => "default".to_owned(),
                };
                let named =
                    cases.iter().map(|(labels, body)| (labels.iter().map(name).collect::<Vec<_>>().join(", "), body.as_slice())).collect();
                self.cases(at, named)
            }
            StmtKind::Switch(value, cases) => {
                let text = format!("switch {}", self.text(value.span));
                let at = self.follow(loose, BoxKind::Plain, &text, "", "");
                let label = |label: &Option<Expr>| label.as_ref().map_or_else(|| "default".to_owned(), |e| self.text(e.span));
                let named =
                    cases.iter().map(|(labels, body)| (labels.iter().map(label).collect::<Vec<_>>().join(", "), body.as_slice())).collect();
                self.cases(at, named)
            }
            StmtKind::For { body, .. } | StmtKind::ForRange { body, .. } | StmtKind::ForIn { body, .. } => self.rounds(stmt, body, loose),
            StmtKind::Break | StmtKind::Continue => {
                if let Some((ended, next)) = self.loops.last_mut() {
                    if matches!(stmt.kind, StmtKind::Break) { ended.extend(loose) } else { next.extend(loose) }
                }
                Vec::new()
            }
            StmtKind::Var(..) | StmtKind::Assign(..) | StmtKind::Update(..) | StmtKind::Call(_) => loose,
        }
    }

    fn branch(&mut self, condition: &Expr, yes: &[Stmt], no: &[Stmt], loose: Loose) -> Loose {
        let (at, labels) = match &condition.kind {
            ExprKind::Hit(table, hit) => (self.table(*table, loose), if *hit { ["hit", "miss"] } else { ["miss", "hit"] }),
            _ => {
                let text = self.text(condition.span);
                let at = self.follow(loose, BoxKind::Plain, &format!("{} ?", cut(&text, WIDEST - 2)), "", &text);
                self.put(at, condition.span);
                (at, ["yes", "no"])
            }
        };
        let mut out = self.stmts(yes, vec![(at, labels[0].to_owned())]);
        out.extend(self.stmts(no, vec![(at, labels[1].to_owned())]));
        out
    }

    fn cases(&mut self, at: usize, cases: Vec<(String, &[Stmt])>) -> Loose {
        let mut out = Vec::new();
        let has_default = cases.iter().any(|(label, _)| label.ends_with("default"));
        for (label, body) in cases {
            out.extend(self.stmts(body, vec![(at, label)]));
        }
        if !has_default {
            out.push((at, "default".to_owned()));
        }
        out
    }

    fn rounds(&mut self, stmt: &Stmt, body: &[Stmt], loose: Loose) -> Loose {
        let text = self.text(stmt.span);
        let head = text.split('{').next().unwrap_or_default().trim().to_owned();
        let at = self.follow(loose, BoxKind::Plain, &head, "", "");
        self.loops.push((Vec::new(), Vec::new()));
        let mut round = self.stmts(body, vec![(at, "round".to_owned())]);
        let (ended, next) = self.loops.pop().unwrap_or_default();
        round.extend(next);
        self.join(round, at);
        std::iter::once((at, "done".to_owned())).chain(ended).collect()
    }

    fn table(&mut self, id: TableId, loose: Loose) -> usize {
        let (program, table) = (self.program, &self.program.tables[id]);
        let keys: Vec<String> = table.keys.iter().map(|key| format!("{} {}", self.text(key.value.span), key.kind)).collect();
        let actions: Vec<&str> = table.actions.iter().map(|action| &*program.functions[action.action].name).collect();
        let whole = format!("table {}\nkeys: {}\nactions: {}", table.public.0, keys.join(", "), actions.join(", "));
        let detail = if keys.is_empty() { actions.join(", ") } else { keys.join(", ") };
        let at = self.follow(loose, BoxKind::Whole, &format!("table {}", table.public.0), &detail, &whole);
        self.put(at, table.span);
        at
    }
}
