//! What the element language has, run as elements of configurations, on every engine as on the
//! interpreter.

mod graphs;
#[path = "language/pull.rs"]
mod pull;

use graphs::{read, runs};
use std::path::{Path, PathBuf};

/// A folder with classes: name, outputs, text.
fn classes(name: &str, classes: &[(&str, &str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-language-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (class, outputs, text) in classes {
        let text = format!(
            "/*\n * {class} -- tries\n */\n#include <netvm.h>\n#include \"click.h\"\nELEMENT({class}, \"1/{outputs}\", \"h/h\");\n{text}"
        );
        std::fs::write(folder.join(format!("{class}.c")), text).unwrap();
    }
    folder
}

/// What is printed for a packet of that text.
fn printed(text: &str, arguments: &str, class: &str, folder: &Path) -> String {
    let config = format!("InfiniteSource(DATA \"{text}\", LIMIT 1, STOP true) -> e :: {class}({arguments}) -> Discard");
    runs(&config, folder, &[]).0
}

#[test]
fn packets_are_searched_for_texts_and_expressions() {
    let folder = classes(
        "search",
        &[(
            "Search",
            "1",
            "PARAM(string, wanted, \"WANTED\", OPTIONAL(\"seven\"));
             STRINGS(first, \"one\", \"two\", \"\\1\\0022\");
             REGEX(number, \"^[0-9]+$\");
             STRINGS(second, wanted, \"on\");
             REGEX(letters, wanted);
             void push(int port)
             {
                 print_int(strings_find(first, 0, packet_length()));
                 print(\" \");
                 print_int(strings_find(second, 1, 5));
                 if (regex_found(number, 1, 2))
                     print(\" number\");
                 if (regex_found(letters, 0, 100))
                     print(\" letters\");
                 emit(0);
             }",
        )],
    );
    let printed = |text: &str, wanted: &str| printed(text, wanted, "Search", &folder);
    assert_eq!(printed("x two one", ""), "1 -1");
    assert_eq!(printed("xon two", ""), "1 1");
    assert_eq!(printed("xone", "one"), "0 1 letters");
    assert_eq!(printed("xo.e", "o.e"), "-1 0 letters");
    assert_eq!(printed("x12x", "seven"), "-1 -1 number");
    assert_eq!(printed("\\<78 01 02 32>", ""), "2 -1");
    // Behind the end there is nothing, and no trap either.
    assert_eq!(printed("x", "^x$"), "-1 -1 letters");
    let wrong = "e :: Search(\"(\"); Idle -> e -> Discard";
    let told = read(wrong, &folder).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains("`(`, the argument WANTED of `e`, is no regular expression: unclosed group"), "{told}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn where_a_search_matched_is_told() {
    let folder = classes(
        "places",
        &[(
            "Places",
            "1",
            "STRINGS(words, \"one\", \"ne two\");
             REGEX(number, \"[0-9]+\");
             REGEX(nothing, \"x*\");
             static void show(int n)
             {
                 print_int(n);
                 print(\" \");
             }
             void push(int port)
             {
                 show(strings_at(words, 2, packet_length()));
                 show(strings_end(words, 2, packet_length()));
                 show(strings_find(words, 2, packet_length()));
                 show(regex_at(number, 1, 9));
                 show(regex_end(number, 1, 9));
                 show(regex_at(nothing, 3, 9));
                 show(regex_end(nothing, 3, 9));
                 emit(0);
             }",
        )],
    );
    let printed = |text: &str| printed(text, "", "Places", &folder);
    assert_eq!(printed("a one 12 b").trim_end(), "2 5 0 6 8 3 3");
    assert_eq!(printed("oneone two").trim_end(), "3 6 0 -1 -1 3 3");
    // Behind the search's beginning and before its end.
    assert_eq!(printed("one ne two 7").trim_end(), "4 10 1 -1 -1 3 3");
    assert_eq!(printed("1xxxxx").trim_end(), "-1 -1 -1 -1 -1 3 6");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn lists_of_texts_are_searched_for() {
    let folder = classes(
        "texts",
        &[(
            "Texts",
            "1",
            "PARAM_LIST(string, wanted, \"WANTED\", KEYWORD(\"seven eight\"));
             STRINGS_OF(words, wanted);
             void push(int port)
             {
                 print_int(wanted_count);
                 print(\" \");
                 print_int(strings_find(words, 0, packet_length()));
                 print(\" \");
                 print_int(strings_at(words, 0, packet_length()));
                 emit(0);
             }",
        )],
    );
    assert_eq!(printed("x two one", "WANTED one two", "Texts", &folder), "2 1 2");
    assert_eq!(printed("x two one", "WANTED one", "Texts", &folder), "1 0 6");
    assert_eq!(printed("x eight", "", "Texts", &folder), "2 1 2");
    assert_eq!(printed("x eight", "WANTED \"\"", "Texts", &folder), "0 -1 -1");
    let wrong = |declared: &str| {
        let class = &format!("PARAM_LIST(string, wanted, \"WANTED\", REQUIRED); {declared} void push(int port) {{ emit(0); }}");
        let folder = classes("texts-wrong", &[("Wrong", "1", class)]);
        let told = read("Idle -> Wrong(a) -> Discard", &folder).err().unwrap_or_default();
        std::fs::remove_dir_all(folder).unwrap();
        told
    };
    assert!(wrong("STRINGS(words, wanted);").contains("`STRINGS` has another form"));
    assert!(wrong("static u32 n; STRINGS_OF(words, n);").contains("`n` is no list of texts"));
    assert!(wrong("static void show(void) { print_text(wanted); } READ_CALL(show, text, show);").contains("`wanted` is a list of texts"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn read_handlers_have_arguments() {
    let folder = classes(
        "asked",
        &[(
            "Asked",
            "1",
            "TABLE_EXACT(ports, be32, u32, 8, 0);
             static u32 twice(u32 n) { return 2 * n; }
             static u32 port_of(be32 address)
             {
                 u32 *port = table_find(ports, &address);
                 return port ? *port : 99;
             }
             static void tell(u32 n)
             {
                 print(\"told \");
                 print_uint(n);
             }
             READ_WITH(twice, u32, u32, twice);
             READ_WITH(port_of, u32, be32, port_of);
             READ_WITH(tell, text, u32, tell);
             void push(int port)
             {
                 be32 address = htonl(0x0a000001);
                 u32 *entry = table_insert(ports, &address);
                 if (entry)
                     *entry = 7;
                 emit(0);
             }",
        )],
    );
    let text = "InfiniteSource(LIMIT 1) -> e :: Asked -> Discard;
        Script(wait 1, print $(e.twice 21), print $(e.port_of 10.0.0.1), print $(e.port_of 10.0.0.2), print $(e.tell 5), print $(e.twice), write e.twice 4, print $(e.twice), stop)";
    assert_eq!(runs(text, &folder, &[]).0.lines().collect::<Vec<_>>(), ["42", "7", "99", "told 5", "42", "8"]);
    let wrong = |declared: &str| {
        let class = &format!("static u32 twice(u32 n) {{ return 2 * n; }} {declared} void push(int port) {{ emit(0); }}");
        let folder = classes("asked-wrong", &[("Wrong", "1", class)]);
        let told = read("Idle -> Wrong -> Discard", &folder).err().unwrap_or_default();
        std::fs::remove_dir_all(folder).unwrap();
        told
    };
    assert!(wrong("READ_CALL(twice, u32, twice);").contains("`twice` has other types"));
    assert!(wrong("READ_WITH(twice, u32, u64, twice);").contains("`twice` has other types"));
    assert!(wrong("READ_WITH(twice, u32, twice);").contains("`READ_WITH` has another form"));
    assert!(wrong("static u32 n; READ_WITH(n, u32, u32, twice); WRITE(n, u32, n);").contains("two write handlers `n`"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// A class with a table of entries that end, for tests of walks.
const WALKED: &str = "struct key { u16 port; u8 kind; };
     TABLE_EXACT(seen, struct key, u64, 100, 2000000000);
     static u32 ended;
     static void end(const struct key *key, const u64 *value)
     {
         struct key again = { .port = 9, .kind = 1 };

         print(\"end \");
         print_uint(key->port);
         print(\"/\");
         print_uint(key->kind);
         print(\"=\");
         print_uint(*value);
         print(\" \");
         print_uint(table_peek(seen, key) ? 1 : 0);
         print(\" \");
         ended += 1;
         if (ended == 2)
             table_insert(seen, &again);
     }
     EXPIRED(seen, end);
     static void show(void)
     {
         struct key key;

         print_uint(table_walk(seen));
         while (table_next(seen, &key)) {
             u64 *value = table_peek(seen, &key);

             print(\" \");
             print_uint(key.port);
             print(\"/\");
             print_uint(key.kind);
             print(\"=\");
             print_uint(value ? *value : 99);
             if (key.port == 300)
                 table_delete(seen, &key);
         }
         print(\"; \");
     }
     READ_CALL(show, text, show);
     READ(ended, u32, ended);
     void push(int port)
     {
         struct key key = { .port = (u16) (packet_length() * 100), .kind = (u8) packet_length() };
         u64 *value = table_insert(seen, &key);

         if (value)
             *value += 1;
         emit(0);
     }";

#[test]
fn tables_are_walked_and_what_their_timeouts_end_is_told() {
    let folder = classes("walked", &[("Walked", "1", WALKED)]);
    let config = "s :: TimedSource(1s, DATA \"ab\", LIMIT 3) -> e :: Walked -> Discard;
        TimedSource(1.5s, DATA \"abc\", LIMIT 1) -> e; TimedSource(1s, DATA \"a\", LIMIT 1) -> e;
        Script(wait 1.6s, print $(e.show), wait 3.7s, print $(e.show), wait 5s, print $(e.show)$(e.ended), stop)";
    let printed = runs(config, &folder, &[]).0;
    // Of the last walk's keys one was deleted on the way.
    let wanted = "3 100/1=1 200/2=1 300/3=1; \nend 100/1=1 0 end 200/2=3 0 1 9/1=0; \nend 9/1=0 0 0; 3\n";
    assert_eq!(printed, wanted);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Entries that people enter end as others do, and those that end at once come in the order of
/// their keys, more than a walk has.
#[test]
fn many_entries_that_end_at_once_are_told_in_order() {
    let folder = classes(
        "many",
        &[(
            "Many",
            "1",
            "TABLE_EXACT(seen, u32, u32, 5000, 1000000000);
             static u32 ended, last, wrong;
             static void end(const u32 *key, const u32 *value)
             {
                 if (ended > 0 && *key <= last)
                     wrong += 1;
                 last = *key;
                 ended += *value;
             }
             EXPIRED(seen, end);
             READ(ended, u32, ended);
             READ(wrong, u32, wrong);
             void push(int port)
             {
                 for (u32 i = 0; i < 2000; i++) {
                     u32 key = hash32(i);
                     u32 *value = table_insert(seen, &key);

                     if (value)
                         *value = 1;
                 }
                 emit(0);
             }",
        )],
    );
    let config = "TimedSource(1s, DATA \"a\", LIMIT 1) -> e :: Many -> Discard;
        Script(wait 0.5s, write e.seen.add 00000007 05000000, wait 0.9s, print $(e.ended), wait 0.4s, print $(e.ended), wait 1s, print $(e.ended)/$(e.wrong), stop)";
    assert_eq!(runs(config, &folder, &[]).0, "0\n5\n2005/0\n");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_walks_and_expired_do_not_take_is_refused() {
    let wrong = |declared: &str| {
        let class = &format!(
            "TABLE_EXACT(t, u32, u32, 9, 5); TABLE_PREFIX(routes, be32, u32, 9); static u32 n;
             static void told(const u32 *key, const u32 *value) {{ n += *key + *value; }}
             static void other(const u32 *key) {{ n += *key; }}
             {declared} void push(int port) {{ emit(0); }}"
        );
        let folder = classes("walk-wrong", &[("Wrong", "1", class)]);
        let told = read("Idle -> Wrong -> Discard", &folder).err().unwrap_or_default();
        std::fs::remove_dir_all(folder).unwrap();
        told
    };
    for (declared, wanted) in [
        ("EXPIRED(t, told);", ""),
        ("EXPIRED(t, other);", "`other` has other types"),
        ("EXPIRED(t, n);", "`n` is not a function"),
        ("EXPIRED(n, told);", "`n` is not a table"),
        ("EXPIRED(tt, told);", "there is no table `tt`"),
        ("EXPIRED(t);", "`EXPIRED` has another form"),
        ("EXPIRED(routes, told);", "only entries of exact tables end by a timeout"),
        ("EXPIRED(t, told); EXPIRED(t, told);", "a table has one EXPIRED"),
        ("EXPIRED(t, told); SCOPE(t, GLOBAL);", "several elements would be told of one entry"),
        ("EXPIRED(t, told); void timer(int k) { timer_set(15, now()); }", "a constant from 0 to 14"),
        (
            "static void f(void) { be32 k; while (table_next(routes, &k)) n += 1; } READ_CALL(f, text, f);",
            "`table_next` works only on exact tables",
        ),
        ("static void f(u32 *k) { table_next(t, k); }", "the key is written to a variable"),
        ("static void f(void) { u16 k; table_next(t, &k); }", "the key of this table is a u32"),
    ] {
        let told = wrong(declared);
        assert!(if wanted.is_empty() { told.is_empty() } else { told.contains(wanted) }, "{declared}\n{told}");
    }
}

#[test]
fn rules_with_masks_and_ranges_are_looked_up() {
    let folder = classes(
        "rules",
        &[(
            "Rules",
            "1",
            "struct rule { u32 verdict; u32 packets; };
             TABLE_TERNARY(rules, be32, struct rule, 4);
             TABLE_RANGE(ports, be16, struct rule, 4);
             void push(int port)
             {
                 be32 address = *header(be32, 0);
                 be16 number = *header(be16, 4);
                 struct rule *rule = table_find(rules, &address);
                 struct rule *range = table_find(ports, &number);

                 if (rule)
                     rule->packets += 1;
                 print_uint(rule ? rule->verdict : 0);
                 print_uint(range ? range->verdict : 0);
                 print(\" \");
                 emit(0);
             }",
        )],
    );
    // Addresses 10.0.0.1 and 10.0.0.2, port 80; the higher priority wins, then the one entered
    // first.
    let text = "s1 :: InfiniteSource(DATA \\<0a0000010050>, LIMIT 2, STOP false, ACTIVE false) -> e :: Rules -> Discard;
        s2 :: InfiniteSource(DATA \\<0a0000020050>, LIMIT 1, STOP false, ACTIVE false) -> e;
        Script(write e.rules.add 0a000000/ff000000 1 0100000000000000, write e.rules.add 00000001/000000ff 2 0200000000000000,
          write e.ports.add 0050-0060 1 0300000000000000, write e.ports.add 0050-0050 1 0400000000000000,
          write s1.active true, wait 1, write e.ports.add 0040-0060 2 0500000000000000, write e.rules.remove 00000001/000000ff 2,
          write s2.active true, wait 1, stop)";
    let (printed, lists) = runs(text, &folder, &["e.rules.list", "e.ports.count"]);
    assert_eq!(printed, "23 23 15 ");
    assert_eq!(lists, ["0a000000/ff000000 1 0100000001000000\n", "3"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn keys_are_as_wide_as_one_likes_and_values_count() {
    let folder = classes(
        "wide",
        &[(
            "Wide",
            "1",
            "struct key { in6_t src; in6_t dst; be64 more; u32 end; };
             struct entry { u64 packets; u64 bytes; };
             TABLE_EXACT(flows, struct key, struct entry, 100, 0);
             static struct key key;
             void push(int port)
             {
                 struct entry *entry;

                 key.src = *header(in6_t, 0);
                 key.dst = *header(in6_t, 4);
                 key.end = random32() % 2;
                 entry = table_insert(flows, &key);
                 if (entry) {
                     entry->packets += 1;
                     entry->bytes += packet_length();
                 }
                 emit(0);
             }",
        )],
    );
    let text = "InfiniteSource(DATA 'abcdefghijklmnopqrstuvwxyz', LIMIT 40, STOP true) -> e :: Wide -> Discard";
    let (_, values) = runs(text, &folder, &["e.flows.list", "e.flows.count"]);
    // Two flows, since a random number is sometimes even, sometimes odd; together all packets.
    let packets = |line: &str| u64::from_str_radix(&line.split_once(' ').unwrap().1[..2], 16).unwrap();
    let counted: Vec<u64> = values[0].lines().map(packets).collect();
    assert_eq!((counted.len(), counted.iter().sum::<u64>(), values[1].as_str()), (2, 40, "2"), "{values:?}");
    assert!(values[0].starts_with("6162636465666768696a6b6c6d6e6f7065666768"), "{values:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bytes_that_were_taken_off_come_back() {
    let text =
        "InfiniteSource(DATA ABCD, LIMIT 1, STOP true) -> Resize(-2) -> Resize(+1, -1) -> Print(a) -> Resize(+3) -> Print(b) -> Discard";
    let (printed, _) = runs(text, &std::env::temp_dir(), &[]);
    assert_eq!(printed.lines().map(str::trim_end).collect::<Vec<_>>(), ["a:    2 | 4243", "b:    5 | 00004142 43"]);
}

#[test]
fn routes_change_by_handlers_and_handlers_are_listed() {
    let routes = |class: &str, first: &str, script: &str| {
        let text = format!("Idle -> rt :: {class}({first}) -> Discard; rt[1] -> Discard; Script({script}, stop)");
        runs(&text, Path::new("elements"), &["rt.table", "rt.handlers"])
    };
    let script = "write rt.add 2001:db8::/32 fe80::1 1, write rt.add 2001:db8::/32 0, write rt.set ::/0 1, write rt.add 2001:db8:7::/48 0,
        write rt.remove 2001:db8:7::/48, write rt.remove 2001:db8:7::/48, write rt.add 10.0.0.0/8 1, print $(rt.lookup 2001:db8::5) $(rt.lookup ::1)";
    let (told, values) = routes("LookupIP6Route", "::/0 ::0 0", script);
    assert_eq!(values[0], "::/0\t-\t1\n2001:db8::/32\tfe80::1\t1\n");
    for wrong in ["conflict with existing route '2001:db8::/32 fe80::1 1'", "no route '2001:db8:7::/48'", "not '10.0.0.0/8 1'"] {
        assert!(told.contains(wrong), "{told}");
    }
    assert!(told.ends_with("1 fe80::1 1\n"), "{told}");
    let listed = |handler: &str| values[1].lines().any(|line| line == handler);
    assert!(["table\tr", "lookup\tr", "add\tw", "ctrl\tw", "routes.list\tr", "routes.remove\tw"].iter().all(|h| listed(h)), "{values:?}");

    let script =
        "write rt.ctrl add 10.0.0.0/8 1.2.3.4 1\nset 0.0.0.0/0 1\nremove 9.0.0.0/8, print $(readable rt.table) $(readable rt.nothing)";
    for class in ["RadixIPLookup", "RangeIPLookup"] {
        let (told, values) = routes(class, "0.0.0.0/0 0, 9.0.0.0/8 1", script);
        assert_eq!((told.as_str(), values[0].as_str()), ("true false\n", "0.0.0.0/0\t-\t1\n10.0.0.0/8\t1.2.3.4\t1\n"), "{class}");
        let (told, _) = routes(class, "0.0.0.0/0 0, 9.0.0.0/8 1", "write rt.add 9.0.0.0/8 1.1.1.1 0, write rt.add 9.0.0.0/9 0");
        assert!(told.contains("conflict with existing route '9.0.0.0/8 - 1'") && !told.contains("/9"), "{class}: {told}");
    }
}

#[test]
fn what_is_unreachable_goes_nowhere() {
    let folder = classes("unreachable", &[]);
    let file = folder.join("routes.txt");
    std::fs::write(&file, "default via 10.0.0.1 dev eth0\nblackhole 40.0.0.0/8\n40.1.0.0/16 via 10.0.0.2 dev eth0\n").unwrap();
    let counted = |address: &str| {
        let routes = format!("rt :: RadixIPLookup(FILE {})", file.display());
        let text = format!("InfiniteSource(LIMIT 3, STOP true) -> SetIPAddress({address}) -> {routes} -> c :: Counter -> Discard");
        runs(&text, &folder, &["c.count"]).1.remove(0)
    };
    assert_eq!(["39.0.0.1", "40.0.0.1", "40.1.0.1"].map(counted), ["3", "0", "3"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A capture of two packets, so many seconds after 1970 and so many microseconds later.
fn two_packets(seconds: u32, later: u32) -> Vec<u8> {
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];
    let record = |micros| [seconds, micros, 1, 1].iter().flat_map(|word: &u32| word.to_le_bytes()).chain([7]).collect::<Vec<u8>>();
    head.iter().flat_map(|word: &u32| word.to_le_bytes()).chain(record(0)).chain(record(later)).collect()
}

#[test]
fn timers_that_init_handlers_set_count_from_the_begin_of_time() {
    let text = "static u32 fired;
        static u64 first;
        void init(void) { timer_set(0, 1000000); }
        void push(int port) { emit(0); }
        void timer(int n)
        {
            first = first == 0 ? now() : first;
            fired += 1;
            timer_set(0, now() + 1000000);
        }
        READ(fired, u32, fired);
        READ(first, u64, first);";
    let folder = classes("beat", &[("Beat", "1", text)]);
    let simulated = "Idle -> e :: Beat -> Discard; DriverManager(wait 10500us, print $(e.fired) $(e.first), stop)";
    assert_eq!(runs(simulated, &folder, &[]).0, "10 1000000000001000000\n");
    let file = folder.join("two.pcap");
    std::fs::write(&file, two_packets(1_700_000_000, 10_500)).unwrap();
    let beside = format!("FromDump({}, STOP true) -> e :: Beat -> Discard", file.display());
    assert_eq!(runs(&beside, &folder, &["e.fired", "e.first"]).1, ["10", "1700000000001000000"]);
    let made = format!("t :: TimedSource(1ms) -> q :: Queue(3) -> TimedSink(2ms); FromDump({}, STOP true) -> Discard", file.display());
    assert_eq!(runs(&made, &folder, &["t.count", "q.length"]).1, ["10", "2"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_handler_that_is_read_may_set_a_timer() {
    let text = "static u32 fired;
        static u32 arm(void) { timer_set(0, now() + 5); return 7; }
        void push(int port) { emit(0); }
        void timer(int n) { fired += 1; }
        READ_CALL(arm, u32, arm);
        READ(fired, u32, fired);";
    let folder = classes("alarm", &[("Alarm", "1", text)]);
    let config = "Idle -> e :: Alarm -> Discard; DriverManager(print $(e.arm) $(e.fired), wait 1ms, print $(e.fired), stop)";
    assert_eq!(runs(config, &folder, &[]).0, "7 0\n1\n");
    std::fs::remove_dir_all(folder).unwrap();
}
