//! Click's test files: a shell script, files for it, and what it is to write.
//!
//! Sections begin with a line `%name`; `%expect` compares line by line, blank lines and blanks at
//! ends left out, `{{…}}` being a regular expression and `{{?…}}` a remark. Source: clicktest(1).
//! Leaves out: `%file -e` (base64), subtests.

use fancy_regex::Regex;

/// A test.
#[derive(Debug, Default)]
pub struct Test {
    pub script: String,
    pub requires: Vec<String>,
    /// Names and contents of input files.
    pub files: Vec<(String, String)>,
    pub expectations: Vec<Expectation>,
    /// Patterns of lines that do not count, and of which files; none: of all.
    ignored: Vec<(Option<Vec<String>>, Regex)>,
}

/// What a file is to hold.
#[derive(Debug)]
pub struct Expectation {
    pub name: String,
    text: String,
    kind: Kind,
    /// Amounts of blanks do not matter.
    blanks: bool,
    anycase: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Text with expressions in it.
    Lines,
    /// Byte for byte.
    Exact,
    /// Each line is an expression.
    Expressions,
}

/// The head of a section: name, options, a length, arguments.
struct Head<'t> {
    name: &'t str,
    options: String,
    length: Option<usize>,
    arguments: Vec<String>,
}

fn head(line: &str) -> Head<'_> {
    let mut words = line[1..].split_whitespace();
    let mut head = Head { name: words.next().unwrap_or_default(), options: String::new(), length: None, arguments: Vec::new() };
    for word in words {
        match (word.strip_prefix('-'), word.strip_prefix('+').and_then(|n| n.parse().ok())) {
            (Some(options), _) if !options.is_empty() => head.options += options,
            (_, Some(length)) => head.length = Some(length),
            _ => head.arguments.push(word.to_owned()),
        }
    }
    head
}

/// Bytes as text of as many characters: tests have captures in them, whose lengths are in bytes.
pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of such a text.
pub fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
}

/// Reads a test.
pub fn parse(text: &str) -> Result<Test, String> {
    let mut test = Test::default();
    let mut rest = text;
    while let Some((line, behind)) = section(rest) {
        let head = head(line);
        let end = match head.length {
            Some(length) => behind.char_indices().nth(length).map_or(behind.len(), |(at, _)| at),
            None if behind.starts_with('%') => 0,
            None => behind.find("\n%").map_or(behind.len(), |at| at + 1),
        };
        let body = behind.get(..end).ok_or("a length ends within a character")?;
        rest = &behind[end..];
        if head.name == "eof" {
            break;
        }
        test.take(&head, body)?;
    }
    if test.script.is_empty() { Err("no %script".to_owned()) } else { Ok(test) }
}

/// The next line that begins a section, and what is behind it.
fn section(text: &str) -> Option<(&str, &str)> {
    let at = if text.starts_with('%') { 0 } else { text.find("\n%")? + 1 };
    Some(text[at..].split_once('\n').unwrap_or((&text[at..], "")))
}

impl Test {
    fn take(&mut self, head: &Head<'_>, body: &str) -> Result<(), String> {
        let body = if head.options.contains('d') {
            body.lines().map(|line| line.get(1..).unwrap_or("").to_owned() + "\n").collect()
        } else {
            body.to_owned()
        };
        let names = || if head.arguments.is_empty() { vec!["stdin".to_owned()] } else { head.arguments.clone() };
        match head.name {
            "script" => self.script = body,
            "require" => self.requires.push(body),
            "file" | "stdin" => self.files.extend(names().into_iter().map(|name| (name, body.clone()))),
            "expect" | "expectv" | "expectx" | "stdout" | "stderr" => {
                let kind = match head.name {
                    "expectv" => Kind::Exact,
                    "expectx" => Kind::Expressions,
                    _ => Kind::Lines,
                };
                let names = if matches!(head.name, "stdout" | "stderr") { vec![head.name.to_owned()] } else { head.arguments.clone() };
                let (blanks, anycase) = (head.options.contains('w'), head.options.contains('i'));
                self.expectations.extend(names.into_iter().map(|name| Expectation { name, text: body.clone(), kind, blanks, anycase }));
            }
            "ignore" | "ignorex" => {
                let files = (!head.arguments.is_empty()).then(|| head.arguments.clone());
                for line in body.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
                    let pattern = if head.name == "ignorex" { whole(line, false) } else { expression(line, false, false) };
                    self.ignored.push((files.clone(), pattern?));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The first difference between what a file holds and what it is to hold; `None` if there is
    /// none.
    pub fn difference(&self, expectation: &Expectation, actual: &str) -> Result<Option<String>, String> {
        if expectation.kind == Kind::Exact {
            return Ok((expectation.text != actual).then(|| format!("{}: not the same bytes", expectation.name)));
        }
        let counts = |line: &&str| !line.is_empty() && !self.is_ignored(&expectation.name, line);
        let actual: Vec<&str> = actual.lines().map(str::trim_end).filter(counts).collect();
        let expected: Vec<&str> =
            expectation.text.lines().map(str::trim_end).filter(|line| !without_remarks(line).trim().is_empty()).collect();
        for at in 0..actual.len().max(expected.len()) {
            let (Some(wanted), Some(got)) = (expected.get(at), actual.get(at)) else {
                let [wanted, got] = [&expected, &actual].map(|lines| lines.get(at).copied().unwrap_or("(nothing)"));
                return Ok(Some(format!("{}: expected {wanted}, got {got}", expectation.name)));
            };
            if !expectation.matches(wanted, got)? {
                return Ok(Some(format!("{}: expected {wanted}, got {got}", expectation.name)));
            }
        }
        Ok(None)
    }

    fn is_ignored(&self, name: &str, line: &str) -> bool {
        let applies = |files: &Option<Vec<String>>| files.as_ref().is_none_or(|files| files.iter().any(|file| file == name));
        self.ignored.iter().any(|(files, pattern)| applies(files) && pattern.is_match(line).unwrap_or(false))
    }
}

impl Expectation {
    fn matches(&self, wanted: &str, got: &str) -> Result<bool, String> {
        let pattern = match self.kind {
            Kind::Expressions => whole(wanted, self.anycase)?,
            _ => expression(wanted, self.blanks, self.anycase)?,
        };
        let got = if self.blanks { got.split_whitespace().collect::<Vec<_>>().join(" ") } else { got.to_owned() };
        Ok(pattern.is_match(&got).unwrap_or(false))
    }
}

fn whole(line: &str, anycase: bool) -> Result<Regex, String> {
    let case = if anycase { "(?i)" } else { "" };
    Regex::new(&format!("{case}^(?:{line})$")).map_err(|error| error.to_string())
}

/// A line with its remarks taken out.
fn without_remarks(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("{{?") {
        out += before.trim_end();
        rest = behind.split_once("}}").map_or("", |(_, after)| after).trim_start();
    }
    out + rest
}

/// The expression that a line of text with `{{…}}` stands for.
fn expression(line: &str, blanks: bool, anycase: bool) -> Result<Regex, String> {
    let line = without_remarks(line);
    let line = if blanks { line.split_whitespace().collect::<Vec<_>>().join(" ") } else { line.trim_end().to_owned() };
    let mut pattern = String::from(if anycase { "(?i)^" } else { "^" });
    let mut rest = line.as_str();
    while let Some((before, behind)) = rest.split_once("{{") {
        let end = behind.find("}}").ok_or("{{ without }}")?;
        // An expression may end in a brace of its own.
        let end = end + behind[end + 2..].bytes().take_while(|byte| *byte == b'}').count();
        pattern += &fancy_regex::escape(before);
        pattern += &format!("(?:{})", &behind[..end]);
        rest = &behind[end + 2..];
    }
    pattern += &fancy_regex::escape(rest);
    pattern += r"\s*$";
    Regex::new(&pattern).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "%info\nx\n%script\necho\n%file A B\none\n%expect -w stdout\n a   {{\\d+}}  {{?why}}\n\nb\n%ignore\n#{{.*}}\n%expectv +3 C\n1\n\n%stdin\nin\n%eof\n%script\nnever\n";

    #[test]
    fn sections_are_read() {
        let test = parse(TEST).unwrap();
        assert_eq!((test.script.as_str(), test.files.len(), test.expectations.len()), ("echo\n", 3, 2));
        assert_eq!(test.files[2], ("stdin".to_owned(), "in\n".to_owned()));
        assert!(parse("%info\nx\n").is_err());
    }

    #[test]
    fn lines_are_compared_as_the_manual_says() {
        let test = parse(TEST).unwrap();
        let difference = |text| test.difference(&test.expectations[0], text).unwrap();
        assert_eq!(difference("a 12\n# no\n\n  b  \n"), None);
        assert_eq!(difference("a x\nb\n").unwrap(), "stdout: expected  a   {{\\d+}}  {{?why}}, got a x");
        assert!(difference("a 1\n").unwrap().ends_with("expected b, got (nothing)"));
        assert_eq!(test.difference(&test.expectations[1], "1\n\n").unwrap(), None);
        assert!(test.difference(&test.expectations[1], "1\n").unwrap().is_some());
    }
}
