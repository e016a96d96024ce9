//! Drawings as SVG. Colours are attributes, which every viewer knows; where the viewer knows of
//! light and dark schemes, rules for dark ones replace them. The text of configurations is escaped,
//! and nothing in the picture runs.

use super::curve::{Curve, HEAD, curves};
use super::fold::{Join, Kind, Panel, PanelBox, panels};
use super::labels::{self, Area};
use super::layers::{Edge, Layout, layout};
use super::{Drawing, escaped};
use std::collections::HashSet;
use std::fmt::Write as _;

/// A character of the monospaced font of 12 and of 10 pixels, and a line of the former.
const LETTER: f64 = 7.25;
const SMALL: f64 = 6.05;
const LINE: f64 = 16.0;
/// A line of a label.
const LABEL: f64 = 11.0;
/// Around the text of a box.
const MARGIN: (f64, f64) = (12.0, 8.0);
/// The least distance between ports.
const PORTS: f64 = 22.0;
/// The widest picture that is read on a screen without being made smaller.
const SCREEN: f64 = 1400.0;
/// Boxes beyond which a panel is not tried whether it fits.
const MANY: usize = 300;
/// Space between layers, the next where labels find no place with the one before.
const GAPS: [f64; 5] = [52.0, 76.0, 104.0, 144.0, 200.0];

/// What is painted: its class, its attributes, and the same in a dark scheme as rules.
const PAINTS: [(&str, &str, &str); 14] = [
    ("paper", "fill=\"#ffffff\"", "fill: #0d1117"),
    ("box", "fill=\"#f6f8fa\" stroke=\"#818b98\"", "fill: #161b22; stroke: #6e7681"),
    ("compound", "fill=\"#ddf4ff\" stroke=\"#54aeff\" stroke-width=\"1.5\"", "fill: #0c2d4a; stroke: #388bfd"),
    ("outside", "fill=\"none\" stroke=\"#818b98\" stroke-dasharray=\"2 3\"", "stroke: #6e7681"),
    ("title", "font-weight=\"600\" fill=\"#1f2328\"", "fill: #e6edf3"),
    ("small", "font-size=\"10\" fill=\"#59636e\"", "fill: #9198a1"),
    ("lost", "font-size=\"10\" fill=\"#cf222e\"", "fill: #ff7b72"),
    ("count", "font-size=\"10\" fill=\"#1f2328\"", "fill: #e6edf3"),
    ("push", "stroke=\"#0969da\"", "stroke: #58a6ff"),
    ("pull", "stroke=\"#1a7f37\" stroke-dasharray=\"6 4\"", "stroke: #3fb950"),
    ("back", "stroke=\"#bc4c00\"", "stroke: #f0883e"),
    ("head-push", "fill=\"#0969da\" stroke=\"none\"", "fill: #58a6ff"),
    ("head-pull", "fill=\"#1a7f37\" stroke=\"none\"", "fill: #3fb950"),
    ("head-back", "fill=\"#bc4c00\" stroke=\"none\"", "fill: #f0883e"),
];

/// A class with its attributes.
fn paint(class: &str) -> String {
    let attributes = PAINTS.iter().find(|(name, _, _)| *name == class).map_or("", |(_, attributes, _)| attributes);
    format!("class=\"{class}\" {attributes}")
}

fn dark() -> String {
    let rules: Vec<String> = PAINTS.iter().map(|(class, _, rules)| format!("      .{class} {{ {rules}; }}")).collect();
    format!("  <style>\n    @media (prefers-color-scheme: dark) {{\n{}\n    }}\n  </style>\n", rules.join("\n"))
}

pub(super) fn write(drawing: &Drawing) -> String {
    let fits = |panel: &Panel| panel.shapes.len() <= MANY && arranged(panel, GAPS[0]).size.0 <= SCREEN;
    let labelled = |panel: Panel| {
        let labels = panel.joins.iter().map(|join| drawing.label(join.packets)).collect();
        (panel, labels)
    };
    let panels: Vec<_> = panels(drawing, &fits).into_iter().map(labelled).collect();
    picture(&panels, &legend(drawing))
}

/// Panels one below the other, with the labels of their lines, and lines of text below.
pub(super) fn picture(panels: &[(Panel, Vec<Vec<String>>)], legend: &[String]) -> String {
    let mut body = String::new();
    let (mut width, mut height) = (120.0f64, 0.0);
    for (panel, labels) in panels {
        if !panel.heading.is_empty() {
            let _ =
                writeln!(body, "  <text {} x=\"10\" y=\"{:.1}\">{}</text>", paint("title"), height + LINE * 1.5, escaped(&panel.heading));
            height += LINE * 2.0;
        }
        let (text, size) = drawn(panel, labels);
        let _ = write!(body, "  <g transform=\"translate(0 {height:.1})\">\n{text}  </g>\n");
        (width, height) = (width.max(size.0), height + size.1);
    }
    let width = width.max(legend.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * SMALL + 20.0).ceil();
    for line in legend {
        height += LINE;
        let _ = writeln!(body, "  <text {} x=\"10\" y=\"{:.1}\">{}</text>", paint("small"), height - 4.0, escaped(line));
    }
    let height = (height + LINE * 0.5).ceil();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"12\">\n{}  <rect {} width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n",
        dark(),
        paint("paper"),
    )
}

fn arranged(panel: &Panel, gap: f64) -> Layout {
    let sizes: Vec<(f64, f64)> = panel.shapes.iter().map(size).collect();
    let edges: Vec<Edge> = panel.joins.iter().map(|join| edge(panel, join)).collect();
    layout(&sizes, &edges, gap)
}

/// A panel's picture, and its size.
fn drawn(panel: &Panel, labels: &[Vec<String>]) -> (String, (f64, f64)) {
    let Arranged { layout, lines, places, left } = labelled(panel, labels);
    let mut out = String::new();
    let mut size = layout.size;
    for ((join, line), (route, label)) in panel.joins.iter().zip(&lines).zip(layout.routes.iter().zip(labels)) {
        out += &path(join, line, route, label);
    }
    for (n, (shape, corner)) in panel.shapes.iter().zip(&layout.corners).enumerate() {
        out += &boxed(shape, *corner, &left[n]);
    }
    for (label, place) in labels.iter().zip(places) {
        let Some((x, y)) = place else { continue };
        let (width, height) = area(label);
        size = (size.0.max(x + width + 4.0), size.1.max(y + height));
        let _ = writeln!(
            out,
            "    <rect {} fill-opacity=\"0.8\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
            paint("paper")
        );
        for (n, text) in label.iter().enumerate() {
            let y = y + LABEL * (n as f64 + 0.82);
            let _ = writeln!(out, "    <text {} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", paint("count"), escaped(text));
        }
    }
    (out, size)
}

/// Boxes, lines, and the left upper corners of labels that found a place.
struct Arranged {
    layout: Layout,
    lines: Vec<Vec<Curve>>,
    places: Vec<Option<(f64, f64)>>,
    left: Vec<Leftward>,
}

/// Ports of a box, by side and number, whose lines lead to the right: their labels stand left of
/// them, so that no line crosses them.
type Leftward = HashSet<(usize, usize)>;

fn leftward(panel: &Panel, layout: &Layout) -> Vec<Leftward> {
    let mut left = vec![Leftward::new(); panel.shapes.len()];
    for (join, route) in panel.joins.iter().zip(&layout.routes) {
        let ([first, second, ..], [.., before, last]) = (&route[..], &route[..]) else { continue };
        let [(from, output), (to, input)] = join.ends;
        if second.0 > first.0 {
            left[from].insert((1, output));
        }
        if before.0 > last.0 {
            left[to].insert((0, input));
        }
    }
    left
}

/// Where everything is, with as little space between layers as labels need.
fn labelled(panel: &Panel, labels: &[Vec<String>]) -> Arranged {
    let sizes: Vec<(f64, f64)> = labels.iter().map(|label| area(label)).collect();
    let wanted = sizes.iter().filter(|size| size.0 > 0.0).count();
    let mut gaps = GAPS.into_iter();
    let mut gap = GAPS[0];
    loop {
        let layout = arranged(panel, gap);
        let lines: Vec<Vec<Curve>> = layout.routes.iter().zip(&layout.upward).map(|(route, upward)| curves(route, *upward)).collect();
        let left = leftward(panel, &layout);
        let boxes = panel.shapes.iter().zip(&layout.corners).zip(&left);
        let taken: Vec<Area> = boxes.flat_map(|((shape, corner), left)| covered(shape, *corner, left)).collect();
        let places = labels::places(&lines, &sizes, &taken);
        match gaps.find(|wider| *wider > gap) {
            Some(wider) if places.iter().flatten().count() < wanted => gap = wider,
            _ => return Arranged { layout, lines, places, left },
        }
    }
}

/// What a label covers.
fn area(label: &[String]) -> (f64, f64) {
    let letters = label.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    (letters as f64 * SMALL, label.len() as f64 * LABEL)
}

/// The lines in a box: class, text, and how wide a letter is.
fn lines(shape: &PanelBox) -> Vec<(&'static str, String, f64)> {
    let class = if shape.kind == Kind::Outside { "small" } else { "title" };
    let mut lines = vec![(class, shape.title.clone(), LETTER)];
    lines.extend((!shape.short.is_empty()).then(|| ("small", shape.short.clone(), SMALL)));
    lines.extend((shape.drops > 0).then(|| ("lost", format!("{} dropped", super::grouped(shape.drops)), SMALL)));
    lines
}

fn size(shape: &PanelBox) -> (f64, f64) {
    let lines = lines(shape);
    let text = lines.iter().map(|(_, line, letter)| line.chars().count() as f64 * letter).fold(0.0, f64::max);
    let ports = |side: &Vec<String>| {
        let widest = side.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64 * SMALL + 8.0;
        side.len() as f64 * PORTS.max(widest)
    };
    let width = shape.ports.iter().map(ports).fold(text, f64::max);
    (width + 2.0 * MARGIN.0, lines.len() as f64 * LINE + 2.0 * MARGIN.1)
}

/// At which part of a box's width a port is.
fn part(port: usize, ports: usize) -> f64 {
    (port + 1) as f64 / (ports + 1) as f64
}

fn edge(panel: &Panel, join: &Join) -> Edge {
    let [(from, output), (to, input)] = join.ends;
    let (leaves_at, enters_at) = (part(output, panel.shapes[from].ports[1].len()), part(input, panel.shapes[to].ports[0].len()));
    Edge { from, leaves_at, to, enters_at, back: join.back }
}

/// Where the labels of a box's ports stand: left, and the line of writing.
fn port_labels<'a>(shape: &'a PanelBox, corner: (f64, f64), left: &Leftward) -> Vec<(f64, f64, &'a str)> {
    let (width, height) = size(shape);
    let mut out = Vec::new();
    for (side, y) in [(0, corner.1 - 3.0), (1, corner.1 + height + 10.0)] {
        let ports = &shape.ports[side];
        for (n, label) in ports.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
            let beside = if left.contains(&(side, n)) { -3.0 - label.chars().count() as f64 * SMALL } else { 3.0 };
            out.push((corner.0 + part(n, ports.len()) * width + beside, y, label.as_str()));
        }
    }
    out
}

/// What a box and the labels of its ports cover.
fn covered(shape: &PanelBox, corner: (f64, f64), left: &Leftward) -> Vec<Area> {
    let (width, height) = size(shape);
    let label = |(x, y, text): (f64, f64, &str)| [x - 3.0, y - 9.0, x + text.chars().count() as f64 * SMALL, y + 2.0];
    let labels = port_labels(shape, corner, left).into_iter().map(label);
    labels.chain([[corner.0, corner.1, corner.0 + width, corner.1 + height]]).collect()
}

fn boxed(shape: &PanelBox, corner: (f64, f64), left: &Leftward) -> String {
    let ((x, y), (width, height)) = (corner, size(shape));
    let class = match shape.kind {
        Kind::Element => "box",
        Kind::Compound => "compound",
        Kind::Outside => "outside",
    };
    let mut out = format!(
        "    <g><title>{}</title>\n      <rect {} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\"/>\n",
        escaped(&shape.tooltip),
        paint(class),
    );
    for (n, (class, line, _)) in lines(shape).into_iter().enumerate() {
        let (x, y) = (x + width / 2.0, y + MARGIN.1 + LINE * (n as f64 + 0.78));
        let _ = writeln!(out, "      <text {} x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", paint(class), escaped(&line));
    }
    for (x, y, label) in port_labels(shape, corner, left) {
        let _ = writeln!(out, "      <text {} x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>", paint("small"));
    }
    out + "    </g>\n"
}

/// A line with a head at its end; where the pointer rests, its label.
fn path(join: &Join, line: &[Curve], route: &[(f64, f64)], label: &[String]) -> String {
    let ([first, ..], [.., last]) = (route, route) else { return String::new() };
    let kind = match (join.back, join.pulled) {
        (true, _) => "back",
        (false, true) => "pull",
        (false, false) => "push",
    };
    let dashes = if join.back && join.pulled { " stroke-dasharray=\"6 4\"" } else { "" };
    let path: String = line.iter().map(Curve::path).collect();
    let title = if label.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(&label.join(", "))) };
    format!(
        "    <path {}{dashes} fill=\"none\" stroke-width=\"1.5\" d=\"M{:.1} {:.1}{path}\">{title}</path>\n    <path {} d=\"M{:.1} {:.1} l-4 {} h8 z\"/>\n",
        paint(kind),
        first.0,
        first.1,
        paint(&format!("head-{kind}")),
        last.0,
        last.1,
        -HEAD - 2.0,
    )
}

fn legend(drawing: &Drawing) -> Vec<String> {
    let back = if drawing.lines.iter().any(|line| line.back) { ", orange: leads back" } else { "" };
    let lines = format!("solid: pushed, dashed: pulled{back}");
    let told = |traffic: super::Traffic| {
        let time = if traffic.lasted_ns > 0 { format!(" in {:.3} s", traffic.lasted_ns as f64 / 1e9) } else { String::new() };
        format!("{} packets arrived{time}; lines: packets, their share of these, packets in a second", super::grouped(traffic.arrivals))
    };
    std::iter::once(lines).chain(drawing.traffic.map(told)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(ports: [&[&str]; 2]) -> PanelBox {
        let ports = ports.map(|side| side.iter().map(|label| (*label).to_owned()).collect());
        PanelBox { kind: Kind::Element, title: "Null".to_owned(), short: String::new(), tooltip: String::new(), drops: 0, ports }
    }

    #[test]
    fn ports_are_labelled_on_the_side_that_their_lines_leave_free() {
        let join = |output, to| Join { ends: [(0, output), (to, 0)], pulled: false, back: false, packets: 0 };
        let shapes = vec![shape([&[], &["0", "1"]]), shape([&[""], &[]]), shape([&[""], &[]])];
        let panel = Panel { heading: String::new(), shapes, joins: vec![join(0, 1), join(1, 2)] };
        let Arranged { layout, left, .. } = labelled(&panel, &[Vec::new(), Vec::new()]);
        let ports = port_labels(&panel.shapes[0], layout.corners[0], &left[0]);
        let starts: Vec<f64> = layout.routes.iter().map(|route| route[0].0).collect();
        let ends: Vec<f64> = layout.routes.iter().map(|route| route[1].0).collect();
        assert!(ends[0] < starts[0] && ends[1] > starts[1], "{starts:?} {ends:?}");
        assert!(ports[0].0 > starts[0] && ports[1].0 + SMALL < starts[1], "{ports:?}");
    }
}
