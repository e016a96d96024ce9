//! Tables and variables that several elements have together: on every engine as on the interpreter,
//! and what is told of scopes that do not fit.

mod graphs;

use graphs::{read, runs};
use std::path::{Path, PathBuf};

/// Classes with tables of all scopes. Each counts by paint, in tables of its own name or scope.
const CLASSES: [(&str, &str); 4] = [
    ("Own", "TABLE_EXACT(counts, u8, u32, 8, 0);\nSCOPE(counts, REGIONAL);\n"),
    ("Ours", "TABLE_EXACT(counts, u8, u32, 8, 0);\nSCOPE(counts, GLOBAL);\n"),
    ("Everybodys", "TABLE_EXACT(counts, u8, u32, 8, 0);\nSCOPE(counts, UNIVERSAL);\n"),
    ("Of", "PARAM(string, whose, \"WHOSE\", REQUIRED);\nTABLE_EXACT(counts, u8, u32, 1, 0);\nSCOPE(counts, REGIONAL(whose, counts));\n"),
];

const BODY: &str = "void packet(int port)
{
    u8 paint = info(paint);
    u32 *count = table_insert(counts, &paint);

    if (!count)
        drop(FULL);
    *count += 1;
    emit(0);
}
";

/// A folder with the classes, and with the same under other names.
fn classes(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-scopes-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (class, table) in CLASSES.into_iter().chain([("Others", CLASSES[2].1)]) {
        let text = format!(
            "/*\n * {class} -- counts\n */\n#include <netvm.h>\n#include \"click.h\"\nELEMENT({class}, \"1/1\", \"a/a\");\nenum {{ FULL }};\n{table}{BODY}"
        );
        std::fs::write(folder.join(format!("{class}.c")), text).unwrap();
    }
    folder
}

/// A capture of three packets.
fn capture(folder: &Path) -> String {
    let file = folder.join("in.pcap").display().to_string();
    runs(&format!("InfiniteSource(LIMIT 3, STOP true) -> ToDump({file})"), folder, &[]);
    file
}

#[test]
fn a_scope_says_who_has_a_table_together() {
    let folder = classes("who");
    let file = capture(&folder);
    let counted = |first: &str, second: &str| {
        let text = format!(
            "FromDump({file}, STOP true) -> Paint(1) -> a :: {first} -> b :: {second} -> Paint(2) -> c :: {second} -> Queue -> ToDump({file}.out)"
        );
        let lists = runs(&text, &folder, &["a.counts.list", "b.counts.list", "c.counts.list"]).1;
        lists.iter().map(|list| list.replace("000000\n", " ").trim_end().to_owned()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(counted("Own", "Own"), "01 03; 01 03; 02 03");
    assert_eq!(counted("Ours", "Ours"), "01 06 02 03; 01 06 02 03; 01 06 02 03");
    assert_eq!(counted("Ours", "Everybodys"), "01 03; 01 03 02 03; 01 03 02 03");
    assert_eq!(counted("Others", "Everybodys"), "01 06 02 03; 01 06 02 03; 01 06 02 03");
    assert_eq!(counted("Own", "Of(a)"), "01 06 02 03; 01 06 02 03; 01 06 02 03");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn elements_are_named_as_in_their_compounds() {
    let folder = classes("names");
    let (_, lists) = runs(
        "elementclass E { input -> s :: Own -> Of(s) -> Of(s) -> output }
         s :: Own; InfiniteSource(LIMIT 2, STOP true) -> e :: E -> Of(e/s) -> s -> Discard",
        &folder,
        &["s.counts.list", "e/s.counts.count", "e/Of@2.counts.list"],
    );
    assert_eq!(lists, ["00 02000000\n", "1", "00 08000000\n"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn handlers_write_tables_that_are_one() {
    let folder = classes("write");
    let text =
        "InfiniteSource(LIMIT 1, STOP false) -> a :: Ours -> b :: Ours -> Discard; Script(write a.counts.add 00 05000000, wait 1, stop)";
    assert_eq!(runs(text, &folder, &["b.counts.list"]).1, ["00 07000000\n"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn scopes_that_do_not_fit_are_told() {
    let folder = classes("wrong");
    let class = |name: &str, table: &str| {
        let text = format!("#include <netvm.h>\nELEMENT({name}, \"1/1\", \"a/a\");\n{table}\nvoid packet(int port) {{ emit(0); }}\n");
        std::fs::write(folder.join(format!("{name}.c")), text).unwrap();
    };
    class("Wide", "TABLE_EXACT(counts, u16, u32, 8, 0);\nSCOPE(counts, UNIVERSAL);");
    class("Small", "TABLE_EXACT(counts, u8, u32, 7, 0);\nSCOPE(counts, UNIVERSAL);");
    class(
        "Twice",
        "TABLE_EXACT(a, u8, u32, 8, 0);\nSCOPE(a, REGIONAL(\"x\", counts));\nTABLE_EXACT(b, u8, u32, 8, 0);\nSCOPE(b, REGIONAL(\"x\", counts));",
    );
    let path = "Idle -> x :: Everybodys -> y ::";
    for (text, wrong) in [
        ("Wide -> Discard", "`y :: Wide`: the table `counts`, which is one with that of `x`, has another kind, or other keys or values"),
        ("Small -> Discard", "`y :: Small`: the table `counts`, which is one with that of `x`, has another capacity or timeout"),
        ("Twice -> Discard", "`y :: Twice`: it has the table `b`, which is one with that of `x`, by another name as well"),
        ("Of(z) -> Discard", "`y :: Of`: there is no element `z`"),
        ("Of(d) -> d :: Discard", "`y :: Of`: `d :: Discard` has no table `counts`"),
        ("Of(q) -> q :: Of(y) -> Discard", "`y :: Of`: the table `counts` is said to be another element's, in a circle"),
        ("ICMPRewriter(x) -> Discard", "`y :: ICMPRewriter`: `x :: Everybodys` has no table `brief`"),
        ("ICMPRewriter(none) -> Discard", "`y :: ICMPRewriter`: `none` is no IP rewriter: there is no such element"),
        ("ICMPRewriter(y:1) -> Discard", "`y :: ICMPRewriter`: `y:1`: there is no such output"),
        ("ICMPRewriter -> Discard", "`y :: ICMPRewriter`: expected MAPS: the names of rewriters"),
    ] {
        let told = read(&format!("{path} {text}"), &folder).err().unwrap_or_default();
        assert!(told.contains(wrong), "{text}: {told}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A folder with classes that count in a variable: name, scope, type and initial value.
fn variables(name: &str, classes: &[(&str, &str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-variables-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (class, scope, declared) in classes {
        let (of, handlers) = match declared.contains('[') {
            true => ("[0]", ""),
            false => ("", "READ(total, u32, total);\nWRITE(total, u32, total);\n"),
        };
        let text = format!(
            "#include <netvm.h>\nELEMENT({class}, \"1/1\", \"a/a\");\nPARAM(string, whose, \"WHOSE\", OPTIONAL(\"\"));\nstatic u32 before;\n\
             {declared};\nSCOPE(total, {scope});\nvoid init(void) {{ before = total{of}; total{of} += 100; }}\n\
             void packet(int port) {{ total{of} += 1; emit(0); }}\n{handlers}READ(before, u32, before);\n"
        );
        std::fs::write(folder.join(format!("{class}.c")), text).unwrap();
    }
    folder
}

const TEN: &str = "static u32 total = 10";

#[test]
fn a_scope_says_who_has_a_variable_together() {
    let folder = variables(
        "who",
        &[
            ("Own", "LOCAL", TEN),
            ("Regions", "REGIONAL", TEN),
            ("Ours", "GLOBAL", TEN),
            ("Alls", "UNIVERSAL", TEN),
            ("Others", "UNIVERSAL", TEN),
            ("Of", "REGIONAL(whose, total)", "static u32 total"),
        ],
    );
    let file = capture(&folder);
    let totals = |a: &str, b: &str, c: &str| {
        let text = format!("FromDump({file}, STOP true) -> a :: {a} -> b :: {b} -> c :: {c} -> Queue -> ToDump({file}.out)");
        let reads = ["a.total", "b.total", "c.total", "a.before", "b.before", "c.before"];
        runs(&text, &folder, &reads).1.join(" ")
    };
    assert_eq!(totals("Own", "Own", "Own"), "113 113 113 10 10 10");
    assert_eq!(totals("Regions", "Regions", "Own"), "113 113 113 10 10 10");
    assert_eq!(totals("Ours", "Ours", "Own"), "216 216 113 10 110 10");
    assert_eq!(totals("Ours", "Own", "Alls"), "113 113 113 10 10 10");
    assert_eq!(totals("Alls", "Others", "Alls"), "319 319 319 10 110 210");
    assert_eq!(totals("Regions", "Of(a)", "Of(b)"), "319 319 319 10 110 210");
    // The initial value is the owner's to give, before its own init handler.
    assert_eq!(totals("Of(b)", "Regions", "Own"), "116 116 113 0 10 10");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn people_write_variables_that_are_one() {
    let folder = variables("write", &[("Ours", "GLOBAL", TEN)]);
    let text = "InfiniteSource(LIMIT 2, STOP false) -> a :: Ours -> b :: Ours -> Discard; Script(wait 1, write a.total 7, write b.total $(add $(b.total) 1), stop)";
    assert_eq!(runs(text, &folder, &["a.total", "b.total"]).1, ["8", "8"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn arrays_and_structs_have_scopes() {
    let folder = std::env::temp_dir().join(format!("netvm-variables-arrays-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "#include <netvm.h>\nELEMENT(Arrays, \"1/1\", \"a/a\");
        struct each { u8 first; u16 packets; be32 last; u64 bytes; i8 less; };
        static struct each each[3] = { [1] = { .packets = 7, .less = -3 } };
        SCOPE(each, GLOBAL);
        static u8 bytes[6];
        SCOPE(bytes, GLOBAL);
        static int turn = -1;
        SCOPE(turn, UNIVERSAL);
        static u64 sum(const u8 *of, u32 n)
        {
            u64 sum = 0;
            for (u32 i = 0; i < n; i++)
                sum = sum * 10 + of[i];
            return sum;
        }
        void packet(int port)
        {
            struct each *now;
            turn = (turn + 1) % 3;
            now = &each[turn];
            now->packets += 1;
            now->bytes += packet_length();
            now->last = *header(be32, 0);
            now->less -= 1;
            packet_read(bytes, 1, 4);
            bytes[4] = bytes[0];
            packet_write(0, bytes, 6);
            print_uint(sum(bytes, 6));
            print(\" \");
            emit(0);
        }
        static void show(void)
        {
            for (int i = 0; i < 3; i++) {
                struct each copy = each[i];
                print_uint(copy.packets);
                print(\" \");
                print_uint(copy.bytes);
                print(\" \");
                print_ip(copy.last);
                print(\" \");
                print_int(copy.less);
                print(\"; \");
            }
        }
        READ_CALL(show, text, show);\n";
    std::fs::write(folder.join("Arrays.c"), text).unwrap();
    let text = "InfiniteSource(DATA \\<010203040506>, LIMIT 2, STOP true) -> a :: Arrays -> b :: Arrays -> Discard";
    let (printed, shown) = runs(text, &folder, &["a.show", "b.show"]);
    assert_eq!(printed, "234520 345230 234520 345230 ");
    assert_eq!(shown[0], "2 12 2.3.4.5 -2; 8 6 2.3.4.5 -4; 1 6 1.2.3.4 -1; ");
    assert_eq!(shown[0], shown[1]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn variables_that_do_not_fit_are_told() {
    let folder = variables(
        "wrong",
        &[
            ("Alls", "UNIVERSAL", TEN),
            ("Eleven", "UNIVERSAL", "static u32 total = 11"),
            ("Pair", "UNIVERSAL", "static u32 total[1] = { 10 }"),
            ("Of", "REGIONAL(whose, total)", "static u32 total"),
            ("Own", "LOCAL", TEN),
        ],
    );
    let told = |class: &str| read(&format!("Idle -> x :: Alls -> y :: {class} -> o :: Own -> Discard"), &folder).err().unwrap_or_default();
    for (class, wrong) in [
        ("Eleven", "`y :: Eleven`: the variable `total`, which is one with that of `x`, has another initial value"),
        ("Pair", "`y :: Pair`: the variable `total`, which is one with that of `x`, has another type"),
        ("Of(o)", "`y :: Of`: `o :: Own` has no variable with a scope `total`"),
        ("Of(z)", "`y :: Of`: there is no element `z`"),
        ("Of(y)", "`y :: Of`: the variable with a scope `total` is said to be another element's, in a circle"),
    ] {
        assert!(told(class).contains(wrong), "{class}: {}", told(class));
    }
    assert_eq!(told("Of(x)"), "");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Packets that expire behind a rewriter, and the errors about them as they come back and as they
/// are then; quotations are tested as packets.
fn errors(name: &str, rewriter: &str, between: &str, behind: &str, packets: &str) -> Vec<String> {
    let folder = classes(name);
    let file = folder.join("packets").display().to_string();
    std::fs::write(&file, format!("!data timestamp src sport dst dport proto\n{packets}")).unwrap();
    let made = format!("FromIPSummaryDump({file}, STOP true, ZERO true, CHECKSUM true) -> ToDump({file}.pcap, ENCAP IP)");
    runs(&made, &folder, &[]);
    let text = format!(
        "elementclass Shown {{ $name | input -> CheckIPHeader -> CheckICMPHeader -> t :: Tee -> IPPrint($name, TIMESTAMP false, PAINT true) -> output;
           t[1] -> Strip(28) -> CheckIPHeader(CHECKSUM true, VERBOSE true) -> IPPrint(quoted, TIMESTAMP false) -> c :: IPClassifier(tcp, udp);
           c[0] -> k :: CheckTCPHeader(VERBOSE true) -> Discard; c[1] -> CheckUDPHeader(VERBOSE true) -> Discard }}
         FromDump({file}.pcap, STOP true, FORCE_IP true) -> Paint(5) -> rw :: {rewriter} -> Paint(0) {between} -> ICMPError(9.9.9.9, timeexceeded)
         -> er :: ICMPRewriter({behind}); er[0] -> Shown(first) -> Discard; er[1] -> Shown(second) -> Discard"
    );
    let (text, _) = runs(&text, &folder, &[]);
    std::fs::remove_dir_all(folder).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn errors_about_rewritten_packets_are_rewritten() {
    let flows = "1 18.26.4.44 20 10.0.0.8 80 T\n2 18.26.4.44 20 10.0.0.8 80 U\n";
    let flow = "IPRewriter(pattern 21.0.0.1 1024-65535# 7.7.7.7 99 0 0, REPLY_ANNO PAINT)";
    let error = "first: paint 0: 9.9.9.9 > 18.26.4.44: icmp timeexceeded transit";
    let whole = [error, "quoted: 18.26.4.44.20 > 10.0.0.8.80: . 0:0(0,40,40) win 0", error, "quoted: 18.26.4.44.20 > 10.0.0.8.80: udp 8"];
    assert_eq!(errors("whole", flow, "", "rw", flows), whole);
    let painted = errors("whole", flow, "", "rw, REPLY_ANNO PAINT", flows);
    assert_eq!(painted[0], error.replace("paint 0", "paint 5"));
    assert_eq!(errors("whole", flow, "", "rw:1", flows)[0], error.replace("first", "second"));
    assert_eq!(errors("whole", "IPAddrRewriter(pattern 21.0.0.1 - 0 0)", "", "rw", flows), whole);
    // What is unknown is told as it came.
    let other = errors("whole", flow, "-> IPAddrRewriter(pattern 5.5.5.5 - 0 0)", "rw", "2 18.26.4.44 20 10.0.0.8 80 U\n");
    assert_eq!(other, ["second: paint 0: 9.9.9.9 > 5.5.5.5: icmp timeexceeded transit", "quoted: 5.5.5.5.1024 > 7.7.7.7.99: udp 8"]);
}

#[test]
fn errors_about_pings_are_rewritten() {
    let folder = classes("pings");
    let file = folder.join("packets").display().to_string();
    std::fs::write(
        &file,
        "!data timestamp src dst icmp_type_name icmp_flowid\n!proto icmp\n1 1.0.0.1 5.0.0.5 echo 10\n2 1.0.0.1 5.0.0.5 echo-reply 4\n",
    )
    .unwrap();
    // The first is a request; a reply goes the way of a flow that the other host began.
    let text = format!(
        "elementclass Shown {{ $name | input -> CheckIPHeader -> CheckICMPHeader(VERBOSE true) -> t :: Tee -> IPPrint($name, TIMESTAMP false) -> output;
           t[1] -> Strip(28) -> CheckIPHeader(VERBOSE true) -> CheckICMPHeader(VERBOSE true) -> IPPrint(quoted, TIMESTAMP false) -> Discard }}
         FromIPSummaryDump({file}, STOP true, ZERO true, CHECKSUM true) -> rw :: ICMPPingRewriter(pattern 2.0.0.2 - 7-9# 0 0, pass)
         -> ICMPError(3.0.0.3, unreachable) -> er :: ICMPRewriter(rw); Idle -> [1]rw[1] -> Discard; er[0] -> Shown(first) -> Discard; er[1] -> Shown(second) -> Discard"
    );
    let (text, _) = runs(&text, &folder, &[]);
    std::fs::remove_dir_all(folder).unwrap();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert_eq!(lines, ["first: 3.0.0.3 > 1.0.0.1: icmp 5.0.0.5 unreachable net", "quoted: 1.0.0.1 > 5.0.0.5: icmp echo (10, 0)"]);
}

#[test]
fn errors_that_quote_eight_bytes_are_rewritten() {
    let flow = "IPRewriter(pattern 21.0.0.1 1024-65535# - - 0 0)";
    let text = errors("eight", flow, "-> Truncate(28)", "rw", "1 18.26.4.44 20 10.0.0.8 80 T\n");
    assert_eq!(text[0], "first: paint 0: 9.9.9.9 > 18.26.4.44: icmp timeexceeded transit");
    // A mapping that has timed out is none.
    let late = "IPRewriter(pattern 21.0.0.1 1024-65535# - - 0 0, UDP_TIMEOUT 1s)";
    let text = errors("eight", late, "-> SetTimestamp(9)", "rw", "1 18.26.4.44 20 10.0.0.8 80 U\n");
    assert_eq!(text[0], "second: paint 0: 9.9.9.9 > 21.0.0.1: icmp timeexceeded transit");
}
