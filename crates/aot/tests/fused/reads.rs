//! Packets that the runtime only reads lie somewhere else afterwards, where they were moved before.

use super::recorded;
use netvm_aot::build::Compiler;

#[test]
fn packets_that_grew_are_found_where_the_runtime_leaves_them() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    // Quick forms take packets of 60 bytes; what compares fields is the runtime's.
    let packets = format!("; packet: {}\n", "0506070809".repeat(12)).repeat(12);
    let reads = "push 3\npush 13\npush 4\njfield.eq same\nsame:\n";
    for moves in
        ["push 10\npkt.push\n", "push 5\npkt.pull\n", "push 4\npkt.pull\npush 9\npkt.push\n", "push 6\npkt.pull\npush 2\npkt.unpull\n"]
    {
        let case =
            format!("reads\n{packets}; budget: 1000000\nsegment .push\npop\n{moves}{reads}push 7\npush 1\npstore.8\n{moves}ret 1\nends\n");
        assert!(recorded(&case), "{moves}");
    }
}
