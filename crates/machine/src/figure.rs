//! Figures of papers beside ours: numbers by row and column, as text and as bars.

use std::fmt::Write as _;

/// A figure.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Figure {
    /// A name for files.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// What numbers are.
    pub unit: &'static str,
    /// What bars are.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Row {
    /// What it is of.
    pub label: String,
    /// By column; none where there is no number.
    pub values: Vec<Option<f64>>,
}

/// Colours of bars, in turn.
const COLOURS: [&str; 6] = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1"];
/// Places in a drawing.
const WIDTH: f64 = 860.0;
const PLOT: f64 = 240.0;
const TOP: f64 = 56.0;
const LEFT: f64 = 64.0;

impl Figure {
    /// Adds a row.
    pub fn row(&mut self, label: impl Into<String>, values: Vec<Option<f64>>) {
        self.rows.push(Row { label: label.into(), values });
    }

    /// As text in columns.
    pub fn text(&self) -> String {
        let wide = self.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0).max(8);
        let widths: Vec<usize> = self.columns.iter().map(|column| column.chars().count().max(8) + 2).collect();
        let mut text = format!("{} ({})\n{:wide$}", self.title, self.unit, "");
        self.columns.iter().zip(&widths).for_each(|(column, width)| text += &format!("{column:>width$}"));
        text.push('\n');
        for row in &self.rows {
            let _ = write!(text, "{:<wide$}", row.label);
            row.values
                .iter()
                .zip(&widths)
                .for_each(|(value, width)| text += &format!("{:>width$}", value.map_or_else(|| "-".to_owned(), number)));
            text.push('\n');
        }
        text
    }

    /// As bars in SVG.
    pub fn svg(&self) -> String {
        let all = || self.rows.iter().flat_map(|row| row.values.iter().flatten().copied());
        let (low, high) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
        let step = step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil().max(1.0) * step);
        let span = high - low;
        let y = |value: f64| TOP + PLOT * (high - value) / span;
        let height = TOP + PLOT + 60.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"8\" y=\"18\" font-size=\"14\">{} ({})</text>\n",
            escaped(&self.title),
            escaped(self.unit)
        );
        self.legend(&mut svg);
        for part in 0..=(span / step).round() as u32 {
            let value = low + step * f64::from(part);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {0:.1}H{WIDTH}\" stroke=\"#ddd\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
                y(value),
                LEFT - 6.0,
                y(value) + 4.0,
                number(value)
            );
        }
        self.bars(&mut svg, &y);
        svg += "</svg>\n";
        svg
    }

    fn legend(&self, svg: &mut String) {
        let mut x = LEFT;
        for (n, column) in self.columns.iter().enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.0}\" y=\"28\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"38\">{}</text>",
                x + 16.0,
                escaped(column)
            );
            x += 30.0 + 6.6 * column.chars().count() as f64;
        }
    }

    fn bars(&self, svg: &mut String, y: &dyn Fn(f64) -> f64) {
        let group = (WIDTH - LEFT) / self.rows.len().max(1) as f64;
        let bar = group * 0.85 / self.columns.len().max(1) as f64;
        for (n, row) in self.rows.iter().enumerate() {
            let from = LEFT + group * n as f64;
            for (column, value) in row.values.iter().enumerate().filter_map(|(column, value)| Some((column, (*value)?))) {
                let (x, top, bottom) = (from + group * 0.075 + bar * column as f64, y(value.max(0.0)), y(value.min(0.0)));
                let colour = COLOURS[column % COLOURS.len()];
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{}: {} {}</title></rect>",
                    bar * 0.9,
                    (bottom - top).max(0.5),
                    escaped(&row.label),
                    escaped(&self.columns[column]),
                    number(value)
                );
            }
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                from + group / 2.0,
                TOP + PLOT + 24.0,
                escaped(&row.label)
            );
        }
    }
}

/// A round number of which four to ten are that range.
fn step(range: f64) -> f64 {
    if range <= 0.0 {
        return 1.0;
    }
    let ten = 10_f64.powf((range / 4.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * ten)
        .filter(|step| *step <= range / 2.0)
        .fold(ten, |best, step| if step * 4.0 <= range { step } else { best })
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_their_columns() {
        let mut figure = Figure {
            name: "f",
            title: "a & b".to_owned(),
            unit: "%",
            columns: vec!["paper".to_owned(), "ours".to_owned()],
            rows: Vec::new(),
        };
        figure.row("NAT", vec![Some(6.0), None]);
        figure.row("UDHCP", vec![Some(-54.25), Some(0.0)]);
        assert_eq!(figure.text(), "a & b (%)\n             paper      ours\nNAT           6.00         -\nUDHCP        -54.2         0\n");
        let svg = figure.svg();
        assert!(svg.contains("a &amp; b") && svg.matches("<title>").count() == 3, "{svg}");
        // Lines each 10 from -60 up to 10: 240 points for 70. Zero lies 34.3 below the top at 56,
        // and 6 is a bar of 20.6 above it.
        assert!(svg.contains("height=\"20.6\"") && svg.contains("y=\"90.3\""), "{svg}");
        assert_eq!([60.25, 1579.0, 0.0, 17.0].map(step), [10.0, 200.0, 1.0, 2.0]);
    }
}
