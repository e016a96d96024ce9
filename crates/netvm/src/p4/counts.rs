//! What replicas of a program on several cores say of counters, and are told: each has counted its
//! own packets, and numbers that are written are those of the first.

/// The command that sets a counter.
const WRITE: &str = "counter_write";

/// Commands as the replica of that number gets them, from 0: what all have counted is a sum, so
/// that a counter is set in the first, and to 0 in the others.
pub(crate) fn of_replica(commands: &str, nth: usize) -> String {
    if nth == 0 || !commands.contains(WRITE) {
        return commands.to_owned();
    }
    let line = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [WRITE, counter, index, _, _] => format!("{WRITE} {counter} {index} 0 0"),
        _ => line.to_owned(),
    };
    commands.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Lines of which only the numbers in `N packets, M bytes` differ, with their sums; `None` if
/// something else differs, or there are no such numbers.
pub(crate) fn summed(values: &[String]) -> Option<String> {
    let rows: Vec<Vec<&str>> = values.iter().map(|value| value.split('\n').collect()).collect();
    let count = rows.first()?.len();
    if rows.iter().any(|row| row.len() != count) {
        return None;
    }
    let mut counted = false;
    let lines = (0..count).map(|n| line(rows.iter().map(|row| row[n]), &mut counted)).collect::<Option<Vec<String>>>()?;
    counted.then(|| lines.join("\n"))
}

fn line<'a>(mut said: impl Iterator<Item = &'a str>, counted: &mut bool) -> Option<String> {
    let first = said.next()?;
    let Some((before, mut sums)) = split(first) else { return said.all(|other| other == first).then(|| first.to_owned()) };
    for other in said {
        let (_, numbers) = split(other).filter(|(own, _)| *own == before)?;
        sums = [sums[0].wrapping_add(numbers[0]), sums[1].wrapping_add(numbers[1])];
    }
    *counted = true;
    Some(format!("{before}{} packets, {} bytes", sums[0], sums[1]))
}

/// What stands before both numbers, which end the line.
fn split(line: &str) -> Option<(&str, [u64; 2])> {
    let (line, bytes) = line.strip_suffix(" bytes")?.rsplit_once(" packets, ")?;
    let at = line.rfind(' ')? + 1;
    Some((&line[..at], [line[at..].parse().ok()?, bytes.parse().ok()?]))
}

#[cfg(test)]
mod tests {
    use super::{of_replica, summed};

    #[test]
    fn a_counter_is_set_in_one_replica() {
        let commands = "table_add t a 1 => 2\ncounter_write c 1 30 400\n";
        assert_eq!(of_replica(commands, 0), commands);
        assert_eq!(of_replica(commands, 2), "table_add t a 1 => 2\ncounter_write c 1 0 0\n");
        assert_eq!(of_replica("counter_write c", 1), "counter_write c");
    }

    #[test]
    fn only_counts_may_differ() {
        let of = |values: &[&str]| summed(&values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["c[1]: 3 packets, 180 bytes\n", "c[1]: 0 packets, 0 bytes\n"]).unwrap(), "c[1]: 3 packets, 180 bytes\n");
        assert_eq!(of(&["a\nc[1]: 3 packets, 1 bytes", "a\nc[1]: 2 packets, 2 bytes"]).unwrap(), "a\nc[1]: 5 packets, 3 bytes");
        assert_eq!(of(&["c[1]: 3 packets, 1 bytes", "c[2]: 2 packets, 2 bytes"]), None);
        assert_eq!(of(&["a\nc[1]: 3 packets, 1 bytes", "b\nc[1]: 2 packets, 2 bytes"]), None);
        assert_eq!(of(&["r = 1", "r = 1"]), None);
    }
}
