//! Configurations as pictures: a box for each element, a line for each connection, and with traffic how many packets went where.
//!
//! Lines are solid where packets are pushed and dashed where they are pulled; those that lead packets back are marked. As SVG (light and dark, without
//! scripts) or for Graphviz.

mod dot;
mod layers;
mod svg;

use crate::application::{Application, Stats};
use netil::app::{End, Wire};

/// The longest line of text in a box.
const WIDEST: usize = 30;

/// A configuration to be drawn.
pub struct Drawing {
    boxes: Vec<Element>,
    lines: Vec<Line>,
    /// Packets that arrived, if there was traffic.
    arrivals: Option<u64>,
}

/// An element.
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
        let ports = |n: usize, end: fn(&Wire) -> End| {
            let of = app.wires.iter().map(end).filter(|end| end.instance as usize == n);
            of.map(|end| end.port + 1).max().unwrap_or(0)
        };
        let element = |(n, instance): (usize, &netil::app::Instance)| {
            let flat = application.flat().elements.iter().find(|element| element.name == instance.name);
            let full = flat.map(|element| element.arguments.join(", ")).unwrap_or_default();
            Element {
                name: instance.name.clone(),
                class: flat.map_or_else(|| instance.class.clone(), |element| element.class.clone()),
                short: shortened(&full.split_whitespace().collect::<Vec<_>>().join(" "), WIDEST),
                full,
                inputs: ports(n, |wire| wire.to),
                outputs: ports(n, |wire| wire.from),
                drops: 0,
            }
        };
        let line = |wire: &Wire| Line {
            from: wire.from,
            to: wire.to,
            pulled: application.is_pulled(wire.to),
            back: wire.recirculates,
            packets: 0,
        };
        Self { boxes: app.instances.iter().enumerate().map(element).collect(), lines: app.wires.iter().map(line).collect(), arrivals: None }
    }

    /// The same with what a run has counted.
    #[must_use]
    pub fn with_traffic(mut self, stats: &Stats) -> Self {
        for (element, (_, _, node)) in self.boxes.iter_mut().zip(&stats.nodes) {
            element.drops = node.drops.values().sum();
        }
        for line in &mut self.lines {
            let out = stats.nodes.get(line.from.instance as usize).map(|(_, _, node)| &node.out);
            line.packets = out.and_then(|out| out.get(line.from.port as usize)).copied().unwrap_or(0);
        }
        self.arrivals = Some(stats.arrivals);
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

    /// What a line is labelled with: packets, and their share of all arrivals.
    fn label(&self, line: &Line) -> Option<String> {
        let arrivals = self.arrivals?;
        let share = 100.0 * line.packets as f64 / arrivals.max(1) as f64;
        Some(match (line.packets, arrivals) {
            (0, _) => "0".to_owned(),
            (packets, 0) => grouped(packets),
            (packets, _) if share < 0.1 => format!("{} (<0.1 %)", grouped(packets)),
            (packets, _) if share < 10.0 => format!("{} ({share:.1} %)", grouped(packets)),
            (packets, _) => format!("{} ({share:.0} %)", grouped(packets)),
        })
    }
}

impl Element {
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
