//! The kernel's XDP hook: an eBPF object for libbpf, `ip link`, bpftool and aya.

mod application;
mod process;
mod table;

use super::{Drawn, File, Options, Target};
use crate::Error;
use crate::application::scratch_alone;
use compiler::backends::ebpf;
use netil::Verified;
use netil::app::Application;
use netil::module::HandlerKind;
use runtime::io::bpf;
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

pub use application::{Handed, HandedRow, XDP_QUEUES, XdpApplication, XdpLoaded};
pub(crate) use application::{load_divided, make};
pub use process::XdpProcess;

pub(super) const TARGET: Target = Target {
    name: "xdp",
    about: "the Linux kernel's XDP hook: eBPF that runs in the driver, before the network stack",
    files: "NAME.o, an ELF object (section xdp) for libbpf, ip link, bpftool, xdp-loader and aya; NAME.batch, entries of tables for bpftool",
    admits: &[
        "filters, NetIL modules that push packets on, and Click configurations between devices",
        "packets read and written in place, pulled, pushed, trimmed and grown; values of up to 2,048 bits",
        "read-only sets and initialised data (maps), switches, subroutines, checksums, hashes",
        "loops: unrolled if they count to a constant; others need Linux 6.9, and the kernel says when it loads them whether it sees an end",
        "exact tables (HASH; LRU_HASH with a timeout) and prefix tables (LPM_TRIE), looked up and changed by packets",
        "data and shared memory: one array map, as the init handler left it, that all processors share without a lock; what each run writes before it reads is on the stack",
        "info memory of up to 256 bytes: on the stack, all zeros when a packet comes; the time, which is the kernel's clock",
        "with netvm run all configurations: this process goes on with packets where the kernel cannot (--explain-opt tells where and why)",
    ],
    refuses: &[
        "ternary and range tables, prefix tables with a timeout; timers and coprocessors; searches, copies and CRCs of whole ranges of bytes",
        "packets made, copied or held; another length on the wire; random numbers: XDP has none of netvm's",
        "packets shorter than 14 bytes, or pulled by more than 511 (they trap); offsets beyond byte 32,511",
        "more values at once than 10 registers and 512 bytes of stack hold",
        "of configurations that are built: sources other than devices, Script, shaping, elements on the pulled side, elements that share tables or memory",
    ],
    divides: None,
    build,
    configuration,
};

/// What XDP does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub(super) ebpf::Action);

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no action: pass, drop, tx, abort, or redirect:N with the index of an interface");
        let action = match text {
            "pass" => ebpf::Action::Pass,
            "drop" => ebpf::Action::Drop,
            "tx" => ebpf::Action::Transmit,
            "abort" => ebpf::Action::Aborted,
            _ => ebpf::Action::Redirect(text.strip_prefix("redirect:").and_then(|n| n.parse().ok()).ok_or_else(wrong)?),
        };
        Ok(Self(action))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ebpf::Action::Pass => f.write_str("pass"),
            ebpf::Action::Drop => f.write_str("drop"),
            ebpf::Action::Transmit => f.write_str("tx"),
            ebpf::Action::Aborted => f.write_str("abort"),
            ebpf::Action::Redirect(index) => write!(f, "redirect:{index}"),
        }
    }
}

fn build(program: &Verified, options: &Options) -> Result<Vec<File>, Error> {
    let made = compile(program, options)?;
    files(&made, &options.name, &|refused| told(program, refused))
}

fn configuration(app: &Application, options: &Options, drawn: Drawn<'_>) -> Result<Vec<File>, Error> {
    make(app, &options.interfaces, ebpf::World::Kernel).map_err(drawn)?.files(&options.name)
}

/// The object, and commands for entries of tables.
fn files(made: &ebpf::Program, name: &str, told: &dyn Fn(&ebpf::Refused) -> Error) -> Result<Vec<File>, Error> {
    let bytes = ebpf::object(made).map_err(|refused| told(&refused))?;
    let constants: usize = made.maps.iter().map(|map| map.data.len()).sum();
    let tables = made.maps.iter().filter(|map| map.keyed.is_some()).count();
    let mut about = format!("{} instructions", made.insts.len());
    if constants > 0 {
        about += &format!(", {constants} bytes of constants");
    }
    if tables > 0 {
        about += &format!(", {tables} maps with keys");
    }
    let object = File { name: format!("{name}.o"), bytes, about };
    let entries = ebpf::entries(made);
    let about = format!("{} entries of tables, for bpftool batch file", entries.lines().count());
    let batch = (!entries.is_empty()).then(|| File { name: format!("{name}.batch"), bytes: entries.into_bytes(), about });
    Ok([object].into_iter().chain(batch).collect())
}

/// The program itself, for whoever loads it at once.
///
/// # Errors
/// XDP does not admit it, or there is no such port.
pub fn compile(program: &Verified, options: &Options) -> Result<ebpf::Program, Error> {
    let defaults = ebpf::Options::default();
    let (accept, reject) = (options.accept.map(|a| a.0), options.reject.map(|a| a.0));
    let ports = options.ports.iter().map(|(name, action)| Ok((port(program, name)?, action.0))).collect::<Result<_, Error>>()?;
    let (drop, trap) = (reject.unwrap_or(defaults.drop), reject.unwrap_or(defaults.trap));
    let options = ebpf::Options { ports, world: ebpf::World::Kernel, send: accept.unwrap_or(defaults.send), drop, trap };
    // What each run writes before it reads is on the stack, if that has room for it: processors
    // share what is in a map.
    let apart = ebpf::compile_apart(program, &options, &scratch_alone(program));
    apart.or_else(|_| ebpf::compile(program, &options)).map_err(|refused| told(program, &refused))
}

/// Loads it into the kernel, with the clock of this machine.
///
/// # Errors
/// The process may not, or the kernel refuses it.
pub fn load(made: &ebpf::Program) -> std::io::Result<bpf::Program> {
    let references: Vec<_> = made.references.iter().map(|r| bpf::Reference { at: r.at, map: r.map }).collect();
    let maps: Vec<_> = made.maps.iter().map(map_of).collect();
    let loaded = bpf::Program::load(&made.insts, &references, &maps)?;
    if let Some(at) = made.maps.iter().position(|map| map.name == ebpf::STATE) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        let offset = since_1970.wrapping_sub(bpf::monotonic_ns()?);
        let mut state = made.maps[at].data.clone();
        state[ebpf::CLOCK_AT as usize..][..8].copy_from_slice(&offset.to_le_bytes());
        loaded.update(at, &[0; 4], &state)?;
    }
    Ok(loaded)
}

fn map_of(map: &ebpf::Map) -> bpf::Map<'_> {
    let keyed = map.keyed.as_ref().map(|keyed| bpf::Keyed {
        kind: keyed.kind as u32,
        key_size: keyed.key_size,
        value_size: keyed.value_size,
        capacity: keyed.capacity,
        entries: &keyed.entries,
    });
    bpf::Map { name: &map.name, data: &map.data, read_only: map.read_only, keyed }
}

/// The number of an output port.
fn port(program: &Verified, name: &str) -> Result<u32, Error> {
    let ports = program.module().all_ports();
    let outputs: Vec<_> = ports.iter().filter(|(_, port)| !port.kind.is_input()).collect();
    let found = outputs.iter().find(|(id, port)| port.name == name || name.parse() == Ok(*id));
    let names = || outputs.iter().map(|(_, port)| port.name.as_str()).collect::<Vec<_>>().join(", ");
    found.map(|(id, _)| *id).ok_or_else(|| refused(format!("no output port '{name}'; there are: {}", names())))
}

fn told(program: &Verified, why: &ebpf::Refused) -> Error {
    refused(match why.site {
        Some(site) => format!("{}: {}", program.place(HandlerKind::Push, site), why.reason),
        None => why.reason.clone(),
    })
}

fn refused(reason: String) -> Error {
    Error::Target { target: TARGET.name, reason }
}
