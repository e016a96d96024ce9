//! `-i`: packets of an interface, and what is told about them as tcpdump does.

use super::shared;
use crate::failure::{self, Failure, Outcome};
use crate::input::Inputs;
use netvm::io::LinkType;
use netvm::io::live::{self, Counters, LiveError};

/// A capture on an interface.
pub(super) struct Live {
    interface: String,
    link: LinkType,
    counters: Counters,
}

impl Live {
    /// Begins to capture.
    pub(super) fn open(interface: &str, promiscuous: bool) -> Outcome<(Inputs, Self)> {
        let told = |error| told(interface, error);
        let link = live::link_type(interface).map_err(told)?;
        let (capture, counters) = live::open(interface, promiscuous).map_err(told)?;
        Ok((Inputs::one(interface, capture), Self { interface: interface.to_owned(), link, counters }))
    }

    /// Tells that packets may come.
    pub(super) fn begin(&self) {
        let Self { interface, link, .. } = self;
        failure::eprint_lossy(&format!("listening on {interface}, link-type {link}, snapshot length {} bytes", live::SNAPLEN));
    }

    /// Tells how many there were.
    pub(super) fn end(&self, captured: u64) -> Outcome {
        let counts = self.counters.read().map_err(|error| Failure::failed(format_args!("{}: {error}", self.interface)))?;
        for (n, what) in [(captured, "captured"), (counts.received, "received by filter"), (counts.dropped, "dropped by kernel")] {
            failure::eprint_lossy(&format!("{} {what}", shared::packets(n)));
        }
        Ok(())
    }
}

/// The link type of an interface, which anybody may ask.
pub(super) fn link_type(interface: &str) -> Outcome<LinkType> {
    live::link_type(interface).map_err(|error| told(interface, error))
}

fn told(interface: &str, error: LiveError) -> Failure {
    let message = format!("{interface}: {error}");
    match error {
        LiveError::Any => Failure::usage(message),
        _ => Failure::failed(message),
    }
}
