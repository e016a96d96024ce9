//! Programs that were damaged are refused or compiled, and never a panic; what is compiled
//! verifies.

use netvm_p4::{Reading, charts, check};
use serde_json::{Value, json};
use std::path::Path;

const PROGRAMS: [&str; 8] = [
    include_str!("../../../tests/p4/forward.p4"),
    include_str!("../../../tests/p4/state.p4"),
    include_str!("../../../tests/p4/meters.p4"),
    include_str!("../../../tests/p4/profiles.p4"),
    include_str!("../../../tests/p4/sets.p4"),
    include_str!("../../../tests/p4/learn.p4"),
    include_str!("../../../tests/p4/psa_paths.p4"),
    include_str!("../../../tests/p4/psa_objects.p4"),
];

/// Files for BMv2.
const FILES: [&str; 2] = [include_str!("../../../tests/p4/bmv2.json"), include_str!("../../../tests/p4/bmv2_old.json")];

/// True if the program was compiled.
fn survives(text: &str) -> bool {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    match check(Path::new("t.p4"), text, reading) {
        Ok((pipeline, warnings)) => {
            let is_made = pipeline.map(|pipeline| netil::verify(pipeline.module).unwrap()).is_some();
            assert_eq!(warnings.list().count() > 0, !warnings.render(false).is_empty());
            assert!(charts(Path::new("t.p4"), text, reading).unwrap().iter().all(|c| c.arrows.iter().all(|a| a.to < c.boxes.len())));
            is_made
        }
        Err(refused) => {
            assert!(!refused.first().is_empty() && refused.render(false).contains("error"));
            false
        }
    }
}

/// True if what was made of a file for BMv2 was compiled.
fn survives_json(text: &str) -> bool {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    match check(Path::new("t.json"), text, reading) {
        Ok((pipeline, _)) => pipeline.map(|pipeline| netil::verify(pipeline.module).unwrap()).is_some(),
        Err(refused) => {
            let drawn = refused.render(false);
            assert!(!refused.first().is_empty() && drawn.contains("error") && drawn.contains("t.json"), "{drawn}");
            false
        }
    }
}

/// All places in a value.
fn places(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().enumerate().for_each(|(n, v)| places(v, format!("{at}/{n}"), out)),
        Value::Object(all) => {
            all.iter().for_each(|(name, v)| places(v, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), out))
        }
        _ => {}
    }
    out.push(at);
}

/// Files for BMv2 in which a value was changed, taken away, or stands in another's place.
#[test]
fn damaged_files_do_no_harm() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cases, mut seed) = (number("NETVM_CASES", 600), number("NETVM_SEED", 3));
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        ((seed >> 5) % below.max(1) as u64) as usize
    };
    let fixed = [
        json!(null),
        json!(-1),
        json!(0),
        json!(1u64 << 40),
        json!("0xfffffffffffffffffff"),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
    ];
    let mut compiled = 0;
    for case in 0..cases {
        let whole: Value = serde_json::from_str(FILES[case as usize % FILES.len()]).unwrap();
        let (mut all, mut changed) = (Vec::new(), whole.clone());
        places(&whole, String::new(), &mut all);
        for _ in 0..1 + random(2) {
            let other = whole.pointer(&all[random(all.len())]).unwrap().clone();
            let new = if random(2) == 0 { other } else { fixed[random(fixed.len())].clone() };
            if let Some(place) = changed.pointer_mut(&all[random(all.len())]) {
                *place = new;
            }
        }
        compiled += u64::from(survives_json(&changed.to_string()));
    }
    assert!(compiled > cases / 20, "{compiled} of {cases}: some damage does not matter");
    let text = FILES[0];
    for at in (0..text.len()).step_by(997) {
        assert!(!survives_json(&text[..at]), "half a file");
    }
    assert!(!survives_json(&"[".repeat(10_000)) && !survives_json("") && !survives_json("1") && survives_json(text));
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

/// Several pieces of several programs put together by chance, from a seed, for as long as
/// `NETVM_SECONDS` says (1 by default).
#[test]
fn programs_of_pieces_do_no_harm() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (seconds, mut seed) = (number("NETVM_SECONDS", 1), number("NETVM_SEED", 1));
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    let (start, mut compiled, mut all) = (std::time::Instant::now(), 0u64, 0u64);
    while start.elapsed().as_secs() < seconds {
        let mut text = PROGRAMS[random(PROGRAMS.len())].to_owned();
        for _ in 0..1 + random(4) {
            let other = PROGRAMS[random(PROGRAMS.len())];
            let (own, theirs) = (words(&text), words(other));
            let (at, length) = (random(own.len()), random(6));
            let (from, taken) = (random(theirs.len()), random(12));
            let end = own[(at + length).min(own.len() - 1)];
            let piece = &other[theirs[from]..theirs[(from + taken).min(theirs.len() - 1)]];
            text = format!("{}{piece}{}", &text[..own[at].min(end)], &text[end..]);
        }
        let began = std::time::Instant::now();
        compiled += u64::from(survives(&text));
        all += 1;
        assert!(began.elapsed().as_secs() < 20, "this takes too long:\n{text}");
    }
    assert!(compiled > 0 || all < 20, "none of {all} programs was right");
}
