//! The language of Script and DriverManager: instructions, one an argument.
//!
//! Text is expanded when an instruction runs ([`expand`]); handlers without an element's name are
//! the script's own ([`functions`]) or the run's. A script runs until it blocks (`pause`, `wait`)
//! or ends, and jumps at most [`MAX_JUMPS`] times before that. Source: Click's manual of Script.

mod expand;
mod functions;

pub(super) use functions::NAMES;

use super::HandlerError;
use super::builtin::Ctx;
use super::{ElementError, Stream, text};
use crate::io::claims::Claim;
use std::collections::BTreeMap;
use std::io::Write as _;

/// Jumps without blocking, after which a script is given up.
const MAX_JUMPS: u32 = 1000;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Insn {
    /// Sets a variable, with a layer of quotes taken off or not.
    Set(String, String, bool),
    /// Sets a variable once, when the script is made, with a layer of quotes taken off or not.
    Init(String, String, bool),
    /// Text or a handler, a line feed behind it or not, unquoted or not.
    Print(String, bool, bool),
    Read(String, bool),
    Write(String, bool),
    Label(String),
    Goto(String, String),
    Pause(u32),
    Wait(String),
    Return(String, bool),
    Error(String, bool),
    End,
    Exit,
    Stop,
}

/// How a stretch of a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It goes on with a step, or when its timer is due.
    Blocked,
    End,
    Exit,
    Stop,
    Return(String),
    Error,
}

/// A script and where it is.
pub(super) struct Script {
    insns: Vec<Insn>,
    labels: BTreeMap<String, usize>,
    at: usize,
    /// Steps that a `pause` still waits for.
    pauses: u32,
    /// It stands at a `wait`.
    waits: bool,
    jumps: u32,
    /// What the last `write` came to.
    status: i32,
    vars: BTreeMap<String, String>,
    pub(super) exported: Vec<String>,
    pub(super) seed: u64,
}

impl Script {
    /// Reads instructions.
    ///
    /// # Errors
    /// The first that is none.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, ElementError> {
        let mut script = Self {
            insns: Vec::new(),
            labels: BTreeMap::new(),
            at: 0,
            pauses: 0,
            waits: false,
            jumps: 0,
            status: 0,
            vars: BTreeMap::new(),
            exported: Vec::new(),
            seed: 0,
        };
        for argument in arguments.iter().filter(|argument| !argument.trim().is_empty()) {
            let (word, rest) = text::shift_word(argument);
            let insn = script.insn(word, rest.trim_end()).ok_or_else(|| ElementError::argument(format!("syntax error at '{word}'")))?;
            match &insn {
                Insn::Label(label) => drop(script.labels.entry(label.clone()).or_insert(script.insns.len())),
                // Variables that instructions name are empty before they are set.
                Insn::Set(name, ..) | Insn::Init(name, ..) => drop(script.vars.insert(name.clone(), String::new())),
                _ => {}
            }
            script.insns.push(insn);
        }
        script.check_jumps()?;
        Ok(script)
    }

    fn insn(&mut self, word: &str, rest: &str) -> Option<Insn> {
        let own = rest.to_owned();
        let unquoted = word.ends_with('q');
        let variable =
            || Some(text::shift_word(rest)).filter(|(name, _)| !name.is_empty()).map(|(name, value)| (name.to_owned(), value.to_owned()));
        let alone = |insn| rest.is_empty().then_some(insn);
        match word {
            "set" | "setq" => variable().filter(|(_, value)| !value.is_empty()).map(|(name, value)| Insn::Set(name, value, unquoted)),
            "init" | "initq" => variable().map(|(name, value)| Insn::Init(name, value, unquoted)),
            "export" | "exportq" => {
                let (name, value) = variable()?;
                self.exported.push(name.clone());
                Some(Insn::Init(name, value, unquoted))
            }
            "print" | "printq" => Some(Insn::Print(own, true, unquoted)),
            "printn" | "printnq" => Some(Insn::Print(own, false, unquoted)),
            "save" => saved(rest, false),
            "append" => saved(rest, true),
            "read" | "readq" => Some(Insn::Read(own, unquoted)),
            "write" | "writeq" => Some(Insn::Write(own, unquoted)),
            "pause" | "wait_step" | "wait_stop" => pause(rest),
            "wait" if rest.is_empty() => Some(Insn::Pause(1)),
            "wait" | "wait_for" | "wait_time" => Some(Insn::Wait(own)),
            "label" => (text::words(rest).len() == 1).then_some(Insn::Label(own)),
            "goto" => variable().map(|(label, condition)| Insn::Goto(label, condition)),
            "loop" => alone(Insn::Goto("loop".to_owned(), String::new())),
            "return" | "returnq" => Some(Insn::Return(own, unquoted)),
            "error" | "errorq" => Some(Insn::Error(own, unquoted)),
            "end" => alone(Insn::End),
            "exit" => alone(Insn::Exit),
            "stop" => alone(Insn::Stop),
            _ => None,
        }
    }

    fn check_jumps(&self) -> Result<(), ElementError> {
        let known = |label: &str| self.labels.contains_key(label) || matches!(label, "loop" | "begin" | "end" | "exit" | "stop" | "error");
        match self.insns.iter().find_map(|insn| if let Insn::Goto(label, _) = insn { Some(label).filter(|l| !known(l)) } else { None }) {
            Some(label) => Err(ElementError::argument(format!("no such label '{label}'"))),
            None => Ok(()),
        }
    }

    /// Sets the variables that are set once.
    pub(super) fn init(&mut self, ctx: &mut Ctx<'_>) {
        for at in 0..self.insns.len() {
            if let Insn::Init(name, value, unquoted) = self.insns[at].clone() {
                let value = self.expanded(&value, unquoted, ctx);
                self.vars.insert(name, value);
            }
        }
    }

    /// True if there are no instructions.
    pub(super) fn is_empty(&self) -> bool {
        self.insns.is_empty()
    }

    /// Adds a `pause`.
    pub(super) fn add_pause(&mut self) {
        self.insns.push(Insn::Pause(1));
    }

    /// Runs from the beginning with those arguments: `$args`, `$1` …, `$#`.
    pub(super) fn call(&mut self, arguments: &str, ctx: &mut Ctx<'_>) -> Halt {
        // $0 is who a proxy was called as.
        self.vars.retain(|name, _| name == "0" || name.parse::<u32>().is_err());
        let words = text::words(arguments);
        self.vars.insert("args".to_owned(), arguments.to_owned());
        self.vars.insert("#".to_owned(), words.len().to_string());
        for (number, word) in words.into_iter().enumerate() {
            self.vars.insert((number + 1).to_string(), word.to_owned());
        }
        (self.at, self.pauses, self.waits) = (0, 0, false);
        ctx.wake_at(0);
        self.go(ctx)
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.vars.insert(name.to_owned(), value.to_owned());
    }

    /// A variable. An argument that was not given is empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let argument = || match name {
            "#" => Some("0"),
            "args" => Some(""),
            _ => name.parse::<u32>().ok().filter(|number| *number > 0).map(|_| ""),
        };
        self.vars.get(name).map(String::as_str).or_else(argument)
    }

    /// True if it stands at a `wait` for time.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Goes past the instruction that it stands at.
    pub(super) fn step(&mut self, ctx: &mut Ctx<'_>) -> Halt {
        if self.pauses > 1 {
            self.pauses -= 1;
            return Halt::Blocked;
        }
        if self.pauses == 1 || self.waits {
            self.at += 1;
        }
        (self.pauses, self.waits) = (0, false);
        ctx.wake_at(0);
        self.go(ctx)
    }

    /// Goes on at a label.
    pub(super) fn jump(&mut self, label: &str, ctx: &mut Ctx<'_>) -> Result<Halt, HandlerError> {
        let at = self.labels.get(label).copied().or((label == "loop" || label == "begin").then_some(0));
        self.at = at.ok_or_else(|| HandlerError::invalid(format!("no such label '{label}'")))?;
        (self.pauses, self.waits) = (0, false);
        ctx.wake_at(0);
        Ok(self.go(ctx))
    }

    /// Runs until it blocks or ends.
    pub(super) fn go(&mut self, ctx: &mut Ctx<'_>) -> Halt {
        self.jumps = 0;
        loop {
            let Some(insn) = self.insns.get(self.at).cloned() else { return Halt::End };
            if let Some(halt) = self.insn_now(insn, ctx) {
                return halt;
            }
        }
    }

    fn insn_now(&mut self, insn: Insn, ctx: &mut Ctx<'_>) -> Option<Halt> {
        match insn {
            Insn::Pause(steps) => {
                self.pauses = steps;
                return Some(Halt::Blocked);
            }
            Insn::Wait(time) => return Some(self.wait(&time, ctx)),
            Insn::Goto(label, condition) => return self.goto(&label, &condition, ctx),
            Insn::Set(name, value, unquoted) => {
                let value = self.expanded(&value, unquoted, ctx);
                self.vars.insert(name, value);
            }
            Insn::Print(what, line, unquoted) => self.print(&what, line, unquoted, ctx),
            Insn::Read(what, unquoted) => self.read_insn(&what, unquoted, ctx),
            Insn::Write(what, unquoted) => self.write_insn(&what, unquoted, ctx),
            Insn::Return(value, unquoted) => return Some(Halt::Return(self.expanded(&value, unquoted, ctx))),
            Insn::Error(message, unquoted) => {
                let message = self.expanded(&message, unquoted, ctx);
                self.complain(&text::unquoted(&message), ctx);
                return Some(Halt::Error);
            }
            Insn::End => return Some(Halt::End),
            Insn::Exit => return Some(Halt::Exit),
            Insn::Stop => return Some(Halt::Stop),
            Insn::Init(..) | Insn::Label(_) => {}
        }
        self.at += 1;
        None
    }

    fn wait(&mut self, time: &str, ctx: &mut Ctx<'_>) -> Halt {
        let time = self.expanded(time, true, ctx);
        let Some(time) = text::duration(&time) else {
            self.complain(&format!("syntax error at 'wait {time}'"), ctx);
            return Halt::Error;
        };
        self.waits = true;
        ctx.wake_at(ctx.now().saturating_add(time).max(1));
        Halt::Blocked
    }

    fn goto(&mut self, label: &str, condition: &str, ctx: &mut Ctx<'_>) -> Option<Halt> {
        let holds = condition.is_empty() || text::boolean(&self.expanded(condition, true, ctx)).unwrap_or(false);
        if !holds {
            self.at += 1;
            return None;
        }
        self.jumps += 1;
        if self.jumps > MAX_JUMPS {
            ctx.tell("too many jumps, giving up");
            return Some(Halt::Error);
        }
        match (self.labels.get(label), label) {
            (Some(at), _) => self.at = *at,
            (None, "end") => return Some(Halt::End),
            (None, "exit") => return Some(Halt::Exit),
            (None, "stop") => return Some(Halt::Stop),
            (None, "error") => return Some(Halt::Error),
            (None, _) => self.at = 0,
        }
        None
    }

    /// `print`: to a file if there is one, else to standard output.
    fn print(&mut self, what: &str, line: bool, unquoted: bool, ctx: &mut Ctx<'_>) {
        let (file, what) = match what.strip_prefix('>') {
            Some(rest) => {
                let (append, rest) = (rest.starts_with('>'), rest.trim_start_matches('>'));
                let (name, rest) = text::shift_word(rest);
                (Some((self.expanded(name, true, ctx), append)), rest)
            }
            None => (None, what),
        };
        let Ok(mut text) = self.shown(what, unquoted, ctx).map_err(|error| self.complain(&error.to_string(), ctx)) else { return };
        if line && !text.ends_with('\n') {
            text.push('\n');
        }
        match file.filter(|(name, _)| name != "-") {
            None => ctx.print(Stream::Out, text.as_bytes()),
            Some((name, append)) => {
                let written =
                    |()| write_file(&name, append, text.as_bytes()).map_err(|error| ElementError::resource(format!("{name}: {error}")));
                if let Err(error) = ctx.writable(name.as_ref()).and_then(written) {
                    self.complain(&error.to_string(), ctx);
                }
            }
        }
    }

    /// What `print` shows: a handler's value if the text as it is written begins like the name of
    /// one, else the text.
    fn shown(&mut self, what: &str, unquoted: bool, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        if !what.starts_with(|c: char| c.is_alphabetic() || c == '@' || c == '_') {
            return Ok(self.literal(what, ctx));
        }
        let full = self.expanded(what, unquoted, ctx);
        let (name, arguments) = text::shift_word(&full);
        self.read_handler(name, arguments, ctx)
    }

    fn read_insn(&mut self, what: &str, unquoted: bool, ctx: &mut Ctx<'_>) {
        let full = self.expanded(what, false, ctx);
        let (name, arguments) = text::shift_word(&full);
        let arguments = if unquoted { text::unquoted(arguments) } else { arguments.to_owned() };
        match self.read_handler(name, &arguments, ctx) {
            Ok(value) => {
                let name = if name.contains('.') || !NAMES.contains(&name) { name.to_owned() } else { format!("{}.{name}", ctx.name()) };
                ctx.print(Stream::Err, format!("{name}:\n{}\n", value.trim_end_matches('\n')).as_bytes());
            }
            Err(error) => self.complain(&error.to_string(), ctx),
        }
    }

    fn write_insn(&mut self, what: &str, unquoted: bool, ctx: &mut Ctx<'_>) {
        let full = self.expanded(what, false, ctx);
        let (name, arguments) = text::shift_word(&full);
        let arguments = if unquoted { text::unquoted(arguments) } else { arguments.to_owned() };
        let written = match self.write_own(name, &arguments) {
            Some(written) => written,
            None => ctx.write_handler(name, &arguments),
        };
        self.status = if written.is_ok() { 0 } else { -1 };
        if let Err(error) = written {
            self.complain(&error.to_string(), ctx);
        }
    }

    fn complain(&mut self, message: &str, ctx: &mut Ctx<'_>) {
        let text = format!("While executing '{}':\n  {message}\n", ctx.declared());
        ctx.print(Stream::Err, text.as_bytes());
    }
}

/// Writes or appends to a file, unless it is an input or another output.
pub(super) fn write_file(name: &str, append: bool, text: &[u8]) -> std::io::Result<()> {
    let _claim = Claim::to_write(name.as_ref())?;
    let mut open = std::fs::OpenOptions::new();
    open.create(true).write(true).append(append).truncate(!append).open(name)?.write_all(text)
}

/// `save HANDLER [FILE]`: the handler's value is printed into the file.
fn saved(rest: &str, append: bool) -> Option<Insn> {
    let (handler, file) = text::shift_word(rest);
    let file = if file.is_empty() { "-" } else { file };
    (!handler.is_empty()).then(|| Insn::Print(format!(">{}{file} {handler}", if append { ">" } else { "" }), true, false))
}

fn pause(rest: &str) -> Option<Insn> {
    let steps = if rest.is_empty() { Some(1) } else { text::integer(rest) };
    steps.and_then(|n| u32::try_from(n).ok()).map(Insn::Pause)
}
