//! The columns of machines of cores and threads, which are models: the interpreter, watched, runs a
//! program, and the model runs what it did for each packet, on all threads. Packets and memory must
//! be those of the interpreter that is not watched, and the model must have issued every
//! instruction and access of every packet once, and gone through every critical section. A cell
//! tells the machine's cycles from a packet's arrival to its end, and those for a packet where
//! there is always a next one.

use super::apps::{self, Played};
use super::columns::{Cell, folder, same};
use super::corpus::{Case, Subject};
use super::support::lines;
use machine::layout::Layout;
use machine::steps::{self, Step};
use machine::{Machine, Options, Recorder, Scheme, Trace, description, simulate};
use netvm::netil::module::HandlerKind;
use netvm::netil::{Engine, Verified};
use netvm::scripts::scenarios::run;
use netvm::{Session, Settings};
use std::sync::Arc;

/// Cycles between packets that do not meet: longer than a packet's budget lasts.
const APART: f64 = 1e8;
const NO_ROOM: &str = "a table or variable that fits into no memory of its scope";

/// A machine that is built in.
pub fn built_in(name: &str) -> Machine {
    description::named(name).unwrap_or_else(|| panic!("{name} is a machine of cores and threads"))
}

pub fn program(case: &Case, machine: &Machine, program: &Arc<Verified>, packets: &[Vec<u8>], reference: &str) -> Cell {
    if program.module().handler(HandlerKind::Push).is_none() {
        return Err("a program without a push handler: packets come by themselves".to_owned());
    }
    let recorder = Recorder::default();
    let watched = Box::new(recorder.interpreter(&case.name, Arc::clone(program)));
    let mut session = Session::on(watched, Settings::default()).map_err(|why| why.to_string())?;
    let got = lines(&mut session, program, packets, |packet| recorder.arrives(packet));
    same(&machine.name, case, &got, reference)?;
    taken(case, machine, &recorder.take())
}

pub fn configuration(case: &Case, machine: &Machine, wanted: &Played) -> Cell {
    let Subject::Configuration(config, parameters, inputs) = &case.subject else { unreachable!("a configuration") };
    let (names, data) = apps::read(config, parameters).programs();
    let (recorder, next) = (Recorder::default(), std::cell::Cell::new(0));
    let make = |program: Arc<Verified>| -> Box<dyn Engine> {
        let name = &names[next.replace(next.get() + 1)];
        Box::new(recorder.interpreter(name, program))
    };
    let arrivals = recorder.clone();
    let got = apps::played_with(config, parameters, inputs, &folder(case, &machine.name), |job, folder| {
        run::run_watched(job, &make, Box::new(move |packet| arrivals.arrives(packet)), folder).map_err(|error| error.to_string())
    });
    got.must_be(wanted, &format!("{} on {}", case.name, machine.name));
    assert_eq!(got.kept, wanted.kept, "{} on {}: memory and tables", case.name, machine.name);
    taken(case, machine, &Trace { data, ..recorder.take() })
}

/// What the model takes for what the interpreter did.
fn taken(case: &Case, machine: &Machine, trace: &Trace) -> Cell {
    let layout = Layout::of(trace, machine).map_err(|_| NO_ROOM.to_owned())?;
    let mut work = steps::placed(trace, machine, &layout);
    if trace.left_out > 0 {
        // The last one is incomplete.
        work.pop();
    }
    let packets = work.len() as u64;
    assert!(packets > 0, "{} on {}: no packet", case.name, machine.name);
    let run = |interval| {
        let options = Options { scheme: Scheme::Locks, packets, first: 0, interval, until_drop: false, until_repeat: false };
        simulate(machine, &work, &options)
    };
    let (alone, full) = (run(Some(APART)), run(None));
    let (mut instructions, mut sections) = (0, 0);
    for step in work.iter().flat_map(|work| &work.steps) {
        match step {
            Step::Compute(count) => instructions += u64::from(*count),
            Step::Access(_) => instructions += 1,
            Step::Enter(_) => sections += 1,
            Step::Leave(_) => {}
        }
    }
    for report in [&alone, &full] {
        let done = (report.packets, report.dropped, report.instructions, report.sections.count);
        assert_eq!(done, (packets, 0, instructions, sections), "{} on {}", case.name, machine.name);
    }
    let (size, limit) = (trace.elements.iter().map(|e| steps::size(&e.program, machine)).sum::<u64>(), machine.processor.control_store);
    let most = if trace.left_out > 0 { format!(" of the first {packets} packets") } else { String::new() };
    let code = if size > limit.into() { format!("; {size} instructions of code, a core holds {limit}") } else { String::new() };
    Ok(format!("same, {:.0} cycles alone, {} at full load{most}{code}", alone.latency, full.cycles / packets))
}
