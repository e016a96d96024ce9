//! FromHost, KernelTap, KernelTun, those of DPDK, netmap and network simulators, and sockets: other ways to the host and its devices, which are captures here as FromDevice's and ToDevice's are.
//!
//! A capture stands for a device by the name that [`device_name`] finds. What these classes say of the host, such as its addresses, has no effect.

use super::super::{Args, ElementError, Packet};
use super::{Ctx, Facts, Handlers, Medium, Native, NativeClass, Setup, Source, Task, fromdump, todump};

macro_rules! device {
    ($static:ident, $name:literal, $ports:literal, $processing:literal, $flow:literal, $manual:literal, $facts:expr) => {
        pub(super) static $static: NativeClass =
            NativeClass { name: $name, ports: $ports, processing: $processing, flow: $flow, facts: $facts, manual: $manual, make };
    };
}

device!(
    FROM_HOST,
    "FromHost",
    "0/1-2",
    "a/ah",
    "",
    "FromHost(DEVNAME [, PREFIX, ...]) -- the packets of a capture that stands for what the host sends\n\nWhich one is told by --map DEVNAME=FILE. What else Click's element takes has \
     no effect.",
    Facts::READER
);
device!(
    KERNEL_TUN,
    "KernelTun",
    "0-1/1-2",
    "a/h",
    "x/y",
    "KernelTun(ADDR/MASK [, GATEWAY, DEVNAME, ...]) -- a capture in place of the host's tunnel device, and one that is written\n\nPackets that come in are written, those of \
     the capture go out: --map DEVNAME=IN,OUT. Without DEVNAME the device is called as the element. Addresses and what else Click's element takes have no effect.\nHandlers: count filename r.",
    Facts { writes: Some(Medium::Device), ..Facts::READER }
);
device!(
    KERNEL_TAP,
    "KernelTap",
    "0-1/1-2",
    "a/h",
    "x/y",
    "KernelTap(ADDR/MASK [, GATEWAY, DEVNAME, ...]) -- the same as KernelTun, with Ethernet headers",
    Facts { writes: Some(Medium::Device), ..Facts::READER }
);
device!(
    FROM_DPDK,
    "FromDPDKDevice",
    "0/1-2",
    "a/ah",
    "",
    "FromDPDKDevice(PORT, ...) -- the packets of a capture that stands for a port of DPDK\n\nWhich one is told by --map PORT=FILE. Queues, threads and what else Click's element \
     takes have no effect.",
    Facts::READER
);
device!(
    TO_DPDK,
    "ToDPDKDevice",
    "1/0-1",
    "a/h",
    "",
    "ToDPDKDevice(PORT, ...) -- writes packets into a capture that stands for a port of DPDK\n\nWhich one is told by --map PORT=FILE, or by --map PORT=IN,OUT. What else Click's \
     element takes has no effect.",
    Facts::WRITER
);

device!(
    FROM_RING,
    "FromDPDKRing",
    "0/1-2",
    "a/ah",
    "",
    "FromDPDKRing(MEM_POOL [, FROM_PROC, TO_PROC, ...]) -- the packets of a capture that stands for what another process sends by DPDK\n\nWhich one is told by --map FROM_PROC=FILE, or \
     --map MEM_POOL=FILE if there is no FROM_PROC. What else FastClick's element takes has no effect.",
    Facts::READER
);
device!(
    TO_RING,
    "ToDPDKRing",
    "1/0-1",
    "a/h",
    "",
    "ToDPDKRing(MEM_POOL [, FROM_PROC, TO_PROC, ...]) -- writes packets into a capture that stands for what another process gets by DPDK\n\nWhich one is told by --map FROM_PROC=FILE, or \
     --map MEM_POOL=FILE if there is no FROM_PROC. What else FastClick's element takes has no effect.",
    Facts::WRITER
);
device!(
    FROM_NETMAP,
    "FromNetmapDevice",
    "0/1-2",
    "a/ah",
    "",
    "FromNetmapDevice(DEVNAME, ...) -- the same as FromDPDKDevice\n\n--map DEVNAME=FILE.",
    Facts::READER
);
device!(
    TO_NETMAP,
    "ToNetmapDevice",
    "1/0-1",
    "a/h",
    "",
    "ToNetmapDevice(DEVNAME, ...) -- the same as ToDPDKDevice\n\n--map DEVNAME=FILE.",
    Facts::WRITER
);
device!(
    FROM_SIM,
    "FromSimDevice",
    "0/1-2",
    "a/ah",
    "",
    "FromSimDevice(DEVNAME [, PROMISC, SNAPLEN]) -- the packets of a capture that stands for a device of a network simulator\n\nConfigurations for Click in ns-3 have it: \
     --map DEVNAME=FILE. What else Click's element takes has no effect.",
    Facts::READER
);
device!(
    TO_SIM,
    "ToSimDevice",
    "1/0-1",
    "a/h",
    "",
    "ToSimDevice(DEVNAME [, ENCAP]) -- writes packets into a capture that stands for a device of a network simulator\n\n--map DEVNAME=FILE, or --map DEVNAME=IN,OUT. What else \
     Click's element takes has no effect.",
    Facts::WRITER
);

device!(
    FROM_SOCKET,
    "FromSocket",
    "0/1-2",
    "a/ah",
    "",
    "FromSocket(SOCKTYPE, ADDR [, PORT, ...]) -- the packets of a capture that stands for what comes by a socket\n\nNo socket is opened: which capture is told by --map NAME=FILE, with the element's \
     name. What else Click's element takes has no effect.",
    Facts::READER
);
device!(
    TO_SOCKET,
    "ToSocket",
    "1/0-1",
    "a/h",
    "",
    "ToSocket(SOCKTYPE, ADDR [, PORT, ...]) -- writes packets into a capture that stands for what goes by a socket\n\nNo socket is opened: which capture is told by --map NAME=FILE, with the element's \
     name. What else Click's element takes has no effect.",
    Facts::WRITER
);

/// Arguments that are read and change nothing.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "DEVNAME", "DEV_NAME", "PORT", "PREFIX", "ADDR", "GATEWAY", "TAP", "HEADROOM", "BURST", "MTU", "ETHER", "TYPE", "IGNORE_QUEUE_OVERFLOWS", "ADJUST_HEADROOM", "CLICK_XENO", "PRINTANNO", "STOP",
    "QUEUE", "N_QUEUES", "MAXTHREADS", "NDESC", "PROMISC", "NUMA", "NUMA_NODE", "VERBOSE", "RSS_AGGREGATE", "ACTIVE", "IQUEUE", "BLOCKING", "TIMEOUT", "TCO", "MAC", "SCALE", "THREADOFFSET",
    "ALLOC", "INTERNAL_TX_QUEUE_SIZE", "USE_Q", "CAPACITY", "TIMESTAMP", "MEM_POOL", "FROM_PROC", "TO_PROC", "NUMA_ZONE", "N_QUEUE", "MODE", "FLOW_RULES_FILE", "FLOW_RULES_CACHE", "FLOW_RULES_ISOLATE", "PAUSE", "IPCO", "SNAPLEN", "ENCAP",
];

fn arguments(class: &str, arguments: &[String]) -> Result<Args, ElementError> {
    let positional: &[&str] = match class {
        "KernelTun" | "KernelTap" => &["ADDR", "GATEWAY"],
        "FromDPDKDevice" | "ToDPDKDevice" => &["PORT", "QUEUE", "N_QUEUES", "PROMISC"],
        "FromDPDKRing" | "ToDPDKRing" => &["MEM_POOL"],
        "FromNetmapDevice" | "ToNetmapDevice" => &["DEVNAME", "QUEUE", "N_QUEUES", "PROMISC"],
        "ToSimDevice" => &["DEVNAME", "ENCAP"],
        "FromSocket" | "ToSocket" => &["SOCKTYPE", "ADDR", "SOCKPORT"],
        "FromHost" => &["DEVNAME", "PREFIX"],
        _ => &["DEVNAME", "PROMISC", "SNAPLEN"],
    };
    Args::parse(arguments, positional, KEYWORDS)
}

/// The device that an element of one of these classes has. FromDevice and ToDevice without arguments have the device 0, as in ClickOS.
pub fn device_name(element: &str, class: &str, given: &[String]) -> Option<String> {
    match class {
        "FromDevice" | "PollDevice" | "ToDevice" => return given.iter().all(|argument| argument.trim().is_empty()).then(|| "0".to_owned()),
        "FromHost" | "KernelTun" | "KernelTap" | "FromDPDKDevice" | "ToDPDKDevice" => {}
        "FromDPDKRing" | "ToDPDKRing" | "FromNetmapDevice" | "ToNetmapDevice" | "FromSimDevice" | "ToSimDevice" => {}
        "FromSocket" | "ToSocket" => return Some(element.to_owned()),
        _ => return None,
    }
    let args = arguments(class, given).ok()?;
    let named = ["DEVNAME", "DEV_NAME", "PORT", "FROM_PROC", "MEM_POOL"].iter().find_map(|name| args.text(name));
    named.or_else(|| Some(element.to_owned()))
}

fn make(setup: &Setup<'_>) -> Result<Box<dyn Native>, ElementError> {
    let args = arguments(setup.class, setup.arguments)?;
    let wanted = match setup.class {
        "KernelTun" | "KernelTap" => "ADDR",
        "FromHost" | "FromNetmapDevice" | "ToNetmapDevice" | "FromSimDevice" | "ToSimDevice" => "DEVNAME",
        "FromDPDKRing" | "ToDPDKRing" => "MEM_POOL",
        "FromSocket" | "ToSocket" => "SOCKTYPE",
        _ => "PORT",
    };
    args.required(wanted)?;
    let name = device_name(setup.name, setup.class, setup.arguments).ok_or("there is no device")?;
    let part = [super::super::text::quoted(name.as_bytes())];
    let of = |class, inputs, outputs| Setup {
        node: setup.node,
        name: setup.name,
        class,
        arguments: &part,
        inputs,
        outputs,
        pulled: setup.pulled,
        output_pulled: if outputs > 0 { setup.output_pulled.clone() } else { Vec::new() },
        info: setup.info,
        settings: setup.settings,
        seed: setup.seed,
    };
    let source = || (fromdump::FROM_DEVICE.make)(&of("FromDevice", 0, setup.outputs));
    let sink = || (todump::TO_DEVICE.make)(&of("ToDevice", setup.inputs, 0));
    match setup.class {
        "FromHost" | "FromDPDKDevice" | "FromDPDKRing" | "FromNetmapDevice" | "FromSimDevice" | "FromSocket" => source(),
        "ToDPDKDevice" | "ToDPDKRing" | "ToNetmapDevice" | "ToSimDevice" | "ToSocket" => sink(),
        _ if setup.inputs == 0 => source(),
        _ => Ok(Box::new(Both { source: source()?, sink: sink()? })),
    }
}

/// A device that is read and written.
struct Both {
    source: Box<dyn Native>,
    sink: Box<dyn Native>,
}

impl Native for Both {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.sink.init(ctx)?;
        self.source.init(ctx)
    }

    fn start(&mut self, ctx: &mut Ctx<'_>) {
        self.source.start(ctx);
    }

    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.sink.push(port, packet, ctx);
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        self.sink.task()
    }

    fn timer(&mut self, when: u64, ctx: &mut Ctx<'_>) {
        self.source.timer(when, ctx);
    }

    fn source(&mut self) -> Option<&mut dyn Source> {
        self.source.source()
    }

    fn handlers(&self) -> Option<&dyn Handlers> {
        self.source.handlers()
    }

    fn handlers_mut(&mut self) -> Option<&mut dyn Handlers> {
        self.source.handlers_mut()
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.sink.finish(ctx)?;
        self.source.finish(ctx)
    }
}
