//! The element classes there are in C: those built in, and those in folders that are named.

use super::made::{Made, MakePlane};
use super::{built_in, foreign};
use crate::frontends::click::application::Classes;
use crate::frontends::click::graph::Element;
use crate::frontends::click::processing::PortSpec;
use crate::frontends::click::syntax::ArgumentError;
use netil::Module;
use netil::module::Entry;
use runtime::graph::{Planes, builtin};
use runtime::routes::{self, Route, Routes};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Classes of which there is no file, and which the runtime does not know: their elements are gone
/// when the front end has read the names that they declare.
const DECLARING: [(&str, &str); 1] =
    [("IPRewriterPatterns", "IPRewriterPatterns(NAME SADDR SPORT DADDR DPORT, ...) -- names for patterns of rewriters")];
/// The largest source file that is read.
const LARGEST: u64 = 1 << 20;

/// Element classes and headers by name.
pub struct Library {
    folders: Vec<PathBuf>,
    /// The folder of the configuration that is read.
    beside: PathBuf,
    /// Control planes of elements that have been made, by their names.
    planes: RefCell<BTreeMap<String, MakePlane>>,
    /// What is told of them.
    notes: RefCell<BTreeMap<String, Told>>,
}

/// What is told of an element that is a program in another language.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// What was done when it was compiled.
    pub compiled: Vec<String>,
    /// What it keeps of packets.
    pub kept: Vec<String>,
}

impl Library {
    /// The built-in classes behind those of folders, in their order.
    pub fn of(folders: &[PathBuf]) -> Self {
        Self { folders: folders.to_vec(), beside: PathBuf::new(), planes: RefCell::default(), notes: RefCell::default() }
    }

    /// This library for a configuration of that name: files that are not in the working folder are
    /// looked for beside it.
    pub(super) fn beside(self, configuration: &str) -> Self {
        let beside = Path::new(configuration).parent().unwrap_or(Path::new("")).to_owned();
        Self { beside, ..self }
    }

    /// The source of a class, with its file's name.
    pub fn class(&self, name: &str) -> Option<(String, String)> {
        self.file(&format!("{name}.c"))
    }

    /// The NetIL program that is a class, in the first folder that has a file of that name: as text
    /// (`NAME.netil`) or assembled (`NAME.nvm`).
    fn netil(&self, name: &str) -> Option<PathBuf> {
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let file = |folder: &PathBuf| {
            let is_there = |end: &&str| folder.join(format!("{name}.{end}")).is_file();
            ["c", "netil", "nvm"].iter().find(|end| is_there(end)).map(|end| folder.join(format!("{name}.{end}")))
        };
        let found = self.folders.iter().filter(|_| is_name).find_map(file)?;
        found.extension().is_some_and(|end| end != "c").then_some(found)
    }

    /// A header that classes include, with its file's name.
    pub fn header(&self, name: &str) -> Option<(String, String)> {
        self.file(&format!("include/{name}")).or_else(|| self.file(name))
    }

    /// A file of the runtime of standalone programs, or `netvm.h` or what it includes: those built
    /// in, whatever folders have.
    pub(super) fn runtime(&self, name: &str) -> Option<String> {
        built_in::text(&format!("standalone/{name}")).or_else(|| built_in::text(&format!("include/{name}")))
    }

    /// All classes with the first line of their manuals, by name.
    pub fn classes(&self) -> BTreeMap<String, String> {
        let named =
            |path: &Path| path.extension().filter(|end| *end == "c").and(path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
        let built_in = built_in::paths().filter(|path| path.parent() == Some(Path::new(""))).filter_map(named);
        let entries = self.folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let names = built_in.chain(entries.filter_map(|entry| named(&entry.path())));
        let of_files = names.filter_map(|name| self.class(&name).map(|(_, text)| (name, purpose(&text))));
        let entries = self.folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let stems = entries.filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()));
        let netil = stems.filter_map(|name| self.netil(&name).map(|file| (name, format!("the NetIL program {}", file.display()))));
        let foreign = foreign::ALL.iter().map(|class| (class.name.to_owned(), purpose(class.manual)));
        of_files.chain(netil).chain(DECLARING.map(|(name, manual)| (name.to_owned(), manual.to_owned()))).chain(foreign).collect()
    }

    /// The manual of a class of which there is no file, and which the runtime does not know.
    pub fn declaring(name: &str) -> Option<&'static str> {
        let declaring = DECLARING.iter().find(|(known, _)| *known == name).map(|(_, manual)| *manual);
        declaring.or_else(|| foreign::find(name).map(|class| class.manual))
    }

    /// The files of the library that is built in, by their paths in it.
    pub fn built_in() -> Vec<(&'static Path, String)> {
        built_in::paths().filter_map(|path| Some((path, built_in::text(path.to_str()?)?))).collect()
    }

    /// What is told of elements that are programs in other languages.
    pub(super) fn notes(&self) -> BTreeMap<String, Told> {
        self.notes.borrow().clone()
    }

    /// The control planes of elements that have been made.
    pub(super) fn planes(self) -> Option<Planes> {
        let planes = self.planes.into_inner();
        (!planes.is_empty()).then(|| Planes(Arc::new(move |name: &str| planes.get(name).and_then(|make| make()))))
    }

    fn file(&self, name: &str) -> Option<(String, String)> {
        if name.contains("..") || name.starts_with('/') {
            return None;
        }
        let found =
            self.folders.iter().find_map(|folder| read(&folder.join(name)).map(|text| (folder.join(name).display().to_string(), text)));
        let built_in = || built_in::text(name).map(|text| (format!("elements/{name}"), text));
        found.or_else(built_in)
    }
}

impl Classes for Library {
    fn builtin(&self, class: &str) -> Option<PortSpec<'static>> {
        builtin::find(class).map(|class| PortSpec { ports: class.ports, processing: class.processing, flow: class.flow })
    }

    fn foreign(&self, class: &str) -> Option<PortSpec<'static>> {
        let netil = || self.netil(class).and_then(|_| foreign::find(foreign::NETIL));
        foreign::find(class).or_else(netil).map(|class| class.shape)
    }

    fn program(&self, element: &Element, inputs: u32, outputs: u32) -> Result<Module, Vec<String>> {
        let Made { module, plane, notes: compiled, kept } = match (foreign::find(&element.class), self.netil(&element.class)) {
            (Some(class), _) => (class.make)(&element.arguments, inputs, outputs)?,
            (None, Some(_)) if !element.arguments.iter().all(String::is_empty) => {
                return Err(vec![format!("{} is a NetIL program, which takes no arguments", element.class)]);
            }
            (None, Some(file)) => foreign::netil_module(&[file.display().to_string()], inputs, outputs)?,
            (None, None) => return Err(vec![format!("there is no class {}", element.class)]),
        };
        self.notes.borrow_mut().insert(element.name.clone(), Told { compiled, kept });
        self.planes.borrow_mut().extend(plane.map(|plane| (element.name.clone(), plane)));
        Ok(module)
    }

    fn annotations(&self, class: &str) -> &'static [(&'static str, u32)] {
        builtin::facts(class).annotations
    }

    fn source(&self, class: &str) -> Option<(String, String)> {
        self.class(class)
    }

    fn include(&self, name: &str) -> Option<String> {
        self.header(name).map(|(_, text)| text)
    }

    fn routes(&self, file: &str, devices: &[&str], outputs: u32, key_bits: u16, value_bytes: usize) -> Result<Vec<Entry>, ArgumentError> {
        let told = |error: &dyn std::fmt::Display| ArgumentError::new(format!("{file}: {error}"));
        let input = std::fs::File::open(file).or_else(|error| std::fs::File::open(self.beside.join(file)).map_err(|_| error));
        let input = input.map_err(|error| told(&error))?;
        let found = routes::read(input).map_err(|fault| told(&fault))?;
        if found.all.is_empty() {
            return Err(told(&"there are no routes in it"));
        }
        let ports = ports(&found, devices).map_err(|error| told(&error))?;
        let port = |route: &Route| ports.get(route.port as usize).copied().unwrap_or(route.port);
        let fits = |(_, route): &(usize, &Route)| route.address.is_ipv4() == (key_bits == 32);
        let entry = |(at, route): (usize, &Route)| {
            let entry = entry(&Route { port: port(route), ..*route }, outputs, value_bytes);
            entry.map_err(|error| told(&format_args!("{}{error}", place(found.lines.get(at)))))
        };
        let entries = found.all.iter().enumerate().filter(fits).map(entry).collect::<Result<Vec<_>, _>>()?;
        if entries.is_empty() { Err(told(&"there are no routes for such addresses")) } else { Ok(entries) }
    }

    fn names(&self) -> Vec<String> {
        self.classes().into_keys().chain(builtin::ALL.iter().map(|class| class.name.to_owned())).collect()
    }
}

/// The outputs of a file's devices; none if their numbers are those of outputs.
fn ports(found: &Routes, devices: &[&str]) -> Result<Vec<u32>, ArgumentError> {
    if devices.is_empty() {
        return Ok(Vec::new());
    }
    let output = |(at, name): (usize, &String)| {
        let output = devices.iter().position(|device| device == name).map(|output| output as u32);
        let named = || devices.join(", ");
        output.ok_or_else(|| {
            ArgumentError::new(format!("{}no output is named for the device `{name}`: there are {}", place(found.named.get(at)), named()))
        })
    };
    found.ports.iter().enumerate().map(output).collect()
}

/// A route's entry, if there is its output.
fn entry(route: &Route, outputs: u32, value_bytes: usize) -> Result<Entry, ArgumentError> {
    let Route { address, length, port, .. } = route;
    if *port >= outputs && *port != routes::NOWHERE {
        return Err(ArgumentError::new(format!("a route to output {port}, which there is not")));
    }
    route.entry(value_bytes).ok_or_else(|| ArgumentError::new(format!("{address}/{length} has no such gateway")))
}

/// Where that is, for a fault.
fn place(line: Option<&u64>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

fn read(path: &Path) -> Option<String> {
    let small = path.metadata().ok()?.len() <= LARGEST;
    small.then(|| std::fs::read(path).ok()).flatten().map(|bytes| text(&bytes))
}

/// A configuration's library, `file` as `from` calls it: its name and text. Names are relative to
/// the file that they stand in.
pub(super) fn required(from: &str, file: &str) -> std::io::Result<(String, String)> {
    let path = Path::new(from).parent().unwrap_or(Path::new("")).join(file);
    let path = path.canonicalize()?;
    let here = std::env::current_dir().unwrap_or_default();
    let name = path.strip_prefix(&here).unwrap_or(&path).display().to_string();
    let meta = path.metadata()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(std::io::Error::other(format!("it is no file of at most {LARGEST} bytes")));
    }
    std::fs::read(&path).map(|bytes| (name, text(&bytes)))
}

/// What a file says, without a byte order mark. Comments may have any bytes; in strings the
/// compiler does not take what is not UTF-8.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// What the manual at a file's beginning says in its first line.
fn purpose(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches(['/', '*', ' ']).trim());
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_by_name() {
        let library = Library::of(&[]);
        assert!(library.class("Paint").unwrap().1.contains("ELEMENT(Paint"));
        assert!(library.header("click.h").unwrap().1.contains("INFO(u8, paint)"));
        assert!(library.classes()["Paint"].starts_with("Paint(COLOR"));
        assert_eq!([library.class("Nonesuch"), library.class("../Cargo"), library.class("/etc/passwd")], [None, None, None]);
    }

    /// Of two files of one name in a folder, the one in C is the class; a folder's goes before what
    /// is built in.
    #[test]
    fn netil_programs_in_folders_are_classes() {
        let folder = std::env::temp_dir().join(format!("netvm-classes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = "segment .ports push_input in push_output out ends segment .push pop pkt.send out ends";
        ["Pass.netil", "Paint.netil", "Both.netil"].iter().for_each(|name| std::fs::write(folder.join(name), program).unwrap());
        std::fs::write(
            folder.join("Both.c"),
            "/* Both -- in C */\n#include <netvm.h>\nELEMENT(Both, \"1/1\", \"a/a\");\nvoid push(int port) { emit(0); }\n",
        )
        .unwrap();
        let reading = crate::application::Reading { elements: vec![folder.clone()], ..Default::default() };
        let read = |text: &str| crate::application::Application::read("a.click", text, &reading).map_err(|error| error.to_string());
        assert!(read("Idle -> Pass -> Paint -> Both -> Discard").is_ok());
        assert!(read("Idle -> Pass(1) -> Discard").err().unwrap().contains("takes no arguments"));
        let classes = Library::of(std::slice::from_ref(&folder)).classes();
        assert!(classes["Pass"].starts_with("the NetIL program ") && classes["Both"] == "Both -- in C */", "{classes:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn libraries_are_relative_to_the_file_that_requires_them() {
        let folder = std::env::temp_dir().join(format!("netvm-required-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("a.click"), "require(library sub/b.click);\nFoo :: Bar;").unwrap();
        std::fs::write(folder.join("sub/b.click"), "require(library ../a.click)\nelementclass Bar { input -> output }\n").unwrap();
        let main = folder.join("main.click").display().to_string();
        let read = |text: &str| crate::application::Application::read(&main, text, &Default::default()).map_err(|error| error.to_string());
        assert!(read("require(library a.click, library sub/b.click); Idle -> Foo -> Discard").is_ok());
        let refused = |text: &str| read(text).err().unwrap();
        assert!(refused("require(library c.click)").contains("the library `c.click` cannot be read: No such file"));
        assert!(refused("elementclass X { require(library a.click) }").contains("within a compound"));
        std::fs::write(folder.join("sub/b.click"), "elementclass Bar {\n input -> -> output }\n").unwrap();
        assert!(refused("require(library a.click)").contains("expected an element"), "{}", refused("require(library a.click)"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn comments_have_any_bytes() {
        let folder = std::env::temp_dir().join(format!("netvm-bytes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text: &[u8] = b"\xef\xbb\xbf/* Latin -- caf\xe9 */\n#include <netvm.h>\nELEMENT(Latin, \"1/1\", \"a/a\");\n";
        std::fs::write(folder.join("Latin.c"), text).unwrap();
        let library = Library::of(std::slice::from_ref(&folder));
        let (_, found) = library.class("Latin").unwrap();
        assert!(found.starts_with("/* Latin -- caf\u{fffd} */\n#include"), "{found:?}");
        assert_eq!(library.classes()["Latin"], "Latin -- caf\u{fffd} */");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn routes_of_files_go_to_outputs() {
        let file = std::env::temp_dir().join(format!("netvm-routes-{}.txt", std::process::id()));
        let name = file.to_str().unwrap();
        std::fs::write(&file, "10.0.0.0/8 via 1.2.3.4 dev eth7\n11.0.0.0/8 dev eth3\n2001:db8::/32 dev eth7\n").unwrap();
        let library = Library::of(&[]);
        let values = |devices: &[&str]| {
            library.routes(name, devices, 3, 32, 8).map(|all| all.iter().map(|entry| entry.value.to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(values(&[]), Ok(vec![vec![4, 3, 2, 1, 0, 0, 0, 0], vec![0, 0, 0, 0, 1, 0, 0, 0]]));
        assert_eq!(values(&["-", "eth3", "eth7"]), Ok(vec![vec![4, 3, 2, 1, 2, 0, 0, 0], vec![0, 0, 0, 0, 1, 0, 0, 0]]));
        assert!(
            values(&["-", "eth7"])
                .unwrap_err()
                .to_string()
                .ends_with("line 2: no output is named for the device `eth3`: there are -, eth7")
        );
        assert_eq!(library.routes(name, &[], 1, 128, 20).map(|all| all.len()), Ok(1));
        std::fs::write(&file, "10.0.0.0/8 via 1.2.3.4 dev eth7\n11.0.0.0/8 dev\n").unwrap();
        assert!(values(&[]).unwrap_err().to_string().ends_with("line 2: a device is missing behind `dev`"));
        std::fs::write(&file, "10.0.0.0/8 2\n\n2001:db8::/32 9\n11.0.0.0/8 1.2.3.4 3\n").unwrap();
        assert!(values(&[]).unwrap_err().to_string().ends_with("txt: line 4: a route to output 3, which there is not"));
        std::fs::write(&file, "blackhole 12.0.0.0/8\n11.0.0.0/8 via 2001:db8::1 dev eth0\n").unwrap();
        assert!(values(&[]).unwrap_err().to_string().ends_with("txt: line 2: 11.0.0.0/8 has no such gateway"));
        std::fs::write(&file, "# none\n").unwrap();
        assert!(values(&[]).unwrap_err().to_string().ends_with("there are no routes in it"));
        std::fs::write(&file, "2001:db8::/32 1\n").unwrap();
        assert!(values(&[]).unwrap_err().to_string().ends_with("there are no routes for such addresses"));
        std::fs::write(&file, "10.0.0.0/8 2\n").unwrap();
        let (folder, last) = (file.with_file_name("some.click"), file.file_name().unwrap().to_str().unwrap());
        let beside = Library::of(&[]).beside(folder.to_str().unwrap());
        assert_eq!(beside.routes(last, &[], 3, 32, 8).map(|all| all.len()), Ok(1), "beside the configuration");
        std::fs::remove_file(&file).unwrap();
        assert!(values(&[]).unwrap_err().to_string().contains("No such file"));
    }
}
