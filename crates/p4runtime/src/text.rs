//! Entries as protobuf text: a `WriteRequest` as p4c and controllers write it, done on a switch
//! before it runs.
//!
//! Read are table entries, members and groups of action profiles, multicast groups and clone
//! sessions. An entry that the program has is there already.
//!
//! Source: Protocol Buffers, text format language specification.

use crate::Settings;
use crate::device::{Device, NamedAction};
use crate::info::Info;
use crate::proto::p4::v1::entity::Entity as Kind;
use crate::proto::p4::v1::field_match::{self, FieldMatchType};
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::replica::PortKind;
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::write_request::Atomicity;
use crate::proto::p4::v1::{self, Entity, FieldMatch, TableEntry, Update};
use netvm::p4::{P4Info, Switch, SwitchError};
use std::net::{Ipv4Addr, SocketAddr};

/// How deep messages may be nested.
const DEEPEST: u32 = 32;

/// A value of a field.
enum Value {
    Message(Message),
    /// A string's bytes.
    Bytes(Vec<u8>),
    /// A number, a name, true or false.
    Word(String),
}

/// Fields with their names and lines, in the order of the text.
#[derive(Default)]
struct Message(Vec<(String, u32, Value)>);

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

/// What is wrong with a text, and on which line where that is known.
struct TextError {
    line: Option<u32>,
    what: String,
}

impl TextError {
    /// With that line, if it has none of its own.
    fn within(self, line: u32) -> Self {
        Self { line: self.line.or(Some(line)), ..self }
    }
}

impl From<String> for TextError {
    fn from(what: String) -> Self {
        Self { line: None, what }
    }
}

impl From<TextError> for SwitchError {
    fn from(error: TextError) -> Self {
        Self::Invalid(match error.line {
            Some(line) => format!("line {line}: {}", error.what),
            None => error.what,
        })
    }
}

type Parsed<T> = Result<T, TextError>;

impl Parser<'_> {
    fn wrong<T>(&self, what: &str) -> Parsed<T> {
        Err(TextError { line: Some(self.line), what: what.to_owned() })
    }

    /// The next byte that is neither blank nor comment.
    fn peek(&mut self) -> u8 {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                b'\n' => (self.line, self.at) = (self.line + 1, self.at + 1),
                b if b.is_ascii_whitespace() || matches!(b, b',' | b';') => self.at += 1,
                b => return *b,
            }
        }
        0
    }

    fn word(&mut self) -> Parsed<String> {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|b| !b.is_ascii_alphanumeric() && !b"_-+.".contains(b)).unwrap_or(rest.len());
        self.at += end;
        if end == 0 { self.wrong("expected a name or a number") } else { Ok(String::from_utf8_lossy(&rest[..end]).into_owned()) }
    }

    fn message(&mut self, end: u8, depth: u32) -> Parsed<Message> {
        let mut fields = Vec::new();
        while self.peek() != end {
            if self.peek() == 0 || depth > DEEPEST {
                return self.wrong("the message has no end, or is nested too deep");
            }
            let (name, line) = (self.word()?, self.line);
            let has_colon = self.peek() == b':';
            self.at += usize::from(has_colon);
            let value = match self.peek() {
                open @ (b'{' | b'<') => {
                    self.at += 1;
                    Value::Message(self.message(if open == b'{' { b'}' } else { b'>' }, depth + 1)?)
                }
                _ if !has_colon => return self.wrong("expected `:` or `{`"),
                b'"' | b'\'' => Value::Bytes(self.string()?),
                _ => Value::Word(self.word()?),
            };
            fields.push((name, line, value));
        }
        self.at += usize::from(end != 0);
        Ok(Message(fields))
    }

    fn string(&mut self) -> Parsed<Vec<u8>> {
        let mut out = Vec::new();
        while let quote @ (b'"' | b'\'') = self.peek() {
            self.at += 1;
            loop {
                match self.text.get(self.at).copied() {
                    None | Some(b'\n') => return self.wrong("the string has no end"),
                    Some(b'\\') => self.escape(&mut out)?,
                    Some(byte) => {
                        self.at += 1;
                        if byte == quote {
                            break;
                        }
                        out.push(byte);
                    }
                }
            }
        }
        Ok(out)
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let digits = |text: &[u8], most: usize, radix: u32| {
            let count = text.iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
            let number = std::str::from_utf8(&text[..count]).ok().and_then(|t| u32::from_str_radix(t, radix).ok());
            (count, number)
        };
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let (length, byte) = match rest.first() {
            Some(b'x' | b'X') => {
                let (count, number) = digits(&rest[1..], 2, 16);
                (count + 1, number)
            }
            Some(b'0'..=b'7') => digits(rest, 3, 8),
            Some(b'n') => (1, Some(10)),
            Some(b'r') => (1, Some(13)),
            Some(b't') => (1, Some(9)),
            Some(b'a') => (1, Some(7)),
            Some(b'b') => (1, Some(8)),
            Some(b'f') => (1, Some(12)),
            Some(b'v') => (1, Some(11)),
            Some(byte @ (b'"' | b'\'' | b'\\' | b'?')) => (1, Some(u32::from(*byte))),
            _ => (0, None),
        };
        match byte.and_then(|b| u8::try_from(b).ok()) {
            Some(byte) => {
                out.push(byte);
                self.at += 1 + length;
                Ok(())
            }
            None => self.wrong("no byte is escaped like this"),
        }
    }
}

impl Message {
    fn messages<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.0.iter().filter(move |(n, ..)| n == name).filter_map(|(.., v)| if let Value::Message(m) = v { Some(m) } else { None })
    }

    fn message(&self, name: &str) -> Option<&Self> {
        self.0.iter().find_map(|(n, _, v)| if let (true, Value::Message(m)) = (n == name, v) { Some(m) } else { None })
    }

    fn word(&self, name: &str) -> Option<(&str, u32)> {
        let found = self.0.iter().find(|(n, ..)| n == name)?;
        if let Value::Word(word) = &found.2 { Some((word, found.1)) } else { None }
    }

    fn number<T: TryFrom<i64> + Default>(&self, name: &str) -> Parsed<T> {
        let Some((word, line)) = self.word(name) else { return Ok(T::default()) };
        let number = match word.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => word.parse::<i64>().ok(),
        };
        number
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| TextError { line: Some(line), what: format!("`{word}` is no number for {name}") })
    }

    /// The weight of a member; one that says none counts once.
    fn weight(&self) -> Parsed<i32> {
        self.word("weight").map_or(Ok(1), |_| self.number("weight"))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        let found = self.0.iter().find_map(|(n, _, v)| if let (true, Value::Bytes(b)) = (n == name, v) { Some(b.clone()) } else { None });
        found.unwrap_or_default()
    }

    fn field_match(&self) -> Parsed<FieldMatch> {
        let one = |name: &str| self.message(name);
        let kind = if let Some(m) = one("exact") {
            FieldMatchType::Exact(field_match::Exact { value: m.bytes("value") })
        } else if let Some(m) = one("ternary") {
            FieldMatchType::Ternary(field_match::Ternary { value: m.bytes("value"), mask: m.bytes("mask") })
        } else if let Some(m) = one("lpm") {
            FieldMatchType::Lpm(field_match::Lpm { value: m.bytes("value"), prefix_len: m.number("prefix_len")? })
        } else if let Some(m) = one("range") {
            FieldMatchType::Range(field_match::Range { low: m.bytes("low"), high: m.bytes("high") })
        } else if let Some(m) = one("optional") {
            FieldMatchType::Optional(field_match::Optional { value: m.bytes("value") })
        } else {
            return Err("a match says neither exact, lpm, ternary, range nor optional".to_owned().into());
        };
        Ok(FieldMatch { field_id: self.number("field_id")?, field_match_type: Some(kind) })
    }

    fn action(&self) -> Parsed<v1::Action> {
        let param = |m: &Self| Ok(v1::action::Param { param_id: m.number("param_id")?, value: m.bytes("value") });
        Ok(v1::Action { action_id: self.number("action_id")?, params: self.messages("params").map(param).collect::<Parsed<_>>()? })
    }

    fn table_action(&self) -> Parsed<v1::TableAction> {
        let kind = if let Some(action) = self.message("action") {
            ActionType::Action(action.action()?)
        } else if let Some(set) = self.message("action_profile_action_set") {
            let one = |m: &Self| {
                let action = m.message("action").map(Self::action).transpose()?;
                Ok(v1::ActionProfileAction { action, weight: m.weight()?, ..Default::default() })
            };
            let actions = set.messages("action_profile_actions").map(one).collect::<Parsed<_>>()?;
            ActionType::ActionProfileActionSet(v1::ActionProfileActionSet { action_profile_actions: actions, ..Default::default() })
        } else if self.word("action_profile_group_id").is_some() {
            ActionType::ActionProfileGroupId(self.number("action_profile_group_id")?)
        } else {
            ActionType::ActionProfileMemberId(self.number("action_profile_member_id")?)
        };
        Ok(v1::TableAction { r#type: Some(kind) })
    }

    fn table_entry(&self) -> Parsed<TableEntry> {
        Ok(TableEntry {
            table_id: self.number("table_id")?,
            r#match: self.messages("match").map(Self::field_match).collect::<Parsed<_>>()?,
            action: self.message("action").map(Self::table_action).transpose()?,
            priority: self.number("priority")?,
            idle_timeout_ns: self.number("idle_timeout_ns")?,
            is_default_action: self.word("is_default_action").is_some_and(|(word, _)| word == "true"),
            is_const: self.word("is_const").is_some_and(|(word, _)| word == "true"),
            ..TableEntry::default()
        })
    }

    fn replicas(&self) -> Parsed<Vec<v1::Replica>> {
        let one = |m: &Self| {
            #[expect(deprecated, reason = "older files have it")]
            let port_kind = Some(match m.bytes("port") {
                bytes if bytes.is_empty() => PortKind::EgressPort(m.number("egress_port")?),
                bytes => PortKind::Port(bytes),
            });
            Ok(v1::Replica { port_kind, instance: m.number("instance")?, ..Default::default() })
        };
        self.messages("replicas").map(one).collect()
    }

    fn entity(&self) -> Parsed<Kind> {
        if let Some(m) = self.message("table_entry") {
            return m.table_entry().map(Kind::TableEntry);
        }
        if let Some(m) = self.message("action_profile_member") {
            let action = m.message("action").map(Self::action).transpose()?;
            let (action_profile_id, member_id) = (m.number("action_profile_id")?, m.number("member_id")?);
            return Ok(Kind::ActionProfileMember(v1::ActionProfileMember { action_profile_id, member_id, action }));
        }
        if let Some(m) = self.message("action_profile_group") {
            let one = |m: &Self| {
                let (member_id, weight) = (m.number("member_id")?, m.weight()?);
                Ok(v1::action_profile_group::Member { member_id, weight, ..Default::default() })
            };
            let members = m.messages("members").map(one).collect::<Parsed<_>>()?;
            let (action_profile_id, group_id, max_size) = (m.number("action_profile_id")?, m.number("group_id")?, m.number("max_size")?);
            return Ok(Kind::ActionProfileGroup(v1::ActionProfileGroup { action_profile_id, group_id, members, max_size }));
        }
        let engine = self.message("packet_replication_engine_entry");
        let kind = match (engine.and_then(|m| m.message("multicast_group_entry")), engine.and_then(|m| m.message("clone_session_entry"))) {
            (Some(m), _) => {
                let (multicast_group_id, replicas) = (m.number("multicast_group_id")?, m.replicas()?);
                Replication::MulticastGroupEntry(v1::MulticastGroupEntry { multicast_group_id, replicas, ..Default::default() })
            }
            (None, Some(m)) => {
                let (session_id, replicas) = (m.number("session_id")?, m.replicas()?);
                Replication::CloneSessionEntry(v1::CloneSessionEntry { session_id, replicas, ..Default::default() })
            }
            (None, None) => return Err("an entity is of a kind that is not read from files".to_owned().into()),
        };
        Ok(Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) }))
    }

    fn update(&self) -> Parsed<Update> {
        let kind = match self.word("type").map_or("INSERT", |(word, _)| word) {
            "INSERT" => UpdateType::Insert,
            "MODIFY" => UpdateType::Modify,
            "DELETE" => UpdateType::Delete,
            other => return Err(format!("`{other}` is no type of updates").into()),
        };
        let Some(entity) = self.message("entity") else { return Err("the update has no entity".to_owned().into()) };
        Ok(Update { r#type: kind as i32, entity: Some(Entity { entity: Some(entity.entity()?) }) })
    }
}

/// Does the updates of a text on a switch whose program has that P4Info.
///
/// # Errors
/// The text is no such text, or an update is refused; with its line. The updates before it are
/// done.
pub fn enter(switch: &mut Switch, info: &P4Info, text: &str) -> Result<(), SwitchError> {
    let whole = Parser { text: text.as_bytes(), at: 0, line: 1 }.message(0, 0)?;
    let info = Info::new(&info.to_wire()).map_err(|error| error.to_string())?;
    let settings = Settings { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), device: 0, cpu_port: switch.cpu_port() };
    let mut device = Device::new(info, std::sync::Arc::default(), settings);
    device.begin(switch);
    let lines = whole.0.iter().filter(|(name, ..)| name == "updates").map(|(_, line, _)| line);
    for (update, line) in whole.messages("updates").zip(lines) {
        let update = update.update().map_err(|error| error.within(*line))?;
        if device.has(&update) {
            continue;
        }
        let done = device.write(switch, &[update], Atomicity::ContinueOnError);
        if let Some(Err(fault)) = done.into_iter().next() {
            return Err(format!("line {line}: {}", fault.message).into());
        }
    }
    Ok(())
}

impl Device {
    /// Whether an update enters what the program has: a constant entry, or one that is there with
    /// the same action.
    fn has(&self, update: &Update) -> bool {
        let Some(Kind::TableEntry(entry)) = update.entity.as_ref().and_then(|e| e.entity.as_ref()) else { return false };
        let is_constant = self.info.table(entry.table_id).is_ok_and(|table| table.is_const_table) && entry.is_const;
        let same = |known: &TableEntry| self.action_of(known).is_some_and(|known| Some(known) == self.action_of(entry));
        is_constant || self.book.entries.get(&Self::key(entry)).is_some_and(|known| known.entry.is_const || same(&known.entry))
    }

    fn action_of(&self, entry: &TableEntry) -> Option<NamedAction> {
        match entry.action.as_ref()?.r#type.as_ref()? {
            ActionType::Action(action) => self.action(action).ok(),
            _ => None,
        }
    }
}
