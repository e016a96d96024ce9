//! `netvm run --target xdp`: a configuration as one program in the kernel, at the interfaces of its
//! devices, until a signal.

use super::terminal::Terminal;
use super::{Args, divided, mapping, results};
use crate::commands::xdp::{attach, told};
use crate::failure::{self, Failure, Outcome};
use crate::signals::Signals;
use netvm::application::{Application, Graph, Settings, builtin};
use netvm::engines;
use netvm::io::bpf;
use netvm::io::device::Spec;
use netvm::targets::{XdpLoaded, XdpWorld};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The error of a process that may not load programs; the verifier's is another.
const NOT_PERMITTED: i32 = 1;

pub(super) fn run(args: &Args, target: &str, application: &Application) -> Outcome {
    if target != "xdp" {
        return Err(Failure::usage(format_args!("configurations run on the target xdp; '{target}' is none that they run on")));
    }
    let named = interfaces(args, application)?;
    let refused = |error: std::io::Error| Failure::failed(format_args!("XDP: {}", told(&error)));
    let index = |(device, name): (&String, &String)| {
        let index = bpf::interface(name).map_err(|error| Failure::failed(format_args!("interface {name}: {error}")))?;
        Ok((device.clone(), index))
    };
    let indices = named.iter().map(index).collect::<Outcome<BTreeMap<String, u32>>>()?;
    let Ok(made) = application.xdp(&indices, XdpWorld::Kernel) else {
        return divided::run(args, application, (&named, &indices));
    };
    let (read, instructions) = (made.devices(), made.program().insts.len());
    let loaded = match made.load() {
        Ok(loaded) => loaded,
        Err(error) if error.raw_os_error() == Some(NOT_PERMITTED) => return Err(refused(error)),
        // The kernel's verifier does not take all of it: perhaps a part.
        Err(_) => return divided::run(args, application, (&named, &indices)),
    };
    if args.explain_opt {
        failure::eprint_lossy("all of it runs in the kernel");
    }
    let signals = Signals::watch()?;
    signals.end_with_terminal()?;
    let mut links = Vec::new();
    for device in &read {
        links.push(
            attach(&loaded.program, indices[device], args.xdp_mode)
                .map_err(|error| Failure::failed(format_args!("XDP on {}: {}", named[device], told(&error))))?,
        );
    }
    let shown: Vec<String> = read.iter().map(|device| format!("{} ({device})", named[device])).collect();
    failure::eprint_lossy(&format!("running on {}: {instructions} instructions of XDP; an interrupt ends the run", shown.join(", ")));
    let begun = Instant::now();
    while !signals.stop() {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(links);
    end(args, application, &loaded, begun.elapsed().as_secs_f64())
}

/// By device of the configuration its interface.
fn interfaces(args: &Args, application: &Application) -> Outcome<BTreeMap<String, String>> {
    let mut settings = Settings::default();
    for map in &args.maps {
        mapping::device(map, application, &mut settings)?;
    }
    let mut named = BTreeMap::new();
    for (device, spec) in settings.live {
        match &spec {
            Spec::Interface(name) | Spec::Xdp(name, None) => drop(named.insert(device, name.clone())),
            Spec::Xdp(..) | Spec::Segments(_) => {
                return Err(Failure::usage(format_args!("--map {device}={spec}: XDP programs are at interfaces, dev:IF")));
            }
            Spec::Tap(name) => {
                return Err(Failure::usage(format_args!("--map {device}=tap:{name}: XDP programs are at interfaces, dev:IF")));
            }
        }
    }
    if let Some(device) = settings.devices.keys().chain(settings.outputs.keys()).next() {
        return Err(Failure::usage(format_args!("--map {device}: with --target xdp devices are interfaces, dev:IF")));
    }
    let Some(on) = &args.on else { return Ok(named) };
    let read: Vec<String> = application.devices(&builtin::READERS).into_iter().filter(|device| !named.contains_key(device)).collect();
    let [device] = &read[..] else {
        return Err(Failure::usage(format_args!(
            "--on {on}: the configuration reads {} devices; --map DEVICE=dev:IF says which",
            read.len()
        )));
    };
    named.insert(device.clone(), on.clone());
    Ok(named)
}

/// Tells what was asked for.
fn end(args: &Args, application: &Application, loaded: &XdpLoaded, seconds: f64) -> Outcome {
    let refused = |error: std::io::Error| Failure::failed(format_args!("XDP: {error}"));
    let stats = loaded.stats().map_err(refused)?;
    let mut handlers = Vec::new();
    if !args.handlers.is_empty() {
        let mut graph = graph(application)?;
        for (instance, memory) in loaded.memories().map_err(refused)? {
            graph.set_memory(instance, &memory);
        }
        match args.json {
            true => handlers = results::asked(&mut graph, &args.handlers)?,
            false => results::say_handlers(&mut graph, &args.handlers)?,
        }
    }
    results::tell(args, &stats, handlers, seconds)
}

/// The configuration without packets, for its handlers.
fn graph(application: &Application) -> Outcome<Graph> {
    let devices = application.devices(&builtin::READERS).into_iter();
    let replays = devices.map(|device| (device, Arc::default())).collect();
    let settings = Settings { replays, ..Settings::default() };
    let host = Box::new(Terminal::new(Signals::watch()?, false, None));
    Ok(application.start(engines::find("interp").unwrap_or(&engines::AUTO), engines::Settings::default(), settings, host)?)
}
