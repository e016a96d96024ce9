//! The table on a screen, and the keys that change what is seen of it.

use super::graph::{Graph, colour};
use super::model::{Busy, Order, Table};
use super::view::{HEAD, cells, contention, port, threads, title};
use super::{Args, NAP, SampleSource};
use crate::failure::Outcome;
use crate::signals::Signals;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table as Grid};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Rows in which there is no room for boxes.
const SMALL: u16 = 8;

/// Rows of title and list that there are always.
const FIXED: usize = 3;

/// Until somebody ends it.
pub(super) fn run(args: &Args, source: &mut SampleSource, interval: Duration, signals: &Signals) -> Outcome {
    let mut terminal = ratatui::try_init()?;
    let result = show(args, source, interval, signals, &mut terminal);
    ratatui::restore();
    result
}

fn show(args: &Args, source: &mut SampleSource, interval: Duration, signals: &Signals, terminal: &mut ratatui::DefaultTerminal) -> Outcome {
    let mut screen = Screen { order: args.order, ..Screen::default() };
    let (mut table, mut tables, mut next) = (source.with_depths()?, 1, Instant::now() + interval);
    loop {
        table.sort(screen.order);
        terminal.draw(|frame| screen.draw(&table, frame))?;
        let wait = next.saturating_duration_since(Instant::now()).min(NAP);
        if event::poll(wait)?
            && let Event::Key(key) = event::read()?
        {
            if !takes(&mut screen, key) {
                return Ok(());
            }
            screen.changes(key, &table, source)?;
        }
        if signals.stop() {
            return Ok(());
        }
        if Instant::now() >= next {
            next += interval;
            if !screen.paused {
                table = source.with_depths()?;
                tables += 1;
            }
            if args.count.is_some_and(|count| tables > count) {
                return Ok(());
            }
        }
    }
}

/// Does what a key says; false if that is to end.
fn takes(screen: &mut Screen, key: KeyEvent) -> bool {
    if key.kind != KeyEventKind::Press {
        return true;
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('g') => screen.is_list = !screen.is_list,
        KeyCode::Char('p' | ' ') => screen.paused = !screen.paused,
        KeyCode::Char('r') => screen.order = Order::Rate,
        KeyCode::Char('d') => screen.order = Order::Drops,
        KeyCode::Char('o') => screen.order = Order::Configuration,
        KeyCode::Up => screen.first = screen.first.saturating_sub(1),
        KeyCode::Down => screen.first += 1,
        KeyCode::PageUp => screen.first = screen.first.saturating_sub(10),
        KeyCode::PageDown => screen.first += 10,
        KeyCode::Home => screen.first = 0,
        _ => {}
    }
    true
}

/// What the screen shows besides the table.
#[derive(Default)]
struct Screen {
    order: Order,
    paused: bool,
    /// Elements are listed, also where there are stages to draw.
    is_list: bool,
    /// The first row that is shown.
    first: usize,
    /// The thread that is moved next.
    chosen: Option<String>,
    /// What came of the last change.
    told: String,
}

/// A core's number behind that of another, of so many.
fn next_core(thread: &Busy, cores: u64) -> u64 {
    thread.pinned.or(thread.core).map_or(0, |core| (core + 1) % cores.max(1))
}

impl Screen {
    /// Chooses a thread, or changes the run as a key says.
    fn changes(&mut self, key: KeyEvent, table: &Table, source: &mut SampleSource) -> Outcome {
        let KeyCode::Char(letter) = key.code else { return Ok(()) };
        if key.kind != KeyEventKind::Press {
            return Ok(());
        }
        if letter == 't' {
            self.chosen = self.next_thread(table);
        }
        let Some(request) = self.request(letter, table) else { return Ok(()) };
        self.told = match source.ask(&request)? {
            Ok(answer) => match answer["pause_us"].as_f64() {
                Some(pause) if request["op"] == "move" => {
                    format!("{} moved, pause {pause:.1} us", request["thread"].as_str().unwrap_or_default())
                }
                _ => format!("{} replicas from the next packets on", answer["wanted"]),
            },
            Err(why) => why,
        };
        Ok(())
    }

    fn next_thread(&self, table: &Table) -> Option<String> {
        let names: Vec<&String> = table.threads.iter().filter(|thread| thread.moves).map(|thread| &thread.name).collect();
        let at = names.iter().position(|name| Some(*name) == self.chosen.as_ref()).map_or(0, |at| at + 1);
        names.get(at % names.len().max(1)).map(|name| (*name).clone())
    }

    /// What a key asks of the run.
    fn request(&self, letter: char, table: &Table) -> Option<Value> {
        let chosen = || table.threads.iter().find(|thread| Some(&thread.name) == self.chosen.as_ref());
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        match letter {
            'm' => chosen().map(|it| json!({ "op": "move", "thread": it.name, "core": next_core(it, cores) })),
            'a' => chosen().map(|it| json!({ "op": "move", "thread": it.name, "core": null })),
            '+' => table.replicas.map(|now| json!({ "op": "replicas", "replicas": now + 1 })),
            '-' => table.replicas.map(|now| json!({ "op": "replicas", "replicas": now.saturating_sub(1) })),
            _ => None,
        }
    }

    fn draw(&mut self, table: &Table, frame: &mut Frame<'_>) {
        let mut keys = self.keys(table, frame.area().width.into());
        keys.truncate(if frame.area().height > SMALL { keys.len() } else { 1 });
        let told = usize::from(!self.told.is_empty());
        let boxes = self.graph(table).is_some_and(|_| frame.area().height > SMALL);
        let threads = if boxes { Vec::new() } else { threads(table, self.chosen.as_deref()) };
        let mut above: Vec<Line<'_>> = table.devices.iter().map(port).chain(threads).chain(contention(table)).map(Line::from).collect();
        above.truncate(usize::from(frame.area().height).saturating_sub(FIXED + told + keys.len()));
        let lengths = [1, above.len(), told, keys.len()].map(|length| Constraint::Length(length as u16));
        let [top, ports, middle, news, bottom] =
            Layout::vertical([lengths[0], lengths[1], Constraint::Min(2), lengths[2], lengths[3]]).areas(frame.area());
        let paused = if self.paused { "  PAUSED" } else { "" };
        frame.render_widget(Paragraph::new(Line::from(title(table) + paused).bold()), top);
        frame.render_widget(Paragraph::new(above), ports);
        if !(boxes && self.draw_graph(table, middle, frame)) {
            self.draw_list(table, middle, frame);
        }
        frame.render_widget(Line::from(self.told.as_str()), news);
        frame.render_widget(Paragraph::new(keys.into_iter().map(Line::from).collect::<Vec<_>>()).dim(), bottom);
    }

    /// The stages, unless the list is wanted.
    fn graph<'t>(&'t self, table: &'t Table) -> Option<Graph<'t>> {
        Graph::of(table, self.chosen.as_deref()).filter(|_| !self.is_list)
    }

    /// False if there is no room for it.
    fn draw_graph(&mut self, table: &Table, area: Rect, frame: &mut Frame<'_>) -> bool {
        let Some(graph) = self.graph(table) else { return false };
        let first = self.first.min(graph.hidden(area));
        let drawn = graph.draw(first, area, frame.buffer_mut());
        if drawn {
            self.first = first;
        }
        drawn
    }

    fn draw_list(&mut self, table: &Table, area: Rect, frame: &mut Frame<'_>) {
        let room = usize::from(area.height.saturating_sub(1));
        self.first = self.first.min(table.rows.len().saturating_sub(room));
        let shown = table.rows.iter().skip(self.first).take(room);
        let rows = shown.map(|row| Cells::new(cells(row).into_iter().map(Cell::from)).style(colour(row)));
        let widths = [Constraint::Fill(2), Constraint::Fill(1)].into_iter().chain([Constraint::Length(11); 5]);
        let head = Cells::new(HEAD).style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_widget(Grid::new(rows, widths).header(head), area);
    }

    /// What keys do, in lines of that width.
    fn keys(&self, table: &Table, width: usize) -> Vec<String> {
        let order = match self.order {
            Order::Configuration => "configuration",
            Order::Rate => "rate",
            Order::Drops => "drops",
        };
        let moves = table.threads.iter().any(|thread| thread.moves);
        let view = if self.is_list { "g graph" } else { "g list" };
        let always = ["q end", "p pause"].map(str::to_owned).into_iter().chain([format!("order: {order} (o r d)"), "↑↓ scroll".to_owned()]);
        let threads = [view, "t thread", "m move", "a any core"].into_iter().filter(|_| moves).map(str::to_owned);
        let replicas = table.replicas.map(|count| format!("{count} replicas (+ -)"));
        let mut lines = vec![String::new()];
        for key in always.chain(threads).chain(replicas) {
            let line = lines.last_mut().filter(|line| line.chars().count() + 2 + key.chars().count() <= width || line.is_empty());
            match line {
                Some(line) if line.is_empty() => line.push_str(&key),
                Some(line) => line.extend(["  ", &key]),
                None => lines.push(key),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::{TOTAL, table as placed};
    use super::super::view::tests::table;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn the_screen_shows_what_there_is_room_for() {
        let mut terminal = Terminal::new(TestBackend::new(90, 5)).unwrap();
        let mut screen = Screen { first: 99, paused: true, ..Screen::default() };
        terminal.draw(|frame| screen.draw(&table(), frame)).unwrap();
        let shown = terminal.backend().to_string();
        assert!(shown.contains("PAUSED") && shown.contains("element") && shown.contains("order: configuration"), "{shown}");
        // One row of two, the last.
        assert!(shown.contains("q ") && !shown.contains("FromDevice"), "{shown}");
        assert_eq!(screen.first, 1);
    }

    fn shown(screen: &mut Screen, table: &Table, (width, height): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(table, frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn stages_are_drawn_where_there_is_room() {
        let table = Table { replicas: Some(2), ..placed(2, TOTAL) };
        let mut screen = Screen { told: "replica 1 moved, pause 14.2 us".to_owned(), first: 5, ..Screen::default() };
        let boxes = shown(&mut screen, &table, (80, 24));
        for part in [
            "┌sources",
            "┌replica 1",
            "┌in order",
            "25.0k/s",
            "2/4",
            "12/1000",
            "pause 14.2 us",
            "g list",
            "2 replicas (+ -)",
            "a any core",
        ] {
            assert!(boxes.contains(part), "{part}: {boxes}");
        }
        assert_eq!(screen.first, 0, "all elements have room");
        for size in [(65, 24), (80, 8)] {
            let list = shown(&mut screen, &table, size);
            assert!(list.contains("packets/s") && !list.contains("┌"), "{list}");
        }
        assert!(takes(&mut screen, KeyEvent::from(KeyCode::Char('g'))));
        let list = shown(&mut screen, &table, (80, 24));
        assert!(list.contains("packets/s") && list.contains("threads: ") && list.contains("g graph"), "{list}");
    }

    #[test]
    fn keys_choose_threads_and_ask_for_changes() {
        let mut screen = Screen::default();
        let mut table = table();
        assert_eq!(
            (screen.request('m', &table), screen.request('+', &table)),
            (None, None),
            "nothing is chosen, and there are no replicas"
        );
        screen.chosen = screen.next_thread(&table);
        assert_eq!(screen.chosen.as_deref(), Some("in order"));
        assert_eq!(screen.next_thread(&table), screen.chosen, "there is one");
        assert_eq!(next_core(&table.threads[0], 2), 0);
        let request = screen.request('m', &table).unwrap();
        assert!(request["op"] == "move" && request["thread"] == "in order" && request["core"].is_u64(), "{request}");
        assert!(screen.request('a', &table).unwrap()["core"].is_null());
        table.replicas = Some(2);
        assert_eq!(screen.request('+', &table).unwrap()["replicas"], 3);
        assert_eq!(screen.request('-', &table).unwrap()["replicas"], 1);
        let mut terminal = Terminal::new(TestBackend::new(120, 7)).unwrap();
        terminal.draw(|frame| screen.draw(&table, frame)).unwrap();
        let shown = terminal.backend().to_string();
        assert!(shown.contains("[in order 50 % on core 1 (pinned) 2/4]") && shown.contains("2 replicas (+ -)"), "{shown}");
    }
}
