//! `netvm graph`: configurations as pictures.

use super::tools::{Dir, ended, netvm, run, run_args};

const LOOP: &str = "FromDevice(eth0) -> p :: Paint(1) -> s :: Switch(0) -> q :: Queue -> d :: Discard; s[1] -> p; \
                    c :: Print(\"<b> & 'more' than thirty letters are cut\"); Idle -> c -> Idle;";

/// What an attribute has, in the order of elements.
fn attributes<'t>(text: &'t str, tag: &str, name: &str) -> Vec<&'t str> {
    let begins = format!("<{tag} ");
    let tags = text.split(&*begins).skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    tags.filter_map(|tag| tag.split(&format!("{name}=\"")).nth(1)?.split('"').next()).collect()
}

#[test]
fn a_configuration_is_drawn() {
    let dir = Dir::new("graph");
    let file = dir.write("loop.click", LOOP);
    assert_eq!(run(&format!("graph {file}")).good(), format!("{} is written\n", dir.file("loop.svg")));
    let svg = std::fs::read_to_string(dir.file("loop.svg")).expect("a picture");
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("prefers-color-scheme: dark") && !svg.contains("<script")
    );
    let classes = attributes(&svg, "path", "class");
    let lines: Vec<_> = classes.iter().filter(|class| !class.starts_with("head-")).collect();
    assert_eq!(lines, [&"push", &"push", &"push", &"back", &"pull", &"push", &"push"]);
    assert!(svg.contains(">p :: Paint<") && svg.contains(">Idle<") && svg.contains("orange: leads back"));
    // As text, escaped and cut; in full where the pointer rests.
    assert!(
        svg.contains("&quot;&lt;b&gt; &amp; 'more' than thirty lett…")
            && svg.contains("c :: Print(&quot;&lt;b&gt; &amp; 'more' than thirty letters are cut&quot;)")
    );
    assert!(!svg.contains("<b>"));
    let other = dir.file("loop.pdf");
    assert!(run(&format!("graph {file} -o {other}")).bad(2).contains("--format"));
    run(&format!("graph {file} -o {other} --format svg")).good();
    assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
}

#[test]
fn traffic_is_shown_on_the_lines() {
    let dir = Dir::new("graph-traffic");
    let (file, input) = (dir.write("loop.click", LOOP), dir.trace("in.pcap", 1, 1500));
    let svg = run(&format!("graph {file} -r {input} -o -")).good();
    assert_eq!(svg.matches("1,500 (100 %)</text>").count(), 4, "{svg}");
    assert!(svg.contains("1,500 packets arrived in ") && svg.matches(" k/s</text>").count() == 4, "{svg}");
    let some = dir.write(
        "some.click",
        "FromDevice(a) -> s :: RoundRobinSwitch; s[0] -> Queue(2) -> Idle; s[1] -> ToDump(never.pcap); s[2] -> Discard;",
    );
    let dot = run_args(&["graph", &some, "--map", &format!("a={input}"), "-o", "-", "--format", "dot"]).good();
    assert!(dot.starts_with("digraph ") && dot.contains("n0 -> n1 [style=solid, label=\"1,500 (100 %)\\n"), "{dot}");
    assert_eq!(dot.matches("label=\"500 (33 %)\\n").count(), 3, "{dot}");
    assert!(dot.contains("498 dropped") && dot.contains("style=dashed, label=\"0\"") && dot.contains("taillabel=\"2\""));
    assert_eq!(dir.names(), ["in.pcap", "loop.click", "some.click"]);
}

#[test]
fn where_a_picture_cannot_be_is_told() {
    let dir = Dir::new("graph-wrong");
    let file = dir.write("loop.click", LOOP);
    assert!(run(&format!("graph {file} -o nowhere/x.svg")).bad(1).contains("cannot write nowhere/x.svg"));
    assert!(run(&format!("graph {file} -r {}", dir.file("none.pcap"))).bad(1).contains("eth0: "));
    assert!(run(&format!("graph {}", dir.write("bad.click", "Foo -> Discard;"))).bad(1).contains("Foo"));
    assert_eq!(run(&format!("graph {file} -o {}", dir.file("x.dot"))).good(), "");
    assert!(std::fs::read_to_string(dir.file("x.dot")).is_ok_and(|text| text.starts_with("digraph")));
}

/// One that is found by its name lies where others may not write: its picture comes into the
/// working folder.
#[test]
fn the_picture_of_an_installed_application_is_here() {
    let dir = Dir::new("graph-here");
    let apps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps");
    let graph = |name: &str| ended(netvm(["graph", name]).env("NETVM_PATH", apps).current_dir(dir.file("")).output().expect("it runs"));
    assert_eq!(graph("nat/forward").good(), "forward.svg is written\n");
    assert_eq!(dir.names(), ["forward.svg"]);
}

#[test]
fn colours_are_attributes_that_every_viewer_knows() {
    let dir = Dir::new("graph-colours");
    let (file, input) = (dir.write("loop.click", LOOP), dir.trace("in.pcap", 1, 200));
    let svg = run(&format!("graph {file} -r {input} -o -")).good();
    assert!(!svg.contains("var("));
    let (before, style, after) = (svg.find("<style>"), svg.find("@media (prefers-color-scheme: dark)"), svg.find("</style>"));
    assert!(before < style && style < after);
    let painted = svg[after.unwrap_or(0)..].split('<').filter(|tag| ["rect ", "text ", "path "].iter().any(|name| tag.starts_with(name)));
    for tag in painted {
        assert!(tag.contains("fill=\"#") || tag.contains("stroke=\"#"), "{tag}");
    }
}

#[test]
fn wide_configurations_have_a_box_for_compounds_that_are_alike() {
    let dir = Dir::new("graph-wide");
    let ports: String = (0..30).map(|n| format!("s[{n}] -> p{n} :: Port -> d; ")).collect();
    let class = "elementclass Port { input -> c :: Counter -> q :: Queue -> Unqueue -> output }";
    let text = format!("{class} d :: Discard; FromDevice(a) -> s :: RoundRobinSwitch; {ports}");
    let (file, input) = (dir.write("wide.click", &text), dir.trace("in.pcap", 1, 300));
    let svg = run(&format!("graph {file} -r {input} -o -")).good();
    let width: f64 = attributes(&svg, "svg", "width")[0].parse().expect("a width");
    assert!(width < 1400.0, "{width}");
    assert!(svg.contains(">p0 … p29 :: Port<") && svg.contains(">30 elements that are alike<") && svg.contains(">0–29<"), "{svg}");
    assert!(svg.contains(">In p0 … p29 :: Port, 30 that are alike; arguments of p0<") && svg.contains(">c :: Counter<"));
    // Lines in the panel and to the box have the packets of all.
    assert_eq!(svg.matches("300 (100 %)</text>").count(), 7, "{svg}");
    let all = run(&format!("graph {file} --expand -o -")).good();
    assert!(all.contains(">p29/c :: Counter<") && !all.contains("alike"));
}
