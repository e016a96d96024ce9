//! Clusters that are made beside the work, and take over when they are there.

use super::Graph;
use netil::app::Application;
use netil::cluster::{Cluster, Plan};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// A cluster, and which elements it is of.
pub type Made = (Plan, Box<dyn Cluster>);

/// Makes a cluster of an application, if there is something to make it of.
pub type Linking = Box<dyn FnOnce() -> Option<Made> + Send>;

/// A cluster that is to be, or is being, made beside the work.
pub(super) struct Later {
    application: Arc<Application>,
    /// Packets that arrived, or were made, from which it is worth its while.
    after: u64,
    linking: Option<Linking>,
    made: Option<Receiver<Option<Made>>>,
}

impl Graph {
    /// As [`Graph::link`], with a cluster that another thread makes once there were so many
    /// packets. What runs as one gives what it gave before, so it does not matter when it is there.
    pub fn link_later(&mut self, application: Arc<Application>, after: u64, linking: Linking) {
        self.fusion.later = Some(Later { application, after, linking: Some(linking), made: None });
    }

    /// Begins to make what is to be made later, or takes it when it is there.
    pub(super) fn look_for_links(&mut self) {
        let Some(later) = self.fusion.later.as_mut().filter(|later| self.core.arrivals + self.fusion.made >= later.after) else { return };
        if let Some(linking) = later.linking.take() {
            let (sender, receiver) = channel();
            // Nobody may be there any more when it is made.
            let begun = std::thread::Builder::new().name("linking".to_owned()).spawn(move || _ = sender.send(linking()));
            later.made = begun.ok().map(|_| receiver);
        }
        let made = later.made.as_ref().map_or(Err(TryRecvError::Disconnected), Receiver::try_recv);
        let application = Arc::clone(&later.application);
        match made {
            Err(TryRecvError::Empty) => return,
            Ok(Some((plan, cluster))) if self.watch.observer.is_none() => self.link(&application, plan, cluster),
            _ => {}
        }
        self.fusion.later = None;
    }
}
