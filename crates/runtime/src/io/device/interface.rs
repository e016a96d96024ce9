//! An interface of the system, by an AF_PACKET socket.
//!
//! With segmentation offload, segments that the system has merged come whole and leave so
//! ([`offload::keep_whole`]).
//!
//! The kernel goes on to handle the same packets: in a namespace where netvm routes, interfaces
//! have no addresses of the kernel's, or its own answers (ARP, ICMP, resets) join those of the
//! program.

use super::{BUFFER_FULL, Options, Port, offload, share};
use crate::io::{
    LinkType,
    live::{LiveError, find},
    sys::{
        frames::{self, Inbox, Outgoing},
        link, packet,
    },
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// Bytes of the two addresses that VLAN tags stand behind.
const TAGS: usize = 12;
/// Bytes before what the MTU counts: Ethernet and a VLAN tag.
const HEADERS: usize = 18;

pub(super) struct Interface {
    name: String,
    found: packet::Interface,
    link: LinkType,
    socket: packet::Socket,
    inbox: Inbox,
    /// With segmentation offload: bytes that a frame has at most that is no merged one.
    longest: Option<usize>,
}

impl Interface {
    /// `segments`: merged segments stay whole.
    pub(super) fn open(name: &str, segments: bool) -> Result<Self, LiveError> {
        let (found, link) = find(name)?;
        let socket = packet::Socket::new()?;
        let longest = if segments { Some(link::mtu(name)? + HEADERS) } else { None };
        Ok(Self { name: name.to_owned(), found, link, socket, inbox: Inbox::new(), longest })
    }
}

/// A frame with its VLAN tag back in its place.
fn tagged(frame: &[u8], tag: [u8; 4]) -> Vec<u8> {
    let (before, after) = frame.split_at(frame.len().min(TAGS));
    [before, &tag, after].concat()
}

impl Port for Interface {
    fn link(&self) -> LinkType {
        self.link
    }

    fn listen(&mut self, options: Options) -> Result<(), LiveError> {
        frames::prepare(&self.socket, options.outgoing)?;
        if let Some(part) = options.part {
            self.socket.attach(&share::program(self.link, part))?;
        }
        self.socket.bind(self.found, options.receive)?;
        if options.promiscuous {
            self.socket.promiscuous(self.found)?;
        }
        Ok(())
    }

    fn receive(&mut self, each: &mut dyn FnMut(&[u8]), malformed: &mut u64) -> io::Result<usize> {
        let count = self.inbox.receive(&self.socket)?;
        for (header, frame, tag) in self.inbox.frames() {
            let came = |frame: &[u8]| match tag.filter(|_| self.link == LinkType::EN10MB) {
                Some(tag) => each(&tagged(frame, tag)),
                None => each(frame),
            };
            let whole = match self.longest {
                Some(_) => offload::keep_whole(&header, frame, came),
                None => offload::complete(&header, frame, came),
            };
            *malformed += u64::from(whole.is_err());
        }
        Ok(count)
    }

    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        let longest = self.longest.unwrap_or(usize::MAX);
        let outgoing = frames.iter().map(|frame| match frame.len() > longest {
            true => offload::to_be_cut(frame, longest).unwrap_or_else(|_| Outgoing::plain(frame)),
            false => Outgoing::plain(frame),
        });
        frames::send(&self.socket, outgoing)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd().as_fd()
    }

    fn kernel_drops(&mut self, each: &mut dyn FnMut(&'static str, u64)) {
        each(BUFFER_FULL, self.socket.count().map_or(0, |counted| u64::from(counted.drops)));
    }

    fn is_there(&self) -> bool {
        packet::Interface::find(&self.name).ok() == Some(self.found)
    }
}
