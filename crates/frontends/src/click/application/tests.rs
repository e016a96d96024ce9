//! Configurations with the library's elements, and what is told of wrong ones.

use super::*;
use netil::module::PortKind;
use std::path::{Path, PathBuf};

/// The elements of this repository, and some that the runtime has.
struct Library {
    files: BTreeMap<&'static str, &'static str>,
}

fn elements() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../elements")
}

impl Classes for Library {
    fn builtin(&self, class: &str) -> Option<PortSpec<'static>> {
        let (ports, processing) = match class {
            "InfiniteSource" => ("0/1", "a/a"),
            "Queue" => ("1/1", "h/l"),
            "Unqueue" => ("1/1", "l/h"),
            _ => return None,
        };
        Some(PortSpec { ports, processing, flow: "" })
    }

    fn source(&self, class: &str) -> Option<(String, String)> {
        let name = format!("{class}.c");
        let own = self.files.get(class).map(|text| (*text).to_owned());
        Some((name.clone(), own.or_else(|| std::fs::read_to_string(elements().join(name)).ok())?))
    }

    fn include(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(elements().join("include").join(name)).ok()
    }

    fn names(&self) -> Vec<String> {
        ["Discard", "InfiniteSource", "Paint", "Queue", "Unqueue"].map(str::to_owned).to_vec()
    }
}

fn library() -> Library {
    Library { files: BTreeMap::new() }
}

fn made(text: &str) -> (Application, Facts) {
    read(SourceFile { name: "t.click", text }, &BTreeMap::new(), &library()).unwrap_or_else(|faults| panic!("{}", faults.render(false)))
}

fn faults(text: &str) -> String {
    read(SourceFile { name: "t.click", text }, &BTreeMap::new(), &library()).unwrap_err().render(false)
}

fn module<'a>(application: &'a Application, name: &str) -> &'a Module {
    let instance = application.instances.iter().find(|instance| instance.name == name).unwrap();
    instance.program().unwrap_or_else(|| panic!("{name} is built in")).module()
}

#[test]
fn elements_become_programs_and_wires() {
    let (application, facts) = made(
        "AddressInfo(x 1.2.3.4); s :: InfiniteSource -> p :: Paint(3) -> t :: Tee -> q :: Queue -> n :: Null -> Unqueue -> Discard; t [1] -> p;",
    );
    let names: Vec<&str> = application.instances.iter().map(|instance| instance.name.as_str()).collect();
    assert_eq!(names[..5], ["s", "p", "t", "q", "n"]);
    assert!(!application.instances.iter().any(|instance| instance.class == "AddressInfo"));
    assert_eq!(facts.places.len(), names.len());
    application.check().unwrap();
    let wires: Vec<String> = application
        .wires
        .iter()
        .map(|w| format!("{}.{}>{}.{}{}", w.from.instance, w.from.port, w.to.instance, w.to.port, if w.recirculates { "!" } else { "" }))
        .collect();
    assert_eq!(wires, ["0.0>1.0", "1.0>2.0", "2.0>3.0", "2.1>1.0!", "3.0>4.0", "4.0>5.0", "5.0>6.0"]);
    let kinds = |name| (0..).map_while(|id| module(&application, name).port_kind(id)).collect::<Vec<_>>();
    assert_eq!(kinds("p"), [PortKind::PushInput, PortKind::PushOutput]);
    assert_eq!(kinds("n"), [PortKind::PullInput, PortKind::PullOutput]);
    assert!(application.info.iter().any(|field| field.name == "paint"));
    assert!(application.instances.iter().filter_map(|i| i.program()).all(|p| p.module().info_size == application.info_size));
}

#[test]
fn elements_that_are_alike_have_one_program() {
    let (application, _) = made("Idle -> a :: Paint(3) -> b :: Paint(3) -> c :: Paint(4) -> Discard");
    let of = |name: &str| application.instances.iter().find(|instance| instance.name == name).and_then(app::Instance::program).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(of);
    assert!(Arc::ptr_eq(a, b) && !Arc::ptr_eq(a, c));
    let says = |program: &Verified| (program.module().push.clone(), program.module().init.clone(), program.module().data.clone());
    assert_ne!(says(a), says(c));
}

#[test]
fn routes_and_patterns_reach_their_programs() {
    let (application, _) = made(
        "AddressInfo(here 10.0.0.1/8 0:0:0:0:0:7);
         i :: Idle -> c :: IPClassifier(dst here and tcp port www, -) -> d :: Discard; c [1] -> d;
         Idle -> r :: RadixIPLookup(here:ipnet 1.2.3.4 0, 0.0.0.0/0 1) -> d; r [1] -> d;
         Idle -> g :: RangeIPLookup(here:ipnet 0) -> d; Idle -> a :: ARPResponder(here) -> d",
    );
    let table = |name| &module(&application, name).tables[0];
    let first = &table("r").entries[0];
    assert_eq!((first.key[0], first.mask[0], &first.value[..]), (0x0a00_0000, 0xff00_0000, &[4, 3, 2, 1, 0, 0, 0, 0][..]));
    assert_eq!(&table("r").entries[1].value[4..], [1, 0, 0, 0]);
    let range = &table("g").entries[0];
    assert_eq!((range.key[0], range.mask[0], range.priority), (0x0a00_0000, 0x0aff_ffff, 8));
    let answer = &table("a").entries[0];
    assert_eq!((answer.key[0], &answer.value[..]), (0x0a00_0001, &[7, 0, 0, 0, 0, 0][..]));
}

#[test]
fn what_is_wrong_is_drawn_in_the_configuration() {
    let drawn = faults("i :: Idle -> p :: Piant(1) -> Discard");
    assert!(
        drawn.contains("there is no element class `Piant`") && drawn.contains("did you mean `Paint`?") && drawn.contains("t.click:1:14"),
        "{drawn}"
    );
    let drawn = faults("i :: Idle -> Gargle -> Discard");
    assert!(drawn.contains("there are Discard, InfiniteSource, Paint, Queue, Unqueue"), "{drawn}");
    let drawn = faults("i :: Idle\n -> p :: Paint(blue) -> Discard; Idle -> q :: Paint -> Discard");
    assert!(drawn.contains("`p :: Paint`: `COLOR`: `blue` is not an integer") && drawn.contains("t.click:2:5"), "{drawn}");
    assert!(drawn.contains("`q :: Paint`: required argument `COLOR` is missing"), "{drawn}");
    let drawn = faults("i :: Idle -> Paint(1)");
    assert!(drawn.contains("its class wants 1"), "{drawn}");
    let drawn = faults("i :: Idle -> c :: IPClassifier(tcp prot 5) -> Discard; AddressInfo(a b)");
    assert!(drawn.contains("`prot`") && drawn.contains("`b` is not an address"), "{drawn}");
    assert!(faults("a :: ").contains("t.click:1"));
}

#[test]
fn what_is_wrong_with_a_class_is_drawn_in_its_file() {
    let mut files = BTreeMap::new();
    files.insert("Wrong", "#include <netvm.h>\nELEMENT(Wrong, \"1/1\", \"a/a\");\nvoid packet(int port) { emit(nothing); }\n");
    files.insert("Late", "#include <netvm.h>\nELEMENT(Late, \"1/1\", \"a/a\");\nCONFIG(QUUX, q);\nvoid packet(int port) { emit(q()); }\n");
    let library = Library { files };
    let text = "i :: Idle -> w :: Wrong -> v :: Wrong -> Discard; Idle -> Late -> Discard";
    let found = read(SourceFile { name: "t.click", text }, &BTreeMap::new(), &library).unwrap_err();
    let drawn = found.render(false);
    assert!(drawn.contains("Wrong.c:3:30") && drawn.contains("`w` is of this class") && drawn.contains("t.click:1"), "{drawn}");
    assert_eq!(drawn.matches("Wrong.c:3").count(), 1, "{drawn}");
    let library = Library {
        files: BTreeMap::from([("Uni", "#include <netvm.h>\nELEMENT(Uno, \"1/1\", \"a/a\");\nvoid packet(int port) { emit(0); }\n")]),
    };
    let drawn = read(SourceFile { name: "t.click", text: "Idle -> Uni -> Discard" }, &BTreeMap::new(), &library).unwrap_err().render(false);
    assert!(drawn.contains("this is the file of `Uni`, and it declares the class `Uno`") && drawn.contains("Uni.c:2:9"), "{drawn}");
}

#[test]
fn a_syntax_that_there_is_not_is_told() {
    let late = "#include <netvm.h>\nELEMENT(Late, \"1/1\", \"a/a\");\nCONFIG(QUUX, q);\nvoid packet(int port) { emit(q()); }\n";
    let library = Library { files: BTreeMap::from([("Late", late)]) };
    let text = "Idle -> Late(1) -> Discard";
    let found = read(SourceFile { name: "t.click", text }, &BTreeMap::new(), &library).unwrap_err();
    assert!(found.to_string().contains("its class asks for the syntax QUUX, which there is not"), "{found}");
}

#[test]
fn more_routes_than_a_table_has_room_for_are_refused() {
    let text = "#include <netvm.h>\nELEMENT(Small, \"1/-\", \"h/h\");\nstruct route { be32 gateway; u32 port; };\nTABLE_PREFIX(routes, be32, struct route, 2);\nCONFIG(IP_ROUTES, routes);\nvoid push(int port) { emit(0); }\n";
    let library = Library { files: BTreeMap::from([("Small", text)]) };
    let text = "Idle -> Small(1.0.0.0/8 0, 2.0.0.0/8 0, 3.0.0.0/8 0) -> Discard";
    let found = read(SourceFile { name: "t.click", text }, &BTreeMap::new(), &library).unwrap_err();
    assert!(found.to_string().contains("3 entries for the table `routes`, which has room for 2"), "{found}");
}

/// A hundred elements of the library; run in release with `--nocapture` for the time.
#[test]
fn a_hundred_elements_take_little_time() {
    let mut text = String::from("i :: InfiniteSource -> e0 :: Null;\n");
    for n in 0..100 {
        let class = [
            "Null",
            "Paint(3)",
            "Counter",
            "Strip(14)",
            "CheckIPHeader",
            "Classifier(12/0800)",
            "IPClassifier(tcp)",
            "DecIPTTL",
            "EtherEncap(0x800, 0:0:0:0:0:1, 0:0:0:0:0:2)",
        ][n % 9];
        text += &format!("e{n} -> e{} :: {class};\n", n + 1);
    }
    text += "e100 -> Discard;";
    let start = std::time::Instant::now();
    let (application, _) = made(&text);
    let took = start.elapsed();
    println!("{took:?}");
    assert_eq!(application.instances.len(), 103);
    assert!(took.as_secs() < 10, "{took:?}");
}

/// Two routes of a file, whatever its name.
struct WithRoutes;

impl Classes for WithRoutes {
    fn builtin(&self, class: &str) -> Option<PortSpec<'static>> {
        library().builtin(class)
    }

    fn source(&self, class: &str) -> Option<(String, String)> {
        library().source(class)
    }

    fn include(&self, name: &str) -> Option<String> {
        library().include(name)
    }

    fn names(&self) -> Vec<String> {
        library().names()
    }

    fn routes(&self, file: &str, devices: &[&str], outputs: u32, key_bits: u16, value_bytes: usize) -> Result<Vec<Entry>, ArgumentError> {
        if file != "r.txt" {
            return Err(format!("{file}: not found").into());
        }
        let port = devices.iter().position(|device| *device == "eth1").unwrap_or(0) as u8;
        if u32::from(port) >= outputs {
            return Err(format!("{file}: there is no output {port}").into());
        }
        let mut value = vec![0; value_bytes];
        value[key_bits as usize / 8] = port;
        let entry = |key: u64, mask: u64, value: &[u8]| Entry { key: [key].into(), mask: [mask].into(), priority: 0, value: value.into() };
        Ok(vec![entry(0x0a00_0000, 0xff00_0000, &value), entry(0x0a01_0000, 0xffff_0000, &value)])
    }
}

#[test]
fn routes_come_from_files() {
    let read = |text: &str| read(SourceFile { name: "t.click", text }, &BTreeMap::new(), &WithRoutes);
    let after = " i :: InfiniteSource -> r; r[0] -> Discard; r[1] -> Discard;";
    let entries = |class: &str, arguments: &str| {
        let (application, _) = read(&format!("r :: {class}({arguments});{after}")).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let shown = |e: &Entry| format!("{:x} {:x} {} {}", e.key[0], e.mask[0], e.priority, e.value[4]);
        module(&application, "r").tables[0].entries.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(entries("RadixIPLookup", "FILE r.txt"), ["a000000 ff000000 0 0", "a010000 ffff0000 0 0"]);
    assert_eq!(
        entries("RadixIPLookup", "FILE r.txt eth0 eth1, 10.0.0.0/8 0, 11.0.0.0/8 1"),
        ["a010000 ffff0000 0 1", "a000000 ff000000 0 0", "b000000 ff000000 0 1"]
    );
    assert_eq!(
        entries("RadixIPLookup", "10.0.0.0/8 1, 10.1.0.0/16 1, FILE r.txt, 10.1.0.0/16 1, FILE r.txt eth0 eth1, 10.0.0.0/8 0"),
        ["a010000 ffff0000 0 1", "a000000 ff000000 0 0"]
    );
    assert_eq!(entries("RangeIPLookup", "FILE r.txt, 10.1.0.0/16 1"), ["a000000 affffff 8 0", "a010000 a01ffff 16 1"]);
    assert_eq!(entries("RangeIPLookup", "FILE r.txt"), ["a000000 affffff 8 0", "a010000 a01ffff 16 0"]);
    let wrong = |arguments: &str| read(&format!("r :: RadixIPLookup({arguments});{after}")).unwrap_err().render(false);
    assert!(wrong("FILE s.txt").contains("s.txt: not found"));
    assert!(wrong("FILE r.txt a b eth1").contains("r.txt: there is no output 2"));
    assert!(wrong("FILE r.txt, 10.0.0.0/8 2").contains("there is no output 2"));
}
