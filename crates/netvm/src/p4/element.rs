//! A P4 program as an element of a Click graph:
//! `P4(FILE [, ENTRIES FILE] [, INCLUDE FOLDER] [, DEFINE NAME=VALUE] [, WITHOUT OPTIMISATION])`.
//!
//! What the control plane enters is in the module from the start: tables have it as their entries,
//! and data memory as the init handler leaves it. It is what a [`Switch`] has that ran the same
//! commands.

use super::SwitchError;
use super::{Filling, Pipeline, Reading, Switch, batch, dump, is_protobuf};
use crate::application::Made;
use crate::frontends::click::config::unquote;
use crate::{Settings, engines, load};
use netil::Module;
use netil::exec::State;
use netil::module::{Entry, Handler, Inst};
use netil::table::Op;
use p4::{Optimisation, optimisation};
use runtime::graph::builtin::{ElementHandler, element_handlers};
use runtime::graph::{ControlPlane, HandlerError};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most words of data memory that the control plane may leave other than 0.
const MAX_WORDS: usize = 1 << 16;

/// A program between devices that are named by the numbers of its ports.
#[derive(Clone, Copy, Debug)]
pub struct Devices<'a> {
    /// The program.
    pub program: &'a Path,
    /// Commands that fill its tables.
    pub entries: Option<&'a Path>,
    /// Folders for included files.
    pub folders: &'a [PathBuf],
    /// Macros.
    pub defines: &'a [(String, String)],
    /// What is not done to make it fast, by name.
    pub without: &'a [&'static str],
    /// Its ports; those that are live have a queue before them.
    pub ports: &'a BTreeMap<u16, Port>,
}

/// A port of a program between devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Packets come in.
    pub reads: bool,
    /// Packets leave.
    pub writes: bool,
    /// It is an interface.
    pub is_live: bool,
}

impl Devices<'_> {
    /// The Click configuration that does it.
    #[must_use]
    pub fn configuration(&self) -> String {
        let mut arguments = vec![quoted(self.program)];
        arguments.extend(self.entries.map(|path| format!("ENTRIES {}", quoted(path))));
        arguments.extend(self.folders.iter().map(|path| format!("INCLUDE {}", quoted(path))));
        arguments.extend(self.defines.iter().map(|(name, value)| format!("DEFINE {}", quoted(Path::new(&format!("{name}={value}"))))));
        arguments.extend(self.without.iter().map(|name| format!("WITHOUT {name}")));
        let mut text = format!("p4 :: P4({});\n", arguments.join(", "));
        let last = |is: &dyn Fn(&Port) -> bool| self.ports.iter().filter(|(_, port)| is(port)).map(|(n, _)| *n).max().unwrap_or(0);
        for n in 0..=last(&|port| port.reads) {
            let source = if self.ports.get(&n).is_some_and(|port| port.reads) { format!("FromDevice({n})") } else { "Idle".to_owned() };
            let _ = writeln!(text, "{source} -> [{n}] p4;");
        }
        for n in 0..=last(&|port| port.writes) {
            let port = self.ports.get(&n).copied().unwrap_or_default();
            let sink = match (port.writes, port.is_live) {
                (false, _) => "Discard".to_owned(),
                (true, false) => format!("ToDevice({n})"),
                (true, true) => format!("Queue -> ToDevice({n})"),
            };
            let _ = writeln!(text, "p4 [{n}] -> {sink};");
        }
        text
    }
}

/// A text in double quotes.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
    format!("\"{text}\"")
}

/// What a text means that may be in quotes.
fn unquoted(text: &str) -> String {
    String::from_utf8_lossy(&unquote(text.trim())).into_owned()
}

/// What a configuration says of the element.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    program: PathBuf,
    entries: Option<PathBuf>,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    without: Vec<Optimisation>,
}

/// The program of an element with those arguments, inputs and outputs.
///
/// # Errors
/// What is wrong with the arguments, the program or its entries.
pub(crate) fn make(arguments: &[String], inputs: u32, outputs: u32) -> Result<Made, Vec<String>> {
    let arguments = parse(arguments)?;
    let one = |why: String| vec![why];
    let text = |path: &Path| load::text(path).map_err(|error| one(format!("{}: {error}", path.display())));
    let program = text(&arguments.program)?;
    let included = |path: &Path| load::text(path).ok();
    let reading =
        Reading { folders: &arguments.folders, defines: &arguments.defines, load: &included, marks: false, without: &arguments.without };
    let refused = |refused: super::Refused| one(format!("{}: {}", arguments.program.display(), refused.render(false).trim_end()));
    let pipeline = p4::compile_element(&arguments.program, &program, reading, inputs, outputs).map_err(refused)?;
    let place = arguments.entries.clone().unwrap_or_default();
    let entries = arguments.entries.as_deref().map(&text).transpose()?.unwrap_or_default();
    let filling = if is_protobuf(&place) {
        Filling::Protobuf(entries, Box::new(p4::p4info(&arguments.program, &program, reading).map_err(refused)?))
    } else {
        Filling::Commands(entries)
    };
    let plane = Plane::new(pipeline, &filling).map_err(|why| one(format!("{}: {why}", place.display())))?;
    let module = plane.filled().map_err(|why| one(format!("{}: {why}", place.display())))?;
    let pipeline = plane.switch.pipeline;
    let (notes, kept) = (pipeline.optimised.clone(), pipeline.kept.clone());
    let plane = move || Plane::new(pipeline.clone(), &filling).ok().map(|plane| Box::new(plane) as Box<dyn ControlPlane>);
    Ok(Made { module, plane: Some(Arc::new(plane)), notes, kept })
}

/// The control plane of an element: a switch that has the element's state whenever it is asked
/// something.
struct Plane {
    switch: Switch,
    /// The members of multicast groups, as they are in the module's table.
    members: Vec<Entry>,
}

impl Plane {
    /// With what a file enters.
    fn new(pipeline: Pipeline, filling: &Filling) -> Result<Self, SwitchError> {
        let switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).map_err(|error| error.to_string())?;
        let mut plane = Self { switch, members: Vec::new() };
        plane.run(|switch| filling.enter(switch).and_then(|told| suits(switch).map(|()| told)))?;
        Ok(plane)
    }

    /// Lets the control plane do something; what it tells.
    fn run(&mut self, change: impl FnOnce(&mut Switch) -> Result<Vec<String>, SwitchError>) -> Result<Vec<String>, SwitchError> {
        let told = change(&mut self.switch);
        let Some(groups) = self.switch.pipeline.groups else { return told };
        let wanted = members(&self.switch);
        if let Some(table) = self.switch.state.tables.get_mut(groups as usize).filter(|_| wanted != self.members) {
            for entry in &self.members {
                table.remove(&entry.key, &entry.mask, entry.priority, 0);
            }
            // Those that do not fit any more are taken out again by the next change.
            self.members = wanted;
            self.members
                .iter()
                .try_for_each(|entry| table.add(entry, 0))
                .map_err(|why| SwitchError::Full(format!("multicast groups: {why}")))?;
        }
        told
    }

    /// The module with what the switch's state has.
    fn filled(&self) -> Result<Module, SwitchError> {
        let mut module = self.switch.pipeline.module.clone();
        for (own, table) in module.tables.iter_mut().zip(&self.switch.state.tables) {
            own.entries = table.entries(0);
        }
        module.init = Some(image(&self.switch.state.data)?);
        Ok(module)
    }

    /// Runs commands on a state.
    fn with(&mut self, state: &mut State, commands: &str) -> Result<Vec<String>, SwitchError> {
        std::mem::swap(&mut self.switch.state, state);
        let told = self.run(|switch| batch::run(switch, commands, suits));
        std::mem::swap(&mut self.switch.state, state);
        told
    }
}

impl ControlPlane for Plane {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["tables"], &[], &["command"])
    }

    fn read(&mut self, handler: &str, text: &str, state: &mut State) -> Result<String, HandlerError> {
        match handler {
            "tables" => Ok(dump::tables(&self.switch.pipeline, state)),
            _ => Ok(self.with(state, text)?.into_iter().map(|line| line + "\n").collect()),
        }
    }

    fn write(&mut self, _: &str, text: &str, state: &mut State) -> Result<(), HandlerError> {
        Ok(self.with(state, text).map(drop)?)
    }
}

/// Refuses groups and sessions that an element has no use for; they are forgotten.
fn suits(switch: &mut Switch) -> Result<(), SwitchError> {
    if switch.replication.has_sessions() {
        switch.replication.forget_sessions();
        return Err("mirroring sessions need the switch around a program, and this one is an element of a graph".into());
    }
    if switch.pipeline.groups.is_none() && switch.replication.has_groups() {
        switch.replication.forget_groups();
        return Err("this program has no use for multicast groups".into());
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Arguments, Vec<String>> {
    let (mut read, mut faults) = (Arguments::default(), Vec::new());
    for (n, argument) in arguments.iter().enumerate() {
        let (word, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let value = unquoted(rest);
        match word {
            _ if n == 0 => read.program = PathBuf::from(unquoted(argument)),
            "ENTRIES" => read.entries = Some(PathBuf::from(value)),
            "INCLUDE" => read.folders.push(PathBuf::from(value)),
            "WITHOUT" => match optimisation::find(&value) {
                Some(one) => read.without.push(one),
                None => faults
                    .push(format!("`{value}` is no optimisation; there are {}", optimisation::ALL.map(|(_, name, _)| name).join(", "))),
            },
            "DEFINE" => {
                let (name, value) = value.split_once('=').unwrap_or((&value, "1"));
                read.defines.push((name.to_owned(), value.to_owned()));
            }
            other => {
                faults.push(format!("`{other}` is no argument of P4; there are ENTRIES, INCLUDE, DEFINE and WITHOUT behind the program"))
            }
        }
    }
    if read.program.as_os_str().is_empty() {
        faults.push("the file with the program is missing".to_owned());
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

/// The members of all groups as entries; the table has room for fewer than a group has positions.
fn members(switch: &Switch) -> Vec<Entry> {
    let mut entries = Vec::new();
    // A program names groups by 16 bits, and ports by 9, as on the switch.
    for group in switch.replication.all_groups().into_iter().filter(|group| *group <= u32::from(u16::MAX)) {
        for ((rid, port), position) in switch.replication.copies(group).into_iter().zip(0..1_u64 << 16) {
            let port = (port & 0x1ff) as u16;
            let value = [port.to_le_bytes(), rid.to_le_bytes()].concat();
            let key = u64::from(group) << 16 | position;
            entries.push(Entry { key: [key].into(), mask: [].into(), priority: 0, value: value.into() });
        }
    }
    entries
}

/// The init handler that leaves data memory so.
fn image(data: &[u8]) -> Result<Handler, SwitchError> {
    let words = data.chunks(4).enumerate().map(|(n, bytes)| {
        let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        (4 * n as u32, word)
    });
    let words: Vec<(u32, u32)> = words.filter(|(_, word)| *word != 0).collect();
    if words.len() > MAX_WORDS {
        return Err(format!("registers and meters with more than {MAX_WORDS} words other than 0 are not supported in a graph").into());
    }
    let store = |(at, word): &(u32, u32)| [Inst::with(Op::Push, *word), Inst::with(Op::Push, *at), Inst::new(Op::MStore32)];
    let code: Vec<Inst> = words.iter().flat_map(store).chain([Inst::new(Op::Ret)]).collect();
    let lines = vec![0; code.len()];
    Ok(Handler { code, locals: Vec::new(), max_stack: 3, lines, labels: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let read = |all: &[&str]| parse(&all.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
        let all = read(&["\"a b.p4\"", "ENTRIES e.txt", "INCLUDE d", "DEFINE N=3", "DEFINE X"]).unwrap();
        assert_eq!((all.program.to_str(), all.entries.as_deref()), (Some("a b.p4"), Some(Path::new("e.txt"))));
        assert_eq!(all.defines, [("N".to_owned(), "3".to_owned()), ("X".to_owned(), "1".to_owned())]);
        assert_eq!(read(&["a.p4", "WITHOUT metadata"]).unwrap().without, [Optimisation::Metadata]);
        assert!(read(&["a.p4", "WITHOUT speed"]).unwrap_err()[0].contains("tables, metadata, actions"));
        assert_eq!(read(&["a.p4", "PORTS 4"]).unwrap_err().len(), 1);
        assert!(read(&[]).unwrap_err()[0].contains("missing"));
    }

    #[test]
    fn ports_between_the_mapped_ones_are_idle() {
        let port = |reads, writes, is_live| Port { reads, writes, is_live };
        let ports = BTreeMap::from([(1, port(true, true, true)), (3, port(false, true, false))]);
        let devices =
            Devices { program: Path::new("a\"$b.p4"), entries: None, folders: &[], defines: &[], without: &["tables"], ports: &ports };
        let text = "p4 :: P4(\"a\\\"\\$b.p4\", WITHOUT tables);\nIdle -> [0] p4;\nFromDevice(1) -> [1] p4;\np4 [0] -> Discard;\n\
                    p4 [1] -> Queue -> ToDevice(1);\np4 [2] -> Discard;\np4 [3] -> ToDevice(3);\n";
        assert_eq!(devices.configuration(), text);
        assert_eq!(unquoted("\"a\\\"\\$b.p4\""), "a\"$b.p4");
    }
}
