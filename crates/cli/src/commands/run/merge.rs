//! Packets of several captures in the order of their times; of equal times in the order of the
//! command line.

use crate::failure::{self, Outcome};
use crate::input;
use crate::signals::Signals;
use netvm::io::capture::Progress;
use netvm::io::{Capture, Info, LinkType};
use netvm::netil::exec::ExchangeBuffer;
use std::collections::VecDeque;
use std::path::PathBuf;

/// Packets read ahead of one capture.
const AHEAD: usize = 256;

/// A packet that arrives at a port.
pub(super) struct Arrival {
    pub port: u32,
    pub link: LinkType,
    /// Its number in its capture, from 1.
    pub number: u64,
    /// Its capture, as an index.
    pub input: usize,
    data: Vec<u8>,
    time_ns: u64,
    missing: u32,
}

impl Arrival {
    pub(super) fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// The packet for a handler.
    pub(super) fn buffer(&self) -> ExchangeBuffer<'_> {
        let mut buffer = ExchangeBuffer::borrowed(&self.data);
        (buffer.port, buffer.time_ns, buffer.missing) = (self.port, self.time_ns, self.missing);
        buffer
    }
}

/// Captures being merged.
pub(super) struct Merge {
    sources: Vec<CaptureInput>,
    whole: bool,
}

struct CaptureInput {
    port: u32,
    path: PathBuf,
    capture: Capture,
    waiting: VecDeque<Arrival>,
    ended: bool,
}

impl Merge {
    pub(super) fn open(inputs: &[(u32, PathBuf)]) -> Outcome<Self> {
        let source = |(port, path): &(u32, PathBuf)| {
            let capture = input::open(path)?;
            Ok(CaptureInput { port: *port, path: path.clone(), capture, waiting: VecDeque::new(), ended: false })
        };
        Ok(Self { sources: inputs.iter().map(source).collect::<Outcome<_>>()?, whole: true })
    }

    pub(super) fn infos(&self) -> Outcome<Vec<Info>> {
        let survey = |s: &CaptureInput| s.capture.survey().map_err(|e| failure::Failure::failed(format_args!("{}: {e}", s.path.display())));
        self.sources.iter().map(survey).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// False once damage was met.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Bytes read, and bytes there are if that is known of all.
    pub(super) fn progress(&self) -> (u64, Option<u64>) {
        let parts: Vec<_> = self.sources.iter().map(|s| s.capture.progress()).collect();
        (parts.iter().map(|p| p.0).sum(), parts.iter().map(|p| p.1).sum())
    }

    /// The next packets, at most `max`; none at the end or when a signal came. `idle` is called
    /// before a pipe is waited for.
    pub(super) fn next(
        &mut self,
        max: usize,
        arrivals: &mut Vec<Arrival>,
        signals: &Signals,
        idle: &mut dyn FnMut() -> Outcome,
    ) -> Outcome {
        arrivals.clear();
        while arrivals.len() < max {
            if !arrivals.is_empty() && self.must_wait() {
                break;
            }
            self.fill(signals, idle)?;
            let heads = self.sources.iter_mut().filter(|s| !s.waiting.is_empty());
            let Some(first) = heads.min_by_key(|s| s.waiting.front().map_or(0, Arrival::time_ns)) else { break };
            arrivals.extend(first.waiting.pop_front());
        }
        Ok(())
    }

    /// True if some capture must be read before the next packet is known.
    fn must_wait(&self) -> bool {
        self.sources.iter().any(|s| !s.ended && s.waiting.is_empty())
    }

    fn fill(&mut self, signals: &Signals, idle: &mut dyn FnMut() -> Outcome) -> Outcome {
        for (number, source) in self.sources.iter_mut().enumerate() {
            while !source.ended && source.waiting.is_empty() && !signals.stop() {
                match source.capture.poll_burst(AHEAD) {
                    Ok(Progress::Burst(burst)) => {
                        let first = burst.first_number() + 1;
                        source.waiting.extend(burst.records().zip(first..).map(|(record, n)| Arrival {
                            port: source.port,
                            link: record.link_type(),
                            number: n,
                            input: number,
                            data: record.data.to_vec(),
                            time_ns: u64::try_from(record.timestamp().as_nanos()).unwrap_or(0),
                            missing: record.wire_len().saturating_sub(record.data.len() as u32),
                        }));
                    }
                    Ok(Progress::Idle) => idle()?,
                    Ok(Progress::End) => source.ended = true,
                    Err(error) => {
                        failure::error(&format!("{}: {error}", input::shown(&source.path)));
                        (source.ended, self.whole) = (true, false);
                    }
                }
            }
        }
        Ok(())
    }
}
