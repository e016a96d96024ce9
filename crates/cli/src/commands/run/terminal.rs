//! The streams and the clock of a run, and the signals that end it.

use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::signals::{Heard, Signals};
use netvm::application::{Host, Stream};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest sleep without a look at signals.
const NAP: Duration = Duration::from_millis(20);

/// What was made, unless a signal ended that: then the signal is what went wrong.
pub(super) fn unless_ended<T, E>(made: Result<T, E>, signals: &Signals) -> Outcome<T>
where
    Failure: From<E>,
{
    made.or_else(|error| signals.result().and(Err(error.into())))
}

/// The streams and the clock of this process.
pub(crate) struct Terminal {
    pub(crate) out: Out,
    pub(crate) signals: Signals,
    /// Whether what elements print goes to standard error, since standard output is for JSON.
    pub(crate) only_err: bool,
    /// Somebody asks something over a socket.
    pub(crate) asked: Option<Arc<AtomicBool>>,
    /// Signals that scripts hear.
    heard: Heard,
}

impl Terminal {
    pub(crate) fn new(signals: Signals, only_err: bool, asked: Option<Arc<AtomicBool>>) -> Self {
        Self { out: Out::new(), signals, only_err, asked, heard: Heard::default() }
    }

    fn is_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed))
    }
}

impl Host for Terminal {
    fn write(&mut self, stream: Stream, text: &[u8]) {
        // A reader that is gone has nothing to be told.
        let _ = match stream {
            Stream::Out if !self.only_err => self.out.bytes(text),
            Stream::Out | Stream::Err => self.out.flush().and_then(|()| Ok(std::io::stderr().write_all(text)?)),
        };
    }

    fn clock(&self) -> Option<u64> {
        SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|now| u64::try_from(now.as_nanos()).ok())
    }

    fn sleep(&mut self, nanoseconds: u64) {
        let _ = self.out.flush();
        let end = Instant::now() + Duration::from_nanos(nanoseconds.min(3_600_000_000_000));
        while !self.signals.stop() && !self.is_asked() && !self.heard.any() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.heard.wait(left.min(NAP));
        }
    }

    fn stops(&self) -> bool {
        self.signals.stop()
    }

    fn hear(&mut self, signal: i32, hears: bool) {
        self.signals.hear(&mut self.heard, signal, hears);
    }

    fn signalled(&mut self) -> Option<i32> {
        self.signals.heard(&self.heard)
    }

    fn raise(&mut self, signal: i32) {
        let _ = self.out.flush();
        let _ = signal_hook::low_level::raise(signal);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.out.flush();
    }
}
