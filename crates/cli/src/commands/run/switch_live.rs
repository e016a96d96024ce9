//! `netvm run PROGRAM.p4 --map PORT=dev:IF...` with the switch around the program, for what an
//! element of a graph does not have: controllers, digests, clones, packets that come round. Packets
//! of a port are taken in bursts; time is the host's. The run ends when it is told to.

use super::controllers::Server;
use super::listen::listen;
use super::{Args, control};
use crate::commands::p4;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use crate::signals::Signals;
use netvm::control::{Door, Server as Control};
use netvm::io::device::{self, Device, Options, Polling, Spec};
use netvm::p4::{Arrived, Departed, Departures, Ruled, Sent, Switch};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long it waits for packets before it looks for signals.
const TURN: Duration = Duration::from_millis(50);
/// And before it looks for what controllers ask for.
const TURN_WITH_CONTROLLERS: Duration = Duration::from_millis(2);
/// Packets of one port before the next one has its turn.
const BURST: usize = 64;

/// Packets that came in, those of which nothing left, and those that left by ports where there is
/// no device.
#[derive(Default)]
struct Counts {
    arrived: u64,
    nowhere: u64,
    no_device: u64,
}

/// The host's time in nanoseconds.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}

struct Live {
    switch: Switch,
    devices: BTreeMap<u32, Device>,
    server: Option<Server>,
    /// The control socket.
    control: Option<Control>,
    /// Somebody asked for the end there.
    stopped: bool,
    polling: Polling,
    /// For how long it has looked for packets without any.
    looked: Duration,
    counts: Counts,
    /// What left of the last packets.
    left: Departures,
}

pub(super) fn run(args: &Args, file: &Path, ports: &BTreeMap<u32, Spec>) -> Outcome {
    let mut switch = p4::ready(&args.p4, file, &args.engine, args.seed, args.log)?;
    if let Some(path) = &args.entries {
        p4::fill(&mut switch, &args.p4, file, path)?;
    }
    let mut devices = BTreeMap::new();
    for (port, spec) in ports {
        let options = Options { receive: true, promiscuous: true, ..Options::default() };
        let device = Device::open(spec, options).map_err(|why| Failure::failed(format_args!("{spec}: {why}")))?;
        devices.insert(*port, device);
    }
    let signals = Signals::watch()?;
    let server = args.p4runtime.map(|address| listen(args, file, address, &switch)).transpose()?;
    let control = args.control.as_ref().map(|path| controlled(path.as_deref())).transpose()?;
    let (counts, left, polling) = (Counts::default(), Departures::default(), Polling::default());
    let mut live = Live { switch, devices, server, control, stopped: false, polling, looked: Duration::ZERO, counts, left };
    let at: Vec<String> = ports.iter().map(|(port, spec)| format!("{port} at {spec}")).collect();
    failure::eprint_lossy(&format!("running on {}", at.join(", ")));
    live.turns(args, &signals)?;
    if let Some(path) = &args.commands {
        let mut out = Out::new();
        p4::commands(&mut live.switch, path)?.iter().try_for_each(|line| out.line(line))?;
        out.flush()?;
    }
    live.tell(args)
}

/// Opens the control socket.
fn controlled(path: Option<&Path>) -> Outcome<Control> {
    let path = control::named(path);
    let shown = path.display().to_string();
    let mut server = Control::new().map_err(Failure::failed)?;
    server.open(Door::Json(path)).map_err(|error| Failure::failed(format_args!("--control: {shown}: {error}")))?;
    failure::eprint_lossy(&format!("control socket {shown}"));
    Ok(server)
}

/// Sends a packet by a port.
fn send(devices: &mut BTreeMap<u32, Device>, counts: &mut Counts, port: u32, bytes: &[u8]) {
    match devices.get_mut(&port) {
        // A frame for which there is no room is counted by the device.
        Some(device) => drop(device.send(bytes)),
        None => counts.no_device += 1,
    }
}

impl Live {
    fn turns(&mut self, args: &Args, signals: &Signals) -> Outcome {
        let mut out = Out::new();
        let turn = if self.server.is_some() { TURN_WITH_CONTROLLERS } else { TURN };
        let waker = self.control.as_ref().map(Control::wakes).transpose().map_err(Failure::failed)?;
        while !signals.stop() && !self.stopped {
            let mut arrived = false;
            for port in self.devices.keys().copied().collect::<Vec<_>>() {
                arrived |= self.burst(port);
            }
            self.look_at_ports()?;
            self.switch.pass(now());
            self.answer();
            if let Some(server) = &mut self.server {
                let sent = server.serve(&mut self.switch);
                self.send(sent);
            }
            let digests = self.switch.digests();
            let said = p4::said(&mut self.switch, args.json);
            said.iter().try_for_each(|line| out.line(line))?;
            if !said.is_empty() {
                out.flush()?;
            }
            if args.digests {
                digests.iter().try_for_each(|digest| out.line(&p4::digest(digest, args.json)))?;
                out.flush()?;
            }
            self.devices.values_mut().for_each(Device::flush);
            self.devices.values_mut().flat_map(Device::take_news).for_each(|news| failure::eprint_lossy(&news));
            if !arrived {
                let waker = waker.as_ref().map(AsFd::as_fd);
                let waited = device::wait(&mut self.polling, self.devices.values_mut(), waker, turn);
                self.looked += waited.map_err(|error| Failure::failed(format_args!("waiting for packets: {error}")))?;
            }
        }
        Ok(())
    }

    /// Members of groups that watch a port are chosen while it is up.
    fn look_at_ports(&mut self) -> Outcome {
        let (devices, switch) = (&self.devices, &mut self.switch);
        devices.iter().try_for_each(|(port, device)| switch.port_is_up(*port, device.is_up())).map_err(Failure::failed)
    }

    /// Does what is asked by the control socket.
    fn answer(&mut self) {
        let Some(control) = &mut self.control else { return };
        let packets = [self.counts.arrived, self.counts.nowhere];
        control.serve(&mut Ruled { switch: &mut self.switch, packets, looked: self.looked, stopped: &mut self.stopped });
    }

    /// Packets that have come in by a port; true if there were some.
    fn burst(&mut self, port: u32) -> bool {
        let Some(device) = self.devices.get_mut(&port) else { return false };
        if !device.has_frames() {
            return false;
        }
        let time_ns = now();
        let packets: Vec<Arrived<'_>> = (0..BURST).map_while(|n| device.peek(n)).map(|bytes| Arrived { port, bytes, time_ns }).collect();
        let (left, count) = (&mut self.left, packets.len());
        self.switch.receive_all(&packets, left);
        device.take(count);
        self.counts.arrived += count as u64;
        self.counts.nowhere += (count - left.packets()) as u64;
        for Departed { port, bytes, .. } in left.iter() {
            if self.server.as_mut().is_none_or(|server| !server.take_packet(port, bytes)) {
                send(&mut self.devices, &mut self.counts, port, bytes);
            }
        }
        true
    }

    fn send(&mut self, sent: Vec<Sent>) {
        sent.iter().for_each(|packet| send(&mut self.devices, &mut self.counts, packet.port, &packet.bytes));
    }

    fn tell(&mut self, args: &Args) -> Outcome {
        let Counts { arrived, nowhere, no_device } = self.counts;
        let sent: BTreeMap<String, u64> = self.devices.iter().map(|(port, device)| (port.to_string(), device.traffic().sent)).collect();
        let lost: u64 = self.devices.values_mut().map(|device| device.drops().values().sum::<u64>()).sum();
        if args.json {
            let json = serde_json::json!({"packets": arrived, "dropped": nowhere, "no_device": no_device, "lost": lost, "sent": sent});
            let mut out = Out::new();
            out.line(&json.to_string())?;
            out.flush()?;
        }
        if args.stats {
            let sent: Vec<String> = sent.iter().map(|(port, n)| format!("{n} by port {port}")).collect();
            let sent = sent.join(", ");
            failure::eprint_lossy(&format!(
                "{arrived} packets came in, {nowhere} went nowhere, {no_device} to ports without a device; the devices lost {lost}; sent: {sent}"
            ));
        }
        Ok(())
    }
}
