//! The table on a screen, and the keys that change what is seen of it.

use super::model::{Order, Row, Table};
use super::view::{HEAD, cells, port, threads, title};
use super::{Args, NAP, Source};
use crate::failure::Outcome;
use crate::signals::Signals;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table as Grid};
use std::time::{Duration, Instant};

/// Until somebody ends it.
pub(super) fn run(args: &Args, source: &mut Source, interval: Duration, signals: &Signals) -> Outcome {
    let mut terminal = ratatui::try_init()?;
    let result = show(args, source, interval, signals, &mut terminal);
    ratatui::restore();
    result
}

fn show(args: &Args, source: &mut Source, interval: Duration, signals: &Signals, terminal: &mut ratatui::DefaultTerminal) -> Outcome {
    let mut screen = Screen { order: args.order, ..Screen::default() };
    let (mut table, mut tables, mut next) = (source.table()?, 1, Instant::now() + interval);
    loop {
        table.sort(screen.order);
        terminal.draw(|frame| screen.draw(&table, frame))?;
        let wait = next.saturating_duration_since(Instant::now()).min(NAP);
        if event::poll(wait)? && matches!(event::read()?, Event::Key(key) if !takes(&mut screen, key)) || signals.stop() {
            return Ok(());
        }
        if Instant::now() >= next {
            next += interval;
            if !screen.paused {
                table = source.table()?;
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
    /// The first row that is shown.
    first: usize,
}

impl Screen {
    fn draw(&mut self, table: &Table, frame: &mut Frame<'_>) {
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

#[cfg(test)]
mod tests {
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
}
