//! C text of arguments, for the native run of element scripts: constants, lists, and what fills
//! tables.

/// The parts between separators that are not inside parentheses or quotes, trimmed; empty ones left
/// out.
pub fn split(text: &str, separator: char) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in text.chars() {
        quoted ^= c == '"';
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == separator && depth == 0 && !quoted {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Names of numbers, by syntax.
const NAMES: [(&str, &str, i64); 29] = [
    ("ICMP_TYPE", "unreachable", 3),
    ("ICMP_TYPE", "redirect", 5),
    ("ICMP_TYPE", "timeexceeded", 11),
    ("ICMP_TYPE", "parameterproblem", 12),
    ("ICMP_TYPE", "sourcequench", 4),
    ("ICMP_CODE", "net", 0),
    ("ICMP_CODE", "host", 1),
    ("ICMP_CODE", "protocol", 2),
    ("ICMP_CODE", "port", 3),
    ("ICMP_CODE", "needfrag", 4),
    ("ICMP_CODE", "transit", 0),
    ("ICMP_CODE", "reassembly", 1),
    ("ICMP_CODE", "erroratptr", 0),
    ("ICMP_CODE", "missingopt", 1),
    ("ICMP_CODE", "length", 2),
    ("IP_PROTOCOL", "icmp", 1),
    ("IP_PROTOCOL", "tcp", 6),
    ("IP_PROTOCOL", "udp", 17),
    ("VLAN_TCI", "ANNO", -1),
    ("IP_OR_ANNO", "DST_ANNO", 0),
    ("ADDRESS_ANNO", "DST_IP", 0),
    ("ADDRESS_ANNO", "MISC_IP", 20),
    ("CONTENTS", "NONE", 0),
    ("CONTENTS", "HEX", 1),
    ("CONTENTS", "ASCII", 2),
    ("CONTENTS", "ascii", 2),
    ("ECT", "no", 0),
    ("ETHER_PLACE", "dst", 0),
    ("ETHER_PLACE", "src", 6),
];

/// The C constant of an argument.
///
/// # Errors
/// What cannot be read.
pub fn constant(ty: &str, syntax: &str, text: &str) -> Result<String, String> {
    if let Some((_, _, value)) = NAMES.iter().find(|(s, name, _)| *s == syntax && *name == text) {
        return Ok(value.to_string());
    }
    let wrong = || format!("{text} is not a {ty}");
    Ok(match (ty, syntax) {
        (_, "PACKET_TYPE") => packet_type(text).ok_or_else(wrong)?.to_string(),
        ("in6_t", "IP6_OR_ANNO") if text == "DST_ANNO" => bytes(&[0; 16]),
        (_, "SECONDS") => format!("{:.0}", text.trim_end_matches('s').parse::<f64>().map_err(|_| wrong())? * 1e9),
        ("string", _) => format!("\"{}\"", text.trim_matches('"')),
        ("be32", _) => address(text).ok_or_else(wrong)?,
        ("be16", _) => format!("htons({text})"),
        ("mac_t", _) => mac(text).ok_or_else(wrong)?,
        ("in6_t", _) => in6(text).ok_or_else(wrong)?,
        ("struct ip_prefix", _) => prefix(text).map(|(a, m)| format!("{{ {a}, {m} }}")).ok_or_else(wrong)?,
        _ => text.to_owned(),
    })
}

fn packet_type(text: &str) -> Option<usize> {
    ["HOST", "BROADCAST", "MULTICAST", "OTHERHOST", "OUTGOING", "LOOPBACK"].iter().position(|name| name.eq_ignore_ascii_case(text))
}

fn address(text: &str) -> Option<String> {
    let address: std::net::Ipv4Addr = text.parse().ok()?;
    Some(format!("htonl({:#010x})", u32::from(address)))
}

fn prefix(text: &str) -> Option<(String, String)> {
    let (at, length) = text.split_once('/').unwrap_or((text, "32"));
    let mask = u32::MAX.checked_shl(32 - length.parse::<u32>().ok()?).unwrap_or(0);
    Some((address(at)?, format!("htonl({mask:#010x})")))
}

fn bytes(all: &[u8]) -> String {
    format!("{{ {{ {} }} }}", all.iter().map(|b| format!("{b:#04x}")).collect::<Vec<_>>().join(", "))
}

fn mac(text: &str) -> Option<String> {
    let parts: Option<Vec<u8>> = text.split([':', '-']).map(|part| u8::from_str_radix(part, 16).ok()).collect();
    parts.filter(|parts| parts.len() == 6).map(|parts| bytes(&parts))
}

fn in6(text: &str) -> Option<String> {
    text.parse::<std::net::Ipv6Addr>().ok().map(|address| bytes(&address.octets()))
}

/// The bytes of a string argument, which may be written in hexadecimal.
pub fn bytes_of(name: &str, text: &str) -> String {
    let hex = text.strip_prefix("\\<").and_then(|rest| rest.strip_suffix('>'));
    let all: Vec<String> = match hex {
        Some(hex) => hex.as_bytes().chunks(2).map(|pair| format!("0x{}", String::from_utf8_lossy(pair))).collect(),
        None => text.bytes().map(|byte| byte.to_string()).collect(),
    };
    format!("static const u8 {name}[] = {{ {} }};\nenum {{ {name}_count = {} }};\n", all.join(", "), all.len())
}

/// A list's array and number; an empty list has one zero that nobody reads.
pub fn list(ty: &str, name: &str, texts: &[String]) -> String {
    let values: Vec<String> = texts.iter().map(|text| constant(ty, "", text).unwrap_or_default()).collect();
    let values = if values.is_empty() { "0".to_owned() } else { values.join(", ") };
    format!("static const {ty} {name}[] = {{ {values} }};\nenum {{ {name}_count = {} }};\n", texts.len())
}

/// A constructor that enters a table's rows; it stands behind the element, whose table is set up
/// before.
///
/// # Errors
/// The argument that cannot be read.
pub fn fill(syntax: &str, name: &str, arguments: &[String]) -> Result<String, String> {
    let mut rows = String::new();
    for argument in arguments {
        let words = split(argument, ' ');
        let row = match syntax {
            "IP_ROUTES" => route(name, &words),
            "RANGE_ROUTES" => range(name, &words),
            "IP6_ROUTES" => route6(name, &words),
            _ => arp(name, &words),
        };
        rows.push_str(&row.ok_or_else(|| format!("{argument} cannot be read"))?);
    }
    Ok(format!("__attribute__((constructor)) static void NV_CAT({name}, _fill)(void)\n{{\n{rows}}}\n"))
}

fn gateway_and_port(words: &[String]) -> Option<(String, &String)> {
    Some((if words.len() > 2 { address(&words[1])? } else { "0".to_owned() }, words.last().filter(|_| words.len() > 1)?))
}

fn route(name: &str, words: &[String]) -> Option<String> {
    let (at, mask) = prefix(&words[0])?;
    let (gateway, port) = gateway_and_port(words)?;
    Some(format!(
        "    nv_table_add({name}.nv_table, &(be32) {{ {at} }}, &(be32) {{ {mask} }}, 0, &(struct route) {{ {gateway}, {port} }});\n"
    ))
}

/// The longer the mask, the higher the priority.
fn range(name: &str, words: &[String]) -> Option<String> {
    let (at, mask) = prefix(&words[0])?;
    let (gateway, port) = gateway_and_port(words)?;
    let length = words[0].split_once('/').map_or("32", |(_, length)| length);
    Some(format!(
        "    nv_table_add({name}.nv_table, &(be32) {{ {at} & {mask} }}, &(be32) {{ {at} | ~{mask} }}, {length}, &(struct route) {{ {gateway}, {port} }});\n"
    ))
}

fn route6(name: &str, words: &[String]) -> Option<String> {
    let (at, length) = words[0].split_once('/')?;
    let mask = bytes(&u128::MAX.checked_shl(128 - length.parse::<u32>().ok()?).unwrap_or(0).to_be_bytes());
    let (at, gateway) = (in6(at)?, in6(words.get(1)?)?);
    Some(format!(
        "    nv_table_add({name}.nv_table, &(in6_t) {at}, &(in6_t) {mask}, 0, &(struct route6) {{ {gateway}, {} }});\n",
        words.get(2)?
    ))
}

fn arp(name: &str, words: &[String]) -> Option<String> {
    let answer = mac(words.last()?)?;
    let row = |word: &String| {
        let (at, mask) = prefix(word)?;
        Some(format!("    nv_table_add({name}.nv_table, &(be32) {{ {at} }}, &(be32) {{ {mask} }}, 0, &(mac_t) {answer});\n"))
    };
    words[..words.len() - 1].iter().map(row).collect()
}

/// Inputs of a rewriter.
///
/// # Errors
/// The input that cannot be read.
pub fn specs(name: &str, arguments: &[String]) -> Result<String, String> {
    let rows: Option<Vec<String>> = arguments.iter().enumerate().map(|(n, argument)| spec(n, &split(argument, ' '))).collect();
    let rows = rows.ok_or_else(|| format!("{arguments:?} cannot be read"))?;
    let none = format!(
        "static const struct rewrite_spec {name}_choices[] = {{ {{ .kind = 0 }} }};\nenum {{ {name}_choices_count = 0 }};\n\
         static const struct rewrite_mapper {name}_mappers[{}] = {{ {{ .count = 0 }} }};\nstatic const struct rewrite_node {name}_nodes[] = {{ {{ .place = 0 }} }};\n",
        rows.len()
    );
    Ok(format!("static const struct rewrite_spec {name}[] = {{\n{}}};\nenum {{ {name}_count = {} }};\n{none}", rows.concat(), rows.len()))
}

fn spec(n: usize, words: &[String]) -> Option<String> {
    let word = |at: usize| words.get(at).map_or("0", String::as_str);
    let fields = match (word(0), words.len()) {
        ("drop", _) => ".kind = REWRITE_DROP".to_owned(),
        ("pass", _) => format!(".kind = REWRITE_PASS, .forward = {}", word(1)),
        ("keep", _) => format!(".kind = REWRITE_KEEP, .forward = {}, .reply = {}", word(1), word(2)),
        // Identifiers of pings are where source ports are.
        (_, 6) => {
            let [saddr, daddr, ident] = [1, 2, 3].map(|at| words[at].clone());
            let four = pattern(&[saddr, ident, daddr, "-".to_owned()])?;
            format!("{four}, .forward = {}, .reply = {}, .pattern = {n}", word(4), word(5))
        }
        (_, 5) => {
            let four = addresses(word(1), word(2))?;
            format!("{four}, .forward = {}, .reply = {}, .pattern = {n}", word(3), word(4))
        }
        _ => format!("{}, .forward = {}, .reply = {}, .pattern = {n}", pattern(&words[1..5])?, word(5), word(6)),
    };
    Some(format!("    {{ {fields} }},\n"))
}

/// `SADDR SPORT DADDR DPORT`.
fn pattern(words: &[String]) -> Option<String> {
    let host = |at: usize| if words[at] == "-" { Some("0".to_owned()) } else { address(&words[at]) };
    let ports = words[1].trim_end_matches(['#', '?']);
    let (first, last) = if ports == "-" { ("0", "0") } else { ports.split_once('-').unwrap_or((ports, ports)) };
    let to = if words[3] == "-" { "0" } else { &words[3] };
    Some(format!(
        ".kind = REWRITE_PATTERN, .saddr = {}, .sport_first = {first}, .sport_last = {last}, .daddr = {}, .dport = htons({to}), \
         .sequential = {}, .random = {}",
        host(0)?,
        host(2)?,
        words[1].ends_with('#'),
        words[1].ends_with('?'),
    ))
}

/// `SADDR[-SADDR2][#]` and `DADDR`.
fn addresses(text: &str, to: &str) -> Option<String> {
    let range = text.trim_end_matches('#');
    let (first, last) = if range == "-" { ("0.0.0.0", "0.0.0.0") } else { range.split_once('-').unwrap_or((range, range)) };
    let sequential = text.ends_with('#');
    let daddr = if to == "-" { "0".to_owned() } else { address(to)? };
    let (first, last) = (address(first)?, address(last)?);
    Some(format!(".kind = REWRITE_PATTERN, .saddr = {first}, .saddr_last = {last}, .daddr = {daddr}, .sequential = {sequential}"))
}
