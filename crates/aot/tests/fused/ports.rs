//! Ports that values name, and drops that only a condition decides: packets leave by the right
//! exit, in order, and are refused with the right reason.

use super::{ALL_PREFETCHED, compare_alone, optimised};
use compiler::backends::c::fused::emit;
use compiler::cluster::Member;
use netil::asm::assemble;
use netil::cluster::LinkTarget;
use netil::exec::DropReason;
use netil::verify;
use netvm_aot::build::Compiler;
use std::ops::Range;

/// A packet leaves by one of four ports, which lead to exits in another order.
#[test]
fn ports_that_values_name() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    let packets: Vec<_> = (0..200u32).map(|n| [(n * n % 9) as u8, (n % 5) as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).collect();
    for refusal in ["", "jcmp.eq no", "jcmp.neq no", "jcmp.l no", "jcmp.eq no larger"] {
        // Of the ports all are named by a value, or all but the last, or the first.
        for named in [0..4, 0..3, 1..4] {
            let text = choosing(refusal, named.clone());
            let wanted = if refusal.is_empty() || named.len() < 4 { vec![] } else { vec![(0, DropReason::Program(7))] };
            assert_eq!(refused(&text), wanted, "{text}");
            compare_alone(&format!("{named:?} of four ports, {refusal}"), &text, &packets);
        }
    }
}

/// A program that drops a packet if its first two bytes are as the jump says, or the first is
/// larger than 7, and else sends it by the port that the first byte names.
fn choosing(refusal: &str, named: Range<usize>) -> String {
    let names = ["a", "b", "c", "d"];
    let ports: String = names.iter().map(|port| format!("push_output {port}\n")).collect();
    let sends = format!("push 0\nupload.8\npkt.sendby {}, {}\nret 0\n", names[named.start], named.len());
    let larger = "\npush 0\nupload.8\npush 7\njcmp.g large";
    let test = format!("push 0\nupload.8\npush 1\nupload.8\n{}\n", refusal.replace(" larger", larger));
    let large = if refusal.contains("larger") { "large:\npkt.drop 8\n" } else { "" };
    let code = match refusal {
        "" => sends,
        _ => format!("{test}{sends}no:\npkt.drop 7\n{large}"),
    };
    format!("segment .ports\n{ports}ends\nsegment .push\npop\n{code}ends\n")
}

/// What compiled code drops without a branch.
fn refused(text: &str) -> Vec<(u32, DropReason)> {
    let program = verify(assemble(text, "").unwrap()).unwrap();
    let outputs = program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input());
    let links = outputs.map(|(id, _)| (id, LinkTarget::LastExit(id))).collect();
    let member = Member { program: &program, func: optimised(&program), links };
    emit(&[&member], &[(0, 0)], ALL_PREFETCHED).unwrap().dropped
}
