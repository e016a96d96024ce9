//! Script and DriverManager: control of the run by a small language ([`super::super::script`]).

use super::super::script::{Halt, NAMES, Script};
use super::super::{ElementError, HandlerError, Packet, signals, text};
use super::{BuiltIn, BuiltInClass, Ctx, Driver, ElementHandler, Facts, Handlers, Ready, Setup, Shared, element_handlers};

/// Scripts work where the end is asked for, at a time that they wait for, or when they are asked
/// between arrivals; bursts end there.
const FACTS: Facts = Facts { takes_bursts: true, calls_handlers: true, shared: Shared::First, ..Facts::OTHER };

pub(super) static SCRIPT: BuiltInClass = BuiltInClass {
    name: "Script",
    ports: "-/-",
    processing: "a/a",
    flow: "",
    facts: FACTS,
    manual: "Script([TYPE T,] INSTRUCTION, ...) -- reads and writes handlers, prints, waits\n\n\
             Types: ACTIVE runs when the run begins; PASSIVE when its handler run is read or written; PACKET (the type of a script with ports) for every packet, which \
             leaves by the output that the script returns; PROXY for every handler; DRIVER as DriverManager; \
             SIGNAL S ... when one of those signals comes, which then does nothing else, as long as the script ends by itself or with end.\n\
             Instructions: set init export VAR TEXT, print [>FILE] TEXT|HANDLER, save append HANDLER [FILE], read write HANDLER [TEXT], pause [N], wait TIME, label L, goto L [CONDITION], loop, \
             return [VALUE], end, exit, stop, error [TEXT]. In text, $x is a variable, empty if it has not been set, and $(h x) the value of a handler, and $$ the number of this process.\n\
             Handlers: run rw, step w, goto w, and functions: add sub min max mul div idiv mod rem neg abs eq ne lt gt le ge not and or nand nor if in sprintf random \
             length unquote now htons htonl ntohs ntohl shift get first cat readable writable kill r, set w. kill SIGNAL $$ sends this process a signal, and no other one.",
    make: |setup| make(setup, None),
};

pub(super) static DRIVER_MANAGER: BuiltInClass = BuiltInClass {
    name: "DriverManager",
    ports: "0/0",
    processing: "a/a",
    flow: "",
    facts: FACTS,
    manual: "DriverManager(INSTRUCTION, ...) -- decides when the run ends\n\n\
             A Script that hears when somebody asks for the end of the run: pause waits for that, the run ends with the script. When nothing can happen any more, it is told \
             so as if somebody had asked.",
    make: |setup| make(setup, Some(Kind::Driver)),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Active,
    Passive,
    Packet,
    Proxy,
    Driver,
    Signal,
}

fn make(setup: &Setup<'_>, kind: Option<Kind>) -> Result<Box<dyn BuiltIn>, ElementError> {
    let mut instructions = setup.arguments.to_vec();
    let mut said = None;
    instructions.retain(|argument| match text::shift_word(argument) {
        ("TYPE", rest) => {
            said = Some(rest.trim().to_owned());
            false
        }
        _ => true,
    });
    let ports = setup.inputs > 0 || setup.outputs > 0;
    let kind = match said.as_deref() {
        None => kind.unwrap_or(if ports { Kind::Packet } else { Kind::Active }),
        Some("ACTIVE") => Kind::Active,
        Some("PASSIVE") => Kind::Passive,
        Some("PACKET" | "PUSH") => Kind::Packet,
        Some("PROXY") => Kind::Proxy,
        Some("DRIVER") => Kind::Driver,
        Some(other) if other.split_whitespace().next() == Some("SIGNAL") => Kind::Signal,
        Some(other) => {
            return Err(ElementError::argument(format!("TYPE should be ACTIVE, PASSIVE, PACKET, PROXY, DRIVER or SIGNAL, not '{other}'")));
        }
    };
    let signals = said.iter().filter(|_| kind == Kind::Signal).flat_map(|said| said.split_whitespace().skip(1));
    let signals: Vec<i32> = signals.map(signals::number).collect::<Result<_, _>>()?;
    if kind == Kind::Signal && signals.is_empty() {
        return Err(ElementError::argument("TYPE SIGNAL wants the names of signals behind it"));
    }
    match kind {
        Kind::Packet if setup.inputs == 0 => return Err(ElementError::argument("a PACKET script must have inputs")),
        Kind::Packet => {}
        _ if ports => return Err(ElementError::argument("ports are allowed only on PACKET scripts")),
        _ => {}
    }
    let mut script = Script::parse(&instructions)?;
    script.seed = setup.seed;
    if kind == Kind::Driver && script.is_empty() {
        script.add_pause();
    }
    Ok(Box::new(Element { script, kind, signals }))
}

struct Element {
    script: Script,
    kind: Kind,
    /// That it hears.
    signals: Vec<i32>,
}

impl Element {
    /// What the end of a stretch means; the value that was returned.
    fn ended(&mut self, halt: Halt, ctx: &mut Ctx<'_>) -> String {
        match (halt, self.kind) {
            (Halt::Blocked, _) => {}
            (_, Kind::Driver) => ctx.end_run(),
            (Halt::End, Kind::Signal) => self.signals.iter().for_each(|signal| ctx.hear(*signal)),
            (Halt::Return(value), _) => return value,
            (Halt::Stop, _) => ctx.stop(),
            _ => {}
        }
        String::new()
    }

    /// The output for a packet of that input; `None` to drop it.
    fn decide(&mut self, port: u32, ctx: &mut Ctx<'_>) -> Option<u32> {
        self.script.set("input", &port.to_string());
        match self.script.call("", ctx) {
            Halt::Return(value) => text::integer(&value).and_then(|port| u32::try_from(port).ok()),
            Halt::Stop => {
                ctx.stop();
                Some(0)
            }
            Halt::Exit | Halt::Error => None,
            Halt::End | Halt::Blocked => Some(0),
        }
    }
}

impl BuiltIn for Element {
    fn one_at_a_time(&self) -> bool {
        self.kind == Kind::Packet
    }

    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.script.init(ctx);
        self.signals.iter().for_each(|signal| ctx.hear(*signal));
        match self.kind == Kind::Driver && ctx.graph.topology.driver != Some(ctx.node) {
            true => Err(ElementError::resource("there is another driver script")),
            false => Ok(()),
        }
    }

    fn start(&mut self, ctx: &mut Ctx<'_>) {
        if matches!(self.kind, Kind::Active | Kind::Driver) {
            let halt = self.script.go(ctx);
            self.ended(halt, ctx);
        }
    }

    fn timer(&mut self, _: u64, ctx: &mut Ctx<'_>) {
        let halt = self.script.step(ctx);
        self.ended(halt, ctx);
    }

    fn driver(&mut self) -> Option<&mut dyn Driver> {
        if self.kind == Kind::Driver { Some(self) } else { None }
    }

    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        match self.decide(port, ctx) {
            Some(port) => ctx.emit(port, packet),
            None => ctx.drop_packet(&packet, "dropped by the script"),
        }
    }

    fn pull(&mut self, port: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = ctx.pull(0)?;
        match self.decide(0, ctx) {
            Some(to) if to == port => return Some(packet),
            Some(to) => ctx.emit(to, packet),
            None => ctx.drop_packet(&packet, "dropped by the script"),
        }
        None
    }

    fn is_ready(&self, _: u32, ctx: &Ready<'_>) -> bool {
        ctx.any_input()
    }

    gives!(handlers);
}

impl Handlers for Element {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        let exported: Vec<_> = self.script.exported.iter().map(String::as_str).collect();
        [element_handlers(NAMES, &["step", "goto", "set"], &["run"]), element_handlers(&exported, &[], &[])].concat()
    }

    fn answers_all(&self) -> bool {
        self.kind == Kind::Proxy
    }

    fn read(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        match handler {
            _ if self.kind == Kind::Proxy && !NAMES.contains(&handler) => {
                self.script.set("0", handler);
                self.script.set("write", "false");
            }
            "run" => {}
            name if NAMES.contains(&name) => return self.script.function(name, text, ctx),
            name => return Ok(self.script.get(name).unwrap_or_default().to_owned()),
        }
        let halt = self.script.call(text, ctx);
        match halt {
            Halt::Error => Err(HandlerError::failed(format!("{}.{handler}: the script ended with an error", ctx.declared()))),
            halt => Ok(self.ended(halt, ctx)),
        }
    }

    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "set" => {
                let (name, value) = text::shift_word(text);
                self.script.set(name, value);
            }
            "goto" => {
                let halt = self.script.jump(text.trim(), ctx)?;
                self.ended(halt, ctx);
            }
            "step" => {
                let steps = if text.trim().is_empty() {
                    1
                } else {
                    text::integer(text)
                        .filter(|n| (0..=1000).contains(n))
                        .ok_or_else(|| HandlerError::invalid("expected a number of steps"))?
                };
                for _ in 0..steps {
                    let halt = self.script.step(ctx);
                    self.ended(halt, ctx);
                }
            }
            _ => {
                if self.kind == Kind::Proxy {
                    self.script.set("0", handler);
                    self.script.set("write", "true");
                }
                let halt = self.script.call(text, ctx);
                self.ended(halt, ctx);
            }
        }
        Ok(())
    }
}

impl Driver for Element {
    fn stopped(&mut self, ctx: &mut Ctx<'_>) {
        // One who waits for time hears of the end as well, and goes past the pause behind.
        let steps = if self.script.waits() { 2 } else { 1 };
        for _ in 0..steps {
            let halt = self.script.step(ctx);
            let blocked = halt == Halt::Blocked;
            self.ended(halt, ctx);
            if !blocked {
                return;
            }
        }
    }
}
