//! SSH (RFC 4253): the line that names the version. What follows is not text.

use super::Line;
use super::view::{Printed, View};

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ssh";
    let bytes = view.captured();
    if !bytes.starts_with(b"SSH-") {
        return Ok(());
    }
    line.put(": SSH: ");
    let text = bytes.iter().take_while(|b| matches!(b, b' '..=b'~'));
    line.text.extend(text.map(|b| char::from(*b)));
    Ok(())
}
