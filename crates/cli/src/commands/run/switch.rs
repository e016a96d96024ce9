//! `netvm run PROGRAM.p4`: a P4 program between captures, on packets in the order of their times.

use super::controllers::Server;
use super::listen::listen;
use super::merge::{Arrival, Merge};
use super::ports::{Outputs, PortFile};
use super::{Args, configuration, refuse_others, switch_live};
use crate::commands::p4;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use crate::progress::Progress;
use crate::signals::Signals;
use netvm::io::LinkType;
use netvm::io::device::Spec;
use netvm::netil::exec::ExchangeBuffer;
use netvm::p4::{Arrived, Departed, Departures, Port, Sent, Switch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a run without packets waits for controllers before it looks for signals.
const TURN: Duration = Duration::from_millis(50);

/// Packets that came in, and that left by port.
#[derive(Default)]
struct Counts {
    arrived: u64,
    nowhere: u64,
    sent: BTreeMap<u32, u64>,
}

/// The numbers of ports; 0 where none is given.
pub(super) fn numbered(files: &[PortFile], last: u32) -> Outcome<Vec<(u32, PathBuf)>> {
    let port = |name: &str| {
        let number = name.parse::<u32>().ok().filter(|n| *n <= last);
        number.ok_or_else(|| Failure::usage(format_args!("`{name}` is no port of this P4 program; ports are 0 to {last}")))
    };
    files.iter().map(|f| Ok((f.name().map_or(Ok(0), port)?, f.path.clone()))).collect()
}

pub(super) fn run(args: &Args, file: &Path) -> Outcome {
    if !args.maps.is_empty() {
        return between_devices(args, file);
    }
    refuse_others(args, file)?;
    if args.inputs.is_empty() && args.commands.is_none() && args.p4runtime.is_none() {
        return Err(Failure::usage(
            "no packets come in: --in PORT=CAPTURE says what comes in by a port, --map PORT=dev:IF or --map PORT=IN,OUT what is at it",
        ));
    }
    let mut switch = p4::ready(&args.p4, file, &args.engine, args.seed, args.log)?;
    let last = switch.last_port();
    let (inputs, outputs) = (numbered(&args.inputs, last)?, numbered(&args.outputs, last)?);
    if let Some(path) = &args.entries {
        p4::fill(&mut switch, &args.p4, file, path)?;
    }
    let signals = Signals::watch()?;
    let merge = Merge::open(&inputs)?;
    let outputs = Outputs::create(&outputs, &merge.infos()?)?;
    let mut server = args.p4runtime.map(|address| listen(args, file, address, &switch)).transpose()?;
    let (counts, whole) = feed(args, &mut switch, merge, outputs, &signals, &mut server)?;
    if let Some(path) = &args.commands {
        let mut out = Out::new();
        p4::commands(&mut switch, path)?.iter().try_for_each(|line| out.line(line))?;
        out.flush()?;
    }
    tell(args, &counts)?;
    signals.result()?;
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// With `--map` the program is an element of a graph, and its ports are the graph's devices; or,
/// where it or the command line asks for the switch around it, a switch between interfaces.
fn between_devices(args: &Args, file: &Path) -> Outcome {
    let captures = [("--in", !args.inputs.is_empty()), ("--out", !args.outputs.is_empty())];
    if let Some((what, _)) = captures.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format_args!("{what} and --map exclude each other: --in and --out say what is at ports then")));
    }
    let with_switch =
        [("--then", args.commands.is_some()), ("--digests", args.digests), ("--log", args.log), ("--p4runtime", args.p4runtime.is_some())];
    let wanted = with_switch.iter().find(|(_, given)| *given).map(|(what, _)| *what);
    let ports = args.maps.iter().map(|map| device(map)).collect::<Outcome<BTreeMap<_, _>>>()?;
    let last = |is: &dyn Fn(&Port) -> bool| ports.iter().filter(|(_, port)| is(port)).map(|(n, _)| u32::from(*n) + 1).max().unwrap_or(1);
    let lives = interfaces(&args.maps);
    if wanted.is_some() || lives.is_some() && !args.p4.is_element(file, last(&|port| port.reads), last(&|port| port.writes)) {
        let Some(lives) = lives else {
            let what = wanted.unwrap_or_default();
            return Err(Failure::usage(format_args!(
                "with {what} all of --map are interfaces, PORT=dev:IF; --in and --out are for captures"
            )));
        };
        return switch_live::run(args, file, &lives);
    }
    let text = args.p4.between(file, args.entries.as_deref(), &ports, &args.without);
    configuration::run(args, None, &text, std::iter::empty())
}

/// The interfaces at ports, if all are such.
fn interfaces(maps: &[String]) -> Option<BTreeMap<u32, Spec>> {
    let one = |map: &String| {
        let (port, spec) = map.split_once('=')?;
        Some((port.parse().ok()?, Spec::parse(spec)?))
    };
    maps.iter().map(one).collect()
}

/// `PORT=IN[,OUT]`, `PORT=,OUT` or `PORT=dev:IF`.
fn device(map: &str) -> Outcome<(u16, Port)> {
    let (port, files) = map.split_once('=').ok_or_else(|| Failure::usage(format_args!("expected PORT=IN[,OUT], not '{map}'")))?;
    let number = port.parse().ok().filter(|n| *n < 511);
    let number = number.ok_or_else(|| Failure::usage(format_args!("`{port}` is no port of a P4 program; ports are 0 to 510")))?;
    let port = match (Spec::parse(files), files.split_once(',')) {
        (Some(_), _) => Port { reads: true, writes: true, is_live: true },
        (None, Some((input, output))) => Port { reads: !input.is_empty(), writes: !output.is_empty(), is_live: false },
        (None, None) => Port { reads: true, ..Port::default() },
    };
    Ok((number, port))
}

/// Packets that left for what controllers sent.
fn send(sent: Vec<Sent>, outputs: &mut Outputs, counts: &mut Counts) -> Outcome {
    for packet in sent {
        *counts.sent.entry(packet.port).or_default() += 1;
        let out = ExchangeBuffer::borrowed(&packet.bytes);
        outputs.write(packet.port, LinkType::EN10MB, packet.bytes.len() as u32, &out)?;
    }
    Ok(())
}

fn feed(
    args: &Args,
    switch: &mut Switch,
    mut merge: Merge,
    mut outputs: Outputs,
    signals: &Signals,
    server: &mut Option<Server>,
) -> Outcome<(Counts, bool)> {
    let (mut bar, mut arrivals, mut counts) = (Progress::new(true), Vec::new(), Counts::default());
    let (mut out, mut left) = (Out::new(), Departures::default());
    while !signals.stop() {
        merge.next(super::BURST, &mut arrivals, signals, &mut || outputs.flush())?;
        if arrivals.is_empty() {
            break;
        }
        burst(switch, &arrivals, &mut left, &mut outputs, &mut counts, server)?;
        if let Some(server) = server {
            send(server.serve(switch), &mut outputs, &mut counts)?;
        }
        let digests = switch.digests();
        p4::said(switch, args.json).iter().try_for_each(|line| out.line(line))?;
        if args.digests {
            digests.iter().try_for_each(|digest| out.line(&p4::digest(digest, args.json)))?;
        }
        out.flush()?;
        bar.at(merge.progress());
    }
    bar.clear();
    if let Some(server) = server {
        while !signals.stop() {
            send(server.wait(switch, TURN), &mut outputs, &mut counts)?;
            outputs.flush()?;
        }
    }
    outputs.finish()?;
    Ok((counts, merge.is_whole()))
}

fn arrived(arrival: &Arrival) -> Arrived<'_> {
    Arrived { port: arrival.port, bytes: arrival.bytes(), time_ns: arrival.time_ns() }
}

fn burst(
    switch: &mut Switch,
    arrivals: &[Arrival],
    left: &mut Departures,
    outputs: &mut Outputs,
    counts: &mut Counts,
    server: &mut Option<Server>,
) -> Outcome {
    let packets: Vec<Arrived<'_>> = arrivals.iter().map(arrived).collect();
    switch.receive_all(&packets, left);
    counts.arrived += packets.len() as u64;
    counts.nowhere += (packets.len() - left.packets()) as u64;
    for Departed { of, port, bytes } in left.iter() {
        if server.as_mut().is_some_and(|server| server.take_packet(port, bytes)) {
            continue;
        }
        *counts.sent.entry(port).or_default() += 1;
        let mut out = ExchangeBuffer::borrowed(bytes);
        out.time_ns = arrivals[of].time_ns();
        outputs.write(port, arrivals[of].link, bytes.len() as u32, &out)?;
    }
    Ok(())
}

fn tell(args: &Args, counts: &Counts) -> Outcome {
    if args.json {
        let sent: BTreeMap<String, u64> = counts.sent.iter().map(|(port, n)| (port.to_string(), *n)).collect();
        let json = serde_json::json!({"packets": counts.arrived, "dropped": counts.nowhere, "sent": sent});
        let mut out = Out::new();
        out.line(&json.to_string())?;
        out.flush()?;
    }
    if args.stats {
        let sent: Vec<String> = counts.sent.iter().map(|(port, n)| format!("{n} by port {port}")).collect();
        let sent = if sent.is_empty() { "none".to_owned() } else { sent.join(", ") };
        failure::eprint_lossy(&format!("{} packets came in, {} went nowhere; sent: {sent}", counts.arrived, counts.nowhere));
    }
    Ok(())
}
