//! Runs element scripts on elements compiled by the system's C compiler: makes an application with
//! an instance for each case, as a generator would, and hands the case's actions to
//! `elements/standalone/script.c`.
//!
//! Reads the declarations of an element by their macros, and arguments in the plainest form only:
//! numbers, addresses, words. It is the yardstick that netvm's own compiler is held against, so it
//! shares nothing with it. Classes whose arguments are a language of their own (classifiers) are
//! left out.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::constants::{bytes_of, constant, fill, list, specs, split};
use netvm::scripts::{Action, Case, Event, event};

/// A folder in which applications are made.
pub struct Standalone {
    elements: PathBuf,
    folder: PathBuf,
}

/// A declaration of an element: the macro's name and its arguments.
pub type Declaration = (String, Vec<String>);

const RUNTIME: [&str; 6] = ["netvm", "table", "digest", "search", "handlers", "script"];
const FLAGS: [&str; 7] = ["-std=c11", "-Wall", "-Wno-unused", "-Wno-pragma-pack", "-fwrapv", "-fno-strict-aliasing", "-O0"];

impl Standalone {
    /// Compiles the runtime into a new folder.
    pub fn new(elements: &Path) -> Self {
        let folder = std::env::temp_dir().join(format!("netvm-scripts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let standalone = Self { elements: elements.to_owned(), folder };
        for part in RUNTIME {
            standalone.compile(&elements.join(format!("standalone/{part}.c")), part).unwrap();
        }
        standalone
    }

    fn compile(&self, source: &Path, name: &str) -> Result<(), String> {
        let mut compiler = Command::new("gcc");
        compiler.args(FLAGS).arg("-I").arg(self.elements.join("include")).arg("-I").arg(self.elements.join("standalone"));
        let output = compiler.arg("-c").arg(source).arg("-o").arg(self.folder.join(format!("{name}.o"))).output();
        let output = output.map_err(|e| e.to_string())?;
        output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Can that class's arguments be read here?
    pub fn reads(&self, class: &str) -> bool {
        let plain = [
            "IP_ROUTES",
            "RANGE_ROUTES",
            "IP6_ROUTES",
            "ARP_ENTRIES",
            "REWRITE",
            "REWRITE_ADDRESSES",
            "REWRITE_PAIRS",
            "REWRITE_PINGS",
            "STRINGS",
        ];
        let declared = declarations(&self.source(class));
        declared.iter().all(|(name, arguments)| name != "CONFIG" || plain.contains(&arguments[0].as_str()))
    }

    /// The class's text and that of the headers that are part of it, as they are not for all
    /// classes at once.
    fn source(&self, class: &str) -> String {
        self.with_headers(fs::read_to_string(self.elements.join(format!("{class}.c"))).unwrap())
    }

    fn with_headers(&self, text: String) -> String {
        let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"')).collect();
        let headers = names.iter().map(|name| fs::read_to_string(self.elements.join("include").join(name)).unwrap());
        let parts: String = headers.filter(|header| !header.contains("#pragma once")).map(|header| self.with_headers(header)).collect();
        text + &parts
    }

    /// What happens at each step of each case.
    ///
    /// # Errors
    /// What the compiler says, or what is wrong with the arguments.
    pub fn run(&self, class: &str, cases: &[Case]) -> Result<Vec<Vec<Vec<Event>>>, String> {
        let file = self.folder.join("application.c");
        fs::write(&file, application(&self.elements, class, &self.source(class), cases)?).map_err(|e| e.to_string())?;
        self.compile(&file, "application")?;
        let objects = RUNTIME.iter().chain(&["application"]).map(|part| self.folder.join(format!("{part}.o")));
        let program = self.folder.join("application");
        let linked = Command::new("gcc").args(objects).arg("-o").arg(&program).output().map_err(|e| e.to_string())?;
        if !linked.status.success() {
            return Err(String::from_utf8_lossy(&linked.stderr).into_owned());
        }
        cases.iter().enumerate().map(|(n, case)| happened(&program, n, case)).collect()
    }
}

impl Drop for Standalone {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Gives the program all actions and reads what it says of each.
fn happened(program: &Path, n: usize, case: &Case) -> Result<Vec<Vec<Event>>, String> {
    let mut child =
        Command::new(program).arg(n.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let commands: String = case.steps.iter().map(|step| command(&step.action)).collect();
    child.stdin.take().ok_or("no input")?.write_all(commands.as_bytes()).map_err(|e| e.to_string())?;
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match line {
            "." => all.push(std::mem::take(&mut events)),
            _ => events.push(event(line).ok_or_else(|| line.to_owned())?),
        }
    }
    if all.len() == case.steps.len() { Ok(all) } else { Err(format!("the program ended early: {}", output.status)) }
}

fn command(action: &Action) -> String {
    match action {
        Action::At(time) => format!("at {time}\n"),
        Action::In(port, bytes, info) | Action::Wait(port, bytes, info) => {
            let word = if matches!(action, Action::In(..)) { "in" } else { "wait" };
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            let info: String = info.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{word} {port} {hex}{info}\n")
        }
        Action::Ask(port) => format!("ask {port}\n"),
        Action::Write(name, value) => format!("write {name} {value}\n"),
        Action::Read(name) => format!("read {name}\n"),
    }
}

/// All uses of the declaring macros that begin a line.
pub fn declarations(source: &str) -> Vec<Declaration> {
    let declared = |line: &str| {
        let (name, rest) = line.split_once('(')?;
        let known = name.chars().all(|c| c.is_ascii_uppercase() || c == '_') && !name.is_empty();
        let arguments = split(&rest[..rest.rfind(");")?], ',');
        known.then(|| (name.to_owned(), arguments))
    };
    source.lines().filter_map(declared).collect()
}

/// The C text of an application with an instance for each case.
fn application(elements: &Path, class: &str, source: &str, cases: &[Case]) -> Result<String, String> {
    let declared = declarations(source);
    let click = fs::read_to_string(elements.join("include/click.h")).map_err(|e| e.to_string())?;
    let fields: Vec<_> = declarations(&click).into_iter().chain(declared.clone()).filter(|(name, _)| name == "INFO").collect();
    let headers = "#include \"click.h\"\n#include \"rate.h\"\n#include \"flow.h\"\n#include \"meter.h\"\n";
    let mut text = format!("#define NV_GENERATED\n#include \"script.h\"\n{}{headers}", info(&fields));
    let names = file_level(source, &declared);
    let file = elements.join(format!("{class}.c"));
    for (n, case) in cases.iter().enumerate() {
        text.push_str(&instance(n, &file, source, &names, case).map_err(|e| format!("line {}: {e}", case.line))?);
    }
    let all: Vec<String> = (0..cases.len()).map(|n| format!("&instance{n}")).collect();
    Ok(format!("{text}struct nv_element *const nv_instances[] = {{ {} }};\n", all.join(", ")))
}

/// One instance: its names at file level become its own.
fn instance(n: usize, file: &Path, source: &str, names: &[String], case: &Case) -> Result<String, String> {
    let (before, behind) = arguments(&declarations(source), &case.config)?;
    let pointer = |member: &str, handler: &str| {
        if source.contains(&format!("\nvoid {handler}(")) { format!(".{member} = i{n}_{handler}, ") } else { String::new() }
    };
    let handlers = [
        pointer("init", "init"),
        pointer("packet", "packet"),
        pointer("packet", "push"),
        pointer("timer", "timer"),
        pointer("pull", "pull"),
    ]
    .concat();
    let defines: String = names.iter().map(|name| format!("#define {name} i{n}_{name}\n")).collect();
    let undefines: String = names.iter().map(|name| format!("#undef {name}\n")).collect();
    let (inputs, outputs) = case.ports;
    Ok(format!(
        "static struct nv_element instance{n};\n#define nv_self instance{n}\n#define NINPUTS {inputs}\n#define NOUTPUTS {outputs}\n{defines}\
         {before}#include \"{}\"\n{behind}{undefines}#undef nv_self\n#undef NINPUTS\n#undef NOUTPUTS\n\
         static struct nv_element instance{n} = {{ .name = \"{n}\", {handlers}.noutputs = {outputs} }};\n",
        file.display(),
    ))
}

/// The names at file level of an element: those of parameters, tables, constants, tags, data and
/// functions.
fn file_level(source: &str, declared: &[Declaration]) -> Vec<String> {
    let mut names: Vec<String> = ["init", "packet", "push", "timer", "pull"].map(String::from).to_vec();
    for (kind, words) in declared {
        let at = match kind.as_str() {
            "PARAM" | "PARAM_LIST" | "CONFIG" | "CONFIG_LIST" => 1,
            "PARAM_AS" | "PARAM_LIST_AS" => 2,
            "REGEX" | "STRINGS" => 0,
            kind if kind.starts_with("TABLE_") => 0,
            _ => continue,
        };
        let parts = ["", "_count", "_choices", "_choices_count", "_mappers", "_nodes"];
        names.extend(parts.map(|part| format!("{}{part}", words[at])));
    }
    for line in source.lines() {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "static" => names.extend(declarators(rest)),
            "enum" | "struct" => names.extend(tag_and_constants(first, rest)),
            _ => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

fn identifier(text: &str) -> String {
    text.trim().chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<Vec<_>>().into_iter().rev().collect()
}

/// `u64 drops, counts[3];` → drops, counts; `bool is_free(void)` → is_free.
fn declarators(rest: &str) -> Vec<String> {
    let end = rest.find(['(', '=', ';']).unwrap_or(rest.len());
    rest[..end].split(',').map(|part| identifier(part.split('[').next().unwrap_or_default())).collect()
}

/// `fault { A, B = 2 };` → fault, A, B.
fn tag_and_constants(kind: &str, rest: &str) -> Vec<String> {
    let (tag, body) = rest.split_once('{').unwrap_or((rest, ""));
    let constants = body.split('}').next().unwrap_or_default().split(',').filter(|_| kind == "enum");
    let all = std::iter::once(identifier(tag)).chain(constants.map(|c| identifier(c.split('=').next().unwrap_or_default())));
    all.filter(|name| !name.is_empty()).collect()
}

/// Offsets of the info fields, 16 bytes each, and the list of them.
fn info(fields: &[Declaration]) -> String {
    let (mut offsets, mut rows, mut seen) = (String::new(), String::new(), Vec::new());
    for (_, arguments) in fields {
        let (ty, name) = (&arguments[0], &arguments[1]);
        if seen.contains(&name) {
            continue;
        }
        let (at, kind) = (
            16 * seen.len(),
            if ty == "be32" {
                'a'
            } else if ty.ends_with("_t") || ty == "be16" {
                'b'
            } else {
                'n'
            },
        );
        offsets.push_str(&format!("static const u32 nv_info_{name} = {at};\n"));
        rows.push_str(&format!("    {{ \"{name}\", {at}, sizeof({ty}), '{kind}' }},\n"));
        seen.push(name);
    }
    format!(
        "{offsets}const struct nv_field nv_fields[] = {{\n{rows}    {{ \"\", 0, 0, 'n' }},\n}};\nconst size_t nv_nfields = {};\n",
        seen.len()
    )
}

/// Definitions of the parameters, and what fills tables.
fn arguments(declared: &[Declaration], config: &str) -> Result<(String, String), String> {
    let mut left: Vec<String> = split(config, ',');
    let (mut given, mut before, mut behind) = (Vec::new(), String::new(), String::new());
    for (kind, words) in declared.iter().filter(|(kind, _)| kind.starts_with("PARAM")) {
        let (syntax, words) = if kind.ends_with("_AS") { (words[0].as_str(), &words[1..]) } else { ("", &words[..]) };
        let [ty, name, keyword, mode] = words else { return Err(format!("{kind} with {words:?}")) };
        let keyword = keyword.trim_matches('"');
        if mode == "GIVEN" {
            before.push_str(&format!("static const bool {name} = {};\n", given.contains(&keyword.to_owned())));
            continue;
        }
        let text = take(&mut left, keyword, mode);
        given.extend(text.as_ref().map(|_| keyword.to_owned()));
        before.push_str(&match (kind.as_str(), text) {
            ("PARAM_LIST_AS", text) if syntax == "BYTES" => bytes_of(name, &text.unwrap_or_default()),
            ("PARAM_LIST", text) => list(ty, name, &split(&text.unwrap_or_default(), ' ')),
            (_, Some(text)) => format!("static const {ty} {name} = {};\n", constant(ty, syntax, &text)?),
            (_, None) if ty == "mac_t" => {
                let value = default(mode).ok_or(format!("{keyword} is missing"))?;
                format!("static const {ty} {name} = {};\n", constant(ty, syntax, value.trim_matches('"'))?)
            }
            (_, None) => format!("static const {ty} {name} = {};\n", default(mode).ok_or(format!("{keyword} is missing"))?),
        });
    }
    for (kind, words) in declared.iter().filter(|(kind, _)| kind.starts_with("CONFIG")) {
        match (kind.as_str(), words[0].as_str()) {
            ("CONFIG_LIST", ty) => before.push_str(&list(ty, &words[1], &left)),
            (_, "STRINGS") => before.push_str(&strings(&words[1], &left)),
            (_, "REWRITE" | "REWRITE_ADDRESSES" | "REWRITE_PAIRS" | "REWRITE_PINGS") => before.push_str(&specs(&words[1], &left)?),
            (_, syntax) => behind.push_str(&fill(syntax, &words[1], &left)?),
        }
        left.clear();
    }
    if left.is_empty() { Ok((before, behind)) } else { Err(format!("too many arguments: {left:?}")) }
}

/// What CONFIG(STRINGS) stands for; it is declared before it stands there.
fn strings(name: &str, texts: &[String]) -> String {
    let quoted = texts.iter().map(|text| format!("\"{}\"", text.trim_matches('"'))).collect::<Vec<_>>().join(", ");
    format!(
        "#undef NV_CONFIG_STRINGS\n#define NV_CONFIG_STRINGS(name) NV_DECLARATION(STRINGS)\nSTRINGS({name}, {quoted});\nenum {{ {name}_count = {} }};\n",
        texts.len()
    )
}

/// The argument of that keyword, or the next one where positions count.
fn take(left: &mut Vec<String>, keyword: &str, mode: &str) -> Option<String> {
    let prefix = format!("{keyword} ");
    if let Some(at) = left.iter().position(|text| text.starts_with(&prefix)) {
        return Some(left.remove(at)[prefix.len()..].trim().to_owned());
    }
    let first_is_plain = left.first().is_some_and(|text| !text.starts_with(|c: char| c.is_ascii_uppercase()) || !text.contains(' '));
    let by_position = mode == "REQUIRED" || mode.starts_with("OPTIONAL") || mode.starts_with("SAME_AS");
    (by_position && first_is_plain).then(|| left.remove(0))
}

fn default(mode: &str) -> Option<&str> {
    mode.split_once('(')?.1.strip_suffix(')')
}
