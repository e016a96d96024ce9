//! `netvm ctl table …` for tables of elements, named ELEMENT.TABLE: entries by the names of their
//! fields, where the class gives them such, otherwise in hexadecimal.

use super::Client;
use super::p4::Table;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use serde_json::{Value, json};

/// Does it, and prints what it tells. False if it is about no table of an element.
pub(super) fn table(client: &mut Client, table: &Table, out: &mut Out) -> Outcome<bool> {
    let all = client.ask(&json!({ "op": "elements" }))?;
    let tables = tables(&all);
    let named = |name: &str| tables.iter().any(|(known, _)| known == name);
    match table {
        Table::List if !tables.is_empty() && !has_p4(&all) => list(client, &tables, out)?,
        Table::Dump { table: Some(name) } if named(name) => dump(client, &tables, name, out)?,
        Table::Dump { table: None } if !tables.is_empty() && !has_p4(&all) => {
            for (name, _) in &tables {
                out.line(&format!("{name}:"))?;
                dump(client, &tables, name, out)?;
            }
        }
        Table::Add { entry } if entry.first().is_some_and(|name| named(name)) => write(client, "add", &entry[0], &entry[1..])?,
        Table::Delete { table, entry } if named(table) => write(client, "remove", table, entry)?,
        Table::Modify { table, .. } | Table::Clear { table } | Table::SetDefault { table, .. } if named(table) => {
            return Err(Failure::usage("entries of elements' tables are added (which changes those of the same key) and deleted"));
        }
        _ if has_p4(&all) => return Ok(false),
        _ => return Err(unknown(table.named(), &tables)),
    }
    Ok(true)
}

/// No element has that table, and no P4 program runs.
fn unknown(name: Option<&str>, tables: &[(String, bool)]) -> Failure {
    let known: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
    match (name, &known[..]) {
        (_, []) => Failure::failed("no element has a table there, and no P4 program runs"),
        (Some(name), known) => Failure::failed(format_args!("no table is called {name}; there are {}", known.join(", "))),
        (None, known) => Failure::failed(format_args!("there are the tables {}", known.join(", "))),
    }
}

fn has_p4(elements: &Value) -> bool {
    elements.as_array().into_iter().flatten().any(|element| element["class"] == "P4")
}

/// Tables of elements, ELEMENT.TABLE, and whether their entries have names.
fn tables(elements: &Value) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for element in elements.as_array().into_iter().flatten().filter(|element| element["class"] != "P4") {
        let handlers: Vec<&str> = element["handlers"].as_array().into_iter().flatten().filter_map(|it| it["name"].as_str()).collect();
        for name in handlers.iter().filter_map(|handler| handler.strip_suffix(".list")) {
            let dumps = handlers.iter().any(|handler| handler.strip_suffix(".dump") == Some(name));
            found.push((format!("{}.{name}", element["name"].as_str().unwrap_or_default()), dumps));
        }
    }
    found
}

fn list(client: &mut Client, tables: &[(String, bool)], out: &mut Out) -> Outcome {
    for (name, _) in tables {
        let count = client.ask(&json!({ "op": "read", "handler": format!("{name}.count") }))?;
        out.line(&format!("{name}\t{}", count.as_str().unwrap_or_default().trim()))?;
    }
    Ok(())
}

fn dump(client: &mut Client, tables: &[(String, bool)], name: &str, out: &mut Out) -> Outcome {
    let dumps = tables.iter().any(|(known, dumps)| known == name && *dumps);
    let entries = client.ask(&json!({ "op": "read", "handler": format!("{name}.{}", if dumps { "dump" } else { "list" }) }))?;
    entries.as_str().unwrap_or_default().lines().try_for_each(|line| out.line(line))
}

fn write(client: &mut Client, what: &str, table: &str, words: &[String]) -> Outcome {
    client.ask(&json!({ "op": "write", "handler": format!("{table}.{what}"), "text": words.join(" ") })).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_their_handlers() {
        let handler = |name: &str| json!({ "name": name });
        let elements = json!([
            { "name": "f", "class": "FlowCount", "handlers": [handler("count"), handler("counts.list"), handler("counts.dump"), handler("old.list")] },
            { "name": "s", "class": "P4", "handlers": [handler("t.list")] },
        ]);
        assert_eq!(tables(&elements), [("f.counts".to_owned(), true), ("f.old".to_owned(), false)]);
        assert!(has_p4(&elements));
    }
}
