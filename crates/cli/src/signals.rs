//! ^C and requests to terminate: noted, and looked at between bursts, so that outputs end properly. A second one ends the program at
//! once.

use crate::failure::{Failure, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signal that came, if any.
#[derive(Clone)]
pub(crate) struct Signals {
    came: Arc<AtomicUsize>,
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
        Ok(Self { came })
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
