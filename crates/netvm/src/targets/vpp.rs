//! VPP: a plugin whose nodes run a program on vectors of packets, with what tries it without VPP.
//!
//! The plugin takes packets from interfaces before VPP looks at them (feature arc `device-input`).
//! Outputs are mapped to interfaces, nodes or the rest of that arc by commands. What is dropped
//! goes to `error-drop`, with a counter for each element and reason. What a program keeps is one
//! for all workers, of which one runs it at a time.
//!
//! Source: the PVPP paper, section 3; FD.io's documentation of vlib, vnet and plugins. Leaves out
//! VPP's binary interface: what is mapped is said by commands.

use super::freestanding::{input, of_configuration, of_program};
use super::{Drawn, File, Options, Target};
use crate::Error;
use compiler::backends::c::freestanding::{HEADER, IMAGE, Language, Node, Text, counters};
use compiler::passes;
use netil::Verified;
use netil::app::Application;
use netil::module::{Entry, Table, TableKind};
use std::fmt::Write as _;

const NAME: &str = "vpp";
/// Which elements are in which node.
const NODES: &str = "nodes.txt";
/// The most outputs: a table has a place for each.
const MOST_OUTPUTS: u32 = 4096;

pub(super) const TARGET: Target = Target {
    name: NAME,
    about: "VPP (FD.io): a plugin with a graph node that runs the program on vectors of packets",
    files: "node.c, map.c, entries.c, setup.c, program.c with their headers and CMakeLists.txt (the plugin), README.md, Makefile with try/ (runs the nodes without VPP)",
    admits: &[
        "filters, NetIL modules that push packets on, and Click configurations between devices, as for processors without an operating system",
        "outputs that lead to interfaces, to nodes of VPP's, or on along the feature arc device-input",
        "entries of tables that come and go by commands of VPP's",
        "several workers: what a program keeps is one for all, and where it keeps something one vector runs at a time",
    ],
    refuses: &[
        "timers; coprocessors other than stringmatching and regexp; strings and expressions whose automata have more than 131,072 nodes; more than 1 GiB of tables in one program",
        "packets made, given up or held; pull handlers; copies that wait in a queue for anything but a device",
        "more than 16,384 operations and branches in one program; output ports with numbers over 4,095",
        "of configurations: sources other than devices, Script, shaping, elements on the pulled side, elements that share tables or memory",
    ],
    divides: Some(NODES),
    build,
    configuration,
};

fn build(program: &Verified, options: &Options) -> Result<Vec<File>, Error> {
    let text = of_program(NAME, program, options, Language::Nodes, passes::Target::HERE)?;
    let outputs = program.module().all_ports().iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| id + 1).max();
    let outputs = outputs.unwrap_or(0).max(text.needs.ports);
    if outputs > MOST_OUTPUTS {
        return Err(Error::Target {
            target: NAME,
            reason: format!("an output port with the number {}; {} is the most", outputs - 1, MOST_OUTPUTS - 1),
        });
    }
    let ports = Ports::Numbers { input: input(program), outputs };
    let commands = entries(&named(&options.name), &[(name_of(program), program)]);
    Ok(Plugin { name: named(&options.name), text, ports, elements: Vec::new(), commands }.files())
}

fn configuration(app: &Application, options: &Options, drawn: Drawn<'_>) -> Result<Vec<File>, Error> {
    let made = of_configuration(NAME, app, options, (Language::Nodes, passes::Target::HERE), drawn)?;
    let ports = Ports::Names { inputs: made.inputs, outputs: made.outputs };
    let programs: Vec<_> = made.names.iter().map(String::as_str).zip(made.programs.iter().copied()).collect();
    let commands = entries(&named(&options.name), &programs);
    Ok(Plugin { name: named(&options.name), text: made.text, ports, elements: made.names, commands }.files())
}

/// A name that C, CMake and VPP's commands take.
fn named(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).take(40).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("program_{plain}") }
}

/// How packets come and go.
enum Ports {
    /// Of a program alone: by the input port with that number, and by output ports with numbers
    /// below that.
    Numbers { input: u32, outputs: u32 },
    /// Of a configuration: by devices with these names.
    Names { inputs: Vec<String>, outputs: Vec<String> },
}

struct Plugin {
    name: String,
    text: Text,
    ports: Ports,
    /// The elements' names.
    elements: Vec<String>,
    /// Commands that fill tables with the entries that they have.
    commands: String,
}

/// What the element of a program alone is called.
fn name_of(program: &Verified) -> &str {
    if program.module().name.is_empty() { "program" } else { &program.module().name }
}

/// Commands that take out what tables hold and enter the entries of the build.
fn entries(plugin: &str, programs: &[(&str, &Verified)]) -> String {
    let mut text = format!("netvm {plugin} clear\n");
    for (element, program) in programs {
        for table in &program.module().tables {
            for entry in &table.entries {
                let _ = writeln!(text, "netvm {plugin} add {element} {} {}", table.name, words(table, entry));
            }
        }
    }
    text
}

/// The words for an entry's key, value and priority.
fn words(table: &Table, entry: &Entry) -> String {
    let digits = usize::from(table.key_bits) / 4;
    let hex = |limbs: &[u64]| {
        let number = limbs.iter().take(2).rev().fold(0, |number, limb| number << 64 | u128::from(*limb));
        format!("{number:0digits$x}")
    };
    let (key, value) = (hex(&entry.key), entry.value.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    match table.kind {
        TableKind::Exact => format!("{key} {value}"),
        TableKind::Prefix => format!("{key}/{} {value}", hex(&entry.mask)),
        TableKind::Range => format!("{key}-{} {value} {}", hex(&entry.mask), entry.priority),
        TableKind::Ternary => format!("{key}/{} {value} {}", hex(&entry.mask), entry.priority),
    }
}

impl Plugin {
    fn files(&self) -> Vec<File> {
        let file =
            |name: &str, text: String, about: &str| File { name: name.to_owned(), bytes: text.into_bytes(), about: about.to_owned() };
        let mut all = vec![
            file("node.c", include_str!("vpp/node.c").to_owned(), &self.about()),
            file("program.c", self.text.program.clone() + &self.text.names, "the program, which node.c includes"),
            file("counters.c", counters(&self.text.nodes), "what counters count"),
            file("config.h", self.config(), "what differs from plugin to plugin"),
            file(NODES, self.told(), "which elements are in which node, and why"),
            file("entries.cli", self.commands.clone(), "commands that fill tables with the entries of the build"),
            file("README.md", self.readme(), "how to build, load, connect and try it"),
            file("CMakeLists.txt", self.cmake(), "builds the plugin, within VPP's sources or outside"),
        ];
        if !self.text.image.is_empty() {
            all.push(File { name: "dfa.bin".to_owned(), bytes: self.text.image.clone(), about: "the image of its automata".to_owned() });
            all.push(file("dfa.c", IMAGE.to_owned(), "has dfa.bin in static memory"));
        }
        for (name, text, about) in OTHERS {
            all.push(file(name, (*text).to_owned(), about));
        }
        all.push(file("netvm.h", HEADER.to_owned(), "what program.c is for its callers"));
        all
    }

    fn about(&self) -> String {
        let counters: usize = self.text.nodes.iter().map(|node| node.counters.len()).sum();
        let nodes = self.text.nodes.len();
        format!("{nodes} node{}, {counters} counters", if nodes == 1 { "" } else { "s" })
    }

    fn replaced(&self, text: &str) -> String {
        text.replace("NAME", &self.name)
    }

    fn cmake(&self) -> String {
        let (more, flags) = match self.text.image.is_empty() {
            true => ("", ""),
            false => ("  dfa.c\n", "set_source_files_properties(dfa.c PROPERTIES COMPILE_OPTIONS \"-Wa,-I${CMAKE_CURRENT_SOURCE_DIR}\")\n"),
        };
        self.replaced(include_str!("vpp/CMakeLists.txt")).replace("SEARCHES", more) + flags
    }

    /// The names of nodes, all different.
    fn nodes(&self) -> Vec<String> {
        let first = format!("netvm-{}", self.name);
        let named = |(n, node): (usize, &Node)| match n {
            0 => first.clone(),
            _ => {
                let plain: String =
                    node.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
                format!("{first}-{n}-{plain}")
            }
        };
        self.text.nodes.iter().enumerate().map(named).collect()
    }

    /// What differs from plugin to plugin, as macros.
    fn config(&self) -> String {
        let mut text = String::from("/* What differs from plugin to plugin. Made by netvm. */\n");
        let all = self.named_macros().into_iter().chain(self.port_macros()).chain(self.need_macros());
        all.for_each(|(name, value)| _ = writeln!(text, "#define {name} {value}"));
        text
    }

    fn named_macros(&self) -> [(&'static str, String); 6] {
        let nodes = self.nodes();
        let quoted = |name: &str| format!("\"{name}\"");
        let next: Vec<String> =
            ["error-drop", "interface-output"].into_iter().chain(nodes.iter().map(String::as_str)).map(quoted).collect();
        let others = nodes.iter().enumerate().skip(1).map(|(n, name)| format!(" X ({n}, {})", quoted(name))).collect();
        [
            ("NETVM_PLUGIN", quoted(&self.name)),
            ("NETVM_NODE", quoted(&nodes[0])),
            ("NETVM_VERSION", quoted(env!("CARGO_PKG_VERSION"))),
            ("NETVM_NODES", nodes.len().to_string()),
            ("NETVM_NEXT_NAMES", next.join(", ")),
            ("NETVM_OTHER_NODES(X)", others),
        ]
    }

    /// Inputs are 0 where all packets come by one port. Outputs that lead on along the feature arc
    /// until they are mapped: of a program all.
    fn port_macros(&self) -> [(&'static str, String); 4] {
        let (inputs, input, outputs, passes) = match &self.ports {
            Ports::Numbers { input, outputs } => (0, *input, *outputs as usize, "1".to_owned()),
            Ports::Names { inputs, outputs } => {
                let host = outputs.iter().position(|name| name == "host");
                (inputs.len(), 0, outputs.len(), host.map_or_else(|| "0".to_owned(), |at| format!("((n) == {at})")))
            }
        };
        [
            ("NETVM_INPUTS", inputs.to_string()),
            ("NETVM_INPUT", format!("{input}u")),
            ("NETVM_OUTPUTS", format!("{outputs}u")),
            ("NETVM_PASSES(n)", passes),
        ]
    }

    fn need_macros(&self) -> [(&'static str, String); 8] {
        let needs = self.text.needs;
        let flag = |is: bool| u32::from(is).to_string();
        [
            ("NETVM_INFO", needs.info.to_string()),
            ("NETVM_KEPT", needs.kept.to_string()),
            // The copies that wait are the program's, whoever runs it.
            ("NETVM_STATE", flag(needs.state || needs.copies)),
            ("NETVM_COPIED", flag(needs.copies)),
            ("NETVM_TIME", flag(needs.time)),
            ("NETVM_TAILS", flag(needs.tails || needs.copies)),
            ("NETVM_MOVES", flag(needs.moves)),
            ("NETVM_ROUNDS_COUNTED", flag(needs.rounds)),
        ]
    }

    fn readme(&self) -> String {
        let nodes = self.nodes();
        let nodes =
            if nodes.len() == 1 { format!("It has one node, `{}`.", nodes[0]) } else { format!("Its nodes are `{}`.", nodes.join("`, `")) };
        let workers = match self.text.needs.state || self.text.needs.copies {
            true => "What the program keeps from packet to packet is one for all workers. A lock lets one vector run at a time.",
            false => "The program keeps nothing from packet to packet: any number of workers run it at once.",
        };
        self.replaced(include_str!("vpp/README.md"))
            .replace("NODES", &nodes)
            .replace("WORKERS", workers)
            .replace("CONNECT", self.commands().trim_end())
    }

    /// Which elements are in which node, and why.
    fn told(&self) -> String {
        let mut text = String::new();
        for (n, (name, node)) in self.nodes().iter().zip(&self.text.nodes).enumerate() {
            let elements: Vec<String> = node.units.iter().map(|(element, piece, _)| self.unit(*element, *piece)).collect();
            let what = if elements.is_empty() { "where packets come in".to_owned() } else { elements.join(", ") };
            let _ = writeln!(text, "node {n} {name}: {} operations: {what}", node.operations);
        }
        let needs = self.text.needs;
        if self.text.nodes.len() > 1 {
            let _ = writeln!(text, "packets take {} bytes of info memory and up to {} of values along", needs.info, needs.kept);
        }
        self.text.notes.iter().for_each(|note| _ = writeln!(text, "{note}"));
        text
    }

    fn unit(&self, element: usize, piece: usize) -> String {
        let name = self.elements.get(element).map_or("program", String::as_str);
        if piece == 0 { name.to_owned() } else { format!("{name} from lookup {piece} on") }
    }

    /// Commands that connect it.
    fn commands(&self) -> String {
        let mut text = String::new();
        match &self.ports {
            Ports::Numbers { outputs, .. } => {
                let _ = writeln!(text, "netvm {} map input INTERFACE       takes an interface's packets", self.name);
                for n in 0..(*outputs).min(4) {
                    let _ = writeln!(text, "netvm {} output {n} next|drop|node NODE, or netvm {0} map {n} INTERFACE", self.name);
                }
            }
            Ports::Names { inputs, outputs } => {
                let devices = inputs.iter().chain(outputs.iter().filter(|name| !inputs.contains(name)));
                for name in devices {
                    let command = if name == "host" { "output host next".to_owned() } else { format!("map {name} INTERFACE") };
                    let _ = writeln!(text, "netvm {} {command}", self.name);
                }
            }
        }
        text + &format!("netvm {} unmap INTERFACE           takes them no more\n", self.name)
    }
}

/// Files that are the same in every plugin.
const OTHERS: &[(&str, &str, &str)] = &[
    ("plugin.h", include_str!("vpp/plugin.h"), "what the plugin's files have in common"),
    ("map.c", include_str!("vpp/map.c"), "which interfaces and nodes inputs and outputs are"),
    ("entries.c", include_str!("vpp/entries.c"), "commands that fill tables"),
    ("setup.c", include_str!("vpp/setup.c"), "the plugin's registration and commands"),
    ("Makefile", include_str!("vpp/Makefile"), "make run PCAP=FILE, without VPP"),
    ("try/main.c", include_str!("vpp/try/main.c"), "runs the nodes without VPP"),
    ("try/vlib/vlib.h", include_str!("vpp/try/vlib/vlib.h"), "the part of VPP's interface that they use"),
    ("try/vnet/vnet.h", include_str!("vpp/try/vnet/vnet.h"), "the same"),
    ("try/vnet/feature/feature.h", include_str!("vpp/try/vnet/feature/feature.h"), "the same"),
];
