//! Types and their layout.
//!
//! Structs are packed. A size is that of gcc on a 64-bit machine with `#pragma pack(1)`, so that
//! `sizeof` and offsets agree.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The most bytes of any object.
pub(super) const MAX_BYTES: u32 = 32 << 20;

/// The type of a value or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Of what is wrong and told already.
    Error,
    /// No value.
    Void,
    /// `bool`
    Bool,
    /// An integer, two's complement.
    Int {
        /// 8, 16, 32 or 64, or 128 without a sign.
        bits: u8,
        /// It has a sign.
        signed: bool,
    },
    /// `be16`, `be32`, `be64`: a number kept in network byte order.
    Be(u8),
    /// `mac_t`
    Mac,
    /// `in6_t`
    In6,
    /// `string`: only of parameters.
    Text,
    /// A struct.
    Struct(Arc<StructType>),
    /// Elements of a type.
    Array(Arc<Type>, u32),
    /// The place of an object.
    Pointer(Pointee),
}

/// What a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointee {
    to: Arc<Type>,
    /// It is const: not written to by way of this pointer.
    pub constant: bool,
}

impl Deref for Pointee {
    type Target = Type;

    fn deref(&self) -> &Type {
        &self.to
    }
}

/// A struct; two are the same type if they are the same declaration.
#[derive(Clone, Debug)]
pub struct StructType {
    /// Its tag, empty if it has none.
    pub name: String,
    /// Members in order.
    pub members: Vec<Member>,
    /// Bytes.
    pub size: u32,
    /// What a compiler of C that does not pack puts it to a multiple of, in bytes.
    pub(super) alignment: u32,
    pub(super) id: u32,
}

impl StructType {
    /// The member of that name, which may be one of a struct without a name: which of the members
    /// in order it is or is within, its type, and the bytes before it.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<(usize, &Type, u32)> {
        self.members.iter().enumerate().find_map(|(n, member)| match &member.ctype {
            _ if member.name == name => Some((n, &member.ctype, member.offset)),
            Type::Struct(inner) if member.name.is_empty() => inner.member(name).map(|(_, ty, offset)| (n, ty, member.offset + offset)),
            _ => None,
        })
    }

    /// The names of all members, with those of structs without a name.
    pub(super) fn names(&self) -> Vec<&str> {
        let names = self.members.iter().flat_map(|member| match &member.ctype {
            Type::Struct(inner) if member.name.is_empty() => inner.names(),
            _ => vec![member.name.as_str()],
        });
        names.collect()
    }
}

impl PartialEq for StructType {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.name == other.name
    }
}

impl Eq for StructType {}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name; empty if it is a struct without one, whose members are as if they were of the
    /// struct around it.
    pub name: String,
    /// Its type.
    pub ctype: Type,
    /// Bytes before it.
    pub offset: u32,
    /// It is const: not assigned to.
    pub constant: bool,
}

pub(super) const INT: Type = Type::Int { bits: 32, signed: true };
pub(super) const U8: Type = Type::Int { bits: 8, signed: false };
pub(super) const U16: Type = Type::Int { bits: 16, signed: false };
pub(super) const U32: Type = Type::Int { bits: 32, signed: false };
pub(super) const U64: Type = Type::Int { bits: 64, signed: false };
pub(super) const U128: Type = Type::Int { bits: 128, signed: false };
pub(super) const I64: Type = Type::Int { bits: 64, signed: true };

/// Names of types in netvm.h and standard C.
const NAMES: [(&str, Type); 26] = [
    ("u8", U8),
    ("u16", U16),
    ("u32", U32),
    ("u64", U64),
    ("u128", U128),
    ("i8", Type::Int { bits: 8, signed: true }),
    ("i16", Type::Int { bits: 16, signed: true }),
    ("i32", INT),
    ("i64", I64),
    ("bool", Type::Bool),
    ("_Bool", Type::Bool),
    ("size_t", U64),
    ("uint8_t", U8),
    ("uint16_t", U16),
    ("uint32_t", U32),
    ("uint64_t", U64),
    ("int8_t", Type::Int { bits: 8, signed: true }),
    ("int16_t", Type::Int { bits: 16, signed: true }),
    ("int32_t", INT),
    ("int64_t", I64),
    ("be16", Type::Be(16)),
    ("be32", Type::Be(32)),
    ("be64", Type::Be(64)),
    ("mac_t", Type::Mac),
    ("in6_t", Type::In6),
    ("string", Type::Text),
];

impl fmt::Display for Pointee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.constant { "const " } else { "" }, self.to)
    }
}

impl Type {
    /// The type with that name in netvm.h.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, found)| found.clone())
    }

    /// All names of types in netvm.h.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Bytes of an object.
    #[must_use]
    pub fn size(&self) -> u32 {
        match self {
            Self::Error | Self::Void | Self::Text => 0,
            Self::Bool => 1,
            Self::Int { bits, .. } | Self::Be(bits) => u32::from(*bits) / 8,
            Self::Mac => 6,
            Self::In6 => 16,
            Self::Struct(found) => found.size,
            Self::Array(of, count) => of.size().saturating_mul(*count),
            Self::Pointer(_) => 8,
        }
    }

    /// To a multiple of how many bytes a compiler of C puts it that does not pack.
    pub(super) fn alignment(&self) -> u32 {
        match self {
            Self::Be(_) | Self::Mac | Self::In6 | Self::Int { bits: 128, .. } | Self::Error => 1,
            Self::Array(of, _) => of.alignment(),
            Self::Struct(found) => found.alignment,
            scalar => scalar.size().max(1),
        }
    }

    /// Bits of a value that is no struct; 32 for all smaller integers, as they are on the stack.
    pub(super) fn width(&self) -> u16 {
        match self {
            Self::Int { bits: 128, .. } | Self::In6 => 128,
            Self::Int { bits: 64, .. } | Self::Be(64) => 64,
            Self::Mac => 48,
            _ => 32,
        }
    }

    /// An integer or bool: what arithmetic takes.
    pub(super) fn is_int(&self) -> bool {
        matches!(self, Self::Bool | Self::Int { .. })
    }

    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Self::Bool | Self::Int { .. } | Self::Be(_) | Self::Mac | Self::In6)
    }

    pub(super) fn is_signed(&self) -> bool {
        matches!(self, Self::Int { signed: true, .. })
    }

    pub(super) fn is_error(&self) -> bool {
        *self == Self::Error
    }

    pub(super) fn pointer(to: impl Into<Arc<Self>>, constant: bool) -> Self {
        Self::Pointer(Pointee { to: to.into(), constant })
    }

    /// A pointer to the same, as const as both are together; none if they point to different types.
    pub(super) fn either_pointer(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Pointer(a), Self::Pointer(b)) if a.to == b.to => Some(Self::pointer(Arc::clone(&a.to), a.constant || b.constant)),
            _ => None,
        }
    }

    /// The scalars that an object is made of, with their offsets, in order, but at most `limit`:
    /// none if there are more.
    pub(super) fn leaves(&self, limit: usize) -> Option<Vec<(u32, Self)>> {
        let mut leaves = Vec::new();
        self.add_leaves(0, limit, &mut leaves).then_some(leaves)
    }

    fn add_leaves(&self, base: u32, limit: usize, out: &mut Vec<(u32, Self)>) -> bool {
        match self {
            Self::Struct(found) => found.members.iter().all(|m| m.ctype.add_leaves(base + m.offset, limit, out)),
            Self::Array(of, count) => (0..*count).all(|n| of.add_leaves(base + n * of.size(), limit, out)),
            scalar => {
                out.push((base, scalar.clone()));
                out.len() <= limit
            }
        }
    }

    /// It is or holds an array.
    pub(super) fn has_array(&self) -> bool {
        match self {
            Self::Array(..) => true,
            Self::Struct(found) => found.members.iter().any(|member| member.ctype.has_array()),
            _ => false,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => write!(f, "?"),
            Self::Void => write!(f, "void"),
            Self::Bool => write!(f, "bool"),
            Self::Int { bits: 32, signed: true } => write!(f, "int"),
            Self::Int { bits, signed } => write!(f, "{}{bits}", if *signed { 'i' } else { 'u' }),
            Self::Be(bits) => write!(f, "be{bits}"),
            Self::Mac => write!(f, "mac_t"),
            Self::In6 => write!(f, "in6_t"),
            Self::Text => write!(f, "string"),
            Self::Struct(found) if found.name.is_empty() => write!(f, "struct"),
            Self::Struct(found) => write!(f, "struct {}", found.name),
            Self::Array(..) => {
                let (mut of, mut counts) = (self, String::new());
                while let Self::Array(each, count) = of {
                    counts += &format!("[{count}]");
                    of = each;
                }
                write!(f, "{of}{counts}")
            }
            Self::Pointer(to) => write!(f, "{to} *"),
        }
    }
}
