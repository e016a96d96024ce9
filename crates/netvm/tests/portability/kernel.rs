//! The column of the kernel: programs that `BPF_PROG_TEST_RUN` runs on one packet after the other.

use super::apps::{self, Inputs};
use super::columns::Cell;
use super::corpus::{Case, Subject};
use super::play::{Divided, by_device, loaded_divided, made, permitted, play};
use super::support::time_of;
use compiler::backends::ebpf::{self, Action, World};
use netvm::Session;
use netvm::application::Application;
use netvm::engines;
use netvm::io::bpf;
use netvm::netil::Verified;
use netvm::netil::exec::{Disposition, ExchangeBuffer};
use netvm::netil::module::{HandlerKind, PortKind, Table};
use netvm::netil::tables::is_live;
use netvm::targets::load_xdp;
use std::collections::BTreeMap;
use std::sync::Arc;

const NOT_PERMITTED: &str = "the system call bpf was not permitted where this was written";

/// The kernel's numbers of the actions by which a program's first ports are told apart.
const PORTS: [(Action, u32); 3] = [(Action::Pass, 2), (Action::Transmit, 3), (Action::Redirect(1), 4)];
const DROP: u32 = 1;
const ABORTED: u32 = 0;

/// Documented in docs/targets.md.
const NO_ROOM: &str = "a packet is moved by more than its page has room for, pulled by more than 511 bytes, or becomes shorter than 14";

/// Whether a program moves ends of packets.
fn made_longer(program: &Verified) -> bool {
    let func = compiler::translate::translate(program, HandlerKind::Push).expect("MIR").expect("a push handler");
    func.changes_geometry()
}

/// Packets as long as the kernel tries programs on.
fn tested(packet: &[u8]) -> bool {
    bpf::TESTED.contains(&packet.len())
}

pub fn program(name: &str, program: &Arc<Verified>, packets: &[Vec<u8>]) -> Cell {
    let made = compiled(program)?;
    if !permitted() {
        return Err(NOT_PERMITTED.to_owned());
    }
    let loaded = load_xdp(&made).map_err(|error| not_taken(&error))?;
    let mut session = Session::start(Arc::clone(program), &engines::ALL[0], netvm::Settings::default()).map_err(|why| why.to_string())?;
    let mut latest = 0;
    for (n, packet) in packets.iter().filter(|packet| tested(packet)).enumerate() {
        let mut burst = [ExchangeBuffer::borrowed(packet)];
        // The kernel's clock never goes back.
        let now = time_of(n).max(latest);
        latest = now;
        (burst[0].time_ns, burst[0].port) = (now, outputs(program).0);
        let ended = session.push(&mut burst).dispositions[0];
        let at = made.maps.iter().position(|map| map.name == ebpf::STATE);
        if let Some(at) = at {
            let mut state = loaded.map(at, made.maps[at].data.len()).expect("the state");
            state[ebpf::CLOCK_AT as usize..][..8].copy_from_slice(&now.to_le_bytes());
            loaded.update(at, &[0; 4], &state).expect("the state");
        }
        let tried = loaded.test(packet, 1).expect("a run");
        match ended {
            Disposition::Port(_) if tried.action == ABORTED && made_longer(program) => return Err(NO_ROOM.to_owned()),
            Disposition::Port(port) => {
                let (_, number) = PORTS[outputs(program).1.iter().position(|p| *p == port).unwrap_or(0).min(2)];
                assert_eq!(tried.action, number, "{name} on xdp: packet {n}");
                assert_eq!(tried.packet, burst[0].bytes(), "{name} on xdp: packet {n}");
            }
            Disposition::Drop(_) => assert_eq!(tried.action, DROP, "{name} on xdp: packet {n}"),
            Disposition::Trap(trap) => assert_eq!(tried.action, ABORTED, "{name} on xdp: packet {n}: {trap:?}"),
        }
    }
    if !program.is_filter() {
        lasts(name, &made, &loaded, &session, latest);
    }
    Ok(same(&made))
}

/// What lasts is what the interpreter has: data memory, and entries of tables that have a map.
fn lasts(name: &str, made: &ebpf::Program, loaded: &bpf::Program, session: &Session, now: u64) {
    let (state, module) = (session.state(), session.program().module());
    if let Some(at) = made.maps.iter().position(|map| map.name == ebpf::STATE) {
        let kept = loaded.map(at, made.maps[at].data.len()).expect("the state");
        assert_eq!(&kept[ebpf::MEMORY_AT as usize..][..state.data.len()], &state.data[..], "{name} on xdp: data memory");
    }
    for (table, declared) in state.tables.iter().zip(&module.tables) {
        let short: String = declared.name.chars().take(15).collect();
        let Some(at) = made.maps.iter().position(|map| map.name == short) else { continue };
        let wanted: BTreeMap<_, _> = table.entries(now).into_iter().map(|e| (ebpf::key_of(declared, &e), e.value.to_vec())).collect();
        assert_eq!(entries(loaded, at, declared, now), wanted, "{name} on xdp: table {}", declared.name);
    }
}

/// The live entries of a table's map, without times of last use.
fn entries(loaded: &bpf::Program, at: usize, declared: &Table, now: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let first = if declared.timeout_ns == 0 { 0 } else { 8 };
    let used = |value: &[u8]| value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let live = |value: &[u8]| first == 0 || is_live(declared.timeout_ns, used(value), now);
    let all = loaded.entries(at).expect("entries").into_iter().filter(|(_, value)| live(value));
    all.map(|(key, value)| (key, value[first..first + declared.value_bytes as usize].to_vec())).collect()
}

/// What a cell says of a program: its instructions.
fn same(made: &ebpf::Program) -> String {
    format!("same, {} instructions", made.insts.len())
}

/// Why the kernel does not take a program, without its verifier's account.
fn not_taken(error: &std::io::Error) -> String {
    let text = error.to_string();
    format!("the kernel's verifier does not take it: {}", text.split(';').next().unwrap_or(&text))
}

fn compiled(program: &Arc<Verified>) -> Result<ebpf::Program, String> {
    let ports = outputs(program).1.into_iter().enumerate().map(|(n, port)| (port, PORTS[n.min(2)].0)).collect();
    let options = ebpf::Options { ports, send: Action::Pass, drop: Action::Drop, trap: Action::Aborted, world: World::Map };
    ebpf::compile(program, &options).map_err(|why| match why.site {
        Some(site) => format!("{}: {}", program.place(HandlerKind::Push, site), why.reason),
        None => why.reason,
    })
}

/// The first input, and the outputs.
fn outputs(program: &Verified) -> (u32, Vec<u32>) {
    let ports = program.module().all_ports();
    let input = ports.iter().find(|(_, port)| port.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
    (input, ports.iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| *id).collect())
}

pub fn configuration(case: &Case, application: &Application) -> Cell {
    let Subject::Configuration(config, parameters, inputs) = &case.subject else { unreachable!("a configuration") };
    let elements = &application.flat().elements;
    let mut devices: Vec<&str> = Vec::new();
    for element in elements.iter().filter(|e| matches!(e.class.as_str(), "FromDevice" | "ToDevice")) {
        let device = element.arguments[0].trim();
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    let made = made(application, &devices);
    if !permitted() {
        return Err(NOT_PERMITTED.to_owned());
    }
    let fit = |all: &Vec<(u64, Vec<u8>)>| all.iter().filter(|(_, packet)| tested(packet)).cloned().collect();
    let inputs: Inputs = inputs.iter().map(|(device, all)| (device.clone(), fit(all))).collect();
    let wanted = apps::played_by(&engines::ALL[0], config, parameters, &inputs, &format!("xdp-{}", case.name.len()));
    let is = |mut outputs: BTreeMap<String, Vec<Vec<u8>>>, drops| {
        outputs.retain(|_, packets| !packets.is_empty());
        apps::Played { outputs, drops, ..apps::Played::default() }.must_be(&wanted, &format!("{} on xdp", case.name));
    };
    // What the verifier does not take as a whole is divided, as `netvm run` does.
    let Some(loaded) = made.ok().and_then(|made| made.load().ok()) else {
        let loaded = loaded_divided(application, &devices)?;
        let said = same(loaded.made().program());
        let mut divided = Divided::new(application, loaded);
        let played = divided.play(&inputs, &devices);
        is(played.outputs, played.drops);
        let all: usize = inputs.values().map(Vec::len).sum();
        return Ok(format!("{said}, {} of {all} packets by the process too", all as u64 - divided.alone));
    };
    let played = play(&inputs, &loaded, &devices);
    is(by_device(application, &played), played.drops);
    Ok(same(loaded.made().program()))
}
