//! Where in its file a source of packets is: `filepos`, `packet_filepos` and FILEPOS.

use super::super::{ElementError, HandlerError};
use crate::graph::Args;
use crate::graph::text;
use crate::io::Capture;
use crate::io::capture::Places;

/// What a source keeps for that.
#[derive(Default)]
pub(super) struct FilePos {
    places: Option<Places>,
    /// The number in the file, from 0 on, of the packet that went out last.
    pub(super) emitted: Option<u64>,
}

impl FilePos {
    /// Goes where FILEPOS says.
    pub(super) fn begin(capture: &mut Option<Capture>, args: &Args, name: &str) -> Result<(), ElementError> {
        let Some(place) = args.text("FILEPOS") else { return Ok(()) };
        let place = parse(&place).ok_or_else(|| ElementError::resource(format!("FILEPOS should be a number of bytes, not '{place}'")))?;
        capture.as_mut().map_or(Ok(()), |capture| go_to(capture, place, name))
    }

    /// Where the packet of that number begins, or the file ends if there are no more.
    pub(super) fn of(&mut self, number: u64, capture: &Capture) -> Result<String, HandlerError> {
        if self.places.is_none() {
            self.places = capture.places().map_err(HandlerError::failed)?;
        }
        let places = self.places.as_mut().ok_or("only packets of files have a place")?;
        places.place(number).map(|place| place.start.to_string()).map_err(HandlerError::failed)
    }
}

/// A place in a file.
pub(super) fn parse(place: &str) -> Option<u64> {
    text::integer(place).and_then(|place| u64::try_from(place).ok())
}

/// Lets a capture go on there.
pub(super) fn go_to(capture: &mut Capture, place: u64, name: &str) -> Result<(), ElementError> {
    match capture.go_to(place) {
        Ok(true) => Ok(()),
        Ok(false) => Err(ElementError::resource(format!(
            "no packet of {name} begins at byte {place}; packet_filepos and filepos tell where some do"
        ))),
        Err(error) => Err(ElementError::resource(format!("{name}: {error}"))),
    }
}
