//! An element's arguments, resolved against what its class declares.
//!
//! As Click does it: parameters take arguments in the order of their declaration. `KEYWORD value` goes to the parameter of that keyword, the last one if there are
//! several; an argument without keyword to the first positional parameter that has none yet, as long as no keyword has been used before it. A parameter that
//! must be there takes the next argument even if it looks like one with a keyword. What is left goes to the class's own syntax, if it has one, and is too
//! much otherwise.
//!
//! Source: Click's manual of `Args`.

use super::config::unquote;
use super::syntax::{Reading, Scope, Syntax};
use crate::pcap_filter::suggest::nearest;

/// What values a parameter has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// An integer.
    Integer {
        /// Its width.
        bits: u8,
        /// It may be negative.
        signed: bool,
    },
    /// A truth value.
    Bool,
    /// A field in network order, of so many bits.
    Big(u8),
    /// An Ethernet address.
    Mac,
    /// An IPv6 address.
    In6,
    /// An IPv4 address and mask.
    Prefix,
    /// An IPv6 address and mask.
    Prefix6,
    /// A string.
    Text,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number; of negative ones the two's complement.
    Int(u64),
    /// The bytes as they are in memory.
    Bytes(Vec<u8>),
    /// A string.
    Text(Vec<u8>),
}

/// When a parameter has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Always, by position or keyword.
    Required,
    /// By position or keyword, if at all.
    Optional,
    /// By keyword, if at all.
    Keyword,
    /// Always, by keyword.
    KeywordRequired,
    /// It says whether that keyword's argument was given.
    Given,
}

/// What a class declares of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in the class's source.
    pub name: String,
    /// The keyword.
    pub keyword: String,
    /// The type.
    pub ty: Type,
    /// The name of a syntax, if it is not that of the type.
    pub syntax: Option<String>,
    /// When it has an argument.
    pub mode: Mode,
}

/// Arguments that went to their parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Names and values of the parameters whose arguments were given.
    pub values: Vec<(String, Value)>,
    /// The arguments that are left.
    pub rest: Vec<String>,
}

/// How far an argument is used up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Used {
    No,
    ByPosition,
    ByKeyword,
}

/// Gives arguments to parameters. `rest`: the class has a syntax of its own for what is left.
///
/// # Errors
/// All that is wrong, each in words that name the argument.
pub fn resolve(parameters: &[Parameter], arguments: &[String], rest: bool, names: &Scope<'_>) -> Result<Resolved, Vec<String>> {
    let mut taking = Taking { arguments, used: vec![Used::No; arguments.len()], faults: Vec::new() };
    let (mut resolved, mut given) = (Resolved::default(), Vec::new());
    for parameter in parameters.iter().filter(|parameter| parameter.mode != Mode::Given) {
        if let Some(text) = taking.take(parameter) {
            given.push(parameter.keyword.as_str());
            match read(parameter, text, names) {
                Ok(value) => resolved.values.push((parameter.name.clone(), value)),
                Err(fault) => taking.faults.push(fault),
            }
        }
    }
    for parameter in parameters.iter().filter(|parameter| parameter.mode == Mode::Given) {
        let is = given.contains(&parameter.keyword.as_str());
        resolved.values.push((parameter.name.clone(), Value::Int(is.into())));
    }
    resolved.rest = taking.left().map(str::to_owned).collect();
    if !rest {
        taking.too_much(parameters);
    }
    if taking.faults.is_empty() { Ok(resolved) } else { Err(taking.faults) }
}

/// An argument's value.
fn read(parameter: &Parameter, argument: &str, names: &Scope<'_>) -> Result<Value, String> {
    let Parameter { keyword, ty, .. } = parameter;
    let syntax = parameter.syntax.as_deref().map_or_else(|| Some(Syntax::of(ty)), Syntax::named);
    let Some(syntax) = syntax else {
        return Err(format!(
            "`{keyword}`: its class asks for the syntax {}, which there is not",
            parameter.syntax.as_deref().unwrap_or("")
        ));
    };
    let bytes = unquote(argument);
    let text = String::from_utf8_lossy(&bytes);
    syntax.read(&text, &Reading { ty, bytes: &bytes, names }).map_err(|wrong| format!("`{keyword}`: `{argument}` {wrong}"))
}

struct Taking<'a> {
    arguments: &'a [String],
    used: Vec<Used>,
    faults: Vec<String>,
}

impl<'a> Taking<'a> {
    /// The argument that is meant for a parameter, without its keyword.
    fn take(&mut self, parameter: &Parameter) -> Option<&'a str> {
        let positional = matches!(parameter.mode, Mode::Required | Mode::Optional);
        let required = matches!(parameter.mode, Mode::Required | Mode::KeywordRequired);
        if let Some(text) = self.by_keyword(&parameter.keyword) {
            return Some(text);
        }
        let next = self.next().filter(|at| positional && (required || keyword(&self.arguments[*at]).is_none()));
        if let Some(at) = next {
            self.used[at] = Used::ByPosition;
            return Some(&self.arguments[at]);
        }
        if required {
            self.faults.push(format!("required argument `{}` is missing", parameter.keyword));
        }
        None
    }

    /// What stands behind that keyword for the last time.
    fn by_keyword(&mut self, wanted: &str) -> Option<&'a str> {
        let mut found = None;
        for (argument, used) in self.arguments.iter().zip(&mut self.used) {
            if let Some((_, text)) = keyword(argument).filter(|(word, _)| *word == wanted && *used == Used::No) {
                *used = Used::ByKeyword;
                found = Some(text);
            }
        }
        found
    }

    /// The argument in the next position, if keywords have not begun.
    fn next(&self) -> Option<usize> {
        self.used.iter().position(|used| *used != Used::ByPosition).filter(|at| self.used[*at] == Used::No)
    }

    fn left(&self) -> impl Iterator<Item = &'a str> {
        self.arguments.iter().zip(&self.used).filter(|(_, used)| **used == Used::No).map(|(argument, _)| argument.as_str())
    }

    /// Faults for arguments that nobody takes.
    fn too_much(&mut self, parameters: &[Parameter]) {
        let known = || parameters.iter().filter(|parameter| parameter.mode != Mode::Given).map(|parameter| parameter.keyword.as_str());
        let faults: Vec<String> = self.left().map(|argument| unwanted(argument, &known().collect::<Vec<_>>())).collect();
        self.faults.extend(faults);
    }
}

/// Says that an argument has no parameter.
fn unwanted(argument: &str, known: &[&str]) -> String {
    let Some((word, _)) = keyword(argument) else { return format!("too many arguments: `{argument}`") };
    let spoken: Vec<String> = known.iter().map(|known| known.to_ascii_lowercase()).collect();
    let near = nearest(word, spoken.iter().map(String::as_str)).and_then(|near| spoken.iter().position(|word| word == near));
    match near {
        Some(at) => format!("unknown argument `{word}`: did you mean `{}`?", known[at]),
        None if known.is_empty() => format!("unknown argument `{word}`: there are none"),
        None => format!("unknown argument `{word}`: there are {}", known.join(", ")),
    }
}

/// The keyword of an argument that may have one, and what stands behind it.
pub(super) fn keyword(argument: &str) -> Option<(&str, &str)> {
    let first = argument.bytes().next().filter(|b| b.is_ascii_alphabetic() || *b == b'_')?;
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"_:.?!".contains(&b);
    let end = argument.bytes().position(|b| !inner(b))?;
    let text = argument[end..].trim_start();
    let spaced = argument.as_bytes()[end].is_ascii_whitespace();
    (first != 0 && spaced && !text.is_empty()).then(|| (&argument[..end], text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click::syntax::Names;

    fn parameters() -> Vec<Parameter> {
        let parameter = |name: &str, ty, mode| Parameter { name: name.to_lowercase(), keyword: name.to_owned(), ty, syntax: None, mode };
        let mut all = vec![
            parameter("DATA", Type::Text, Mode::Required),
            parameter("LIMIT", Type::Integer { bits: 32, signed: true }, Mode::Optional),
            parameter("BURST", Type::Integer { bits: 8, signed: false }, Mode::Optional),
            parameter("ACTIVE", Type::Bool, Mode::Keyword),
            parameter("GW", Type::Big(32), Mode::KeywordRequired),
            parameter("LIMIT", Type::Bool, Mode::Given),
        ];
        all[5].name = "limited".to_owned();
        all
    }

    fn resolved(parameters: &[Parameter], text: &str, rest: bool) -> Result<Resolved, Vec<String>> {
        resolve(parameters, &crate::click::config::arguments(text), rest, &Names::default().at("x"))
    }

    fn values(text: &str) -> String {
        let found = resolved(&parameters(), text, false).unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
        let shown = |value| match value {
            Value::Int(number) => (number as i64).to_string(),
            Value::Bytes(bytes) => format!("{bytes:?}"),
            Value::Text(text) => format!("{:?}", String::from_utf8_lossy(&text)),
        };
        found.values.into_iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(" ")
    }

    fn faults(text: &str) -> Vec<String> {
        resolved(&parameters(), text, false).expect_err(text)
    }

    #[test]
    fn positions_come_before_keywords() {
        assert_eq!(values("a, 5, 6, GW 1.2.3.4"), "data=\"a\" limit=5 burst=6 gw=[1, 2, 3, 4] limited=1");
        assert_eq!(values("a, BURST 6, GW 1.2.3.4"), "data=\"a\" burst=6 gw=[1, 2, 3, 4] limited=0");
        assert_eq!(values("GW 1.2.3.4, DATA \"a, b\", LIMIT -1, ACTIVE no"), "data=\"a, b\" limit=-1 active=0 gw=[1, 2, 3, 4] limited=1");
    }

    #[test]
    fn a_required_argument_may_look_like_a_keyword() {
        assert_eq!(values("hello world, GW 1.2.3.4"), "data=\"hello world\" gw=[1, 2, 3, 4] limited=0");
        assert_eq!(values("a, LIMIT 1, LIMIT 2, GW 1.1.1.1"), "data=\"a\" limit=2 gw=[1, 1, 1, 1] limited=1");
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert_eq!(faults(""), ["required argument `DATA` is missing", "required argument `GW` is missing"]);
        assert_eq!(faults("a, 1, 2, 3, GW 1.2.3.4"), ["too many arguments: `3`"]);
        assert_eq!(faults("a, GW 1.2.3.4, 5"), ["too many arguments: `5`"]);
        assert_eq!(faults("a, GW 1.2.3.4, LIMT 5"), ["unknown argument `LIMT`: did you mean `LIMIT`?"]);
        assert_eq!(faults("a, GW 1.2.3.4, COLOUR 5"), ["unknown argument `COLOUR`: there are DATA, LIMIT, BURST, ACTIVE, GW"]);
        assert_eq!(
            faults("a, big, 256, GW here, ACTIVE maybe"),
            [
                "`LIMIT`: `big` is not an integer",
                "`BURST`: `256` is out of range, 0 to 255",
                "`ACTIVE`: `maybe` is neither true nor false",
                "`GW`: `here` is not an IP address"
            ]
        );
    }

    #[test]
    fn what_is_left_is_for_the_class() {
        let found = resolved(&parameters()[3..4], "pattern 1 2, ACTIVE yes, - ", true).unwrap();
        assert_eq!(found.rest, ["pattern 1 2", "-"]);
        assert_eq!(found.values, [("active".to_owned(), Value::Int(1))]);
    }

    #[test]
    fn nonsense_does_no_harm() {
        let signs = ["a", " ", "GW", "LIMIT", "\"", "'", "\\", "<", "ä", "1", ".", "_", ":", "\0", "/", "-"];
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) as usize
            };
            let arguments: Vec<String> = (0..next() % 4).map(|_| (0..next() % 9).map(|_| signs[next() % signs.len()]).collect()).collect();
            let _ = resolve(&parameters(), &arguments, next() % 2 == 0, &Names::default().at("x"));
        }
    }
}
