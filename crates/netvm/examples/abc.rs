//! The program of the NRTE paper (section 3) with stages and queues: `a = A(); b = B(a); C(b);`.
//!
//! A makes numbers, B squares them on two threads, and C adds up what comes, in order for each
//! flow. While packets flow, B's threads move to another core, and one of them is taken out.
//!
//! ```sh
//! cargo run --example abc -- 100000
//! ```

use netvm::stages::{Burst, Outlets, Packet, Pipeline, Stage, StageError, Turn};
use std::sync::mpsc;

fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A: the numbers up to that.
fn input(last: u64) -> impl FnMut(&mut Outlets) -> Turn + Send {
    let mut next = 1;
    move |out| {
        if next > last {
            return Turn::End;
        }
        out.send(0, Packet::new(&next.to_le_bytes(), next));
        next += 1;
        Turn::More
    }
}

/// B: their squares.
fn square(burst: &mut Burst, out: &mut Outlets) {
    for packet in burst.iter_mut() {
        let squared = number(packet.bytes).wrapping_mul(number(packet.bytes));
        packet.bytes.copy_from_slice(&squared.to_le_bytes());
    }
    out.send_all(0, burst);
}

/// C: adds up, and looks whether each of the eight flows is in order.
fn add_up(results: mpsc::Sender<(u64, bool)>) -> impl FnMut(&mut Burst, &mut Outlets) {
    let mut last = [0; 8];
    move |burst, _| {
        for packet in burst.iter() {
            let flow = packet.time_ns as usize % 8;
            let in_order = last[flow] < packet.time_ns;
            last[flow] = packet.time_ns;
            // Who adds up waits until the end.
            let _ = results.send((number(packet.bytes), in_order));
        }
    }
}

/// Runs the program; what it prints.
pub fn run(last: u64) -> Result<String, StageError> {
    let (results, all) = mpsc::channel();
    let mut pipeline = Pipeline::default();
    pipeline.stage(Stage::new("c", move |_| add_up(results.clone())))?;
    pipeline.stage(Stage::new("b", |_| square).to("c").replicas(2).resizable(3).flow(|packet| packet.time_ns % 8))?;
    pipeline.input("a", &["b"], input(last))?;
    let running = pipeline.start()?;
    let last_core = std::thread::available_parallelism().map_or(0, |cores| cores.get() - 1);
    for (replica, core) in [(0, Some(0)), (1, Some(last_core)), (0, None)] {
        // A replica may be through already.
        let _ = running.move_to("b", replica, core);
    }
    let _ = running.set_replicas("b", 1);
    let counts = running.wait()?;
    let of = |stage: &str| counts.iter().filter(|it| it.stage == stage).map(|it| it.packets).sum::<u64>();
    let (sum, in_order) = all.iter().fold((0_u64, true), |(sum, all), (number, it)| (sum.wrapping_add(number), all && it));
    Ok(format!("b: {} packets, c: {} packets, sum {sum}, {}", of("b"), of("c"), if in_order { "in order" } else { "out of order" }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let last = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse().map_err(|_| format!("'{text}' is no number")))?;
    println!("{}", run(last)?);
    Ok(())
}
