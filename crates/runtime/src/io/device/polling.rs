//! Adaptive polling: how long a thread that found no frames looks for them before it sleeps.
//!
//! To fall asleep and to be woken takes microseconds, of the thread and of who sends to it. Looking
//! again saves that where the next frame comes soon, and takes the core from others where it does
//! not. So a thread looks for at most [`MOST`], for longer when a sleep was over so soon that
//! looking would have found the frame, and for less when it was not. Between two looks other
//! threads may have the core. Frames that come rarely find a thread that sleeps.
//!
//! Source: the Linux kernel's polling of idle virtual processors (Documentation/virt/kvm,
//! halt-polling).

use super::{Device, State};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The longest that is looked for.
const MOST: Duration = Duration::from_micros(50);
/// The least; below it a thread sleeps at once.
const LEAST: Duration = Duration::from_micros(5);

/// The wait where the kernel has no room for frames and cannot tell when it has.
const NO_ROOM: Duration = Duration::from_millis(1);

/// How long a thread looks at present.
#[derive(Debug, Default)]
pub struct Polling {
    looks: Duration,
}

impl Polling {
    /// Waits that long at most; for how long it looked, which was time on a core. `poll` waits so
    /// long itself, and tells whether something is there.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn wait(&mut self, most: Duration, mut poll: impl FnMut(Duration) -> io::Result<bool>) -> io::Result<Duration> {
        let (begun, looks) = (Instant::now(), self.looks.min(most));
        let on_core = if looks.is_zero() { Duration::ZERO } else { on_core() };
        while begun.elapsed() < looks {
            if poll(Duration::ZERO)? {
                return Ok(self::on_core().saturating_sub(on_core));
            }
            std::thread::yield_now();
        }
        let looked = if looks.is_zero() { Duration::ZERO } else { self::on_core().saturating_sub(on_core) };
        let slept = Instant::now();
        let found = poll(most.saturating_sub(begun.elapsed()))?;
        self.learn(found.then(|| slept.elapsed()));
        Ok(looked)
    }

    /// It has slept, and was woken after that time by something that came; none: by nothing.
    fn learn(&mut self, woken: Option<Duration>) {
        let soon = woken.is_some_and(|woken| woken < MOST);
        self.looks = match () {
            () if soon => (self.looks * 2).clamp(LEAST, MOST),
            () if self.looks > LEAST => self.looks / 2,
            () => Duration::ZERO,
        };
    }
}

/// For how long the calling thread was on a core.
fn on_core() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Waits until a device has frames that came, or room for those to be sent, or so long; for how
/// long it looked before it slept. A signal ends the wait, and so does anything to be read from
/// `waker`.
///
/// # Errors
/// The system cannot wait.
pub fn wait<'d>(
    polling: &mut Polling,
    devices: impl Iterator<Item = &'d mut Device>,
    waker: Option<BorrowedFd<'_>>,
    most: Duration,
) -> io::Result<Duration> {
    let mut devices: Vec<&mut Device> = devices.collect();
    devices.iter_mut().for_each(|device| device.look());
    let blocked = devices.iter().any(|device| device.blocked);
    let most = if blocked { most.min(NO_ROOM) } else { most };
    let listening = devices.iter().filter(|device| device.options.receive && !matches!(device.state, State::Gone(_)));
    let mut fds: Vec<PollFd<'_>> = listening.map(|device| PollFd::from_borrowed_fd(device.port.fd(), PollFlags::IN)).collect();
    fds.extend(waker.map(|waker| PollFd::from_borrowed_fd(waker, PollFlags::IN)));
    polling.wait(most, |most| {
        let most = Timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ };
        match poll(&mut fds, Some(&most)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sleeps that end that soon, one after the other; what is looked for behind each.
    fn learned(woken: &[Option<u64>]) -> Vec<u128> {
        let mut polling = Polling::default();
        let mut learn = |woken: &Option<u64>| {
            polling.learn(woken.map(Duration::from_micros));
            polling.looks.as_micros()
        };
        woken.iter().map(&mut learn).collect()
    }

    #[test]
    fn short_sleeps_are_looked_through_and_long_ones_are_not() {
        assert_eq!(learned(&[Some(20); 6]), [5, 10, 20, 40, 50, 50]);
        assert_eq!(learned(&[Some(1000), None, Some(51)]), [0, 0, 0]);
        let up_and_down = [Some(1), Some(1), Some(1), Some(900), Some(900), None, Some(1), None];
        assert_eq!(learned(&up_and_down), [5, 10, 20, 10, 5, 0, 5, 0]);
    }

    #[test]
    fn what_comes_while_it_looks_needs_no_sleep() {
        let mut polling = Polling { looks: MOST };
        let mut asked = Vec::new();
        let looked = polling.wait(Duration::from_secs(1), |most| {
            asked.push(most);
            Ok(asked.len() == 3)
        });
        assert!(looked.unwrap() > Duration::ZERO);
        assert_eq!((&asked[..], polling.looks), (&[Duration::ZERO; 3][..], MOST));
    }

    #[test]
    fn it_sleeps_for_what_is_left_and_waits_no_longer_than_that() {
        let (mut polling, most) = (Polling { looks: MOST }, Duration::from_millis(3));
        let mut last = Duration::ZERO;
        let looked = polling.wait(most, |most| {
            last = most;
            Ok(false)
        });
        let looked = looked.unwrap();
        assert!(looked > Duration::ZERO && looked < most, "{looked:?}");
        assert!(last > Duration::ZERO && last <= most - MOST, "{last:?}");
        assert_eq!(polling.looks, MOST / 2);
        // No time is left to look in.
        let mut asked = 0;
        let looked = polling.wait(Duration::ZERO, |_| {
            asked += 1;
            Ok(false)
        });
        assert_eq!((looked.unwrap(), asked), (Duration::ZERO, 1));
        let failed = polling.wait(most, |_| Err(io::Error::other("no")));
        assert!(failed.is_err());
    }
}
