//! The `netvm` program: its command line, its subcommands, and packets as text.
//!
//! - `commands`: one file per subcommand: its arguments (clap), its help, what it does
//! - [`mod@print`]: packets as lines, the way tcpdump writes them
//! - `failure`, `out`, `input`, `hosts`, `signals`, `progress`: exit statuses, standard output,
//!   captures in a row, names from a file, ^C, the bar
//! - `slips`: what is meant by command lines of other programs
//!
//! The library exists for [`command`], from which manual pages and shell completions are generated,
//! and for tests.
#![forbid(unsafe_code)]

mod commands;
mod failure;
mod hosts;
mod input;
mod man;
mod out;
pub mod print;
mod progress;
mod signals;
mod slips;

use clap::{CommandFactory, Parser, ValueEnum};
use std::process::ExitCode;

/// A filter for packets that is compiled for you, and a portable system to run programs on packets.
#[derive(Parser)]
#[command(name = "netvm", version, about, long_about = None, after_help = EXAMPLES, after_long_help = after_long_help(), propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    /// When to colour messages; with `auto`, only on a terminal and unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = false)]
    color: Color,

    #[command(subcommand)]
    command: commands::Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

const EXAMPLES: &str = "\
Examples:
  netvm filter -r trace.pcap tcp port 443            print the packets that match, one line each
  netvm filter -r trace.pcapng -w web.pcap port 80   write them to a capture
  netvm filter -r trace.pcap.gz --count udp          only count them
  netvm filter -i eth0 host 10.0.0.1 and icmp        print what passes an interface
  netvm stats -r trace.pcap                          what the traffic consists of
  netvm explain 'tcp port 80 or 443'                 what a filter does
  netvm explain 'tcp port 80' -r trace.pcap --packet 7
                                                     why packet 7 matches, or does not
  netvm compile --filter 'ip6 and udp' --emit asm    the machine code of a filter
  netvm asm nat.netil -o nat.nvm                     assemble a NetIL program
  netvm run nat.nvm --in lan=lan.pcap --out wan=wan.pcap
  netvm run router.click --map eth0=in.pcap,out.pcap run a Click configuration between captures
  netvm trace router.click -r in.pcap --packet 7     tell what happens to packet 7 in it
  netvm graph router.click -r in.pcap -o router.svg  draw it, with how many packets went where";

/// What the exit statuses mean; a line each.
pub const EXIT_STATUS: &str = "\
0    success, whether or not a packet matched
1    an input is damaged or cannot be read, an output cannot be written, a program or
     configuration is refused, or an init handler failed; what came before damage was done
2    a wrong command line or filter expression
130  ended by an interrupt (^C), 143 by a request to terminate; what was done so far is complete.
     A capture on an interface has no other end: its status is then 0
141  the reader of the output went away";

/// The environment variables that count; a line each.
pub const ENVIRONMENT: &str = "\
NO_COLOR        no colours in messages
TZ              the time zone of times of day
NETVM_CC        the C compiler, with its first arguments; cc, gcc or clang if it is not set
NETVM_NO_CACHE  if not empty, the same as --no-cache
NETVM_PATH      folders, with colons between: configurations that are given by their names are looked
                for there, and element classes in the folder elements of each
XDG_CACHE_HOME  where the cache of compiled code is, in netvm; ~/.cache if it is not set";

/// The command line, for manual pages and shell completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// What a shell needs to complete command lines.
pub fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "netvm", &mut text);
    if shell == clap_complete::Shell::Fish {
        // A short option `#` begins a comment in fish unless it is quoted, which clap_complete does
        // not do.
        text = String::from_utf8_lossy(&text).replace(" -s # ", " -s '#' ").into_bytes();
    }
    text
}

fn after_long_help() -> String {
    let indented = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
    format!("{EXAMPLES}\n\nExit status:\n{}\nEnvironment:\n{}", indented(EXIT_STATUS), indented(ENVIRONMENT))
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    #[cfg(feature = "p4runtime")]
    netvm::p4::read_protobuf_by(p4runtime::text::enter);
    if let Some(status) = commands::click::main() {
        return status;
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| slips::explained(error).exit());
    match cli.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    match commands::run(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
