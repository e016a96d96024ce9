//! Message and Error: text when the run begins, or instead of it.

use super::super::{Args, ElementError, Stream};
use super::{BuiltIn, BuiltInClass, Ctx, Facts, Shared};

pub(super) static MESSAGE: BuiltInClass = BuiltInClass {
    name: "Message",
    ports: "0/0",
    processing: "a/a",
    flow: "",
    facts: Facts { only_begins: true, shared: Shared::First, ..Facts::OTHER },
    manual: "Message(TEXT [, TYPE]) -- tells TEXT when the run begins\n\nTYPE is MESSAGE (no mark), WARNING or ERROR; an error keeps the run from beginning.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["MESSAGE", "TYPE"], &[])?;
        let text = args.required("MESSAGE")?;
        match args.text("TYPE").as_deref() {
            None | Some("MESSAGE") => Ok(Box::new(Message(text))),
            Some("WARNING") => Ok(Box::new(Message(format!("warning: {text}")))),
            Some("ERROR") => Err(ElementError::Argument(text)),
            Some(other) => Err(ElementError::argument(format!("TYPE should be MESSAGE, WARNING or ERROR, not '{other}'"))),
        }
    },
};

pub(super) static ERROR: BuiltInClass = BuiltInClass {
    name: "Error",
    ports: "0/0",
    processing: "a/a",
    flow: "",
    facts: Facts { only_begins: true, shared: Shared::First, ..Facts::OTHER },
    manual: "Error(TEXT) -- keeps the run from beginning, with TEXT as the reason",
    make: |setup| {
        Err(ElementError::Argument(Args::parse(setup.arguments, &["MESSAGE"], &[])?.text("MESSAGE").unwrap_or_else(|| "error".to_owned())))
    },
};

struct Message(String);

impl BuiltIn for Message {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        ctx.print(Stream::Err, format!("{}\n", self.0).as_bytes());
        Ok(())
    }
}
