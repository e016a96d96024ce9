//! The devices of a run: live ones, and the captures that are written for the others.

use super::super::ElementError;
use super::super::lock::lock;
use super::super::share::Output;
use crate::io::WriteOptions;
use crate::io::device::{self, Device, Options, Polling, Spec, Traffic};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// A device that elements share.
pub(super) type Shared = Arc<Mutex<Device>>;

/// What is written for each device, and how, while there are elements that do; and the devices that
/// are live.
#[derive(Default)]
pub(in super::super) struct Devices {
    pub(super) captures: HashMap<String, (Weak<Written>, WriteOptions)>,
    /// Those that have their name while they grow.
    pub(super) growing: Vec<Weak<Written>>,
    pub(super) live: Open,
    polling: Polling,
}

impl Devices {
    /// Passes on what was written to growing captures a second ago. What fails is told at the next
    /// packet.
    pub(in super::super) fn flush_captures(&mut self) {
        self.growing.retain(|output| output.strong_count() > 0);
        for output in self.growing.iter().filter_map(Weak::upgrade) {
            if let Some(writer) = &mut *lock(&output.0) {
                let _ = writer.flush_due();
            }
        }
    }
}

/// What elements of one graph write together.
pub(super) struct Written(pub(super) Arc<Output>);

/// The live devices of a run.
#[derive(Default)]
pub(super) struct Open(BTreeMap<String, Shared>);

impl Open {
    /// The device of that name, opened at its first use.
    pub(super) fn device(&mut self, name: &str, spec: &Spec, options: Options) -> Result<Shared, ElementError> {
        let told = |error| format!("{spec}: {error}");
        if let Some(device) = self.0.get(name) {
            if options.receive {
                lock(device).listen(options).map_err(told)?;
            }
            return Ok(Arc::clone(device));
        }
        let device = Arc::new(Mutex::new(Device::open(spec, options).map_err(told)?));
        self.0.insert(name.to_owned(), Arc::clone(&device));
        Ok(device)
    }
}

/// What became of a device's frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// The name that the configuration has for it.
    pub name: String,
    /// Which device that is.
    pub device: String,
    /// Frames received and sent.
    pub traffic: Traffic,
    /// Frames dropped by the kernel or the device, by reason.
    pub drops: BTreeMap<String, u64>,
}

impl Devices {
    /// True if there are live devices.
    pub(in super::super) fn are_live(&self) -> bool {
        !self.live.0.is_empty()
    }

    /// Hands frames to the kernel that wait to be sent.
    pub(in super::super) fn flush(&mut self) {
        self.live.0.values().for_each(|device| lock(device).flush());
    }

    /// The run ends: what waits to be sent is handed over, or counted.
    pub(in super::super) fn finish(&mut self) {
        self.live.0.values().for_each(|device| lock(device).finish());
    }

    /// Waits until a device has something to do, or so many nanoseconds; for how long it looked for
    /// that on a core.
    pub(in super::super) fn wait(&mut self, waker: Option<BorrowedFd<'_>>, nanoseconds: u64) -> io::Result<Duration> {
        let mut devices: Vec<_> = self.live.0.values().map(|device| lock(device)).collect();
        device::wait(&mut self.polling, devices.iter_mut().map(|device| &mut **device), waker, Duration::from_nanos(nanoseconds))
    }

    /// What became of the frames of live devices.
    pub(in super::super) fn stats(&self) -> Vec<DeviceStats> {
        let stats = |(name, device): (&String, &Shared)| {
            let mut device = lock(device);
            let drops = device.drops().iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
            DeviceStats { name: name.clone(), device: device.spec().to_string(), traffic: device.traffic(), drops }
        };
        self.live.0.iter().map(stats).collect()
    }
}
