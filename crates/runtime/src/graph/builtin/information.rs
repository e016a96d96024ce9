//! Elements that say something to whoever reads the configuration, and do nothing while it runs.
//!
//! AddressInfo and PortInfo give names to addresses and ports; the front end has put them in by the
//! time that elements are made. The others are for schedulers that there are none of here, and for
//! threads, which are around graphs: their arguments are read, so that a slip is told here as
//! elsewhere.

use super::super::{Args, ElementError, text};
use super::{BuiltIn, BuiltInClass, Ctx, Facts, Setup, Shared};

/// Nothing is done while the configuration runs.
const FACTS: Facts = Facts { takes_bursts: true, informs: true, ..Facts::OWN };

macro_rules! information {
    ($static:ident, $name:literal, $check:expr, $manual:literal) => {
        pub(super) static $static: BuiltInClass = BuiltInClass {
            name: $name,
            ports: "0/0",
            processing: "a/a",
            flow: "",
            facts: FACTS,
            manual: $manual,
            make: |setup| $check(setup).map(|()| Box::new(Information) as Box<dyn BuiltIn>),
        };
    };
}

information!(ADDRESS_INFO, "AddressInfo", read_before, "AddressInfo(NAME ADDRESS..., ...) -- names for addresses");
information!(PORT_INFO, "PortInfo", read_before, "PortInfo(NAME PORT[/PROTOCOL], ...) -- names for ports");
information!(SCHEDULE_INFO, "ScheduleInfo", shares, "ScheduleInfo(ELEMENT SHARE, ...) -- has no effect: tasks have equal shares");
information!(
    ALIGNMENT_INFO,
    "AlignmentInfo",
    alignments,
    "AlignmentInfo(ELEMENT [MODULUS OFFSET]..., ...) -- has no effect: accesses need no alignment"
);
information!(
    STATIC_THREAD_SCHED,
    "StaticThreadSched",
    threads,
    "StaticThreadSched(ELEMENT THREAD, ...) -- with netvm run --place, runs the thread of an element on the core of that number\n\nElements of one stage have one thread; of replicas the first is meant. Of several cores (0/1) the \
     first counts. The handler home_thread of an element is the number of its thread: 0 the sources, 1 what runs in order, from 2 on the replicas; written, it lets that thread run on that core. Without --place there is one thread, and no effect."
);
information!(
    BALANCED_THREAD_SCHED,
    "BalancedThreadSched",
    balance,
    "BalancedThreadSched([INTERVAL, INCREASING]) -- has no effect: netvm run --place auto chooses how many replicas there are, and the system balances threads"
);

information!(DPDK_INFO, "DPDKInfo", memory, "DPDKInfo(NB_MBUF, ...) -- has no effect: memory for packets is netvm's business");

/// What FastClick's element takes.
#[rustfmt::skip]
const MEMORY: &[&str] = &[
    "NB_MBUF", "MBUF_SIZE", "MBUF_CACHE_SIZE", "RX_PTHRESH", "RX_HTHRESH", "RX_WTHRESH", "TX_PTHRESH", "TX_HTHRESH", "TX_WTHRESH", "MEMPOOL_PREFIX", "DEF_RING_NDESC",
    "DEF_BURST_SIZE", "RING_FLAGS", "RING_SIZE", "RING_POOL_CACHE_SIZE", "RING_PRIV_DATA_SIZE",
];

fn memory(setup: &Setup<'_>) -> Result<(), ElementError> {
    Args::parse(setup.arguments, &["NB_MBUF"], MEMORY).map(drop)
}

information!(RANDOM_SEED, "RandomSeed", seed, "RandomSeed([SEED]) -- has no effect: netvm run --seed says what random numbers are made of");

fn seed(setup: &Setup<'_>) -> Result<(), ElementError> {
    Args::parse(setup.arguments, &["SEED"], &[])?.integer("SEED", 0).map(drop)
}

pub(super) static CONTROL_SOCKET: BuiltInClass = BuiltInClass {
    name: "ControlSocket",
    ports: "0/0",
    processing: "a/a",
    flow: "",
    facts: Facts { takes_bursts: true, shared: Shared::First, ..Facts::OTHER },
    manual: "ControlSocket(TYPE, PORT [, READONLY, LOCALHOST, ...]) -- lets other programs read and write handlers while the configuration runs\n\nTYPE is TCP, PORT a port, or TYPE is \
             UNIX, PORT a file's name. The protocol is Click's, version 1.3. READONLY true refuses writes. A TCP port is on the loopback address unless LOCALHOST is false: who reaches it may do \
             what handlers can. A Unix socket is its owner's. PROXY, VERBOSE and the others have no effect. See also netvm ctl, which needs no element.",
    make: |setup| control(setup).map(|()| Box::new(Information) as Box<dyn BuiltIn>),
};

pub(super) static CHATTER_SOCKET: BuiltInClass = BuiltInClass {
    name: "ChatterSocket",
    manual: "ChatterSocket(TYPE, PORT [, ...]) -- opens no socket yet, and says so\n\nMessages are on standard error.",
    make: |setup| {
        control(setup)?;
        Ok(Box::new(Unopened))
    },
    ..CONTROL_SOCKET
};

information!(
    CLICKY_INFO,
    "ClickyInfo",
    read_before,
    "ClickyInfo(STYLE ...) -- has no effect: it is for the program Clicky, which draws configurations"
);

fn control(setup: &Setup<'_>) -> Result<(), ElementError> {
    let keywords = ["READONLY", "PROXY", "VERBOSE", "LOCALHOST", "RETRIES", "RETRY_WARNINGS", "CHANNEL", "QUIET_CHANNEL", "GREETING"];
    let args = Args::parse(setup.arguments, &["TYPE", "PORT"], &keywords)?;
    let kind = args.required("TYPE")?.to_ascii_lowercase();
    args.required("PORT")?;
    match kind.as_str() {
        "tcp" | "unix" | "socket" => Ok(()),
        other => Err(ElementError::argument(format!("TYPE should be TCP or UNIX, not '{other}'"))),
    }
}

/// One that is not opened.
struct Unopened;

impl BuiltIn for Unopened {
    fn start(&mut self, ctx: &mut Ctx<'_>) {
        ctx.tell("no socket is opened: messages are on standard error");
    }
}

fn read_before(_: &Setup<'_>) -> Result<(), ElementError> {
    Ok(())
}

/// Whether the words of each argument are as `fits` wants them; empty arguments are.
fn each(setup: &Setup<'_>, wanted: &str, fits: fn(&[&str]) -> bool) -> Result<(), ElementError> {
    let is_wrong = |argument: &&String| {
        let words: Vec<&str> = argument.split_whitespace().collect();
        !words.is_empty() && !fits(&words)
    };
    let wrong = setup.arguments.iter().find(is_wrong);
    wrong.map_or(Ok(()), |argument| Err(ElementError::argument(format!("expected {wanted}, not '{argument}'"))))
}

fn shares(setup: &Setup<'_>) -> Result<(), ElementError> {
    each(setup, "ELEMENT SHARE", |words| matches!(words, [_, share] if text::real(share).is_some_and(|share| share >= 0.0)))
}

fn alignments(setup: &Setup<'_>) -> Result<(), ElementError> {
    let fits = |words: &[&str]| words.len() % 2 == 1 && words[1..].iter().all(|word| text::integer(word).is_some());
    each(setup, "ELEMENT [MODULUS OFFSET]...", fits)
}

fn threads(setup: &Setup<'_>) -> Result<(), ElementError> {
    each(setup, "ELEMENT THREAD", |words| matches!(words, [_, thread] if thread.split('/').all(|number| text::integer(number).is_some())))
}

fn balance(setup: &Setup<'_>) -> Result<(), ElementError> {
    let args = Args::parse(setup.arguments, &["INTERVAL", "INCREASING"], &[])?;
    args.integer("INTERVAL", 1000).and(args.boolean("INCREASING", true)).map(drop)
}

struct Information;

impl BuiltIn for Information {}
