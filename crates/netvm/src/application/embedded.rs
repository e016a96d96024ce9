//! An application within another program: packets in and out by calls, time by the packets.
//!
//! ```
//! use netvm::application::{Application, Lent, Settings};
//! use netvm::{engines, io::LinkType};
//!
//! let text = "FromDevice(in) -> c :: Counter -> Strip(2) -> ToDevice(out);";
//! let application = Application::read("example.click", text, &Default::default())?;
//! let mut embedded = application.embed(&engines::AUTO, Default::default(), Settings::default(), Box::new(netvm::application::Silent))?;
//! embedded.push("in", Lent { bytes: &[1, 2, 3, 4], wire_len: 4, time_ns: 1, link: LinkType::EN10MB })?;
//! embedded.run();
//! let mut sent = Vec::new();
//! embedded.take("out", |packet| { sent.push(packet.bytes.to_vec()); true })?;
//! assert_eq!(sent, [[3, 4]]);
//! assert_eq!(embedded.graph().read("c.count", "", None)?, "1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Application, Graph, Host, Settings, Stream, builtin};
use crate::Error;
use crate::engines::{self, EngineInfo};
use runtime::graph::builtin::packet_port::{Batch, Lent, MOST, PacketPort};
use std::sync::Arc;

/// A host that prints nothing, for programs that do not care what elements print.
pub struct Silent;

impl Host for Silent {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// An application whose devices are queues of the program around it.
pub struct Embedded {
    graph: Graph,
    ports: Vec<Port>,
    /// The port that was named last.
    named: usize,
    begun: bool,
    /// Packets wait outside the graph, or in its ports.
    waits: bool,
    /// The latest time of a packet so far.
    now: u64,
}

/// A device.
struct Port {
    name: String,
    port: Arc<PacketPort>,
    /// What comes with the next run.
    coming: Batch,
}

impl Port {
    /// Lets those come that were pushed.
    fn give(&mut self) {
        if !self.coming.is_empty() {
            self.port.give(&mut self.coming);
        }
    }
}

impl Application {
    /// Makes all elements; every device that the settings say nothing of is a port of the result.
    ///
    /// # Errors
    /// Elements that cannot be made, drawn where they are declared.
    pub fn embed(
        &self,
        engine: &EngineInfo,
        engines: engines::Settings,
        settings: Settings,
        host: Box<dyn Host>,
    ) -> Result<Embedded, Error> {
        let mut settings = settings;
        for name in self.devices(&[builtin::READERS.as_slice(), builtin::WRITERS.as_slice()].concat()) {
            let known = [settings.devices.contains_key(&name), settings.outputs.contains_key(&name), settings.live.contains_key(&name)];
            if !known.contains(&true) {
                settings.ports.entry(name).or_default();
            }
        }
        let port =
            |(name, port): (&String, &Arc<PacketPort>)| Port { name: name.clone(), port: Arc::clone(port), coming: Batch::default() };
        let ports = settings.ports.iter().map(port).collect();
        let mut graph = self.start(engine, engines, settings, host)?;
        graph.open();
        graph.start();
        Ok(Embedded { graph, ports, named: 0, begun: false, waits: false, now: 0 })
    }
}

/// No device has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// The name.
    pub device: String,
    /// The names of the devices that there are.
    pub there: Vec<String>,
}

impl std::fmt::Display for NoDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no device is called `{}`; there are {}", self.device, self.there.join(", "))
    }
}

impl std::error::Error for NoDevice {}

impl Embedded {
    /// The number of a device, for [`Self::push_to`] and [`Self::take_from`]: its place among [the
    /// ports](Self::ports).
    ///
    /// # Errors
    /// There is no such device.
    pub fn port(&self, device: &str) -> Result<usize, NoDevice> {
        if self.ports.get(self.named).is_some_and(|port| port.name == device) {
            return Ok(self.named);
        }
        let found = self.ports.iter().position(|port| port.name == device);
        found.ok_or_else(|| NoDevice { device: device.to_owned(), there: self.ports().map(str::to_owned).collect() })
    }

    /// The names of all ports.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.name.as_str())
    }

    /// A packet comes by a device; it waits for [`Self::run`]. A time before that of an earlier
    /// packet is that packet's. False if the queue is full.
    ///
    /// # Errors
    /// There is no such device.
    pub fn push(&mut self, device: &str, packet: Lent<'_>) -> Result<bool, NoDevice> {
        self.named = self.port(device)?;
        Ok(self.push_to(self.named, packet))
    }

    /// As [`Self::push`], by the device's [number](Self::port); false, too, if there is none of
    /// that number.
    #[inline]
    pub fn push_to(&mut self, number: usize, packet: Lent<'_>) -> bool {
        let time_ns = packet.time_ns.max(self.now);
        let Some(port) = self.ports.get_mut(number) else { return false };
        let packet = Lent { time_ns, ..packet };
        if self.waits || !self.graph.bring(number, &packet) {
            let has_room = port.coming.len() + port.port.waiting()[0] + self.graph.brought(number) < MOST;
            if !has_room || !port.coming.push(packet) {
                return false;
            }
            self.waits = true;
        }
        self.now = time_ns;
        if !self.begun {
            self.begun = true;
            self.graph.begin_at(time_ns);
        }
        true
    }

    /// Runs all that has come, and timers that are due by then.
    #[inline]
    pub fn run(&mut self) {
        if !self.waits && self.graph.run_brought(self.now) {
            return;
        }
        self.give();
        self.graph.run_up_to(self.now);
    }

    /// Runs all that has come; then time passes until that moment, and timers are due.
    pub fn run_until(&mut self, time_ns: u64) {
        self.now = self.now.max(time_ns);
        self.run();
    }

    /// Takes packets that were sent by a device, in order, as long as the caller wants more; how
    /// many.
    ///
    /// # Errors
    /// There is no such device.
    pub fn take(&mut self, device: &str, wants: impl FnMut(Lent<'_>) -> bool) -> Result<usize, NoDevice> {
        Ok(self.take_from(self.port(device)?, wants))
    }

    /// As [`Self::take`], by the device's [number](Self::port); none if there is none of that
    /// number.
    #[inline]
    pub fn take_from(&mut self, port: usize, wants: impl FnMut(Lent<'_>) -> bool) -> usize {
        let mut wants = wants;
        let (taken, all) = self.graph.take_sent(port, &mut wants);
        if !all {
            return taken;
        }
        taken + self.ports.get(port).map_or(0, |port| port.port.take(wants))
    }

    /// Whether an element has ended the run.
    pub fn has_ended(&self) -> bool {
        self.graph.has_ended()
    }

    /// The graph: handlers, statistics.
    pub fn graph(&mut self) -> &mut Graph {
        self.give();
        &mut self.graph
    }

    /// Puts all packets where elements find them.
    fn give(&mut self) {
        self.graph.leave_straight();
        self.ports.iter_mut().for_each(Port::give);
        self.waits = self.ports.iter().any(|port| !port.coming.is_empty());
    }
}
