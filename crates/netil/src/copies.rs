//! How many copies can be made of one packet on its way through an application.
//!
//! The runtime counts copies while a packet goes its way and drops those beyond [`MAX_WAY_COPIES`]. Elements
//! that run as one make theirs without asking it, so they run as one only where [`most`] shows that no packet
//! comes to the limit. The bound is coarse: every copy is taken to go where the most are made.

use crate::app::Application;
use crate::exec::MAX_COPIES;
use crate::module::{Handler, Inst};
use crate::table::Op;
use crate::verify::Verified;

/// The most copies of one packet, and of its copies, from its arrival to where each is dropped, sent or queued.
pub const MAX_WAY_COPIES: u32 = 1 << 16;

/// The most copies made of a packet that comes in anywhere; `u64::MAX` where wires that do not lead back form a
/// circle with copies on it. `ends` says at which instances a packet's way ends: queues.
pub fn most(app: &Application, ends: &dyn Fn(u32) -> bool) -> u64 {
    let own: Vec<u64> = app.instances.iter().map(|instance| instance.program().map_or(0, |program| own_copies(program))).collect();
    if own.iter().all(|copies| *copies == 0) {
        return 0;
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); own.len()];
    let mut left = vec![0_u32; own.len()];
    for wire in app.wires.iter().filter(|wire| !wire.recirculates && !ends(wire.to.instance)) {
        before[wire.to.instance as usize].push(wire.from.instance as usize);
        left[wire.from.instance as usize] += 1;
    }
    // From the ends backwards: an instance is done when all that is behind it is.
    let mut behind = vec![0_u64; own.len()];
    let mut work: Vec<usize> = (0..own.len()).filter(|at| left[*at] == 0).collect();
    let (mut done, mut most) = (0, 0);
    while let Some(at) = work.pop() {
        done += 1;
        let all = own[at].saturating_add((own[at] + 1).saturating_mul(behind[at]));
        most = most.max(all);
        for from in &before[at] {
            behind[*from] = behind[*from].max(all);
            left[*from] -= 1;
            if left[*from] == 0 {
                work.push(*from);
            }
        }
    }
    if done == own.len() { most } else { u64::MAX }
}

/// Copies that one run may send: what its code has, or what the machine allows where some of it may run again.
fn own_copies(program: &Verified) -> u64 {
    let module = program.module();
    let of = |handler: &Handler| {
        let sends = handler.code.iter().filter(|inst| inst.op == Op::PktSendDup).count() as u64;
        let again = |(at, inst): (usize, &Inst)| inst.op.is_call() || inst.targets().iter().any(|target| *target as usize <= at);
        match sends > 0 && handler.code.iter().enumerate().any(again) {
            true => u64::from(MAX_COPIES),
            false => sends,
        }
    };
    [&module.push, &module.pull].into_iter().flatten().map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{Body, End, Instance, Wire};
    use crate::{asm::assemble, verify};
    use std::sync::Arc;

    /// Programs that send so many copies each, and wires between them.
    fn app(copies: &[usize], wires: &[(u32, u32, bool)]) -> Application {
        let instance = |copies: &usize| {
            let text =
                format!("segment .ports push_input a push_output b ends segment .push {} ret ends", "pkt.senddup b ".repeat(*copies));
            let program = Arc::new(verify(assemble(&text, "t").unwrap()).unwrap());
            Instance { name: String::new(), class: String::new(), body: Body::Program(program) }
        };
        let end = |instance| End { instance, port: 0 };
        let wires = wires.iter().map(|(from, to, back)| Wire { from: end(*from), to: end(*to), recirculates: *back }).collect();
        Application { instances: copies.iter().map(instance).collect(), wires, ..Application::default() }
    }

    #[test]
    fn copies_of_copies_multiply() {
        let chain = [(0, 1, false), (1, 2, false)];
        assert_eq!(most(&app(&[9, 9, 9], &chain), &|_| false), 999);
        assert_eq!(most(&app(&[9, 0, 9], &chain), &|_| false), 99);
        assert_eq!(most(&app(&[9, 9, 9], &chain), &|at| at == 2), 99, "behind a queue a packet is another");
        assert_eq!(most(&app(&[9, 9], &[(0, 1, false), (1, 0, true)]), &|_| false), 99);
        assert_eq!(most(&app(&[9, 0], &[(0, 1, false), (1, 0, false)]), &|_| false), u64::MAX);
        assert_eq!(most(&app(&[0, 0], &[(0, 1, false), (1, 0, false)]), &|_| false), 0);
    }

    #[test]
    fn code_that_runs_again_may_send_all() {
        let text = "segment .ports push_input a push_output b ends segment .push again: pkt.senddup b jump again ends";
        let program = verify(assemble(text, "t").unwrap()).unwrap();
        assert_eq!(own_copies(&program), MAX_COPIES.into());
    }
}
