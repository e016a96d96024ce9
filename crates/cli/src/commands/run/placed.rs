//! `--place FILE`: a placement that is written down.
//!
//! ```text
//! replicas 2
//! pin sources 0              the threads, as netvm ctl threads names them, and their cores
//! pin replica 0 1
//! replica CheckIPHeader      an element or a class that must be in replicas: where it cannot be, the run is refused with the reason
//! in-order logger            one that runs in order, although it could be in replicas
//! cut Queue                  an element or a class that a stage begins with, which has a thread of its own
//! ```
//!
//! Behind # stands a comment. What a line cannot mean is refused with its number.

use netvm::application::Cuts;
use std::fs;
use std::path::Path;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placed {
    /// How many replicas there are.
    pub replicas: usize,
    /// The core of a thread.
    pub pins: Vec<(String, usize)>,
    /// Names of elements and classes that must be in replicas.
    pub replicated: Vec<String>,
    /// Those that run in order.
    pub in_order: Vec<String>,
    /// Where these are cut into stages.
    pub cuts: Cuts,
}

/// Reads a file.
pub(crate) fn read(path: &Path, most: usize) -> Result<Placed, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if fs::metadata(path).map_err(|error| told(&error))?.len() > LONGEST {
        return Err(told(&format_args!("a placement has {LONGEST} bytes at most")));
    }
    parse(&fs::read_to_string(path).map_err(|error| told(&error))?, most).map_err(|error| told(&error))
}

fn parse(text: &str, most: usize) -> Result<Placed, String> {
    let mut placed = Placed::default();
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        take(&words, most, &mut placed).map_err(|why| format!("line {number}: {why}"))?;
    }
    if placed.replicas == 0 { Err("a line `replicas N` is missing".to_owned()) } else { Ok(placed) }
}

fn take(words: &[&str], most: usize, placed: &mut Placed) -> Result<(), String> {
    match words {
        [] => {}
        ["replicas", number] => {
            let replicas = number.parse().ok().filter(|replicas| (1..=most).contains(replicas));
            placed.replicas = replicas.ok_or_else(|| format!("there are from 1 to {most} replicas"))?;
        }
        ["pin", thread @ .., core] if !thread.is_empty() => {
            let core = core.parse().map_err(|_| format!("`{core}` is no number of a core"))?;
            placed.pins.push((thread.join(" "), core));
        }
        ["replica", name] => placed.replicated.push((*name).to_owned()),
        ["in-order", name] => placed.in_order.push((*name).to_owned()),
        ["cut", name] => match &mut placed.cuts {
            Cuts::Before(names) => names.push((*name).to_owned()),
            cuts => *cuts = Cuts::Before(vec![(*name).to_owned()]),
        },
        _ => return Err("expected `replicas N`, `pin THREAD CORE`, `replica NAME`, `in-order NAME` or `cut NAME`".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_read_and_wrong_lines_told() {
        let text = "# two\nreplicas 2\npin replica 0 1  # the first\npin sources 0\nreplica Strip\nin-order c\ncut Queue\ncut d\n";
        let placed = parse(text, 8).unwrap();
        assert_eq!((placed.replicas, placed.pins), (2, vec![("replica 0".to_owned(), 1), ("sources".to_owned(), 0)]));
        assert_eq!((placed.replicated, placed.in_order), (vec!["Strip".to_owned()], vec!["c".to_owned()]));
        assert_eq!(placed.cuts, Cuts::Before(vec!["Queue".to_owned(), "d".to_owned()]));
        for (text, why) in [
            ("", "a line `replicas N` is missing"),
            ("\nreplicas 9", "line 2: there are from 1 to 8 replicas"),
            ("pin 0", "line 1: expected"),
            ("pin sources x", "line 1: `x` is no number of a core"),
            ("stage a b", "line 1: expected"),
        ] {
            assert!(parse(text, 8).unwrap_err().contains(why), "{text}");
        }
    }
}
