//! Configurations as pictures: a box for each element, a line for each connection, and with traffic
//! how many packets went where.
//!
//! Lines are solid where packets are pushed and dashed where they are pulled; those that lead
//! packets back are marked. As SVG (light and dark, without scripts) or for Graphviz. An SVG that
//! would be wider than a screen has a box for each compound element, or for several that are alike,
//! and below it a picture of what is in them (`fold`).

pub mod charts;
mod curve;
mod dot;
mod fold;
mod labels;
mod layers;
mod svg;

use crate::application::{Application, Stats};
use netil::app::{End, Wire};
use std::collections::BTreeMap;

/// The longest line of text in a box.
const WIDEST: usize = 30;

/// A configuration to be drawn.
pub struct Drawing {
    boxes: Vec<Element>,
    lines: Vec<Line>,
    /// Names of compound elements, with those of their classes.
    compounds: BTreeMap<String, String>,
    traffic: Option<Traffic>,
    expand: bool,
}

/// A run's traffic.
#[derive(Clone, Copy)]
struct Traffic {
    /// Packets that arrived.
    arrivals: u64,
    /// How long it took by the run's clock, in nanoseconds.
    lasted_ns: u64,
}

/// An element.
#[derive(Clone)]
struct Element {
    /// Its name, its class, what tells them shortly.
    name: String,
    class: String,
    /// Its arguments, shortened, and in full.
    short: String,
    full: String,
    inputs: u32,
    outputs: u32,
    /// Packets dropped.
    drops: u64,
}

/// A connection.
#[derive(Clone, Copy)]
struct Line {
    from: End,
    to: End,
    pulled: bool,
    back: bool,
    /// Packets that took it.
    packets: u64,
}

impl Drawing {
    /// Elements and connections.
    pub fn of(application: &Application) -> Self {
        let app = application.application();
        let flat: BTreeMap<&str, _> = application.flat().elements.iter().map(|element| (element.name.as_str(), element)).collect();
        let mut boxes: Vec<Element> =
            app.instances.iter().map(|instance| Element::of(instance, flat.get(instance.name.as_str()).copied())).collect();
        for wire in &app.wires {
            if let Some(element) = boxes.get_mut(wire.from.instance as usize) {
                element.outputs = element.outputs.max(wire.from.port + 1);
            }
            if let Some(element) = boxes.get_mut(wire.to.instance as usize) {
                element.inputs = element.inputs.max(wire.to.port + 1);
            }
        }
        let line = |wire: &Wire| Line {
            from: wire.from,
            to: wire.to,
            pulled: application.is_pulled(wire.to),
            back: wire.recirculates,
            packets: 0,
        };
        let compounds = application.flat().compounds.clone();
        Self { boxes, lines: app.wires.iter().map(line).collect(), compounds, traffic: None, expand: false }
    }

    /// This drawing with what a run has counted.
    #[must_use]
    pub fn with_traffic(mut self, stats: &Stats) -> Self {
        for (element, (_, _, node)) in self.boxes.iter_mut().zip(&stats.nodes) {
            element.drops = node.drops.values().sum();
        }
        for line in &mut self.lines {
            let out = stats.nodes.get(line.from.instance as usize).map(|(_, _, node)| &node.out);
            line.packets = out.and_then(|out| out.get(line.from.port as usize)).copied().unwrap_or(0);
        }
        self.traffic = Some(Traffic { arrivals: stats.arrivals, lasted_ns: stats.lasted_ns });
        self
    }

    /// This drawing with all that is in compound elements in its place, however wide the picture
    /// becomes.
    #[must_use]
    pub fn expanded(mut self) -> Self {
        self.expand = true;
        self
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// In Graphviz's language.
    pub fn dot(&self) -> String {
        dot::write(self)
    }

    /// What a line is labelled with, in lines of text: packets and their share of all arrivals; how
    /// many there were in a second.
    fn label(&self, packets: u64) -> Vec<String> {
        let Some(traffic) = self.traffic else { return Vec::new() };
        let share = traffic.share(packets).map(|share| format!(" ({share})")).unwrap_or_default();
        [Some(grouped(packets) + &share), traffic.rate(packets)].into_iter().flatten().collect()
    }
}

impl Traffic {
    fn share(self, packets: u64) -> Option<String> {
        let share = 100.0 * packets as f64 / self.arrivals as f64;
        Some(match packets {
            0 => return None,
            _ if self.arrivals == 0 => return None,
            _ if share < 0.1 => "<0.1 %".to_owned(),
            _ if share < 10.0 => format!("{share:.1} %"),
            _ => format!("{share:.0} %"),
        })
    }

    /// Three digits.
    fn rate(self, packets: u64) -> Option<String> {
        let rate = packets as f64 / (self.lasted_ns as f64 / 1e9);
        if packets == 0 || self.lasted_ns == 0 {
            return None;
        }
        let prefixes = [(1e9, " G"), (1e6, " M"), (1e3, " k"), (0.0, " ")];
        let (unit, prefix) = prefixes.into_iter().find(|(least, _)| rate >= *least * 0.9995)?;
        let number = if unit > 0.0 { rate / unit } else { rate };
        let digits = if number >= 99.95 {
            0
        } else if number >= 9.995 {
            1
        } else {
            2
        };
        Some(format!("{number:.digits$}{prefix}/s"))
    }
}

impl Element {
    fn of(instance: &netil::app::Instance, flat: Option<&crate::frontends::click::graph::Element>) -> Self {
        let full = flat.map(|element| element.arguments.join(", ")).unwrap_or_default();
        Self {
            name: instance.name.clone(),
            class: flat.map_or_else(|| instance.class.clone(), |element| element.class.clone()),
            short: shortened(&full.split_whitespace().collect::<Vec<_>>().join(" "), WIDEST),
            full,
            inputs: 0,
            outputs: 0,
            drops: 0,
        }
    }

    /// `name :: Class`, or the class alone where nobody gave a name.
    fn title(&self) -> String {
        let named = !self.name.rsplit('/').next().unwrap_or_default().starts_with(&format!("{}@", self.class));
        shortened(&if named { format!("{} :: {}", self.name, self.class) } else { self.class.clone() }, WIDEST + 10)
    }

    fn dropped(&self) -> Option<String> {
        (self.drops > 0).then(|| format!("{} dropped", grouped(self.drops)))
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A number with commas between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Text that stands in XML, in attributes too; what XML does not allow is left out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\n' => out += "&#10;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Traffic;

    #[test]
    fn lines_tell_shares_and_rates() {
        let told = |arrivals, lasted_ns, packets| {
            let traffic = Traffic { arrivals, lasted_ns };
            [traffic.share(packets), traffic.rate(packets)].map(Option::unwrap_or_default).join(", ")
        };
        assert_eq!(told(1000, 2_000_000_000, 5), "0.5 %, 2.50 /s");
        assert_eq!(told(1000, 1_000_000_000, 1000), "100 %, 1.00 k/s");
        assert_eq!(told(100_000, 1_000_000_000, 12_345), "12 %, 12.3 k/s");
        assert_eq!(told(100_000, 10_000_000, 9), "<0.1 %, 900 /s");
        assert_eq!(told(100_000, 1_000_000, 99_999), "100 %, 100 M/s");
        assert_eq!(told(0, 1_000_000_000, 999_999), ", 1.00 M/s");
        assert_eq!([told(5, 0, 5), told(5, 1, 0), told(9, 1, 9)], ["100 %, ", ", ", "100 %, 9.00 G/s"]);
    }
}
