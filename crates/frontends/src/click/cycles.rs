//! Connections that lead a packet back to where it was.
//!
//! A push connection that closes a cycle is a recirculation edge: the packet enters again before
//! the next one arrives. A cycle of pulls would ask itself for a packet, and is refused. A cycle
//! through an element that is pushed into and pulled out of, such as a Queue, is none: the packet
//! waits there.
//!
//! Idea: depth first search over the flows inside elements, along connections; a connection back to
//! a flow on the way closes a cycle. It starts where packets come from, so that the edge found is
//! the one that goes back.

use super::graph::{Connection, Graph, Port};
use super::processing::{Kind, Kinds, PortSpec};
use crate::diagnostics::{Diagnostic, Diagnostics};
use std::collections::{HashMap, HashSet};

/// Ports of an element between which packets flow without waiting: all inputs of it lead to all
/// outputs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flow {
    element: usize,
    kind: Kind,
    letter: (char, u32),
}

/// How far the search has come with a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    OnTheWay,
    Done,
}

/// The connections that close cycles of pushes, in the order in which they are found.
///
/// # Errors
/// Cycles of pulls, with the path.
pub fn recirculations(graph: &Graph, shapes: &[PortSpec<'_>], kinds: &Kinds) -> Result<Vec<Connection>, Diagnostics> {
    let mut search = Search::of(graph, shapes, kinds);
    let inner: HashSet<Flow> = search.edges.iter().filter_map(|(_, to)| *to).collect();
    let sources = search.edges.iter().filter(|(from, _)| from.is_none_or(|from| !inner.contains(&from)));
    let starts: Vec<Flow> = sources.chain(&search.edges).filter_map(|(_, to)| *to).collect();
    starts.into_iter().for_each(|flow| search.from(flow));
    if search.faults.is_empty() { Ok(search.found) } else { Err(Diagnostics(search.faults)) }
}

/// The flow that a port belongs to, if packets that pass the port come from elsewhere in the
/// element, or go on there.
fn flow(port: Port, kinds: &[Vec<Kind>], letter: Option<(char, u32)>) -> Option<Flow> {
    let kind = *kinds.get(port.element)?.get(port.port as usize)?;
    Some(Flow { element: port.element, kind, letter: letter? })
}

struct Search<'g> {
    graph: &'g Graph,
    /// The flows at both ends of each connection.
    edges: Vec<(Option<Flow>, Option<Flow>)>,
    /// The connections, by their numbers, that leave a flow.
    next: HashMap<Flow, Vec<usize>>,
    states: HashMap<Flow, State>,
    found: Vec<Connection>,
    faults: Vec<Diagnostic>,
}

impl<'g> Search<'g> {
    fn of(graph: &'g Graph, shapes: &[PortSpec<'_>], kinds: &Kinds) -> Self {
        let ends = |c: &Connection| {
            let from = flow(c.from, &kinds.outputs, shapes[c.from.element].output_flow(c.from.port));
            (from, flow(c.to, &kinds.inputs, shapes[c.to.element].input_flow(c.to.port)))
        };
        let edges: Vec<_> = graph.connections.iter().map(ends).collect();
        let mut next: HashMap<Flow, Vec<usize>> = HashMap::new();
        for (number, (from, _)) in edges.iter().enumerate() {
            if let Some(from) = from {
                next.entry(*from).or_default().push(number);
            }
        }
        Self { graph, edges, next, states: HashMap::new(), found: Vec::new(), faults: Vec::new() }
    }

    /// Searches from a flow, if that has not been done.
    fn from(&mut self, first: Flow) {
        if self.states.contains_key(&first) {
            return;
        }
        self.states.insert(first, State::OnTheWay);
        let mut way = vec![(first, 0)];
        while let Some((flow, at)) = way.last_mut() {
            let Some(&number) = self.next.get(flow).and_then(|all| all.get(*at)) else {
                self.states.insert(*flow, State::Done);
                way.pop();
                continue;
            };
            *at += 1;
            let Some(to) = self.edges[number].1 else { continue };
            match self.states.get(&to) {
                None => {
                    self.states.insert(to, State::OnTheWay);
                    way.push((to, 0));
                }
                Some(State::OnTheWay) => self.close(self.graph.connections[number], to, &way),
                Some(State::Done) => {}
            }
        }
    }

    fn close(&mut self, connection: Connection, to: Flow, way: &[(Flow, usize)]) {
        if to.kind == Kind::Push {
            self.found.push(connection);
            return;
        }
        let cycle = way.iter().map(|(flow, _)| *flow).skip_while(|flow| *flow != to).chain([to]);
        let names: Vec<&str> = cycle.map(|flow| self.graph.elements[flow.element].name.as_str()).collect();
        let fault = Diagnostic::new(connection.span, format!("packets are pulled in a circle: {}", names.join(" -> ")));
        self.faults.push(fault.help("put a Queue into the circle: packets can wait there"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click::{flatten, processing};
    use std::collections::BTreeMap;

    fn shape(class: &str) -> PortSpec<'static> {
        let (ports, processing, flow) = match class {
            "Src" => ("0/1", "h/h", ""),
            "Sink" => ("1-/0", "h/h", ""),
            "Queue" => ("1/1", "h/l", ""),
            "Unqueue" => ("1/1", "l/h", ""),
            "Sched" => ("-/1", "l/l", ""),
            "Two" => ("2/2", "a/a", "#/#"),
            _ => ("-/-", "a/a", ""),
        };
        PortSpec { ports, processing, flow }
    }

    fn found(source: &str) -> Result<Vec<String>, Vec<String>> {
        let graph = flatten(source, &BTreeMap::new()).unwrap();
        let shapes: Vec<_> = graph.elements.iter().map(|element| shape(&element.class)).collect();
        let kinds = processing::kinds(&graph, &shapes).unwrap_or_else(|faults| panic!("{}", faults.render("t", source, false)));
        let name = |port: Port| format!("{}:{}", graph.elements[port.element].name, port.port);
        match recirculations(&graph, &shapes, &kinds) {
            Ok(found) => Ok(found.iter().map(|c| format!("{} -> {}", name(c.from), name(c.to))).collect()),
            Err(faults) => Err(faults.0.into_iter().map(|fault| fault.message).collect()),
        }
    }

    #[test]
    fn pushed_cycles_are_recirculations() {
        assert_eq!(found("Src -> a :: N -> b :: N -> Sink; b [1] -> e :: N -> a"), Ok(vec!["e:0 -> a:0".to_owned()]));
        assert_eq!(found("e :: N -> a :: N; Src -> a -> b :: N -> Sink; b [1] -> e"), Ok(vec!["e:0 -> a:0".to_owned()]));
        assert_eq!(found("a :: N -> a"), Ok(vec!["a:0 -> a:0".to_owned()]));
        assert_eq!(found("Src -> a :: N -> Sink; Src -> b :: N -> Sink"), Ok(vec![]));
    }

    #[test]
    fn packets_that_wait_or_do_not_meet_make_no_cycle() {
        assert_eq!(found("Src -> q :: Queue -> u :: Unqueue -> t :: N -> Sink; t [1] -> q"), Ok(vec![]));
        assert_eq!(found("Src -> [0] t :: Two [0] -> [1] t [1] -> Sink"), Ok(vec![]));
        assert_eq!(found("Src -> [0] t :: N [0] -> [1] t [1] -> Sink"), Ok(vec!["t:0 -> t:1".to_owned()]));
    }

    /// Each of many ports leads to each: the search is by flows, not by ports.
    #[test]
    fn many_ports_take_no_time() {
        assert_eq!(found("Src -> a :: N -> Sink; a [1-60000] => [1-60000] a").map(|found| found.len()), Ok(60_000));
    }

    #[test]
    fn pulled_cycles_are_refused_with_their_path() {
        assert_eq!(
            found("Src -> Queue -> s :: Sched -> n :: N -> [1] s; n [1] -> Unqueue -> Sink"),
            Err(vec!["packets are pulled in a circle: s -> n -> s".to_owned()])
        );
    }
}
