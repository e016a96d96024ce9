//! The subcommands, one file each.

#[cfg(not(feature = "machines"))]
mod absent;
mod asm;
mod bench;
mod build;
mod check;
pub(crate) mod click;
mod compile;
mod completions;
mod ctl;
mod disasm;
mod elements;
mod explain;
mod explain_svg;
mod filter;
mod graph;
#[cfg(feature = "machines")]
mod machines;
mod man;
mod p4;
#[cfg(feature = "machines")]
mod profile_conflicts;
mod run;
mod shared;
#[cfg(feature = "machines")]
mod simulate;
mod stats;
mod synth;
mod targets;
mod test;
mod top;
mod trace;
mod verify;
mod xdp;

use crate::failure::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Filter(Box<filter::Args>),
    Stats(stats::Args),
    Explain(explain::Args),
    Run(Box<run::Args>),
    Ctl(ctl::Args),
    Top(top::Args),
    Check(check::Args),
    Trace(trace::Args),
    Graph(graph::Args),
    Elements(elements::Args),
    Test(test::Args),
    #[cfg(feature = "machines")]
    Simulate(simulate::Args),
    #[cfg(feature = "machines")]
    Machines(machines::Args),
    #[cfg(feature = "machines")]
    ProfileConflicts(profile_conflicts::Args),
    #[cfg(not(feature = "machines"))]
    #[command(name = "simulate", aliases = ["machines", "profile-conflicts"], hide = true)]
    Absent(absent::Args),
    Synth(synth::Args),
    Asm(asm::Args),
    Disasm(disasm::Args),
    Verify(verify::Args),
    Compile(compile::Args),
    Build(build::Args),
    Targets(targets::Args),
    Xdp(xdp::Args),
    Bench(bench::Args),
    Completions(completions::Args),
    Man(man::Args),
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::Filter(args) => filter::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Run(args) => run::run(args),
        Command::Ctl(args) => ctl::run(args),
        Command::Top(args) => top::run(args),
        Command::Check(args) => check::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Graph(args) => graph::run(args),
        Command::Elements(args) => elements::run(args),
        Command::Test(args) => test::run(args),
        #[cfg(feature = "machines")]
        Command::Simulate(args) => simulate::run(args),
        #[cfg(feature = "machines")]
        Command::Machines(args) => machines::run(args),
        #[cfg(feature = "machines")]
        Command::ProfileConflicts(args) => profile_conflicts::run(args),
        #[cfg(not(feature = "machines"))]
        Command::Absent(args) => absent::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Asm(args) => asm::run(args),
        Command::Disasm(args) => disasm::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Build(args) => build::run(args),
        Command::Targets(args) => targets::run(args),
        Command::Xdp(args) => xdp::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}
