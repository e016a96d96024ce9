//! Tables whose entries live for a time: they are told a packet's time once, and anew when that
//! changes.

use super::recorded;
use netvm_aot::build::Compiler;

/// Uses the entry of a key, gives the packet a later time, and looks for the entry again; what was
/// found stands behind.
fn looked_for(later: u32, direction: &str) -> String {
    let key = "push 0\nupload.16\nw.trunc 32, 16\n";
    let again = format!("push 2\nupload.8\npush {later}\nmul\nw.zext 32, 64\ntime.set\n");
    let note = "push 0\npush 8\npstore.8\nlocload 1\nt.valid t\npush 0\njcmp.eq none\npush 1\npush 8\npstore.8\nnone:\n";
    let learn = format!("{key}t.insert t\nlocstore 0\n");
    let before = if direction == "both" { learn.clone() } else { format!("push 2\nupload.8\npush 1\njcmp.eq other\n{learn}other:\n") };
    format!(
        "segment .tables\n.table t, exact, 16, 4, 100, 1000\nends\nsegment .push\n.local 0, entry t\n.local 1, entry t\npop\n\
         {before}{again}{key}t.find t\nlocstore 1\n{note}ret 1\nends\n"
    )
}

#[test]
fn entries_end_when_packets_times_change() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    // Twelve packets of 60 bytes, which quick forms take, of three keys, which the first of them
    // learn. Of two the time changes.
    let packet = |n: u32| format!("; packet: 0{}00{:02x}{}\n", n % 3, if n == 6 || n == 10 { n } else { 0 }, "00".repeat(57));
    let packets: String = (0..12).map(packet).collect();
    for later in [0, 1, 400, 1000, 3000] {
        for direction in ["both", "one"] {
            let case = format!("clocks\n{packets}; budget: 1000000\n{}", looked_for(later, direction));
            assert!(recorded(&case), "{later} {direction}");
        }
    }
}
