//! SOME/IP (AUTOSAR's protocol specification, section 4.1), with `-T someip`: the header.

use super::view::{Printed, View};
use super::{Line, names, put};

#[rustfmt::skip]
const KINDS: &[(u8, &str)] = &[
    (0x00, "REQUEST"), (0x01, "REQUEST_NO_RETURN"), (0x02, "NOTIFICATION"), (0x80, "RESPONSE"), (0x81, "ERROR"), (0x20, "TP_REQUEST"),
    (0x21, "TP_REQUEST_NO_RETURN"), (0x22, "TP_NOTIFICATION"), (0xa0, "TP_RESPONSE"), (0xa1, "TP_ERROR"),
];
#[rustfmt::skip]
const CODES: &[(u8, &str)] = &[
    (0x00, "E_OK"), (0x01, "E_NOT_OK"), (0x02, "E_UNKNOWN_SERVICE"), (0x03, "E_UNKNOWN_METHOD"), (0x04, "E_NOT_READY"),
    (0x05, "E_NOT_REACHABLE"), (0x06, "E_TIMEOUT"), (0x07, "E_WRONG_PROTOCOL_VERSION"), (0x08, "E_WRONG_INTERFACE_VERSION"),
    (0x09, "E_MALFORMED_MESSAGE"), (0x0a, "E_WRONG_MESSAGE_TYPE"), (0x0b, "E_E2E_REPEATED"), (0x0c, "E_E2E_WRONG_SEQUENCE"),
    (0x0d, "E_E2E"), (0x0e, "E_E2E_NOT_AVAILABLE"), (0x0f, "E_E2E_NO_NEW_DATA"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "someip";
    line.put("SOMEIP");
    if view.len() < 16 {
        line.invalid();
        return Ok(());
    }
    let message = view.u32(0)?;
    let sort = if message & 0x8000 != 0 { "event" } else { "method" };
    put!(line, ", service {}, {sort} {}, len {}", message >> 16, message & 0x7fff, view.u32(4)?);
    put!(line, ", client {}, session {}", view.u16(8)?, view.u16(10)?);
    put!(line, ", pver {}, iver {}", view.u8(12)?, view.u8(13)?);
    put!(line, ", msgtype {}", names::find(KINDS, view.u8(14)?).unwrap_or("Unknown"));
    put!(line, ", retcode {}\n", names::find(CODES, view.u8(15)?).unwrap_or("Unknown"));
    Ok(())
}
