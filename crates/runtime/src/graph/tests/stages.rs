//! Elements that take bursts one after the other do what they do one packet at a time: generated graphs of programs that send copies, lead back, drop and trap.

use super::super::{NodeStats, Replay};
use super::linked::plan;
use super::*;
use std::path::{Path, PathBuf};

/// What a program does with a packet by its first word: copies to `d` and `e` at times, then it drops it, traps, or sends it.
const DECIDE: &str = "
     push 0 spload.32 push 28 ushr switch 3: 0: both 1: one 2: one default: none
     both: pkt.senddup e pkt.senddup e
     one: pkt.senddup d
     none: push 0 spload.32 push 20 ushr push 15 and switch 7: 0: gone 1: gone 2: gone 3: bad 4: left 5: left 6: right default: on
     gone: exit 1
     bad: push 0 spload.32 push 19 ushr push 1 and j.eq worse push 2000 spload.32 pop exit 2
     worse: push 3000 spload.32 pop exit 2
     left: pkt.send d
     right: pkt.send e
     on: pkt.send c ends";
const PORTS: &str = "segment .ports push_input a, b push_output c, d, e ends segment .push";

/// From what it keeps, everybody behind can tell in which order packets came.
const KEEPS: &str =
    ".datamem_size 4 pop push 0 spload.32 push 0 umload.32 add push 0x9e3779b1 mul push 9 rol dup push 0 mstore.32 push 0 pstore.32";

fn keeps() -> String {
    format!("{PORTS} {KEEPS} {DECIDE}")
}

/// It keeps nothing.
fn plain() -> String {
    format!("{PORTS} pop push 0 spload.32 push 0x3243f6a9 add push 0x85ebca6b mul push 13 rol push 0 pstore.32 {DECIDE}")
}

/// Numbers by which graphs are chosen.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % n
    }
}

/// Two devices, programs that lead to each other and to small queues, each with a capture behind it.
fn generated(seed: u64, folder: &Path) -> String {
    let mut random = Random(seed);
    let (members, queues) = (3 + random.below(6), 1 + random.below(3));
    let mut text = "f :: FromDevice(eth0)\n g :: FromDevice(eth1)\n".to_owned();
    for n in 0..members {
        text += &format!("m{n} :: {}\n", ["keeps", "plain"][random.below(2)]);
    }
    for n in 0..queues {
        let (capacity, file) = ([1, 2, 7, 5000][random.below(4)], folder.join(format!("{n}.pcap")));
        text += &format!("q{n} :: Queue({capacity})\n d{n} :: ToDump({})\n q{n} -> d{n}\n", file.display());
    }
    text += &format!("f -> m0\n g -> [1] m{}\n", random.below(members));
    for (from, port) in (0..members).flat_map(|from| (0..3).map(move |port| (from, port))) {
        let input = random.below(2);
        text += &match random.below(10) {
            0 => continue,
            1 | 2 => format!("m{from} [{port}] ~> [{input}] m{}\n", random.below(from + 1)),
            3..7 if from + 1 < members => format!("m{from} [{port}] -> [{input}] m{}\n", from + 1 + random.below(members - from - 1)),
            _ => format!("m{from} [{port}] -> q{}\n", random.below(queues)),
        };
    }
    text
}

/// Captures that were written, and what was counted.
type Found = (Vec<Vec<u8>>, Vec<(String, NodeStats)>);

/// Runs it in stages if it is said of which programs nobody can tell the order, or one packet at a time.
fn found(app: &Application, passes: u64, folder: &Path, any_order: Option<&dyn Fn(u32) -> bool>) -> Found {
    let replay = |count: u64, interval, seed| {
        let mut random = Random(seed);
        let packets: Vec<Vec<u8>> = (0..count).map(|n| [[random.below(256) as u8; 7], [n as u8; 7]].concat()).collect();
        Arc::new(Replay::new(packets.iter().map(Vec::as_slice), passes, interval))
    };
    let replays = [("eth0".to_owned(), replay(500, 10, 1)), ("eth1".to_owned(), replay(300, 15, 2))].into();
    let (mut graph, _) = graph(app, Settings { replays, ..Settings::default() }).unwrap();
    if let Some(any_order) = any_order {
        let plan = plan(app);
        let stages = graph.stages(&plan, any_order).unwrap();
        graph.link(app, plan, Box::new(stages));
    }
    graph.start();
    while graph.turn() {}
    // What still waits goes into a capture.
    for queue in ["rest.reset", "more.reset"] {
        let _ = graph.write(queue, "", None);
        graph.settle();
    }
    let nodes = graph.stats().nodes.into_iter().map(|(name, _, mut node)| {
        // Those at the end may be missing.
        node.out.truncate(node.out.iter().rposition(|n| *n > 0).map_or(0, |at| at + 1));
        (name, node)
    });
    let nodes = nodes.collect();
    assert!(graph.finish().is_empty());
    let captures = (0..3).map(|n| std::fs::read(folder.join(format!("{n}.pcap"))).unwrap_or_default()).collect();
    (captures, nodes)
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-stages-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn generated_graphs_do_what_they_do_one_packet_at_a_time() {
    let (keeps, plain) = (keeps(), plain());
    let (mut returned, mut too_often, mut wrote) = (0, 0, 0);
    for seed in 0..40 {
        let folder = folder(&seed.to_string());
        let text = generated(seed, &folder);
        let app = application(&text, &[("keeps", &keeps), ("plain", &plain)]);
        let wanted = found(&app, 3, &folder, None);
        let is_plain = |instance: u32| app.instances[instance as usize].class == "plain";
        for any_order in [&is_plain as &dyn Fn(u32) -> bool, &|_| false] {
            let (captures, nodes) = found(&app, 3, &folder, Some(any_order));
            let differs = nodes.iter().zip(&wanted.1).find(|(found, wanted)| found != wanted);
            assert!(differs.is_none(), "seed {seed}: {differs:?}\n{text}");
            assert!(captures == wanted.0, "seed {seed}: captures differ\n{text}");
        }
        returned += usize::from(text.contains("~>"));
        too_often += wanted.1.iter().filter(|(_, node)| node.drops.contains_key("led back too often")).count();
        wrote += usize::from(wanted.0.iter().any(|file| file.len() > 1000));
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(returned > 20 && too_often > 3 && wrote > 30, "{returned} {too_often} {wrote}");
}

#[test]
fn copies_that_there_is_no_room_for_in_the_pool_wait_in_order_all_the_same() {
    let folder = folder("room");
    let [rest, more] = ["0.pcap", "1.pcap"].map(|file| folder.join(file).display().to_string());
    let text = format!(
        "f :: FromDevice(eth0)\n g :: FromDevice(eth1)\n a :: both\n b :: marks\n c :: marks\n rest :: Queue(20000)\n more :: Queue(20000)\n i :: Idle\n j :: Idle\n \
         d :: ToDump({rest})\n e :: ToDump({more})\n f -> a -> b -> rest -> i\n g -> [1] c\n a [1] -> c -> more -> j\n \
         rest [1] -> d\n more [1] -> e"
    );
    let [both, marks] = [format!("{PORTS} pop pkt.senddup d pkt.send c ends"), format!("{PORTS} {KEEPS} pkt.send c ends")];
    let app = application(&text, &[("both", &both), ("marks", &marks)]);
    let (wanted, found) = (found(&app, 6, &folder, None), found(&app, 6, &folder, Some(&|_| false)));
    let waited: u64 = wanted.1.iter().filter(|(name, _)| name == "rest" || name == "more").map(|(_, node)| node.packets).sum();
    assert!(waited > 4500 && wanted.0.concat().len() as u64 > waited * 30, "{waited}");
    assert!(found == wanted);
    std::fs::remove_dir_all(folder).unwrap();
}
