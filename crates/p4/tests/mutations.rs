//! Programs that were damaged are refused or compiled, and never a panic; what is compiled verifies.

use netvm_p4::{Reading, compile};
use std::path::Path;

const PROGRAMS: [&str; 2] = [include_str!("../../../tests/p4/forward.p4"), include_str!("../../../tests/p4/state.p4")];

/// True if the program was compiled.
fn survives(text: &str) -> bool {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false };
    match compile(Path::new("t.p4"), text, reading) {
        Ok(pipeline) => {
            netil::verify(pipeline.module).unwrap();
            true
        }
        Err(refused) => {
            assert!(!refused.first().is_empty() && refused.render(false).contains("error"));
            false
        }
    }
}

/// Places between words.
fn words(text: &str) -> Vec<usize> {
    text.char_indices().filter(|(_, c)| !c.is_ascii_alphanumeric()).map(|(n, _)| n).collect()
}

#[test]
fn damaged_programs_do_no_harm() {
    for text in PROGRAMS {
        assert!(survives(text));
        let places = words(text);
        let mut compiled = 0;
        for (n, pair) in places.windows(2).enumerate().filter(|(n, _)| n % 3 == 0) {
            let (a, b) = (pair[0], pair[1]);
            let swapped = places[(n * 7 + 11) % (places.len() - 1)..].iter().take(2).copied().collect::<Vec<_>>();
            let piece = if swapped.len() == 2 { &text[swapped[0]..swapped[1]] } else { "{" };
            // A word less, another word in its place, and the end.
            compiled += usize::from(survives(&format!("{}{}", &text[..a], &text[b..])));
            compiled += usize::from(survives(&format!("{}{piece}{}", &text[..a], &text[b..])));
            if n % 30 == 0 {
                survives(&text[..a]);
            }
        }
        assert!(compiled > 10, "some damage does not matter");
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    for (open, middle, close) in
        [("(", "1", ")"), ("{", "1", "}"), ("-", "1", ""), ("bit<(", "8", ")>"), ("a<", "b", ">"), ("1 + ", "1", "")]
    {
        let text = format!("const int x = {}{middle}{};", open.repeat(20_000), close.repeat(20_000));
        assert!(!survives(&text), "{open}");
    }
    assert!(!survives("#define A A A\n#define B B(B)\nA B"));
    assert!(!survives("#include \"t.p4\"") && !survives("#if ((((1\n#endif"));
}
