//! Graphs of built-in elements and of programs in NetIL's assembler.

mod captures;
mod conflicts;
mod elements;
mod flow;
mod freezing;
mod linked;
mod made;
mod scripts;

use super::{ElementError, Factories, Graph, Host, Settings, Stream};
use netil::app::{Application, Body, End, Instance, Wire};
use netil::engine::Engine;
use netil::module::InfoField;
use netil::{Interpreter, Verified};
use std::sync::{Arc, Mutex, MutexGuard};

/// What elements wrote.
#[derive(Clone, Default)]
struct Console(Arc<Mutex<(String, String)>>);

impl Console {
    /// What is written to standard output and standard error.
    fn written(&self) -> MutexGuard<'_, (String, String)> {
        self.0.lock().unwrap()
    }
}

impl Host for Console {
    fn write(&mut self, stream: Stream, text: &[u8]) {
        let mut streams = self.written();
        let to = if stream == Stream::Out { &mut streams.0 } else { &mut streams.1 };
        to.push_str(&String::from_utf8_lossy(text));
    }
}

/// A graph of `name :: Class(argument | argument)` and `a [1] -> [2] b` lines; classes that begin
/// with a small letter are programs of `programs`.
fn application(text: &str, programs: &[(&str, &str)]) -> Application {
    let mut app =
        Application { info: vec![InfoField { name: "paint".into(), offset: 0, size: 1 }], info_size: 4, ..Application::default() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.split_once(" :: ") {
            Some((name, class)) => app.instances.push(instance(name, class, programs)),
            None => wires(&mut app, line),
        }
    }
    app.wires.sort();
    app
}

fn instance(name: &str, text: &str, programs: &[(&str, &str)]) -> Instance {
    let (class, arguments) = text.split_once('(').map_or((text, ""), |(class, rest)| (class, rest.strip_suffix(')').unwrap()));
    let body = match programs.iter().find(|(known, _)| *known == class) {
        Some((_, source)) => Body::Program(program(source)),
        None => Body::BuiltIn(arguments.split('|').map(|a| a.trim().to_owned()).filter(|a| !a.is_empty()).collect()),
    };
    Instance { name: name.to_owned(), class: class.to_owned(), body }
}

fn program(source: &str) -> Arc<Verified> {
    let text = format!("segment .metadata .info_size 4 ends {source}");
    Arc::new(netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap())
}

/// `a [1] -> [2] b -> c`; `~>` leads back.
fn wires(app: &mut Application, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.trim_matches(['[', ']']).parse::<u32>().unwrap();
    let (mut from, mut out, mut input, mut back) = (None, 0, 0, None);
    for word in words {
        match word {
            "->" | "~>" => back = Some(word == "~>"),
            port if port.starts_with('[') && back.is_some() => input = number(port),
            port if port.starts_with('[') => out = number(port),
            name => {
                let at = app.instances.iter().position(|i| i.name == name).unwrap_or_else(|| panic!("no {name}")) as u32;
                if let (Some(from), Some(recirculates)) = (from, back.take()) {
                    let from = End { instance: from, port: out };
                    app.wires.push(Wire { from, to: End { instance: at, port: input }, recirculates });
                }
                (from, out, input) = (Some(at), 0, 0);
            }
        }
    }
}

fn interpreter(program: Arc<Verified>) -> Result<Box<dyn Engine>, ElementError> {
    Ok(Box::new(Interpreter::new(program)))
}

fn graph(app: &Application, settings: Settings) -> Result<(Graph, Console), String> {
    let console = Console::default();
    let factories = Factories { engine: &interpreter, coprocessor: &crate::coproc::make, table: &crate::coproc::tables::make_for };
    let graph = Graph::new(app, &factories, settings, Box::new(console.clone()));
    let graph = graph.map_err(|faults| faults.into_iter().map(|f| f.message()).collect::<Vec<_>>().join("; "))?;
    Ok((graph, console))
}

/// Runs to the end, at most so many turns.
fn run(app: &Application) -> (Graph, Console) {
    let (mut graph, console) = graph(app, Settings { simulated: true, ..Settings::default() }).unwrap();
    graph.start();
    for _ in 0..200_000 {
        if !graph.turn() {
            return (graph, console);
        }
    }
    panic!("the run does not end");
}

/// Runs a graph of built-in elements; what handlers say then.
fn handlers(text: &str, wanted: &[&str]) -> Vec<String> {
    let (mut graph, _) = run(&application(text, &[]));
    wanted.iter().map(|handler| graph.read(handler, "", None).unwrap()).collect()
}

/// Why a graph of built-in elements cannot be made.
fn refusal(text: &str) -> String {
    graph(&application(text, &[]), Settings::default()).err().unwrap_or_else(|| panic!("{text} is accepted"))
}

/// What is written on standard output by a run.
fn printed(text: &str) -> String {
    let (_, console) = run(&application(text, &[]));
    std::mem::take(&mut console.written().0)
}

/// What is told on standard error by a run.
fn told(text: &str) -> String {
    let (_, console) = run(&application(text, &[]));
    std::mem::take(&mut console.written().1)
}
