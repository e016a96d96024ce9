//! A filter as a picture: its terms from top to bottom, where the filter goes from each, and how
//! often it went there.
//!
//! Plain SVG 1.1 that every viewer shows: no style sheets, variables, scripts, markers or fonts of
//! its own. Ways down to the next term go straight; others run beside the terms, those of terms
//! that hold to the right, the others to the left. Those to one verdict share a lane, and every
//! other has a lane in which no other way runs beside it. With counts the lines are as wide as the
//! share of packets that went that way.

use netvm::frontends::pcap_filter::explain::{Goal, Step};
use std::fmt::Write as _;

/// More terms are no picture.
pub(super) const MOST: usize = 200;

/// What is drawn of a term.
pub(super) struct Drawn {
    pub step: Step,
    /// The term as written.
    pub source: String,
    /// The term in words.
    pub words: String,
    /// Packets for which it held, for which it did not, and which it rejected; if packets were
    /// counted.
    pub counts: Option<[u64; 3]>,
}

const BOX: i64 = 340;
const HEIGHT: i64 = 44;
const GAP: i64 = 34;
const TOP: i64 = 46;
const LANE: i64 = 14;
/// Characters of a line of a box.
const SOURCE: usize = 42;
const WORDS: usize = 56;
const HELD: &str = "#1a7f37";
const FAILED: &str = "#b42318";
const INK: &str = "#1f2328";

/// One way from a term, beside the others.
#[derive(Clone, Copy)]
struct TermEdge {
    from: usize,
    /// The row that it leads to; the last one has the verdicts.
    to: usize,
    goal: Goal,
    held: bool,
    count: Option<u64>,
    lane: i64,
}

/// Draws a filter; `packets` is how many were counted.
pub(super) fn draw(title: &str, terms: &[Drawn], packets: Option<u64>) -> String {
    let mut ways = ways(terms);
    let lanes = [lay(&mut ways, false), lay(&mut ways, true)];
    let left = 20 + lanes[0] * LANE + 60;
    let width = left + BOX + 60 + lanes[1] * LANE + 20;
    let bottom = TOP + row(terms.len()) + HEIGHT + 20;
    let mut svg = Svg { out: String::new(), left, packets, rows: terms.len() };
    svg.begin(width, bottom, title);
    ways.iter().for_each(|way| svg.way(way));
    terms.iter().enumerate().for_each(|(at, term)| svg.term(at, term));
    svg.verdicts(terms.is_empty(), packets);
    svg.out.push_str("</svg>\n");
    svg.out
}

fn row(at: usize) -> i64 {
    i64::try_from(at).unwrap_or(0) * (HEIGHT + GAP)
}

fn ways(terms: &[Drawn]) -> Vec<TermEdge> {
    let mut ways = Vec::new();
    for (from, term) in terms.iter().enumerate() {
        for (goal, held) in [(term.step.held, true), (term.step.failed, false)] {
            let to = if let Goal::Step(to) = goal { to } else { terms.len() };
            let count = term.counts.map(|counts| counts[usize::from(!held)]);
            ways.push(TermEdge { from, to, goal, held, count, lane: 0 });
        }
    }
    ways
}

/// Gives the ways of one side lanes, short ones near the terms, those to one verdict one together;
/// how many there are.
fn lay(ways: &mut [TermEdge], held: bool) -> i64 {
    let mut bundles: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    for at in (0..ways.len()).filter(|&at| ways[at].held == held && !straight(&ways[at])) {
        let TermEdge { from, to, goal, .. } = ways[at];
        let same = |bundle: &&mut (usize, usize, Vec<usize>)| ways[bundle.2[0]].goal == goal && !matches!(goal, Goal::Step(_));
        match bundles.iter_mut().find(same) {
            Some(bundle) => bundle.2.push(at),
            None => bundles.push((from, to, vec![at])),
        }
    }
    bundles.sort_by_key(|(from, to, _)| (to - from, *from));
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    for (from, to, bundle) in bundles {
        let is_free = |lane: &Vec<(usize, usize)>| lane.iter().all(|&(a, b)| to < a || b < from);
        let lane = taken.iter().position(is_free).unwrap_or_else(|| {
            taken.push(Vec::new());
            taken.len() - 1
        });
        taken[lane].push((from, to));
        bundle.into_iter().for_each(|at| ways[at].lane = i64::try_from(lane).unwrap_or(0) + 1);
    }
    i64::try_from(taken.len()).unwrap_or(0)
}

/// Down to the next term.
fn straight(way: &TermEdge) -> bool {
    way.to == way.from + 1 && matches!(way.goal, Goal::Step(_))
}

struct Svg {
    out: String,
    left: i64,
    packets: Option<u64>,
    rows: usize,
}

impl Svg {
    fn begin(&mut self, width: i64, height: i64, title: &str) {
        let _ = write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(title)
        );
        let shown = shortened(title, usize::try_from(width / 8).unwrap_or(40));
        self.text(width / 2, 24, "middle", INK, 14, &shown);
    }

    fn text(&mut self, x: i64, y: i64, anchor: &str, fill: &str, size: u8, text: &str) {
        let text = escaped(text);
        let _ = writeln!(self.out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{fill}\" font-size=\"{size}\">{text}</text>");
    }

    fn boxed(&mut self, (x, y, width): (i64, i64, i64), fill: &str, stroke: &str) {
        let _ = writeln!(
            self.out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"{stroke}\"/>"
        );
    }

    fn term(&mut self, at: usize, term: &Drawn) {
        let (y, middle) = (TOP + row(at), self.left + BOX / 2);
        self.boxed((self.left, y, BOX), "#f6f8fa", "#57606a");
        self.text(middle, y + 18, "middle", INK, 13, &shortened(&term.source, SOURCE));
        self.text(middle, y + 34, "middle", "#57606a", 11, &shortened(&term.words, WORDS));
        if let Some([_, _, rejected]) = term.counts.filter(|counts| counts[2] > 0) {
            self.text(self.left + BOX + 6, y + HEIGHT + 12, "start", FAILED, 11, &format!("rejected {rejected}"));
        }
    }

    /// Where the two verdicts stand: the middle of their boxes.
    fn verdict(&self, accept: bool) -> i64 {
        self.left + if accept { BOX * 3 / 4 } else { BOX / 4 }
    }

    fn verdicts(&mut self, empty: bool, packets: Option<u64>) {
        let y = TOP + row(self.rows);
        let rejects: &[bool] = if empty { &[true] } else { &[false, true] };
        for &accept in rejects {
            let (name, fill, stroke) = if accept { ("accept", "#dafbe1", HELD) } else { ("reject", "#ffebe9", FAILED) };
            let x = self.verdict(accept);
            self.boxed((x - 70, y, 140), fill, stroke);
            self.text(x, y + 27, "middle", INK, 13, name);
        }
        if let Some(packets) = packets {
            self.text(self.left, 40, "start", "#57606a", 11, &format!("{packets} packets"));
        }
    }

    fn way(&mut self, way: &TermEdge) {
        let color = if way.held { HELD } else { FAILED };
        let (y, next) = (TOP + row(way.from), TOP + row(way.to));
        let label = match way.count {
            Some(count) => format!("{} {count}", if way.held { "yes" } else { "no" }),
            None => if way.held { "yes" } else { "no" }.to_owned(),
        };
        if straight(way) {
            let x = self.left + BOX / 2 + if way.held { 30 } else { -30 };
            self.line(way, color, &format!("{x},{} {x},{}", y + HEIGHT, next - 7));
            self.head(color, (x, next), (0, 1));
            let (x, anchor) = if way.held { (x + 8, "start") } else { (x - 8, "end") };
            return self.text(x, y + HEIGHT + 20, anchor, color, 11, &label);
        }
        let side = if way.held { 1 } else { -1 };
        let edge = if way.held { self.left + BOX } else { self.left };
        let lane = edge + side * (46 + way.lane * LANE);
        let anchor = if way.held { "start" } else { "end" };
        self.text(edge + side * 6, y + HEIGHT / 2 + 13, anchor, color, 11, &label);
        let begin = format!("{edge},{0} {lane},{0}", y + HEIGHT / 2);
        if let Goal::Step(_) = way.goal {
            let (end, aim) = (next + 8, edge + side * 7);
            self.line(way, color, &format!("{begin} {lane},{end} {aim},{end}"));
            return self.head(color, (edge, end), (-side, 0));
        }
        let target = self.verdict(way.goal == Goal::Accept);
        let above = next - 8 - 4 * i64::from(way.held);
        let x = target + side * 20;
        self.line(way, color, &format!("{begin} {lane},{above} {x},{above} {x},{}", next - 1));
        self.head(color, (x, next), (0, 1));
    }

    fn line(&mut self, way: &TermEdge, color: &str, points: &str) {
        let share = match (way.count, self.packets) {
            (Some(count), Some(packets)) if packets > 0 => count as f64 / packets as f64,
            _ => 0.125,
        };
        let dash = if way.count == Some(0) { " stroke-dasharray=\"3 3\"" } else { "" };
        let width = 1.0 + 4.0 * share;
        let _ = writeln!(self.out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width:.1}\"{dash}/>");
    }

    /// The head of an arrow that ends there and points that way.
    fn head(&mut self, color: &str, (x, y): (i64, i64), (dx, dy): (i64, i64)) {
        let (bx, by) = (x - 8 * dx, y - 8 * dy);
        let (one, other) = ((bx + 4 * dy, by + 4 * dx), (bx - 4 * dy, by - 4 * dx));
        let _ = writeln!(self.out, "<polygon points=\"{x},{y} {},{} {},{}\" fill=\"{color}\"/>", one.0, one.1, other.0, other.1);
    }
}

/// At most so many characters, white space as single blanks.
fn shortened(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Text of XML; characters that it cannot have become blanks.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
