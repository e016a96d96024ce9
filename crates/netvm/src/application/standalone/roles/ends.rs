//! Where packets come from and go to: captures, Discard, TimedSink, Idle.

use super::{Context, End, Made, Ready, Role, refuse};
use ::compiler::backends::c::quoted::string;
use runtime::graph::builtin::{self, Medium, SINK_KEYWORDS, SOURCE_KEYWORDS, link_type, source_positional};
use runtime::graph::{Args, ElementError};
use runtime::io::LinkType;

/// The link type that is not said.
const ANY_LINK: u32 = 0xffff;

pub(super) fn source(context: &Context<'_>) -> Made {
    let args = context.args(source_positional(context.class, context.arguments), SOURCE_KEYWORDS)?;
    refuse(&args, "END_CALL")?;
    refuse(&args, "FILEPOS")?;
    let pulled = context.is_pulled_from();
    let is_device = builtin::facts(context.class).reads == Some(Medium::Device);
    let longest = longest(&args, 0)?.min(netil::exec::MAX_PACKET);
    let value = format!(
        "{{\n    {}, .window = {}, .sample = {:?}, .seed = {}u,\n    .longest = {longest}, .idle = {}, .pulled = {pulled}, .stops = {}\n}}",
        named(is_device, &args, if is_device { "DEVNAME" } else { "FILENAME" })?,
        window(&args)?,
        args.real("SAMPLE", 1.0)?.clamp(0.0, 1.0),
        context.seed,
        !args.boolean("ACTIVE", true)?,
        args.boolean("STOP", false)?,
    );
    let force_ip = args.boolean("FORCE_IP", false)?;
    let (mark, pull) = if force_ip { (MARK_IP, PULL_IP) } else { ("E_nv_emit(0);", "return nv_source_pull(&E_state);") };
    Ok(Role {
        kind: "struct nv_source",
        value,
        push: (!pulled).then(|| format!("(void) port;\n{mark}")),
        pull: pulled.then(|| format!("(void) port;\n{pull}")),
        reads: vec![("count", "print_uint(E_state.taken)")],
        ready: Ready::If("nv_source_has(&E_state)"),
        end: End::Source { pulled },
        ..Role::default()
    })
}

/// The most bytes of each packet.
fn longest(args: &Args, otherwise: u32) -> Result<u32, ElementError> {
    Ok(match args.count("SNAPLEN", otherwise, u32::MAX)? {
        0 => netil::exec::MAX_PACKET,
        bytes => bytes,
    })
}

const MARK_IP: &str = "E_nv_emit(nv_mark_ip(nv_source_ip(&E_state)) ? 0 : 1);";
const PULL_IP: &str = "struct nv_packet *own = nv_packet, *packet;\n
while ((nv_packet = nv_source_pull(&E_state)) && !nv_mark_ip(nv_source_ip(&E_state)))
    nv_guarded(E_nv_emit, 1);
packet = nv_packet;
nv_packet = own;
return packet;";

fn window(args: &Args) -> Result<String, ElementError> {
    let limits = ["START", "START_AFTER", "END", "END_AFTER", "INTERVAL"].map(|name| args.duration(name, u64::MAX));
    let limits: Vec<u64> = limits.into_iter().collect::<Result<_, _>>()?;
    if limits.iter().all(|limit| *limit == u64::MAX) {
        return Ok("NV_ALWAYS".to_owned());
    }
    let limits: Vec<String> = limits.iter().map(|limit| format!("{limit}u")).collect();
    Ok(format!("{{ {}, UINT64_MAX, UINT64_MAX }}", limits.join(", ")))
}

/// What stands for a capture: a device's name, or a file's.
fn named(is_device: bool, args: &Args, argument: &str) -> Result<String, ElementError> {
    let name = args.text(argument).unwrap_or_default();
    let ends = |end: &str| name.to_ascii_lowercase().ends_with(end);
    if !is_device && [".gz", ".zst", ".pcapng"].into_iter().any(ends) {
        return Err(ElementError::unsupported("the standalone build reads and writes plain pcap files only"));
    }
    Ok(format!("{} = {}", if is_device { ".device" } else { ".path" }, string(name.as_bytes())))
}

pub(super) fn sink(context: &Context<'_>) -> Made {
    let is_device = builtin::facts(context.class).writes == Some(Medium::Device);
    let (called, positional) = if is_device { ("DEVNAME", &["DEVNAME"][..]) } else { ("FILENAME", &["FILENAME", "SNAPLEN", "ENCAP"][..]) };
    let args = context.args(positional, SINK_KEYWORDS)?;
    let (link, longest) = (link(&args, is_device)?, longest(&args, if is_device { 0 } else { 2000 })?);
    let value = format!(
        "{{ {}, .longest = {longest}, .link = {link}, .micro = {}, .cut = {} }}",
        named(is_device, &args, called)?,
        !args.boolean("NANO", true)?,
        !args.boolean("EXTRA_LENGTH", true)?,
    );
    let goes_on = !is_device && context.outputs() > 0;
    let leave = if goes_on { "E_nv_emit(0);" } else { "nv_packet_end();" };
    let pulled_through = context.is_pulled_from();
    Ok(Role {
        kind: "struct nv_sink",
        value,
        push: (!context.pulls()).then(|| format!("(void) port;\nnv_sink_write(&E_state);\n{leave}")),
        pull: pulled_through.then(|| PULL_THROUGH.to_owned()),
        turn: (context.pulls() && !pulled_through)
            .then(|| format!("nv_packet = E_nv_before(0);\nif (!nv_packet)\n    return NV_IDLE;\nnv_moved = true;\nnv_sink_write(&E_state);\n{leave}\nreturn NV_DONE;")),
        reads: vec![("count", "print_uint(E_state.count)")],
        end: End::Sink,
        ..Role::default()
    })
}

fn link(args: &Args, is_device: bool) -> Result<u32, ElementError> {
    Ok(match args.text("ENCAP") {
        Some(name) => link_type(&name)?.number(),
        None if is_device || args.has("USE_ENCAP_FROM") => ANY_LINK,
        None => LinkType::EN10MB.number(),
    })
}

const PULL_THROUGH: &str = "struct nv_packet *own = nv_packet, *packet = E_nv_before(0);

(void) port;
if (packet) {
    nv_packet = packet;
    nv_sink_write(&E_state);
}
nv_packet = own;
return packet;";

pub(super) fn discard(context: &Context<'_>) -> Made {
    let args = context.args(&[], &["ACTIVE", "BURST"])?;
    let burst = args.count("BURST", 1, 1 << 16)?.max(1);
    let idle = !args.boolean("ACTIVE", true)?;
    Ok(Role {
        kind: "struct nv_discard",
        value: format!("{{ .burst = {burst}, .idle = {idle} }}"),
        push: (!context.pulls()).then(|| "(void) port;\nE_state.count += 1;\nnv_packet_end();".to_owned()),
        turn: context.pulls().then(|| "return nv_discard_turn(&E_state, E_nv_before);".to_owned()),
        reads: vec![("count", "print_uint(E_state.count)")],
        ..Role::default()
    })
}

pub(super) fn timed_sink(context: &Context<'_>) -> Made {
    let interval = context.args(&["INTERVAL"], &[])?.duration("INTERVAL", 500_000_000)?.max(1);
    let next = "nv_timed_sink_next(&E_state, &E);";
    Ok(Role {
        kind: "struct nv_timed_sink",
        value: format!("{{ .interval = {interval}u }}"),
        init: Some(next.to_owned()),
        timer: Some(format!("(void) timer;\n{next}\nnv_packet_free(nv_try_pull(E_nv_before, 0));")),
        ..Role::default()
    })
}

pub(super) fn idle() -> Role {
    Role {
        push: Some("(void) port;\nnv_packet_end();".to_owned()),
        pull: Some("(void) port;\nreturn 0;".to_owned()),
        ready: Ready::If("false"),
        ..Role::default()
    }
}
