//! A TAP interface: the system's own network stack is at its other end.
//!
//! All devices of this process that name the same interface have one file, so that one thread may
//! receive and another send.

use super::{Options, Port, namespace};
use crate::io::{
    LinkType,
    live::LiveError,
    sys::{frames::BATCH, tun},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// The longest frame that is read: TAP interfaces have an MTU of 65,521 bytes at most.
const LONGEST: usize = 65_536;

/// Which interface: namespace and name.
type Key = (u64, String);

/// Those that are open in this process.
static OPEN: Mutex<Vec<(Key, Weak<Shared>)>> = Mutex::new(Vec::new());

/// An interface's file.
struct Shared {
    file: OwnedFd,
    /// A device receives.
    is_received: AtomicBool,
}

pub(super) struct Tap {
    shared: Arc<Shared>,
    receives: bool,
    room: Vec<u8>,
}

impl Tap {
    pub(super) fn open(name: &str) -> Result<Self, LiveError> {
        let key: Key = (namespace(), name.to_owned());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, shared)| shared.strong_count() > 0);
        let there = open.iter().find(|(it, _)| *it == key).and_then(|(_, shared)| shared.upgrade());
        let shared = match there {
            Some(shared) => shared,
            None => {
                let file = tun::tap(name).map_err(|error| match error.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES) => LiveError::NoAdmin,
                    _ => LiveError::from(error),
                })?;
                let shared = Arc::new(Shared { file, is_received: AtomicBool::new(false) });
                open.push((key, Arc::downgrade(&shared)));
                shared
            }
        };
        Ok(Self { shared, receives: false, room: vec![0; LONGEST] })
    }
}

impl Port for Tap {
    fn link(&self) -> LinkType {
        LinkType::EN10MB
    }

    fn listen(&mut self, options: Options) -> Result<(), LiveError> {
        if options.part.is_some() {
            return Err(LiveError::Cannot("a TAP interface", "divide flows among replicas that receive (--order flow)"));
        }
        if options.receive && !self.receives {
            if self.shared.is_received.swap(true, Ordering::AcqRel) {
                return Err(LiveError::Cannot("a TAP interface", "give its frames to two devices"));
            }
            self.receives = true;
        }
        Ok(())
    }

    fn receive(&mut self, each: &mut dyn FnMut(&[u8]), _: &mut u64) -> io::Result<usize> {
        for count in 0..BATCH {
            match rustix::io::read(&self.shared.file, &mut self.room) {
                Ok(len) => each(self.room.get(..len).unwrap_or_default()),
                Err(rustix::io::Errno::AGAIN) => return Ok(count),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(BATCH)
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        for (count, frame) in frames.iter().enumerate() {
            match rustix::io::write(&self.shared.file, frame) {
                Ok(_) => {}
                Err(error) if count == 0 => return Err(error.into()),
                Err(_) => return Ok(count),
            }
        }
        Ok(frames.len())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if self.receives {
            self.shared.is_received.store(false, Ordering::Release);
        }
    }
}
