//! Matches of the protocol as keys of the switch.

use crate::canonical;
use crate::fault::{Done, fault};
use crate::info::number;
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::config::v1::match_field::MatchType;
use crate::proto::p4::v1::FieldMatch;
use crate::proto::p4::v1::field_match::FieldMatchType;
use netvm::p4::{BigInt, KeyMatch};
use prost::Message;
use tonic::Code;

/// Matches as bytes that tell them from others; their fields in the order of their numbers.
pub(crate) fn match_bytes(matches: &[FieldMatch]) -> Vec<u8> {
    let mut fields: Vec<&FieldMatch> = matches.iter().collect();
    fields.sort_by_key(|f| f.field_id);
    let mut bytes = Vec::new();
    for field in fields {
        let field = canonical::field(field.clone());
        bytes.extend((field.encoded_len() as u32).to_be_bytes());
        bytes.extend(field.encode_to_vec());
    }
    bytes
}

/// How a key is matched, if that is one of the standard's ways.
pub(crate) fn match_kind(key: &config::MatchField) -> Option<MatchType> {
    match key.r#match {
        Some(config::match_field::Match::MatchType(kind)) => MatchType::try_from(kind).ok(),
        _ => None,
    }
}

/// A match of an entry by the key that it is for.
pub(crate) fn key_match(key: &config::MatchField, given: Option<&FieldMatchType>) -> Done<KeyMatch> {
    let value = |bytes: &[u8]| number(bytes, key.bitwidth, &key.name);
    let wrong = |what: &str| fault(Code::InvalidArgument, format!("{}: {what}", key.name));
    let Some(kind) = match_kind(key) else { return fault(Code::Unimplemented, format!("{}: the match kind is not supported", key.name)) };
    Ok(match (kind, given) {
        (MatchType::Exact, Some(FieldMatchType::Exact(m))) => KeyMatch::Value(value(&m.value)?),
        (MatchType::Optional, Some(FieldMatchType::Optional(m))) => KeyMatch::Value(value(&m.value)?),
        (MatchType::Lpm, Some(FieldMatchType::Lpm(m))) => {
            if m.prefix_len <= 0 || m.prefix_len > key.bitwidth {
                return wrong("the length of a prefix is between 1 and the width of the key");
            }
            let (bits, length) = (key.bitwidth.unsigned_abs(), m.prefix_len.unsigned_abs());
            let number = value(&m.value)?;
            if number.trailing_zeros().is_some_and(|zeros| zeros < u64::from(bits - length)) {
                return wrong("the bits behind the prefix are zeros");
            }
            KeyMatch::Prefix(number, length)
        }
        (MatchType::Ternary, Some(FieldMatchType::Ternary(m))) => {
            let (number, mask) = (value(&m.value)?, value(&m.mask)?);
            if mask == BigInt::default() || &number & &mask != number {
                return wrong("a mask has a bit that is set, and the value none outside of the mask");
            }
            KeyMatch::Mask(number, mask)
        }
        (MatchType::Range, Some(FieldMatchType::Range(m))) => {
            let (low, high) = (value(&m.low)?, value(&m.high)?);
            if low > high {
                return wrong("the low end of a range is not above the high one");
            }
            KeyMatch::Range(low, high)
        }
        (MatchType::Exact, None) => return wrong("an exact key is given"),
        (_, None) => KeyMatch::Any,
        _ => return wrong("the match is of another kind than the key"),
    })
}
