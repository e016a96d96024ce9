//! `netvm ctl conflicts`: what the transactions of a run came to, and which tables, keys and lines
//! of elements they conflicted about.

use super::Client;
use crate::failure::Outcome;
use crate::out::Out;
use serde_json::{Value, json};

/// Of all elements that run as transactions, or of one.
pub(super) fn tell(client: &mut Client, element: Option<&str>, json: bool, out: &mut Out) -> Outcome {
    let stats = client.ask(&json!({ "op": "stats" }))?;
    let all = stats["elements"].as_array().into_iter().flatten();
    let wanted = |it: &&Value| it.get("transactions").is_some() && element.is_none_or(|name| it["name"] == name);
    let found: Vec<Value> =
        all.filter(wanted).map(|it| json!({ "name": it["name"], "class": it["class"], "transactions": it["transactions"] })).collect();
    if json {
        return out.json(&found);
    }
    match found.is_empty() {
        true => out.line("no element runs as transactions: netvm run --order flow --state transaction"),
        false => found.iter().flat_map(lines).try_for_each(|line| out.line(&line)),
    }
}

/// An element's: a line of counts, and one for each thing that runs conflicted about.
fn lines(element: &Value) -> Vec<String> {
    let of = &element["transactions"];
    let number = |name: &str| of[name].as_u64().unwrap_or(0);
    let text = |name: &str| element[name].as_str().unwrap_or_default();
    let [commits, aborts, locked] = ["commits", "aborts", "locked"].map(number);
    let part = 100.0 * aborts as f64 / (commits + aborts + locked).max(1) as f64;
    let head =
        format!("{} :: {}: {commits} commits, {aborts} aborts ({part:.1} %), {locked} runs with the lock", text("name"), text("class"));
    let conflicts = of["conflicts"].as_array().into_iter().flatten().map(|it| format!("  {}", conflict(it)));
    std::iter::once(head).chain(conflicts).collect()
}

/// How often, and about what: table and key, or variable; and the lines of the element's source.
pub(crate) fn conflict(of: &Value) -> String {
    let about = of["about"].as_str().unwrap_or_default();
    let key = match (of["key"].as_str(), of["full"].as_bool()) {
        (Some(key), _) => format!(" {key}"),
        (None, Some(true)) => " (full)".to_owned(),
        (None, _) => String::new(),
    };
    let lines: Vec<String> = of["lines"].as_array().into_iter().flatten().map(Value::to_string).collect();
    let at = match lines.len() {
        0 => String::new(),
        1 => format!(" (line {})", lines[0]),
        _ => format!(" (lines {})", lines.join(", ")),
    };
    format!("{:>8} {about}{key}{at}", of["count"].as_u64().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_places_are_told() {
        let place = |about: &str, key: Option<&str>, full: bool, lines: &[u32]| json!({ "about": about, "key": key, "full": full, "lines": lines, "count": 5 });
        let conflicts =
            [place("flows", Some("0a000001"), false, &[12, 30]), place("flows", None, true, &[30]), place("next", None, false, &[])];
        let element = json!({ "name": "f", "class": "FlowCount", "transactions": { "commits": 90, "aborts": 10, "locked": 0, "conflicts": conflicts } });
        let wanted = [
            "f :: FlowCount: 90 commits, 10 aborts (10.0 %), 0 runs with the lock",
            "         5 flows 0a000001 (lines 12, 30)",
            "         5 flows (full) (line 30)",
            "         5 next",
        ];
        assert_eq!(lines(&element), wanted);
    }
}
