//! Tests of the assembler; whole programs and their errors are in `tests/filetests/asm`.

use super::*;
use crate::module::{Extra, Handler, Inst, PortKind};

fn push(code: &str) -> Handler {
    module(&format!("segment .push\n{code}\nends")).push.unwrap()
}

fn module(source: &str) -> Module {
    assemble(source, "t.netil").unwrap_or_else(|e| panic!("{e}"))
}

/// Message and help of every error.
fn errors(source: &str) -> Vec<(u32, u32, String)> {
    let errors = assemble(source, "t.netil").unwrap_err().errors;
    errors.into_iter().map(|e| (e.line, e.column, e.message + &e.help.map(|h| format!(" ({h})")).unwrap_or_default())).collect()
}

fn code_error(code: &str) -> String {
    let mut all = errors(&format!("segment .push\n{code}\nends"));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0).2
}

#[test]
fn the_papers_filter() {
    let h = push("; Code Segment\n.maxstacksize 10\npop\npush 12\nupload.16\npush 0x800\njcmp.neq discard\nret 1\ndiscard:\nret 0");
    let want = [
        Inst::new(Op::Pop),
        Inst::with(Op::Push, 12),
        Inst::new(Op::UpLoad16),
        Inst::with(Op::Push, 0x800),
        Inst::with(Op::JCmpNeq, 7),
        Inst::with(Op::Push, 1),
        Inst::new(Op::Ret),
        Inst::with(Op::Push, 0),
        Inst::new(Op::Ret),
    ];
    assert_eq!(h.code, want);
    assert_eq!((h.max_stack, h.labels[0].name.as_str(), h.labels[0].at), (10, "discard", 7));
    assert_eq!(h.lines, [4, 5, 6, 7, 8, 9, 9, 11, 11]);
}

#[test]
fn line_ends_do_not_matter_but_after_ret() {
    assert_eq!(push("push\n\n 1 push 2 add ret").code.len(), 4);
    assert_eq!(push("ret x: ret").code.len(), 2);
    assert_eq!(push("ret ret").code.len(), 2);
    assert_eq!(push("k equ 3 ret k").code, [Inst::with(Op::Push, 3), Inst::new(Op::Ret)]);
    assert_eq!(push("ret k equ 3").code, [Inst::new(Op::Ret)]);
    assert_eq!(push("ret (1+1)").code[0], Inst::with(Op::Push, 2));
}

#[test]
fn expressions() {
    let value = |e: &str| push(&format!("a equ 6\npush {e}\nret")).code[0].imm[0];
    assert_eq!(value("1 + 2 * 3"), 7);
    assert_eq!(value("(1 + 2) * 3"), 9);
    assert_eq!(value("20 - 5 - 4"), 11);
    assert_eq!(value("-2 * -3 + a / 4"), 7);
    assert_eq!(value("-(a)"), (-6i32).cast_unsigned());
    assert_eq!(value("10.0.0.1"), 0x0a00_0001);
    assert_eq!(value("dd:ee:00:01"), 0xddee_0001);
    assert_eq!(value("0xFFFFFFFF"), u32::MAX);
    assert_eq!(value("- - 1"), 1);
}

#[test]
fn names_defined_later() {
    let m = module(
        "segment .push\n pkt.senddup out push table + 1 copro.init l, table pop set.has web ret ends segment .data\n x db 1 table dd table ends segment .ports\n push_input in push_output a, out ends segment .sets\n.set web, 32\n80 ends segment .metadata\n.use_coprocessor lookup as l ends",
    );
    let code = m.push.unwrap().code;
    assert_eq!(code[..3], [Inst::with(Op::PktSendDup, 2), Inst::with(Op::Push, 2), Inst::with2(Op::CoproInit, 0, 1)]);
    assert_eq!(m.data, [1, 0, 0, 0, 1]);
    assert_eq!(m.ports[2].kind, PortKind::PushOutput);
}

#[test]
fn coprocessors_by_name_alias_and_index() {
    let meta = "segment .metadata .use_coprocessor lookup as a .use_coprocessor lookup as b .use_coprocessor regexp ends";
    let m = module(&format!(
        "{meta} segment .push copro.invoke b, add_key copro.invoke lookup, 1 copro.in 2, 3 copro.out regexp, 1+1 ret ends"
    ));
    let code = m.push.unwrap().code;
    let want = [
        Inst::with2(Op::CoproInvoke, 1, 1),
        Inst::with2(Op::CoproInvoke, 0, 1),
        Inst::with2(Op::CoproIn, 2, 3),
        Inst::with2(Op::CoproOut, 2, 2),
    ];
    assert_eq!(code[..4], want);
}

#[test]
fn switches() {
    let h = push("switch 3:\n 0: a\n 1.2.3.4: b\n default: a\n 0x7: b\na: nop\nb: ret");
    let Extra::Switch(s) = &h.code[0].extra else { panic!() };
    assert_eq!((s.default, &s.cases[..]), (1, &[(0, 1), (0x0102_0304, 2), (7, 2)][..]));
    let h = push("k equ 9\nswitch 1: k: out\nout: ret");
    let Extra::Switch(s) = &h.code[0].extra else { panic!() };
    assert_eq!((s.default, &s.cases[..]), (1, &[(9, 1)][..]));
}

#[test]
fn data() {
    let m = module("segment .data\n.byte_order little_endian\n a db \"x\\x41\\\\\\n\", 255, -1\n dw 0x1234, 2\n c dd 10.0.0.1\n end: ends");
    assert_eq!(m.data, b"xA\\\\n\xff\xff\x34\x12\x02\x00\x01\x00\x00\x0a");
    assert_eq!(m.data_labels.iter().map(|l| l.at).collect::<Vec<_>>(), [0, 11, 15]);
    assert_eq!(module("segment .data dw 0x1234 ends").data, [0x12, 0x34]);
}

#[test]
fn older_spellings() {
    let m = module("segment .coprocessors use_coprocessor associative ends segment .init .datamemsize 12 ret ends");
    assert_eq!((m.data_size, m.coprocessors[0].name.as_str()), (12, "associative"));
    assert_eq!(module("segment .init set.mem 9 ret ends").data_size, 9);
}

#[test]
fn new_mnemonics_are_still_names() {
    let m = module("div equ 3 segment .ports push_output div ends segment .push div: push div div pkt.senddup div jump div ends");
    let want = [Inst::with(Op::Push, 3), Inst::new(Op::Div), Inst::new(Op::PktSendDup), Inst::new(Op::Jump)];
    assert_eq!(m.push.unwrap().code, want);
}

#[test]
fn sets_and_wide_constants() {
    let m = module(
        "lo equ 80\nsegment .sets\n.set web, 16\n lo, 443 8000-8080\n 0x50/12\n.set v6, 128\n2001:db8::/32, ::1\n.set mac, 48\n00:11:22:33:44:55\n.set none, 9\nends",
    );
    assert_eq!(m.sets[0].small_ranges().collect::<Vec<_>>(), [(80, 95), (443, 443), (8000, 8080)]);
    assert!(m.sets[1].contains(&[77, 0x2001_0db8_0000_0001]) && !m.sets[1].contains(&[77, 0x2001_0db9_0000_0001]));
    assert_eq!(m.sets[2].ranges()[0].low[0], 0x0011_2233_4455);
    assert!(m.sets[3].ranges().is_empty());
    let h = push("w.push 128, 2001:db8::1 w.push 8, -1 w.push 70, 0x3fffffffffffffffff w.push 9, (3+4)*2 ret");
    let limbs = |i: usize| match &h.code[i].extra {
        Extra::Const(c) => c.to_vec(),
        _ => vec![],
    };
    assert_eq!([limbs(0), limbs(1), limbs(2), limbs(3)], [vec![1, 0x2001_0db8_0000_0000], vec![255], vec![u64::MAX, 63], vec![14]]);
}

#[test]
fn locals_lines_and_fields() {
    let h = push(".locals 2 .local 3, 128\n.lines 7+2, 9*2, 0\n nop nop nop nop nop ret");
    assert_eq!((h.locals, h.lines), (vec![32, 32, 32, 128], vec![7, 8, 9, 9, 9, 0]));
    let m = module("segment .metadata .netpe_name A .info_size 8 .info_field mark, 4, 2*2 .datamem_size 3 .source \"é\" ends");
    assert_eq!((m.name.as_str(), m.info_size, m.info_fields[0].offset, m.data_size, m.source.as_str()), ("A", 8, 4, 3, "é"));
}

#[test]
fn shared_size_becomes_an_instruction() {
    let m = module("segment .metadata .shared_size 64 ends segment .init a: jump a ends");
    assert_eq!(m.init.as_ref().unwrap().code, [Inst::with(Op::SetShare, 64), Inst::with(Op::Jump, 1)]);
    assert_eq!(module("segment .metadata .shared_size 64 ends").init.unwrap().code.len(), 2);
}

#[test]
fn jumps_out_of_reach_become_wide() {
    let far = |n: usize| push(&format!("jump end\n{}end: ret", "push 1\n".repeat(n))).code[0].op;
    assert_eq!((far(25), far(26)), (Op::Jump, Op::JumpW));
}

#[test]
fn quoted_names() {
    let m = module(
        "segment .ports push_output \"a b\", \"ends\" ends segment .push \"x\\x22\": pkt.senddup \"ends\" @1: jump \"x\\x22\" jump @1 ends",
    );
    let h = m.push.unwrap();
    assert_eq!((h.labels.len(), h.labels[0].name.as_str()), (1, "x\""));
    assert_eq!(h.code, [Inst::with(Op::PktSendDup, 1), Inst::with(Op::Jump, 0), Inst::with(Op::Jump, 1)]);
}

#[test]
fn errors_name_place_and_remedy() {
    let all = errors("segment .push\n\tpusj 12\n push 1 +\n add\n jump nowhere\n pkt.send oyt\n ret\nends\nsegment .pusj\nends\n");
    let want = [
        (2, 2, "unknown instruction `pusj` (did you mean `push`?)"),
        (4, 2, "expected a number for `push`, found `add`"),
        (5, 7, "there is no label `nowhere` in this segment"),
        (6, 11, "there is no port `oyt` (did you mean `out`?)"),
        (9, 9, "unknown segment `.pusj` (did you mean `.push`?)"),
    ];
    assert_eq!(all.iter().map(|(l, c, m)| (*l, *c, m.as_str())).collect::<Vec<_>>(), want);
}

#[test]
fn each_error() {
    for (code, message) in [
        ("push", "expected a number for `push`, found `ends`"),
        ("push 4294967296", "this number does not fit in 32 bits"),
        ("push 4294967295 + 1", "4294967296 is out of range; -2147483648 to 4294967295 is possible here"),
        ("push 1/0", "this has no value: a division by zero, or too large"),
        ("push (1", "this parenthesis is not closed"),
        ("push 256.0.0.1", "a part of this address is above 255"),
        ("push lo", "`lo` is not defined (define it first: name equ value)"),
        ("push ip_host", "`ip_host` is not defined (names of hosts and services are not resolved; write the number)"),
        ("push 0x12g", "this is not a number; write 12, 0x0c, 10.0.0.1 or 0a:00:00:01"),
        ("push $", "this character has no meaning here"),
        ("add 5", "expected the next instruction (the operands before are complete), found `5`"),
        ("popi 256", "256 is out of range; -128 to 255 is possible here"),
        ("w.add 0", "0 is out of range; 1 to 2048 is possible here"),
        ("w.push 8, 256", "this does not fit in 8 bits"),
        ("w.push 8, -129", "this does not fit in 8 bits"),
        ("push2 1 2", "expected a comma, found `2`"),
        ("a: nop\na: nop", "there is a label `a` already, on line 2"),
        ("j.eq a\na:", "no instruction follows the label `a` (end the segment with `ret`, or let the label stand before an instruction)"),
        ("jump 12", "a branch goes to a label"),
        ("switch 2: 1: a\na: ret", "the switch announces 2 cases and has 1"),
        ("switch 2: 1: a 1: a\na: ret", "there is a case for 1 already, on line 2"),
        ("switch 1: 1: a default: a default: a\na: ret", "this switch has a default already"),
        ("a: switch 1: 1: a", "this switch has no default and no instruction follows it"),
        ("default: ret", "`default` is a reserved word (a `default:` belongs to the pairs of a `switch`)"),
        (".locals 65537", "there are at most 65536 local variables"),
        (".local 65536, 8", "there are at most 65536 local variables"),
        (".lines 1*4000000000", "there are more lines here than instructions"),
        (".maxstack 3", "`.maxstack` is not a directive of this segment (did you mean `.maxstacksize`?)"),
        ("copro.in lookup, 0", "there is no coprocessor `lookup` (declare it in segment .metadata with .use_coprocessor)"),
        ("set.has web", "there is no set `web` (declare it in segment .sets)"),
        ("x equ 1 x equ 2", "`x` is defined already"),
    ] {
        assert_eq!(code_error(code), message, "{code}");
    }
}

#[test]
fn errors_of_other_segments() {
    for (source, message) in [
        ("segment .push ret", "this segment is not closed (write `ends` at its end)"),
        ("segment .push ret ends segment .push ret ends", "`.push` is declared twice; the first is on line 1"),
        ("segment .data a db 1 a db 2 ends", "there is a data label `a` already, on line 1"),
        ("segment .data db 256 ends", "256 is out of range; -128 to 255 is possible here"),
        ("segment .data db 1 .byte_order network ends", "the byte order must stand before the first value"),
        ("segment .ports push_in a ends", "expected push_input, push_output, pull_input or pull_output, found `push_in`"),
        ("segment .ports push_input a, a ends", "there is a port `a` already, on line 1"),
        ("segment .metadata .netpename A ends", "`.netpename` is not a directive of this segment (did you mean `.netpe_name`?)"),
        ("segment .sets .set a, 8 300 ends", "300 does not fit in the 8 bits of this set"),
        ("segment .sets .set a, 8 9-3 ends", "this range is reversed; write the lower end first"),
        ("segment .sets .set a, 32 10.1.0.0/8 ends", "10.1.0.0 has bits below its first 8; clear them"),
        ("segment .sets .set a, 32 10.0.0.0/33 ends", "a prefix length of this set is 0 to 32"),
        ("segment .sets .set a, 32 b ends", "expected a value, `low-high` or `value/length` without blanks, found `b`"),
        ("push 1", "expected `segment .name` or `name equ value`, found `push`"),
        ("segment", "unknown segment `` (the segments are .ports .metadata .data .sets .tables .controls .init .push .pull)"),
        ("segment .push \"open", "this string is not closed"),
    ] {
        assert!(errors(source).iter().any(|e| e.2 == message), "{source}: {:?}", errors(source));
    }
}

#[test]
fn the_caret_is_under_the_place() {
    let shown = assemble("segment .push\n\tpush\t1\n\tjump  nowhere\nends", "f.netil").unwrap_err().to_string();
    let want = "f.netil:3:8: there is no label `nowhere` in this segment\n 3 | \tjump  nowhere\n   | \t      ^^^^^^^\n";
    assert_eq!(shown, want);
}

#[test]
fn hostile_text_is_bounded() {
    let nested = format!("segment .push push {}1{} ret ends", "(".repeat(100_000), ")".repeat(100_000));
    assert!(assemble(&nested, "").is_ok());
    let minus = format!("segment .push push {}1 ret ends", "-".repeat(100_000));
    assert!(assemble(&minus, "").is_ok());
    let product = format!("segment .push push {} ret ends", vec!["4294967295"; 1000].join("*"));
    assert!(assemble(&product, "").is_err());
    let bad = assemble(&"bad\n".repeat(100_000), "").unwrap_err();
    assert_eq!(bad.errors.len(), MAX_ERRORS);
}

/// Prefixes and single-byte changes of a program that uses everything.
#[test]
fn no_text_panics() {
    let source = "k equ (1+2)*3\nsegment .ports push_input in push_output out ends segment .metadata .netpe_name N .use_coprocessor lookup as l .info_field f, 0, 4 ends segment .data .byte_order network a db \"x\\x41\", k dw a ends segment .sets .set s, 32 10.0.0.0/8, 80-90 ends segment .push .locals 1 .local 1, 48 .lines 1+1, 2*2 .maxstacksize 9 pop l: push -k switch 2: 1: l 0x2: @x default: @x @x: w.push 48, 00:11:22:33:44:55 copro.invoke l, add_key set.has s ret 1 ends";
    module(source);
    for cut in 0..source.len() {
        let _ = assemble(&source[..cut], "");
        for c in ["\"", "(", ":", ",", "-", ".", "@", "0", "é", " ", "\n", "ends"] {
            let _ = assemble(&format!("{}{c}{}", &source[..cut], &source[cut + 1..]), "");
        }
    }
}
