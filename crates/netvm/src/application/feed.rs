//! Changes to an application before it starts: other captures to read, none to write, packets that
//! can be told apart.

use super::Application;
use super::Settings;
use crate::Error;
use netil::app::{Body, Instance};
use netil::module::InfoField;
use netil::verify::Verified;
use runtime::graph::builtin::{self, Medium};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The info field that holds a packet's number, see `Application::number_packets`.
pub const NUMBER: &str = "packet number";
/// Where what is not wanted goes.
const NOWHERE: &str = "/dev/null";

impl Application {
    /// Reads a capture in the place of the only one that the configuration reads, from a file or a
    /// device; which element does.
    ///
    /// # Errors
    /// It reads none, or several.
    pub fn feed(&mut self, input: &Path, settings: &mut Settings) -> Result<usize, Error> {
        let reads = |instance: &Instance| builtin::facts(&instance.class).reads.filter(|medium| *medium != Medium::Summary);
        let mut readers = self.application.instances.iter_mut().enumerate().filter_map(|(at, i)| Some((at, reads(i)?, i)));
        let (Some((at, medium, instance)), more) = (readers.next(), readers.count()) else {
            return Err(Error::Feed { name: self.name.clone(), readers: 0 });
        };
        if more > 0 {
            return Err(Error::Feed { name: self.name.clone(), readers: 1 + more });
        }
        match &mut instance.body {
            Body::BuiltIn(arguments) if medium == Medium::File => name_file(arguments, input),
            Body::BuiltIn(arguments) => drop(settings.devices.insert(device(&instance.name, &instance.class, arguments), input.to_owned())),
            Body::Program(_) => {}
        }
        Ok(at)
    }

    /// Lets elements that write captures and print into files write nothing; by element, which
    /// captures they would have written.
    pub fn mute(&mut self, settings: &mut Settings) -> HashMap<usize, String> {
        let (mut outputs, files) = (HashMap::new(), settings.outputs.clone());
        self.application.files.clear();
        for (at, instance) in self.application.instances.iter_mut().enumerate() {
            let (writes, Body::BuiltIn(arguments)) = (builtin::facts(&instance.class).writes, &mut instance.body) else { continue };
            match writes {
                None | Some(Medium::Summary) => {}
                Some(Medium::File) => {
                    outputs.insert(at, first(arguments));
                    name_file(arguments, Path::new(NOWHERE));
                }
                Some(Medium::Device) => {
                    let name = device(&instance.name, &instance.class, arguments);
                    settings.outputs.insert(name.clone(), PathBuf::from(NOWHERE));
                    let file = files.get(&name).map_or(name, |file| file.display().to_string());
                    drop(Some(file).filter(|file| !file.is_empty()).and_then(|file| outputs.insert(at, file)));
                }
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

/// The device that an element reads or writes.
fn device(name: &str, class: &str, arguments: &[String]) -> String {
    builtin::device_name(name, class, arguments).unwrap_or_else(|| first(arguments))
}

/// The first argument, by position or as FILENAME or DEVNAME, without quotes.
fn first(arguments: &[String]) -> String {
    let named = |keyword: &str| arguments.iter().find_map(|argument| argument.trim().strip_prefix(keyword));
    let name = named("FILENAME ").or_else(|| named("DEVNAME ")).or(arguments.first().map(String::as_str));
    name.unwrap_or_default().trim().trim_matches('"').to_owned()
}

fn name_file(arguments: &mut Vec<String>, file: &Path) {
    let at = arguments.iter().position(|argument| argument.trim().starts_with("FILENAME ")).unwrap_or(0);
    let quoted = format!("\"{}\"", file.display().to_string().replace('\\', "\\\\").replace('"', "\\\""));
    match arguments.get_mut(at) {
        Some(argument) => *argument = format!("FILENAME {quoted}"),
        None => arguments.push(quoted),
    }
}
