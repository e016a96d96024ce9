//! Commands of control planes that were damaged are refused or done, and never a panic; packets are
//! forwarded behind them, and a batch that is refused changes nothing.
//!
//! The commands are those of the STF files in `tests/p4`, each with bytes and words changed.
//! `NETVM_CASES` and `NETVM_SEED` choose how many and which.

use netvm::p4::{self, Switch, stf};
use netvm::{Settings, engines};
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 8] = ["controller", "priorities", "state", "meters", "profiles", "sets", "learn", "psa_objects"];
/// What is put in the place of a word.
const WORDS: [&str; 16] = [
    "",
    "0",
    "-1",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "0x",
    "0x1*",
    "1/33",
    "9->3",
    "5&&&",
    "::ffff:1.2.3.4",
    "=>",
    "(",
    "\u{2028}",
    "\u{fffd}:1",
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize % n.max(1)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/p4")
}

/// The lines of the tests that a control plane may say, and some for what they leave out.
fn commands(program: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(format!("{program}.stf"))).unwrap_or_default();
    let is_test =
        |line: &&str| ["packet", "expect", "check_counter", "#"].iter().any(|word| line.starts_with(word)) || line.trim().is_empty();
    let more = "table_dump\nremove all\ntable_clear t\nmc_mgrp_create 1\nmc_node_create 7 1 2\nmc_node_associate 1 0\nmirroring_add 3 6\n\
        mirroring_add_mc 4 1\nmc_dump\nreset_state\nshow_tables\npvs_add vs 5\nset_crc16_parameters calc 0x8005 0 0 True True\n\
        table_add forward to 9 => 4\ntable_modify forward to 0 => 5\ntable_delete forward 0\ncounter_write arrived 3 8 90\n\
        register_write last 2 77\nmeter_set_rates limits 1 0.1:5 0.2:9\nact_prof_create_member ways to 5\nact_prof_create_group ways\n\
        act_prof_add_member_to_group ways 0 0\ntable_indirect_add_with_group chosen 0x800 => 0\nadd rules 4 h.eth.type:0x800->0x900 drop()";
    text.lines().filter(|line| !is_test(line)).chain(more.lines()).map(str::to_owned).collect()
}

/// A line with something else in it.
fn damaged(line: &str, random: &mut Random) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(words.len());
        match random.below(4) {
            0 => words[at] = WORDS[random.below(WORDS.len())].to_owned(),
            1 => drop(words.remove(at)),
            2 => words.insert(at, WORDS[random.below(WORDS.len())].to_owned()),
            _ => {
                let mut bytes = words[at].clone().into_bytes();
                if let Some(n) = bytes.len().checked_sub(1) {
                    bytes[random.below(n + 1)] = random.below(256) as u8;
                }
                words[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        if words.is_empty() {
            break;
        }
    }
    words.join(" ")
}

#[test]
fn damaged_commands_do_no_harm() {
    let (cases, mut random) = (number("NETVM_CASES", 400), Random(number("NETVM_SEED", 1) | 1 << 40));
    let (mut done, mut refused) = (0, 0);
    for program in PROGRAMS {
        let pipeline = p4::load(&folder().join(format!("{program}.p4")), &[], &[]).unwrap();
        let mut switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).unwrap();
        let lines = commands(program);
        for case in 0..cases {
            let sound = &lines[random.below(lines.len())];
            let line = if case % 4 == 0 { sound.clone() } else { damaged(sound, &mut random) };
            match stf::configure(&mut switch, &line) {
                Ok(_) => done += 1,
                Err(why) => {
                    assert!(why.text().len() > 8, "{line:?}: {why:?}");
                    refused += 1;
                }
            }
            if case % 16 == 0 {
                let packet: Vec<u8> = (0..64).map(|_| random.below(256) as u8).collect();
                switch.receive(random.below(4) as u32, &packet, case * 1000);
                switch.dump(None).unwrap();
            }
        }
    }
    assert!(done * 8 > refused && refused * 8 > done, "{done} done, {refused} refused");
}
