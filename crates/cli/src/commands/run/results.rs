//! What is told of a run of a configuration: its devices, handlers, statistics and warnings.

use super::{Args, lost, report};
use crate::commands::shared::grouped;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use netvm::application::{Application, Graph, Library, Stats, Stream};

/// Says which devices are live, once they are open. False if none is.
pub(super) fn announce(stats: &Stats) -> bool {
    let devices: Vec<String> = stats.devices.iter().map(|it| format!("{} ({})", it.device, it.name)).collect();
    if !devices.is_empty() {
        failure::eprint_lossy(&format!("running on {}; an interrupt ends the run", devices.join(", ")));
    }
    !devices.is_empty()
}

/// Prints handlers as Click does: the value, with the handler's name before it if there are
/// several. Behind a name may stand what the handler is asked.
pub(crate) fn say_handlers(graph: &mut Graph, handlers: &[String]) -> Outcome {
    let wanted = wanted(graph, handlers)?;
    let several = wanted.len() > 1;
    for handler in wanted {
        let value = handler.read(graph)?;
        match value {
            Some(value) if several => graph.print(Stream::Out, &format!("{}:\n{value}\n\n", handler.shown())),
            Some(value) => graph.print(Stream::Out, &format!("{value}\n")),
            None => {}
        }
    }
    Ok(())
}

/// What handlers say, with what was asked.
pub(super) fn asked(graph: &mut Graph, handlers: &[String]) -> Outcome<Vec<(String, String)>> {
    let mut values = Vec::new();
    for handler in wanted(graph, handlers)? {
        values.extend(handler.read(graph)?.map(|value| (handler.shown(), value)));
    }
    Ok(values)
}

/// A handler that is to be read.
struct Wanted {
    name: String,
    asked: String,
    /// Whether a pattern named it together with others, of which some may not have it.
    by_pattern: bool,
}

impl Wanted {
    fn shown(&self) -> String {
        format!("{} {}", self.name, self.asked).trim_end().to_owned()
    }

    fn read(&self, graph: &mut Graph) -> Outcome<Option<String>> {
        match graph.read(&self.name, &self.asked, None) {
            Ok(value) => Ok(Some(value.trim_end_matches('\n').to_owned())),
            Err(_) if self.by_pattern => Ok(None),
            Err(error) => Err(Failure::failed(error)),
        }
    }
}

fn wanted(graph: &Graph, handlers: &[String]) -> Outcome<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for text in handlers {
        let (handler, asked) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let asked = asked.trim().to_owned();
        match handler.split_once('.') {
            Some((pattern, name)) => {
                let elements = graph.matching(pattern);
                if elements.is_empty() {
                    return Err(Failure::failed(format_args!("no element matches '{pattern}'")));
                }
                let by_pattern = elements.len() > 1;
                let names = elements.into_iter().map(|element| format!("{}.{name}", graph.name(element)));
                wanted.extend(names.map(|name| Wanted { name, asked: asked.clone(), by_pattern }));
            }
            None => wanted.push(Wanted { name: handler.to_owned(), asked, by_pattern: false }),
        }
    }
    Ok(wanted)
}

pub(super) fn tell(args: &Args, stats: &Stats, handlers: Vec<(String, String)>, seconds: f64) -> Outcome {
    if args.json {
        let mut out = Out::new();
        out.json(&netvm::application::report::json(stats, handlers, seconds))?;
        out.flush()?;
    }
    if args.stats {
        failure::eprint_lossy(report::table(stats, seconds).trim_end());
    }
    Ok(())
}

/// Warns of traps, and of a run of which nothing came out.
pub(super) fn warn(application: &Application, library: &Library, stats: &Stats) {
    for (at, (name, class, node)) in stats.nodes.iter().enumerate().filter(|(_, (_, _, node))| node.traps > 0) {
        let place = node.first_trap.as_deref().unwrap_or_default();
        let help = lost::unmarked(application, library, at).map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        failure::warning(format_args!("{name} :: {class} trapped {} times; the first place: {place}{help}", grouped(node.traps)));
    }
    lost::warn(application, stats);
}
