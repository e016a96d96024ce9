//! The threads of this process, and for how long each has run on a core: what tells how busy the
//! stages of a configuration are, whatever they wait for.
//!
//! Source: `/proc/self/task`, proc(5). Elsewhere than on Linux there are none. Leaves out threads
//! that serve control sockets.

use crate::application::{Replicas, Stats, Thread};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Threads that are not part of the run.
const OWN: [&str; 3] = ["control", "connection", "metrics"];
/// The field of `stat` with the core that a thread ran on last, counted behind the name, which may
/// have blanks.
const CORE: usize = 36;

/// What the thread of a run on one thread is called.
pub const ONLY: &str = "main";

/// The thread of a run on one thread: the one that calls.
pub fn only(stats: &Stats) -> Thread {
    let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    let own = rustix::thread::sched_getaffinity(None).ok().filter(|set| set.count() == 1);
    let core = own.and_then(|set| (0..rustix::thread::CpuSet::MAX_CPU).find(|core| set.is_set(*core)));
    let looked = Duration::from_nanos(stats.looked_ns);
    Thread { name: ONLY.to_owned(), id, core, packets: stats.arrivals, waiting: None, active: true, looked }
}

/// How many replicas get packets, and are to get some; how long the last change held up the
/// sources, and how long making the last one took; what their number follows, if it does; whether
/// one is left only when its last flow has ended.
pub fn replicas(Replicas { active, wanted, pause, made_in, keeps_flows }: Replicas, auto: Option<&str>) -> Value {
    json!({
        "active": active, "wanted": wanted, "keeps_flows": keeps_flows, "pause_us": pause.as_nanos() as f64 / 1e3,
        "made_ms": made_in.as_secs_f64() * 1e3, "auto": auto,
    })
}

/// All of them, by their numbers: `name`, `id`, `cpu_seconds`, and `core`, the one that it ran on
/// last. Those that packets come to have `packets`, `looked_seconds` (for how much of the time on a
/// core they only looked for frames), `ns_per_packet` (the rest of that time since the thread
/// began, by packets), `pinned` (the core that it is to run on, or null), `active`, and where
/// epochs wait for them `waiting` and `room`.
pub fn threads(known: &[Thread]) -> Value {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut all: Vec<(u64, Value)> = entries.filter_map(|entry| thread(&entry.path(), known)).collect();
    all.sort_by_key(|(id, _)| *id);
    all.into_iter().map(|(_, thread)| thread).collect()
}

/// A thread, if it is there still.
fn thread(folder: &Path, known: &[Thread]) -> Option<(u64, Value)> {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let id = folder.file_name()?.to_str()?.parse().ok()?;
    let name = text("comm")?.trim_end().to_owned();
    let nanoseconds: u64 = text("schedstat")?.split_whitespace().next()?.parse().ok()?;
    let core = text("stat").and_then(|stat| core_of(&stat));
    let seconds = nanoseconds as f64 / 1e9;
    if OWN.contains(&name.as_str()) {
        return None;
    }
    let mut told = json!({ "name": name, "id": id, "cpu_seconds": seconds, "core": core });
    if let Some(it) = known.iter().find(|it| u64::from(it.id) == id) {
        told["name"] = it.name.clone().into();
        told["packets"] = it.packets.into();
        let worked = nanoseconds.saturating_sub(it.looked.as_nanos() as u64);
        told["looked_seconds"] = it.looked.as_secs_f64().into();
        told["ns_per_packet"] = (it.packets > 0).then(|| worked as f64 / it.packets as f64).into();
        told["pinned"] = it.core.into();
        told["active"] = it.active.into();
        if let Some((waiting, room)) = it.waiting {
            (told["waiting"], told["room"]) = (waiting.into(), room.into());
        }
    }
    Some((id, told))
}

fn core_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(CORE)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_stands_behind_a_name_with_blanks() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 6 0 0";
        assert_eq!(core_of(stat), Some(6));
        assert_eq!(core_of("nothing"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_works_is_seen_to() {
        let (told, hears) = std::sync::mpsc::channel();
        let (stops, ends) = std::sync::mpsc::channel::<()>();
        let work = move || {
            let begun = std::time::Instant::now();
            let mut number = 1_u64;
            while begun.elapsed() < std::time::Duration::from_millis(30) {
                number = number.wrapping_mul(6_364_136_223_846_793_005);
            }
            told.send(number).unwrap();
            // It is there until it has been seen.
            let _ = ends.recv();
        };
        let worker = std::thread::Builder::new().name("works hard".to_owned()).spawn(work).unwrap();
        hears.recv().unwrap();
        let find = |name: &str, known: &[Thread]| {
            threads(known).as_array().unwrap().iter().find(|thread| thread["name"] == name).cloned().unwrap()
        };
        let seen = find("works hard", &[]);
        let id = seen["id"].as_u64().unwrap() as u32;
        let known = Thread {
            name: "replica 0".to_owned(),
            id,
            core: None,
            packets: 10,
            waiting: Some((1, 4)),
            active: true,
            looked: Duration::ZERO,
        };
        let told = find("replica 0", &[known]);
        drop(stops);
        worker.join().unwrap();
        // Rounded by a hair.
        assert!(told["ns_per_packet"].as_f64().unwrap() > seen["cpu_seconds"].as_f64().unwrap() * 0.999e8, "{told}");
        assert!(told["waiting"] == 1 && told["room"] == 4 && seen["ns_per_packet"].is_null(), "{told}");
        assert!(seen["cpu_seconds"].as_f64().unwrap() > 0.0, "{seen}");
    }
}
