//! The bar on standard error while a person waits for a long input.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two looks at the clock's result on the screen.
const STEP: Duration = Duration::from_millis(100);

/// A bar, or nothing.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
    drawn: Instant,
    /// Bytes of inputs that are done.
    before: u64,
}

impl Progress {
    /// A bar if a person watches standard error, and `wanted`.
    pub(crate) fn new(wanted: bool) -> Self {
        let bar = (wanted && std::io::stderr().is_terminal()).then(ProgressBar::hidden);
        let now = Instant::now();
        Self { bar, start: now, drawn: now, before: 0 }
    }

    /// Shows how far the present input is: bytes read, and bytes there are if that is known.
    pub(crate) fn at(&mut self, (done, total): (u64, Option<u64>)) {
        let Some(bar) = &self.bar else { return };
        if self.drawn.elapsed() < STEP || self.start.elapsed() < PATIENCE {
            return;
        }
        self.drawn = Instant::now();
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        match total {
            Some(total) => {
                bar.set_style(style("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"));
                bar.set_length(self.before + total);
            }
            None => bar.set_style(style("{spinner} {bytes}, {bytes_per_sec}")),
        }
        bar.set_position(self.before + done);
    }

    /// The present input is done.
    pub(crate) fn next(&mut self, (done, _): (u64, Option<u64>)) {
        self.before += done;
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
