//! Registers: cells are numbers, truth values, or structures of them, whose parts stand in one
//! number with the first highest.
//!
//! Source: P4Runtime specification 1.4, "P4Data" and "RegisterEntry".

use crate::device::Device;
use crate::fault::{Done, fault, refused};
use crate::info::{Object, bytes, find, number};
use crate::proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bits;
use crate::proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use crate::proto::p4::config::v1::{self as config, P4DataTypeSpec};
use crate::proto::p4::v1::entity::Entity as Kind;
use crate::proto::p4::v1::p4_data::Data;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, P4Data, P4StructLike};
use crate::read::meant;
use crate::resources::{cells, only_modify};
use netvm::p4::{BigInt, Switch};
use tonic::Code;

/// How deep structures may be nested.
const DEEPEST: u32 = 32;

/// What a cell is made of.
enum CellType {
    Bits(u32),
    Bool,
    /// The flag says that the parts have names.
    Parts(Vec<Self>, bool),
}

impl CellType {
    /// What a type means.
    fn of(info: &config::P4Info, spec: Option<&P4DataTypeSpec>, depth: u32) -> Done<Self> {
        let unknown = || fault(Code::Unimplemented, "registers of this type are not supported");
        let parts = |all: Vec<Option<&P4DataTypeSpec>>| all.into_iter().map(|s| Self::of(info, s, depth + 1)).collect::<Done<Vec<_>>>();
        match spec.and_then(|s| s.type_spec.as_ref()) {
            _ if depth > DEEPEST => unknown(),
            Some(TypeSpec::Bitstring(bits)) => match &bits.type_spec {
                Some(Bits::Bit(b)) => Ok(Self::Bits(b.bitwidth.unsigned_abs())),
                Some(Bits::Int(b)) => Ok(Self::Bits(b.bitwidth.unsigned_abs())),
                _ => unknown(),
            },
            Some(TypeSpec::Bool(_)) => Ok(Self::Bool),
            Some(TypeSpec::Tuple(tuple)) => Ok(Self::Parts(parts(tuple.members.iter().map(Some).collect())?, false)),
            Some(TypeSpec::Struct(named)) => match info.type_info.as_ref().and_then(|types| types.structs.get(&named.name)) {
                Some(known) => Ok(Self::Parts(parts(known.members.iter().map(|m| m.type_spec.as_ref()).collect())?, true)),
                None => unknown(),
            },
            _ => unknown(),
        }
    }

    fn width(&self) -> u32 {
        match self {
            Self::Bits(width) => *width,
            Self::Bool => 1,
            Self::Parts(all, _) => all.iter().map(Self::width).sum(),
        }
    }

    /// The number of a value.
    fn number(&self, value: Option<&P4Data>, name: &str) -> Done<BigInt> {
        match (self, value.and_then(|v| v.data.as_ref())) {
            (Self::Bits(width), Some(Data::Bitstring(bytes))) => number(bytes, width.cast_signed(), name),
            (Self::Bool, Some(Data::Bool(flag))) => Ok(u8::from(*flag).into()),
            (Self::Bool, Some(Data::Bitstring(bytes))) => number(bytes, 1, name),
            (Self::Parts(all, true), Some(Data::Struct(given))) | (Self::Parts(all, false), Some(Data::Tuple(given))) => {
                if given.members.len() != all.len() {
                    return fault(Code::InvalidArgument, format!("{name} has {} parts, not {}", all.len(), given.members.len()));
                }
                let mut whole = BigInt::default();
                for (part, value) in all.iter().zip(&given.members) {
                    whole = (whole << part.width()) + part.number(Some(value), name)?;
                }
                Ok(whole)
            }
            _ => fault(Code::InvalidArgument, format!("{name} is of another type than the value")),
        }
    }

    /// The value of a number.
    fn value(&self, number: &BigInt) -> P4Data {
        let one = BigInt::from(1);
        let data = match self {
            Self::Bits(_) => Data::Bitstring(bytes(number)),
            Self::Bool => Data::Bool(*number != BigInt::default()),
            Self::Parts(all, is_struct) => {
                let (mut members, mut low) = (Vec::new(), self.width());
                for part in all {
                    low -= part.width();
                    members.push(part.value(&((number >> low) & ((&one << part.width()) - &one))));
                }
                let parts = P4StructLike { members };
                if *is_struct { Data::Struct(parts) } else { Data::Tuple(parts) }
            }
        };
        P4Data { data: Some(data) }
    }
}

impl Device {
    pub fn register(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::RegisterEntry) -> Done {
        only_modify(kind, "registers")?;
        let register = find(&self.info.all.registers, entry.register_id, "register")?;
        let value = CellType::of(&self.info.all, register.type_spec.as_ref(), 0)?.number(entry.data.as_ref(), register.name())?;
        for index in cells(entry.index.as_ref(), register.size.into(), register.name())? {
            switch.register_write(register.name(), index, &value).map_err(refused)?;
        }
        Ok(())
    }

    pub fn read_registers(&self, switch: &Switch, wanted: &v1::RegisterEntry) -> Done<Vec<Kind>> {
        let mut out = Vec::new();
        for register in self.info.all.registers.iter().filter(|r| meant(wanted.register_id, r.id())) {
            let shape = CellType::of(&self.info.all, register.type_spec.as_ref(), 0)?;
            for index in cells(wanted.index.as_ref(), register.size.into(), register.name())? {
                let value = switch.register_read(register.name(), index).map_err(refused)?;
                let index = Some(v1::Index { index: index.cast_signed() });
                let data = Some(shape.value(&value));
                out.push(Kind::RegisterEntry(v1::RegisterEntry { register_id: register.id(), index, data }));
            }
        }
        Ok(out)
    }
}
