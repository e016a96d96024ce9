//! `netvm ctl`: asks a running configuration over its control socket.

pub(crate) mod conflicts;
mod drain;
mod p4;
mod replace;
mod tables;
mod threads;
mod why;

pub(crate) use why::line as packet;

use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::signals::Signals;
use netvm::control::{default_folder, protocol, sockets};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest file of values, in bytes.
const LARGEST: u64 = 1 << 29;
/// Writes of a file that are done with no packet between them, in bytes: as many as a request may
/// have.
const BATCH: usize = (1 << 24) - 4096;

/// Ask a running configuration, or change it
///
/// The configuration runs with netvm run --control. Its handlers are those that -h reads after a
/// run; what an element has, its manual says (netvm elements CLASS).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm ctl list
  netvm ctl read count.count rt.table
  netvm ctl write rt.add '10.9.0.0/16 10.0.0.2 1'
  netvm ctl load rt.add routes.txt
  netvm ctl watch in.count --interval 0.5
  netvm ctl why udp port 53
  netvm ctl replace --plan router.click
  netvm ctl move 'replica 1' 3
  netvm ctl replicas 4
  netvm ctl flow tuple
  netvm ctl table add routes h.ip.dst:10.1.0.0/16 'to(port:1)'
  netvm ctl table dump nat.flows
  netvm ctl table add users.table 'mac=02:00:00:00:00:01 -> port=3'
  netvm ctl p4 counter_read sent 1
  netvm ctl --bmv2 commands.txt
  netvm ctl stats --json | jq '.elements[] | .name, .packets'
  netvm ctl drain --within 5
  netvm ctl --socket /run/router.sock stop")]
pub(crate) struct Args {
    /// The control socket; if not said, that of the only configuration that runs
    #[arg(short, long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    socket: Option<PathBuf>,

    /// The element that is a P4 program, if there are several
    #[arg(long, value_name = "NAME", global = true)]
    program: Option<String>,

    /// Do what a script of BMv2's simple_switch_CLI says, with no packet between its lines: all of
    /// it, or nothing
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    bmv2: Option<PathBuf>,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the elements, or the handlers of one: r for those that are read, w for those that are
    /// written
    List {
        /// The element
        element: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what handlers say
    Read {
        /// ELEMENT.HANDLER, or 'ELEMENT.HANDLER TEXT' to ask about TEXT
        #[arg(required = true)]
        handlers: Vec<String>,
    },
    /// Write a handler
    Write {
        /// ELEMENT.HANDLER
        handler: String,
        /// What is written; words are joined by spaces
        #[arg(allow_hyphen_values = true)]
        text: Vec<String>,
    },
    /// Write each line of a file to a handler; no packet comes between them. Where a line is
    /// refused, nothing of up to half a megabyte of lines is written, if handlers of tables or
    /// values are
    Load {
        /// ELEMENT.HANDLER
        handler: String,
        /// The file, - for standard input; empty lines and those that begin with # are left out
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Print what handlers say again and again, until an interrupt
    Watch {
        /// ELEMENT.HANDLER
        #[arg(required = true)]
        handlers: Vec<String>,
        /// Seconds between two looks
        #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
        interval: f64,
    },
    /// Tell what became of the packets so far, by element
    Stats {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell what came of transactions (--state transaction), and which tables, keys and source
    /// lines conflicted
    Conflicts {
        /// The element; if not said, all that run as transactions
        element: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell where the last packets went that a filter takes, and why: of a run with --record
    Why {
        /// An expression of pcap-filter; all packets if there is none
        filter: Vec<String>,
        /// How many packets are shown, the last ones
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        packets: usize,
        /// What a run wrote when it crashed, instead of one that runs
        #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Run another version of the configuration: what is the same goes on with its packets, entries
    /// and devices, and where the new one is wrong the old one goes on
    Replace {
        /// The new configuration, or the name of an application
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        /// Values of its parameters; those that are not given stay
        #[arg(value_name = "NAME=VALUE")]
        parameters: Vec<String>,
        /// Only tell what would become of the elements
        #[arg(long)]
        plan: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List the threads of the run: core, how busy, packets, and epochs that wait for each
    Threads {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a thread run on one core only, from its next batch on, while packets flow
    Move {
        /// As netvm ctl threads calls it: sources, 'replica 1', 'in order', main
        thread: String,
        /// Its number, or any
        core: String,
    },
    /// Tell how many replicas get packets (--place rtc:N), or change that while packets flow,
    /// between two epochs
    Replicas {
        /// How many there are to be, or auto: as many as packets and load are worth it
        #[arg(value_name = "N|auto")]
        count: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Place the configuration in another way while packets flow (of a run with --place)
    ///
    /// Elements that run in order come to other stages and go on with their state; the number of
    /// replicas and cores follow. All that is on its way goes through before.
    Place {
        /// rtc:N, pipeline, pipeline:N, auto, or a file, as of netvm run --place
        #[arg(value_name = "PLACE")]
        place: String,
        /// Only tell what would become of the elements
        #[arg(long)]
        plan: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell by which function packets go to replicas (--place rtc:N), or change that while packets
    /// flow, between two epochs
    Flow {
        /// any, addresses (the two of the flow), header (the two of the packet's own IP header),
        /// source, destination, tuple (the connection)
        #[arg(value_name = "FUNCTION")]
        function: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List, print and change the tables of a P4 program, or of an element: ELEMENT.TABLE
    Table {
        #[command(subcommand)]
        table: p4::Table,
    },
    /// Run a command of a P4 program's control plane: registers, counters, meters, groups,
    /// sessions; docs/p4.md lists them
    P4 {
        /// The command
        #[arg(required = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// End the run when queues are empty: sources give no more packets, and what waits goes on
    Drain {
        /// Seconds after which the run ends although packets wait
        #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
        within: f64,
    },
    /// End the run: what has arrived still goes on
    Stop,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    if let Some(Command::Why { filter, packets, file, json }) = &args.command {
        why::tell(args.socket.as_ref(), &why::Asked { filter, packets: *packets, file: file.as_deref(), json: *json }, &mut out)?;
        return out.flush();
    }
    if args.command.is_none() && args.bmv2.is_none() {
        return Err(Failure::usage("give a command or --bmv2 FILE; --help tells which commands there are"));
    }
    let mut client = Client::connect(&socket_of(args.socket.as_ref())?)?;
    let element = args.program.as_deref();
    if let Some(file) = &args.bmv2 {
        p4::file(&mut client, element, file, &mut out)?;
    }
    let Some(command) = &args.command else { return out.flush() };
    match command {
        Command::List { element, json } => list(&mut client, element.as_deref(), *json, &mut out)?,
        Command::Read { handlers } => read(&mut client, handlers, &mut out)?,
        Command::Write { handler, text } => drop(client.ask(&json!({ "op": "write", "handler": handler, "text": text.join(" ") }))?),
        Command::Load { handler, file } => load(&mut client, handler, file)?,
        Command::Watch { handlers, interval } => return watch(&mut client, handlers, *interval),
        Command::Stats { json } => stats(&mut client, *json, &mut out)?,
        Command::Conflicts { element, json } => conflicts::tell(&mut client, element.as_deref(), *json, &mut out)?,
        Command::Why { .. } => {}
        Command::Replace { file, parameters, plan, json } => {
            replace::tell(&mut client, &replace::Asked { file, parameters, plan: *plan, json: *json }, &mut out)?;
        }
        Command::Threads { json } => threads::list(&mut client, *json, &mut out)?,
        Command::Move { thread, core } => threads::move_to(&mut client, thread, core, &mut out)?,
        Command::Replicas { count, json } => threads::replicas(&mut client, count.as_deref(), *json, &mut out)?,
        Command::Place { place, plan, json } => replace::place(&mut client, place, (*plan, *json), &mut out)?,
        Command::Flow { function, json } => threads::flow(&mut client, function.as_deref(), *json, &mut out)?,
        Command::Table { table } if element.is_none() && tables::table(&mut client, table, &mut out)? => {}
        Command::Table { table } => p4::table(&mut client, element, table, &mut out)?,
        Command::P4 { command } => p4::command(&mut client, element, &command.join(" "), &mut out)?,
        Command::Drain { within } => drain::run(&mut client, *within, &mut out)?,
        Command::Stop => drop(client.ask(&json!({ "op": "stop" }))?),
    }
    out.flush()
}

/// The socket that is named, or the only one there is.
pub(super) fn socket_of(named: Option<&PathBuf>) -> Outcome<PathBuf> {
    if let Some(path) = named {
        return Ok(path.clone());
    }
    let folder = default_folder();
    let all = sockets(&folder);
    match &all[..] {
        [only] => Ok(only.clone()),
        [] => Err(Failure::failed(format_args!(
            "no configuration runs with --control (looked in {}); name its socket with --socket",
            folder.display()
        ))),
        several => {
            let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::usage(format_args!("several configurations run; name one with --socket: {}", names.join(", "))))
        }
    }
}

/// What is said where a connection has been closed.
const ENDED: &str = "the run has ended";

/// A connection to a control socket.
pub(super) struct Client {
    from: BufReader<UnixStream>,
    to: UnixStream,
}

impl Client {
    pub(super) fn connect(path: &Path) -> Outcome<Self> {
        let told = |error: std::io::Error| Failure::failed(format_args!("{}: {error}", path.display()));
        let to = UnixStream::connect(path).map_err(told)?;
        let mut client = Self { from: BufReader::new(to.try_clone().map_err(told)?), to };
        let greeting = client.line()?;
        match greeting.get("protocol").and_then(Value::as_u64) {
            Some(version) if version == u64::from(protocol::VERSION) => Ok(client),
            Some(version) => {
                Err(Failure::failed(format_args!("{} speaks version {version}, and this program {}", path.display(), protocol::VERSION)))
            }
            None => Err(Failure::failed(format_args!("{} is no control socket of netvm", path.display()))),
        }
    }

    fn line(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        // One that hangs up behind a request that it has not read resets the connection.
        if matches!(self.from.read_line(&mut line), Ok(0) | Err(_)) {
            return Err(Failure::failed(ENDED));
        }
        serde_json::from_str(&line).map_err(|error| Failure::failed(format_args!("an answer that is not understood: {error}")))
    }

    /// Asks, and gives what is answered.
    pub(super) fn ask(&mut self, request: &Value) -> Outcome<Value> {
        self.answer(request)?.map_err(Failure::failed)
    }

    /// Asks, and gives what is answered, or why it cannot be.
    pub(super) fn answer(&mut self, request: &Value) -> Outcome<Result<Value, String>> {
        writeln!(self.to, "{request}").map_err(|_| Failure::failed(ENDED))?;
        let mut answer = self.line()?;
        Ok(match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer.get_mut("ok").map(Value::take).unwrap_or_default()),
        })
    }

    fn value(&mut self, handler: &str) -> Outcome<String> {
        let (name, text) = handler.trim().split_once(char::is_whitespace).unwrap_or((handler.trim(), ""));
        let value = self.ask(&json!({ "op": "read", "handler": name, "text": text.trim() }))?;
        Ok(value.as_str().unwrap_or_default().trim_end_matches('\n').to_owned())
    }
}

fn list(client: &mut Client, element: Option<&str>, json: bool, out: &mut Out) -> Outcome {
    let all = client.ask(&json!({ "op": "elements" }))?;
    let all: Vec<&Value> = all.as_array().into_iter().flatten().collect();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let wanted: Vec<&Value> = all.iter().copied().filter(|it| element.is_none_or(|name| it["name"] == name)).collect();
    if let (Some(name), true) = (element, wanted.is_empty()) {
        return Err(Failure::failed(format_args!("no element named '{name}'")));
    }
    if json {
        return out.json(&wanted);
    }
    for it in wanted {
        if element.is_none() {
            out.line(&format!("{} :: {}", text(it, "name"), text(it, "class")))?;
            continue;
        }
        for handler in it["handlers"].as_array().into_iter().flatten() {
            let mode = |name: &str, letter| if handler[name] == true { letter } else { "" };
            out.line(&format!("{}\t{}{}", text(handler, "name"), mode("read", "r"), mode("write", "w")))?;
        }
    }
    Ok(())
}

fn read(client: &mut Client, handlers: &[String], out: &mut Out) -> Outcome {
    for handler in handlers {
        let value = client.value(handler)?;
        match handlers.len() {
            1 => out.line(&value)?,
            _ => out.line(&format!("{handler}:\n{value}\n"))?,
        }
    }
    Ok(())
}

/// Writes lines, as many together as a request may have.
fn load(client: &mut Client, handler: &str, file: &Path) -> Outcome {
    let told = |error: std::io::Error| Failure::failed(format_args!("{}: {error}", file.display()));
    let mut text = String::new();
    match file == Path::new("-") {
        true => std::io::stdin().lock().take(LARGEST).read_to_string(&mut text).map_err(told)?,
        false => std::fs::File::open(file).map_err(told)?.take(LARGEST).read_to_string(&mut text).map_err(told)?,
    };
    if text.len() as u64 == LARGEST {
        return Err(Failure::failed(format_args!("{}: larger than {} MiB; nothing was written", file.display(), LARGEST >> 20)));
    }
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let (mut requests, mut numbers, mut size, mut written) = (Vec::new(), Vec::new(), 0, None);
    for (line, number) in lines {
        let request = json!({ "op": "write", "handler": handler, "text": line });
        size += request.to_string().len() + 1;
        if size > BATCH && !requests.is_empty() {
            let (requests, numbers) = (std::mem::take(&mut requests), std::mem::take(&mut numbers));
            send(client, file, requests, &numbers, written)?;
            (size, written) = (0, numbers.last().copied());
        }
        requests.push(request);
        numbers.push(number);
    }
    send(client, file, requests, &numbers, written)
}

/// All of them or none, where what is written can be taken back. `written`: the last line of a
/// request before, which stays.
fn send(client: &mut Client, file: &Path, requests: Vec<Value>, numbers: &[u32], written: Option<u32>) -> Outcome {
    let (answers, left) = match client.answer(&json!({ "op": "batch", "requests": requests, "atomic": true }))? {
        Ok(answers) => (answers, ""),
        Err(_) => (client.ask(&json!({ "op": "batch", "requests": requests }))?, "; lines before it were written"),
    };
    for (answer, number) in answers.as_array().into_iter().flatten().zip(numbers) {
        if let Some(error) = answer["error"].as_str() {
            let before = written.map_or(String::new(), |line| format!(" of the lines behind {line}, up to which all were written before"));
            return Err(Failure::failed(format_args!("{}:{number}: {error}{before}{left}", file.display())));
        }
    }
    Ok(())
}

fn watch(client: &mut Client, handlers: &[String], interval: f64) -> Outcome {
    let wait = Duration::try_from_secs_f64(interval).map_err(|_| Failure::usage("--interval takes seconds"))?;
    let signals = Signals::watch()?;
    while !signals.stop() {
        let values = handlers.iter().map(|handler| client.value(handler)).collect::<Outcome<Vec<_>>>()?;
        let mut out = Out::new();
        out.line(&values.join("\t"))?;
        out.flush()?;
        std::thread::sleep(wait);
    }
    Ok(())
}

fn stats(client: &mut Client, json: bool, out: &mut Out) -> Outcome {
    let stats = client.ask(&json!({ "op": "stats" }))?;
    if json {
        return out.json(&stats);
    }
    for element in stats["elements"].as_array().into_iter().flatten() {
        let name = element["name"].as_str().unwrap_or_default();
        let dropped: u64 = element["dropped"].as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
        out.line(&format!("{name} :: {}\t{} in\t{dropped} dropped", element["class"].as_str().unwrap_or_default(), element["packets"]))?;
    }
    stats["threads"].as_array().into_iter().flatten().filter_map(thread_line).try_for_each(|line| out.line(&line))?;
    out.line(&format!("arrived\t{}", stats["arrived"]))
}

/// A thread that packets come to, and what waits for it.
fn thread_line(thread: &Value) -> Option<String> {
    let (name, packets) = (thread["name"].as_str()?, thread["packets"].as_u64()?);
    let cost = thread["ns_per_packet"].as_f64().map_or_else(String::new, |cost| format!("\t{cost:.0} ns/packet"));
    let waits = thread["waiting"].as_u64().map_or_else(String::new, |waiting| format!("\t{waiting} of {} epochs wait", thread["room"]));
    Some(format!("thread {name}\t{packets} packets{cost}{waits}"))
}
