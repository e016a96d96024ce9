//! `netvm ctl table …`, `netvm ctl p4 …`, `netvm ctl --bmv2 FILE`: the control plane of a P4
//! program that runs, be it an element of a graph or a switch by itself.
//!
//! All of it are commands (docs/p4.md) for the handler `command` of the element. A file is one
//! request: no packet comes between its lines.

use super::Client;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use serde_json::{Value, json};
use std::path::Path;

/// What is done with tables.
#[derive(clap::Subcommand)]
pub(super) enum Table {
    /// List tables: how many entries; of P4 programs keys and actions, too
    List,
    /// Print the entries of a table, or of all, as commands that enter them; behind each its handle
    Dump {
        /// The table; of an element ELEMENT.TABLE
        table: Option<String>,
    },
    /// Enter an entry
    Add {
        /// TABLE [PRIORITY] KEY:VALUE ... 'ACTION(PARAMETER:NUMBER, ...)', or as in BMv2: TABLE
        /// ACTION KEY... => NUMBER... [PRIORITY]; of an element's table ELEMENT.TABLE FIELD=VALUE
        /// ... -> FIELD=VALUE ...
        #[arg(required = true, allow_hyphen_values = true)]
        entry: Vec<String>,
    },
    /// Give an entry another action or other parameters
    Modify {
        /// The table
        table: String,
        /// The action
        action: String,
        /// The entry's handle
        handle: u64,
        /// Its parameters
        numbers: Vec<String>,
    },
    /// Take an entry out
    Delete {
        /// The table
        table: String,
        /// The entry's handle; of an element's table its key, FIELD=VALUE ...
        #[arg(required = true, value_name = "HANDLE|KEY")]
        entry: Vec<String>,
    },
    /// Take all entries out
    Clear {
        /// The table
        table: String,
    },
    /// Set the default action
    SetDefault {
        /// The table
        table: String,
        /// 'ACTION(PARAMETER:NUMBER, ...)', or ACTION NUMBER...
        #[arg(required = true)]
        action: Vec<String>,
    },
}

impl Table {
    /// The table that it is about, if it names one.
    pub(super) fn named(&self) -> Option<&str> {
        match self {
            Self::List => None,
            Self::Dump { table } => table.as_deref(),
            Self::Add { entry } => entry.first().map(String::as_str),
            Self::Modify { table, .. } | Self::Delete { table, .. } | Self::Clear { table } | Self::SetDefault { table, .. } => Some(table),
        }
    }

    /// The command; none for what the handler `tables` says.
    fn command(&self) -> Option<String> {
        let named = |words: &[String]| words.iter().any(|word| word.contains('('));
        Some(match self {
            Self::List => return None,
            Self::Dump { table } => format!("table_dump {}", table.as_deref().unwrap_or_default()),
            Self::Add { entry } if named(entry) => format!("add {}", entry.join(" ")),
            Self::Add { entry } => format!("table_add {}", entry.join(" ")),
            Self::Modify { table, action, handle, numbers } => format!("table_modify {table} {action} {handle} {}", numbers.join(" ")),
            Self::Delete { table, entry } => format!("table_delete {table} {}", entry.join(" ")),
            Self::Clear { table } => format!("table_clear {table}"),
            Self::SetDefault { table, action } if named(action) => format!("setdefault {table} {}", action.join(" ")),
            Self::SetDefault { table, action } => format!("table_set_default {table} {}", action.join(" ")),
        })
    }
}

/// The element that is named, or the only one that is a P4 program.
fn element(client: &mut Client, named: Option<&str>) -> Outcome<String> {
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let all = client.ask(&json!({ "op": "elements" }))?;
    let programs = all.as_array().into_iter().flatten().filter(|it| it["class"] == "P4");
    let names: Vec<&str> = programs.filter_map(|it| it["name"].as_str()).collect();
    match names[..] {
        [only] => Ok(only.to_owned()),
        [] => Err(Failure::failed("no P4 program runs there")),
        _ => Err(Failure::usage(format_args!("several P4 programs run; name one with --program: {}", names.join(", ")))),
    }
}

/// Does it, and prints what it tells.
pub(super) fn table(client: &mut Client, named: Option<&str>, table: &Table, out: &mut Out) -> Outcome {
    let name = element(client, named)?;
    match table.command() {
        Some(command) => ask(client, &name, &command, out),
        None => tell(client.ask(&json!({ "op": "read", "handler": format!("{name}.tables") }))?, out),
    }
}

/// Runs a command.
pub(super) fn command(client: &mut Client, named: Option<&str>, command: &str, out: &mut Out) -> Outcome {
    let name = element(client, named)?;
    ask(client, &name, command, out)
}

/// Runs the commands of a file.
pub(super) fn file(client: &mut Client, named: Option<&str>, file: &Path, out: &mut Out) -> Outcome {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| Failure::failed(format_args!("{shown}: {error}")))?;
    let name = element(client, named)?;
    let answer = client.answer(&json!({ "op": "read", "handler": format!("{name}.command"), "text": text }))?;
    tell(answer.map_err(|why| Failure::failed(format_args!("{shown}: {why}; nothing of the file was done")))?, out)
}

fn ask(client: &mut Client, name: &str, command: &str, out: &mut Out) -> Outcome {
    // There is only one line.
    let told = client.answer(&json!({ "op": "read", "handler": format!("{name}.command"), "text": command }))?;
    tell(told.map_err(|why| Failure::failed(why.trim_start_matches("line 1: ")))?, out)
}

fn tell(answer: Value, out: &mut Out) -> Outcome {
    answer.as_str().unwrap_or_default().lines().try_for_each(|line| out.line(line))
}
