//! A coprocessor of the embedding program: used by a NetIL program alone, on every engine, and by
//! an element of a configuration.

#[path = "coprocessors/fused.rs"]
mod fused;
mod graphs;

use netvm::application::{Application, Lent, Reading, Settings, Silent};
use netvm::coprocessors::{CoproError, Coprocessor, Descriptor, RegisterError, Registers, Views, register};
use netvm::io::LinkType;
use netvm::netil::exec::{Disposition, ExchangeBuffer};
use netvm::netil::fault;
use netvm::{Session, engines, load};
use std::collections::BTreeMap;
use std::sync::{Arc, Once};

/// Lets a number pass so often as initialised data says; with the packet, counts its bytes.
#[derive(Default)]
struct Quota {
    most: u32,
    seen: BTreeMap<u32, u32>,
}

impl Coprocessor for Quota {
    fn init(&mut self, data: &[u8]) -> u32 {
        let Some(most) = data.first() else { return 1 };
        self.most = u32::from(*most);
        0
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        match operation {
            0 => {
                let seen = self.seen.entry(registers[0]).or_default();
                *seen += 1;
                registers[1] = u32::from(*seen <= self.most);
            }
            _ => registers[1] = views.shown_packet()?.len() as u32,
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        self.seen.iter().fold(u64::from(self.most), |sum, (key, seen)| sum.wrapping_mul(31) ^ u64::from(*key) << 8 ^ u64::from(*seen))
    }
}

const DESCRIPTOR: Descriptor = Descriptor {
    name: "quota",
    registers: 2,
    operations: &["ask", "length"],
    cost: 30,
    prints: false,
    doc: "ask: register 1 becomes 1 if register 0 was asked for no more often than the first byte of initialised data says, else 0. length: register 1 becomes the packet's length.",
};

fn registered() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(DESCRIPTOR, || Box::new(Quota::default())).expect("it is registered"));
}

/// Packets pass whose first byte has not come too often.
const PROGRAM: &str = "segment .metadata
  .netpe_name quota
  .use_coprocessor quota
ends
segment .ports
  push_input in
  push_output out
ends
segment .data
  most: db 2
ends
segment .init
  .maxstacksize 2
  copro.init quota, most
  pop
  ret
ends
segment .push
  .maxstacksize 2
  pop
  push 0
  upload.8
  copro.out quota, 0
  copro.invoke quota, ask
  copro.in quota, 1
  j.eq no
  pkt.send out
no:
  ret 0
ends
";

/// Whether a program lets a packet pass.
fn passes(session: &mut Session, bytes: &[u8]) -> bool {
    session.push(&mut [ExchangeBuffer::borrowed(bytes)]).dispositions == [Disposition::Port(1)]
}

fn file(name: &str) -> std::path::PathBuf {
    let file = std::env::temp_dir().join(format!("netvm-quota-{}-{name}.netil", std::process::id()));
    std::fs::write(&file, PROGRAM).unwrap();
    file
}

#[test]
fn programs_use_it_on_every_engine() {
    registered();
    let file = file("session");
    let program = Arc::new(load::program(&file).unwrap_or_else(|e| panic!("{e}")));
    let text = netvm::netil::disasm::disassemble(program.module());
    assert!(text.contains("quota, ask"), "operations have their names: {text}");
    let mut all = Vec::new();
    for engine in engines::ALL {
        let Ok(mut session) = Session::start(Arc::clone(&program), engine, Default::default()) else { continue };
        let passed: Vec<bool> = [1_u8, 2, 1, 1, 2, 2, 3].iter().map(|first| passes(&mut session, &[*first; 20])).collect();
        all.push((engine.name, passed));
    }
    assert!(all.len() >= 2);
    for (engine, passed) in all {
        assert_eq!(passed, [true, true, true, false, true, false, true], "{engine}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn elements_use_it_each_with_a_unit_of_its_own() {
    registered();
    let file = file("element");
    let text = format!("FromDevice(in) -> NetIL({}) -> ToDevice(a); FromDevice(other) -> NetIL({0}) -> ToDevice(b);", file.display());
    let application = Application::read("test", &text, &Reading::default()).unwrap_or_else(|e| panic!("{e}"));
    for engine in ["interp", "jit"] {
        let engine = engines::find(engine).unwrap();
        let mut running = application
            .embed(engine, engines::Settings::default(), Settings::default(), Box::new(Silent))
            .unwrap_or_else(|e| panic!("{e}"));
        for device in ["in", "other"] {
            for first in [7_u8, 7, 7, 8] {
                let bytes = &[first; 60];
                assert!(running.push(device, Lent { bytes, wire_len: 60, time_ns: 1, link: LinkType::EN10MB }).unwrap());
            }
        }
        running.run_until(0);
        for device in ["a", "b"] {
            let mut firsts = Vec::new();
            running
                .take(device, |packet| {
                    firsts.push(packet.bytes[0]);
                    true
                })
                .unwrap();
            assert_eq!(firsts, [7, 7, 8], "{}", engine.name);
        }
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_name_is_taken_once() {
    registered();
    let make = || -> Box<dyn Coprocessor> { Box::new(Quota::default()) };
    assert_eq!(register(DESCRIPTOR, make), Err(RegisterError::Taken));
    assert_eq!(register(Descriptor { name: "lookup", ..DESCRIPTOR }, make), Err(RegisterError::Taken));
    assert_eq!(register(Descriptor { name: "two words", ..DESCRIPTOR }, make), Err(RegisterError::BadName));
}

/// A class in C that asks the coprocessor about each packet's first byte, and about its length.
const CLASS: &str = "#include <netvm.h>
#define UNIT \"quota\"
ELEMENT(Quota, \"1/2\", \"h/h\");
static u32 loaded, longest;
void init(void)
{
    loaded = coprocessor_load(UNIT, \"\\2\");
}
void push(int port)
{
    coprocessor_show(UNIT);
    coprocessor_run(UNIT, \"length\");
    if (coprocessor_get(UNIT, 1) > longest)
        longest = coprocessor_get(UNIT, 1);
    coprocessor_put(UNIT, 0, *header(u8, 0));
    coprocessor_run(UNIT, \"ask\");
    if (coprocessor_get(UNIT, 1))
        emit(0);
    emit(1);
}
READ(loaded, u32, loaded);
READ(longest, u32, longest);
";

/// A folder with the class, changed so.
fn folder(name: &str, change: [&str; 2]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-quota-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    assert!(CLASS.contains(change[0]));
    std::fs::write(folder.join("Quota.c"), CLASS.replace(change[0], change[1])).unwrap();
    folder
}

const CONFIGURATION: &str = "FromDevice(in) -> q :: Quota -> ToDevice(a); q[1] -> ToDevice(b);";

#[test]
fn elements_in_c_use_it_by_its_name() {
    registered();
    let folder = folder("c", ["", ""]);
    let reading = Reading { elements: vec![folder.clone()], ..Reading::default() };
    let application = Application::read("test", CONFIGURATION, &reading).unwrap_or_else(|e| panic!("{}", e.render(false)));
    for engine in engines::ALL {
        let mut running = application
            .embed(engine, engines::Settings::default(), Settings::default(), Box::new(Silent))
            .unwrap_or_else(|e| panic!("{e}"));
        for (n, first) in [1_u8, 2, 1, 1, 2, 2, 3].into_iter().enumerate() {
            let bytes = vec![first; 60 + n];
            assert!(running.push("in", Lent { bytes: &bytes, wire_len: 60, time_ns: 1, link: LinkType::EN10MB }).unwrap());
        }
        running.run_until(0);
        let firsts = ["a", "b"].map(|device| {
            let mut firsts = Vec::new();
            let keep = |packet: Lent<'_>| {
                firsts.push(packet.bytes[0]);
                true
            };
            running.take(device, keep).unwrap();
            firsts
        });
        assert_eq!(firsts, [vec![1, 2, 1, 2, 3], vec![1, 2]], "{}", engine.name);
        let read = ["q.loaded", "q.longest"].map(|handler| running.graph().read(handler, "", None).unwrap());
        assert_eq!(read, ["0", "66"], "{}", engine.name);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_a_class_in_c_asks_wrongly_is_told_at_its_place() {
    registered();
    for (n, (change, wanted)) in [
        (["#define UNIT \"quota\"", "#define UNIT \"quote\""], "no coprocessor is called `quote`"),
        (["#define UNIT \"quota\"", "#define UNIT \"regexp\""], "the coprocessor `regexp` is not used by its name"),
        (["\"ask\"", "\"task\""], "`quota` has no operation `task`"),
        (["coprocessor_put(UNIT, 0,", "coprocessor_put(UNIT, 2,"], "a register of `quota` is a constant from 0 to 1"),
        (["coprocessor_put(UNIT, 0,", "coprocessor_put(UNIT, longest,"], "a register of `quota` is a constant from 0 to 1"),
        (["    coprocessor_show(UNIT);", "    loaded = coprocessor_load(UNIT, \"x\");"], "`coprocessor_load` is for init()"),
        (["void init(void)\n{", "void init(void)\n{\n    coprocessor_show(UNIT);"], "`coprocessor_show` needs a packet"),
        (["coprocessor_load(UNIT, ", "coprocessor_load(loaded, "], "`coprocessor_load` wants a string in quotes here"),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = folder(&format!("wrong{n}"), change);
        let reading = Reading { elements: vec![folder.clone()], ..Reading::default() };
        let told = Application::read("test", CONFIGURATION, &reading).map(drop).unwrap_err().render(false);
        assert!(told.contains(wanted) && told.contains("Quota.c"), "{told}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Panics when it is asked for seven.
struct Fails;

impl Coprocessor for Fails {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn invoke(&mut self, _: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        if registers[0] == 7 {
            std::panic::resume_unwind(Box::new("asked for seven"));
        }
        registers[1] = 1;
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// What a panic says that goes through compiled code, if it does.
fn panic_of(work: impl FnOnce()) -> Option<String> {
    fault::caught(work).err().map(|panic| fault::said(&*panic))
}

#[test]
fn a_panic_comes_to_the_caller_with_the_packet_on_every_engine() {
    register(Descriptor { name: "fails", ..DESCRIPTOR }, || Box::new(Fails)).unwrap();
    let text = PROGRAM.replace("quota", "fails");
    let program = Arc::new(load::verify(load::module_from(text.as_bytes(), "fails").unwrap(), "fails").unwrap());
    let file = std::env::temp_dir().join(format!("netvm-fails-{}.netil", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let fused = format!("FromDevice(in) -> Paint(1) -> NetIL({}) -> Paint(2) -> ToDevice(a);", file.display());
    let application = Application::read("test", &fused, &Reading::default()).unwrap_or_else(|e| panic!("{e}"));
    for engine in engines::ALL {
        if let Ok(mut session) = Session::start(Arc::clone(&program), engine, Default::default()) {
            assert!(passes(&mut session, &[1; 20]), "{}", engine.name);
            assert_eq!(panic_of(|| _ = passes(&mut session, &[7; 20])).as_deref(), Some("asked for seven"), "{}", engine.name);
        }
        let mut running = application
            .embed(engine, engines::Settings::default(), Settings::default(), Box::new(Silent))
            .unwrap_or_else(|e| panic!("{e}"));
        for first in [1, 2, 7, 3] {
            let bytes = &[first; 60];
            assert!(running.push("in", Lent { bytes, wire_len: 60, time_ns: u64::from(first), link: LinkType::EN10MB }).unwrap());
        }
        assert_eq!(panic_of(|| running.run_until(0)).as_deref(), Some("asked for seven"), "{}", engine.name);
        let at_hand = fault::take().unwrap_or_else(|| panic!("{}: no packet was at hand", engine.name));
        assert_eq!((at_hand.bytes, at_hand.time_ns, at_hand.wire_len), (vec![7; 60], 7, 60), "{}", engine.name);
    }
    std::fs::remove_file(file).unwrap();
}
