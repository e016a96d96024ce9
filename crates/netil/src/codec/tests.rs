//! Tests of the binary form that need its inside; round trips over generated modules are in
//! `tests/`.

use super::*;
use crate::module::{CoproUse, HandlerKind, InfoField, Label, Port, PortKind, Switch};
use crate::set::Set;

/// A module with something in every section.
fn full() -> Module {
    let wide = Inst { op: Op::WPush, imm: [68, 0, 0], extra: Extra::Const(Box::new([0x1122_3344_5566_7788, 0x9])) };
    let switch =
        Inst { op: Op::Switch, imm: [0; 3], extra: Extra::Switch(Box::new(Switch { default: 5, cases: vec![(7, 0), (u32::MAX, 4)] })) };
    let code = vec![Inst::new(Op::PushC1), switch, wide, Inst::with(Op::Jump, 0), Inst::with(Op::JCmpEq, 2), Inst::with(Op::PktSend, 1)];
    let labels = vec![Label { name: "top".into(), at: 0 }];
    Module {
        name: "Test".into(),
        source: "test.netil".into(),
        ports: vec![Port { name: "in".into(), kind: PortKind::PushInput }, Port { name: "out".into(), kind: PortKind::PushOutput }],
        data_size: 2048,
        info_size: 16,
        info_fields: vec![InfoField { name: "mark".into(), offset: 4, size: 4 }],
        coprocessors: vec![CoproUse { alias: "t".into(), name: "lookup".into() }],
        data: vec![1, 2, 3],
        data_labels: labels.clone(),
        sets: vec![Set::of_ranges("web", 16, [(80, 80), (443, 450)]).unwrap()],
        init: Some(Handler::default()),
        push: Some(Handler { code, locals: vec![32, 128], max_stack: 9, lines: vec![3, 3, 4], labels }),
        ..Module::default()
    }
}

fn decode(bytes: &[u8]) -> Result<Module, DecodeError> {
    Module::from_bytes(bytes, &DecodeLimits::default())
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = (bytes.len() - HEADER) as u32;
    bytes[8..12].copy_from_slice(&body.to_le_bytes());
    let crc = crate::digest::crc32(&[&bytes[..12], &bytes[HEADER..]]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn with_section(mut bytes: Vec<u8>, id: u16, payload: &[u8]) -> Vec<u8> {
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
    sealed(bytes)
}

/// Where the sections start.
fn section_ids(bytes: &[u8]) -> Vec<usize> {
    let mut at = HEADER;
    let mut ids = Vec::new();
    while at < bytes.len() {
        ids.push(at);
        at += 6 + u32::from_le_bytes([bytes[at + 2], bytes[at + 3], bytes[at + 4], bytes[at + 5]]) as usize;
    }
    ids
}

#[test]
fn decoding_inverts_encoding() {
    for module in [Module::default(), full()] {
        let bytes = module.to_bytes().unwrap();
        assert_eq!(decode(&bytes).unwrap(), module);
        assert_eq!(decode(&bytes).unwrap().to_bytes().unwrap(), bytes);
    }
}

#[test]
fn code_bytes_are_the_originals() {
    let handler = Handler {
        code: vec![Inst::with(Op::Push, 0x800), Inst::with(Op::JCmpNeq, 0), Inst::with(Op::Jump, 1), Inst::new(Op::Div)],
        ..Handler::default()
    };
    let bytes = Module { push: Some(handler), ..Module::default() }.to_bytes().unwrap();
    let code = [0x50, 0, 8, 0, 0, 0x39, 0xf6, 0xff, 0xff, 0xff, 0x67, 0xf9, 0xef, 0x01];
    assert_eq!(bytes[bytes.len() - code.len()..], code);
}

#[test]
fn a_switch_has_the_originals_layout() {
    let switch = Switch { default: 1, cases: vec![(0x1234, 0)] };
    let code = vec![Inst { op: Op::Switch, imm: [0; 3], extra: Extra::Switch(Box::new(switch)) }, Inst::new(Op::Ret)];
    let bytes = Module { pull: Some(Handler { code, ..Handler::default() }), ..Module::default() }.to_bytes().unwrap();
    let code = [0x6f, 0, 0, 0, 0, 1, 0, 0, 0, 0x34, 0x12, 0, 0, 0xef, 0xff, 0xff, 0xff, 0x6b];
    assert_eq!(bytes[bytes.len() - code.len()..], code);
}

#[test]
fn unknown_sections_are_skipped_or_refused() {
    let bytes = full().to_bytes().unwrap();
    assert_eq!(decode(&with_section(bytes.clone(), 0xfff0, b"whatever")).unwrap(), full());
    let refused = with_section(Module::default().to_bytes().unwrap(), 0x70, b"whatever");
    assert_eq!(decode(&refused).unwrap_err().reason, DecodeReason::Section(0x70));
    let again = with_section(bytes, section::METADATA, b"x");
    assert_eq!(decode(&again).unwrap_err().reason, DecodeReason::Misplaced(section::METADATA));
}

#[test]
fn damage_is_found() {
    let bytes = full().to_bytes().unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            assert!(decode(&bad).is_err(), "byte {at} bit {bit}");
        }
        assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn what_hides_behind_a_good_checksum_is_canonical_or_refused() {
    let bytes = full().to_bytes().unwrap();
    let ids = section_ids(&bytes);
    // A changed id may be one that is skipped, and what is skipped is lost.
    for at in (HEADER..bytes.len()).filter(|at| !ids.contains(at) && !ids.contains(&(at - 1))) {
        for value in [0, 1, 2, 0x7f, 0x80, 0xef, 0xff] {
            let mut bad = bytes.clone();
            bad[at] = value;
            let bad = sealed(bad);
            if let Ok(module) = decode(&bad) {
                assert_eq!(module.to_bytes().as_deref(), Ok(&bad[..]), "byte {at} = {value}");
            }
        }
    }
}

#[test]
fn counts_are_checked_before_allocation() {
    let huge = with_section(Module::default().to_bytes().unwrap(), section::PORTS, &u32::MAX.to_le_bytes());
    assert_eq!(decode(&huge).unwrap_err().reason, DecodeReason::Truncated);
    let nops = Module { push: Some(Handler { code: vec![Inst::new(Op::Nop); 100], ..Handler::default() }), ..Module::default() };
    let limits = DecodeLimits { instructions: 99, ..DecodeLimits::default() };
    let error = Module::from_bytes(&nops.to_bytes().unwrap(), &limits).unwrap_err();
    assert_eq!(error.reason, DecodeReason::Limit("instructions"));
}

#[test]
fn a_target_between_instructions_is_refused() {
    let code = vec![Inst::with(Op::Push, 1), Inst::with(Op::JumpW, 0)];
    let mut bytes = Module { push: Some(Handler { code, ..Handler::default() }), ..Module::default() }.to_bytes().unwrap();
    let at = bytes.len() - 4;
    bytes[at] += 1;
    let error = decode(&sealed(bytes)).unwrap_err();
    assert_eq!((error.offset, error.reason), (at - 1, DecodeReason::Target));
}

#[test]
fn what_has_no_binary_form_is_refused() {
    let reason = |code: Vec<Inst>| {
        let error = Module { push: Some(Handler { code, ..Handler::default() }), ..Module::default() }.to_bytes().unwrap_err();
        assert_eq!(error.handler, Some(HandlerKind::Push));
        (error.index, error.reason)
    };
    assert_eq!(reason(vec![Inst::with(Op::JumpW, 1)]), (0, EncodeReason::Target));
    assert_eq!(reason(vec![Inst::with(Op::PopI, 256)]), (0, EncodeReason::Immediate));
    assert_eq!(reason(vec![Inst::with(Op::Nop, 1)]), (0, EncodeReason::Immediate));
    assert_eq!(reason(vec![Inst::with(Op::WAdd, 2049)]), (0, EncodeReason::Immediate));
    assert_eq!(reason(vec![Inst::new(Op::Switch)]), (0, EncodeReason::Extra));
    let over = Inst { op: Op::WPush, imm: [4, 0, 0], extra: Extra::Const(Box::new([16])) };
    assert_eq!(reason(vec![over]), (0, EncodeReason::Extra));
}

#[test]
fn a_jump_out_of_reach_is_written_wide() {
    let mut code = vec![Inst::with(Op::Push, 0); 30];
    code.push(Inst::with(Op::Jump, 0));
    let module = Module { push: Some(Handler { code, ..Handler::default() }), ..Module::default() };
    let again = Module::from_bytes(&module.to_bytes().unwrap(), &DecodeLimits::default()).unwrap();
    let last = &again.push.unwrap().code[30];
    assert_eq!((last.op, last.imm[0]), (Op::JumpW, 0));
}

#[test]
fn relaxing_widens_only_what_is_out_of_reach() {
    let mut code = vec![Inst::with(Op::Jump, 26)];
    code.extend(std::iter::repeat_n(Inst::with(Op::Push, 0), 25));
    code.push(Inst::with(Op::Jump, 25));
    let mut near = Handler { code, ..Handler::default() };
    relax(&mut near);
    assert_eq!((near.code[0].op, near.code[26].op), (Op::Jump, Op::Jump));
    near.code.insert(1, Inst::with(Op::Push, 0));
    near.code[0].imm[0] = 27;
    relax(&mut near);
    assert_eq!((near.code[0].op, near.code[27].op), (Op::JumpW, Op::Jump));
}
