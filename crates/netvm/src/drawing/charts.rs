//! Charts of P4 programs as pictures: a panel for each parser and control, in the order in which
//! packets go through them.

use super::fold::{Join, Kind, Panel, PanelBox};
use super::svg;
use p4::chart::{BoxKind, Chart};
use std::fmt::Write as _;

/// As SVG.
#[must_use]
pub fn svg(charts: &[Chart]) -> String {
    let panels: Vec<(Panel, Vec<Vec<String>>)> = charts.iter().map(panel).collect();
    svg::picture(&panels, &["blue boxes: tables, other parsers and controls; orange: leads back".to_owned()])
}

/// In Graphviz's language.
#[must_use]
pub fn dot(charts: &[Chart]) -> String {
    let mut text = String::from(
        "digraph program {\n  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=9, arrowsize=0.7];\n",
    );
    for (c, chart) in charts.iter().enumerate() {
        let _ = writeln!(text, "  subgraph cluster_{c} {{\n    label=\"{}\"; fontname=\"monospace\";", quoted(&chart.heading));
        for (n, one) in chart.boxes.iter().enumerate() {
            let lines: Vec<String> =
                [&one.title, &one.detail].into_iter().filter(|line| !line.is_empty()).map(|line| quoted(line)).collect();
            let style = match one.kind {
                BoxKind::End => ", style=\"rounded,dotted\"",
                BoxKind::Plain => "",
                BoxKind::Whole => ", style=\"rounded,bold\"",
            };
            let _ = writeln!(text, "    c{c}n{n} [label=\"{}\", tooltip=\"{}\"{style}];", lines.join("\\n"), quoted(&one.whole));
        }
        for arrow in &chart.arrows {
            let _ = writeln!(text, "    c{c}n{} -> c{c}n{} [label=\"{}\"];", arrow.from, arrow.to, quoted(&arrow.label));
        }
        text += "  }\n";
    }
    text + "}\n"
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}

/// A chart's boxes and lines, and the labels of the lines.
fn panel(chart: &Chart) -> (Panel, Vec<Vec<String>>) {
    let mut shapes: Vec<PanelBox> = chart.boxes.iter().map(shape).collect();
    let (mut joins, mut labels) = (Vec::new(), Vec::new());
    let back = leading_back(chart);
    for (arrow, back) in chart.arrows.iter().zip(back) {
        let output = shapes[arrow.from].ports[1].len();
        shapes[arrow.from].ports[1].push(String::new());
        if shapes[arrow.to].ports[0].is_empty() {
            shapes[arrow.to].ports[0].push(String::new());
        }
        joins.push(Join { ends: [(arrow.from, output), (arrow.to, 0)], pulled: false, back, packets: 0 });
        labels.push(if arrow.label.is_empty() { Vec::new() } else { vec![arrow.label.clone()] });
    }
    (Panel { heading: chart.heading.clone(), shapes, joins }, labels)
}

/// Which arrows lead to a box from which they can be reached: those that close a circle of a walk
/// from the first boxes.
fn leading_back(chart: &Chart) -> Vec<bool> {
    let mut back = vec![false; chart.arrows.len()];
    // 0: not seen, 1: on the way here, 2: left.
    let mut seen = vec![0; chart.boxes.len()];
    for start in 0..chart.boxes.len() {
        if seen[start] > 0 {
            continue;
        }
        seen[start] = 1;
        let mut way = vec![(start, 0)];
        while let Some((at, next)) = way.last_mut() {
            let (here, arrow) = (*at, *next);
            *next += 1;
            match chart.arrows.get(arrow) {
                Some(one) if one.from == here && seen[one.to] == 0 => {
                    seen[one.to] = 1;
                    way.push((one.to, 0));
                }
                Some(one) => back[arrow] |= one.from == here && seen[one.to] == 1,
                None => {
                    seen[here] = 2;
                    way.pop();
                }
            }
        }
    }
    back
}

fn shape(one: &p4::chart::ChartBox) -> PanelBox {
    let kind = match one.kind {
        BoxKind::End => Kind::Outside,
        BoxKind::Plain => Kind::Element,
        BoxKind::Whole => Kind::Compound,
    };
    PanelBox {
        kind,
        title: one.title.clone(),
        short: one.detail.clone(),
        tooltip: one.whole.clone(),
        drops: 0,
        ports: [Vec::new(), Vec::new()],
    }
}
