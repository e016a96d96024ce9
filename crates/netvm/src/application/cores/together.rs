//! What replicas say of a handler together, and whether they could do what was asked of all.

use super::entries;
use super::handlers::GONE;
use runtime::graph::HandlerError;

/// What replicas say together: by how much numbers have grown is summed; anything else must be said
/// by all.
pub(super) fn together(handler: &str, values: Vec<String>, base: Option<u64>) -> Result<String, HandlerError> {
    // Each has a thread of its own; entries of tables that are divided by flow are one replica's
    // each.
    if handler.ends_with(".home_thread") {
        return Ok(values.join(" "));
    }
    if handler.ends_with(".list") && values.iter().any(|value| *value != values[0]) {
        return Ok(entries::listed(&values));
    }
    if handler.ends_with(".dump") && values.iter().any(|value| *value != values[0]) {
        return Ok(entries::dumped(&values));
    }
    let numbers: Option<Vec<u64>> = values.iter().map(|value| value.trim().parse().ok()).collect();
    if let (Some(numbers), Some(base)) = (numbers, base) {
        let grown = |sum: u64, number: &u64| sum.wrapping_add(number.wrapping_sub(base));
        return Ok(numbers.iter().fold(base, grown).to_string());
    }
    if let Some(sum) = crate::p4::summed(&values) {
        return Ok(sum);
    }
    match values.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => Ok(first.clone()),
        Some(_) => Err(HandlerError::failed(format!("replicas say different things of '{handler}'; they are {}", values.join(" | ")))),
        None => Err(HandlerError::failed(GONE)),
    }
}

/// Whether one of several could do it; if none, why the first could not, if there is one.
pub(super) fn any(done: Vec<Result<(), HandlerError>>) -> Result<(), HandlerError> {
    if done.iter().any(Result::is_ok) { Ok(()) } else { done.into_iter().next().unwrap_or_else(|| Err(HandlerError::failed(GONE))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_tables_are_put_together_and_threads_listed() {
        let of = |handler: &str, values: [&str; 2]| together(handler, values.map(str::to_owned).to_vec(), Some(1)).unwrap();
        assert_eq!(of("f.counts.list", ["02 b\n01 a\n", "03 c\n01 a\n"]), "01 a\n02 b\n03 c\n");
        assert_eq!(of("f.counts.list", ["02 b\n01 a\n", "02 b\n01 a\n"]), "02 b\n01 a\n");
        assert_eq!(of("f.counts.dump", ["key=10 -> n=1\n", "key=9 -> n=2\n"]), "key=9 -> n=2\nkey=10 -> n=1\n");
        assert_eq!(of("f.home_thread", ["2", "3"]), "2 3");
    }

    #[test]
    fn numbers_that_packets_changed_are_summed_and_others_are_not() {
        let of = |values: &[&str], base| together("a.b", values.iter().map(|v| (*v).to_owned()).collect(), base);
        assert_eq!(of(&["3", "4"], Some(0)), Ok("7".to_owned()));
        assert_eq!(of(&["1000", "1000"], Some(1000)), Ok("1000".to_owned()));
        assert_eq!(of(&["10.0.0.1", "10.0.0.1"], None), Ok("10.0.0.1".to_owned()));
        assert!(of(&["x", "y"], None).unwrap_err().text().contains("x | y"));
    }
}
