//! The report as JSON. Times are seconds since 1970 as text, which keeps all digits; sides have a
//! `name` where --hosts knows one.

use super::{Args, Section};
use crate::hosts::Hosts;
use netvm::io::stats::{Amount, Conversation, Endpoint, Layer, Port, Report, Side, Size};
use serde_json::{Value, json};

/// The whole report, with the sections that are asked for.
pub(super) fn report(args: &Args, report: &Report, hosts: &Hosts) -> Value {
    let mut all = serde_json::Map::new();
    let mut put = |section: Section, name: &str, value: &dyn Fn() -> Value| {
        if args.shows(section) {
            all.insert(name.to_owned(), value());
        }
    };
    put(Section::Summary, "summary", &|| summary(report));
    put(Section::Protocols, "protocols", &|| protocols(report));
    put(Section::Ports, "ports", &|| report.ports.iter().take(args.rows(report.ports.len())).map(port).collect());
    put(Section::Sizes, "sizes", &|| report.sizes.iter().map(size).collect());
    put(Section::Rates, "rates", &|| rates(report));
    if args.shows(Section::Conversations) || args.shows(Section::Endpoints) {
        all.insert("layers".to_owned(), report.layers.iter().map(|one| layer(args, one, hosts)).collect());
    }
    Value::Object(all)
}

/// Nanoseconds as seconds with nine digits.
fn time(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}.{:09}", nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000)
}

fn seconds((first, last): (i64, i64)) -> f64 {
    (i128::from(last) - i128::from(first)) as f64 / 1e9
}

fn amount(amount: Amount) -> Value {
    json!({ "packets": amount.packets, "bytes": amount.bytes })
}

fn summary(report: &Report) -> Value {
    let times = report.span.map(|(first, last)| json!({ "first": time(first), "last": time(last), "seconds": seconds((first, last)) }));
    json!({ "packets": report.total.packets, "bytes": report.total.bytes, "captured_bytes": report.captured, "time": times })
}

/// A list of nodes, each with the number of protocols that it is within.
fn protocols(report: &Report) -> Value {
    let node =
        |n: &netvm::io::stats::Node| json!({ "depth": n.depth, "protocol": n.name, "packets": n.amount.packets, "bytes": n.amount.bytes });
    report.protocols.iter().map(node).collect()
}

fn port(port: &Port) -> Value {
    json!({ "transport": port.kind.name(), "port": port.port, "packets": port.amount.packets, "bytes": port.amount.bytes })
}

fn size(size: &Size) -> Value {
    json!({ "from": size.from, "to": size.to, "packets": size.amount.packets, "bytes": size.amount.bytes, "least": size.seen.map(|seen| seen.0), "most": size.seen.map(|seen| seen.1) })
}

fn rates(report: &Report) -> Value {
    let rates = report.rates.clone().fitted(super::text::INTERVALS);
    let rows: Vec<Value> =
        rates.rows().map(|(begin, amount)| json!({ "begin": time(begin), "packets": amount.packets, "bytes": amount.bytes })).collect();
    json!({ "interval_seconds": rates.interval() as f64 / 1e9, "intervals": rows, "outside": amount(rates.outside()) })
}

fn layer(args: &Args, layer: &Layer, hosts: &Hosts) -> Value {
    let mut value = json!({ "layer": layer.kind.name() });
    if args.shows(Section::Conversations) {
        let count = args.rows(layer.conversations.len());
        let rows: Vec<Value> = layer.conversations.iter().take(count).map(|one| conversation(one, hosts)).collect();
        value["conversations_total"] = layer.conversations.len().into();
        value["conversations"] = rows.into();
        value["other_conversations"] = amount(layer.other_conversations);
    }
    if args.shows(Section::Endpoints) {
        let count = args.rows(layer.endpoints.len());
        let rows: Vec<Value> = layer.endpoints.iter().take(count).map(|one| endpoint(one, hosts)).collect();
        value["endpoints_total"] = layer.endpoints.len().into();
        value["endpoints"] = rows.into();
        value["other_endpoints"] = amount(layer.other_endpoints);
    }
    value
}

fn side(side: Side, hosts: &Hosts) -> Value {
    match side {
        Side::Ethernet(_) => json!({ "address": side.to_string() }),
        Side::Ip(address, port) => {
            let mut value = json!({ "address": address.to_string() });
            if let Some(port) = port {
                value["port"] = port.into();
            }
            if let Some(name) = hosts.name(address) {
                value["name"] = name.into();
            }
            value
        }
    }
}

fn conversation(one: &Conversation, hosts: &Hosts) -> Value {
    json!({
        "a": side(one.sides.0, hosts), "b": side(one.sides.1, hosts), "a_to_b": amount(one.there), "b_to_a": amount(one.back),
        "first": time(one.span.0), "seconds": seconds(one.span),
    })
}

fn endpoint(one: &Endpoint, hosts: &Hosts) -> Value {
    let mut value = side(one.side, hosts);
    value["sent"] = amount(one.sent);
    value["received"] = amount(one.received);
    value
}
