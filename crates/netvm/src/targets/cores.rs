//! Processors without an operating system: C that needs no library, with a Makefile for the cross
//! compiler and a program that tries it on pcap files, under QEMU's user emulation. Configurations
//! are one program; devices are its inputs and outputs. A new processor is a line in [`CORES`] and
//! one in [`super::ALL`].

use super::freestanding::{input, of_configuration, of_program};
use super::{Drawn, File, Options, Target};
use crate::Error;
use compiler::backends::c::freestanding::{Division, HEADER, IMAGE, Language, Text, listing};
use compiler::mir::Order;
use compiler::passes;
use netil::Verified;
use netil::app::Application;
use std::fmt::Write as _;

/// A processor, and what makes code for it.
struct Core {
    name: &'static str,
    compiler: &'static str,
    flags: &'static str,
    /// What compiled code may call; MIPS has position-independent functions there, which other code
    /// cannot.
    library: &'static str,
    emulator: &'static str,
    /// What passes make code for.
    on: passes::Target,
    /// See [`Target::divides`].
    divides: Option<&'static str>,
}

const LITTLE: passes::Target = passes::Target::HERE.in_order(Order::Little);

const CORES: [Core; 4] = [
    Core {
        name: "aarch64",
        compiler: "aarch64-linux-gnu-gcc",
        flags: "",
        library: "-lgcc",
        emulator: "qemu-aarch64",
        on: LITTLE,
        divides: None,
    },
    Core {
        name: "riscv64",
        compiler: "riscv64-linux-gnu-gcc",
        flags: "-march=rv64gc -mabi=lp64d -mno-relax",
        library: "-lgcc",
        emulator: "qemu-riscv64",
        on: LITTLE,
        divides: None,
    },
    Core {
        name: "x86_64",
        compiler: "cc",
        flags: "-m64 -mno-red-zone -fcf-protection=none",
        library: "-lgcc",
        emulator: "",
        on: LITTLE,
        divides: None,
    },
    Core {
        name: "octeon",
        compiler: "mips64-linux-gnuabi64-gcc",
        flags: "-march=octeon+ -mabi=64 -msoft-float -mno-abicalls -fno-pic -G0",
        library: "",
        emulator: "qemu-mips64 -cpu Octeon68XX",
        on: passes::Target::ALIGNED,
        divides: Some("groups.txt"),
    },
];

const ADMITS: &[&str] = &[
    "filters, NetIL modules that push packets on, and Click configurations between devices: a function per element",
    "packets read, written, copied, and made longer or shorter at both ends; values of up to 128 bits",
    "read-only sets, switches, subroutines, loops, checksums, CRCs, hashes, searches and copies of bytes",
    "strings and regular expressions in the packet (the coprocessors stringmatching and regexp; Search, StringSwitch, RegexFilter), found by the image of automata",
    "tables with keys of up to 128 bits: exact ones change and time out, others are constants but for their values",
    "data, shared and initialised memory of up to 16 MiB, in static memory as the init handler left it; info memory, random numbers, times of arrival",
];
const REFUSES: &[&str] = &[
    "timers; coprocessors other than stringmatching and regexp; strings and expressions whose automata have more than 131,072 nodes (64 MiB of an Octeon's low-latency memory)",
    "more than 1 GiB of tables in one program",
    "packets made, given up or held; pull handlers; copies that wait in a queue for anything but a device",
    "more than 16,384 operations and branches in one program",
    "of configurations: sources other than devices, Script, shaping, elements on the pulled side, elements that share tables or memory",
];
const FILES: &str = "program.c and netvm.h (the program, without a library), dfa.bin and dfa.c (if it searches for strings or expressions), main.c (tries it on a pcap file), Makefile";

pub(super) const AARCH64: Target = target::<0>("64-bit Arm without an operating system: C for a cross compiler");
pub(super) const RISCV64: Target = target::<1>("64-bit RISC-V without an operating system: C for a cross compiler");
pub(super) const X86_64: Target = target::<2>("x86-64 without an operating system: C for the system's compiler");
pub(super) const OCTEON: Target =
    target::<3>("Cavium Octeon+ (big-endian MIPS64 without floating point): C for a cross compiler; --nodes: groups with work queues");

const fn target<const N: usize>(about: &'static str) -> Target {
    Target {
        name: CORES[N].name,
        about,
        files: FILES,
        admits: ADMITS,
        refuses: REFUSES,
        divides: CORES[N].divides,
        build: build::<N>,
        configuration: configuration::<N>,
    }
}

/// Only a machine with a work scheduler has groups of elements.
fn language(core: &Core, options: &Options) -> Language {
    if core.divides.is_some() && options.division != Division::Single { Language::Groups } else { Language::C }
}

/// More groups than a word has bits for.
fn checked(core: &Core, text: Text) -> Result<Text, Error> {
    match text.nodes.len() {
        0..=64 => Ok(text),
        n => Err(Error::Target { target: core.name, reason: format!("{n} groups of elements; 64 are the most: --nodes auto makes fewer") }),
    }
}

fn build<const N: usize>(program: &Verified, options: &Options) -> Result<Vec<File>, Error> {
    let core = &CORES[N];
    let text = checked(core, of_program(core.name, program, options, language(core, options), core.on)?)?;
    Ok(files(core, text, input(program), &[program]))
}

fn configuration<const N: usize>(app: &Application, options: &Options, drawn: Drawn<'_>) -> Result<Vec<File>, Error> {
    let core = &CORES[N];
    let made = of_configuration(core.name, app, options, (language(core, options), core.on), drawn)?;
    Ok(files(core, checked(core, made.text)?, 0, &made.programs))
}

fn files(core: &Core, text: Text, input: u32, programs: &[&Verified]) -> Vec<File> {
    let lasting: u32 = programs.iter().map(|p| p.module().data_size + p.shared_size()).sum();
    let tables: usize = programs.iter().map(|p| p.module().tables.len()).sum();
    let mut about = format!("C for {}, {lasting} bytes of memory that lasts", core.compiler);
    if tables > 0 {
        about += &format!(", {tables} tables");
    }
    let file = |name: &str, text: String, about: &str| File { name: name.to_owned(), bytes: text.into_bytes(), about: about.to_owned() };
    // Without groups there is one node, which is the program.
    let groups = (text.nodes.len() > 1).then(|| listing(&text.nodes, &text.notes));
    let groups = core.divides.zip(groups).map(|(name, text)| file(name, text, "which elements share a work queue"));
    let searches = !text.image.is_empty();
    let nodes = format!("the image of its automata: {} nodes of 256 arcs", text.image.len() >> 10);
    let image = searches.then(|| {
        let bytes = File { name: "dfa.bin".to_owned(), bytes: text.image, about: nodes };
        [bytes, file("dfa.c", IMAGE.to_owned(), "has dfa.bin in static memory")]
    });
    let all = vec![
        file("program.c", text.program + &text.names, &about),
        file("netvm.h", HEADER.to_owned(), "what callers include"),
        file("main.c", include_str!("cores/main.c").replace("NETVM_INPUT", &input.to_string()), "tries it on pcap files"),
        file("Makefile", makefile(core, searches), "make, make run PCAP=FILE"),
    ];
    all.into_iter().chain(groups).chain(image.into_iter().flatten()).collect()
}

fn makefile(core: &Core, searches: bool) -> String {
    let mut text = format!("# Made by netvm for {}. `make` builds ./program; `make run PCAP=FILE` runs it", core.name);
    text += if core.emulator.is_empty() { ".\n" } else { " in an emulator.\n" };
    let _ = writeln!(text, "CC = {}", core.compiler);
    let _ = writeln!(text, "EMULATOR = {}", core.emulator);
    text += "# memcpy and the like are here: loops must not become calls of themselves.\n";
    let _ = writeln!(
        text,
        "CFLAGS = -std=gnu11 -O2 -ffreestanding -fno-strict-aliasing -fno-tree-loop-distribute-patterns -fno-stack-protector -fno-pie {}",
        core.flags
    );
    text += "LDFLAGS = -nostdlib -static -no-pie\n\n";
    let objects = if searches { "program.o main.o dfa.o" } else { "program.o main.o" };
    let _ = writeln!(text, "program: {objects}\n\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ {objects} {}\n", core.library);
    text += "program.o main.o: netvm.h Makefile\n\n";
    text += if searches { "dfa.o: dfa.bin Makefile\n\n" } else { "" };
    text += "# PCAP=FILE, or INPUTS='DEVICE=FILE ...' of a configuration with several.\n";
    text += "run: program\n\t$(EMULATOR) ./program $(INPUTS) $(if $(PCAP),< $(PCAP))\n\n";
    text + &format!("clean:\n\trm -f program {objects}\n\n.PHONY: run clean\n")
}
