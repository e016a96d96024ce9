//! FromHost, KernelTap, KernelTun, those of DPDK, netmap and network simulators, and sockets: other
//! ways to the host and its devices, which are captures here as FromDevice's and ToDevice's are.
//!
//! A capture stands for a device by the name that [`super::device_name`] finds. What these classes
//! say of the host, such as its addresses, has no effect.

use super::super::{Args, ElementError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, Facts, Handlers, Medium, Setup, Source, Task, fromdump, todump};

/// How elements of a class are written.
struct Form {
    /// Arguments by position; the first is required.
    positional: &'static [&'static str],
    /// Arguments that may say which device it is, in their order. Where none does, the element's
    /// name stands for it.
    device: &'static [&'static str],
}

const DEVICE: &[&str] = &["DEVNAME", "DEV_NAME", "PORT", "FROM_PROC", "MEM_POOL"];
const HOST: Form = Form { positional: &["DEVNAME", "PREFIX"], device: DEVICE };
const KERNEL: Form = Form { positional: &["ADDR", "GATEWAY"], device: DEVICE };
const DPDK: Form = Form { positional: &["PORT", "QUEUE", "N_QUEUES", "PROMISC"], device: DEVICE };
const RING: Form = Form { positional: &["MEM_POOL"], device: DEVICE };
const NETMAP: Form = Form { positional: &["DEVNAME", "QUEUE", "N_QUEUES", "PROMISC"], device: DEVICE };
const FROM_SIMULATOR: Form = Form { positional: &["DEVNAME", "PROMISC", "SNAPLEN"], device: DEVICE };
const TO_SIMULATOR: Form = Form { positional: &["DEVNAME", "ENCAP"], device: DEVICE };
const SOCKET: Form = Form { positional: &["SOCKTYPE", "ADDR", "SOCKPORT"], device: &[] };

macro_rules! device {
    ($static:ident, $name:literal, $ports:literal, $processing:literal, $flow:literal, $form:expr, $manual:literal, $facts:expr) => {
        pub(super) static $static: BuiltInClass = BuiltInClass {
            name: $name,
            ports: $ports,
            processing: $processing,
            flow: $flow,
            facts: Facts { device: |element, given| $form.device_of(element, given), ..$facts },
            manual: $manual,
            make: |setup| make(setup, &$form),
        };
    };
}

device!(
    FROM_HOST,
    "FromHost",
    "0/1-2",
    "a/ah",
    "",
    HOST,
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
    KERNEL,
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
    KERNEL,
    "KernelTap(ADDR/MASK [, GATEWAY, DEVNAME, ...]) -- the same as KernelTun, with Ethernet headers",
    Facts { writes: Some(Medium::Device), ..Facts::READER }
);
device!(
    FROM_DPDK,
    "FromDPDKDevice",
    "0/1-2",
    "a/ah",
    "",
    DPDK,
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
    DPDK,
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
    RING,
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
    RING,
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
    NETMAP,
    "FromNetmapDevice(DEVNAME, ...) -- the same as FromDPDKDevice\n\n--map DEVNAME=FILE.",
    Facts::READER
);
device!(
    TO_NETMAP,
    "ToNetmapDevice",
    "1/0-1",
    "a/h",
    "",
    NETMAP,
    "ToNetmapDevice(DEVNAME, ...) -- the same as ToDPDKDevice\n\n--map DEVNAME=FILE.",
    Facts::WRITER
);
device!(
    FROM_SIM,
    "FromSimDevice",
    "0/1-2",
    "a/ah",
    "",
    FROM_SIMULATOR,
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
    TO_SIMULATOR,
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
    SOCKET,
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
    SOCKET,
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

impl Form {
    fn arguments(&self, given: &[String]) -> Result<Args, ElementError> {
        let args = Args::parse(given, self.positional, KEYWORDS)?;
        self.positional.first().map_or(Ok(String::new()), |first| args.required(first))?;
        Ok(args)
    }

    fn device_of(&self, element: &str, given: &[String]) -> Option<String> {
        let args = Args::parse(given, self.positional, KEYWORDS).ok()?;
        let named = self.device.iter().find_map(|name| args.text(name));
        named.or_else(|| Some(element.to_owned()))
    }
}

fn make(setup: &Setup<'_>, form: &Form) -> Result<Box<dyn BuiltIn>, ElementError> {
    form.arguments(setup.arguments)?;
    let name = form.device_of(setup.name, setup.arguments).ok_or("there is no device")?;
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
    match (super::facts(setup.class), setup.inputs) {
        (Facts { reads: None, .. }, _) => sink(),
        (_, 0) => source(),
        _ => Ok(Box::new(Both { source: source()?, sink: sink()? })),
    }
}

/// A device that is read and written.
struct Both {
    source: Box<dyn BuiltIn>,
    sink: Box<dyn BuiltIn>,
}

impl BuiltIn for Both {
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
