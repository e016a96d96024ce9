//! Entries of a table that replicas have parts of, as one table tells them: each once, in the order
//! of keys.
//!
//! `TABLE.list` has lines whose order as texts is that of their keys: all digits are there.
//! `TABLE.dump` has lines `FIELD=VALUE … -> FIELD=VALUE …`, whose keys are compared as what they
//! are: numbers, addresses of IPv4, IPv6 and Ethernet. Of tables whose entries packets make these
//! are all; entries with masks are made from outside, alike in all replicas.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The lines of `list`.
pub(super) fn listed(values: &[String]) -> String {
    let lines: BTreeSet<&str> = values.iter().flat_map(|value| value.lines()).collect();
    lines.into_iter().fold(String::new(), |text, line| text + line + "\n")
}

/// Those of `dump`.
pub(super) fn dumped(values: &[String]) -> String {
    let lines: BTreeMap<(Vec<Scalar<'_>>, &str), &str> =
        values.iter().flat_map(|value| value.lines()).map(|line| ((key(line), line), line)).collect();
    lines.into_values().fold(String::new(), |text, line| text + line + "\n")
}

/// How many keys there are in lines of `list`: the value is the last word.
pub(super) fn distinct(list: &str) -> usize {
    list.lines().map(|line| line.rsplit_once(' ').map_or(line, |(key, _)| key)).collect::<BTreeSet<_>>().len()
}

/// A part of a key, in the order in which tables have it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Scalar<'t> {
    Number(u128),
    Text(&'t str),
}

fn key(line: &str) -> Vec<Scalar<'_>> {
    let (key, _) = line.split_once("->").unwrap_or((line, ""));
    key.split_whitespace().map(|word| scalar(word.split_once('=').map_or(word, |(_, value)| value))).collect()
}

/// Numbers below 0 are the greatest: their first bit is set. Addresses of Ethernet have all their
/// digits.
fn scalar(text: &str) -> Scalar<'_> {
    let number = || text.parse().ok().or_else(|| text.parse::<i128>().ok().map(i128::cast_unsigned));
    let address = || text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into());
    let number = number().or_else(address).or_else(|| text.parse::<Ipv6Addr>().ok().map(u128::from));
    number.map_or(Scalar::Text(text), Scalar::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_the_order_of_keys() {
        for [first, second] in [
            ["key=10.0.0.9", "key=10.0.0.10"],
            ["port=9 delta=7", "port=10 delta=3"],
            ["delta=5", "delta=-1"],
            ["delta=-2", "delta=-1"],
            ["mac=02:00:00:00:00:9a", "mac=02:00:00:00:01:00"],
            ["ip=2001:db8::9", "ip=2001:db8::10"],
        ] {
            let (first, second) = (format!("{first} -> n=2\n"), format!("{second} -> n=1\n"));
            assert_eq!(dumped(&[second.clone(), first.clone() + &second]), first + &second);
        }
    }

    #[test]
    fn an_entry_that_several_have_is_one() {
        assert_eq!(distinct("01 aa\n01 bb\n02 aa\n"), 2);
        assert_eq!(distinct(""), 0);
    }
}
