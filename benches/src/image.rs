//! Machine code of the kernel's eBPF compiler, made fit to run in a process.
//!
//! The code of a program that calls nothing needs nothing of the kernel but its way to return: with
//! mitigations against return prediction the last jump goes to a thunk of the kernel's. That
//! becomes a plain return, which is quicker than what the kernel runs: the comparison favours the
//! kernel. All else that leaves the code, or could, is refused. x86-64 only.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// `ret`, then `int3` to the length of the jump that it replaces.
const RETURN: [u8; 5] = [0xc3, 0xcc, 0xcc, 0xcc, 0xcc];

/// The code with its returns made plain.
///
/// # Errors
/// Something in it leads elsewhere.
pub fn made_local(mut code: Vec<u8>) -> Result<Vec<u8>, String> {
    let length = code.len() as u64;
    let mut returns = Vec::new();
    let mut before = Mnemonic::INVALID;
    for instruction in &mut Decoder::with_ip(64, &code, 0, DecoderOptions::NONE) {
        match way(&instruction, length) {
            ControlTransfer::Stays => {}
            // The frame is gone: what comes can only be the way back.
            ControlTransfer::Leaves if before == Mnemonic::Leave && instruction.len() == RETURN.len() => {
                returns.push(instruction.ip() as usize)
            }
            ControlTransfer::Leaves | ControlTransfer::Unknown => {
                return Err(format!("its machine code needs the kernel: `{instruction}` at {:#x}", instruction.ip()));
            }
        }
        before = instruction.mnemonic();
    }
    for at in returns {
        code[at..at + RETURN.len()].copy_from_slice(&RETURN);
    }
    Ok(code)
}

enum ControlTransfer {
    Stays,
    /// An unconditional jump out of the code.
    Leaves,
    Unknown,
}

fn way(instruction: &Instruction, length: u64) -> ControlTransfer {
    let inside = instruction.near_branch_target() < length;
    match instruction.flow_control() {
        _ if instruction.is_invalid() || instruction.is_ip_rel_memory_operand() => ControlTransfer::Unknown,
        FlowControl::Next | FlowControl::Return => ControlTransfer::Stays,
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch if inside => ControlTransfer::Stays,
        FlowControl::UnconditionalBranch => ControlTransfer::Leaves,
        _ => ControlTransfer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];

    fn made(end: &[u8]) -> Result<Vec<u8>, String> {
        made_local([&PROLOGUE[..], end].concat()).map(|code| code[PROLOGUE.len()..].to_vec())
    }

    #[test]
    fn the_jump_to_the_return_thunk_becomes_a_return() {
        assert_eq!(made(&[0xc9, 0xe9, 0, 0x20, 0x0e, 0xc1]), Ok(vec![0xc9, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc]));
    }

    #[test]
    fn jumps_inside_and_plain_returns_stay() {
        for end in [&[0xc9, 0xc3][..], &[0x74, 0, 0xc9, 0xc3], &[0xe9, 0, 0, 0, 0, 0xc9, 0xc3], &[0xeb, 0xfe]] {
            assert_eq!(made(end), Ok(end.to_vec()));
        }
    }

    #[test]
    fn all_else_that_leads_elsewhere_is_refused() {
        let call = [0xe8, 0, 0x20, 0x0e, 0xc1, 0xc9, 0xc3];
        let jump = [0xe9, 0, 0x20, 0x0e, 0xc1];
        let conditional = [0xc9, 0x0f, 0x84, 0, 0x20, 0x0e, 0xc1, 0xc3];
        let indirect = [0xff, 0xe0];
        let indirect_call = [0xff, 0xd0, 0xc9, 0xc3];
        let relative = [0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc9, 0xc3];
        let broken = [0xc9, 0xc3, 0x0f];
        for end in [&call[..], &jump, &conditional, &indirect, &indirect_call, &relative, &broken] {
            assert!(made(end).is_err_and(|e| e.contains("needs the kernel")), "{end:x?}");
        }
    }
}
