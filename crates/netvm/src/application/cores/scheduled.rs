//! Which core a thread has because the configuration says so: StaticThreadSched.
//!
//! Source: Click's element of that name, whose threads are cores here. An element's thread is that
//! of its stage.

use super::crew::MOST;
use super::stage::IN_ORDER;
use super::threads::Gauge;
use super::{Cores, Order, Stage};
use netil::app::{Application, Body, Instance};
use runtime::graph::ring::Home;
use std::sync::Arc;

/// The number of the thread that runs the last stage; the sources' is 0, those of replicas follow,
/// and those of stages in order are behind the most replicas.
const LAST: usize = 1;
const ORDERED: usize = LAST + MOST;

/// The number of a thread, by its name; `alike`: all threads are replicas of the whole application.
pub(super) fn number(name: &str, alike: bool) -> usize {
    if name == IN_ORDER {
        return LAST;
    }
    let number = |text: &str| text.trim().parse::<usize>().ok();
    if let Some(stage) = name.strip_prefix(IN_ORDER).and_then(number) {
        return ORDERED + stage;
    }
    let replica = name.strip_prefix("replica ").and_then(number);
    replica.map_or(0, |replica| if alike { replica } else { LAST + 1 + replica })
}

/// The thread of that gauge, as its elements know it.
pub(super) fn home(gauge: &Arc<Gauge>, alike: bool) -> Home {
    let replica = gauge.name().strip_prefix("replica ").and_then(|number| number.parse().ok()).unwrap_or(0);
    let moved = Arc::clone(gauge);
    let moves = Arc::new(move |core| moved.move_to(core).map(drop));
    Home { thread: number(gauge.name(), alike), replica, moves: Some(moves), looks: gauge.looks.clone() }
}

/// Elements with their cores.
fn wanted(application: &Application) -> Vec<(String, usize)> {
    let of = |instance: &Instance| match &instance.body {
        Body::BuiltIn(arguments) if instance.class == "StaticThreadSched" => arguments.clone(),
        _ => Vec::new(),
    };
    let pair = |argument: String| {
        let (element, core) = argument.trim().split_once(char::is_whitespace)?;
        Some((element.to_owned(), core.trim().split('/').next()?.parse().ok()?))
    };
    application.instances.iter().flat_map(of).filter_map(pair).collect()
}

impl Cores {
    /// Gives threads the cores that the configuration says their elements have; what of that cannot
    /// be is told.
    pub fn schedule(&mut self, application: &Application) -> Vec<String> {
        let mut told = Vec::new();
        let mut given: Vec<(String, usize)> = Vec::new();
        for (element, core) in wanted(application) {
            let Some(at) = application.instances.iter().position(|instance| instance.name == element) else {
                told.push(format!("StaticThreadSched: there is no element `{element}`"));
                continue;
            };
            let thread = match (self.placement().stages[at], self.placement().order) {
                (Stage::Replica | Stage::Shared, _) | (_, Order::Flow) => "replica 0".to_owned(),
                (stage, order) => stage.name(order),
            };
            match given.iter().find(|(known, _)| *known == thread) {
                Some((_, other)) if *other != core => {
                    told.push(format!("StaticThreadSched: `{element}` is on the thread `{thread}`, which has core {other} already"));
                }
                Some(_) => {}
                None => match self.move_thread(&thread, Some(core)) {
                    Ok(_) => given.push((thread, core)),
                    Err(why) => told.push(format!("StaticThreadSched: `{element}`: {why}")),
                },
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn threads_have_numbers() {
        assert_eq!(["sources", "in order", "replica 0", "replica 3", "replica 255"].map(|name| number(name, false)), [0, 1, 2, 5, 257]);
        assert_eq!(["in order 1", "in order 62"].map(|name| number(name, false)), [258, 319]);
        assert_eq!(["replica 0", "replica 3"].map(|name| number(name, true)), [0, 3]);
    }
}
