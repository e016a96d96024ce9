//! Packets that are made.

use super::{Context, Made, Ready, Role, refuse};
use ::compiler::backends::c::quoted::string;
use runtime::graph::builtin::{made_burst, made_data};
use runtime::graph::{Args, ElementError};

/// What all sources of this kind have, as the value of a struct.
fn made(args: &Args) -> Result<(String, u64), ElementError> {
    let bytes = made_data(args)?;
    let text = format!(
        "{{ .data = {}, .length = {}, .limit = {}, .idle = {}, .stops = {} }}",
        string(&bytes),
        bytes.len(),
        args.integer("LIMIT", -1)?,
        !args.boolean("ACTIVE", true)?,
        args.boolean("STOP", false)?
    );
    Ok((text, bytes.len() as u64))
}

const READS: &[(&str, &str)] = &[("count", "print_uint(E_state.made.count)")];
const READY: Ready = Ready::If("nv_made_may(&E_state.made)");

pub(super) fn infinite(context: &Context<'_>) -> Made {
    let args = context.args(&["DATA", "LIMIT", "BURST", "ACTIVE"], &["LENGTH", "DATASIZE", "STOP", "END_CALL", "TIMESTAMP"])?;
    refuse(&args, "END_CALL")?;
    let (made, _) = made(&args)?;
    let (burst, timeless) = (made_burst(&args)?, !args.boolean("TIMESTAMP", true)?);
    let full = context.wires.full_behind(context.element);
    let pulled = context.is_pulled_from();
    Ok(Role {
        kind: "struct nv_infinite",
        value: format!("{{ .made = {made}, .burst = {burst}, .timeless = {timeless} }}"),
        pull: pulled.then(|| "(void) port;\nreturn nv_infinite_pull(&E_state);".to_owned()),
        turn: (!pulled).then(|| format!("return nv_infinite_turn(&E_state, {full}, E_nv_emit);")),
        reads: READS.to_vec(),
        ready: READY,
        ..Role::default()
    })
}

pub(super) fn timed(context: &Context<'_>) -> Made {
    let args = context.args(&["INTERVAL", "DATA"], &["LIMIT", "STOP", "ACTIVE", "HEADROOM", "LENGTH"])?;
    let interval = args.duration("INTERVAL", 500_000_000)?.max(1);
    let (made, _) = made(&args)?;
    Ok(Role {
        kind: "struct nv_timed",
        value: format!("{{ .made = {made}, .interval = {interval}u }}"),
        init: Some("nv_timed_begin(&E_state, &E);".to_owned()),
        timer: Some("(void) timer;\nnv_timed_make(&E_state, &E);\nE_nv_emit(0);".to_owned()),
        reads: READS.to_vec(),
        ..Role::default()
    })
}

/// How long a source may be late and still make up for it, in nanoseconds.
const BURST: u64 = 20_000_000;

pub(super) fn rated(context: &Context<'_>) -> Made {
    let args = context.args(&["DATA", "RATE", "LIMIT", "ACTIVE"], &["LENGTH", "DATASIZE", "BANDWIDTH", "STOP"])?;
    let (made, length) = made(&args)?;
    let rate = match args.has("BANDWIDTH") {
        true => args.bandwidth("BANDWIDTH", 0)? / length.max(1),
        false => u64::from(args.count("RATE", 10, u32::MAX)?),
    };
    let bucket = super::rates::bucket(rate, super::rates::burst(rate, BURST));
    let pulled = context.is_pulled_from();
    Ok(Role {
        kind: "struct nv_rated",
        value: format!("{{ .made = {made}, .bucket = {bucket} }}"),
        pull: pulled.then(|| "(void) port;\nreturn nv_rated_pull(&E_state, &E);".to_owned()),
        turn: (!pulled).then(|| {
            "nv_packet = nv_rated_pull(&E_state, &E);\nif (!nv_packet)\n    return NV_IDLE;\nE_nv_emit(0);\nreturn NV_DONE;".to_owned()
        }),
        timer: Some("(void) timer;".to_owned()),
        reads: READS.to_vec(),
        ready: READY,
        ..Role::default()
    })
}
