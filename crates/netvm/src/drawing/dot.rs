//! Drawings in Graphviz's language.

use super::{Drawing, Line};
use std::fmt::Write as _;

pub(super) fn write(drawing: &Drawing) -> String {
    let mut text = String::from(
        "digraph configuration {\n  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=9, arrowsize=0.7];\n",
    );
    for (n, element) in drawing.boxes.iter().enumerate() {
        let lines = [Some(element.title()), Some(element.short.clone()).filter(|s| !s.is_empty()), element.dropped()];
        let label: Vec<String> = lines.into_iter().flatten().map(|line| quoted(&line)).collect();
        let _ = writeln!(text, "  n{n} [label=\"{}\", tooltip=\"{}\"];", label.join("\\n"), quoted(&element.full));
    }
    for line in &drawing.lines {
        let _ = writeln!(text, "  n{} -> n{} [{}];", line.from.instance, line.to.instance, attributes(drawing, line));
    }
    text + "}\n"
}

fn attributes(drawing: &Drawing, line: &Line) -> String {
    let mut attributes = vec![format!("style={}", if line.pulled { "dashed" } else { "solid" })];
    if drawing.boxes.get(line.from.instance as usize).is_some_and(|element| element.outputs > 1) {
        attributes.push(format!("taillabel=\"{}\"", line.from.port));
    }
    if drawing.boxes.get(line.to.instance as usize).is_some_and(|element| element.inputs > 1) {
        attributes.push(format!("headlabel=\"{}\"", line.to.port));
    }
    if line.back {
        attributes.push("color=\"#c2410c\", constraint=false".to_owned());
    }
    let label = drawing.label(line.packets).join("\\n");
    attributes.extend((!label.is_empty()).then(|| format!("label=\"{label}\"")));
    attributes.join(", ")
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}
