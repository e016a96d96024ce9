//! Classes of elements that are programs in another language than the element language: a file
//! each, named by the element's first argument.

use super::made::Made;
use crate::frontends::click::processing::PortSpec;
use crate::load;
use crate::p4::element;
use std::path::Path;

/// Makes a program of arguments and the numbers of inputs and outputs.
type Make = fn(&[String], u32, u32) -> Result<Made, Vec<String>>;

/// A class.
pub(super) struct Foreign {
    /// Its name.
    pub name: &'static str,
    /// Its ports.
    pub shape: PortSpec<'static>,
    /// What `netvm elements` says of it.
    pub manual: &'static str,
    /// The program of an element with those arguments, inputs and outputs.
    pub make: Make,
}

/// The class of NetIL programs, whose file an argument names; files in a folder of elements are
/// classes of that kind.
pub(super) const NETIL: &str = "NetIL";

/// All of them.
pub(super) const ALL: [Foreign; 2] = [
    Foreign {
        name: "P4",
        shape: PortSpec { ports: "1-/1-", processing: "h/h", flow: "x/x" },
        manual: "P4(FILE [, ENTRIES FILE] [, INCLUDE FOLDER] [, DEFINE NAME=VALUE] [, WITHOUT OPTIMISATION]) -- runs a P4 program for v1model\n\n\
            Packets that come in by input k arrive at port k of the program, and leave by the output of their egress port; those for a port without output are\n\
            dropped. ENTRIES names a file that fills tables, registers and multicast groups, as for `netvm run PROGRAM.p4 --entries`. Programs\n\
            that clone, resubmit, recirculate or send digests run by `netvm run PROGRAM.p4` only. WITHOUT leaves an optimisation out (docs/p4.md).\n\
            Handlers: command rw: runs commands, one on a line, all of them or none; read, it gives what they tell; tables r.",
        make: element::make,
    },
    Foreign {
        name: NETIL,
        shape: PortSpec { ports: "1-/-", processing: "h/h", flow: "x/x" },
        manual: "NetIL(FILE) -- runs a NetIL program, as text or assembled\n\n\
            Input k is the k-th push input that the program declares, output k its k-th push output; inputs are declared before outputs, and there are as many\n\
            as are connected. A program with info memory of its own cannot be an element.\n\
            A file NAME.netil or NAME.nvm in a folder of element classes is a class NAME, without arguments.",
        make: netil_module,
    },
];

/// The class of that name.
pub(super) fn find(name: &str) -> Option<&'static Foreign> {
    ALL.iter().find(|class| class.name == name)
}

pub(super) fn netil_module(arguments: &[String], inputs: u32, outputs: u32) -> Result<Made, Vec<String>> {
    let one = |why: String| vec![why];
    let [file] = arguments else { return Err(one("expected one argument, the file with the program".to_owned())) };
    let path = Path::new(file.trim().trim_matches('"'));
    if !path.is_file() {
        return Err(one(format!("{}: there is no such file, or it is no regular one", path.display())));
    }
    let module = load::module(path).map_err(|error| one(error.to_string()))?;
    let is_input: Vec<bool> = module.ports.iter().map(|port| port.kind.is_input()).collect();
    let count = |wanted: bool| is_input.iter().filter(|is| **is == wanted).count() as u32;
    if is_input.windows(2).any(|two| !two[0] && two[1]) {
        return Err(one("its program declares an input behind an output".to_owned()));
    }
    if module.pull.is_some() {
        return Err(one("its program has a pull handler, and packets are pushed through this element".to_owned()));
    }
    if module.info_size > 0 {
        return Err(one("its program has info memory of its own".to_owned()));
    }
    match (count(true), count(false)) {
        has if has == (inputs, outputs) => Ok(Made { module, plane: None, notes: Vec::new(), kept: Vec::new() }),
        (ins, outs) => Err(one(format!("its program has {ins} inputs and {outs} outputs, and {inputs} and {outputs} are connected"))),
    }
}
