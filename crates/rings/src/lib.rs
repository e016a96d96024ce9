//! What threads hand packets over with.
//!
//! ```text
//!  producer ──▶ [`ring`]: bursts, one producer and one consumer, no lock that is ever waited for ──▶ consumer, several rings each: [`Inputs`]
//!      ▲                                                                                                │
//!      └─────────────────── [`Bell`]: wakes who sleeps because there is no room, or nothing to do ◀──────┘
//!  [`Gate`]: holds up those who bring packets in, so that everything behind them comes to rest
//!  [`channel`]: whole epochs, with a sender that can be let go on without room ([`Relief`])
//! ```
//!
//! Everything here is tested in all orders that the memory model allows, within bounds (loom), and
//! in random orders (shuttle): `scripts/models`. For that, `sync` says what the primitives are.
//!
//! Invariants: nothing grows without bound but what [`Relief`] states; nobody spins without bound;
//! no unsafe code.
//!
//! Source: NRTE paper, section 3: a logical queue is one ring for each pair of a producer and a
//! consumer. Left out: several producers or consumers of one ring, items that are handed over one
//! by one.
#![forbid(unsafe_code)]

mod bell;
mod channel;
mod gate;
mod inputs;
mod ring;
mod sync;

pub use bell::Bell;
pub use channel::{Held, Level, Receiver, Relief, Sender, channel};
pub use gate::{Closed, Gate};
pub use inputs::{Got, Inputs, Rest};
pub use ring::{Consumer, Popped, Producer, Pushed, ring};

#[cfg(test)]
mod tests;
