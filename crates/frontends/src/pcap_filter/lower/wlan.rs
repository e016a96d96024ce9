//! 802.11 frames, with and without a header of the radio before them: where the frame begins and
//! where what it carries, its type, and 802.2 types of what other link layers carry.
//!
//! libpcap computes both places before the first term. So do the [`Test::Assign`]s that are put
//! before the filter here, for those places that some term asks for. Sources: IEEE 802.11-2020,
//! 9.2.4.1; radiotap.org (the header's length, the flags field, padding); libpcap 1.10.3,
//! `gen_load_802_11_header_len`, `gen_wlanhostop`.

use super::super::ast::{Arithop, Dir};
use super::super::ir::{Cmp, Field, IrId, Slot, Test, Value, ValueId};
use super::super::link::{Link, Radio};
use super::super::parser::Res;
use super::Lower;
use super::layout::{From, Offset};
use super::link;

const TYPE: u32 = 0x0c;
const DATA: u32 = 0x08;
const CONTROL: u32 = 0x04;
const QOS: u32 = 0x80;
const SUBTYPE: u32 = 0xf0;
const CTS: u32 = 0xc0;
const ACK: u32 = 0xd0;
/// The frame goes to the distribution system, comes from it, or both.
const TO_DS: u32 = 0x01;
const FROM_DS: u32 = 0x02;
const BOTH_DS: u32 = 0x03;
/// Bytes of a data frame's header with three addresses.
const HEADER: u32 = 24;
/// Words of radiotap are little-endian: flags present, another word of bits follows, a time stamp
/// before the flags.
const FLAGS: u32 = 0x0200_0000;
const EXTENDED: u32 = 0x0000_0080;
const TIME: u32 = 0x0100_0000;
/// The flag that the frame's header is padded to four bytes.
const PADDED: u32 = 0x20;
/// The number of IEEE802_11 as a PPI header has it.
const PPI_WLAN: u32 = 0x6900_0000;
/// AVS headers begin so, under a mask; in captures of type PRISM they may stand instead.
const AVS_MAGIC: u32 = 0x8021_1000;
const PRISM_LENGTH: u32 = 0x90;

/// The slots of the places in a capture of 802.11 frames.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    radio: Option<Radio>,
    /// The frame, if there is a header of the radio before it.
    linkhdr: Option<Slot>,
    /// What the frame carries.
    linkpl: Slot,
}

impl Lower<'_> {
    /// Gives the places of 802.11 frames slots.
    pub(super) fn begin_wlan(&mut self) {
        if let Link::Wlan(radio) = self.layout.link {
            let linkhdr = radio.map(|_| self.ir.new_slot());
            let linkpl = self.ir.new_slot();
            self.layout.linkhdr = linkhdr.map_or(Offset::at(0), Offset::variable);
            self.layout.linkpl = Offset::variable(linkpl);
            self.wlan = Some(Frame { radio, linkhdr, linkpl });
        }
    }

    /// The filter, with the places before it that it asks for.
    pub(super) fn end_wlan(&mut self, top: IrId) -> IrId {
        let Some(Frame { radio, linkhdr, linkpl }) = self.wlan else { return top };
        let payload = Some(linkpl).filter(|&slot| self.ir.find(Value::Slot(slot)).is_some());
        let header = linkhdr.filter(|&slot| payload.is_some() || self.ir.find(Value::Slot(slot)).is_some());
        let mut all = Vec::new();
        if radio == Some(Radio::Ppi) {
            all.push(self.start_is(4, 4, u32::MAX, PPI_WLAN));
        }
        if let (Some(slot), Some(radio)) = (header, radio) {
            all.push(self.frame_begins(slot, radio));
        }
        if let Some(slot) = payload {
            let frame = header.map(|slot| self.ir.make(Value::Slot(slot)));
            all.push(self.payload_begins(slot, frame, radio));
        }
        all.push(top);
        self.and(&all)
    }

    fn frame_begins(&mut self, slot: Slot, radio: Radio) -> IrId {
        match radio {
            Radio::Radiotap | Radio::Ppi => {
                let high = self.start_value(3, 1);
                let high = self.with_constant(Arithop::Shl, high, 8);
                let low = self.start_value(2, 1);
                let length = self.ir.make(Value::Bin(Arithop::Or, low, high));
                self.ir.push_test(Test::Assign(slot, length))
            }
            Radio::Avs => {
                let length = self.start_value(4, 4);
                self.ir.push_test(Test::Assign(slot, length))
            }
            Radio::Prism => {
                let is_avs = self.start_is(0, 4, 0xffff_f000, AVS_MAGIC);
                let avs = self.frame_begins(slot, Radio::Avs);
                let avs = self.and(&[is_avs, avs]);
                let length = self.ir.constant(PRISM_LENGTH);
                let prism = self.ir.push_test(Test::Assign(slot, length));
                self.or(&[avs, prism])
            }
        }
    }

    /// Data frames may have a QoS field, and padding behind their header where radiotap says so.
    fn payload_begins(&mut self, slot: Slot, frame: Option<ValueId>, radio: Option<Radio>) -> IrId {
        let header = match frame {
            Some(frame) => self.with_constant(Arithop::Add, frame, HEADER),
            None => self.ir.constant(HEADER),
        };
        let plain = self.ir.push_test(Test::Assign(slot, header));
        let control = Field { base: frame, offset: 0, bytes: 1 };
        let (data, other, qos) = (self.bits(control, DATA), self.bits(control, CONTROL), self.bits(control, QOS));
        let not_other = self.not(other);
        let place = self.ir.make(Value::Slot(slot));
        let behind_qos = self.with_constant(Arithop::Add, place, 2);
        let longer = self.ir.push_test(Test::Assign(slot, behind_qos));
        let longer = self.and(&[qos, longer]);
        let mut rest = vec![data, not_other, self.perhaps(longer)];
        if radio == Some(Radio::Radiotap) {
            let padded = self.padded();
            let rounded = self.with_constant(Arithop::Add, place, 3);
            let rounded = self.with_constant(Arithop::And, rounded, !3);
            let rounded = self.ir.push_test(Test::Assign(slot, rounded));
            rest.extend([padded, rounded]);
        }
        let rest = self.and(&rest);
        let rest = self.perhaps(rest);
        self.and(&[plain, rest])
    }

    /// Radiotap's flags are there, and say that the header is padded.
    fn padded(&mut self) -> IrId {
        let present = Field { base: None, offset: 4, bytes: 4 };
        let (flags, more, time) = (self.bits(present, FLAGS), self.bits(present, EXTENDED), self.bits(present, TIME));
        let flag = |lower: &mut Self, offset| lower.bits(Field { base: None, offset, bytes: 1 }, PADDED);
        let (late, early) = (flag(self, 16), flag(self, 8));
        let no_more = self.not(more);
        let late = self.and(&[time, late]);
        let no_time = self.bits(present, TIME);
        let no_time = self.not(no_time);
        let early = self.and(&[no_time, early]);
        let padded = self.or(&[late, early]);
        self.and(&[flags, no_more, padded])
    }

    /// Holds in any case, after the node.
    fn perhaps(&mut self, node: IrId) -> IrId {
        let yes = self.constant(true);
        self.or(&[node, yes])
    }

    fn bits(&mut self, field: Field, mask: u32) -> IrId {
        let value = self.ir.make(Value::Load(field));
        self.compare(value, Cmp::Bits, mask)
    }

    fn start_value(&mut self, offset: u32, bytes: u8) -> ValueId {
        self.ir.make(Value::Load(Field { base: None, offset, bytes }))
    }

    fn start_is(&mut self, offset: u32, bytes: u8, mask: u32, value: u32) -> IrId {
        self.masked_field(Field { base: None, offset, bytes }, mask, value)
    }

    /// `type`, `subtype`: bits of the first byte of the frame control field.
    pub(super) fn frame_type(&mut self, mask: u32, value: u32) -> Res<IrId> {
        self.needs_wlan("frame types")?;
        Ok(self.masked(From::LinkHeader, 0, 1, mask, value))
    }

    /// `dir`: between stations, to or from the distribution system.
    pub(super) fn frame_direction(&mut self, value: u32) -> Res<IrId> {
        self.needs_wlan("frame directions")?;
        Ok(self.masked(From::LinkHeader, 1, 1, 0x03, value))
    }

    fn needs_wlan(&self, what: &str) -> Res<()> {
        match self.layout.link {
            // As libpcap 1.10.3, which refuses these terms there alone.
            Link::Wlan(Some(Radio::Ppi)) => Err(self.error(format!("{what} are not read behind a PPI header"))),
            Link::Wlan(_) => Ok(()),
            other => Err(self.error(format!("{} has no 802.11 {what}", other.name())).help("only captures of 802.11 frames have them")),
        }
    }

    /// An address of the frame, where frames of its kind have it.
    pub(super) fn frame_host(&mut self, mac: [u8; 6], dir: Dir) -> Res<IrId> {
        let at = |lower: &mut Self, offset| lower.ether_side(mac, offset);
        Ok(match dir {
            Dir::Src => self.frame_source(mac),
            Dir::Dst => self.frame_destination(at),
            Dir::Default | Dir::SrcOrDst | Dir::SrcAndDst => {
                let both = [self.frame_source(mac), self.frame_destination(at)];
                if dir == Dir::SrcAndDst { self.and(&both) } else { self.or(&both) }
            }
            Dir::Addr1 => at(self, 4),
            Dir::Addr2 => {
                let has = self.has_second();
                let same = at(self, 10);
                self.and(&[has, same])
            }
            Dir::Addr3 => {
                let control = self.is_control();
                let other = self.not(control);
                let same = at(self, 16);
                self.and(&[other, same])
            }
            Dir::Addr4 => {
                let between = self.masked(From::LinkHeader, 1, 1, BOTH_DS, BOTH_DS);
                let same = at(self, 24);
                self.and(&[between, same])
            }
            Dir::Receiver => {
                let data = self.frame_bit(0, DATA);
                let same = at(self, 4);
                self.and(&[data, same])
            }
            Dir::Transmitter => {
                let data = self.frame_bit(0, DATA);
                let has = self.has_second();
                let same = at(self, 10);
                self.and(&[data, has, same])
            }
        })
    }

    fn frame_bit(&mut self, offset: u32, mask: u32) -> IrId {
        self.compare_at(From::LinkHeader, offset, 1, Cmp::Bits, mask)
    }

    /// One of two tests, by a bit of the frame's header; the one for a bit of 0 is tried first.
    fn by_bit(&mut self, (offset, mask): (u32, u32), clear: IrId, set: IrId) -> IrId {
        let is_set = self.frame_bit(offset, mask);
        let is_clear = self.not(is_set);
        let first = self.and(&[is_clear, clear]);
        let is_set = self.frame_bit(offset, mask);
        let second = self.and(&[is_set, set]);
        self.or(&[first, second])
    }

    fn is_control(&mut self) -> IrId {
        self.masked(From::LinkHeader, 0, 1, TYPE, CONTROL)
    }

    /// Neither a CTS nor an ACK, which have one address.
    fn has_second(&mut self) -> IrId {
        let control = self.is_control();
        let other = self.not(control);
        let short = [CTS, ACK].map(|subtype| {
            let is = self.masked(From::LinkHeader, 0, 1, SUBTYPE, subtype);
            self.not(is)
        });
        let longer = self.and(&short);
        self.or(&[other, longer])
    }

    /// Frames of control and of no known type have neither source nor destination.
    fn has_ends(&mut self, ends: IrId) -> IrId {
        let other = self.frame_bit(0, CONTROL);
        let not_other = self.not(other);
        self.and(&[not_other, ends])
    }

    fn frame_source(&mut self, mac: [u8; 6]) -> IrId {
        let [management, direct, from, between] = [10, 10, 16, 24].map(|offset| self.ether_side(mac, offset));
        let relayed = self.by_bit((1, TO_DS), from, between);
        let data = self.by_bit((1, FROM_DS), direct, relayed);
        let ends = self.by_bit((0, DATA), management, data);
        self.has_ends(ends)
    }

    /// What is asked of the destination's address, given its offset.
    pub(super) fn frame_destination(&mut self, mut asked: impl FnMut(&mut Self, u32) -> IrId) -> IrId {
        let [management, direct, to] = [4, 4, 16].map(|offset| asked(self, offset));
        let data = self.by_bit((1, TO_DS), direct, to);
        let ends = self.by_bit((0, DATA), management, data);
        self.has_ends(ends)
    }

    pub(super) fn is_data_frame(&mut self) -> IrId {
        self.masked(From::LinkHeader, 0, 1, TYPE, DATA)
    }

    /// What an 802.2 header says is carried.
    pub(super) fn llc_type(&mut self, proto: u32) -> IrId {
        match proto {
            link::SAP_ISO | link::SAP_IP | link::SAP_NETBEUI => self.equal(From::Payload, 0, 2, proto << 8 | proto),
            link::ATALK => self.snap(0x08_0007, proto),
            0..=link::MAX_LENGTH => self.equal(From::Payload, 0, 1, proto),
            _ => self.equal(From::Payload, 6, 2, proto),
        }
    }
}
