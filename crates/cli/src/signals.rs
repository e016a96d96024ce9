//! ^C and requests to terminate: noted, and looked at between bursts, so that outputs end properly. A second one ends the program at
//! once.

use crate::failure::{Failure, Outcome};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signal that came, if any.
#[derive(Clone)]
pub(crate) struct Signals {
    came: Arc<AtomicUsize>,
    counts: Arc<AtomicBool>,
    flush: Arc<AtomicBool>,
}

/// What a signal asks for without ending the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To tell how many packets there were (SIGUSR1).
    Counts,
    /// To pass on what was written (SIGUSR2).
    Flush,
}

impl Signals {
    /// From now on signals are noted.
    pub(crate) fn watch() -> Outcome<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        let second = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal must find the second's flag still down.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&second)).map_err(Failure::failed)?;
            signal_hook::flag::register(signal, Arc::clone(&second)).map_err(Failure::failed)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&came), signal as usize).map_err(Failure::failed)?;
        }
        Ok(Self { came, counts: Arc::default(), flush: Arc::default() })
    }

    /// From now on other programs may ask for counts and a flush.
    pub(crate) fn listen(&self) -> Outcome {
        for (signal, flag) in [(SIGUSR1, &self.counts), (SIGUSR2, &self.flush)] {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(Failure::failed)?;
        }
        Ok(())
    }

    /// From now on the end of the terminal is a request to end, too, unless whoever started the program wants it to outlive that (nohup).
    pub(crate) fn end_with_terminal(&self) -> Outcome {
        if !is_ignored(SIGHUP) {
            signal_hook::flag::register_usize(SIGHUP, Arc::clone(&self.came), SIGHUP as usize).map_err(Failure::failed)?;
        }
        Ok(())
    }

    /// What was asked for since the last call; one at a time.
    pub(crate) fn asked(&self) -> Option<Asked> {
        let taken = |flag: &AtomicBool| flag.load(Ordering::Relaxed) && flag.swap(false, Ordering::Relaxed);
        match (taken(&self.counts), || taken(&self.flush)) {
            (true, _) => Some(Asked::Counts),
            (false, flush) => flush().then_some(Asked::Flush),
        }
    }

    /// True once the program is asked to end.
    pub(crate) fn stop(&self) -> bool {
        self.came.load(Ordering::Relaxed) != 0
    }

    /// A failure with the signal's exit status, if one came.
    pub(crate) fn result(&self) -> Outcome {
        match i32::try_from(self.came.load(Ordering::Relaxed)) {
            Ok(0) => Ok(()),
            Ok(signal) => Err(Failure::signal(signal)),
            Err(_) => Err(Failure::told()),
        }
    }
}

/// Whether the program was started with a signal ignored, as the kernel tells it.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
