//! What was not captured of packets is missing still when they become shorter, longer or are moved,
//! and where it is set.

use super::recorded;
use netvm_aot::build::Compiler;

#[test]
fn lengths_on_the_wire_go_with_the_packet() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    // Twelve packets of 60 bytes, which quick forms take.
    let packets = format!("; packet: {}\n", "05".repeat(60)).repeat(12);
    let note = "pbl.orig\npush 0\npstore.16\n";
    for moves in [
        "push 4\npkt.trim\n",
        "",
        "push 4\npkt.pull\n",
        "push 2\npkt.pull\npush 2\npkt.push\n",
        "push 0\npkt.trim\n",
        "push 6\npkt.push\n",
        "push 6\npkt.grow\n",
        "push 70\nwire.set\n",
        "push 9\nwire.set\npush 4\npkt.pull\n",
        "pbl.orig\npush 4\npkt.trim\nwire.set\n",
        "push 4\npkt.pull\npush 61\nwire.set\npush 9\npkt.trim\n",
    ] {
        let case = format!("lengths\n{packets}; budget: 1000000\nsegment .push\npop\n{moves}{note}ret 1\nends\n");
        assert!(recorded(&case), "{moves}");
    }
}
