//! Queues, RED, and Unqueue.

use super::{Context, Made, Ready, Role};
use std::fmt::Write;

pub(super) fn queue(context: &Context<'_>) -> Made {
    let capacity = context.args(&["CAPACITY"], &[])?.count("CAPACITY", 1000, 1 << 24)?;
    let policy = match context.class {
        "MixedQueue" => "NV_MIXED",
        "FrontDropQueue" => "NV_DROP_OLD",
        _ => "NV_DROP_NEW",
    };
    let room = capacity.max(1);
    Ok(Role {
        arrays: format!("static struct nv_packet *E_packets[{room}];\n"),
        kind: "struct nv_queue",
        value: format!("{{ .packets = E_packets, .capacity = {capacity}, .policy = {policy} }}"),
        push: Some("nv_queue_put(&E_state, port);\nif (nv_packet)\n    E_nv_emit(1);".to_owned()),
        pull: Some("(void) port;\nreturn nv_queue_take(&E_state);".to_owned()),
        reads: vec![
            ("length", "print_uint(E_state.count)"),
            ("highwater_length", "print_uint(E_state.most)"),
            ("drops", "print_uint(E_state.drops)"),
            ("capacity", "print_uint(E_state.capacity)"),
        ],
        ready: Ready::If("E_state.count > 0"),
        ..Role::default()
    })
}

pub(super) fn red(context: &Context<'_>) -> Made {
    let args = context.args(&["MIN_THRESH", "MAX_THRESH", "MAX_P"], &["QUEUES", "STABILITY", "GENTLE"])?;
    let names = args.text("QUEUES").unwrap_or_default();
    let named: Vec<&str> = names.split_whitespace().collect();
    let queues = context.wires.queues(context.element, &named, context.pulls())?;
    let queues: String = queues.iter().fold(String::new(), |mut list, queue| {
        let _ = write!(list, "&{queue}_state, ");
        list
    });
    let mut value = "{\n".to_owned();
    let numbers = [("least", "MIN_THRESH"), ("most", "MAX_THRESH"), ("probability", "MAX_P")];
    for (member, argument) in numbers {
        let _ = write!(value, "    .{member} = {:?},", args.real(argument, 0.0)?);
    }
    let weight = 0.5f64.powi(args.count("STABILITY", 4, 30)? as i32);
    let gentle = args.boolean("GENTLE", true)?;
    let _ = write!(value, "\n    .weight = {weight:?}, .gentle = {gentle}, .queues = E_queues, .seed = {}u\n}}", context.seed);
    Ok(Role {
        arrays: format!("static struct nv_queue *const E_queues[] = {{ {queues}0 }};\n"),
        kind: "struct nv_red",
        value,
        push: (!context.pulls()).then(|| "(void) port;\nE_nv_emit(nv_red_drops(&E_state) ? 1 : 0);".to_owned()),
        pull: context.pulls().then(|| "(void) port;\nreturn nv_red_pull(&E_state, E_nv_before, E_nv_emit);".to_owned()),
        reads: vec![("drops", "print_uint(E_state.drops)")],
        ..Role::default()
    })
}

pub(super) fn unqueue(context: &Context<'_>) -> Made {
    let args = context.args(&["BURST"], &["ACTIVE", "LIMIT"])?;
    let (burst, limit) = (args.integer("BURST", 1)?, args.integer("LIMIT", -1)?);
    let idle = !args.boolean("ACTIVE", true)?;
    let plain = burst == 1 && limit < 0 && !idle;
    let turn = if plain { PLAIN } else { "return nv_unqueue_turn(&E_state, E_nv_before, E_nv_emit);" };
    Ok(Role {
        kind: "struct nv_unqueue",
        value: format!("{{ .burst = {burst}, .limit = {limit}, .idle = {idle} }}"),
        turn: Some(turn.to_owned()),
        reads: vec![("count", "print_uint(E_state.count)")],
        ..Role::default()
    })
}

/// One packet after the other, without a guard of its own: a trap ends the turn, which one packet
/// ends anyway.
const PLAIN: &str = "nv_packet = E_nv_before(0);
if (!nv_packet)
    return NV_IDLE;
nv_moved = true;
E_state.count += 1;
E_nv_emit(0);
return NV_DONE;";
