//! The program as an ELF object, as clang would make it: for libbpf, and so for `ip link`, bpftool and xdp-loader, and for aya.
//!
//! ```text
//! xdp        instructions, function `netvm`       .rel.xdp   R_BPF_64_64 to a map's section, the offset in the instruction
//! .rodata    constants: a map that is frozen      license    "Dual MIT/GPL"
//! ```
//!
//! ELF is written by the crate `object`, which rustc uses as well. Left out: BTF of functions and lines, which no loader needs.

use super::{Program, Refused};
use object::elf::RelocationType;
use object::write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use std::collections::HashMap;

/// A reference to a symbol in a constant of 64 bits.
const R_BPF_64_64: RelocationType = RelocationType(1);
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
    let code = object.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    object.append_section_data(code, instructions(program).as_flattened(), 8);
    object.add_symbol(symbol(NAME, SymbolKind::Text, code, 8 * program.insts.len()));
    let license = object.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    object.append_section_data(license, LICENSE, 1);
    object.add_symbol(symbol("_license", SymbolKind::Data, license, LICENSE.len()));
    let mut maps: HashMap<u32, SymbolId> = HashMap::new();
    for (i, map) in (0..).zip(&program.maps) {
        let section =
            if map.read_only { object.section_id(StandardSection::ReadOnlyData) } else { object.section_id(StandardSection::Data) };
        object.append_section_data(section, &map.data, 8);
        maps.insert(i, object.section_symbol(section));
    }
    for reference in &program.references {
        let Some(symbol) = maps.get(&reference.map) else { continue };
        let flags = RelocationFlags::Elf { r_type: R_BPF_64_64 };
        let relocation = Relocation { offset: 8 * reference.at as u64, symbol: *symbol, addend: 0, flags };
        object.add_relocation(code, relocation).map_err(|e| Refused::whole(e.to_string()))?;
    }
    object.write().map_err(|e| Refused::whole(e.to_string()))
}

fn symbol(name: &str, kind: SymbolKind, section: SectionId, size: usize) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
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
