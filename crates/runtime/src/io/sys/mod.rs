//! System calls that no safe library offers: the only place of this crate with unsafe code.

#![allow(unsafe_code, reason = "sockets of the AF_PACKET family and the memory that they share with the kernel")]

pub(in crate::io) mod packet;
