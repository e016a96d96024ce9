//! An element's arguments, resolved against what its class declares.
//!
//! As Click does it: parameters take arguments in the order of their declaration. `KEYWORD value`
//! goes to the parameter of that keyword, the last one if there are several; an argument without
//! keyword to the first positional parameter that has none yet, as long as no keyword has been used
//! before it. A parameter that must be there takes the next argument even if it looks like one with
//! a keyword. An argument by position besides one by keyword is taken, and the keyword's counts; an
//! empty one leaves a parameter that need not be there as it is. What is left goes to the class's
//! own syntax, if it has one, and is too much otherwise.
//!
//! Source: Click's manual of `Args`.

pub use super::argument_type::Type;
use super::config::{keyword, unquote};
use super::syntax::{ArgumentError, Reading, Scope, Syntax};
pub use crate::c::Value;
use crate::c::{Mode, Param, Preset};
use crate::pcap_filter::suggest::nearest;

/// The syntax of lists whose values are the bytes of the argument.
const BYTES: &str = "BYTES";

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
pub fn resolve(parameters: &[Param], arguments: &[String], rest: bool, names: &Scope<'_>) -> Result<Resolved, Vec<ArgumentError>> {
    let mut taking = Taking { arguments, used: vec![Used::No; arguments.len()], faults: Vec::new() };
    let (mut resolved, mut given) = (Resolved::default(), Vec::new());
    for parameter in parameters.iter().filter(|parameter| parameter.mode != Mode::Given) {
        let argument = taking.take(parameter);
        given.extend(argument.map(|text| (parameter.keyword.as_str(), text)));
        let value = match &parameter.mode {
            Mode::SameAs(other) if argument.is_none() => Some(same(parameter, other, &given, names)),
            _ => argument.or(preset(parameter)).map(|text| read(parameter, text, names)),
        };
        match value {
            Some(Ok(value)) => resolved.values.push((parameter.name.clone(), value)),
            Some(Err(fault)) => taking.faults.push(fault),
            None => {}
        }
    }
    for parameter in parameters.iter().filter(|parameter| parameter.mode == Mode::Given) {
        let is = given.iter().any(|(keyword, _)| *keyword == parameter.keyword);
        resolved.values.push((parameter.name.clone(), Value::Int(is.into())));
    }
    resolved.rest = taking.left().map(str::to_owned).collect();
    if rest {
        taking.misspelt(parameters);
    } else {
        taking.too_much(parameters);
    }
    if taking.faults.is_empty() { Ok(resolved) } else { Err(taking.faults) }
}

/// What stands for an argument that is not there, if that is text; the compiler knows of numbers.
fn preset(parameter: &Param) -> Option<&str> {
    match &parameter.mode {
        Mode::Optional(Some(Preset::Text(text))) | Mode::Keyword(Some(Preset::Text(text))) => Some(text),
        _ => None,
    }
}

/// The value of an argument that is not there, from another one, if that is a name of both.
fn same(parameter: &Param, other: &str, given: &[(&str, &str)], names: &Scope<'_>) -> Result<Value, ArgumentError> {
    let text = given.iter().find(|(keyword, _)| *keyword == other).map(|(_, text)| *text);
    text.and_then(|text| read(parameter, text, names).ok()).ok_or_else(|| missing(parameter))
}

fn missing(parameter: &Param) -> ArgumentError {
    ArgumentError::new(format!("required argument `{}` is missing", parameter.keyword))
}

/// An argument's value.
fn read(parameter: &Param, argument: &str, names: &Scope<'_>) -> Result<Value, ArgumentError> {
    let Param { keyword, ctype, syntax: named, .. } = parameter;
    let ty = &Type::of(ctype).ok_or_else(|| ArgumentError::new(format!("`{keyword}`: there are no arguments of the type `{ctype}`")))?;
    if parameter.list && named == BYTES {
        return Ok(Value::Bytes(unquote(argument)));
    }
    let syntax = if named.is_empty() { Some(Syntax::of(ty)) } else { Syntax::named(named) };
    let syntax =
        syntax.ok_or_else(|| ArgumentError::new(format!("`{keyword}`: its class asks for the syntax {named}, which there is not")))?;
    let bytes = unquote(argument);
    let text = String::from_utf8_lossy(&bytes);
    let one = |text: &str| {
        syntax.read(text, &Reading { ty, names }).map_err(|wrong| ArgumentError::new(format!("`{keyword}`: `{text}` {wrong}")))
    };
    if parameter.list { list(text.split_ascii_whitespace().map(one), ctype.size() as usize) } else { one(&text) }
}

/// Values of so many bytes, one behind the other as in memory.
fn list(values: impl Iterator<Item = Result<Value, ArgumentError>>, size: usize) -> Result<Value, ArgumentError> {
    let (mut all, mut texts) = (Vec::new(), Vec::new());
    for value in values {
        match value? {
            Value::Int(number) => all.extend(&number.to_le_bytes()[..size.min(8)]),
            Value::Bytes(bytes) => all.extend(bytes),
            Value::Text(text) => texts.push(text),
            Value::Texts(more) => texts.extend(more),
        }
    }
    Ok(if texts.is_empty() { Value::Bytes(all) } else { Value::Texts(texts) })
}

struct Taking<'a> {
    arguments: &'a [String],
    used: Vec<Used>,
    faults: Vec<ArgumentError>,
}

impl<'a> Taking<'a> {
    /// The argument that is meant for a parameter, without its keyword.
    fn take(&mut self, parameter: &Param) -> Option<&'a str> {
        let positional = matches!(parameter.mode, Mode::Required | Mode::Optional(_) | Mode::SameAs(_));
        let required = matches!(parameter.mode, Mode::Required | Mode::KeywordRequired);
        let named = self.by_keyword(&parameter.keyword);
        let needed = required && named.is_none();
        let next = self.next().filter(|at| positional && (needed || keyword(&self.arguments[*at]).is_none()));
        let placed = next.map(|at| {
            self.used[at] = Used::ByPosition;
            self.arguments[at].as_str()
        });
        let found = named.or(placed.filter(|text| required || !text.is_empty()));
        if required && found.is_none() {
            self.faults.push(missing(parameter));
        }
        found
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

    /// Faults for arguments among those of the class's own syntax that look like a keyword with a
    /// slip in it.
    fn misspelt(&mut self, parameters: &[Param]) {
        let known: Vec<&str> = parameters.iter().map(|parameter| parameter.keyword.as_str()).collect();
        let is_loud = |word: &str| word.len() > 3 && !word.bytes().any(|b| b.is_ascii_lowercase()) && !known.contains(&word);
        let word = |argument: &&str| keyword(argument).is_some_and(|(word, _)| is_loud(word) && near(word, &known).is_some());
        let faults: Vec<ArgumentError> = self.left().filter(word).map(|argument| unwanted(argument, &known)).collect();
        self.faults.extend(faults);
    }

    /// Faults for arguments that nobody takes.
    fn too_much(&mut self, parameters: &[Param]) {
        let known = || parameters.iter().filter(|parameter| parameter.mode != Mode::Given).map(|parameter| parameter.keyword.as_str());
        let faults: Vec<ArgumentError> = self.left().map(|argument| unwanted(argument, &known().collect::<Vec<_>>())).collect();
        self.faults.extend(faults);
    }
}

/// Says that an argument has no parameter.
fn unwanted(argument: &str, known: &[&str]) -> ArgumentError {
    let Some((word, _)) = keyword(argument) else { return ArgumentError::new(format!("too many arguments: `{argument}`")) };
    match near(word, known) {
        Some(near) => ArgumentError::new(format!("unknown argument `{word}`: did you mean `{near}`?")),
        None if known.is_empty() => ArgumentError::new(format!("unknown argument `{word}`: there are none")),
        None => ArgumentError::new(format!("unknown argument `{word}`: there are {}", known.join(", "))),
    }
}

/// The keyword that one with slips may be meant to be.
fn near<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let spoken: Vec<String> = known.iter().map(|known| known.to_ascii_lowercase()).collect();
    let near = nearest(word, spoken.iter().map(String::as_str))?;
    spoken.iter().position(|word| word == near).map(|at| known[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c;
    use crate::click::syntax::Names;

    fn parameters() -> Vec<Param> {
        let int = |bits, signed| c::Type::Int { bits, signed };
        let parameter = |name: &str, ctype, mode| Param {
            name: name.to_lowercase(),
            keyword: name.to_owned(),
            ctype,
            syntax: String::new(),
            mode,
            list: false,
            span: Default::default(),
        };
        let mut all = vec![
            parameter("DATA", c::Type::Text, Mode::Required),
            parameter("LIMIT", int(32, true), Mode::Optional(None)),
            parameter("BURST", int(8, false), Mode::Optional(None)),
            parameter("ACTIVE", c::Type::Bool, Mode::Keyword(Some(Preset::Text("yes".to_owned())))),
            parameter("GW", c::Type::Be(32), Mode::KeywordRequired),
            parameter("LIMIT", c::Type::Bool, Mode::Given),
        ];
        all[5].name = "limited".to_owned();
        all
    }

    fn resolved(parameters: &[Param], text: &str, rest: bool) -> Result<Resolved, Vec<String>> {
        resolve(parameters, &crate::click::config::arguments(text), rest, &Names::default().at("x"))
            .map_err(|all| all.iter().map(ToString::to_string).collect())
    }

    fn values(text: &str) -> String {
        let found = resolved(&parameters(), text, false).unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
        let shown = |value| match value {
            Value::Int(number) => (number as i64).to_string(),
            Value::Bytes(bytes) => format!("{bytes:?}"),
            Value::Text(text) => format!("{text:?}"),
            Value::Texts(texts) => format!("{texts:?}"),
        };
        found.values.into_iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(" ")
    }

    fn faults(text: &str) -> Vec<String> {
        resolved(&parameters(), text, false).expect_err(text)
    }

    #[test]
    fn positions_come_before_keywords() {
        assert_eq!(values("a, 5, 6, GW 1.2.3.4"), "data=\"a\" limit=5 burst=6 active=1 gw=[1, 2, 3, 4] limited=1");
        assert_eq!(values("a, BURST 6, GW 1.2.3.4"), "data=\"a\" burst=6 active=1 gw=[1, 2, 3, 4] limited=0");
        assert_eq!(values("GW 1.2.3.4, DATA \"a, b\", LIMIT -1, ACTIVE no"), "data=\"a, b\" limit=-1 active=0 gw=[1, 2, 3, 4] limited=1");
    }

    #[test]
    fn a_required_argument_may_look_like_a_keyword() {
        assert_eq!(values("hello world, GW 1.2.3.4"), "data=\"hello world\" active=1 gw=[1, 2, 3, 4] limited=0");
        assert_eq!(values("a, LIMIT 1, LIMIT 2, GW 1.1.1.1"), "data=\"a\" limit=2 active=1 gw=[1, 1, 1, 1] limited=1");
    }

    #[test]
    fn keywords_count_more_than_positions() {
        assert_eq!(values("a, 1, LIMIT 2, GW 1.1.1.1, DATA b"), "data=\"b\" limit=2 active=1 gw=[1, 1, 1, 1] limited=1");
        assert_eq!(faults("GW 1.1.1.1, DATA b, a"), ["too many arguments: `a`"]);
    }

    #[test]
    fn empty_arguments_leave_what_is_there_by_default() {
        assert_eq!(values("a,,, GW 1.1.1.1"), "data=\"a\" active=1 gw=[1, 1, 1, 1] limited=0");
        assert_eq!(values("a, , 6, GW 1.1.1.1"), "data=\"a\" burst=6 active=1 gw=[1, 1, 1, 1] limited=0");
        assert_eq!(faults("a, 1, 2,, GW 1.1.1.1"), ["too many arguments: ``"]);
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
    fn one_argument_may_be_a_name_of_two_things() {
        let two = |ctype| {
            let other = Param {
                name: "also".to_owned(),
                keyword: "ALSO".to_owned(),
                ctype,
                mode: Mode::SameAs("LIMIT".to_owned()),
                ..parameters().remove(0)
            };
            [Param { mode: Mode::Required, ..parameters().remove(1) }, other]
        };
        let read = |ctype, text| resolved(&two(ctype), text, false).map(|mut found| found.values.pop().unwrap().1);
        assert_eq!(read(c::Type::Text, "7"), Ok(Value::Text("7".to_owned())));
        assert_eq!(read(c::Type::Text, "LIMIT 7"), Ok(Value::Text("7".to_owned())));
        assert_eq!(read(c::Type::Text, "7, 8"), Ok(Value::Text("8".to_owned())));
        assert_eq!(read(c::Type::Text, "7, ALSO 9"), Ok(Value::Text("9".to_owned())));
        assert_eq!(read(c::Type::Mac, "7"), Err(vec!["required argument `ALSO` is missing".to_owned()]));
        assert_eq!(read(c::Type::Text, "").map_err(|faults| faults.len()), Err(2));
    }

    #[test]
    fn lists_are_words() {
        let list = |ctype| Param { ctype, list: true, ..parameters().remove(3) };
        let read = |ctype, text| resolved(&[list(ctype)], text, false).map(|mut found| found.values.remove(0).1);
        assert_eq!(read(c::Type::Be(32), "ACTIVE 1.2.3.4 5.6.7.8"), Ok(Value::Bytes(vec![1, 2, 3, 4, 5, 6, 7, 8])));
        assert_eq!(read(c::Type::Int { bits: 16, signed: true }, "ACTIVE -1 258"), Ok(Value::Bytes(vec![255, 255, 2, 1])));
        assert_eq!(read(c::Type::Mac, "ACTIVE ''"), Ok(Value::Bytes(vec![])));
        assert_eq!(read(c::Type::Be(32), "ACTIVE 1.2.3.4 5"), Err(vec!["`ACTIVE`: `5` is not an IP address".to_owned()]));
    }

    #[test]
    fn what_is_left_is_for_the_class() {
        let found = resolved(&parameters()[3..4], "pattern 1 2, ACTIVE yes, - ", true).unwrap();
        assert_eq!(found.rest, ["pattern 1 2", "-"]);
        assert_eq!(found.values, [("active".to_owned(), Value::Int(1))]);
        let left = |text| resolved(&parameters()[3..4], text, true).map(|found| found.rest);
        assert_eq!(left("pattern 1 2, ACTIV yes"), Err(vec!["unknown argument `ACTIV`: did you mean `ACTIVE`?".to_owned()]));
        let own = ["activ 1", "ACT 1", "MAPS a b", "ACTIV"];
        assert_eq!(left(&own.join(", ")), Ok(own.map(str::to_owned).to_vec()));
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
