//! The program as an ELF object, as clang would make it: for libbpf, and so for `ip link`, bpftool
//! and xdp-loader, and for aya.
//!
//! ```text
//! xdp        instructions, function `netvm`       .rel.xdp   R_BPF_64_64 to a map, R_BPF_64_32 to a function of .text
//! .text      functions of elements                .rodata    constants: a map that is frozen      .data  what lasts
//! .maps      maps with keys, with their .BTF      license    "Dual MIT/GPL"
//! ```
//!
//! What tables have from the start is not in the object, since the format has no place for it:
//! [`entries`] are commands of bpftool that enter it.
//!
//! ELF is written by the crate `object`, which rustc uses as well. Left out: BTF of functions and
//! lines, which no loader needs.

use super::{Keyed, Map, Program, Refused, btf};
use object::elf::RelocationType;
use object::write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use std::fmt::Write as _;

/// A reference to a symbol in a constant of 64 bits.
const R_BPF_64_64: RelocationType = RelocationType(1);
/// A call of a function.
const R_BPF_64_32: RelocationType = RelocationType(10);
/// The operation, and the source register, of calls of the program's own functions.
const CALL: u8 = 0x85;
const OWN: u8 = 1;
/// The name of the function, and of the program in the kernel.
const NAME: &str = "netvm";
/// Functions of the kernel ask for it.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// The bytes of the object.
///
/// # Errors
/// It is too large for its format.
pub fn object(program: &Program) -> Result<Vec<u8>, Refused> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let (mut insts, main) = (instructions(program), main_length(program));
    let calls: Vec<(usize, usize)> = (0..main).filter_map(|at| Some((at, called(program, &insts[at], at)?))).collect();
    calls.iter().for_each(|(at, _)| insts[*at][4..].fill(0xff));
    let code = object.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    object.append_section_data(code, insts[..main].as_flattened(), 8);
    object.add_symbol(symbol(NAME, SymbolKind::Text, code, 0, 8 * main));
    let functions = functions(program, &mut object, &insts[main..]);
    let license = object.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    object.append_section_data(license, LICENSE, 1);
    object.add_symbol(symbol("_license", SymbolKind::Data, license, 0, LICENSE.len()));
    let maps = maps(program, &mut object);
    let mut relocations: Vec<(usize, SymbolId, RelocationType)> =
        program.references.iter().filter_map(|r| Some((r.at, *maps.get(r.map as usize)?, R_BPF_64_64))).collect();
    relocations.extend(calls.iter().map(|(at, function)| (*at, functions[function - 1], R_BPF_64_32)));
    for (at, symbol, r_type) in relocations {
        let (section, at) = if at < main { (code, at) } else { (object.section_id(StandardSection::Text), at - main) };
        let relocation = Relocation { offset: 8 * at as u64, symbol, addend: 0, flags: RelocationFlags::Elf { r_type } };
        object.add_relocation(section, relocation).map_err(|e| Refused::whole(e.to_string()))?;
    }
    object.write().map_err(|e| Refused::whole(e.to_string()))
}

/// Commands for `bpftool batch file` that enter what tables have from the start; empty if they have
/// nothing.
pub fn entries(program: &Program) -> String {
    let mut text = String::new();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!(" {byte:02x}")).collect::<String>();
    for map in &program.maps {
        for (key, value) in map.keyed.iter().flat_map(|keyed| &keyed.entries) {
            let _ = writeln!(text, "map update name {} key hex{} value hex{}", map.name, hex(key), hex(value));
        }
    }
    text
}

/// Instructions of the first function.
fn main_length(program: &Program) -> usize {
    program.functions.get(1).map_or(program.insts.len(), |(_, start)| *start)
}

/// The functions that are called, in a section of their own; their symbols.
fn functions(program: &Program, object: &mut Object<'_>, insts: &[[u8; 8]]) -> Vec<SymbolId> {
    if insts.is_empty() {
        return Vec::new();
    }
    let text = object.section_id(StandardSection::Text);
    object.append_section_data(text, insts.as_flattened(), 8);
    let main = main_length(program);
    let ends = program.functions.iter().skip(2).map(|(_, start)| *start).chain([program.insts.len()]);
    let of = |(n, ((_, start), end)): (usize, (&(String, usize), usize))| {
        let name = format!("element{n}");
        let made = symbol(&name, SymbolKind::Text, text, 8 * (start - main), 8 * (end - start));
        object.add_symbol(Symbol { scope: SymbolScope::Compilation, ..made })
    };
    program.functions.iter().skip(1).zip(ends).enumerate().map(of).collect()
}

/// The number of the function that an instruction calls.
fn called(program: &Program, inst: &[u8; 8], at: usize) -> Option<usize> {
    let distance = i32::from_le_bytes([inst[4], inst[5], inst[6], inst[7]]);
    let to = usize::try_from(at as i64 + 1 + i64::from(distance)).ok()?;
    (inst[0] == CALL && inst[1] >> 4 == OWN).then(|| program.functions.iter().position(|(_, start)| *start == to)).flatten()
}

/// Symbols of maps: sections of those that are arrays, variables in `.maps` of those with keys.
fn maps(program: &Program, object: &mut Object<'_>) -> Vec<SymbolId> {
    let keyed: Vec<(&str, &Keyed)> = program.maps.iter().filter_map(|map| Some((map.name.as_str(), map.keyed.as_ref()?))).collect();
    let section = (!keyed.is_empty()).then(|| {
        let btf = object.add_section(Vec::new(), b".BTF".to_vec(), SectionKind::Other);
        object.append_section_data(btf, &btf::section(&keyed), 4);
        let section = object.add_section(Vec::new(), b".maps".to_vec(), SectionKind::Data);
        object.append_section_data(section, &vec![0; keyed.len() * btf::VARIABLE as usize], 8);
        section
    });
    let mut before = 0;
    let symbol_of = |map: &Map| match (&map.keyed, section) {
        (Some(_), Some(section)) => {
            before += 1;
            let size = btf::VARIABLE as usize;
            object.add_symbol(symbol(&map.name, SymbolKind::Data, section, (before - 1) * size, size))
        }
        _ => {
            let standard = if map.read_only { StandardSection::ReadOnlyData } else { StandardSection::Data };
            let section = object.section_id(standard);
            object.append_section_data(section, &map.data, 8);
            object.section_symbol(section)
        }
    };
    program.maps.iter().map(symbol_of).collect()
}

fn symbol(name: &str, kind: SymbolKind, section: SectionId, at: usize, size: usize) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value: at as u64,
        size: size as u64,
        kind,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    }
}

/// Loaders fill in the map; until then its place holds the offset.
fn instructions(program: &Program) -> Vec<[u8; 8]> {
    let mut insts = program.insts.clone();
    for reference in &program.references {
        let at = reference.at;
        insts[at][1] &= 0x0f;
        insts[at][4..].copy_from_slice(&reference.offset.unwrap_or(0).to_le_bytes());
        insts[at + 1][4..].fill(0);
    }
    insts
}
