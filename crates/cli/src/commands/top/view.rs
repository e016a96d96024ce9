//! The table as lines of text, and on a screen.

use super::model::{Order, Row, Table};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table as Grid};

/// Threads that are told of in a line.
const IN_A_LINE: usize = 4;
const HEAD: [&str; 7] = ["element", "class", "packets/s", "packets", "dropped/s", "dropped", "ns/packet"];

/// What the screen shows besides the table.
#[derive(Default)]
pub(super) struct Screen {
    pub(super) order: Order,
    pub(super) paused: bool,
    /// The first row that is shown.
    pub(super) first: usize,
}

impl Screen {
    pub(super) fn draw(&mut self, table: &Table, frame: &mut Frame<'_>) {
        let above: Vec<Line<'_>> = table.devices.iter().map(port).chain(threads(table)).map(Line::from).collect();
        let devices = above.len() as u16;
        let [top, ports, middle, bottom] =
            Layout::vertical([Constraint::Length(1), Constraint::Length(devices), Constraint::Min(2), Constraint::Length(1)])
                .areas(frame.area());
        let room = usize::from(middle.height.saturating_sub(1));
        self.first = self.first.min(table.rows.len().saturating_sub(room));
        let paused = if self.paused { "  PAUSED" } else { "" };
        frame.render_widget(Paragraph::new(Line::from(title(table) + paused).bold()), top);
        frame.render_widget(Paragraph::new(above), ports);
        let shown = table.rows.iter().skip(self.first).take(room);
        let rows = shown.map(|row| Cells::new(cells(row).into_iter().map(Cell::from)).style(colour(row)));
        let widths = [Constraint::Fill(2), Constraint::Fill(1)].into_iter().chain([Constraint::Length(11); 5]);
        let head = Cells::new(HEAD).style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_widget(Grid::new(rows, widths).header(head), middle);
        let order = match self.order {
            Order::Configuration => "configuration",
            Order::Rate => "rate",
            Order::Drops => "drops",
        };
        frame.render_widget(Line::from(format!("q end  p pause  order: {order} (o r d)  ↑↓ scroll")).dim(), bottom);
    }
}

/// Where packets are dropped, and where none come.
fn colour(row: &Row) -> Style {
    match row {
        Row { drop_rate: Some(rate), .. } if *rate > 0.0 => Style::new().red(),
        Row { rate: Some(rate), .. } if *rate == 0.0 => Style::new().dim(),
        _ => Style::new(),
    }
}

/// The same as text.
pub(super) fn lines(table: &Table) -> Vec<String> {
    let rows: Vec<[String; 7]> = std::iter::once(HEAD.map(str::to_owned)).chain(table.rows.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        let cell = |(n, text): (usize, &String)| if n < 2 { format!("{text:<0$}", widths[n]) } else { format!("{text:>0$}", widths[n]) };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(title(table)).chain(table.devices.iter().map(port)).chain(threads(table)).chain(rows.iter().map(line)).collect()
}

fn title(table: &Table) -> String {
    let rate = table.rate.map_or_else(String::new, |rate| format!(", {}/s", short(rate)));
    let busy = table.busy.map_or_else(String::new, |busy| format!(", {:.0} % busy", busy * 100.0));
    format!("{} packets arrived in {:.1} s{rate}{busy}", table.arrived, table.seconds)
}

fn port((name, [received, sent, dropped]): &(String, [u64; 3])) -> String {
    format!("{name}: {received} received, {sent} sent, {dropped} dropped")
}

/// How busy threads are, some in a line.
fn threads(table: &Table) -> Vec<String> {
    let one = |(name, share, core): &(String, f64, Option<u64>)| {
        let core = core.map_or_else(String::new, |core| format!(" on core {core}"));
        format!("{name} {:.0} %{core}", share * 100.0)
    };
    let all: Vec<String> = table.threads.iter().map(one).collect();
    all.chunks(IN_A_LINE).map(|some| format!("threads: {}", some.join(", "))).collect()
}

fn cells(row: &Row) -> [String; 7] {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), short);
    let ns = row.ns.map_or_else(String::new, |ns| format!("{ns:.1}"));
    [row.name.clone(), row.class.clone(), rate(row.rate), row.packets.to_string(), rate(row.drop_rate), row.dropped.to_string(), ns]
}

/// A rate in few characters.
fn short(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{:.2} G", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.1} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Sample;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;
    use std::time::{Duration, Instant};

    fn table() -> Table {
        let stats = |packets: u64| {
            json!({ "seconds": 3.5, "arrived": packets, "busy": 0.25,
            "elements": [{ "name": "in", "class": "FromDevice", "packets": 0, "out": [packets], "dropped": {}, "ns_per_packet": 12.34 },
                         { "name": "q", "class": "Queue", "packets": packets, "out": [], "dropped": { "full": 2 } }],
            "threads": [{ "name": "netvm", "id": 5, "cpu_seconds": packets as f64 / 1e5, "core": 1 }, { "name": "replica", "id": 6 + packets, "cpu_seconds": 1.0 }],
            "devices": [{ "name": "in", "received": packets, "sent": 0, "dropped": { "full": 1 } }] })
        };
        let begun = Instant::now();
        let before = Sample::of(&stats(0), begun);
        Table::of(&Sample::of(&stats(50_000), begun + Duration::from_secs(1)), Some(&before))
    }

    #[test]
    fn text_has_columns() {
        let wanted = [
            "50000 packets arrived in 3.5 s, 50.0 k/s, 25 % busy",
            "in: 50000 received, 0 sent, 1 dropped",
            // The other thread was not there before.
            "threads: netvm 50 % on core 1",
            "element  class       packets/s  packets  dropped/s  dropped  ns/packet",
            "in       FromDevice     50.0 k    50000          0        0       12.3",
            "q        Queue          50.0 k    50000          0        2",
        ];
        assert_eq!(lines(&table()), wanted);
    }

    #[test]
    fn the_screen_shows_what_there_is_room_for() {
        let mut terminal = Terminal::new(TestBackend::new(90, 6)).unwrap();
        let mut screen = Screen { first: 99, paused: true, ..Screen::default() };
        terminal.draw(|frame| screen.draw(&table(), frame)).unwrap();
        let shown = terminal.backend().to_string();
        assert!(shown.contains("PAUSED") && shown.contains("element") && shown.contains("order: configuration"), "{shown}");
        // One row of two, the last.
        assert!(shown.contains("q ") && !shown.contains("FromDevice"), "{shown}");
        assert_eq!(screen.first, 1);
    }
}
