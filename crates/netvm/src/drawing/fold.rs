//! What is drawn side by side: panels of boxes and lines.
//!
//! A configuration is one panel with all its elements, if that is no wider than a screen. Otherwise
//! each compound element is one box, and compounds that are alike and have the same neighbours are
//! one box together if that is still too wide; what is in them is a panel of its own, made in the
//! same way, in which small boxes stand for what is outside. A panel for several compounds has the
//! names and arguments of the first, and the packets of all.

use super::{Drawing, Element, Line};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// From how many compounds that are alike one box is made.
const ALIKE: usize = 3;

/// A picture by itself.
pub(super) struct Panel {
    /// What it shows; empty for the configuration itself.
    pub heading: String,
    pub shapes: Vec<PanelBox>,
    pub joins: Vec<Join>,
}

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Element,
    Compound,
    /// Something outside of the compound that the panel shows.
    Outside,
}

/// A box.
pub(super) struct PanelBox {
    pub kind: Kind,
    pub title: String,
    pub short: String,
    pub tooltip: String,
    pub drops: u64,
    /// The labels of its inputs, and of its outputs, from left to right; none of them where they
    /// need none.
    pub ports: [Vec<String>; 2],
}

/// A line from a box's output to a box's input.
pub(super) struct Join {
    /// Box, and which of its ports from the left.
    pub ends: [(usize, usize); 2],
    pub pulled: bool,
    pub back: bool,
    pub packets: u64,
}

/// A compound, or the whole configuration: the prefix of its elements' names, and their numbers.
#[derive(Clone)]
struct Scope {
    prefix: String,
    members: Vec<usize>,
}

/// How much of a scope one panel shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Elements,
    Compounds,
    Alike,
}

/// The panels of a drawing; `fits` says whether one is narrow enough.
pub(super) fn panels(drawing: &Drawing, fits: &dyn Fn(&Panel) -> bool) -> Vec<Panel> {
    let all = Scope { prefix: String::new(), members: (0..drawing.boxes.len()).collect() };
    let mut out = Vec::new();
    add(drawing, &[all], String::new(), fits, &mut out);
    out
}

/// Adds the panel of scopes that are alike, and those of the compounds in it.
fn add(drawing: &Drawing, scopes: &[Scope], heading: String, fits: &dyn Fn(&Panel) -> bool, out: &mut Vec<Panel>) {
    let inner = clusters(drawing, scopes);
    let make = |detail| panel(drawing, scopes, &heading, detail, &inner);
    let open = make(Detail::Elements);
    if drawing.expand || inner.is_empty() || fits(&open) {
        out.push(open);
        return;
    }
    let folded = make(Detail::Compounds);
    out.push(if fits(&folded) { folded } else { make(Detail::Alike) });
    for cluster in inner {
        let names: Vec<&str> = cluster.iter().map(|scope| scope.prefix.trim_end_matches('/')).collect();
        let class = class_of(drawing, names[0]);
        let heading = match names[..] {
            [only] => format!("In {only} :: {class}"),
            [first, second] => format!("In {first} and {second} :: {class}, which are alike; arguments of {first}"),
            [first, .., last] => format!("In {first} … {last} :: {class}, {} that are alike; arguments of {first}", names.len()),
            [] => String::new(),
        };
        add(drawing, &cluster, heading, fits, out);
    }
}

fn class_of<'d>(drawing: &'d Drawing, compound: &str) -> &'d str {
    drawing.compounds.get(compound).map(String::as_str).filter(|class| !class.is_empty()).unwrap_or("{…}")
}

/// The outermost compound around an element that is not around the scope itself.
fn compound<'n>(drawing: &Drawing, prefix: &str, name: &'n str) -> Option<&'n str> {
    let ends = name.match_indices('/').map(|(at, _)| at);
    ends.map(|at| &name[..at]).find(|outer| drawing.compounds.contains_key(*outer) && !prefix.starts_with(&format!("{outer}/")))
}

/// The compounds right in scopes, those together that are alike inside and outside, in the order of
/// their first elements.
fn clusters(drawing: &Drawing, scopes: &[Scope]) -> Vec<Vec<Scope>> {
    let (mut found, mut order): (HashMap<String, Scope>, Vec<String>) = (HashMap::new(), Vec::new());
    for scope in scopes {
        for member in &scope.members {
            let Some(name) = compound(drawing, &scope.prefix, &drawing.boxes[*member].name) else { continue };
            let entry = found.entry(name.to_owned()).or_insert_with(|| {
                order.push(name.to_owned());
                Scope { prefix: format!("{name}/"), members: Vec::new() }
            });
            entry.members.push(*member);
        }
    }
    let (mut at, mut clusters): (HashMap<String, usize>, Vec<Vec<Scope>>) = (HashMap::new(), Vec::new());
    for scope in order.iter().filter_map(|name| found.remove(name)) {
        let likeness = likeness(drawing, &scope);
        let cluster = *at.entry(likeness).or_insert(clusters.len());
        if cluster == clusters.len() {
            clusters.push(Vec::new());
        }
        clusters[cluster].push(scope);
    }
    clusters
}

/// What compounds that are alike have in common: class, elements, connections and neighbours.
fn likeness(drawing: &Drawing, scope: &Scope) -> String {
    let inside: BTreeMap<u32, &str> =
        scope.members.iter().map(|n| (*n as u32, drawing.boxes[*n].name.strip_prefix(&scope.prefix).unwrap_or_default())).collect();
    let mut parts: BTreeSet<String> =
        scope.members.iter().map(|n| format!("{} :: {}", inside[&(*n as u32)], drawing.boxes[*n].class)).collect();
    for line in &drawing.lines {
        let ends = [line.from, line.to].map(|end| match inside.get(&end.instance) {
            Some(name) => (true, format!("{name}[{}]", end.port)),
            None => (false, outside(drawing, scope, end.instance as usize).to_owned()),
        });
        if ends.iter().any(|(inside, _)| *inside) {
            parts.insert(format!("{} -> {}", ends[0].1, ends[1].1));
        }
    }
    format!("{}\n{parts:?}", class_of(drawing, scope.prefix.trim_end_matches('/')))
}

/// The name under which a scope knows an element outside of it.
fn outside<'d>(drawing: &'d Drawing, scope: &Scope, element: usize) -> &'d str {
    let name = drawing.boxes[element].name.as_str();
    compound(drawing, &scope.prefix, name).unwrap_or(name)
}

/// A connection that is to be drawn: boxes with their ports.
struct Wire {
    ends: [(usize, Option<u32>); 2],
    line: Line,
}

/// Connections that are drawn as one line.
struct Bundle {
    shapes: [usize; 2],
    /// The elements' ports at both ends.
    ports: [BTreeSet<u32>; 2],
    join: Join,
}

/// A panel that is being made.
struct Maker<'d> {
    drawing: &'d Drawing,
    detail: Detail,
    /// Which compounds are one box: the name of the first.
    first: HashMap<&'d str, usize>,
    clusters: &'d [Vec<Scope>],
    shapes: Vec<PanelBox>,
    /// Boxes that stand for several compounds.
    several: BTreeSet<usize>,
    places: HashMap<String, usize>,
    wires: Vec<Wire>,
}

fn panel(drawing: &Drawing, scopes: &[Scope], heading: &str, detail: Detail, clusters: &[Vec<Scope>]) -> Panel {
    let names = |(at, cluster): (usize, &'_ Vec<Scope>)| cluster.iter().map(|s| s.prefix.clone()).map(|s| (s, at)).collect::<Vec<_>>();
    let owned: Vec<(String, usize)> = clusters.iter().enumerate().flat_map(names).collect();
    let first = owned.iter().map(|(name, at)| (name.trim_end_matches('/'), *at)).collect();
    let mut maker =
        Maker { drawing, detail, first, clusters, shapes: Vec::new(), several: BTreeSet::new(), places: HashMap::new(), wires: Vec::new() };
    scopes.iter().for_each(|scope| maker.scope(scope));
    maker.finish(heading.to_owned())
}

impl Maker<'_> {
    fn scope(&mut self, scope: &Scope) {
        let places: BTreeMap<u32, (usize, bool)> = scope.members.iter().map(|n| (*n as u32, self.member(scope, *n))).collect();
        for line in &self.drawing.lines {
            let known = [line.from, line.to].map(|end| places.get(&end.instance).copied());
            let ends = match known {
                [None, None] => continue,
                [Some((from, false)), Some((to, false))] if from == to => continue,
                [from, to] => [self.end(scope, line.from, from, "from"), self.end(scope, line.to, to, "to")],
            };
            self.wires.push(Wire { ends, line: *line });
        }
    }

    /// The box of an element, and whether it is the element itself.
    fn member(&mut self, scope: &Scope, element: usize) -> (usize, bool) {
        let drawing = self.drawing;
        let its = &drawing.boxes[element];
        let folded = if self.detail == Detail::Elements { None } else { compound(drawing, &scope.prefix, &its.name) };
        let relative = |name: &str| name.strip_prefix(&scope.prefix).unwrap_or(name).to_owned();
        let place = match folded {
            Some(name) => self.compound(name, &relative(name)),
            None => self.place(format!("= {}", relative(&its.name)), || PanelBox::of(its, relative(&its.name))),
        };
        self.shapes[place].drops += its.drops;
        (place, folded.is_none())
    }

    fn compound(&mut self, name: &str, relative: &str) -> usize {
        let class = class_of(self.drawing, name);
        let several = self.first.get(name).map(|at| &self.clusters[*at]).filter(|all| self.detail == Detail::Alike && all.len() >= ALIKE);
        let Some(several) = several else {
            return self.place(format!("+ {relative}"), || PanelBox::new(Kind::Compound, format!("{relative} :: {class}")));
        };
        let names = several.iter().map(|scope| scope.prefix.trim_end_matches('/')).collect::<Vec<_>>();
        let (first, last) = (names[0], names[names.len() - 1]);
        let text = format!("{first} … {last} :: {class}");
        let (tooltip, short) = (names.join(", "), format!("{} elements that are alike", names.len()));
        let place = self.place(format!("* {first}"), || PanelBox { tooltip, short, ..PanelBox::new(Kind::Compound, text) });
        self.several.insert(place);
        place
    }

    fn end(&mut self, scope: &Scope, end: netil::app::End, known: Option<(usize, bool)>, word: &str) -> (usize, Option<u32>) {
        match known {
            Some((place, true)) => (place, Some(end.port)),
            Some((place, false)) => (place, None),
            None => {
                let name = outside(self.drawing, scope, end.instance as usize);
                (self.place(format!("{word} {name}"), || PanelBox::new(Kind::Outside, format!("{word} {name}"))), None)
            }
        }
    }

    fn place(&mut self, key: String, make: impl FnOnce() -> PanelBox) -> usize {
        let next = self.shapes.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.shapes.push(make());
        }
        place
    }

    /// Connections with the same ends become one line, and each box gets its ports.
    fn finish(self, heading: String) -> Panel {
        let Self { mut shapes, several, wires, .. } = self;
        let mut lines: Vec<Bundle> = Vec::new();
        let mut found = HashMap::new();
        for wire in &wires {
            let [from, to] = wire.ends;
            let together = several.contains(&from.0) || several.contains(&to.0);
            let ports = if together { [None, None] } else { [from.1, to.1] };
            let at = *found.entry(([from.0, to.0], ports, wire.line.pulled, wire.line.back)).or_insert(lines.len());
            if at == lines.len() {
                let Line { pulled, back, .. } = wire.line;
                let join = Join { ends: [(0, 0); 2], pulled, back, packets: 0 };
                lines.push(Bundle { shapes: [from.0, to.0], ports: Default::default(), join });
            }
            let Bundle { ports, join, .. } = &mut lines[at];
            ports[0].extend(from.1);
            ports[1].extend(to.1);
            join.packets += wire.line.packets;
        }
        for side in 0..2 {
            ports(&mut shapes, &mut lines, side);
        }
        Panel { heading, shapes, joins: lines.into_iter().map(|bundle| bundle.join).collect() }
    }
}

/// Gives the boxes their ports for one end of the lines, and the lines theirs. An element's ports
/// stand in order; a compound has one for each line.
fn ports(shapes: &mut [PanelBox], lines: &mut [Bundle], side: usize) {
    let mut all: BTreeMap<usize, BTreeMap<(u32, usize), Vec<usize>>> = BTreeMap::new();
    for (n, Bundle { shapes: ends, ports, .. }) in lines.iter().enumerate() {
        // What is the same port of an element is the same port here; sets of ports are told apart
        // by their lines.
        let key = match ports[side].first() {
            Some(port) if ports[side].len() == 1 => (*port, 0),
            Some(port) => (*port, n + 1),
            None if shapes[ends[side]].kind == Kind::Outside => (0, 0),
            None => (0, n + 1),
        };
        all.entry(ends[side]).or_default().entry(key).or_default().push(n);
    }
    for (shape, slots) in all {
        let numbered = shapes[shape].kind == Kind::Element && slots.keys().any(|(port, several)| *port > 0 || *several > 0);
        for (slot, members) in slots.values().enumerate() {
            let label = members.first().filter(|_| numbered).map(|n| ranges(&lines[*n].ports[side]));
            shapes[shape].ports[1 - side].push(label.unwrap_or_default());
            members.iter().for_each(|n| lines[*n].join.ends[side] = (shape, slot));
        }
    }
}

/// Numbers as `1–4, 7`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *n => *last = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let shown = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}–{last}") };
    runs.iter().map(shown).collect::<Vec<_>>().join(", ")
}

impl PanelBox {
    fn new(kind: Kind, title: String) -> Self {
        let title = super::shortened(&title, super::WIDEST + 10);
        Self { kind, tooltip: title.clone(), title, short: String::new(), drops: 0, ports: Default::default() }
    }

    fn of(element: &Element, name: String) -> Self {
        let tooltip = format!("{} :: {}({})", element.name, element.class, element.full);
        let title = Element { name, ..element.clone() }.title();
        Self { tooltip, short: element.short.clone(), ..Self::new(Kind::Element, title) }
    }
}
