//! `netvm xdp`: a program at the XDP hook of an interface, as long as the command runs.

use super::build::{Actions, BuildInput};
use crate::failure::{self, Failure, Outcome};
use crate::signals::Signals;
use netvm::io::bpf::{self, Mode};
use netvm::targets;
use std::io::ErrorKind as Kind;
use std::time::Duration;

/// Run a program or a filter in the kernel, before the network stack sees a packet (XDP)
///
/// Packets that the filter accepts go on to the network stack, others are dropped, unless --accept
/// and --reject say otherwise. The program is taken off the interface when the command ends,
/// however it ends. Needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm xdp --on eth0 --filter 'not (udp and port 1900)'   drops what matches, until ^C
  netvm xdp --on eth0 --filter 'ip src 192.0.2.7' --accept drop --reject pass")]
pub(crate) struct Args {
    #[command(flatten)]
    source: BuildInput,

    /// The interface
    #[arg(long, value_name = "IF", required = true)]
    on: String,

    /// Who runs it: the driver if it can (any), the driver (driver), or the kernel before its
    /// network stack (generic)
    #[arg(long, value_name = "MODE", value_enum, default_value = "any")]
    mode: Which,

    #[command(flatten)]
    actions: Actions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Which {
    #[default]
    Any,
    Driver,
    Generic,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let program = args.source.program()?;
    let made = targets::xdp(&program, &args.actions.options(String::new()))?;
    let refused = |error: std::io::Error| Failure::failed(format_args!("XDP on {}: {}", args.on, told(&error)));
    let interface = bpf::interface(&args.on).map_err(refused)?;
    let signals = Signals::watch()?;
    signals.end_with_terminal()?;
    let loaded = targets::load_xdp(&made).map_err(refused)?;
    let link = attach(&loaded, interface, args.mode).map_err(refused)?;
    failure::eprint_lossy(&format!("running on {}: {} instructions, until ^C", args.on, made.insts.len()));
    while !signals.stop() {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(link);
    signals.result()
}

/// Attaches a program.
pub(super) fn attach(loaded: &bpf::Program, interface: u32, mode: Which) -> std::io::Result<bpf::Link> {
    match mode {
        Which::Driver => loaded.attach(interface, Mode::Driver),
        Which::Generic => loaded.attach(interface, Mode::Generic),
        // A driver may refuse for the interface's MTU, for one; the kernel can always.
        Which::Any => loaded.attach(interface, Mode::Any).or_else(|error| match error.kind() {
            Kind::PermissionDenied | Kind::ResourceBusy | Kind::AlreadyExists => Err(error),
            _ => loaded.attach(interface, Mode::Generic),
        }),
    }
}

/// The error with a remedy.
pub(super) fn told(error: &std::io::Error) -> String {
    match error.kind() {
        Kind::PermissionDenied if error.raw_os_error() == Some(1) => {
            format!("{error}; it needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN")
        }
        Kind::ResourceBusy | Kind::AlreadyExists => {
            format!("{error}; there is a program already: ip link set dev IF xdp off takes it away")
        }
        _ if error.raw_os_error() == Some(34) => format!("{error}; the driver wants a smaller MTU, --mode generic does not"),
        Kind::Unsupported => format!("{error}; --mode generic runs on every interface"),
        _ => error.to_string(),
    }
}
