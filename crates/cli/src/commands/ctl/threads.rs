//! `netvm ctl threads`, `move`, `replicas` and `flow`: the threads of a run, moved and multiplied
//! while packets flow, and which of them has which packets.

use super::Client;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Between two looks at how long threads were on a core.
const APART: Duration = Duration::from_millis(200);
/// How long replicas that are to come are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lists them, with how busy they are at present.
pub(super) fn list(client: &mut Client, json: bool, out: &mut Out) -> Outcome {
    let (before, begun) = (client.ask(&json!({ "op": "threads" }))?, Instant::now());
    std::thread::sleep(APART);
    let mut now = client.ask(&json!({ "op": "threads" }))?;
    let passed = begun.elapsed().as_secs_f64();
    // What a thread only looked for frames it was idle.
    let part = |thread: &Value, name: &str| thread[name].as_f64().unwrap_or(0.0);
    let seconds = |thread: &Value| part(thread, "cpu_seconds") - part(thread, "looked_seconds");
    for thread in now["threads"].as_array_mut().into_iter().flatten() {
        let was = before["threads"].as_array().into_iter().flatten().find(|it| it["id"] == thread["id"]);
        let busy = was.map(|was| ((seconds(thread) - seconds(was)) / passed).clamp(0.0, 1.0));
        let rate = was.and_then(|was| Some(thread["packets"].as_u64()?.saturating_sub(was["packets"].as_u64()?) as f64 / passed));
        (thread["busy"], thread["packets_per_second"]) = (busy.into(), rate.into());
    }
    if json {
        return out.json(&now);
    }
    table(&now).iter().try_for_each(|line| out.line(line))
}

/// Columns of the threads that packets come to.
fn table(answer: &Value) -> Vec<String> {
    let head = ["thread", "core", "pinned", "busy", "packets", "packets/s", "waiting"].map(str::to_owned);
    let known = answer["threads"].as_array().into_iter().flatten().filter(|thread| thread.get("packets").is_some());
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(known.map(row)).collect();
    let widths: [usize; 7] = std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; 7]| {
        let cell = |(n, text): (usize, &String)| if n == 0 { format!("{text:<0$}", widths[n]) } else { format!("{text:>0$}", widths[n]) };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

fn row(thread: &Value) -> [String; 7] {
    let number = |name: &str| thread[name].as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string());
    let rest = if thread["active"] == false { " (out)" } else { "" };
    let waiting = thread["room"].as_u64().map_or_else(|| "-".to_owned(), |room| format!("{} of {room}", number("waiting")));
    let busy = thread["busy"].as_f64().map_or_else(|| "-".to_owned(), |busy| format!("{:.0} %", busy * 100.0));
    let rate = thread["packets_per_second"].as_f64().map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    let name = thread["name"].as_str().unwrap_or_default();
    [format!("{name}{rest}"), number("core"), number("pinned"), busy, number("packets"), rate, waiting]
}

/// Moves a thread to a core, or lets it run on any.
pub(super) fn move_to(client: &mut Client, thread: &str, core: &str, out: &mut Out) -> Outcome {
    let number = match core {
        "any" => None,
        core => Some(core.parse::<u64>().map_err(|_| Failure::usage(format_args!("'{core}' is no core: a number, or any")))?),
    };
    let answer = client.ask(&json!({ "op": "move", "thread": thread, "core": number }))?;
    let to = number.map_or_else(|| "any core".to_owned(), |core| format!("core {core}"));
    out.line(&format!("{thread}: {to}, pause {:.1} us", answer["pause_us"].as_f64().unwrap_or(0.0)))
}

/// Tells how many replicas there are, or changes that and waits until it is so.
pub(super) fn replicas(client: &mut Client, wanted: Option<&str>, json: bool, out: &mut Out) -> Outcome {
    let number =
        |text: &str| text.parse::<u64>().map_err(|_| Failure::usage(format_args!("'{text}' is no number of replicas: a number, or auto")));
    let wanted: Option<Value> = match wanted {
        Some("auto") => Some("auto".into()),
        wanted => wanted.map(number).transpose()?.map(Value::from),
    };
    let before = client.ask(&json!({ "op": "replicas" }))?;
    let mut now = match &wanted {
        Some(wanted) => client.ask(&json!({ "op": "replicas", "replicas": wanted }))?,
        None => before.clone(),
    };
    let end = Instant::now() + PATIENCE;
    // One with flows may be left in an hour.
    while wanted.is_some() && now["active"] != now["wanted"] && !is_left_later(&now) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
        now = client.ask(&json!({ "op": "replicas" }))?;
    }
    if wanted.as_ref().is_some_and(|wanted| wanted.is_number() && now["wanted"] != *wanted) {
        return Err(Failure::failed(format_args!("there are {} replicas: more could not be made", now["wanted"])));
    }
    if json {
        return out.json(&now);
    }
    out.line(&told(&now, (wanted.is_some() && before["active"] != now["active"]).then_some(&before)))
}

/// Whether more get packets than are to because of the flows whose state they keep.
fn is_left_later(now: &Value) -> bool {
    now["keeps_flows"] == true && now["active"].as_u64() > now["wanted"].as_u64()
}

fn told(now: &Value, before: Option<&Value>) -> String {
    if now.is_null() {
        return "no replicas of a stage".to_owned();
    }
    let (active, wanted) = (now["active"].as_u64().unwrap_or(0), now["wanted"].as_u64().unwrap_or(0));
    let mut text = format!("{active} replica{}", if active == 1 { "" } else { "s" });
    if is_left_later(now) {
        text += &format!(", {wanted} when the last flows of the others have ended; new ones go to {wanted}");
    } else if active != wanted {
        text += &format!(", {wanted} from the next packets on");
    }
    if let Some(auto) = now["auto"].as_str() {
        text += &format!("\nauto: {auto}");
    }
    let Some(before) = before else { return text };
    text += &format!(", pause of the sources {:.1} us", now["pause_us"].as_f64().unwrap_or(0.0));
    if before["made_ms"] != now["made_ms"] {
        text += &format!("; the last one was made in {:.0} ms while packets flowed", now["made_ms"].as_f64().unwrap_or(0.0));
    }
    text
}

/// Tells which replica has a packet, or changes that.
pub(super) fn flow(client: &mut Client, wanted: Option<&str>, json: bool, out: &mut Out) -> Outcome {
    let mut request = json!({ "op": "flow" });
    if let Some(wanted) = wanted {
        request["flow"] = wanted.into();
    }
    let now = client.ask(&request)?;
    if json {
        return out.json(&now);
    }
    out.line(&match (now["active"].as_str(), now["wanted"].as_str()) {
        (Some(active), Some(wanted)) if active == wanted => format!("packets go to replicas by {active}"),
        (Some(active), Some(wanted)) => format!("packets go to replicas by {active}, by {wanted} from the next ones on"),
        _ => "no replicas of a stage".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_a_table() {
        let thread = |name: &str, active: bool| json!({ "name": name, "id": 7, "core": 1, "pinned": null, "busy": 0.5, "packets": 12, "packets_per_second": 3.2, "waiting": 2, "room": 4, "active": active });
        let answer = json!({ "threads": [thread("replica 0", true), thread("replica 1", false), { "name": "compile", "id": 8 }] });
        let wanted = [
            "thread           core  pinned  busy  packets  packets/s  waiting",
            "replica 0           1       -  50 %       12          3   2 of 4",
            "replica 1 (out)     1       -  50 %       12          3   2 of 4",
        ];
        assert_eq!(table(&answer), wanted);
    }

    #[test]
    fn what_became_of_replicas_is_told() {
        let state = |active: u64, wanted: u64, made: f64| json!({ "active": active, "wanted": wanted, "pause_us": 0.4, "made_ms": made });
        assert_eq!(told(&Value::Null, None), "no replicas of a stage");
        assert_eq!(told(&state(1, 1, 0.0), None), "1 replica");
        assert_eq!(told(&state(2, 3, 0.0), None), "2 replicas, 3 from the next packets on");
        let mut left = state(3, 1, 0.0);
        left["keeps_flows"] = true.into();
        assert_eq!(told(&left, None), "3 replicas, 1 when the last flows of the others have ended; new ones go to 1");
        let mut planned = state(2, 2, 0.0);
        planned["auto"] = "2 replicas: why".into();
        assert_eq!(told(&planned, None), "2 replicas\nauto: 2 replicas: why");
        let text = told(&state(3, 3, 12.3), Some(&state(2, 2, 0.0)));
        assert_eq!(text, "3 replicas, pause of the sources 0.4 us; the last one was made in 12 ms while packets flowed");
    }
}
