//! What lines look like: tcpdump's options for it.

use crate::print::{Carried, Dump, Style, TimeForm, TimeStyle};
use clap::ArgAction;
use netvm::io::Precision;

/// What lines look like.
#[derive(clap::Args)]
#[command(next_help_heading = "tcpdump's habits")]
pub(super) struct Look {
    /// Print what UDP (and, with domain, TCP) carries as this, whatever the ports
    #[arg(short = 'T', value_name = "TYPE", value_enum, hide_possible_values = false)]
    carried: Option<Carried>,
    /// Accepted: addresses and ports are always numbers
    #[arg(short = 'n', action = ArgAction::Count)]
    numeric: u8,
    /// Show the link-layer header
    #[arg(short = 'e')]
    link: bool,
    /// Show more of each packet; twice for more
    #[arg(short = 'v', action = ArgAction::Count)]
    verbose: u8,
    /// Show less of each packet
    #[arg(short = 'q')]
    quiet: bool,
    /// Show each packet in hexadecimal; twice with its link-layer header
    #[arg(short = 'x', action = ArgAction::Count)]
    hex: u8,
    /// Show each packet in hexadecimal and as text; twice with its link-layer header
    #[arg(short = 'X', action = ArgAction::Count)]
    hex_text: u8,
    /// Show each packet as text; twice with its link-layer header
    #[arg(short = 'A', action = ArgAction::Count)]
    ascii: u8,
    /// No time; twice: seconds since 1970; three times: since the packet before; four: with the
    /// date; five: since the first
    #[arg(short = 't', action = ArgAction::Count)]
    time: u8,
    /// Times to the micro- or nanosecond
    #[arg(long, value_name = "PRECISION", value_parser = ["micro", "nano"])]
    time_stamp_precision: Option<String>,
    /// Times to the nanosecond
    #[arg(long, overrides_with = "micro")]
    nano: bool,
    /// Times to the microsecond: the default
    #[arg(long)]
    micro: bool,
    /// Show TCP sequence numbers as they are, not relative to the connection's first
    #[arg(short = 'S', long)]
    absolute_tcp_sequence_numbers: bool,
    /// Number the packets
    #[arg(short = '#', long)]
    number: bool,
    /// Hand on every line at once
    #[arg(short = 'l')]
    pub(super) line_buffered: bool,
    /// Hand on every packet at once, to the capture that is written, too
    #[arg(short = 'U', long)]
    pub(super) packet_buffered: bool,
    /// Capture so many bytes of each packet, 0 for the most there can be; files are always read
    /// whole
    #[arg(short = 's', long = "snapshot-length", value_name = "LEN", value_parser = clap::value_parser!(u32).range(..=262_144))]
    pub(super) snaplen: Option<u32>,
    /// With -v, do not say whether the checksums of IPv4, TCP and UDP are right
    #[arg(short = 'K', long = "dont-verify-checksums")]
    unchecked: bool,
    /// Accepted: names are never looked up
    #[arg(short = 'N', hide = true)]
    no_domains: bool,
    /// Accepted: no address has a name
    #[arg(short = 'f', hide = true)]
    no_foreign: bool,
    /// Accepted: what a filter selects does not depend on how it is optimised
    #[arg(short = 'O', long = "no-optimize")]
    no_optimize: bool,
}

impl Look {
    pub(super) fn style(&self) -> Style {
        let form = match self.time {
            0 => TimeForm::Day,
            1 => TimeForm::None,
            2 => TimeForm::Epoch,
            3 => TimeForm::Delta,
            4 => TimeForm::Date,
            _ => TimeForm::SinceFirst,
        };
        let precision = if self.nano && !self.micro || self.time_stamp_precision.as_deref() == Some("nano") {
            Precision::Nano
        } else {
            Precision::Micro
        };
        let dump = match (self.hex_text, self.hex, self.ascii) {
            (0, 0, 0) => Dump::None,
            (0, 0, n) => Dump::Text { link: n > 1 },
            (0, n, _) => Dump::Hex { link: n > 1 },
            (n, ..) => Dump::Both { link: n > 1 },
        };
        Style {
            link: self.link,
            verbose: self.verbose,
            quiet: self.quiet,
            unchecked: self.unchecked,
            absolute: self.absolute_tcp_sequence_numbers,
            number: self.number,
            time: TimeStyle { form, precision },
            dump,
            carried: self.carried,
            interface: None,
        }
    }
}
