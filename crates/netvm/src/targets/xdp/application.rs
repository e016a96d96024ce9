//! Configurations of elements as one program for XDP, and what it did, as statistics of a run.
//!
//! Packets come in by FromDevice and leave by ToDevice (`redirect`), ToHost (`pass`) or Discard
//! (`drop`). Elements in C are functions of the program; `targets::walk` follows the wires and says
//! what is refused.

use crate::Error;
use crate::targets::File;
use crate::targets::walk::{Rules, Walked, fault, is_plain, walk};
use compiler::backends::ebpf::{self, Action, Counted, Linked, World};
use netil::app::{Application, port_number};
use netil::exec::DropReason;
use runtime::graph::{Fault, NodeStats, Stats};
use runtime::io::bpf;
use std::collections::BTreeMap;
use std::io;

/// A configuration as one program.
#[derive(Debug)]
pub struct XdpApplication {
    linked: Linked,
    /// By element of the program its instance.
    instances: Vec<usize>,
    /// By end of the program the instances that packets pass there.
    ends: Vec<Vec<usize>>,
    /// By device that packets come in by its instances.
    readers: Vec<(String, Vec<usize>)>,
    application: Application,
}

/// Makes the program. `interfaces` are the indices of the devices' interfaces.
pub(crate) fn make(application: &Application, interfaces: &BTreeMap<String, u32>, world: World) -> Result<XdpApplication, Vec<Fault>> {
    let interface = |device: &str| {
        let known = interfaces.get(device).copied();
        known.ok_or_else(|| format!("device {device} has no interface; --map {device}=dev:IF says which"))
    };
    let end = |class: &str, device: &str| {
        Ok(match class {
            "Discard" | "Idle" => Some(Action::Drop),
            "ToHost" => Some(Action::Pass),
            "ToDevice" => Some(Action::Redirect(interface(device)?)),
            _ => None,
        })
    };
    let rules = Rules { target: "xdp", called: "XDP", entry: &interface, end: &end, drop: Action::Drop, copies: false };
    let Walked { instances, elements, ends, entries, readers } = walk(application, &rules).map_err(|fault| vec![fault])?;
    let actions = ends.iter().map(|(_, action)| ebpf::End { names: Vec::new(), action: *action }).collect();
    let linked = ebpf::link(&ebpf::Application { elements, ends: actions, entries, world }).map_err(|wrong| {
        let element = wrong.element.map(|n| instances[n]);
        let program = element.and_then(|n| application.instances[n].program());
        let place = program.zip(wrong.refused.site).map(|(p, site)| p.place(netil::module::HandlerKind::Push, site) + ": ");
        vec![fault("xdp", element.unwrap_or(usize::MAX), place.unwrap_or_default() + &wrong.refused.reason)]
    })?;
    let ends = ends.into_iter().map(|(passed, _)| passed).collect();
    Ok(XdpApplication { linked, instances, ends, readers, application: application.clone() })
}

/// A configuration in the kernel.
#[derive(Debug)]
pub struct XdpLoaded {
    /// The program.
    pub program: bpf::Program,
    made: XdpApplication,
}

impl XdpApplication {
    /// The program and its maps.
    pub fn program(&self) -> &ebpf::Program {
        &self.linked.program
    }

    /// The files of the program: an object, and commands that enter what tables have from the
    /// start, if they have something.
    ///
    /// # Errors
    /// It is too large for its format.
    pub fn files(&self, name: &str) -> Result<Vec<File>, Error> {
        super::files(&self.linked.program, name, &|refused| super::refused(refused.reason.clone()))
    }

    /// The devices that packets come in by.
    pub fn devices(&self) -> Vec<String> {
        self.readers.iter().map(|(device, _)| device.clone()).collect()
    }

    /// Loads it into the kernel.
    ///
    /// # Errors
    /// The process may not, or the kernel refuses it.
    pub fn load(self) -> io::Result<XdpLoaded> {
        Ok(XdpLoaded { program: super::load(&self.linked.program)?, made: self })
    }
}

impl XdpLoaded {
    /// What is added to the kernel's clock; of a program that is tried the time, and the interface
    /// that packets come in by.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set_world(&self, time_ns: u64, interface: u32) -> io::Result<()> {
        let Some((at, mut state)) = self.state()? else { return Ok(()) };
        state[ebpf::CLOCK_AT as usize..][..8].copy_from_slice(&time_ns.to_le_bytes());
        state[ebpf::INTERFACE_AT as usize..][..4].copy_from_slice(&interface.to_le_bytes());
        self.program.update(at, &[0; 4], &state)
    }

    /// The state map's number and bytes.
    fn state(&self) -> io::Result<Option<(usize, Vec<u8>)>> {
        let maps = &self.made.linked.program.maps;
        let Some(at) = maps.iter().position(|map| map.name == ebpf::STATE) else { return Ok(None) };
        Ok(Some((at, self.program.map(at, maps[at].data.len())?)))
    }

    /// Data memory by instance.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn memories(&self) -> io::Result<Vec<(usize, Vec<u8>)>> {
        let Some((_, state)) = self.state()? else { return Ok(Vec::new()) };
        let places = self.made.instances.iter().zip(&self.made.linked.data);
        Ok(places.map(|(n, (start, len))| (*n, state[*start as usize..][..*len as usize].to_vec())).collect())
    }

    /// What became of the packets so far.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn stats(&self) -> io::Result<Stats> {
        let (map, counted) = &self.made.linked.counts;
        let number = |bytes: &Vec<u8>| bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let counts: Vec<u64> = self.program.entries(*map)?.iter().map(|(_, value)| number(value)).collect();
        let mut nodes: Vec<NodeStats> = self.made.application.instances.iter().map(|_| NodeStats::default()).collect();
        for (what, count) in counted.iter().zip(counts) {
            self.made.add(&mut nodes, *what, count);
        }
        self.made.only_outputs(&mut nodes);
        let instances = self.made.application.instances.iter();
        let named = instances.zip(nodes).map(|(i, node)| (i.name.clone(), i.class.clone(), node)).collect();
        Ok(Stats { nodes: named, ..Stats::default() })
    }
}

impl XdpApplication {
    fn add(&self, nodes: &mut [NodeStats], what: Counted, count: u64) {
        match what {
            Counted::Into(n) => nodes[self.instances[n]].packets += count,
            Counted::Dropped(n, None) if count > 0 => {
                nodes[self.instances[n]].traps += count;
                *nodes[self.instances[n]].drops.entry("trap".to_owned()).or_default() += count;
            }
            Counted::Dropped(n, Some(reason)) if count > 0 => {
                let reason = self.reason(self.instances[n], reason);
                *nodes[self.instances[n]].drops.entry(reason).or_default() += count;
            }
            Counted::Out(n, link) => {
                let instance = &self.application.instances[self.instances[n]];
                let port = instance.program().and_then(|program| port_number(program, link)).unwrap_or(0) as usize;
                let out = &mut nodes[self.instances[n]].out;
                out.resize(out.len().max(port + 1), 0);
                out[port] += count;
            }
            Counted::At(end) => {
                for n in &self.ends[end] {
                    nodes[*n].packets += count;
                    if is_plain(&self.application.instances[*n].class) {
                        nodes[*n].out = vec![nodes[*n].packets];
                    }
                }
            }
            Counted::Entered(entry) => {
                for n in &self.readers[entry].1 {
                    nodes[*n].out = vec![nodes[*n].out.first().copied().unwrap_or(0) + count];
                }
            }
            _ => {}
        }
    }

    /// What an element with one output has not dropped has left by it.
    fn only_outputs(&self, nodes: &mut [NodeStats]) {
        for n in &self.instances {
            let outputs = self.application.wires.iter().filter(|w| w.from.instance as usize == *n).count();
            let node = &mut nodes[*n];
            if outputs == 1 {
                let lost = node.drops.values().sum::<u64>();
                node.out = vec![node.packets.saturating_sub(lost)];
            }
        }
    }

    fn reason(&self, instance: usize, reason: DropReason) -> String {
        let code = match reason {
            DropReason::Program(code) => code,
            _ => return "dropped".to_owned(),
        };
        let program = self.application.instances[instance].program();
        let named = program.and_then(|p| p.module().reasons.iter().find(|reason| reason.at == code));
        named.map_or_else(|| format!("code {code}"), |reason| reason.name.clone())
    }
}
