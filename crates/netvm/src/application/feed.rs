//! Changes to an application before it starts: other captures to read, none to write, packets that can be told apart.

use super::Application;
use super::Settings;
use crate::Error;
use netil::app::{Body, Instance};
use netil::module::InfoField;
use netil::verify::Verified;
use runtime::graph::native::{self, Medium};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The info field that holds a packet's number, see `Application::number_packets`.
pub const NUMBER: &str = "packet number";
/// Where what is not wanted goes.
const NOWHERE: &str = "/dev/null";

impl Application {
    /// Reads a capture in the place of the only one that the configuration reads, from a file or a device; which element does.
    ///
    /// # Errors
    /// It reads none, or several.
    pub fn feed(&mut self, input: &Path, settings: &mut Settings) -> Result<usize, Error> {
        let reads = |(_, i): &(usize, &Instance)| matches!(i.class.as_str(), "FromDump" | "FromDevice" | "PollDevice");
        let readers: Vec<usize> = self.application.instances.iter().enumerate().filter(reads).map(|(at, _)| at).collect();
        let [at] = readers[..] else {
            return Err(Error::Feed { name: self.name.clone(), readers: readers.len() });
        };
        let instance = &mut self.application.instances[at];
        let is_file = instance.class == "FromDump";
        let Body::Native(arguments) = &mut instance.body else { return Ok(at) };
        match is_file {
            true => name_file(arguments, input),
            false => drop(settings.devices.insert(first(arguments), input.to_owned())),
        }
        Ok(at)
    }

    /// Lets elements that write captures and print into files write nothing; by element, which captures they would have written.
    pub fn mute(&mut self, settings: &mut Settings) -> HashMap<usize, String> {
        let (mut outputs, files) = (HashMap::new(), settings.outputs.clone());
        self.application.files.clear();
        for (at, instance) in self.application.instances.iter_mut().enumerate() {
            let Body::Native(arguments) = &mut instance.body else { continue };
            if native::facts(&instance.class).writes == Some(Medium::File) {
                outputs.insert(at, first(arguments));
                name_file(arguments, Path::new(NOWHERE));
            } else if instance.class == "ToDevice" {
                let name = first(arguments);
                settings.outputs.insert(name.clone(), PathBuf::from(NOWHERE));
                outputs.insert(at, files.get(&name).map_or(name, |file| file.display().to_string()));
            }
        }
        outputs
    }

    /// Gives packets a field of info memory that no element knows.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn number_packets(&mut self) -> Result<(), Error> {
        let offset = self.application.info_size.next_multiple_of(8);
        self.application.info.push(InfoField { name: NUMBER.to_owned(), offset, size: 8 });
        self.application.info_size = offset + 8;
        // Elements that are alike have one program in common.
        let mut wider: HashMap<*const Verified, Arc<Verified>> = HashMap::new();
        for instance in &mut self.application.instances {
            let Body::Program(program) = &mut instance.body else { continue };
            let before = Arc::as_ptr(program);
            let wide = match wider.entry(before) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let module = netil::Module { info_size: offset + 8, ..program.module().clone() };
                    let verified = netil::verify(module).map_err(|errors| Error::Verify { name: instance.class.clone(), errors })?;
                    new.insert(Arc::new(verified))
                }
            };
            program.clone_from(wide);
        }
        Ok(())
    }
}

/// The first argument, by position or as FILENAME, without quotes.
fn first(arguments: &[String]) -> String {
    let named = arguments.iter().find_map(|argument| argument.trim().strip_prefix("FILENAME "));
    named.or(arguments.first().map(String::as_str)).unwrap_or_default().trim().trim_matches('"').to_owned()
}

fn name_file(arguments: &mut Vec<String>, file: &Path) {
    let at = arguments.iter().position(|argument| argument.trim().starts_with("FILENAME ")).unwrap_or(0);
    let quoted = format!("\"{}\"", file.display().to_string().replace('\\', "\\\\").replace('"', "\\\""));
    match arguments.get_mut(at) {
        Some(argument) => *argument = format!("FILENAME {quoted}"),
        None => arguments.push(quoted),
    }
}
