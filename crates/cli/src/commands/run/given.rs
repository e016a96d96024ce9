//! A configuration as commands that look into it are given one: its file, parameters, and the
//! captures that it reads.

use super::{configuration, mapping, search};
use crate::failure::{Failure, Outcome};
use netvm::application::{Application, Settings};
use std::path::PathBuf;

/// A configuration and its captures.
#[derive(clap::Args)]
pub(crate) struct Given {
    /// Click configuration, - for standard input; an installed one by its name alone
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Values for parameters of the configuration
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    /// Capture to read in the place of the only capture or device that the configuration reads
    #[arg(short = 'r', long = "read", value_name = "IN", value_hint = clap::ValueHint::FilePath)]
    pub(crate) read: Option<PathBuf>,

    /// Captures that stand for a device of the configuration: one that it reads, one that it
    /// writes, or both
    #[arg(long = "map", value_name = "DEVICE=IN[,OUT]")]
    maps: Vec<String>,

    /// A folder with element classes in C, looked into before the built-in ones
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,
}

impl Given {
    /// That file by itself, with its captures.
    #[cfg(feature = "machines")]
    pub(crate) fn alone(file: PathBuf, parameters: Vec<String>, read: Option<PathBuf>, maps: Vec<String>) -> Self {
        Self { file, parameters, read, maps, elements: Vec::new() }
    }

    /// Reads the configuration; the settings say which captures stand for devices.
    pub(crate) fn application(&self) -> Outcome<(Application, Settings)> {
        if self.is_program() {
            let told = "is a NetIL program, and this is for Click configurations; `netvm run` runs it, `netvm trace` follows its packets";
            return Err(Failure::usage(format_args!("{} {told}", self.file.display())));
        }
        let file = search::configuration(&self.file)?;
        let text = configuration::read(&file)?;
        let reading = configuration::reading(Some(&file), self.parameters.iter().cloned(), &self.elements)?;
        let application = configuration::application(&file.display().to_string(), &text, &reading)?;
        let mut settings = Settings::default();
        for map in &self.maps {
            mapping::device(map, &application, &mut settings)?;
        }
        Ok((application, settings))
    }

    /// Whether the file is a NetIL program, by its name.
    pub(crate) fn is_program(&self) -> bool {
        self.file.extension().is_some_and(|end| ["netil", "nvm", "asm"].iter().any(|program| end.eq_ignore_ascii_case(program)))
    }

    /// What of it is for configurations only, if anything of that is given.
    pub(crate) fn for_configurations(&self) -> Option<&'static str> {
        let only =
            [("NAME=VALUE", !self.parameters.is_empty()), ("--map", !self.maps.is_empty()), ("--elements", !self.elements.is_empty())];
        only.into_iter().find(|(_, given)| *given).map(|(what, _)| what)
    }

    /// True if packets are given to it.
    pub(crate) fn has_traffic(&self) -> bool {
        self.read.is_some() || !self.maps.is_empty()
    }
}
