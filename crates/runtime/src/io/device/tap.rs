//! A TAP interface: the system's own network stack is at its other end.

use super::{Options, Port};
use crate::io::{
    LinkType,
    live::LiveError,
    sys::{frames::BATCH, tun},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// The longest frame that is read: TAP interfaces have an MTU of 65,521 bytes at most.
const LONGEST: usize = 65_536;

pub(super) struct Tap {
    file: OwnedFd,
    room: Vec<u8>,
}

impl Tap {
    pub(super) fn open(name: &str) -> Result<Self, LiveError> {
        let file = tun::tap(name).map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => LiveError::NoAdmin,
            _ => LiveError::from(error),
        })?;
        Ok(Self { file, room: vec![0; LONGEST] })
    }
}

impl Port for Tap {
    fn link(&self) -> LinkType {
        LinkType::EN10MB
    }

    fn listen(&mut self, _: Options) -> Result<(), LiveError> {
        Ok(())
    }

    fn receive(&mut self, each: &mut dyn FnMut(&[u8]), _: &mut u64) -> io::Result<usize> {
        for count in 0..BATCH {
            match rustix::io::read(&self.file, &mut self.room) {
                Ok(len) => each(self.room.get(..len).unwrap_or_default()),
                Err(rustix::io::Errno::AGAIN) => return Ok(count),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(BATCH)
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        for (count, frame) in frames.iter().enumerate() {
            match rustix::io::write(&self.file, frame) {
                Ok(_) => {}
                Err(error) if count == 0 => return Err(error.into()),
                Err(_) => return Ok(count),
            }
        }
        Ok(frames.len())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
