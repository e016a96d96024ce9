//! The router's forward path with something on the way, or beside, that is no program: what that
//! costs. The same by hand is the router alone.

use super::sides::{Case, scratch};

/// A copy of each packet that is dropped.
pub fn tee(entries: usize) -> Case {
    router("router, copies", entries, "t :: Tee(2)", "t[1] -> Discard;")
}

/// A queue that is emptied on the way.
pub fn queue(entries: usize) -> Case {
    router("router, a queue", entries, "Queue(1000) -> Unqueue", "")
}

/// A script that nobody calls.
pub fn script(entries: usize) -> Case {
    router("router, a script", entries, "Null", "Script(TYPE PASSIVE, return 1);")
}

/// The router with that behind its checks.
fn router(application: &'static str, entries: usize, on_the_way: &str, beside: &str) -> Case {
    let mut case = super::router(entries);
    let place = "-> CheckLength($MTU)\n";
    let text = std::fs::read_to_string(&case.file).unwrap_or_default();
    let text = text.replace(place, &format!("{place}    -> {on_the_way}\n")) + "\n" + beside;
    case.file = scratch().join("detour.click");
    // If it cannot be written, whoever reads it says so.
    let _ = std::fs::write(&case.file, text);
    case.application = application;
    case
}
