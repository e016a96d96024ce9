//! Statistics for Prometheus: its text format 0.0.4, or OpenMetrics 1.0 for who asks for that, over
//! HTTP.
//!
//! What is told is what `netvm ctl stats --json` prints, in other words. One request for each
//! connection; a client that says nothing for some seconds, or says too much, is hung up on.
//! `httparse`, the parser of hyper, reads requests.

use super::{Line, statistics};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Where statistics are told if nothing else is said: on this machine only.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9478";
/// The longest request, and how long a client may be silent.
const LONGEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(5);
const MOST_HEADERS: usize = 64;

/// The two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

pub(super) fn serve(mut stream: TcpStream, line: &Line) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(asked) = request(&mut stream)? else { return Ok(()) };
    let format = match asked {
        Ok(format) => format,
        Err(status) => return stream.write_all(answer(status, "text/plain; charset=utf-8", &format!("{status}\n")).as_bytes()),
    };
    let begun = line.begun;
    line.answer(&mut stream, move |target| answer("200 OK", format.content_type(), &text(&statistics(target, begun), format)))?;
    Ok(())
}

fn answer(status: &str, content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// What is asked for, or the status that refuses it; none if the client has gone.
fn request(stream: &mut impl Read) -> io::Result<Option<Result<Format, &'static str>>> {
    let (mut bytes, mut room) = (Vec::new(), [0; 1024]);
    loop {
        let read = stream.read(&mut room)?;
        if read == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&room[..read]);
        match understood(&bytes) {
            Some(asked) => return Ok(Some(asked)),
            None if bytes.len() > LONGEST => return Ok(Some(Err("431 Request Header Fields Too Large"))),
            None => {}
        }
    }
}

/// What the bytes that have come ask for, or the status that refuses it; none if there are too few.
fn understood(bytes: &[u8]) -> Option<Result<Format, &'static str>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Err(_) => return Some(Err("400 Bad Request")),
        Ok(httparse::Status::Complete(_)) => {}
    }
    let path = request.path.unwrap_or_default();
    if request.method != Some("GET") {
        return Some(Err("405 Method Not Allowed"));
    }
    if !matches!(path.split('?').next(), Some("/metrics" | "/")) {
        return Some(Err("404 Not Found"));
    }
    let accepts = |header: &httparse::Header<'_>| {
        header.name.eq_ignore_ascii_case("accept") && String::from_utf8_lossy(header.value).contains("application/openmetrics-text")
    };
    Some(Ok(if request.headers.iter().any(accepts) { Format::OpenMetrics } else { Format::Prometheus }))
}

/// The values of a quantity, each with its labels.
type Samples = Vec<(Vec<(&'static str, String)>, f64)>;

/// Statistics in a format.
fn text(stats: &Value, format: Format) -> String {
    let mut text = String::new();
    for (name, kind, help, samples) in families(stats) {
        if samples.is_empty() {
            continue;
        }
        // In OpenMetrics a counter's family is called without the end of its samples' name.
        let family = if format == Format::OpenMetrics { name.strip_suffix("_total").unwrap_or(name) } else { name };
        let _ = writeln!(text, "# HELP {family} {help}\n# TYPE {family} {kind}");
        for (labels, value) in samples {
            let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    if format == Format::OpenMetrics {
        text += "# EOF\n";
    }
    text
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn families(stats: &Value) -> Vec<(&'static str, &'static str, &'static str, Samples)> {
    let one = |value: &Value| value.as_f64().map(|value| vec![(Vec::new(), value)]).unwrap_or_default();
    let version = vec![(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)];
    vec![
        ("netvm_build_info", "gauge", "The version that runs.", version),
        ("netvm_run_seconds", "gauge", "How long the control socket has been open.", one(&stats["seconds"])),
        ("netvm_arrivals_total", "counter", "Packets that came from captures and devices.", one(&stats["arrived"])),
        ("netvm_busy_ratio", "gauge", "The part of the time in which the run did not wait for devices.", one(&stats["busy"])),
        ("netvm_thread_cpu_seconds_total", "counter", "For how long a thread of the run was on a core.", threads(stats, "cpu_seconds")),
        ("netvm_thread_packets_total", "counter", "Packets that came to a thread.", threads(stats, "packets")),
        (
            "netvm_thread_nanoseconds_per_packet",
            "gauge",
            "Time of a thread on a core for a packet, since it began.",
            threads(stats, "ns_per_packet"),
        ),
        ("netvm_thread_waiting_epochs", "gauge", "Epochs of packets that wait for a thread.", threads(stats, "waiting")),
        ("netvm_thread_room_epochs", "gauge", "The most epochs that wait for a thread while packets flow.", threads(stats, "room")),
        ("netvm_element_packets_total", "counter", "Packets that came to an element.", of_elements(stats, "packets")),
        ("netvm_element_output_packets_total", "counter", "Packets that left an element by an output.", outputs(stats)),
        ("netvm_element_drops_total", "counter", "Packets that an element dropped, by reason.", drops(stats)),
        ("netvm_element_traps_total", "counter", "Packets that an element's program trapped on.", of_elements(stats, "traps")),
        (
            "netvm_element_nanoseconds_per_packet",
            "gauge",
            "Time in an element for a packet, if it is measured.",
            of_elements(stats, "ns_per_packet"),
        ),
        ("netvm_device_frames_total", "counter", "Frames that a device received and sent.", frames(stats)),
        ("netvm_device_drops_total", "counter", "Frames that were lost at a device, by reason.", device_drops(stats)),
    ]
}

fn list<'s>(stats: &'s Value, name: &str) -> impl Iterator<Item = &'s Value> {
    stats[name].as_array().into_iter().flatten()
}

fn label(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn threads(stats: &Value, what: &str) -> Samples {
    let labels = |of: &Value| vec![("thread", label(of, "name")), ("id", of["id"].to_string())];
    list(stats, "threads").filter_map(|of| Some((labels(of), of[what].as_f64()?))).collect()
}

fn element(of: &Value) -> Vec<(&'static str, String)> {
    vec![("element", label(of, "name")), ("class", label(of, "class"))]
}

fn of_elements(stats: &Value, what: &str) -> Samples {
    list(stats, "elements").filter_map(|of| Some((element(of), of[what].as_f64()?))).collect()
}

fn outputs(stats: &Value) -> Samples {
    let by_output = |of: &Value| {
        let outputs = of["out"].as_array().into_iter().flatten().enumerate();
        let sample = |(port, count): (usize, &Value)| Some(([element(of), vec![("output", port.to_string())]].concat(), count.as_f64()?));
        outputs.filter_map(sample).collect::<Vec<_>>()
    };
    list(stats, "elements").flat_map(by_output).collect()
}

/// Numbers by reason, or one for all.
fn by_reason(of: &Value, labels: &[(&'static str, String)]) -> Samples {
    let with = |reason: &str| [labels.to_vec(), vec![("reason", reason.to_owned())]].concat();
    match of {
        Value::Object(reasons) => reasons.iter().filter_map(|(reason, count)| Some((with(reason), count.as_f64()?))).collect(),
        count => count.as_f64().map(|count| vec![(with("all"), count)]).unwrap_or_default(),
    }
}

fn drops(stats: &Value) -> Samples {
    list(stats, "elements").flat_map(|of| by_reason(&of["dropped"], &element(of))).collect()
}

fn device(of: &Value) -> Vec<(&'static str, String)> {
    vec![("device", label(of, "device")), ("interface", label(of, "name"))]
}

fn frames(stats: &Value) -> Samples {
    let both = |of: &Value| {
        let one =
            |direction: &'static str| Some(([device(of), vec![("direction", direction.to_owned())]].concat(), total(&of[direction])?));
        ["received", "sent"].into_iter().filter_map(one).collect::<Vec<_>>()
    };
    list(stats, "devices").flat_map(both).collect()
}

/// A number, or the sum of numbers.
fn total(value: &Value) -> Option<f64> {
    let sum = |parts: &serde_json::Map<String, Value>| parts.values().filter_map(Value::as_f64).sum();
    value.as_f64().or_else(|| value.as_object().map(sum))
}

fn device_drops(stats: &Value) -> Samples {
    list(stats, "devices").flat_map(|of| by_reason(&of["dropped"], &device(of))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_are_understood_and_others_refused() {
        let get = |path: &str, more: &str| understood(format!("GET {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n").as_bytes());
        assert_eq!(get("/metrics", ""), Some(Ok(Format::Prometheus)));
        assert_eq!(get("/metrics?x=1", "accept: application/openmetrics-text;version=1.0.0\r\n"), Some(Ok(Format::OpenMetrics)));
        assert_eq!(get("/other", ""), Some(Err("404 Not Found")));
        assert_eq!(understood(b"POST /metrics HTTP/1.1\r\n\r\n"), Some(Err("405 Method Not Allowed")));
        assert_eq!(understood(b"\x00\x01 nothing\r\n\r\n"), Some(Err("400 Bad Request")));
        assert_eq!(understood(b"GET /metrics HT"), None);
        let mut endless = io::repeat(b'a');
        assert!(matches!(request(&mut endless), Ok(Some(Err(_)))));
    }

    #[test]
    fn both_formats_have_the_same_numbers() {
        let stats = json!({ "seconds": 1.5, "arrived": 7, "elements": [
            { "name": "q\"\\", "class": "Queue", "packets": 5, "out": [3, 1], "traps": 0, "dropped": { "queue full": 2 }, "ns_per_packet": null },
        ], "threads": [{ "name": "replica", "id": 7, "cpu_seconds": 0.5, "core": 1, "packets": 5, "ns_per_packet": 1e8, "waiting": 2, "room": 4 }], "devices": [{ "device": "in", "name": "dev:eth0", "received": 9, "sent": { "a": 1, "b": 2 }, "dropped": { "full": 4 } }] });
        let old = text(&stats, Format::Prometheus);
        for line in [
            "# TYPE netvm_arrivals_total counter\nnetvm_arrivals_total 7\n",
            "netvm_element_packets_total{element=\"q\\\"\\\\\",class=\"Queue\"} 5\n",
            "netvm_element_output_packets_total{element=\"q\\\"\\\\\",class=\"Queue\",output=\"1\"} 1\n",
            "netvm_element_drops_total{element=\"q\\\"\\\\\",class=\"Queue\",reason=\"queue full\"} 2\n",
            "netvm_device_frames_total{device=\"in\",interface=\"dev:eth0\",direction=\"sent\"} 3\n",
            "netvm_thread_cpu_seconds_total{thread=\"replica\",id=\"7\"} 0.5\n",
            "netvm_thread_packets_total{thread=\"replica\",id=\"7\"} 5\n",
            "netvm_thread_nanoseconds_per_packet{thread=\"replica\",id=\"7\"} 100000000\n",
            "netvm_thread_waiting_epochs{thread=\"replica\",id=\"7\"} 2\n",
            "netvm_thread_room_epochs{thread=\"replica\",id=\"7\"} 4\n",
            "netvm_device_drops_total{device=\"in\",interface=\"dev:eth0\",reason=\"full\"} 4\n",
        ] {
            assert!(old.contains(line), "{line} is not in\n{old}");
        }
        assert!(!old.contains("netvm_element_nanoseconds") && !old.contains("# EOF"));
        let new = text(&stats, Format::OpenMetrics);
        assert!(new.contains("# TYPE netvm_arrivals counter\nnetvm_arrivals_total 7\n") && new.ends_with("# EOF\n"), "{new}");
    }
}
