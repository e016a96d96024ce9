//! Which input a packet is pulled from, and PullTee.

use super::{Context, Made, Ready, Role, number};
use ::compiler::backends::c::quoted::string;
use runtime::graph::ElementError;

pub(super) fn plain(context: &Context<'_>) -> Made {
    let inputs = context.inputs();
    let in_turn = context.class.ends_with("RoundRobinSched");
    let pull = if in_turn {
        "return nv_in_turn_pull(&E_state, E_nv_before);".to_owned()
    } else {
        format!("return nv_first_pull({inputs}, E_nv_before);")
    };
    Ok(Role {
        kind: if in_turn { "struct nv_in_turn" } else { "" },
        value: format!("{{ .inputs = {inputs} }}"),
        pull: Some(format!("(void) port;\n{pull}")),
        ..Role::default()
    })
}

/// What one ticket's stride is counted in, and the most tickets that an input can have.
const STRIDE1: u64 = 1 << 16;
const MOST_TICKETS: u64 = 1 << 15;

pub(super) fn stride(context: &Context<'_>) -> Made {
    let given: Vec<u64> = context.arguments.iter().map(|argument| number(argument)).collect::<Result<_, ElementError>>()?;
    let client = |tickets: u64| format!("    {{ .tickets = {tickets}, .pass = {} }},\n", STRIDE1 / tickets.max(1));
    let clients: String = given.iter().map(|tickets| client((*tickets).min(MOST_TICKETS))).collect();
    let reduced = given.iter().enumerate().filter(|(_, tickets)| **tickets > MOST_TICKETS);
    let told = reduced.map(|(n, _)| format!("{} :: {}: tickets of input {n} are reduced to {MOST_TICKETS}\n", context.name, context.class));
    let told: String = told.map(|line| format!("print({});\n", string(line.as_bytes()))).collect();
    Ok(Role {
        arrays: format!("static struct nv_client E_clients[] = {{\n{clients}}};\n"),
        pull: Some(format!("(void) port;\nreturn nv_stride_pull(E_clients, {}, E_nv_before);", context.inputs())),
        init: (!told.is_empty()).then_some(told),
        ..Role::default()
    })
}

pub(super) fn sorted(context: &Context<'_>) -> Made {
    let args = context.args(&[], &["STOP", "BUFFER"])?;
    let (inputs, room, stops) = (context.inputs(), args.count("BUFFER", 1, 1 << 16)?.max(1), args.boolean("STOP", false)?);
    Ok(Role {
        arrays: format!("static struct nv_packet *E_held[{}];\nstatic u32 E_counts[{inputs}];\n", inputs * room as usize),
        kind: "struct nv_sorted",
        value: format!("{{ .held = E_held, .counts = E_counts, .room = {room}, .inputs = {inputs}, .stops = {stops} }}"),
        pull: Some("(void) port;\nreturn nv_sorted_pull(&E_state, E_nv_before, E_nv_ready);".to_owned()),
        reads: vec![("well_ordered", "print(E_state.disordered ? \"false\" : \"true\")")],
        ready: Ready::Or("nv_sorted_holds(&E_state)"),
        ..Role::default()
    })
}

pub(super) fn pull_tee(context: &Context<'_>) -> Made {
    let outputs = context.outputs();
    Ok(Role {
        pull: Some(format!("(void) port;\nreturn nv_pull_tee(nv_try_pull(E_nv_before, 0), {outputs}, E_nv_emit);")),
        ..Role::default()
    })
}
