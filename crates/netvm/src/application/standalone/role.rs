//! An element that netvm itself has, as C: its state, its functions, and what others must know of
//! it.

use super::quoted;
use std::fmt::Write;

/// An element as C.
#[derive(Default)]
pub(super) struct Role {
    /// Arrays of its own. `E` is the element's name in C, here and in all the rest.
    pub arrays: String,
    /// The type of its arguments and its state, which are in `E_state`, and their value at first;
    /// empty: it has none.
    pub kind: &'static str,
    pub value: String,
    /// What happens when a packet comes in, at `port`.
    pub push: Option<String>,
    /// What is given when a packet is asked for, at `port`.
    pub pull: Option<String>,
    /// Its turn as a task.
    pub turn: Option<String>,
    pub timer: Option<String>,
    pub init: Option<String>,
    /// Read handlers: name, and a statement that prints the value.
    pub reads: Vec<(&'static str, &'static str)>,
    /// Whether something may be pulled from it.
    pub ready: Ready,
    pub end: End,
}

/// Whether something may be pulled from an element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Ready {
    /// If there may be something before it.
    #[default]
    Before,
    /// If this is true.
    If(&'static str),
    /// If this is true, or there may be something before it.
    Or(&'static str),
}

/// What a role is to the outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    None,
    /// It reads a capture, from which packets arrive or are pulled.
    Source { pulled: bool },
    /// It writes a capture.
    Sink,
}

impl Role {
    /// What must be known before others' functions.
    pub(super) fn declarations(&self, e: &str) -> String {
        let mut text = String::from("static struct nv_element E;\n");
        if !self.kind.is_empty() {
            let _ = writeln!(text, "static {} E_state;", self.kind);
        }
        if self.push.is_some() {
            text += "static inline void E_nv_in(int port);\n";
        }
        if self.pull.is_some() {
            text += "static inline struct nv_packet *E_nv_pull(int port);\n";
        }
        named(&text, e)
    }

    /// The functions of an element, which is called that and known by that name to people.
    pub(super) fn text(&self, e: &str, name: &str) -> String {
        let mut text = self.arrays.clone();
        if !self.kind.is_empty() {
            let _ = writeln!(text, "static {} E_state = {};", self.kind, self.value);
        }
        let mut function = |head: &str, body: &Option<String>| {
            if let Some(body) = body {
                let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
                let _ = write!(text, "{head}\n{{\n{lines}}}\n");
            }
        };
        function("static inline void E_nv_in(int port)", &self.push);
        function("static inline struct nv_packet *E_nv_pull(int port)", &self.pull);
        function("static inline enum nv_turned E_nv_turn(void)", &self.turn);
        function("static void E_timer(int timer)", &self.timer);
        function("static void E_init(void)", &self.init);
        let pointer = |member: &str, there: bool| if there { format!(".{member} = E_{member}, ") } else { String::new() };
        let pointers = [pointer("init", self.init.is_some()), pointer("timer", self.timer.is_some())].concat();
        let _ = writeln!(text, "static struct nv_element E = {{ .name = {}, {pointers}}};", quoted::string(name.as_bytes()));
        if !self.reads.is_empty() {
            let reads: String = self.reads.iter().map(|(name, shown)| format!("NV_READ({name}, \"{name}\", {shown});\n")).collect();
            let _ = write!(text, "#define nv_self E\n{reads}#undef nv_self\n");
        }
        named(&text, e)
    }
}

/// A text with the element's name for every `E` that stands by itself or begins a name.
pub(super) fn named(text: &str, e: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut before, mut in_string) = (String::with_capacity(text.len()), ' ', false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        in_string ^= c == '"' && before != '\\';
        let begins = c == 'E' && !in_string && !is_word(before) && rest.peek().is_none_or(|next| !is_word(*next) || *next == '_');
        if begins {
            out.push_str(e)
        } else {
            out.push(c)
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_in_where_they_stand_for_the_element() {
        assert_eq!(
            named("E_nv_in(&E); nv_END(E); \"E \\\" E\" + TIME_E", "e3_q"),
            "e3_q_nv_in(&e3_q); nv_END(e3_q); \"E \\\" E\" + TIME_E"
        );
    }
}
