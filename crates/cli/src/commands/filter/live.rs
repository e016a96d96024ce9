//! `-i`: packets of an interface, and what is told about them as tcpdump does; `-D`, `-L` and `-J`,
//! which list what there is.

use super::shared;
use super::sink::Sink;
use crate::failure::{self, Failure, Outcome};
use crate::input::Inputs;
use crate::out::Out;
use clap::ValueEnum;
use netvm::Filter;
use netvm::io::LinkType;
use netvm::io::live::{self, Counters, Direction, Instruction, LiveError, Options};
use std::fmt::Write as _;

/// tcpdump's options for capturing on an interface.
#[derive(clap::Args)]
#[command(next_help_heading = "Interfaces")]
pub(super) struct LiveArgs {
    /// Interface to capture on, by its name or its number in -D; `any` for all of them
    #[arg(short = 'i', long = "interface", value_name = "IF", conflicts_with_all = ["read", "read_list"], value_hint = clap::ValueHint::Other)]
    pub(super) interface: Option<String>,

    /// List the interfaces that can be captured on, and end
    #[arg(short = 'D', long)]
    list_interfaces: bool,

    /// List the link types that a capture on the interface may have, and end
    #[arg(short = 'L', long, requires = "interface")]
    list_data_link_types: bool,

    /// The kind of time stamps; interfaces have `host`, the time of the kernel, which is taken
    /// instead of others, with a warning
    #[arg(short = 'j', long, value_name = "TYPE", value_parser = TIMES, hide_possible_values = true)]
    time_stamp_type: Option<String>,

    /// List the kinds of time stamps that the interface has, and end
    #[arg(short = 'J', long, requires = "interface")]
    list_time_stamp_types: bool,

    /// Do not put the interface into promiscuous mode
    #[arg(short = 'p', long = "no-promiscuous-mode", conflicts_with_all = ["read", "read_list"])]
    not_promiscuous: bool,

    /// Capture only packets that come in, or only those that are sent
    #[arg(short = 'Q', long, value_enum, value_name = "DIRECTION", default_value = "inout", hide_default_value = true)]
    direction: CaptureDirection,

    /// Memory for packets that wait in the kernel, in KiB
    #[arg(short = 'B', long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(1..=2_097_151))]
    buffer_size: Option<u32>,

    /// Take packets as they come, not some dozens of milliseconds later
    #[arg(long)]
    immediate_mode: bool,

    /// Go on as this user once the capture is open, if root began it
    #[arg(short = 'Z', long = "relinquish-privileges", value_name = "USER")]
    user: Option<String>,
}

/// The only time stamps there are, and all that libpcap knows.
const HOST: &str = "host";
const TIMES: [&str; 6] = [HOST, "host_lowprec", "host_hiprec", "host_hiprec_unsynced", "adapter", "adapter_unsynced"];

#[derive(Clone, Copy, ValueEnum)]
enum CaptureDirection {
    In,
    Out,
    Inout,
}

/// A capture on an interface.
pub(super) struct Live {
    interface: String,
    link: LinkType,
    snaplen: u32,
    counters: Counters,
}

impl LiveArgs {
    /// Lists what is asked for; true if that is all there is to do.
    pub(super) fn list(&self) -> Outcome<bool> {
        let mut text = String::new();
        if self.list_interfaces {
            text = interfaces()?;
        } else if let (Some(interface), true) = (&self.interface, self.list_data_link_types) {
            text = format!("Data link types for {interface} (use option -y to set):\n");
            for link in live::link_types(&named(interface)?).map_err(|error| told(interface, error))? {
                let _ = writeln!(text, "  {}", described(link));
            }
        } else if let (Some(interface), true) = (&self.interface, self.list_time_stamp_types) {
            text = format!("Time stamp types for {interface} (use option -j to set):\n  host (Host)\n");
        }
        let mut out = Out::new();
        out.put(&text)?;
        out.flush()?;
        Ok(!text.is_empty())
    }

    /// Gives up the rights of root, where that is asked for and there are any. What is written
    /// already becomes the user's: on an interface the first file is opened before, since only root
    /// may write where it is to be.
    pub(super) fn relinquish(&self, sink: Option<&Sink>) -> Outcome {
        use nix::unistd::{User, geteuid, initgroups, setgid, setuid};
        let Some(name) = self.user.as_ref().filter(|_| geteuid().is_root()) else { return Ok(()) };
        let failed = |why: &dyn std::fmt::Display| Failure::failed(format_args!("cannot go on as user {name}: {why}"));
        let user = User::from_name(name).map_err(|error| failed(&error))?.ok_or_else(|| failed(&"there is no such user"))?;
        sink.map_or(Ok(()), |sink| sink.give_to(user.uid.as_raw(), user.gid.as_raw()))?;
        let c_name = std::ffi::CString::new(name.as_bytes()).map_err(|error| failed(&error))?;
        initgroups(&c_name, user.gid).and_then(|()| setgid(user.gid)).and_then(|()| setuid(user.uid)).map_err(|error| failed(&error))
    }

    /// Tells that times are the kernel's, where others are asked for, as tcpdump does.
    pub(super) fn time_stamps(&self) {
        if let (Some(interface), Some(kind)) = (&self.interface, self.time_stamp_type.as_deref().filter(|kind| *kind != HOST)) {
            failure::warning(format_args!("{interface} has no time stamps of type {kind}; those of the kernel are taken (-j {HOST})"));
        }
    }
}

impl Live {
    /// Begins to capture.
    pub(super) fn open(
        args: &LiveArgs,
        interface: &str,
        link_type: Option<LinkType>,
        snaplen: Option<u32>,
        filter: &Filter,
    ) -> Outcome<(Inputs, Self)> {
        let told = |error| told(interface, error);
        let interface = named(interface)?;
        let snaplen = snaplen.filter(|&snaplen| snaplen > 0).unwrap_or(live::SNAPLEN);
        let options = Options {
            promiscuous: !args.not_promiscuous,
            snaplen,
            buffer: args.buffer_size.map(|kib| kib as usize * 1024),
            immediate: args.immediate_mode,
            direction: match args.direction {
                CaptureDirection::In => Direction::In,
                CaptureDirection::Out => Direction::Out,
                CaptureDirection::Inout => Direction::Both,
            },
            link_type,
        };
        let (capture, counters) = live::open_filtered(&interface, &options, &program(&interface, link_type, filter)?).map_err(told)?;
        let link = capture.info().link_types.first().copied().unwrap_or(LinkType::EN10MB);
        Ok((Inputs::one(&interface, capture), Self { interface, link, snaplen, counters }))
    }

    /// Tells that packets may come.
    pub(super) fn begin(&self) {
        let Self { interface, link, snaplen, .. } = self;
        failure::eprint_lossy(&format!("listening on {interface}, link-type {}, snapshot length {snaplen} bytes", described(*link)));
    }

    /// Tells how many there were, on lines of their own.
    pub(super) fn end(&self, captured: u64) -> Outcome {
        self.counts(captured)?.into_iter().for_each(|line| failure::eprint_lossy(&line));
        Ok(())
    }

    /// Tells how many packets there were on one line, for whoever asks meanwhile.
    pub(super) fn so_far(&self, captured: u64) -> Outcome {
        failure::eprint_lossy(&format!("netvm: {}", self.counts(captured)?.join(", ")));
        Ok(())
    }

    fn counts(&self, captured: u64) -> Outcome<[String; 3]> {
        let counts = self.counters.read().map_err(|error| Failure::failed(format_args!("{}: {error}", self.interface)))?;
        let said = |(n, what)| format!("{} {what}", shared::packets(n));
        Ok([(captured, "captured"), (counts.received, "received by filter"), (counts.dropped, "dropped by kernel")].map(said))
    }
}

/// What the kernel can run of the filter, where it gives the same there; else nothing.
fn program(interface: &str, link_type: Option<LinkType>, filter: &Filter) -> Outcome<Vec<Instruction>> {
    let link = match link_type {
        Some(link) => link,
        None => live::link_type(interface).map_err(|error| told(interface, error))?,
    };
    let program = if filter.is_empty() { None } else { filter.classic(link)?.ok() };
    let instructions = program.filter(|program| program.same_in_kernel).map(|program| program.instructions).unwrap_or_default();
    Ok(instructions.into_iter().map(|i| Instruction { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect())
}

/// The link type of an interface, which anybody may ask.
pub(super) fn link_type(interface: &str) -> Outcome<LinkType> {
    live::link_type(&named(interface)?).map_err(|error| told(interface, error))
}

/// An interface by its name or by its number in the list.
fn named(interface: &str) -> Outcome<String> {
    let listed = || live::list().map_err(|error| Failure::failed(format_args!("the interfaces cannot be listed: {error}")));
    match interface.parse::<usize>() {
        Ok(number) if live::link_type(interface).is_err() => {
            let found = listed()?.into_iter().nth(number.wrapping_sub(1)).map(|listed| listed.name);
            found.ok_or_else(|| {
                Failure::failed(format_args!("{interface}: there is no interface of that number; `netvm filter -D` lists them"))
            })
        }
        _ => Ok(interface.to_owned()),
    }
}

/// The interfaces as tcpdump lists them.
fn interfaces() -> Outcome<String> {
    let mut text = String::new();
    let all = live::list().map_err(|error| Failure::failed(format_args!("the interfaces cannot be listed: {error}")))?;
    for (number, listed) in all.iter().enumerate() {
        let all_of_them = if listed.is_any() { " (Pseudo-device that captures on all interfaces)" } else { "" };
        let states = [(listed.up, "Up"), (listed.running, "Running"), (listed.loopback, "Loopback")];
        let states: Vec<_> = states.into_iter().filter_map(|(is, state)| is.then_some(state)).collect();
        let states = if states.is_empty() { "none".to_owned() } else { states.join(", ") };
        let _ = writeln!(text, "{}.{}{all_of_them} [{states}]", number + 1, listed.name);
    }
    Ok(text)
}

/// A link type with what it is called in full, of those that interfaces have.
fn described(link: LinkType) -> String {
    let name = match link {
        LinkType::EN10MB => "Ethernet",
        LinkType::RAW => "Raw IP",
        LinkType::LINUX_SLL => "Linux cooked v1",
        LinkType::LINUX_SLL2 => "Linux cooked v2",
        _ => return link.to_string(),
    };
    format!("{link} ({name})")
}

fn told(interface: &str, error: LiveError) -> Failure {
    let message = format!("{interface}: {error}");
    match error {
        LiveError::LinkType(_) => Failure::usage(message),
        _ => Failure::failed(message),
    }
}
