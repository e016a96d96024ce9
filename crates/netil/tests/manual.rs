//! `docs/netil.md` is what the generator makes. `NETVM_BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_manual_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/netil.md");
    let wanted = netil::manual::manual();
    if std::env::var_os("NETVM_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/netil.md is not what the instruction table says; run the tests with NETVM_BLESS=1");
}
