//! ToIPSummaryDump: packets as lines of text.

use super::super::summary::{self, Field, show};
use super::super::{Args, ElementError, HandlerError, Packet, Stream};
use super::facts::SUMMARY;
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Medium, Ready, Task, TaskResult, element_handlers};
use crate::io::claims::Claim;
use std::fs::File;
use std::io::{BufWriter, Write};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "ToIPSummaryDump",
    ports: "1/0-1",
    processing: "a/h",
    flow: "",
    facts: Facts { writes: Some(Medium::File), annotations: SUMMARY, ..Facts::OTHER },
    manual: "ToIPSummaryDump(FILENAME [, FIELDS, HEADER, VERBOSE, BANNER, ...]) -- writes a line of text for each packet\n\n\
             FIELDS (ip_src ip_dst) names what is in it: timestamp ts_sec ip_src ip_dst ip_len ip_proto ip_ttl ip_id ip_fragoff ip_opt sport dport tcp_seq tcp_ack tcp_flags \
             tcp_opt udp_len icmp_type icmp_code payload payload_len link direction aggregate and others of Click's. - is standard output. A line `!data FIELDS` stands at the \
             beginning unless HEADER is false. With an output packets go on there. Binary dumps are not written.\nHandlers: flush w.",
    make: |setup| {
        let keywords =
            ["FIELDS", "CONTENTS", "HEADER", "VERBOSE", "BANNER", "BINARY", "MULTIPACKET", "BAD_PACKETS", "CAREFUL_TRUNC", "EXTRA_LENGTH"];
        let args = Args::parse(setup.arguments, &["FILENAME"], &keywords)?;
        if args.boolean("BINARY", false)? {
            return Err(ElementError::argument("binary dumps cannot be written"));
        }
        let fields = summary::known_fields(args.text("FIELDS").or_else(|| args.text("CONTENTS")).as_deref().unwrap_or("ip_src ip_dst"))?;
        Ok(Box::new(ToIPSummaryDump {
            name: args.required("FILENAME")?,
            fields,
            header: args.boolean("HEADER", true)?,
            banner: args.text("BANNER"),
            pulls: setup.pulled.first() == Some(&true),
            passes: setup.outputs > 0,
            file: None,
            _claim: None,
            fault: None,
        }))
    },
};

struct ToIPSummaryDump {
    name: String,
    fields: Vec<Field>,
    header: bool,
    banner: Option<String>,
    pulls: bool,
    passes: bool,
    file: Option<BufWriter<File>>,
    _claim: Option<Claim>,
    fault: Option<String>,
}

impl ToIPSummaryDump {
    fn put(&mut self, text: &str, ctx: &mut Ctx<'_>) {
        match &mut self.file {
            Some(file) => {
                if let Err(error) = file.write_all(text.as_bytes()) {
                    self.fault.get_or_insert(format!("{}: {error}", self.name));
                }
            }
            None => ctx.print(Stream::Out, text.as_bytes()),
        }
    }

    fn take(&mut self, packet: Packet, ctx: &mut Ctx<'_>) {
        let line = show::line(&self.fields, &packet, ctx.info());
        self.put(&line, ctx);
        if self.passes {
            ctx.emit(0, packet);
        }
    }

    fn flush(&mut self) -> Result<(), ElementError> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush).map_err(|error| ElementError::resource(format!("{}: {error}", self.name)))
    }
}

impl BuiltIn for ToIPSummaryDump {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        if self.name != "-" {
            ctx.writable(self.name.as_ref())?;
            let failed = |error| format!("{}: {error}", self.name);
            self._claim = Some(Claim::to_write(self.name.as_ref()).map_err(failed)?);
            self.file = Some(BufWriter::new(File::create(&self.name).map_err(failed)?));
        }
        if self.header {
            let banner = self.banner.as_ref().map(|banner| format!("!creator \"{banner}\"\n")).unwrap_or_default();
            let fields: Vec<_> = self.fields.iter().map(|field| field.name()).collect();
            self.put(&format!("!IPSummaryDump 1.3\n{banner}!data {}\n", fields.join(" ")), ctx);
        }
        Ok(())
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.take(packet, ctx);
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulls { Some(self) } else { None }
    }

    gives!(handlers);

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.flush()?;
        self.fault.take().map_or(Ok(()), |why| Err(ElementError::Resource(why)))
    }
}

impl Handlers for ToIPSummaryDump {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&[], &["flush"], &[])
    }

    fn write(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        Ok(self.flush()?)
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Err(super::no_handler(handler))
    }
}

impl Task for ToIPSummaryDump {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        let Some(packet) = ctx.pull(0) else { return TaskResult::Idle };
        self.take(packet, ctx);
        TaskResult::Done
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        ctx.any_input()
    }
}
