//! Coprocessors of the embedding program in elements that run fused: what they see, what they are
//! not shown, what they print.

use super::graphs::{Kept, engines as unkept};
use netvm::application::{Application, Lent, Reading, Settings};
use netvm::coprocessors::{CoproError, Coprocessor, Descriptor, Registers, Views, register};
use netvm::engines;
use netvm::io::LinkType;
use std::path::PathBuf;
use std::sync::Once;

/// Sums up what it sees, and writes that to people if it is to.
#[derive(Default)]
struct Look {
    prints: bool,
    written: Vec<u8>,
}

impl Coprocessor for Look {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    /// Register 0 becomes the packet's length, register 1 the sum of its annotations, 1,000 each
    /// where there is no view.
    fn invoke(&mut self, _: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        registers[0] = views.packet.map_or(1000, |packet| packet.len() as u32);
        registers[1] = views.info.map_or(1000, |info| info.iter().map(|byte| u32::from(*byte)).sum());
        if self.prints {
            self.written.extend(format!("{} {}\n", registers[0], registers[1]).bytes());
        }
        Ok(())
    }

    fn drain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.written)
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// Registers `look`, and `tell`, which prints.
fn registered() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let look = Descriptor { name: "look", registers: 2, operations: &["look"], cost: 1, prints: false, doc: "" };
        register(look, || Box::new(Look::default())).unwrap();
        register(Descriptor { name: "tell", prints: true, ..look }, || Box::new(Look { prints: true, ..Look::default() })).unwrap();
    });
}

/// A class that paints packets by their first byte, lets a unit look at them, and writes what it
/// saw behind that byte.
fn class(name: &str, unit: &str, show: &str) -> String {
    format!(
        "#include <netvm.h>
#include \"click.h\"
ELEMENT({name}, \"1/1\", \"h/h\");
void push(int port)
{{
    info(paint) = (u8) (info(paint) + *header(u8, 0));
    {show}
    coprocessor_run(\"{unit}\", \"look\");
    *header(u8, 1) = (u8) (coprocessor_get(\"{unit}\", 0) / 4);
    *header(u8, 2) = (u8) coprocessor_get(\"{unit}\", 1);
    emit(0);
}}
"
    )
}

/// A folder with classes that show the packet, that do not, and that print.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-fused-copro-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (class_name, unit, show) in
        [("Look", "look", "coprocessor_show(\"look\");"), ("Blind", "look", ""), ("Tell", "tell", "coprocessor_show(\"tell\");")]
    {
        std::fs::write(folder.join(format!("{class_name}.c")), class(class_name, unit, show)).unwrap();
    }
    folder
}

/// What leaves of packets that begin with 1, 2 and so on, and what is printed.
fn sent(application: &Application, engine: &str) -> (Vec<[u8; 3]>, String) {
    let kept = Kept::default();
    let mut running = application
        .embed(engines::find(engine).unwrap(), unkept(), Settings::default(), Box::new(kept.clone()))
        .unwrap_or_else(|e| panic!("{e}"));
    for first in 1..=5 {
        let bytes = vec![first; 60 + usize::from(first)];
        assert!(running.push("in", Lent { bytes: &bytes, wire_len: 0, time_ns: 1, link: LinkType::EN10MB }).unwrap());
    }
    running.run_until(0);
    let mut all = Vec::new();
    let keep = |packet: Lent<'_>| {
        all.push(packet.bytes[..3].try_into().unwrap());
        true
    };
    running.take("out", keep).unwrap();
    (all, String::from_utf8(kept.take()).unwrap())
}

/// What leaves and what is printed, on every engine, and how many elements run alone that are not
/// devices.
fn runs(name: &str, text: &str) -> (Vec<[u8; 3]>, String, usize) {
    registered();
    let folder = folder(name);
    let reading = Reading { elements: vec![folder.clone()], ..Reading::default() };
    let application = Application::read("test", text, &reading).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let (packets, printed) = sent(&application, "interp");
    let others = if aot::build::Compiler::system().is_ok() { &["jit", "aot"][..] } else { &["jit"] };
    others.iter().for_each(|engine| assert_eq!(sent(&application, engine), (packets.clone(), printed.clone()), "{engine}"));
    std::fs::remove_dir_all(folder).unwrap();
    let alone = |way: &&netvm::application::ElementAccount| way.alone.is_some() && !way.element.contains("Device");
    (packets, printed, application.explain(None).ways.iter().filter(alone).count())
}

#[test]
fn a_unit_sees_the_packet_and_its_annotations() {
    let (packets, _, alone) = runs("sees", "FromDevice(in) -> Paint(10) -> Look -> ToDevice(out);");
    let wanted: Vec<[u8; 3]> = (1..=5).map(|first| [first, (60 + first) / 4, 10 + first]).collect();
    assert_eq!((packets, alone), (wanted, 0));
}

#[test]
fn a_unit_sees_nothing_of_what_another_element_has_shown() {
    let (packets, _, alone) = runs("blind", "FromDevice(in) -> Look -> Blind -> ToDevice(out);");
    let wanted: Vec<[u8; 3]> = (1..=5).map(|first| [first, 250, (1000_u32 % 256) as u8]).collect();
    assert_eq!((packets, alone), (wanted, 0));
}

#[test]
fn elements_whose_units_print_run_alone() {
    let (packets, printed, alone) = runs("tells", "FromDevice(in) -> Paint(10) -> Tell -> Look -> ToDevice(out);");
    let wanted: Vec<[u8; 3]> = (1..=5).map(|first| [first, (60 + first) / 4, 10 + 2 * first]).collect();
    assert_eq!((packets, alone), (wanted, 1));
    assert_eq!(printed, "61 11\n62 12\n63 13\n64 14\n65 15\n");
}
