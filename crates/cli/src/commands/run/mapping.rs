//! `--map`: what stands for a device of a configuration.
//!
//! ```text
//! DEVICE=dev:IF, gso:IF, xdp:IF[:QUEUE], tap:NAME     an interface
//! DEVICE=[pcap:]IN, ,OUT or IN,OUT                    captures
//! DEVICE=mem:IN[:TIMES][,OUT]                         a capture that is read into memory and repeated, until it is stopped or so many times
//! ```
//!
//! Packets in memory come one every so many nanoseconds, as long as the capture has on average.
//! Left out: captures of other links than Ethernet in memory.

use crate::failure::{Failure, Outcome};
use netvm::application::{Application, Replay, Settings, builtin};
use netvm::io::device::Spec;
use netvm::io::{Capture, LinkType};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What captures that are read into memory have at most.
const LARGEST: usize = 1 << 30;
/// Packets that are read at once.
const BURST: usize = 256;
/// The kinds of devices.
const KINDS: &str = "dev, gso, xdp, tap, pcap and mem";

/// Notes what stands for a device. Which of a capture alone is read or written depends on whether
/// the configuration reads the device.
pub(crate) fn device(map: &str, application: &Application, settings: &mut Settings) -> Outcome {
    let (name, files) = map.split_once('=').ok_or_else(|| Failure::usage(format_args!("expected DEVICE=IN[,OUT], not '{map}'")))?;
    let (is_read, is_written) = (names(application, &builtin::READERS, name), names(application, &builtin::WRITERS, name));
    let wrong = |why: &str| Err(Failure::usage(format_args!("--map {map}: {why}")));
    if !is_read && !is_written {
        return wrong(&format!("the configuration has no device '{name}'"));
    }
    if let Some(spec) = Spec::parse(files) {
        settings.live.insert(name.to_owned(), spec);
        return Ok(());
    }
    if let Some(why) = no_kind(files) {
        return wrong(&why);
    }
    let (input, output) = match files.split_once(',') {
        Some((input, output)) => (input, output),
        None if is_read => (files, ""),
        None => ("", files),
    };
    match (is_read, is_written) {
        (false, _) if !input.is_empty() => return wrong(&format!("nothing reads device '{name}'")),
        (_, false) if !output.is_empty() => return wrong(&format!("nothing writes to device '{name}'")),
        _ => {}
    }
    match input.strip_prefix("mem:") {
        Some(file) => _ = settings.replays.insert(name.to_owned(), Arc::new(in_memory(file)?)),
        None => put(&mut settings.devices, name, input),
    }
    if output.starts_with("mem:") {
        return wrong("what is written goes to a capture: mem: is for what is read");
    }
    put(&mut settings.outputs, name, output);
    Ok(())
}

fn put(to: &mut BTreeMap<String, PathBuf>, name: &str, file: &str) {
    let file = file.strip_prefix("pcap:").unwrap_or(file);
    to.extend(Some(file).filter(|file| !file.is_empty()).map(|file| (name.to_owned(), PathBuf::from(file))));
}

/// What is wrong with a text that begins as devices do and names none. A file may be called like
/// that.
pub(crate) fn no_kind(text: &str) -> Option<String> {
    let (kind, rest) = text.split_once(':')?;
    let is_word = (2..=8).contains(&kind.len()) && kind.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_word || Path::new(text.split_once(',').map_or(text, |(input, _)| input)).exists() {
        return None;
    }
    match kind {
        "pcap" | "mem" if !rest.is_empty() => None,
        "pcap" | "mem" => Some(format!("{kind}: needs the name of a file")),
        "dev" | "gso" | "xdp" | "tap" => Some(format!("{kind}: needs the name of an interface")),
        _ => Some(format!("there is no kind of device `{kind}`, and no file of that name; there are {KINDS}")),
    }
}

/// The packets of a capture.
fn in_memory(text: &str) -> Outcome<Replay> {
    let times = text.rsplit_once(':').and_then(|(file, times)| Some((file, times.parse().ok().filter(|times| *times > 0)?)));
    let (file, times) = times.unwrap_or((text, u64::MAX));
    let told = |error: &dyn std::fmt::Display| Failure::failed(format_args!("mem:{file}: {error}"));
    let mut capture = Capture::open(file).map_err(|error| told(&error))?;
    let (mut packets, mut bytes, mut times_ns) = (Vec::new(), 0, None);
    while let Some(burst) = capture.next_burst(BURST).map_err(|error| told(&error))? {
        if burst.link_type() != LinkType::EN10MB {
            return Err(told(&"its packets are no Ethernet frames"));
        }
        for record in burst.records() {
            let (first, _) = *times_ns.get_or_insert((record.time_ns(), 0));
            times_ns = Some((first, record.time_ns()));
            bytes += record.data.len();
            packets.push(record.data.to_vec());
        }
        if bytes > LARGEST {
            return Err(told(&format_args!("it has more than {LARGEST} bytes of packets")));
        }
    }
    let (first, last) = times_ns.unwrap_or_default();
    let interval = last.saturating_sub(first) / (packets.len() as u64).saturating_sub(1).max(1);
    Ok(Replay::new(packets.iter().map(Vec::as_slice), times, interval.max(1)))
}

/// Whether an element of one of these classes has that device, as its first argument or by its
/// keyword.
fn names(application: &Application, classes: &[&str], device: &str) -> bool {
    let of = |argument: &String| {
        let argument = argument.trim();
        let name = argument.strip_prefix("DEVNAME").filter(|rest| rest.starts_with(' ')).unwrap_or(argument);
        name.trim().trim_matches('"') == device
    };
    application.flat().elements.iter().filter(|e| classes.contains(&e.class.as_str())).any(|e| {
        match builtin::device_name(&e.name, &e.class, &e.arguments) {
            Some(name) => name == device,
            None => e.arguments.iter().any(of),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_there_are_not_are_told() {
        assert_eq!([no_kind("a.pcap"), no_kind("pcap:a"), no_kind("mem:a:3"), no_kind("C:a"), no_kind("./foo:a")], [const { None }; 5]);
        assert_eq!(no_kind("tap:").as_deref(), Some("tap: needs the name of an interface"));
        assert_eq!(no_kind("mem:").as_deref(), Some("mem: needs the name of a file"));
        assert!(no_kind("foo:lo").unwrap().contains("no kind of device `foo`, and no file of that name; there are dev, gso,"));
    }
}
