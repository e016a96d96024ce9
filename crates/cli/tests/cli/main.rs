//! The program from outside: what it prints, what it writes, how it ends. One binary, so that it is
//! linked once.

mod af_xdp;
mod aot;
mod bench;
mod carried;
mod carried_messages;
mod compile;
mod configurations;
mod control;
mod devices;
mod divided;
mod elements;
mod explain;
mod filter;
mod formats;
mod graph;
mod growing;
mod help;
mod hostile;
mod install;
mod interfaces;
mod live;
mod machines;
mod moves;
#[path = "../../../../tests/needs.rs"]
mod needs;
mod p4;
mod pipes;
mod print;
mod print_verbose;
mod profile;
mod programs;
mod signals;
mod stats;
mod tools;
mod trace;
mod wlan;
mod xdp;
