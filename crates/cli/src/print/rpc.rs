//! ONC RPC (RFC 5531) with `-T rpc` over UDP: calls are taken for those of the port mapper (RFC
//! 1833), replies for those of NFS, as tcpdump has it.
//!
//! Leaves out: what NFS answers with, which the call would say.

use super::transport::Ip;
use super::view::{Printed, View};
use super::{Line, names, put};

const CALL: u32 = 0;
/// What a call begins with, up to its credentials.
const CALL_BYTES: usize = 32;
const PROCEDURES: &[(u32, &str)] = &[(0, "null"), (1, "set"), (2, "unset"), (3, "getport"), (4, "dump"), (5, "call")];
#[rustfmt::skip]
const AUTHENTICATION: &[(u32, &str)] = &[
    (0, "OK"), (1, "Bogus Credentials (seal broken)"), (2, "Rejected Credentials (client should begin new session)"),
    (3, "Bogus Verifier (seal broken)"), (4, "Verifier expired or was replayed"), (5, "Credentials are too weak"), (6, "Bogus response verifier"),
    (7, "Unknown failure"),
];

/// Prints what a datagram carries, from the addresses on.
pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    match view.u32(4)? {
        CALL => call(line, ip, view),
        _ => reply(line, ip, view),
    }
}

fn call(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "sunrpc";
    view.take(0, CALL_BYTES)?;
    let procedure = view.u32(20)?;
    ip.named(line, &format!("0x{:x}", view.u32(0)?), "0x6f");
    put!(line, "{} {}", view.len(), names::find_or(PROCEDURES, procedure, || format!(" proc #{procedure}")));
    let version = view.u32(8)?;
    if version != 2 {
        put!(line, " [rpcver {version}]");
    }
    if matches!(procedure, 1..=3 | 5) {
        put!(line, " {}.{}", view.u32(12)?, view.u32(16)?);
    }
    Ok(())
}

fn reply(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "nfs";
    ip.named(line, "2049", &view.u32(0)?.to_string());
    match view.u32(8)? {
        0 => put!(line, "reply ok {}", view.len()),
        1 => {
            put!(line, "reply ERR {}: ", view.len());
            match view.u32(12)? {
                0 => put!(line, "RPC Version mismatch ({}-{})", view.u32(16)?, view.u32(20)?),
                1 => {
                    let why = view.u32(16)?;
                    put!(line, "Auth {}", names::find_or(AUTHENTICATION, why, || format!("Invalid failure code {why}")));
                }
                why => put!(line, "Unknown reason for rejecting rpc message {why}"),
            }
        }
        status => put!(line, "reply Unknown rpc response code={status} {}", view.len()),
    }
    Ok(())
}
