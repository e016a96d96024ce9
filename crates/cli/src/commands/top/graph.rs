//! The stages of a run as boxes, with the rings between them.
//!
//! ```text
//! ┌sources──────31 %┐            ┌replica 0────24 %┐            ┌in order─────31 %┐
//! │core 0 pinned    │─┬─25.3 k/s▶│core 1           │─┬─50.6 k/s▶│core 0           │
//! │in        50.6 k │ │   1/4    │check     25.3 k │ │   0/4    │q        12/1000 │
//! └─────────────────┘ │          └─────────────────┘ │          └─────────────────┘
//!                     │          ┌replica 1────24 %┐ │
//!                     └─25.3 k/s▶│core 1           │─┘
//!                         0/4    └─────────────────┘
//! ```
//!
//! A column is a stage, a box a thread of it, in the colour of its core. The first box of a stage
//! has its elements, busiest first if that is the order, with what comes to them in a second;
//! queues have what waits in them of what may. At a ring stand packets a second, and below epochs
//! that wait of those that may.
//!
//! Where there is no room for that, nothing is drawn: then the list is.

use super::model::{Busy, Row, Table};
use super::view::short;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Columns between two stages.
const GAP: u16 = 12;
/// Where rings of a stage meet, from the left of that.
const JOINT: u16 = 1;
/// The least width of a box, and the most.
const WIDTHS: (u16, u16) = (14, 40);
/// Rows of a box without elements.
const BOX: u16 = 3;
/// Elements that a stage shows at least, if it has them, before all its threads are.
const ELEMENTS: usize = 3;
/// Of cores, in turn.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Green, Color::Magenta, Color::Blue, Color::LightRed];

/// What is drawn of a table.
pub(super) struct Graph<'t> {
    columns: Vec<Column<'t>>,
    table: &'t Table,
    /// The thread that is moved next.
    chosen: Option<&'t str>,
}

/// A stage.
struct Column<'t> {
    title: String,
    threads: Vec<&'t Busy>,
    elements: Vec<&'t Row>,
}

/// The part of a column that is drawn.
struct Shown {
    /// Of boxes, and of elements in the first one.
    boxes: usize,
    elements: usize,
}

impl<'t> Graph<'t> {
    /// The stages of a run; none if packets come to one thread only, or how busy threads are is not
    /// known yet.
    pub(super) fn of(table: &'t Table, chosen: Option<&'t str>) -> Option<Self> {
        let known = |name: &str| table.rows.iter().any(|row| row.stage.as_deref() == Some(name));
        let in_order = known("sources") || known("in order");
        let titles = if in_order { ["sources", "replicas", "in order"] } else { ["replicas", "all replicas", "first replica"] };
        let [first, second, last] = titles.map(str::to_owned);
        let titles = [first, second].into_iter().chain(stages_in_order(table)).chain([last]);
        let columns: Vec<Column<'t>> = titles.map(|title| Column::of(table, title)).filter(Column::is_there).collect();
        let threads: usize = columns.iter().map(|column| column.threads.len()).sum();
        (threads > 1).then_some(Self { columns, table, chosen })
    }

    /// The most elements of a stage that there is no room for.
    pub(super) fn hidden(&self, area: Rect) -> usize {
        self.columns.iter().map(|column| column.elements.len() - column.shown(area.height).elements).max().unwrap_or(0)
    }

    /// Draws them, elements from one on. False if there is no room.
    pub(super) fn draw(&self, first: usize, area: Rect, buffer: &mut Buffer) -> bool {
        let count = self.columns.len() as u16;
        let width = (area.width.saturating_sub(GAP * (count - 1)) / count).min(WIDTHS.1);
        if width < WIDTHS.0 || area.height <= BOX {
            return false;
        }
        let mut exits: Vec<u16> = Vec::new();
        for (n, column) in self.columns.iter().enumerate() {
            let at = Rect { x: area.x + n as u16 * (width + GAP), width, ..area };
            let entries = self.draw_column(column, first, at, buffer);
            if n > 0 && !exits.is_empty() && !entries.is_empty() {
                rings(&exits, &entries, at.x - GAP, buffer);
            }
            exits = entries.iter().map(|(row, _)| *row).collect();
        }
        true
    }

    /// Draws a stage; the rows at which packets come in, with the threads that are there.
    fn draw_column(&self, column: &Column<'t>, first: usize, area: Rect, buffer: &mut Buffer) -> Vec<(u16, &'t Busy)> {
        let Shown { boxes, elements } = column.shown(area.height);
        let mut entries = Vec::new();
        let mut top = area.y;
        let threads = column.threads.iter().copied().map(Some).chain(column.threads.is_empty().then_some(None));
        for (n, thread) in threads.take(boxes).enumerate() {
            let rows = if n == 0 { elements } else { 0 };
            let lines = rows as u16 + u16::from(thread.is_some());
            let at = Rect { y: top, height: lines + 2, ..area };
            self.draw_box(&column.title, thread, at, buffer);
            let inside = Rect { x: at.x + 1, y: at.y + at.height - 1 - rows as u16, width: at.width - 2, height: rows as u16 };
            let from = first.min(column.elements.len() - elements);
            let shown = column.elements.iter().skip(from).take(rows);
            shown.enumerate().for_each(|(n, row)| self.draw_element(row, Rect { y: inside.y + n as u16, height: 1, ..inside }, buffer));
            entries.extend(thread.map(|thread| (at.y + 1, thread)));
            top += at.height;
        }
        let more = column.threads.len().saturating_sub(boxes);
        if more > 0 {
            buffer.set_stringn(area.x, top, format!(" {more} more"), area.width.into(), Style::new());
        }
        entries
    }

    fn draw_box(&self, title: &str, thread: Option<&Busy>, at: Rect, buffer: &mut Buffer) {
        let name = thread.map_or(title, |thread| thread.name.as_str());
        let is_chosen = thread.is_some() && self.chosen == Some(name);
        let style = style_of(thread, is_chosen);
        let (name, busy) =
            (if is_chosen { format!("▸{name}") } else { name.to_owned() }, thread.map_or_else(String::new, |it| percent(it.share)));
        let line = "─".repeat(usize::from(at.width) - 2);
        for (row, ends) in [(at.y, ["┌", "┐"]), (at.y + at.height - 1, ["└", "┘"])] {
            buffer.set_string(at.x, row, format!("{}{line}{}", ends[0], ends[1]), style);
        }
        for row in at.y + 1..at.y + at.height - 1 {
            [at.x, at.x + at.width - 1].iter().for_each(|x| buffer.set_string(*x, row, "│", style));
        }
        let room = usize::from(at.width) - 2;
        buffer.set_stringn(at.x + 1, at.y, pair(&name, &busy, room, '─'), room, style);
        if let Some(thread) = thread {
            // Nothing is before the first stage that could say it.
            let rate = if thread.waiting.is_none() { thread.rate.map_or_else(String::new, short) } else { String::new() };
            buffer.set_stringn(at.x + 1, at.y + 1, pair(&place(thread), &rate, room, ' '), room, Style::new());
        }
    }

    fn draw_element(&self, row: &Row, at: Rect, buffer: &mut Buffer) {
        let waits = self.table.depths.get(&row.name).map(|(waiting, room)| format!("{waiting}/{room}"));
        let said = waits.or_else(|| row.rate.map(short)).unwrap_or_default();
        let room = usize::from(at.width);
        buffer.set_stringn(at.x, at.y, pair(&row.name, &said, room, ' '), room, colour(row));
    }
}

/// The stages between replicas and the last one: `in order 1` and so on.
fn stages_in_order(table: &Table) -> Vec<String> {
    let numbered = |thread: &&Busy| thread.name.strip_prefix("in order ").is_some_and(|number| number.parse::<u32>().is_ok());
    let mut names: Vec<String> = table.threads.iter().filter(numbered).map(|thread| thread.name.clone()).collect();
    names.sort_by_key(|name| number_of(name));
    names
}

impl<'t> Column<'t> {
    fn of(table: &'t Table, title: String) -> Self {
        let is_of = |thread: &&Busy| match title.as_str() {
            "replicas" => thread.name.starts_with("replica"),
            title => thread.name == title,
        };
        let mut threads: Vec<&Busy> = table.threads.iter().filter(|thread| thread.moves).filter(is_of).collect();
        threads.sort_by_key(|thread| number_of(&thread.name));
        let elements = table.rows.iter().filter(|row| row.stage.as_deref() == Some(&title)).collect();
        Self { title, threads, elements }
    }

    fn is_there(&self) -> bool {
        !self.threads.is_empty() || !self.elements.is_empty()
    }

    /// What there is room for: all threads if some elements can be seen as well, else fewer.
    fn shown(&self, height: u16) -> Shown {
        let height = usize::from(height);
        let head = if self.threads.is_empty() { 2 } else { usize::from(BOX) };
        let some = self.elements.len().min(ELEMENTS);
        let fit = 1 + height.saturating_sub(head + some) / usize::from(BOX);
        let boxes = self.threads.len().max(1);
        // The line that tells of others.
        let (boxes, told) = if boxes <= fit { (boxes, 0) } else { (1 + height.saturating_sub(head + some + 1) / usize::from(BOX), 1) };
        let left = height.saturating_sub(head + (boxes - 1) * usize::from(BOX) + told);
        Shown { boxes, elements: self.elements.len().min(left) }
    }
}

/// Draws what leads from a stage to the next one.
fn rings(exits: &[u16], entries: &[(u16, &Busy)], left: u16, buffer: &mut Buffer) {
    let rows = || exits.iter().copied().chain(entries.iter().map(|(row, _)| *row));
    let (Some(top), Some(bottom)) = (rows().min(), rows().max()) else { return };
    for row in top..=bottom {
        let (out, into) = (exits.contains(&row), entries.iter().any(|(at, _)| *at == row));
        let joint = match (out, into, row > top, row < bottom) {
            (true, true, false, false) => "─",
            (true, true, false, true) => "┬",
            (true, true, true, false) => "┴",
            (true, true, true, true) => "┼",
            (true, false, false, _) => "┐",
            (true, false, true, true) => "┤",
            (true, false, true, false) => "┘",
            (false, true, false, _) => "┌",
            (false, true, true, true) => "├",
            (false, true, true, false) => "└",
            (false, false, ..) => "│",
        };
        buffer.set_string(left, row, if out { "─" } else { " " }, Style::new());
        buffer.set_string(left + JOINT, row, joint, Style::new());
    }
    for (row, thread) in entries {
        let room = usize::from(GAP - JOINT - 2);
        let rate = thread.rate.map_or_else(String::new, |rate| format!("{}/s", short(rate).replace(' ', "")));
        let style = if thread.active { Style::new() } else { Style::new().add_modifier(Modifier::DIM) };
        buffer.set_string(left + JOINT + 1, *row, format!("{rate:─^room$}▶"), style);
        if let Some((waiting, most)) = thread.waiting {
            // All that may wait does: this is where packets are held up.
            let style = if waiting >= most { Style::new().fg(Color::Red) } else { style };
            buffer.set_string(left + JOINT + 1, row + 1, format!("{:^room$}", format!("{waiting}/{most}")), style);
        }
    }
}

fn style_of(thread: Option<&Busy>, is_chosen: bool) -> Style {
    let core = thread.and_then(|thread| thread.core);
    let style = core.map_or_else(Style::new, |core| Style::new().fg(COLOURS[core as usize % COLOURS.len()]));
    match thread {
        _ if is_chosen => style.add_modifier(Modifier::BOLD),
        Some(thread) if !thread.active => style.add_modifier(Modifier::DIM),
        _ => style,
    }
}

/// Where a thread runs.
fn place(thread: &Busy) -> String {
    let core = thread.pinned.or(thread.core).map_or_else(String::new, |core| format!("core {core}"));
    let pinned = if thread.pinned.is_some() { " pinned" } else { "" };
    let out = if thread.active { "" } else { " out" };
    format!("{core}{pinned}{out}")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The number at the end of a thread's name.
fn number_of(name: &str) -> u64 {
    name.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Two texts at the ends of a line; the first is cut if both do not fit.
fn pair(left: &str, right: &str, room: usize, fill: char) -> String {
    let taken = right.chars().count();
    let most = room.saturating_sub(taken + usize::from(taken > 0));
    let cut = left.chars().count() > most;
    let mut text: String = left.chars().take(if cut { most.saturating_sub(1) } else { most }).collect();
    if cut {
        text.push('…');
    }
    let between = room.saturating_sub(text.chars().count() + taken);
    text.extend(std::iter::repeat_n(fill, between));
    text + right
}

/// Where packets are dropped, and where none come.
pub(super) fn colour(row: &Row) -> Style {
    match row {
        Row { drop_rate: Some(rate), .. } if *rate > 0.0 => Style::new().red(),
        Row { rate: Some(rate), .. } if *rate == 0.0 => Style::new().dim(),
        _ => Style::new(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::model::Sample;
    use super::*;
    use serde_json::{Value, json};
    use std::time::{Duration, Instant};

    /// A run with so many replicas, a second apart.
    pub(in super::super) fn table(replicas: u64, stages: [&str; 3]) -> Table {
        let element = |name: &str, stage: &str, packets: u64| json!({ "name": name, "class": "C", "stage": stage, "packets": packets, "out": [], "dropped": {} });
        let thread = |name: String, id: u64, packets: u64| json!({ "name": name, "id": id, "cpu_seconds": packets as f64 / 1e5, "core": id % 2, "packets": packets, "active": id != 12, "waiting": if id > 1 { json!(id % 5) } else { Value::Null }, "room": 4 });
        let stats = |packets: u64| {
            let replicas = (0..replicas).map(|n| thread(format!("replica {n}"), 10 + n, packets / 2));
            let ends = [(stages[2], 2), (stages[0], 1)].map(|(name, id)| thread(name.to_owned(), id, packets));
            let elements = [("in@1", stages[0]), ("check", stages[1]), ("a_long_name_of_an_element", stages[1]), ("q", stages[2])];
            json!({ "elements": elements.map(|(name, stage)| element(name, stage, packets)), "threads": ends.into_iter().chain(replicas).collect::<Vec<_>>() })
        };
        let begun = Instant::now();
        let before = Sample::of(&stats(0), begun);
        let mut table = Table::of(&Sample::of(&stats(50_000), begun + Duration::from_secs(1)), Some(&before));
        table.depths.insert("q".to_owned(), (12, 1000));
        table
    }

    fn drawn(table: &Table, (width, height): (u16, u16), chosen: Option<&str>) -> Option<Vec<String>> {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let graph = Graph::of(table, chosen)?;
        let line = |row: u16, buffer: &Buffer| (0..width).map(|x| buffer[(x, row)].symbol()).collect::<String>().trim_end().to_owned();
        graph.draw(0, area, &mut buffer).then(|| (0..height).map(|row| line(row, &buffer)).collect())
    }

    pub(in super::super) const TOTAL: [&str; 3] = ["sources", "replicas", "in order"];

    #[test]
    fn stages_are_boxes_with_rings_between() {
        let wanted = [
            "┌sources────50 %┐            ┌replica 0──25 %┐            ┌in order───50 %┐",
            "│core 1   50.0 k│─┬─25.0k/s─▶│core 0         │─┬─50.0k/s─▶│core 0         │",
            "│in@1     50.0 k│ │   0/4    │check    50.0 k│ │   2/4    │q       12/1000│",
            "└───────────────┘ │          │a_long_… 50.0 k│ │          └───────────────┘",
            "                  │          └───────────────┘ │",
            "                  │          ┌▸replica 1─25 %┐ │",
            "                  └─25.0k/s─▶│core 1         │─┘",
            "                      1/4    └───────────────┘",
        ];
        assert_eq!(drawn(&table(2, TOTAL), (75, 8), Some("replica 1")).unwrap(), wanted);
    }

    #[test]
    fn what_has_no_room_is_counted_or_the_list() {
        let table = table(9, TOTAL);
        let shown = drawn(&table, (80, 18), None).unwrap();
        assert_eq!(shown.iter().filter(|line| line.contains("replica ")).count(), 5, "{shown:#?}");
        assert!(shown.last().unwrap().contains("4 more") && shown.iter().any(|line| line.contains("core 0 out")), "{shown:#?}");
        assert!(shown.iter().any(|line| line.contains("check ")), "{shown:#?}");
        assert_eq!((drawn(&table, (64, 18), None), drawn(&table, (80, 3), None)), (None, None));
        let graph = Graph::of(&table, None).unwrap();
        assert_eq!((graph.hidden(Rect::new(0, 0, 80, 4)), graph.hidden(Rect::new(0, 0, 80, 18))), (2, 0));
    }

    #[test]
    fn replicas_of_the_whole_have_no_rings() {
        let mut table = table(2, ["replicas", "all replicas", "first replica"]);
        table.threads.retain(|thread| thread.name.starts_with("replica "));
        let shown = drawn(&table, (90, 9), None).unwrap();
        assert!(
            shown[0].starts_with("┌replica 0") && shown[0].contains("┌all replicas─") && shown[0].contains("┌first replica─"),
            "{shown:#?}"
        );
        assert!(!shown.concat().contains('▶') && shown.iter().any(|line| line.contains("┌replica 1")), "{shown:#?}");
        table.threads.clear();
        assert!(Graph::of(&table, None).is_none());
    }
}
