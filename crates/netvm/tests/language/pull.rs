//! Handlers that packets are asked for at: elements that look for a packet themselves, one behind
//! the other and with others that push meanwhile.

use super::graphs::{read, runs};
use std::path::PathBuf;

/// A folder with classes: name, ports, processing, text.
fn classes(name: &str, classes: &[(&str, &str, &str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-pull-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (class, ports, processing, text) in classes {
        let text = format!("#include <netvm.h>\n#include \"click.h\"\nELEMENT({class}, \"{ports}\", \"{processing}\");\n{text}");
        std::fs::write(folder.join(format!("{class}.c")), text).unwrap();
    }
    folder
}

/// The first byte of each packet that is pulled, as Print shows it.
fn bytes(printed: &str) -> String {
    printed.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim).collect::<Vec<_>>().join(" ")
}

const FORK: (&str, &str, &str, &str) = (
    "Fork",
    "1/1-",
    "l/lh",
    "void pull(int port)
     {
         if (!packet_ask(0))
             return;
         for (int i = 1; i < NOUTPUTS; i++)
             clone(i);
         emit(port);
     }",
);
/// Takes from its inputs in turn, and counts what was there.
const TURN: (&str, &str, &str, &str) = (
    "Turn",
    "1-/1",
    "l/l",
    "static int next;
     static u32 found, asked;
     static bool ask(int input)
     {
         asked += 1;
         return packet_ask(input);
     }
     void pull(int port)
     {
         for (int i = 0; i < NINPUTS; i++) {
             int input = next;
             next = (next + 1) % NINPUTS;
             if (ask(input)) {
                 found += 1;
                 header(u8, 0)[0] += 0x10;
                 emit(port);
             }
         }
     }
     READ(found, u32, found);
     READ(asked, u32, asked);",
);

#[test]
fn elements_look_for_packets_one_behind_the_other() {
    let folder = classes("turn", &[FORK, TURN]);
    let text = "InfiniteSource(DATA \\<01>, LIMIT 3, STOP false) -> a :: Queue; InfiniteSource(DATA \\<02>, LIMIT 1) -> b :: Queue;
        InfiniteSource(DATA \\<03>, LIMIT 2) -> c :: Queue; a -> [0]t :: Turn; b -> [1]t; t -> f :: Fork -> [0]u :: Turn; c -> [1]u;
        f[1] -> Print(copy) -> Discard; Script(wait 1, write q.active true, wait 1, stop); u -> q :: Unqueue(ACTIVE false) -> Print(out) -> Discard";
    let (printed, counts) = runs(text, &folder, &["t.found", "u.found", "t.asked"]);
    // From both in turn; each Turn adds 0x10, and the copy leaves before the packet comes to the
    // second.
    assert_eq!(bytes(&printed), "11 21 13 12 22 13 11 21 11 21", "{printed}");
    assert_eq!(counts[..2], ["4", "6"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A queue in which the last comes first.
const STACK: (&str, &str, &str, &str) = (
    "Stack",
    "1/1",
    "h/l",
    "static u32 held;
     void push(int port)
     {
         if (packet_hold(held))
             held += 1;
     }
     void pull(int port)
     {
         if (held == 0)
             return;
         held -= 1;
         packet_take(held);
         emit(port);
     }",
);

#[test]
fn packets_that_were_kept_are_given_when_they_are_asked_for() {
    let folder = classes("stack", &[STACK]);
    let text = "FromIPSummaryDump(in, STOP true) -> s :: Stack -> u :: Unqueue(ACTIVE false) -> Print(out, 0, TIMESTAMP true) -> Discard;
        DriverManager(wait_stop, write u.active true, wait 1, stop)";
    let file = folder.join("in");
    std::fs::write(&file, "!data timestamp\n1\n2\n3\n").unwrap();
    let (printed, _) = runs(&text.replace("(in,", &format!("({},", file.display())), &folder, &[]);
    let times: Vec<&str> = printed.lines().filter_map(|line| line.split_whitespace().find(|word| word.contains(".000000"))).collect();
    assert_eq!(times, ["3.000000:", "2.000000:", "1.000000:"], "{printed}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn who_asks_has_its_tables_together_with_those_before_it() {
    let counts = "TABLE_EXACT(counts, u8, u32, 8, 0);\nSCOPE(counts, UNIVERSAL);\nstatic u32 *count(u8 key) { return table_insert(counts, &key); }\n";
    let before = format!("{counts}void packet(int port) {{ *count(7) += 1; *count(8) = 5; emit(0); }}");
    // An entry is found again behind the question, since what is before may have deleted it.
    let asks = format!(
        "{counts}static u32 seen;
         void pull(int port)
         {{
             *count(7) += 100;
             if (!packet_ask(0))
                 return;
             seen = *count(7) * 10 + *count(8);
             *count(8) = 6;
             emit(port);
         }}
         READ(seen, u32, seen);"
    );
    let folder = classes("tables", &[("Before", "1/1", "a/a", &before), ("Asks", "1/1", "l/l", &asks)]);
    let text = "InfiniteSource(LIMIT 2, STOP true) -> Queue -> Before -> a :: Asks -> d :: Discard";
    let (_, values) = runs(text, &folder, &["a.seen", "d.count"]);
    let asked: u32 = values[0].parse().unwrap();
    // Two packets were found; the questions without an answer count as well.
    assert_eq!((asked % 10, asked / 10 % 100, values[1].as_str()), (5, 2, "2"), "{values:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_pushed_to_an_element_that_asks_waits() {
    let both = "static u32 pushed, while_asking;
         static bool asking;
         void push(int port) { pushed += 1; if (asking) while_asking += 1; drop(DONE); }
         void pull(int port)
         {
             asking = true;
             if (!packet_ask(1))
                 return;
             asking = false;
             emit(port);
         }
         READ(pushed, u32, pushed);
         READ(while_asking, u32, while_asking);";
    let both = format!("enum {{ DONE }};\n{both}");
    let folder = classes("pushed", &[FORK, ("Both", "2/1", "hl/l", &both)]);
    let text = "InfiniteSource(LIMIT 2, STOP true) -> Queue -> f :: Fork -> [1]b :: Both -> d :: Discard; f[1] -> [0]b";
    let (_, values) = runs(text, &folder, &["b.pushed", "b.while_asking", "d.count"]);
    assert_eq!(values, ["2", "0", "2"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_trap_before_is_no_packet() {
    let before = "void packet(int port) { header(u8, 9)[0] = 1; emit(0); }";
    let folder = classes("trap", &[("Before", "1/1", "a/a", before), TURN]);
    let text = "InfiniteSource(DATA 'short', LIMIT 1, STOP false) -> Queue -> Before -> [0]t :: Turn;
        InfiniteSource(DATA \\<05>, LIMIT 1) -> Queue -> [1]t; t -> Print(out) -> d :: Discard; Script(wait 1, stop)";
    let (printed, values) = runs(text, &folder, &["t.found", "d.count"]);
    assert_eq!((bytes(&printed), values), ("15".to_owned(), vec!["1".to_owned(), "1".to_owned()]));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn asking_in_a_circle_is_refused() {
    let folder = classes("circle", &[TURN]);
    let told = read("t :: Turn -> [0]t; Idle -> [1]t", &folder).err().unwrap_or_default();
    assert!(!told.is_empty());
    std::fs::remove_dir_all(folder).unwrap();
}
