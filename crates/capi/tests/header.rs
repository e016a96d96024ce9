//! `include/netvm.h` is what the table of the interface makes. `NETVM_BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/netvm.h");
    let wanted = netvm_capi::header::text();
    if std::env::var_os("NETVM_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "include/netvm.h is not what crates/capi/src/lib.rs says; run the tests with NETVM_BLESS=1");
}
