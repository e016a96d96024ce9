//! The functions and extern objects of PSA.
//!
//! Objects that keep something between packets are those of v1model under other names.
//! `InternetChecksum` and `Checksum` are values of the block that declares them: each run of the
//! block begins with them cleared. Direct counters and meters act where the entry is found, as in
//! BMv2, not where `count` or `execute` stands.
//!
//! Source: Portable Switch Architecture 1.2, section 7.

use crate::hir::{Expr, ExprKind, InstId, Type};
use crate::lower::arguments::{Args, Called, arg};
use crate::lower::place::{Leaf, StorageLocation};
use crate::lower::{Lower, Lowered, fault, meter};
use crate::pipeline::ArrayKind;
use netil::table::Op;

/// `PSA_PORT_RECIRCULATE`.
pub(super) const RECIRCULATE_PORT: u32 = 0xffff_fffa;

pub(super) fn function(l: &mut Lower<'_>, name: &str, args: Args<'_>, call: &Expr) -> Lowered<Called> {
    let of = |l: &mut Lower<'_>| arg(args, 0, call).and_then(|e| l.held(e));
    match name {
        "psa_clone_i2e" | "psa_clone_e2e" => {
            let meta = of(l)?;
            l.get_field(&meta, "clone")?;
        }
        "psa_resubmit" | "psa_normal" => {
            let meta = of(l)?;
            l.get_field(&meta, "drop")?;
            l.get_field(&meta, "resubmit")?;
            if name == "psa_normal" {
                l.code.op(Op::Or);
                l.code.push(0);
                l.code.w(Op::WEq, 32);
            } else {
                l.code.w(Op::WLt, 32);
            }
        }
        "psa_recirculate" => {
            let (meta, port) = (of(l)?, l.held(arg(args, 1, call)?)?);
            let width = l.get_field(&port, "egress_port")?;
            l.code.resize(width, 32);
            l.code.push(RECIRCULATE_PORT);
            l.code.w(Op::WEq, 32);
            l.get_field(&meta, "drop")?;
            l.code.push(1);
            l.code.op(Op::Xor);
            l.code.op(Op::And);
        }
        _ => return Ok(Called::Unknown),
    }
    l.taken(32, call)
}

pub(super) fn method(l: &mut Lower<'_>, object: &Expr, (class, name): (&str, &str), args: Args<'_>, call: &Expr) -> Lowered<Called> {
    match (class, name) {
        ("Counter", "count") => l.counter(object, args, call)?,
        // The entry that was found counts by itself.
        ("DirectCounter", "count") => {}
        ("Register", "write") => l.register_write(object, args, call)?,
        ("Register", _) => {
            let to = l.new_place(&call.ty, call.span)?;
            l.register_read(object, arg(args, 0, call)?, &to, call)?;
            return Ok(Called::Value(to));
        }
        ("Meter", _) => return l.psa_meter(object, args, call),
        ("DirectMeter", _) => return l.psa_direct_meter(object, args, call),
        ("Hash", _) => return l.psa_hash(object, args, call),
        ("Random", _) => return l.psa_random(object, call),
        ("Digest", "pack") => {
            let Some(path) = l.object_path(object) else { return fault(call.span, "it is not known which digest this is") };
            let name = l.name_of(&path);
            l.learn(arg(args, 0, call)?, name, call)?;
        }
        ("InternetChecksum" | "Checksum", _) => return l.running_checksum(object, name, args, call),
        _ => return Ok(Called::Unknown),
    }
    Ok(Called::Done)
}

/// What a running checksum keeps, in a local of 32 bits.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The ones' complement sum of 16-bit words.
    Sum,
    /// The remainder of a cyclic redundancy check: the one of 32 bits if true.
    Crc(bool),
}

impl Lower<'_> {
    /// What is on the stack, as the value of a call.
    fn taken(&mut self, width: u16, call: &Expr) -> Lowered<Called> {
        let place = self.new_place(&call.ty, call.span)?;
        let leaf = self.scalar(&place.ty, call.span)?;
        self.code.resize(width, leaf.width());
        self.store_leaf(&place, 0, leaf);
        Ok(Called::Value(place))
    }

    fn instance_of(&self, object: &Expr, call: &Expr) -> Lowered<InstId> {
        match self.object_path(object).and_then(|path| path.last().copied()) {
            Some(instance) => Ok(instance),
            None => fault(call.span, "it is not known which object this is"),
        }
    }

    /// An argument of an object's constructor.
    fn constructor(&self, instance: InstId, n: usize) -> Lowered<&Expr> {
        let instance = &self.program.instances[instance];
        instance.args.get(n).map_or_else(|| fault(instance.span, "an argument is missing"), Ok)
    }

    /// A colour, numbered as by meters, as a member of `PSA_MeterColor_t`.
    fn psa_colour(&mut self, colour: u32, call: &Expr) -> Lowered<Called> {
        let [green, yellow, red] = ["GREEN", "YELLOW", "RED"].map(|name| self.member_number(&call.ty, name).unwrap_or(0));
        self.code.get(colour);
        self.code.push(1);
        self.code.w(Op::WEq, 32);
        self.code.push(yellow);
        self.code.get(colour);
        self.code.push(2);
        self.code.w(Op::WEq, 32);
        self.code.push(red);
        self.code.push(green);
        self.code.w(Op::WSelect, 32);
        self.code.w(Op::WSelect, 32);
        self.taken(32, call)
    }

    /// The colour that a packet has already, numbered as by meters, in a local.
    fn colour_before(&mut self, given: Option<&Expr>) -> Lowered<Option<u32>> {
        let Some(given) = given else { return Ok(None) };
        let held = self.held(given)?;
        let local = self.code.new_local(32);
        self.code.push(0);
        for (name, number) in [("YELLOW", 1), ("RED", 2)] {
            let member = self.member_number(&given.ty, name).unwrap_or(0);
            self.load_leaf(&held, 0, Leaf::Number);
            self.code.push(member);
            self.code.w(Op::WEq, 32);
            self.code.push(number);
            self.code.op(Op::Mul);
            self.code.op(Op::Or);
        }
        self.code.set(local);
        Ok(Some(local))
    }

    fn psa_meter(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<Called> {
        let meta = self.array(object, ArrayKind::Meter, call)?;
        let before = self.colour_before(args.get(1).and_then(Option::as_ref))?;
        let colour = self.cell_colour(&meta, arg(args, 0, call)?, before)?;
        self.psa_colour(colour, call)
    }

    /// The colour of the entry that was found, or the given one if that is worse; behind a miss the
    /// given one.
    fn psa_direct_meter(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<Called> {
        let Some(found) = self.direct_colour(object) else {
            return fault(call.span, "this meter is executed in actions of the table that it is a property of");
        };
        let (before, colour) = (self.colour_before(args.first().and_then(Option::as_ref))?, self.code.new_local(32));
        self.code.get(found);
        self.code.push(meter::NONE);
        self.code.w(Op::WEq, 32);
        self.code.push(0);
        self.code.get(found);
        self.code.w(Op::WSelect, 32);
        self.code.set(colour);
        if let Some(before) = before {
            self.worse(colour, before);
        }
        self.psa_colour(colour, call)
    }

    fn psa_hash(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<Called> {
        let instance = self.instance_of(object, call)?;
        let algorithm = self.constructor(instance, 0)?.clone();
        let name = self.algorithm(&algorithm)?;
        let place = self.new_place(&call.ty, call.span)?;
        let leaf = self.scalar(&place.ty, call.span)?;
        let given: Vec<&Expr> = args.iter().flatten().collect();
        match given[..] {
            [base, data, max] => {
                let (base, data, max) = (self.held(base)?, self.held(data)?, self.held(max)?);
                let data = self.whole_bytes(data, call)?;
                let width = self.digest_of(&data, &name, false, call)?;
                self.hash_between(width, &base, &max, leaf, call)?;
            }
            _ => {
                let data = self.held(arg(args, 0, call)?)?;
                let data = self.whole_bytes(data, call)?;
                let width = self.digest_of(&data, &name, false, call)?;
                self.code.resize(width, leaf.width());
            }
        }
        self.store_leaf(&place, 0, leaf);
        Ok(Called::Value(place))
    }

    /// A value with zeros in front of it up to whole bytes, as BMv2's psa_switch hashes it;
    /// simple_switch has them behind it.
    fn whole_bytes(&mut self, data: StorageLocation, call: &Expr) -> Lowered<StorageLocation> {
        let bits: u32 = self.leaves(&data.ty, call.span)?.into_iter().map(|leaf| leaf.bits()).sum();
        if bits.is_multiple_of(8) {
            return Ok(data);
        }
        let ty = Type::Tuple([Type::Bit(8 - bits % 8), data.ty.clone()].into());
        let whole = self.new_place(&ty, call.span)?;
        self.clear(&whole, call.span)?;
        let rest = self.member(&whole, 1, call.span)?;
        self.copy(&rest, &data, call.span)?;
        Ok(whole)
    }

    fn psa_random(&mut self, object: &Expr, call: &Expr) -> Lowered<Called> {
        let instance = self.instance_of(object, call)?;
        let (low, high) = (self.constructor(instance, 0)?.clone(), self.constructor(instance, 1)?.clone());
        let (low, high) = (self.held(&low)?, self.held(&high)?);
        let leaf = self.scalar(&call.ty, call.span)?;
        self.random_between(&low, &high, leaf);
        self.taken(leaf.width(), call)
    }

    /// What a checksum keeps, and the local that has it.
    fn running(&mut self, object: &Expr, call: &Expr) -> Lowered<(Kind, u32)> {
        let Some(path) = self.object_path(object) else { return fault(call.span, "it is not known which checksum this is") };
        let instance = path[path.len() - 1];
        let kind = match self.class(object).as_str() {
            "InternetChecksum" => Kind::Sum,
            _ => {
                let algorithm = self.constructor(instance, 0)?.clone();
                match self.algorithm(&algorithm)?.as_str() {
                    "csum16" => Kind::Sum,
                    "crc16" => Kind::Crc(false),
                    "crc32" => Kind::Crc(true),
                    _ => return fault(algorithm.span, "a checksum of this algorithm is not supported"),
                }
            }
        };
        let known = self.running.get(&path).copied();
        let local = known.unwrap_or_else(|| self.code.new_local(32));
        self.running.insert(path, local);
        Ok((kind, local))
    }

    /// Clears the checksums that a block declares, where its run begins.
    pub(in crate::lower) fn clear_checksums(&mut self, block: usize) -> Lowered<()> {
        for id in &self.program.blocks[block].instances {
            let instance = &self.program.instances[*id];
            let object = Expr { kind: ExprKind::Instance(*id), ty: instance.ty.clone(), span: instance.span };
            if let Type::Extern(..) = instance.ty
                && matches!(self.class(&object).as_str(), "InternetChecksum" | "Checksum")
            {
                let (kind, local) = self.running(&object, &object)?;
                self.clear_running(kind, local);
            }
        }
        Ok(())
    }

    fn clear_running(&mut self, kind: Kind, local: u32) {
        self.code.push(if kind == Kind::Crc(true) { u32::MAX } else { 0 });
        self.code.set(local);
    }

    fn running_checksum(&mut self, object: &Expr, name: &str, args: Args<'_>, call: &Expr) -> Lowered<Called> {
        let (kind, local) = self.running(object, call)?;
        match (name, kind) {
            ("clear", _) => self.clear_running(kind, local),
            ("add" | "update" | "subtract", Kind::Sum) => {
                let data = self.held(arg(args, 0, call)?)?;
                self.words(&data, call, local, name == "subtract")?;
                self.fold(local);
            }
            ("update", Kind::Crc(wide)) => {
                let data = self.held(arg(args, 0, call)?)?;
                self.crc_on(&data, wide, local, call)?;
            }
            ("get_state", _) => {
                self.code.get(local);
                return self.taken(32, call);
            }
            ("set_state", _) => {
                self.amount(arg(args, 0, call)?)?;
                self.code.set(local);
            }
            _ => {
                self.code.get(local);
                if kind != Kind::Crc(false) {
                    self.code.op(Op::Not);
                }
                // Only the sum's and the remainder's own bits count.
                let bits = if kind == Kind::Crc(true) { 32 } else { 16 };
                self.code.resize(32, bits);
                return self.taken(bits, call);
            }
        }
        Ok(Called::Done)
    }
}
