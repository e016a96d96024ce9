//! Arguments of built-in elements: positional ones, and keywords in capitals with a value behind.

use super::{ElementError, text};
use netil::asm::nearest;
use std::collections::HashMap;

/// Arguments by name.
pub struct Args {
    values: HashMap<&'static str, String>,
}

impl Args {
    /// Sorts arguments: those that begin with one of the names in capitals are that, the others are
    /// `positional` in that order. Only the first of these may begin as if it had a name, since it
    /// may be any text.
    ///
    /// # Errors
    /// There are more than that, or one twice, or one has a name that there is not.
    pub fn parse(arguments: &[String], positional: &[&'static str], keywords: &[&'static str]) -> Result<Self, ElementError> {
        let mut values = HashMap::new();
        let mut others = Vec::new();
        for argument in arguments {
            let (word, rest) = text::shift_word(argument);
            match positional.iter().chain(keywords).find(|name| **name == word) {
                Some(name) => {
                    if values.insert(*name, rest.to_owned()).is_some() {
                        return Err(ElementError::argument(format!("{name} is given twice")));
                    }
                }
                None => others.push(argument.trim().to_owned()),
            }
        }
        let free: Vec<_> = positional.iter().copied().filter(|name| !values.contains_key(name)).collect();
        let misspelt = others.iter().skip(1).find(|argument| name_of(argument).is_some());
        if let Some(unwanted) = misspelt.or(others.get(free.len())) {
            let others = keywords.iter().filter(|name| !positional.contains(name));
            return Err(told(unwanted, &positional.iter().chain(others).copied().collect::<Vec<_>>()));
        }
        values.extend(free.into_iter().zip(others));
        Ok(Self { values })
    }

    /// An argument as it stands.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// True if it is there.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    fn get<T>(&self, name: &str, otherwise: T, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ElementError> {
        match self.raw(name) {
            Some(text) => {
                read(&text::unquoted(text)).ok_or_else(|| ElementError::argument(format!("{name} should be {what}, not '{text}'")))
            }
            None => Ok(otherwise),
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str, otherwise: i64) -> Result<i64, ElementError> {
        self.get(name, otherwise, "a whole number", text::integer)
    }

    /// A number from 0 to a limit.
    pub fn count(&self, name: &str, otherwise: u32, most: u32) -> Result<u32, ElementError> {
        let read = |text: &str| text::integer(text).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= most);
        self.get(name, otherwise, &format!("a number up to {most}"), read)
    }

    /// A truth value.
    pub fn boolean(&self, name: &str, otherwise: bool) -> Result<bool, ElementError> {
        self.get(name, otherwise, "true or false", text::boolean)
    }

    /// A number with a fraction.
    pub fn real(&self, name: &str, otherwise: f64) -> Result<f64, ElementError> {
        self.get(name, otherwise, "a number", text::real)
    }

    /// A duration in nanoseconds.
    pub fn duration(&self, name: &str, otherwise: u64) -> Result<u64, ElementError> {
        self.get(name, otherwise, "a time", text::duration)
    }

    /// A rate in bytes a second.
    pub fn bandwidth(&self, name: &str, otherwise: u64) -> Result<u64, ElementError> {
        self.get(name, otherwise, "a bandwidth", text::bandwidth)
    }

    /// A text without quotes.
    pub fn text(&self, name: &str) -> Option<String> {
        self.raw(name).map(text::unquoted)
    }

    /// A string of bytes.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.raw(name).map(text::unquote)
    }

    /// Refuses arguments of which more than one is given.
    ///
    /// # Errors
    /// It is so.
    pub fn at_most_one(&self, names: &[&str]) -> Result<(), ElementError> {
        match names.iter().filter(|name| self.has(name)).count() {
            0 | 1 => Ok(()),
            _ => Err(ElementError::argument(format!("of {} only one may be given", names.join(", ")))),
        }
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// It is not.
    pub fn required(&self, name: &str) -> Result<String, ElementError> {
        self.text(name).ok_or_else(|| ElementError::argument(format!("{name} is missing")))
    }
}

/// The word that an argument begins with, if that looks like a name and something stands behind.
fn name_of(argument: &str) -> Option<&str> {
    let (word, rest) = text::shift_word(argument);
    (word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') && !rest.is_empty()).then_some(word)
}

/// What is wrong with an argument that has no place: one that begins as those with a name do is
/// most likely misspelt.
fn told(unwanted: &str, names: &[&str]) -> ElementError {
    let Some(word) = name_of(unwanted).filter(|_| !names.is_empty()) else {
        return ElementError::argument(format!("too many arguments: '{unwanted}'"));
    };
    match nearest(word, names.iter().copied()) {
        Some(near) => ElementError::argument(format!("unknown argument '{word}': did you mean '{near}'?")),
        None => ElementError::argument(format!("unknown argument '{word}': there are {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(list: &[&str]) -> Result<Args, ElementError> {
        Args::parse(&list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(), &["DATA", "LIMIT"], &["LIMIT", "STOP"])
    }

    #[test]
    fn keywords_and_places() {
        let given = args(&["LIMIT 5", "\"x y\"", "STOP true"]).unwrap();
        assert_eq!((given.integer("LIMIT", 0), given.text("DATA"), given.boolean("STOP", false)), (Ok(5), Some("x y".into()), Ok(true)));
        assert_eq!(args(&[]).unwrap().integer("LIMIT", -1), Ok(-1));
        assert_eq!(args(&["GET /", "LIMIT 5"]).unwrap().text("DATA"), Some("GET /".into()));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert_eq!(args(&["a", "1", "z"]).err().unwrap().to_string(), "too many arguments: 'z'");
        assert_eq!(args(&["a", "1", "STPO true"]).err().unwrap().to_string(), "unknown argument 'STPO': did you mean 'STOP'?");
        assert_eq!(args(&["a", "STPO true"]).err().unwrap().to_string(), "unknown argument 'STPO': did you mean 'STOP'?");
        assert_eq!(args(&["a", "COLOUR red"]).err().unwrap().to_string(), "unknown argument 'COLOUR': there are DATA, LIMIT, STOP");
        assert_eq!(args(&["STOP true", "STOP false"]).err().unwrap().to_string(), "STOP is given twice");
        assert_eq!(
            args(&["a", "many"]).unwrap().integer("LIMIT", 0).unwrap_err().to_string(),
            "LIMIT should be a whole number, not 'many'"
        );
        assert_eq!(args(&["a", "99"]).unwrap().count("LIMIT", 0, 9).unwrap_err().to_string(), "LIMIT should be a number up to 9, not '99'");
    }
}
