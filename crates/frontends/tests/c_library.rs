//! The element library: every class can be described.

use netvm_frontends::c::{self, InfoLayout, Instance, SourceFile, Type, Value};
use netvm_frontends::click::arguments;
use netvm_frontends::click::flatten;
use netvm_frontends::click::processing::Kind;
use netvm_frontends::click::syntax::Names;
use netvm_frontends::click::syntax::configuration::{ConfigurationSyntax, Request};
use std::path::{Path, PathBuf};

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../elements")
}

fn include(name: &str) -> Option<String> {
    std::fs::read_to_string(library().join("include").join(name)).ok()
}

/// Names and texts of all classes.
fn classes() -> Vec<(String, String)> {
    let files = std::fs::read_dir(library()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    files.sort();
    files.iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_class_can_be_described() {
    let mut wrong = String::new();
    for (name, text) in classes() {
        match c::describe(SourceFile { name: &name, text: &text }, &include) {
            Ok(class) => {
                assert_eq!(format!("{}.c", class.name), name, "a file is named after its class");
                assert!(class.summary.contains(" -- ") && class.summary.starts_with(&class.name), "{name}: {}", class.summary);
            }
            Err(faults) => wrong += &faults.render(false),
        }
    }
    assert!(classes().len() > 20, "the library is not found");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The least number of ports that a code asks for.
fn least(code: &str) -> usize {
    code.trim_start_matches('=').split('-').next().unwrap_or("").parse().unwrap_or(1)
}

fn kinds(letters: &str, count: usize, agnostic: Kind) -> Vec<Kind> {
    let letter = |n: usize| letters.chars().nth(n).or_else(|| letters.chars().last());
    let kind = |n| match letter(n) {
        Some('l') => Kind::Pull,
        Some('h') => Kind::Push,
        _ => agnostic,
    };
    (0..count).map(kind).collect()
}

fn value(param: &c::Param) -> Value {
    match &param.ctype {
        Type::Text => Value::Text("text".to_owned()),
        Type::Mac | Type::In6 | Type::Struct(_) => Value::Bytes(vec![1; param.ctype.size() as usize]),
        ty if param.list => Value::Bytes(vec![1; 2 * ty.size() as usize]),
        _ => Value::Int(1),
    }
}

/// Arguments for each syntax of a whole configuration.
fn examples(syntax: &str) -> Vec<String> {
    let arguments: &[&str] = match syntax {
        "CLASSIFIER" => &["12/0806 20/0001", "12/0800", "-"],
        "IPCLASSIFIER" => &["tcp port 80", "udp and src host 1.2.3.4", "-"],
        "IPFILTER" => &["allow tcp", "deny all"],
        "IP_ROUTES" | "RANGE_ROUTES" => &["10.0.0.0/8 0", "0.0.0.0/0 1.2.3.4 1"],
        "IP6_ROUTES" => &["3ffe:1ce1:2::/48 0", "::/0 1"],
        "ARP_ENTRIES" => &["1.2.3.4 00:11:22:33:44:55"],
        "ND_ENTRIES" => &["2001:db8::/32 00:11:22:33:44:55"],
        "MAPPER" => &["- - 10.0.0.2 - 0 0"],
        "REWRITE" => &["pattern 1.0.0.1 1024-65535 - - 0 0"],
        "ADDRESS_PLACE" => &["1.2.3.4", "dst"],
        "STRINGS" => &["GET", "\"a, b\""],
        "REWRITERS" => &["flows addresses:0"],
        "REWRITE_ADDRESSES" => &["pattern 1.0.0.1 - 0 0"],
        "REWRITE_PAIRS" => &["pattern 1.0.0.1 2.0.0.2 0 0"],
        "REWRITE_PINGS" => &["pattern 1.0.0.1 - 0-65535 0 0"],
        "BAD_SOURCES" => &["1.2.3.4", "14"],
        "LIST" | "RISING" | "RISING_BANDWIDTHS" => &["1", "2"],
        other => panic!("an example is missing for {other}"),
    };
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

fn instance(class: &c::Class, agnostic: Kind) -> Instance {
    let (inputs, outputs) = class.ports.split_once('/').unwrap();
    let inputs = least(inputs);
    let outputs = if outputs.starts_with('=') { inputs } else { least(outputs) };
    let (input_letters, output_letters) = class.processing.split_once('/').unwrap_or((&class.processing, &class.processing));
    let mut instance = Instance {
        name: format!("an {}", class.name),
        inputs: kinds(input_letters, inputs, agnostic),
        outputs: kinds(output_letters, outputs, agnostic),
        values: class.params.iter().map(|param| (param.name.clone(), value(param))).collect(),
        ..Instance::default()
    };
    if let Some(config) = &class.config {
        let (names, _) = Names::of(&flatten("flows :: IPRewriter; addresses :: IPAddrRewriter;", &Default::default()).unwrap());
        let element = config.ctype.as_ref().map(|ty| arguments::Type::Integer { bits: 8 * ty.size() as u8, signed: false });
        let job = Request {
            name: &config.name,
            arguments: &examples(&config.syntax),
            names: names.at("an element"),
            inputs: inputs as u32,
            outputs: examples(&config.syntax).len() as u32 + u32::from(config.syntax.starts_with("RISING")),
            ty: element.as_ref(),
        };
        instance.generated = ConfigurationSyntax::named(&config.syntax)
            .unwrap()
            .write(&job)
            .unwrap_or_else(|wrong| panic!("{}: {wrong:?}", class.name))
            .source;
    }
    instance
}

#[test]
fn every_class_becomes_a_program() {
    let mut wrong = String::new();
    for (name, text) in classes() {
        let source = SourceFile { name: &name, text: &text };
        let Ok(class) = c::describe(source, &include) else { continue };
        for agnostic in [Kind::Push, Kind::Pull] {
            match c::compile(source, &include, &instance(&class, agnostic), &mut InfoLayout::default()) {
                Ok(compiled) => {
                    if let Err(errors) = netil::verify(compiled.module) {
                        wrong += &format!("{name}: {}\n", errors[0]);
                    }
                }
                Err(faults) => wrong += &faults.render(false),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
