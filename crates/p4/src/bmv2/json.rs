//! JSON values with the way to them, so that what is wrong is told with its place: as a path such
//! as `pipelines[0].tables[3].key`, and as bytes of the text.

use frontends::diagnostics::Span;
use num_bigint::BigInt;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

/// A step from a value to one inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub way: Vec<Step>,
    pub message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.way.iter().enumerate() {
            match step {
                Step::Name(name) => write!(f, "{}{name}", if n == 0 { "" } else { "." })?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        write!(f, "{}{}", if self.way.is_empty() { "" } else { ": " }, self.message)
    }
}

pub(super) type Read<T> = Result<T, Box<Wrong>>;

struct Link {
    before: Option<Rc<Link>>,
    step: Step,
}

/// A value, and how it is reached.
#[derive(Clone)]
pub(super) struct Node<'a> {
    value: &'a Value,
    way: Option<Rc<Link>>,
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value) -> Self {
        Self { value, way: None }
    }

    fn step(&self, value: &'a Value, step: Step) -> Self {
        Self { value, way: Some(Rc::new(Link { before: self.way.clone(), step })) }
    }

    /// A fault at this value.
    pub fn wrong<T>(&self, message: impl Into<String>) -> Read<T> {
        let (mut way, mut link) = (Vec::new(), self.way.as_ref());
        while let Some(at) = link {
            way.push(at.step.clone());
            link = at.before.as_ref();
        }
        way.reverse();
        Err(Box::new(Wrong { way, message: message.into() }))
    }

    /// A member that is there and not null.
    pub fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|v| !v.is_null())?;
        Some(self.step(value, Step::Name(name.to_owned())))
    }

    pub fn need(&self, name: &str) -> Read<Self> {
        match (self.get(name), self.value) {
            (Some(node), _) => Ok(node),
            (None, Value::Object(_)) => self.wrong(format!("`{name}` is missing")),
            (None, _) => self.wrong(format!("expected an object with `{name}`")),
        }
    }

    pub fn text(&self) -> Read<&'a str> {
        self.value.as_str().map_or_else(|| self.wrong("expected a string"), Ok)
    }

    pub fn number(&self) -> Read<u64> {
        self.value.as_u64().map_or_else(|| self.wrong("expected a number that is not negative"), Ok)
    }

    /// A number of bits, or of things: at most so many.
    pub fn small(&self, most: u32) -> Read<u32> {
        match u32::try_from(self.number()?) {
            Ok(n) if n <= most => Ok(n),
            _ => self.wrong(format!("expected a number up to {most}")),
        }
    }

    /// True where a member is true; one that is missing is what is assumed.
    pub fn flag(&self, name: &str, assumed: bool) -> Read<bool> {
        match self.get(name) {
            None => Ok(assumed),
            Some(node) => node.value.as_bool().map_or_else(|| node.wrong("expected true or false"), Ok),
        }
    }

    pub fn boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    /// Whether two values are the same.
    pub fn same(&self, other: &Self) -> bool {
        self.value == other.value
    }

    pub fn is_text(&self) -> bool {
        self.value.is_string()
    }

    pub fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// The elements of an array.
    pub fn list(&self) -> Read<Vec<Self>> {
        match self.value {
            Value::Array(all) => Ok(all.iter().enumerate().map(|(n, value)| self.step(value, Step::Index(n))).collect()),
            _ => self.wrong("expected an array"),
        }
    }

    /// The elements of an array of just so many.
    pub fn just<const N: usize>(&self) -> Read<[Self; N]> {
        <[Self; N]>::try_from(self.list()?).or_else(|all| self.wrong(format!("expected {N} elements, and there are {}", all.len())))
    }

    /// The elements of an array that may be missing.
    pub fn each(&self, name: &str) -> Read<Vec<Self>> {
        self.get(name).map_or(Ok(Vec::new()), |node| node.list())
    }

    /// The members of an object.
    pub fn members(&self) -> Read<Vec<(&'a str, Self)>> {
        match self.value {
            Value::Object(all) => Ok(all.iter().map(|(name, value)| (name.as_str(), self.step(value, Step::Name(name.clone())))).collect()),
            _ => self.wrong("expected an object"),
        }
    }

    /// The second strings of all pairs, anywhere inside, whose first one is that.
    pub fn pairs(&self, first: &str) -> HashSet<String> {
        let (mut found, mut rest) = (HashSet::new(), vec![self.value]);
        while let Some(value) = rest.pop() {
            match value {
                Value::Array(all) => {
                    if let [Value::String(a), Value::String(b)] = all.as_slice()
                        && a == first
                    {
                        found.insert(b.clone());
                    }
                    rest.extend(all);
                }
                Value::Object(all) => rest.extend(all.values()),
                _ => {}
            }
        }
        found
    }

    /// What `type` says, and `value`.
    pub fn typed(&self) -> Read<(&'a str, Self)> {
        Ok((self.need("type")?.text()?, self.need("value")?))
    }

    /// A number in hexadecimal digits, with or without `0x` and a sign.
    pub fn hex(&self) -> Read<BigInt> {
        let text = self.text()?;
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
        let plain = !digits.is_empty() && digits.len() <= 1024 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        match BigInt::parse_bytes(digits.as_bytes(), 16).filter(|_| plain) {
            Some(value) => Ok(if negative { -value } else { value }),
            None => self.wrong("expected a number of up to 1024 hexadecimal digits"),
        }
    }
}

/// Where a value is in a text that is JSON.
pub(super) fn locate(text: &str, way: &[Step]) -> Span {
    let mut at = Scanner { bytes: text.as_bytes(), at: 0 };
    for step in way {
        let found = match step {
            Step::Name(name) => at.member(name),
            Step::Index(n) => at.element(*n),
        };
        if found.is_none() {
            break;
        }
    }
    at.blanks();
    let start = at.at;
    at.skip();
    Span { start: start as u32, end: at.at as u32 }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&mut self) -> u8 {
        self.blanks();
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Goes behind a value.
    fn skip(&mut self) {
        let (mut depth, mut quoted) = (0usize, false);
        self.blanks();
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' if quoted => self.at += 1,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let ends = matches!(self.bytes.get(self.at), None | Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r'));
            if !quoted && depth == 0 && (ends || matches!(byte, b'"' | b'}' | b']')) {
                break;
            }
        }
        self.at = self.at.min(self.bytes.len());
    }

    fn element(&mut self, n: usize) -> Option<()> {
        (self.peek() == b'[').then(|| self.at += 1)?;
        for _ in 0..n {
            self.skip();
            (self.peek() == b',').then(|| self.at += 1)?;
        }
        Some(())
    }

    fn member(&mut self, name: &str) -> Option<()> {
        (self.peek() == b'{').then(|| self.at += 1)?;
        loop {
            self.blanks();
            let start = self.at;
            self.skip();
            let key: String = serde_json::from_slice(self.bytes.get(start..self.at)?).ok()?;
            (self.peek() == b':').then(|| self.at += 1)?;
            if key == name {
                return Some(());
            }
            self.skip();
            (self.peek() == b',').then(|| self.at += 1)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_their_text() {
        let text = r#" {"a\"": [1, {"b" : "x]"}, -2], "c": true }"#;
        let part = |way: &[Step]| {
            let span = locate(text, way);
            &text[span.start as usize..span.end as usize]
        };
        let (a, b) = (Step::Name("a\"".to_owned()), Step::Name("b".to_owned()));
        assert_eq!(part(&[a.clone(), Step::Index(0)]), "1");
        assert_eq!(part(&[a.clone(), Step::Index(1), b]), "\"x]\"");
        assert_eq!(part(&[a.clone(), Step::Index(2)]), "-2");
        assert_eq!(part(&[Step::Name("c".to_owned())]), "true");
        assert_eq!(part(&[a, Step::Index(1)]), "{\"b\" : \"x]\"}");
    }
}
