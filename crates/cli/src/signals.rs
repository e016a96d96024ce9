//! ^C and requests to terminate: noted, and looked at between bursts, so that outputs end properly.
//! A second one ends the program at once.

use crate::failure::{Failure, Outcome};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The signal that came, if any.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    came: Arc<AtomicUsize>,
    counts: Arc<AtomicBool>,
    flush: Arc<AtomicBool>,
    /// A second request to end ends the program at once.
    second: Arc<AtomicBool>,
    /// Signals that scripts hear, a bit each: they are no requests to end.
    heard: Arc<AtomicU64>,
}

/// Signals that scripts of a configuration hear.
#[derive(Default)]
pub(crate) struct Heard {
    ears: BTreeMap<i32, Ear>,
    /// A byte is written into the first for each that comes: who reads at the second wakes up.
    bell: Option<(UnixStream, UnixStream)>,
}

/// What is known of one of them.
#[derive(Default)]
struct Ear {
    came: Arc<AtomicBool>,
    /// It does what it does without scripts.
    is_deaf: Arc<AtomicBool>,
}

impl Heard {
    /// Whether one has come.
    pub(crate) fn any(&self) -> bool {
        self.ears.values().any(|ear| ear.came.load(Ordering::Relaxed))
    }

    /// Waits so long, or until one comes.
    pub(crate) fn wait(&self, time: Duration) {
        match &self.bell {
            Some((_, bell)) if bell.set_read_timeout(Some(time)).is_ok() => drop((&*bell).read(&mut [0; 64])),
            _ => std::thread::sleep(time),
        }
    }
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
        Ok(Self { came, second, ..Self::default() })
    }

    /// From now on a signal is one that scripts hear, or no longer.
    pub(crate) fn hear(&self, heard: &mut Heard, signal: i32, hears: bool) {
        if heard.bell.is_none() {
            heard.bell = UnixStream::pair().ok();
        }
        let bell = &heard.bell;
        let ear = heard.ears.entry(signal).or_insert_with(|| {
            let ear = Ear::default();
            // Those that ask for the end are noted already. One that cannot be heard is not.
            if ![SIGINT, SIGTERM].contains(&signal) {
                let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&ear.is_deaf));
            }
            let _ = signal_hook::flag::register(signal, Arc::clone(&ear.came));
            if let Some(bell) = bell.as_ref().and_then(|(bell, _)| bell.try_clone().ok()) {
                let _ = signal_hook::low_level::pipe::register(signal, bell);
            }
            ear
        });
        ear.is_deaf.store(!hears, Ordering::Relaxed);
        let bit = 1 << signal;
        match hears {
            true => self.heard.fetch_or(bit, Ordering::Relaxed),
            false => self.heard.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    /// A signal that has come and is heard. It asks for no end.
    pub(crate) fn heard(&self, heard: &Heard) -> Option<i32> {
        let came = heard.ears.iter().find(|(_, ear)| !ear.is_deaf.load(Ordering::Relaxed) && ear.came.swap(false, Ordering::Relaxed));
        let signal = *came?.0;
        if self.came.compare_exchange(signal as usize, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.second.store(false, Ordering::Relaxed);
        }
        Some(signal)
    }

    /// From now on other programs may ask for counts and a flush.
    pub(crate) fn listen(&self) -> Outcome {
        for (signal, flag) in [(SIGUSR1, &self.counts), (SIGUSR2, &self.flush)] {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(Failure::failed)?;
        }
        Ok(())
    }

    /// From now on the end of the terminal is a request to end, too, unless whoever started the
    /// program wants it to outlive that (nohup).
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
        let came = self.came.load(Ordering::Relaxed);
        came != 0 && self.heard.load(Ordering::Relaxed) >> came & 1 == 0
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
