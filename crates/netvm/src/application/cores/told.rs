//! What placements say of themselves to people.

use super::keys::fields_shown;
use super::placement::Placement;
use super::stage::{Order, Stage};
use netil::app::{Application, Instance, Toward};
use runtime::graph::ring::Flow;
use std::fmt::Write as _;

impl Placement {
    /// How replicas share the state of an element, for people.
    pub fn policy_shown(&self, at: usize) -> String {
        match self.policies.get(&at) {
            Some((runtime::graph::Policy::Transaction(_), _)) => "transactions".to_owned(),
            Some((runtime::graph::Policy::Parts(_), _)) => {
                let told = self.keyed.ports.get(&at).map_or_else(String::new, |promise| format!(" ({})", promise.told()));
                format!("each replica has the state of some ports{told}")
            }
            Some((runtime::graph::Policy::Noted(_), _)) => "read in copies without a lock, changed under a lock".to_owned(),
            Some((_, Some(why))) => format!("a lock ({why})"),
            Some((_, None)) => "a lock".to_owned(),
            None => String::new(),
        }
    }

    /// Which replica has a packet, for people.
    pub fn flow_shown(&self, application: &Application) -> String {
        let by_port = |(source, end): (&usize, &Toward)| {
            let end = if *end == Toward::Source { "source" } else { "destination" };
            format!("those of `{}` by their {end}", application.instances[*source].name)
        };
        match self.flow {
            Flow::Any => "any replica".to_owned(),
            Flow::All => "all replicas: one runs them, the others only change their state".to_owned(),
            Flow::Own => "replicas by the two addresses of their own IP header, as the keys of tables have them".to_owned(),
            Flow::Source => "replicas by the source address of their own IP header, as the keys of tables have it".to_owned(),
            Flow::Destination => "replicas by the destination address of their own IP header, as the keys of tables have it".to_owned(),
            Flow::Fields(fields) => format!("replicas by {}, which the keys of tables have", fields_shown(fields)),
            Flow::Tuple => "replicas by the connection that they are of".to_owned(),
            Flow::Addresses if self.ends.is_empty() => "replicas by the two addresses of their flow".to_owned(),
            Flow::Addresses => format!("replicas by ports: {}", self.ends.iter().map(by_port).collect::<Vec<_>>().join(", ")),
        }
    }

    /// By element, what its stage is called.
    pub fn stage_names(&self) -> Vec<String> {
        self.stages.iter().map(|stage| stage.name(self.order)).collect()
    }

    /// For people: each stage with its elements, and why they are there.
    pub fn explain(&self, application: &Application, replicas: Option<usize>) -> String {
        let mut text = String::new();
        let replicas = replicas.map_or("replicas".to_owned(), |replicas| format!("replicas: {replicas}"));
        let titles = match self.order {
            Order::Total => {
                let ordered = (1..=self.ordered()).map(|n| Stage::Ordered(n as u8)).chain([Stage::Rest]);
                let named = ordered.map(|stage| (stage, stage.name(self.order)));
                [(Stage::Source, "sources".to_owned()), (Stage::Replica, replicas)].into_iter().chain(named).collect()
            }
            Order::Flow => vec![
                (Stage::Replica, replicas),
                (Stage::Shared, "in all replicas, with one state".to_owned()),
                (Stage::Rest, "first replica".to_owned()),
            ],
        };
        for (stage, title) in titles.into_iter().filter(|(stage, _)| self.order == Order::Total || self.of(*stage).next().is_some()) {
            let _ = writeln!(text, "{title}");
            for at in self.of(stage) {
                let Instance { name, class, .. } = &application.instances[at];
                let why = match (&self.reasons[at], stage) {
                    _ if self.relaxed.contains(&at) && stage == Stage::Replica => ": relaxed, each replica has its own state",
                    (_, Stage::Replica) if self.replayed.contains(&at) => ": each replica has the state of all packets",
                    (_, Stage::Replica) if self.policies.contains_key(&at) => &format!(": {}", self.policy_shown(at)),
                    (Some(why), Stage::Rest | Stage::Ordered(_)) => &format!(": {why}"),
                    (Some(why), Stage::Shared) => &format!(": {}: {why}", self.policy_shown(at)),
                    (_, Stage::Replica) => {
                        &self.keyed.told(application, at, self.flow).map_or_else(String::new, |told| format!(": {told}"))
                    }
                    (None, Stage::Rest) if self.order == Order::Total => ": behind such elements",
                    _ => "",
                };
                let _ = writeln!(text, "  {name} :: {class}{why}");
            }
        }
        let _ = writeln!(text, "packets go to {}", self.flow_shown(application));
        text
    }
}
