//! Another version of a configuration takes the place of the one that replicas run which keep the
//! order of flows only: each replica has the whole of it.
//!
//! ```text
//!  each replica   runs the arrivals that it has taken, rests ──▶ prepare ──┐
//!                          │ all rest                                      ├── all are ready ──▶ each takes its place
//!                          ▼                                               │   one is not    ──▶ each gives up
//!  what they have in common is that of the new version, with the states ───┘
//!  of elements that go on
//! ```
//!
//! Packets go to replicas as before, so each replica goes on with the state of its flows.
//! Invariant: an element that goes on, or whose tables do, is shared in the same way by both
//! versions; else the new one is refused, since entries of one state would have to become those of
//! several, or the other way round.

use super::bases::Bases;
use super::error::ChangeError;
use super::flows::policies;
use super::places::Places;
use super::renew::PATIENCE;
use super::renewing::{New, Waiting, accede, link, prepare};
use super::{Cores, Mode, Order, Placement, Stage};
use crate::application::{Application, Replaced};
use netil::app;
use runtime::graph::ring::{Remote, Rings};
use runtime::graph::{CommonLayout, ElementError, Fault, Policy, Settings, Share, Succession, Successor};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How an element's state is shared, as far as both versions must say the same.
#[derive(PartialEq)]
enum Sharing {
    Own,
    First,
    Lock,
    Transaction,
    Copies,
    Parts,
}

fn sharing(placement: &Placement, at: usize) -> Sharing {
    match placement.policies.get(&at) {
        _ if placement.stages.get(at) == Some(&Stage::Rest) => Sharing::First,
        Some((Policy::Transaction(_), _)) => Sharing::Transaction,
        Some((Policy::Noted(_), _)) => Sharing::Copies,
        Some((Policy::Parts(_), _)) => Sharing::Parts,
        Some(_) => Sharing::Lock,
        None => Sharing::Own,
    }
}

impl Cores {
    /// Why replicas cannot go on with a version that is placed so.
    pub(super) fn can_share(&self, new: &Placement, application: &app::Application) -> Result<(), String> {
        if new.order != Order::Flow {
            return Err("each replica has the whole configuration (--order flow)".to_owned());
        }
        let (old, names) = (&self.placement, self.names());
        for (at, instance) in application.instances.iter().enumerate() {
            let Some(before) = names.get(&(instance.name.as_str(), instance.class.as_str())) else { continue };
            if instance.program().is_some() && sharing(old, *before) != sharing(new, at) {
                return Err(format!("replicas would share the state of `{}` in another way", instance.name));
            }
            if old.ends.get(before) != new.ends.get(&at) && instance.program().is_none() && old.stages[*before] == Stage::Replica {
                return Err(format!("packets of `{}` would go to replicas by another end, and elements keep state by flow", instance.name));
            }
        }
        Ok(())
    }

    /// The elements that run, by name and class.
    fn names(&self) -> BTreeMap<(&str, &str), usize> {
        let class = |at: usize| (self.rest.name(at), self.rest.class(at));
        (0..self.placement.stages.len()).map(|at| (class(at), at)).collect()
    }

    /// What would become of the elements.
    pub(super) fn planned_of_flows(&self, new: &New) -> Succession {
        let mut all = told(self.rest.plan(&new.rest.part.application));
        let others = new.replicas().into_iter().flat_map(|new| self.directory.plan_all(&new.part));
        others.for_each(|other| add(&mut all, other));
        all
    }

    /// Lets all replicas go on with a version.
    pub(super) fn renew_flows(&mut self, application: &Application, new: New) -> Result<Replaced, ChangeError> {
        let Mode::Flow(others) = &self.mode else { return Err(ChangeError::fixed("packets go through stages")) };
        let (begun, share, app) = (Instant::now(), others.share.clone(), application.application());
        let waiting = self.rest_all(&new, share.replicas)?;
        let kept = self.rest.kept(&new.rest.part.application);
        let mut layout = CommonLayout::new(policies(app, &new.placement), new.placement.ends.clone());
        share.common.go_on(&mut layout, &kept, self.rest.has_together(&new.rest.part.application));
        waiting.iter().for_each(|it| _ = it.begins.send(()));
        let own = self.prepare_first(&new, share.clone());
        if let Err(faults) = are_prepared(&waiting).and(own.as_ref().map(drop).map_err(Clone::clone)) {
            waiting.iter().for_each(|it| _ = it.go.send(false));
            own.into_iter().for_each(|own| own.give_up(&mut self.rest));
            share.common.go_on(&mut layout, &BTreeMap::new(), false);
            return Err(ChangeError::invalid(application.drawn(faults)));
        }
        let own = own.map_err(|faults| ChangeError::invalid(application.drawn(faults)))?;
        let (succession, faults, bases) = self.accede_all(own, &new, &waiting);
        let pause = begun.elapsed();
        share.common.bind(new.placement.within(app));
        self.directory.become_new(Places::of(&new.placement, app), bases);
        self.placement = new.placement;
        Ok(Replaced { succession, pause, prepared: Duration::ZERO, faults })
    }

    /// Waits until all replicas have run what they had taken.
    fn rest_all(&mut self, new: &New, replicas: usize) -> Result<Vec<Waiting>, ChangeError> {
        let waiting = self.directory.renew(Stage::Replica, new, None);
        self.rest.rest();
        let rest = waiting.iter().all(|it| it.rests.recv_timeout(PATIENCE).is_ok());
        if rest && waiting.len() + 1 == replicas { Ok(waiting) } else { Err(ChangeError::failed("the run ends")) }
    }

    fn prepare_first(&mut self, new: &New, share: Share) -> Result<Successor, Vec<Fault>> {
        let settings = Settings {
            rings: Some(Rings::default()),
            elsewhere: Some(Remote(Arc::clone(&self.directory) as Arc<_>)),
            share: Some(share),
            ..new.making.settings.clone()
        };
        prepare(&mut self.rest, &new.rest.part, &new.rest.ready, (settings, None))
    }

    fn accede_all(&mut self, own: Successor, new: &New, waiting: &[Waiting]) -> (Succession, Vec<Fault>, Bases) {
        waiting.iter().for_each(|it| _ = it.go.send(true));
        let (succession, mut faults) = accede(&mut self.rest, own, |graph| link(graph, &new.rest.part, &new.rest.ready));
        let (mut all, mut bases) = (told(succession), Bases::default());
        for renewed in waiting.iter().filter_map(|it| it.done.recv_timeout(PATIENCE).ok()) {
            add(&mut all, renewed.succession);
            faults.extend(renewed.faults);
            bases.extend(renewed.bases);
        }
        (all, faults, bases)
    }
}

/// Waits until the other replicas are prepared, or have failed to be: what all have in common may
/// change back only behind that.
fn are_prepared(waiting: &[Waiting]) -> Result<(), Vec<Fault>> {
    let gone = || vec![Fault { instance: usize::MAX, error: ElementError::resource("a thread of the run does not answer") }];
    let results = waiting.iter().map(|it| it.prepared.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(gone())));
    let results: Vec<Result<(), Vec<Fault>>> = results.collect();
    results.into_iter().collect()
}

/// Readers of elements are not told of.
fn told(mut succession: Succession) -> Succession {
    let is_named = |name: &String| !name.ends_with("/reader");
    [&mut succession.kept, &mut succession.made, &mut succession.gone].into_iter().for_each(|list| list.retain(is_named));
    succession
}

/// Adds what became of another replica's tables and packets; its elements are those of the first.
fn add(all: &mut Succession, other: Succession) {
    let known: BTreeSet<String> = all.kept.iter().chain(&all.made).chain(&all.gone).cloned().collect();
    let element = |table: &str| table.rsplit_once('.').map_or(String::new(), |(element, _)| element.to_owned());
    for (table, entries) in other.tables.into_iter().filter(|(table, _)| known.contains(&element(table))) {
        *all.tables.entry(table).or_default() += entries;
    }
    all.entries_lost += other.entries_lost;
    all.packets_lost += other.packets_lost;
}
