//! Names as an attacker writes them: nothing of them is code in what is made.

use super::super::quoted::tests::{HOSTILE, skeleton};
use super::{Division, Language, counters, emit};
use crate::passes;
use netil::asm::assemble;
use netil::module::HandlerKind;

const PROGRAM: &str =
    "segment .tables\n.table t, exact, 16, 4, 8\nends\nsegment .controls\n.reason 7, why\nends\nsegment .push\npop\nret 1\nends\n";

/// A program's text in C, with that name in all places that have names.
fn text(name: &str, language: Language) -> String {
    let mut module = assemble(PROGRAM, "test").unwrap();
    module.name = name.to_owned();
    module.tables[0].name = name.to_owned();
    module.reasons[0].name = name.to_owned();
    let program = netil::verify(module).unwrap();
    let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
    let made = emit(&program, &func, language, Division::Single).unwrap();
    made.program + &made.names + &counters(&made.nodes)
}

#[test]
fn names_are_comments_and_strings_and_nothing_else() {
    for language in [Language::C, Language::OpenCl, Language::Nodes, Language::Groups] {
        let plain = skeleton(&text("name", language));
        for name in HOSTILE {
            let made = text(name, language);
            assert_eq!(skeleton(&made), plain, "{name:?}");
            assert!(made.is_ascii(), "{name:?}");
        }
    }
}
