//! Drawings as SVG. Colours follow the reader's light or dark scheme; the text of configurations is escaped, and nothing in the picture runs.

use super::layers::{Edge, Layout, layout};
use super::{Drawing, Element, Line, escaped};
use std::fmt::Write as _;

/// A character of the monospaced font, and a line of it.
const LETTER: f64 = 7.25;
const LINE: f64 = 16.0;
/// Around the text of a box.
const MARGIN: (f64, f64) = (12.0, 8.0);
/// The least distance between ports.
const PORTS: f64 = 22.0;

const STYLE: &str = "\
    svg { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --dim: #59636e; --box: #f6f8fa; --rim: #818b98; --push: #0969da; --pull: #1a7f37; --back: #bc4c00; --lost: #cf222e; }
    @media (prefers-color-scheme: dark) {
      svg { --paper: #0d1117; --ink: #e6edf3; --dim: #9198a1; --box: #161b22; --rim: #6e7681; --push: #58a6ff; --pull: #3fb950; --back: #f0883e; --lost: #ff7b72; }
    }
    .paper { fill: var(--paper); }
    .box { fill: var(--box); stroke: var(--rim); }
    text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: var(--ink); }
    .title { font-weight: 600; }
    .small { font-size: 10px; fill: var(--dim); }
    .lost { fill: var(--lost); }
    .count { font-size: 10px; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
    path { fill: none; stroke-width: 1.5; }
    .push { stroke: var(--push); }
    .pull { stroke: var(--pull); stroke-dasharray: 6 4; }
    .back { stroke: var(--back); }
    .head-push { fill: var(--push); stroke: none; } .head-pull { fill: var(--pull); stroke: none; } .head-back { fill: var(--back); stroke: none; }
";

pub(super) fn write(drawing: &Drawing) -> String {
    let texts: Vec<Vec<(String, &str)>> = drawing.boxes.iter().map(lines).collect();
    let sizes: Vec<(f64, f64)> = drawing.boxes.iter().zip(&texts).map(|(element, text)| size(element, text)).collect();
    let edges: Vec<Edge> = drawing.lines.iter().map(|line| edge(drawing, line)).collect();
    let layout = layout(&sizes, &edges);
    let (width, height) = (layout.size.0.max(120.0).ceil(), (layout.size.1 + LINE * 1.5).ceil());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n  <style>\n{STYLE}  </style>\n"
    );
    let _ = writeln!(out, "  <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>");
    for (line, (route, upward)) in drawing.lines.iter().zip(layout.routes.iter().zip(&layout.upward)) {
        out += &path(line, route, *upward);
    }
    for (n, element) in drawing.boxes.iter().enumerate() {
        out += &drawn(element, &texts[n], layout.corners[n], sizes[n]);
    }
    out += &labels(drawing, &layout);
    let _ = writeln!(out, "  <text class=\"small\" x=\"10\" y=\"{}\">{}</text>", height - 8.0, escaped(&legend(drawing)));
    out + "</svg>\n"
}

/// The lines in a box, with their classes.
fn lines(element: &Element) -> Vec<(String, &'static str)> {
    let arguments = (!element.short.is_empty()).then(|| (element.short.clone(), "small"));
    let dropped = element.dropped().map(|text| (text, "small lost"));
    std::iter::once((element.title(), "title")).chain(arguments).chain(dropped).collect()
}

fn size(element: &Element, text: &[(String, &str)]) -> (f64, f64) {
    let letters = text.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let ports = element.inputs.max(element.outputs);
    let width = (letters as f64 * LETTER).max(f64::from(ports) * PORTS);
    (width + 2.0 * MARGIN.0, text.len() as f64 * LINE + 2.0 * MARGIN.1)
}

/// At which part of a box's width a port is.
fn part(port: u32, ports: u32) -> f64 {
    f64::from(port + 1) / f64::from(ports + 1)
}

fn edge(drawing: &Drawing, line: &Line) -> Edge {
    let (from, to) = (line.from.instance as usize, line.to.instance as usize);
    let (leaves_at, enters_at) = (part(line.from.port, drawing.boxes[from].outputs), part(line.to.port, drawing.boxes[to].inputs));
    Edge { from, leaves_at, to, enters_at, back: line.back }
}

fn drawn(element: &Element, text: &[(String, &str)], corner: (f64, f64), size: (f64, f64)) -> String {
    let ((x, y), (width, height)) = (corner, size);
    let mut out = format!(
        "  <g><title>{} :: {}({})</title>\n    <rect class=\"box\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\"/>\n",
        escaped(&element.name),
        escaped(&element.class),
        escaped(&element.full),
    );
    for (n, (line, class)) in text.iter().enumerate() {
        let (x, y) = (x + width / 2.0, y + MARGIN.1 + LINE * (n as f64 + 0.78));
        let _ = writeln!(out, "    <text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", escaped(line));
    }
    for (ports, y) in [(element.inputs, y - 3.0), (element.outputs, y + height + 10.0)] {
        for port in (0..ports).filter(|_| ports > 1) {
            let _ = writeln!(out, "    <text class=\"small\" x=\"{:.1}\" y=\"{y:.1}\">{port}</text>", x + part(port, ports) * width + 3.0);
        }
    }
    out + "  </g>\n"
}

fn kind(line: &Line) -> &'static str {
    match (line.back, line.pulled) {
        (true, _) => "back",
        (false, true) => "pull",
        (false, false) => "push",
    }
}

/// A line that leaves and enters upright, with a head at its end.
fn path(line: &Line, route: &[(f64, f64)], upward: bool) -> String {
    let [first, .., last] = route else { return String::new() };
    let end = (last.0, last.1 - 6.0);
    let mut d = format!("M{:.1} {:.1}", first.0, first.1);
    let mut before = *first;
    let points: Vec<(f64, f64)> = route[1..route.len() - 1].iter().copied().chain([end]).collect();
    for (n, point) in points.iter().enumerate() {
        // Lines that lead up leave downwards and enter from above.
        let (out, into) = match upward {
            true if n == 0 => (before.1 + 26.0, point.1 + 26.0),
            true if n + 1 == points.len() => (before.1 - 26.0, point.1 - 26.0),
            _ => ((before.1 + point.1) / 2.0, (before.1 + point.1) / 2.0),
        };
        let _ = match before.0 == point.0 && !(upward && (n == 0 || n + 1 == points.len())) {
            true => write!(d, " L{:.1} {:.1}", point.0, point.1),
            false => write!(d, " C{:.1} {out:.1} {:.1} {into:.1} {:.1} {:.1}", before.0, point.0, point.0, point.1),
        };
        before = *point;
    }
    let kind = kind(line);
    let dashed = if line.pulled { "pull " } else { "" };
    let classes = if kind == "pull" { "pull".to_owned() } else { format!("{dashed}{kind}") };
    format!("  <path class=\"{classes}\" d=\"{d}\"/>\n  <path class=\"head-{kind}\" d=\"M{:.1} {:.1} l-4 -8 h8 z\"/>\n", last.0, last.1)
}

/// How many packets took each line, where it leaves its box.
fn labels(drawing: &Drawing, layout: &Layout) -> String {
    let mut out = String::new();
    for (line, route) in drawing.lines.iter().zip(&layout.routes) {
        let [first, second, ..] = &route[..] else { continue };
        let (x, y) = (first.0 + (second.0 - first.0) * 0.3 + 4.0, first.1 + 24.0);
        for (n, label) in drawing.label(line).iter().enumerate() {
            let y = y + 11.0 * n as f64;
            let _ = writeln!(out, "  <text class=\"count\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(label));
        }
    }
    out
}

fn legend(drawing: &Drawing) -> String {
    let back = if drawing.lines.iter().any(|line| line.back) { ", orange: leads back" } else { "" };
    let told = |traffic: super::Traffic| {
        let time = if traffic.lasted_ns > 0 { format!(" in {:.3} s", traffic.lasted_ns as f64 / 1e9) } else { String::new() };
        format!("; {} packets arrived{time}", super::grouped(traffic.arrivals))
    };
    let traffic = drawing.traffic.map(told).unwrap_or_default();
    format!("solid: pushed, dashed: pulled{back}{traffic}")
}
