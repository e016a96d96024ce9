//! What netvm makes files for: other machines, or other places of this one. The list is here and
//! nowhere else.
//!
//! A target takes a verified program and gives files, or says what it does not admit and where. A
//! new one is a file in `targets/` and a line in [`ALL`]: this gives `netvm build`, `netvm targets`
//! and the tests that go over all targets.

mod cores;
mod freestanding;
mod opencl;
mod vpp;
mod walk;
#[cfg(feature = "machines")]
mod x11;
mod xdp;

use crate::Error;
use netil::Verified;
use netil::app::Application;
use runtime::graph::Fault;
use std::collections::BTreeMap;

pub use compiler::backends::c::freestanding::Division;
pub use compiler::backends::ebpf::Program as XdpProgram;
pub use compiler::backends::ebpf::World as XdpWorld;
pub(crate) use walk::device as device_of;
#[cfg(feature = "machines")]
pub use x11::{X11, compile as x11, hazards as x11_hazards};
#[cfg(feature = "machines")]
pub(crate) use x11::{devices as x11_devices, of_configuration as x11_of_configuration};
pub use xdp::{Action, Handed, HandedRow, XDP_QUEUES, XdpApplication, XdpLoaded, XdpProcess, compile as xdp, load as load_xdp};
pub(crate) use xdp::{load_divided as load_xdp_divided, make as make_xdp};

/// Makes an error of faults, that shows where they are in the configuration.
pub(crate) type Drawn<'a> = &'a dyn Fn(Vec<Fault>) -> Error;

/// A kind of machine that programs are built for.
pub struct Target {
    /// Its name on command lines.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What is built, and what loads it.
    pub files: &'static str,
    /// What programs may do; a line each.
    pub admits: &'static [&'static str],
    /// What they may not; a line each.
    pub refuses: &'static [&'static str],
    /// Where programs are divided into nodes or groups: the file that says which elements are in
    /// which.
    pub divides: Option<&'static str>,
    /// Builds.
    pub build: fn(&Verified, &Options) -> Result<Vec<File>, Error>,
    /// Builds a configuration.
    pub(crate) configuration: fn(&Application, &Options, Drawn<'_>) -> Result<Vec<File>, Error>,
}

/// What is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, with folders before it.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// What there is to say of it, in a few words.
    pub about: String,
}

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The name of what is built, without an ending.
    pub name: String,
    /// What is done with packets that leave by a port, by its name.
    pub ports: Vec<(String, Action)>,
    /// What is done with packets that are accepted, or leave by another port.
    pub accept: Option<Action>,
    /// What is done with packets that are rejected or dropped, or whose handler traps.
    pub reject: Option<Action>,
    /// The interfaces of a configuration's devices, by their indices.
    pub interfaces: BTreeMap<String, u32>,
    /// How a program is divided into nodes, for targets that have them.
    pub division: Division,
}

/// All of them.
pub const ALL: &[Target] = &[
    xdp::TARGET,
    cores::AARCH64,
    cores::RISCV64,
    cores::X86_64,
    cores::OCTEON,
    opencl::TARGET,
    vpp::TARGET,
    #[cfg(feature = "machines")]
    x11::TARGET,
];

/// The target with that name.
pub fn find(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}
