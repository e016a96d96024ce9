//! HandlerAggregate: the handlers of several elements as one.
//!
//! Source: the manual of FastClick's element.

use super::super::{ElementError, HandlerError, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "HandlerAggregate",
    ports: "0/0",
    processing: "a/a",
    flow: "",
    facts: Facts { takes_bursts: true, ..Facts::OTHER },
    manual: "HandlerAggregate(ELEMENT E, ...) -- the handlers of several elements as one\n\n\
             Handlers: add HANDLER r, the sum of that handler's values, avg HANDLER r, their mean; write HANDLER TEXT w, all are written.",
    make: |setup| {
        let named = |argument: &String| argument.trim().strip_prefix("ELEMENT ").map(|name| name.trim().to_owned());
        let elements: Option<Vec<String>> = setup.arguments.iter().map(named).collect();
        match elements.filter(|elements| !elements.is_empty()) {
            Some(elements) => Ok(Box::new(HandlerAggregate { elements })),
            None => Err(ElementError::argument("expected ELEMENT NAME, once or more")),
        }
    },
};

struct HandlerAggregate {
    elements: Vec<String>,
}

impl BuiltIn for HandlerAggregate {
    gives!(handlers);
}

impl Handlers for HandlerAggregate {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["add", "avg"], &["write"], &[])
    }

    fn read(&mut self, handler: &str, asked: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let (name, argument) = text::shift_word(asked);
        let mut sum = 0.0;
        for element in &self.elements {
            let handler = format!("{element}.{name}");
            let value = ctx.read_handler(&handler, argument)?;
            let number = text::real(value.trim()).or_else(|| text::integer(value.trim()).map(|number| number as f64));
            sum += number.ok_or_else(|| HandlerError::failed(format!("{handler} is no number: {}", value.trim())))?;
        }
        Ok(text::shortest(if handler == "avg" { sum / self.elements.len() as f64 } else { sum }))
    }

    fn write(&mut self, _: &str, line: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let (name, value) = text::shift_word(line);
        self.elements.iter().try_for_each(|element| ctx.write_handler(&format!("{element}.{name}"), value))
    }
}
