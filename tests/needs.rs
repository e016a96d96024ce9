//! What tests do where a tool is missing that they compare with or work by: they skip, and say so;
//! in continuous integration (`CI=true`) they fail, so that nothing is left out unseen. Test files
//! take this in by its path. Captures and permissions are not tools: what needs those skips
//! anywhere.

/// A tool is missing; the caller returns.
#[track_caller]
pub fn missing(tool: impl std::fmt::Display) {
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    assert!(!ci, "{tool} is missing, and nothing is skipped where CI=true: install it (scripts/packages)");
    eprintln!("skipped: needs {tool}");
}
