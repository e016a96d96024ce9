//! Syntaxes of all that is left of an element's arguments: they write restricted C, and entries of
//! tables.

pub use super::request::{Generated, Request, Row};
use super::{ArgumentError, bad_sources, list, pattern, place, rewrite, rewriters, routes, strings};

/// A way to write a list of arguments.
pub struct ConfigurationSyntax {
    /// Its name in `CONFIG`.
    pub name: &'static str,
    /// Each argument is a pattern.
    pub patterns: bool,
    write: fn(&Request<'_>) -> Result<Generated, Vec<ArgumentError>>,
}

/// All syntaxes of lists of arguments.
pub const CONFIGURATIONS: &[ConfigurationSyntax] = &[
    ConfigurationSyntax { name: "CLASSIFIER", patterns: true, write: pattern::classifier },
    ConfigurationSyntax { name: "IPCLASSIFIER", patterns: true, write: pattern::ip_classifier },
    ConfigurationSyntax { name: "IPFILTER", patterns: true, write: pattern::ip_filter },
    ConfigurationSyntax { name: "IP_ROUTES", patterns: false, write: routes::ip },
    ConfigurationSyntax { name: "IP6_ROUTES", patterns: false, write: routes::ip6 },
    ConfigurationSyntax { name: "RANGE_ROUTES", patterns: false, write: routes::range },
    ConfigurationSyntax { name: "ARP_ENTRIES", patterns: false, write: routes::arp },
    ConfigurationSyntax { name: "ND_ENTRIES", patterns: false, write: routes::neighbours },
    ConfigurationSyntax { name: "MAPPER", patterns: false, write: rewrite::write_mapper },
    ConfigurationSyntax { name: "REWRITE", patterns: false, write: rewrite::write },
    ConfigurationSyntax { name: "REWRITE_ADDRESSES", patterns: false, write: rewrite::write_addresses },
    ConfigurationSyntax { name: "REWRITE_PAIRS", patterns: false, write: rewrite::write_pairs },
    ConfigurationSyntax { name: "REWRITE_PINGS", patterns: false, write: rewrite::write_pings },
    ConfigurationSyntax { name: "REWRITERS", patterns: false, write: rewriters::write },
    ConfigurationSyntax { name: "STRINGS", patterns: false, write: strings::write },
    ConfigurationSyntax { name: "ADDRESS_PLACE", patterns: false, write: place::write },
    ConfigurationSyntax { name: "BAD_SOURCES", patterns: false, write: bad_sources::write },
    ConfigurationSyntax { name: "LIST", patterns: false, write: list::write },
    ConfigurationSyntax { name: "RISING", patterns: false, write: list::rising },
    ConfigurationSyntax { name: "RISING_BANDWIDTHS", patterns: false, write: list::rising_bandwidths },
];

impl ConfigurationSyntax {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CONFIGURATIONS.iter().find(|whole| whole.name == name)
    }

    /// Writes what arguments mean.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn write(&self, request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
        (self.write)(request)
    }
}
