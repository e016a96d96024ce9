//! Packets to and from controllers: the fields of `@controller_header` headers are the metadata,
//! and stand in front of the packet.

use crate::device::Device;
use crate::fault::{Done, fault};
use crate::info::{Object, bytes, number};
use crate::lock;
use crate::proto::p4::config::v1::ControllerPacketMetadata;
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::p4::v1::{self, PacketMetadata};
use netvm::p4::{BigInt, Sign, Switch};
use tonic::Code;

impl Device {
    fn header(&self, name: &str) -> Option<&ControllerPacketMetadata> {
        self.info.all.controller_packet_metadata.iter().find(|h| h.name() == name)
    }

    /// A packet from a controller: it comes in by the controller's port.
    pub fn packet_out(&mut self, switch: &mut Switch, packet: &v1::PacketOut, time_ns: u64) -> Done {
        let mut whole = match self.header("packet_out") {
            Some(header) => header_bytes(header, &packet.metadata)?,
            None => Vec::new(),
        };
        whole.extend(&packet.payload);
        let mut sent = switch.receive(self.settings.cpu_port, &whole, time_ns);
        let port = self.settings.cpu_port;
        let back: Vec<_> = sent.extract_if(.., |packet| packet.port == port).collect();
        back.iter().for_each(|packet| self.packet_in(&packet.bytes));
        self.sent.extend(sent);
        Ok(())
    }

    /// A packet that left by the controller's port.
    pub fn packet_in(&self, whole: &[u8]) {
        let (metadata, length) = match self.header("packet_in") {
            Some(header) => fields(header, whole),
            None => (Vec::new(), 0),
        };
        let payload = whole.get(length..).unwrap_or_default().to_vec();
        lock(&self.streams).tell_primaries(&Update::Packet(v1::PacketIn { payload, metadata }));
    }
}

fn width(header: &ControllerPacketMetadata) -> usize {
    header.metadata.iter().map(|m| m.bitwidth.unsigned_abs() as usize).sum()
}

/// The header that metadata stands for.
fn header_bytes(header: &ControllerPacketMetadata, metadata: &[PacketMetadata]) -> Done<Vec<u8>> {
    let known = |given: &PacketMetadata| header.metadata.iter().any(|field| field.id == given.metadata_id);
    if let Some(other) = metadata.iter().find(|given| !known(given)) {
        return fault(Code::InvalidArgument, format!("{} has no metadata {}", header.name(), other.metadata_id));
    }
    if metadata.len() > header.metadata.len() {
        return fault(Code::InvalidArgument, format!("{} has {} metadata, each once", header.name(), header.metadata.len()));
    }
    let mut all = BigInt::default();
    for field in &header.metadata {
        let Some(given) = metadata.iter().find(|m| m.metadata_id == field.id) else {
            return fault(Code::InvalidArgument, format!("the metadata {} is missing", field.name));
        };
        all = (all << field.bitwidth.unsigned_abs()) + number(&given.value, field.bitwidth, &field.name)?;
    }
    let length = width(header).div_ceil(8);
    all <<= length * 8 - width(header);
    let digits = if width(header) == 0 { Vec::new() } else { all.to_bytes_be().1 };
    let mut out = vec![0; length.saturating_sub(digits.len())];
    out.extend(&digits[digits.len().saturating_sub(length)..]);
    Ok(out)
}

/// The metadata in front of a packet, and its length in bytes. A packet that is shorter has none.
fn fields(header: &ControllerPacketMetadata, whole: &[u8]) -> (Vec<PacketMetadata>, usize) {
    let length = width(header).div_ceil(8);
    let Some(front) = whole.get(..length) else { return (Vec::new(), 0) };
    let all = BigInt::from_bytes_be(Sign::Plus, front);
    let mut left = length * 8;
    let mut out = Vec::new();
    for field in &header.metadata {
        let bits = field.bitwidth.unsigned_abs() as usize;
        left -= bits;
        let value = (&all >> left) % (BigInt::from(1) << bits);
        out.push(PacketMetadata { metadata_id: field.id, value: bytes(&value) });
    }
    (out, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::p4::config::v1::controller_packet_metadata::Metadata;

    #[test]
    fn metadata_stands_in_front_of_packets() {
        let field = |id, bitwidth| Metadata { id, bitwidth, name: id.to_string(), ..Metadata::default() };
        let header = ControllerPacketMetadata { metadata: vec![field(1, 9), field(2, 7)], ..Default::default() };
        let value = |metadata_id, value: &[u8]| PacketMetadata { metadata_id, value: value.to_vec() };
        let given = [value(2, &[3]), value(1, &[1, 0])];
        assert_eq!(header_bytes(&header, &given).unwrap(), [0x80, 3]);
        assert_eq!(fields(&header, &[0x80, 3, 9]), (vec![value(1, &[1, 0]), value(2, &[3])], 2));
        assert_eq!(fields(&header, &[1]), (Vec::new(), 0));
        let more = [given[0].clone(), given[1].clone(), value(3, &[1])];
        assert_eq!(header_bytes(&header, &more).unwrap_err().code, Code::InvalidArgument);
        assert_eq!(header_bytes(&header, &[&given[..], &given[..1]].concat()).unwrap_err().code, Code::InvalidArgument);
        assert_eq!(header_bytes(&header, &given[..1]).unwrap_err().code, Code::InvalidArgument);
        assert_eq!(header_bytes(&header, &[value(1, &[2, 0]), value(2, &[])]).unwrap_err().code, Code::OutOfRange);
    }
}
