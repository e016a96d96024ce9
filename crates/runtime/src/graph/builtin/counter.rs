//! CallingCounter: Click's Counter where it calls handlers; one that only counts is the library's.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Calling, Ctx, ElementHandler, Facts, Handlers, element_handlers};

/// What names the handler to call.
const ARGUMENTS: &[&str] = &["COUNT_CALL", "BYTE_COUNT_CALL"];

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "CallingCounter",
    ports: "1/1",
    processing: "a/a",
    flow: "",
    facts: Facts { calling: Some(Calling { program: "Counter", arguments: ARGUMENTS }), ..Facts::OTHER },
    manual: "CallingCounter([COUNT_CALL N HANDLER [TEXT], BYTE_COUNT_CALL N HANDLER [TEXT]]) -- counts, and writes a handler at a number\n\n\
             What a Counter with these arguments becomes. The handler is written when the count reaches N, once until it is reset.\n\
             Handlers: count byte_count r, count_call rw, byte_count_call w, reset reset_counts w.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &[], ARGUMENTS)?;
        let call = |name| {
            args.raw(name)
                .map(|text| {
                    Call::parse(text)
                        .ok_or_else(|| ElementError::argument(format!("{name} should be a number and a handler, not '{text}'")))
                })
                .transpose()
        };
        Ok(Box::new(Counter { count: 0, bytes: 0, at_count: call("COUNT_CALL")?, at_bytes: call("BYTE_COUNT_CALL")? }))
    },
};

/// A handler to be written at a number.
struct Call {
    at: u64,
    call: String,
    done: bool,
}

impl Call {
    fn parse(text: &str) -> Option<Self> {
        let (number, call) = text::shift_word(text);
        let at = text::integer(number).and_then(|n| u64::try_from(n).ok())?;
        (!call.is_empty()).then(|| Self { at, call: call.to_owned(), done: false })
    }

    fn look(call: &mut Option<Self>, is_time: impl Fn(u64) -> bool, ctx: &mut Ctx<'_>) {
        if let Some(call) = call.as_mut().filter(|call| !call.done && is_time(call.at)) {
            call.done = true;
            ctx.write_later(&call.call);
        }
    }
}

struct Counter {
    count: u64,
    bytes: u64,
    at_count: Option<Call>,
    at_bytes: Option<Call>,
}

impl Counter {
    fn take(&mut self, packet: &Packet, ctx: &mut Ctx<'_>) {
        self.count += 1;
        self.bytes += packet.len() as u64;
        // Packets come one by one, bytes many at once.
        Call::look(&mut self.at_count, |at| self.count == at, ctx);
        Call::look(&mut self.at_bytes, |at| self.bytes >= at, ctx);
    }
}

impl BuiltIn for Counter {
    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.take(&packet, ctx);
        ctx.emit(0, packet);
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = ctx.pull(0)?;
        self.take(&packet, ctx);
        Some(packet)
    }

    gives!(handlers);
}

impl Handlers for Counter {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count", "byte_count"], &["reset", "reset_counts", "byte_count_call"], &["count_call"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "count_call" => self.at_count.as_ref().map_or_else(String::new, |call| call.at.to_string()),
            _ => self.bytes.to_string(),
        })
    }

    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        // A number alone calls nothing.
        let number = || text::integer(text).is_some_and(|n| n >= 0);
        let call = || match Call::parse(text) {
            None if !number() => Err(HandlerError::invalid(format!("expected a number and a handler, not '{text}'"))),
            Some(call) => match text::shift_word(&call.call).0 {
                called if !ctx.can_write(called) => Err(HandlerError::invalid(format!("there is no write handler '{called}'"))),
                _ => Ok(Some(call)),
            },
            None => Ok(None),
        };
        match handler {
            "count_call" => self.at_count = call()?,
            "byte_count_call" => self.at_bytes = call()?,
            _ => {
                (self.count, self.bytes) = (0, 0);
                [&mut self.at_count, &mut self.at_bytes].into_iter().flatten().for_each(|call| call.done = false);
            }
        }
        Ok(())
    }
}
