//! Routes as CSV: `prefix,gateway,port`; the gateway may be empty or `-`. A first line that has no
//! prefix is the head.

use super::{Route, prefix};

/// The route of a line.
pub(super) fn route(line: &str, first: bool) -> Result<Option<Route>, String> {
    let fields: Vec<&str> = line.splitn(4, ',').map(|field| field.trim().trim_matches('"')).collect();
    let [to, gateway, port] = fields[..] else { return Err("expected `prefix,gateway,port`".to_owned()) };
    let Some((address, length)) = prefix(to) else {
        return if first && !to.starts_with(|c: char| c.is_ascii_digit() || c == ':') {
            Ok(None)
        } else {
            Err(format!("`{to}` is not a prefix"))
        };
    };
    let gateway = match gateway {
        "" | "-" => None,
        gateway => Some(gateway.parse().map_err(|_| format!("`{gateway}` is not an address"))?),
    };
    let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    Route::new(address, length, gateway, port).map(Some).ok_or_else(|| format!("`{to}` is not a prefix"))
}
