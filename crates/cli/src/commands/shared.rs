//! Arguments that several subcommands have.

use crate::failure::{self, Failure, Outcome};
use crate::input;
use clap::builder::TypedValueParser as _;
use clap::builder::{PossibleValue, PossibleValuesParser};
use netvm::engines::{self, EngineInfo};
use netvm::io::LinkType;
use netvm::{Filter, Profile};
use std::path::{Path, PathBuf};

/// The choice of an engine.
#[derive(clap::Args)]
pub(crate) struct EngineArg {
    /// How to run the program; all engines give the same results
    #[arg(long, value_name = "ENGINE", value_parser = engine_parser(), default_value = engines::AUTO.name)]
    engine: &'static str,

    /// Do not keep code that a C compiler made in the cache (~/.cache/netvm), nor take it from
    /// there
    #[arg(long)]
    no_cache: bool,
}

impl EngineArg {
    pub(crate) fn settings(&self) -> engines::Settings {
        let default = engines::Settings::default();
        engines::Settings { no_cache: self.no_cache || default.no_cache, ..default }
    }

    /// Settings without optimisations of these names; those of P4 programs are none of an engine's.
    pub(crate) fn settings_without(&self, names: &[String]) -> engines::Settings {
        let settings = self.settings();
        let without = names.iter().fold(settings.without, |all, name| all.and(name).unwrap_or(all));
        engines::Settings { without, ..settings }
    }

    pub(crate) fn get(&self) -> &'static EngineInfo {
        engines::find(self.engine).unwrap_or(&engines::AUTO)
    }
}

/// The names of all optimisations: of P4 programs and of engines.
pub(crate) fn optimisation_parser() -> PossibleValuesParser {
    let of_p4 = netvm::p4::optimisation::ALL.iter().map(|(_, name, doc)| (*name, *doc));
    PossibleValuesParser::new(of_p4.chain(engines::Without::names()).map(|(name, doc)| PossibleValue::new(name).help(doc)))
}

/// Packets by which a filter's terms are ordered.
#[derive(clap::Args)]
pub(crate) struct ProfileArg {
    /// Order the filter's terms for packets like the first of this capture; never changes what is
    /// selected
    #[arg(long, value_name = "CAPTURE", value_hint = clap::ValueHint::FilePath)]
    profile: Option<PathBuf>,
}

impl ProfileArg {
    /// True if there is one.
    pub(crate) fn is_given(&self) -> bool {
        self.profile.is_some()
    }

    /// The filter with the profile, if one is asked for.
    pub(crate) fn applied(&self, filter: Filter) -> Outcome<Filter> {
        let Some(path) = &self.profile else { return Ok(filter) };
        if path == Path::new("-") {
            return Err(Failure::usage("--profile reads a file, not standard input"));
        }
        let failed = |why: &dyn std::fmt::Display| Failure::failed(format_args!("--profile {}: {why}", path.display()));
        let profile = Profile::of(&mut input::open(path)?).map_err(|error| failed(&error))?;
        if profile.is_empty() {
            return Err(failed(&"there are no packets in it to order terms by"));
        }
        Ok(filter.with_profile(profile))
    }
}

fn engine_parser() -> impl clap::builder::TypedValueParser<Value = &'static str> {
    let values = [&engines::AUTO].into_iter().chain(engines::ALL).map(|e| clap::builder::PossibleValue::new(e.name).help(e.description));
    let forms = engines::FORMS.iter().map(|e| clap::builder::PossibleValue::new(e.name).hide(true));
    PossibleValuesParser::new(values.chain(forms)).map(|name| engines::find(&name).unwrap_or(&engines::AUTO).name)
}

/// A filter expression: words, or a file.
#[derive(clap::Args)]
pub(crate) struct Expression {
    /// Filter expression, see pcap-filter(7); without one every packet matches
    #[arg(value_name = "EXPR", allow_negative_numbers = true)]
    words: Vec<String>,

    /// Read the expression from a file, or a list of addresses and networks, one a line; # begins a
    /// comment. With EXPR, packets must match both
    #[arg(short = 'F', value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Names of hosts, from a file in the form of /etc/hosts: for the expression, before /etc/hosts
    /// itself, and for addresses where these are shown with names
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) hosts: Option<PathBuf>,
}

impl Expression {
    /// The text of the expression.
    pub(crate) fn text(&self) -> Outcome<String> {
        self.text_from(0)
    }

    /// The text of the expression without the first words.
    pub(crate) fn text_from(&self, first: usize) -> Outcome<String> {
        with_hosts(self.written(first)?, self.hosts.as_deref())
    }

    fn written(&self, first: usize) -> Outcome<String> {
        let words = self.words.get(first..).unwrap_or_default().join(" ");
        let Some(path) = &self.file else { return Ok(words) };
        let read = match path == Path::new("-") {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        };
        let text = read.map_err(|error| Failure::failed(format_args!("{}: {error}", path.display())))?;
        let of_list = netvm::frontends::pcap_filter::filter_of_list(&text);
        let of_list = of_list.map_err(|bad| Failure::usage(format_args!("{}: {bad}", path.display())))?;
        let of_file = of_list.unwrap_or_else(|| without_comments(&text));
        if of_file.trim().is_empty() && !text.trim().is_empty() && words.is_empty() {
            failure::warning(format_args!("{}: there are only comments in it, which select every packet", path.display()));
        }
        both(of_file, words)
    }

    /// Captures named before the expression, as `-r *.pcap` leaves them there: words that name a
    /// file and have a dot or a slash, with which no expression begins.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let is_file = |word: &&String| word.contains(['.', '/']) && Path::new(word).is_file();
        self.words.iter().take_while(is_file).map(PathBuf::from).collect()
    }
}

/// An expression with the addresses of hosts that a file names.
pub(crate) fn with_hosts(text: String, hosts: Option<&Path>) -> Outcome<String> {
    let Some(path) = hosts else { return Ok(text) };
    let names = crate::hosts::Hosts::text(path)?;
    Ok(netvm::frontends::pcap_filter::with_hosts(&text, &names).map_err(|errors| netvm::Error::Filter { source: text, errors })?)
}

/// What matches both expressions; each is looked at by itself, so that a fault in one has its place
/// there.
fn both(file: String, words: String) -> Outcome<String> {
    if words.trim().is_empty() || file.trim().is_empty() {
        return Ok(if file.trim().is_empty() { words } else { file });
    }
    for part in [&file, &words] {
        Filter::new(part, &engines::AUTO)?;
    }
    Ok(format!("({file}) and ({words})"))
}

/// The text with blanks for comments, so that places of errors stay what they are.
fn without_comments(text: &str) -> String {
    let line = |line: &str| match line.split_once('#') {
        Some((before, comment)) => before.to_owned() + &" ".repeat(comment.len() + 1),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A link type by the name that libpcap gives it.
pub(crate) fn link_type(name: &str) -> Result<LinkType, String> {
    let number = || name.parse().ok().map(LinkType::from_file);
    LinkType::from_name(name)
        .or_else(number)
        .ok_or_else(|| "not a link type; the usual ones are EN10MB, RAW, LINUX_SLL, LINUX_SLL2, NULL, LOOP and PPP".to_owned())
}

/// `n packet` or `n packets`.
pub(crate) fn packets(n: u64) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} packet{s}")
}

/// A number with commas between thousands.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes in a unit that people read.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = "bytes";
    for next in UNITS {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    if unit == "bytes" { format!("{n} bytes") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_blanks() {
        assert_eq!(without_comments("tcp # web\nport 80\n"), "tcp      \nport 80");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!((grouped(0), grouped(1_234_567)), ("0".into(), "1,234,567".into()));
        assert_eq!((bytes(999), bytes(1_500), bytes(2_340_000_000)), ("999 bytes".into(), "1.5 kB".into(), "2.3 GB".into()));
        assert_eq!((packets(1), packets(2)), ("1 packet".into(), "2 packets".into()));
    }
}
