//! OpenCL: a kernel whose work items are packets, and a host program in C that runs it on a pcap
//! file.

use super::freestanding::{input, of_configuration, of_program};
use super::{Drawn, File, Options, Target};
use crate::Error;
use compiler::backends::c::freestanding::{HEADER, Language, Text};
use compiler::passes;
use netil::Verified;
use netil::app::Application;

const NAME: &str = "opencl";

pub(super) const TARGET: Target = Target {
    name: NAME,
    about: "OpenCL devices: a kernel in OpenCL C 1.2 with a packet for each work item",
    files: "program.cl (the kernel netvm), main.c with netvm.h and names.c (a host program for a pcap file), Makefile",
    admits: &[
        "filters, NetIL modules that push packets on, and Click configurations with one device that is read, if nothing lasts from packet to packet",
        "packets read, written, and made shorter at both ends; values of up to 64 bits",
        "read-only sets, switches, subroutines, loops, checksums, CRCs of packets, hashes, searches of bytes",
        "memories that the init handler filled, as constants; info memory, random numbers of a module, times of arrival",
    ],
    refuses: &[
        "stores into data and shared memory, tables, timers, coprocessors: packets are run at once and in no order",
        "packets made, copied, given up, held, or made longer; pull handlers; copies and comparisons of ranges of bytes",
        "more than 16,384 operations and branches in one program",
    ],
    divides: None,
    build,
    configuration,
};

fn build(program: &Verified, options: &Options) -> Result<Vec<File>, Error> {
    Ok(files(of_program(NAME, program, options, Language::OpenCl, passes::Target::HERE)?, input(program)))
}

fn configuration(app: &Application, options: &Options, drawn: Drawn<'_>) -> Result<Vec<File>, Error> {
    let made = of_configuration(NAME, app, options, (Language::OpenCl, passes::Target::HERE), drawn)?;
    if made.inputs.len() > 1 {
        let reason = format!("{} devices that packets come in by; main.c reads one file", made.inputs.len());
        return Err(Error::Target { target: NAME, reason });
    }
    Ok(files(made.text, 0))
}

fn files(text: Text, input: u32) -> Vec<File> {
    let file = |name: &str, text: String, about: &str| File { name: name.to_owned(), bytes: text.into_bytes(), about: about.to_owned() };
    vec![
        file("program.cl", text.program, "the kernel netvm"),
        file("names.c", format!("#include \"netvm.h\"\n{}", text.names), "names of elements, outputs and reasons"),
        file("netvm.h", HEADER.to_owned(), "what names.c and main.c include"),
        file("main.c", include_str!("opencl/main.c").replace("NETVM_INPUT", &input.to_string()), "a host program for pcap files"),
        file("Makefile", include_str!("opencl/Makefile").to_owned(), "make, make run PCAP=FILE"),
    ]
}
