//! What lets packets through at a rate, or after some time.

use super::{Context, Made, Ready, Role};
use runtime::graph::ElementError;

/// A bucket as C's value.
pub(super) fn bucket(rate: u64, capacity: u64) -> String {
    format!("NV_BUCKET({rate}u, {}u)", capacity.max(1))
}

/// The capacity that lets through what comes in so much time.
pub(super) fn burst(rate: u64, nanoseconds: u64) -> u64 {
    let tokens = u128::from(rate) * u128::from(nanoseconds) / 1_000_000_000;
    u64::try_from(tokens).unwrap_or(u64::MAX).max(1)
}

/// The state of a shaper or an unqueue with a rate.
fn state(context: &Context<'_>) -> Result<String, ElementError> {
    let bytes = context.class.starts_with("Bandwidth");
    let args = context.args(&["RATE"], &["BURST_DURATION", "BURST_SIZE", "BURST_BYTES"])?;
    let rate = if bytes { args.bandwidth("RATE", 0)? } else { u64::from(args.count("RATE", 0, u32::MAX)?) };
    let size = if bytes { "BURST_BYTES" } else { "BURST_SIZE" };
    let capacity = match args.has(size) {
        true => u64::from(args.count(size, 1, u32::MAX)?),
        false => burst(rate, args.duration("BURST_DURATION", 20_000_000)?),
    };
    let bucket = bucket(rate, capacity);
    Ok(format!("{{ .bucket = {bucket}, .bytes = {bytes} }}"))
}

pub(super) fn shaper(context: &Context<'_>) -> Made {
    Ok(Role {
        kind: "struct nv_shaper",
        value: state(context)?,
        pull: Some("return nv_shaper_pull(&E_state, &E, E_nv_before, port);".to_owned()),
        timer: Some("(void) timer;".to_owned()),
        reads: vec![("rate", "print_uint(E_state.bucket.rate)")],
        ..Role::default()
    })
}

pub(super) fn unqueue(context: &Context<'_>) -> Made {
    let turn = "nv_packet = nv_rated_unqueue_pull(&E_state, &E, E_nv_before);\nif (!nv_packet)\n    return NV_IDLE;\nE_nv_emit(0);\nreturn NV_DONE;";
    Ok(Role {
        kind: "struct nv_shaper",
        value: state(context)?,
        turn: Some(turn.to_owned()),
        timer: Some("(void) timer;".to_owned()),
        reads: vec![("rate", "print_uint(E_state.bucket.rate)")],
        ..Role::default()
    })
}

pub(super) fn delay(context: &Context<'_>) -> Made {
    let delay = context.args(&["DELAY"], &[])?.duration("DELAY", 0)?;
    Ok(Role {
        kind: "struct nv_delay",
        value: format!("{{ .delay = {delay}u }}"),
        pull: Some("(void) port;\nreturn nv_delay_pull(&E_state, &E, E_nv_before);".to_owned()),
        timer: Some("(void) timer;".to_owned()),
        ready: Ready::Or("E_state.held"),
        ..Role::default()
    })
}
