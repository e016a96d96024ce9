//! Parameters and their values, each in the scope where it is asked for.
//!
//! A value's own parameters are expanded when it is put in, with what they mean in the scope of the
//! text around it; ten values deep, so that `define($a $a)` ends. The values that a compound
//! defines are expanded when it is used, in their order.
//!
//! Source: Click's `lib/variableenv.cc`, and `Lexer::expand_compound_element` of its
//! `lib/lexer.cc`.

use super::config::{LONGEST, substitute};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// Values within values.
const DEPTH: u32 = 10;

/// Parameters and their values, and those of the scope around.
#[derive(Default)]
pub(super) struct Values {
    pub(super) own: HashMap<String, String>,
    pub(super) around: Option<Rc<Values>>,
}

impl Values {
    fn get(&self, name: &str) -> Option<&str> {
        let mut at = Some(self);
        while let Some(values) = at {
            if let Some(value) = values.own.get(name) {
                return Some(value);
            }
            at = values.around.as_deref();
        }
        None
    }

    /// The text with values in place of parameters; `None` if more than [`LONGEST`] bytes of values
    /// would be read for that.
    pub(super) fn put_in(&self, text: &str) -> Option<String> {
        let left = Cell::new(Some(LONGEST));
        let text = self.at(text, 0, &left);
        left.get().map(|_| text)
    }

    fn at(&self, text: &str, depth: u32, left: &Cell<Option<usize>>) -> String {
        let value = |name: &str| {
            let value = self.get(name)?;
            left.set(left.get()?.checked_sub(value.len() + 1));
            Some(if depth < DEPTH { self.at(value, depth + 1, left) } else { value.to_owned() })
        };
        substitute(text, &value)
    }
}
