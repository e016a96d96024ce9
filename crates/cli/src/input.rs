//! Captures in a row: opened before anything is done, read one after the other, damage told and
//! counted.

use crate::failure::{self, Failure, Outcome};
use crate::progress;
use crate::signals::{Asked, Signals};
use netvm::io::capture::Progress;
use netvm::io::{Burst, Capture, Info, ReadError, Timestamp};
use std::path::{Path, PathBuf};

/// Packets in a burst: the engines' unit of work, small enough that its packets stay in the cache.
pub(crate) const BURST: usize = 256;

/// Opened captures in the order of the command line.
pub(crate) struct Inputs {
    captures: Vec<(PathBuf, Capture)>,
}

/// What a consumer of packets may say.
pub(crate) enum Flow {
    /// More, please.
    More,
    /// Enough.
    Enough,
}

/// Signals and the progress bar, while packets are fed.
pub(crate) struct Watch<'a> {
    signals: &'a Signals,
    bar: &'a mut progress::Progress,
    total: Option<u64>,
}

impl Watch<'_> {
    /// Shows that so many bytes of the input were read; false if the program is to stop.
    pub(crate) fn at(&mut self, bytes: u64) -> bool {
        self.bar.at((bytes, self.total));
        !self.signals.stop()
    }
}

/// What is done with packets.
pub(crate) trait Consumer {
    /// Takes packets of the input with that number.
    fn burst(&mut self, input: usize, burst: Burst<'_>) -> Outcome<Flow>;

    /// Takes packets from the beginning of an input in some quicker way, before the rest is fed.
    fn ahead(&mut self, _input: usize, _capture: &mut Capture, _watch: &mut Watch<'_>) -> Outcome<Flow> {
        Ok(Flow::More)
    }

    /// The input has a pause: the time to hand on what is ready.
    fn idle(&mut self) -> Outcome;

    /// Another program asks for something by a signal.
    fn asked(&mut self, _asked: Asked) -> Outcome {
        Ok(())
    }
}

impl Inputs {
    /// Opens all of them.
    pub(crate) fn open(paths: &[PathBuf]) -> Outcome<Self> {
        if paths.iter().filter(|p| *p == Path::new("-")).count() > 1 {
            return Err(Failure::usage("standard input (-) can be read only once"));
        }
        let open = |path: &PathBuf| Ok((path.clone(), open(path)?));
        Ok(Self { captures: paths.iter().map(open).collect::<Outcome<_>>()? })
    }

    /// A capture that was opened otherwise, by that name in messages.
    pub(crate) fn one(name: &str, capture: Capture) -> Self {
        Self { captures: vec![(name.into(), capture)] }
    }

    /// What is known of each, pipes apart before any packet is read.
    pub(crate) fn survey(&self) -> Outcome<Vec<Info>> {
        self.captures.iter().map(|(path, capture)| capture.survey().map_err(|e| told(path, e))).collect()
    }

    /// The captures with their names.
    pub(crate) fn captures(&mut self) -> impl Iterator<Item = (&Path, &mut Capture)> {
        self.captures.iter_mut().map(|(path, capture)| (path.as_path(), capture))
    }

    /// What each capture says of itself at its beginning.
    pub(crate) fn infos(&self) -> Vec<Info> {
        self.captures.iter().map(|(_, capture)| capture.info()).collect()
    }

    /// Feeds everything to a consumer. True if nothing was damaged; damage is told, and the next
    /// capture follows.
    pub(crate) fn feed(&mut self, consumer: &mut impl Consumer, signals: &Signals, bar: &mut progress::Progress) -> Outcome<bool> {
        let mut whole = true;
        for (number, (path, capture)) in self.captures.iter_mut().enumerate() {
            match feed_one(number, capture, consumer, signals, bar)? {
                Fed::Enough => return Ok(whole),
                Fed::All => {}
                Fed::Damaged(error) => {
                    bar.clear();
                    failure::error(&format!("{}: {error}", shown(path)));
                    whole = false;
                }
            }
            bar.next(capture.progress());
        }
        Ok(whole)
    }
}

/// A capture among those being merged.
struct Lane {
    number: usize,
    /// When its next packet was captured.
    time: Timestamp,
    /// Packets that are asked for: few while the captures alternate, since those that are not due
    /// are looked at again.
    ask: usize,
}

impl Inputs {
    /// Feeds the packets of all captures in the order of their times; those of one keep their
    /// order, and of equal times the earlier capture's come first, as with mergecap. True if
    /// nothing was damaged.
    pub(crate) fn merge(&mut self, consumer: &mut impl Consumer, signals: &Signals, bar: &mut progress::Progress) -> Outcome<bool> {
        let mut whole = true;
        let mut lanes = Vec::new();
        for number in 0..self.captures.len() {
            whole &= self.lane(number, 1, &mut lanes);
        }
        while let Some(at) = (0..lanes.len()).min_by_key(|&at| key(&lanes[at])) {
            let Lane { number, ask, .. } = lanes.swap_remove(at);
            let next = lanes.iter().map(key).min();
            let before = |time: Timestamp| next.is_none_or(|next| (time.as_nanos(), number) < next);
            if let Some(asked) = signals.asked() {
                consumer.asked(asked)?;
            }
            let (path, capture) = &mut self.captures[number];
            let count = match capture.next_burst_while(ask, before) {
                Ok(Some(burst)) => {
                    let count = burst.len();
                    if signals.stop() || matches!(consumer.burst(number, burst)?, Flow::Enough) {
                        return Ok(whole);
                    }
                    count
                }
                Ok(None) => continue,
                Err(error) => {
                    failure::error(&format!("{}: {error}", shown(path)));
                    whole = false;
                    continue;
                }
            };
            bar.at(capture.progress());
            whole &= self.lane(number, (2 * count).clamp(1, BURST), &mut lanes);
        }
        Ok(whole)
    }

    /// Takes a capture among those being merged while it has packets; false if it is damaged, which
    /// is told.
    fn lane(&mut self, number: usize, ask: usize, lanes: &mut Vec<Lane>) -> bool {
        let (path, capture) = &mut self.captures[number];
        match capture.peek_time() {
            Ok(time) => {
                lanes.extend(time.map(|time| Lane { number, time, ask }));
                true
            }
            Err(error) => {
                failure::error(&format!("{}: {error}", shown(path)));
                false
            }
        }
    }
}

/// What captures are ordered by.
fn key(lane: &Lane) -> (i64, usize) {
    (lane.time.as_nanos(), lane.number)
}

/// How feeding one capture ended.
enum Fed {
    All,
    /// The consumer wants no more, or the program is to stop.
    Enough,
    Damaged(ReadError),
}

fn feed_one(
    number: usize,
    capture: &mut Capture,
    consumer: &mut impl Consumer,
    signals: &Signals,
    bar: &mut progress::Progress,
) -> Outcome<Fed> {
    let total = capture.progress().1;
    if let Flow::Enough = consumer.ahead(number, capture, &mut Watch { signals, bar, total })? {
        return Ok(Fed::Enough);
    }
    let mut fresh = false;
    loop {
        if signals.stop() {
            return Ok(Fed::Enough);
        }
        if let Some(asked) = signals.asked() {
            consumer.asked(asked)?;
        }
        match capture.poll_burst(BURST) {
            Ok(Progress::Burst(burst)) => {
                fresh = true;
                if let Flow::Enough = consumer.burst(number, burst)? {
                    return Ok(Fed::Enough);
                }
            }
            // A pause may be told more than once.
            Ok(Progress::Idle) if !std::mem::take(&mut fresh) => {}
            Ok(Progress::Idle) => consumer.idle()?,
            Ok(Progress::End) => return Ok(Fed::All),
            Err(error) => return Ok(Fed::Damaged(error)),
        }
        bar.at(capture.progress());
    }
}

/// The names in a file, one a line.
pub(crate) fn list(path: &Path) -> Outcome<Vec<PathBuf>> {
    let read = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = read.map_err(|error| Failure::failed(format_args!("{}: {error}", shown(path))))?;
    Ok(text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}

/// Opens one capture.
pub(crate) fn open(path: &Path) -> Outcome<Capture> {
    Capture::open(path).map_err(|error| told(path, error))
}

fn told(path: &Path, error: ReadError) -> Failure {
    Failure::failed(format_args!("{}: {error}", shown(path)))
}

/// The name of an input in messages.
pub(crate) fn shown(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}
