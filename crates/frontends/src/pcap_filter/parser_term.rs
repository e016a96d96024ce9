//! Terms that begin with a keyword, and identifiers.

use super::ast::{Dir, Encap, Id, Kind, Llc, Node, NodeId, PfField, Proto, Quals};
use super::error::{Error, Span};
use super::parser::{Item, Lent, Parser, Res};
use super::token::{Tok, Word, mac_bytes};
use super::wlan;

impl Parser {
    /// A term whose first token is `word`, and the qualifiers that it lends to identifiers after
    /// it.
    pub(super) fn term(&mut self, word: Word) -> Res<(NodeId, Lent)> {
        let start = self.span();
        if word == Word::Foreign {
            return Err(self.foreign());
        }
        let proto = match word {
            Word::Proto(proto) => {
                self.bump();
                Some(proto)
            }
            _ => None,
        };
        if let Some(quals) = self.qualifiers(proto)? {
            return self.qualified(quals, start);
        }
        let node = match (self.peek(), proto) {
            (Tok::Word(Word::Broadcast), proto) => self.flag(Node::Broadcast(proto), start),
            (Tok::Word(Word::Multicast), proto) => self.flag(Node::Multicast(proto), start),
            (Tok::Word(Word::Type | Word::Subtype | Word::FrameDirection), _) => {
                let node = self.frame()?;
                let span = start.to(self.previous());
                self.node(node, span)
            }
            (_, Some(proto)) => self.proto_node(proto, start),
            (Tok::Word(Word::Ss7Field(field, high)), None) => self.ss7(field, high)?,
            (_, None) => self.plain_term(word, start)?,
        };
        Ok((node, None))
    }

    fn qualified(&mut self, quals: Quals, start: Span) -> Res<(NodeId, Lent)> {
        let node = self.identifier(Some(quals))?;
        let span = start.to(self.previous());
        self.ast.nodes[node.0 as usize].1 = span;
        Ok((node, Some(quals)))
    }

    fn flag(&mut self, node: Node, start: Span) -> NodeId {
        let span = start.to(self.bump().span);
        self.node(node, span)
    }

    /// Direction and kind after an optional protocol; `None` if neither follows.
    fn qualifiers(&mut self, proto: Option<Proto>) -> Res<Option<Quals>> {
        let alone = match self.peek() {
            Tok::Word(Word::ByNumber) => Some(Kind::Proto),
            Tok::Word(Word::Protochain) => Some(Kind::Protochain),
            Tok::Word(Word::Gateway) => Some(Kind::Gateway),
            _ => None,
        };
        if let Some(kind) = alone {
            self.bump();
            return Ok(Some(Quals { proto, dir: Dir::Default, kind }));
        }
        let dir = self.direction()?;
        let kind = self.kind();
        let given = dir.is_some() || kind.is_some();
        let quals = Quals { proto, dir: dir.unwrap_or(Dir::Default), kind: kind.unwrap_or(Kind::Default) };
        Ok(given.then_some(quals))
    }

    fn direction(&mut self) -> Res<Option<Dir>> {
        let (one, other) = match self.peek() {
            Tok::Word(Word::Src) => (Dir::Src, Word::Dst),
            Tok::Word(Word::Dst) => (Dir::Dst, Word::Src),
            Tok::Word(Word::FrameAddress(which)) => {
                self.bump();
                return Ok(Some(which));
            }
            _ => return Ok(None),
        };
        self.bump();
        let both = match self.peek() {
            Tok::Or => Dir::SrcOrDst,
            Tok::And => Dir::SrcAndDst,
            _ => return Ok(Some(one)),
        };
        self.bump();
        if self.eat(Tok::Word(other)) {
            return Ok(Some(both));
        }
        let wanted = if other == Word::Dst { "`dst`" } else { "`src`" };
        Err(self.expected(wanted))
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = match self.peek() {
            Tok::Word(Word::Host) => Kind::Host,
            Tok::Word(Word::Net) => Kind::Net,
            Tok::Word(Word::Port) => Kind::Port,
            Tok::Word(Word::Portrange) => Kind::Portrange,
            _ => return None,
        };
        self.bump();
        Some(kind)
    }

    /// Terms without qualifiers.
    fn plain_term(&mut self, word: Word, start: Span) -> Res<NodeId> {
        let encap = match word {
            Word::Vlan => Some(Encap::Vlan),
            Word::Mpls => Some(Encap::Mpls),
            Word::Pppoes => Some(Encap::Pppoes),
            Word::Geneve => Some(Encap::Geneve),
            _ => None,
        };
        if encap.is_none() && !begins_plain_term(word) {
            return Err(self.expected("a term such as `host`, `port 80`, `tcp` or `len > 100`"));
        }
        self.bump();
        let node = match (word, encap) {
            (_, Some(encap)) => Node::Encap(encap, self.optional_number()?),
            (Word::Less, _) => Node::Less(self.plain_number()?),
            (Word::Greater, _) => Node::Greater(self.plain_number()?),
            (Word::Byte, _) => self.byte()?,
            (Word::Inbound, _) => Node::Direction(false),
            (Word::Outbound, _) => Node::Direction(true),
            (Word::Ifindex, _) => Node::Ifindex(self.plain_number()?),
            (Word::Llc, _) => Node::Llc(self.llc()?),
            (Word::Rnr, _) => Node::Pf(PfField::Rule, self.plain_number()?),
            (Word::Pf(field), _) => self.pf(field)?,
            (Word::Ss7Unit(unit, high), _) => Node::Ss7Unit { unit, high },
            _ => Node::Pppoed,
        };
        let span = start.to(self.previous());
        Ok(self.node(node, span))
    }

    /// `type NAME subtype NAME`, each alone, or `dir NAME`, at the first word.
    fn frame(&mut self) -> Res<Node> {
        let node = match self.bump().kind {
            Tok::Word(Word::Type) => {
                let kind = self.frame_word(wlan::TYPES, wlan::TYPE, "a frame type: mgt, ctl or data")?;
                if !self.eat(Tok::Word(Word::Subtype)) {
                    return Ok(Node::FrameType { mask: wlan::TYPE, value: kind });
                }
                let subtype = self.frame_word(wlan::subtypes(kind), wlan::SUBTYPE, "a subtype of that type, such as beacon of mgt")?;
                Node::FrameType { mask: wlan::TYPE | wlan::SUBTYPE, value: kind | subtype }
            }
            Tok::Word(Word::Subtype) => {
                let (at, text) = (self.span(), self.ast.text(self.span()).to_ascii_lowercase());
                let known = wlan::subtype(&text).ok_or_else(|| Error::new(at, format!("`{text}` is no subtype of 802.11 frames")))?;
                self.bump();
                Node::FrameType { mask: wlan::TYPE | wlan::SUBTYPE, value: known }
            }
            _ => Node::FrameDirection(self.frame_word(wlan::DIRECTIONS, wlan::DIRECTION, "nods, tods, fromds or dstods")?),
        };
        Ok(node)
    }

    /// A name of a table, or a number of which only bits of the mask are set.
    fn frame_word(&mut self, names: &[(&str, u32)], mask: u32, wanted: &str) -> Res<u32> {
        if let Tok::Number(value) = self.peek() {
            if value & !mask != 0 {
                return Err(Error::new(self.span(), format!("{value:#x} has other bits than {mask:#x}")).help(format!("write {wanted}")));
            }
            self.bump();
            return Ok(value);
        }
        let text = self.ast.text(self.span()).to_ascii_lowercase();
        let found = names.iter().find(|(name, _)| *name == text).map(|&(_, value)| value);
        let found = found.ok_or_else(|| self.expected(wanted))?;
        self.bump();
        Ok(found)
    }

    pub(super) fn plain_number(&mut self) -> Res<u32> {
        match self.peek() {
            Tok::Number(value) => {
                self.bump();
                Ok(value)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// A number, perhaps in parentheses; `None` if none follows.
    fn optional_number(&mut self) -> Res<Option<u32>> {
        match self.peek() {
            Tok::Number(_) => self.plain_number().map(Some),
            Tok::Punct(b'(') => self.nested(Parser::parenthesised_number).map(Some),
            _ => Ok(None),
        }
    }

    fn parenthesised_number(&mut self) -> Res<u32> {
        self.bump();
        let Some(value) = self.optional_number()? else { return Err(self.expected("a number")) };
        if self.eat(Tok::Punct(b')')) { Ok(value) } else { Err(self.expected("`)`")) }
    }

    fn byte(&mut self) -> Res<Node> {
        let offset = self.plain_number()?;
        let op = match self.peek() {
            Tok::Punct(op) if b"=<>&|".contains(&op) => op,
            _ => return Err(self.expected("one of `=`, `<`, `>`, `&` and `|`")),
        };
        self.bump();
        Ok(Node::Byte { offset, op, value: self.plain_number()? })
    }

    fn llc(&mut self) -> Res<Option<Llc>> {
        let kind = match self.peek() {
            Tok::Word(Word::Rnr) => Llc::Supervisory(Some(0x05)),
            Tok::Name => self.llc_kind()?,
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(kind))
    }

    fn llc_kind(&mut self) -> Res<Llc> {
        let text = self.ast.text(self.span()).to_ascii_lowercase();
        LLC_KINDS.iter().find(|(name, _)| *name == text).map(|&(_, kind)| kind).ok_or_else(|| {
            let names: Vec<&str> = LLC_KINDS.iter().map(|&(name, _)| name).collect();
            Error::new(self.span(), format!("unknown LLC frame type `{text}`")).help(format!("known: {}", names.join(", ")))
        })
    }

    /// An identifier that is not a number.
    pub(super) fn name_or_address(&mut self, lent: Lent) -> Res<Item> {
        if lent.is_none() && self.misspelt().is_some() {
            return Err(self.unknown_word());
        }
        let token = self.bump();
        let id = match token.kind {
            Tok::Dotted => self.dotted(token.span)?,
            Tok::Ipv6 => self.ipv6(token.span)?,
            Tok::Mac => Id::Mac(mac_bytes(self.ast.text(token.span))),
            Tok::Arcnet => Id::Arcnet(arcnet(self.ast.text(token.span))),
            _ => Id::Name,
        };
        let at = token.span.to(self.previous());
        self.id(lent, id, at).map(Item::Id)
    }

    fn dotted(&mut self, address: Span) -> Res<Id> {
        if self.eat(Tok::Punct(b'/')) {
            return Ok(Id::DottedPrefix(address, self.plain_number()?));
        }
        if !self.eat(Tok::Word(Word::Mask)) {
            return Ok(Id::Dotted);
        }
        if self.peek() != Tok::Dotted {
            return Err(self.expected("a mask such as 255.255.255.0"));
        }
        Ok(Id::DottedMask(address, self.bump().span))
    }

    fn ipv6(&mut self, span: Span) -> Res<Id> {
        let text = self.ast.text(span);
        let address: std::net::Ipv6Addr = text.parse().map_err(|_| Error::new(span, "not an IPv6 address"))?;
        let bits = u128::from(address);
        if self.eat(Tok::Punct(b'/')) {
            return Ok(Id::Ipv6Prefix(bits, self.plain_number()?));
        }
        Ok(Id::Ipv6(bits))
    }
}

fn begins_plain_term(word: Word) -> bool {
    use Word::{Byte, Greater, Ifindex, Inbound, Less, Llc, Outbound, Pf, Pppoed, Rnr, Ss7Unit};
    matches!(word, Less | Greater | Byte | Inbound | Outbound | Ifindex | Llc | Pppoed | Rnr | Pf(_) | Ss7Unit(..))
}

/// Frame types of 802.2 and what their control byte must be.
const LLC_KINDS: &[(&str, Llc)] = &[
    ("i", Llc::Information),
    ("s", Llc::Supervisory(None)),
    ("u", Llc::Unnumbered(None)),
    ("rr", Llc::Supervisory(Some(0x01))),
    ("rnr", Llc::Supervisory(Some(0x05))),
    ("rej", Llc::Supervisory(Some(0x09))),
    ("ui", Llc::Unnumbered(Some(0x03))),
    ("ua", Llc::Unnumbered(Some(0x63))),
    ("disc", Llc::Unnumbered(Some(0x43))),
    ("dm", Llc::Unnumbered(Some(0x0f))),
    ("sabme", Llc::Unnumbered(Some(0x6f))),
    ("test", Llc::Unnumbered(Some(0xe3))),
    ("xid", Llc::Unnumbered(Some(0xaf))),
    ("frmr", Llc::Unnumbered(Some(0x87))),
];

/// `$` and one or two hexadecimal digits.
fn arcnet(text: &str) -> u8 {
    u8::from_str_radix(text.trim_start_matches('$'), 16).unwrap_or(0)
}
