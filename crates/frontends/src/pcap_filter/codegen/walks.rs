//! Code with loops and inner branches: header chains, tables of IPv6 addresses, the Geneve header.

use netil::module::Inst;
use netil::table::Op;

use super::super::graph::Target;
use super::super::ir::{Field, Geneve, Protochain, Scan, ScanId};
use super::{BranchTarget, Code};

const AUTHENTICATION: u32 = 51;
const NO_NEXT: u32 = 59;
const EXTENSIONS: [u32; 4] = [0, 60, 43, 44];
const TRANSPARENT_ETHERNET: u32 = 0x6558;

/// Bytes of a table's row: an address and a mask.
const ROW: u32 = 32;

/// Locals of a walk along headers.
struct Walk {
    proto: u32,
    at: u32,
    steps: u32,
}

impl Code<'_> {
    pub(super) fn protochain(&mut self, chain: Protochain, yes: Target, no: Target, next: Option<Target>) {
        let walk = Walk { proto: self.new_local(), at: self.new_local(), steps: self.new_local() };
        self.start_walk(chain, &walk);
        let again = self.new_place();
        self.here_is(again);
        self.branch_if_proto(&walk, chain.wanted, BranchTarget::Target(yes));
        if chain.wanted != NO_NEXT {
            self.branch_if_proto(&walk, NO_NEXT, BranchTarget::Target(no));
        }
        if chain.v6 {
            let (extension, other) = (self.new_place(), self.new_place());
            for proto in EXTENSIONS.into_iter().filter(|&p| p != chain.wanted) {
                self.branch_if_proto(&walk, proto, BranchTarget::Inside(extension));
            }
            self.branch_to(Op::JumpW, BranchTarget::Inside(other), 0);
            self.here_is(extension);
            self.advance(chain, &walk, (1, 8), true, again);
            self.here_is(other);
        }
        if chain.wanted == AUTHENTICATION {
            return self.jump(no, next);
        }
        self.load(walk.proto);
        self.push(AUTHENTICATION);
        self.branch_to(Op::JCmpNeq, BranchTarget::Target(no), -2);
        self.advance(chain, &walk, (2, 4), false, again);
    }

    /// The first protocol and where the header behind it begins, and the number of steps allowed.
    fn start_walk(&mut self, chain: Protochain, walk: &Walk) {
        let first = chain.header.saturating_add(if chain.v6 { 6 } else { 9 });
        self.check_captured(first.saturating_add(1), first.saturating_add(1));
        self.push(first);
        self.op(Op::UpLoad8, 0);
        self.note_last();
        self.store(walk.proto);
        if chain.v6 {
            self.push(40);
        } else {
            self.push(chain.header);
            self.op(Op::IpLen, 0);
        }
        self.store(walk.at);
        self.op(Op::Pbl, 1);
        self.push(1);
        self.op(Op::Shl, -1);
        self.push(4);
        self.op(Op::Add, -1);
        self.store(walk.steps);
    }

    fn branch_if_proto(&mut self, walk: &Walk, proto: u32, place: BranchTarget) {
        self.load(walk.proto);
        self.push(proto);
        self.branch_to(Op::JCmpEq, place, -2);
    }

    /// Goes on behind a header of `(length + plus) · unit` bytes, counted from it or, in libpcap's
    /// way, from the IP header.
    fn advance(&mut self, chain: Protochain, walk: &Walk, (plus, unit): (u32, u32), relative: bool, again: usize) {
        self.load(walk.at);
        self.push(chain.header.saturating_add(2));
        self.op(Op::Add, -1);
        self.op(Op::Pbl, 1);
        self.reject_if(Op::JCmpG, 2);
        self.header_byte(chain, walk, 0);
        self.note_last();
        self.store(walk.proto);
        self.header_byte(chain, walk, 1);
        self.push(plus);
        self.op(Op::Add, -1);
        self.push(unit);
        self.op(Op::Mul, -1);
        if relative {
            self.load(walk.at);
            self.op(Op::Add, -1);
        }
        self.store(walk.at);
        self.load(walk.steps);
        self.op(Op::Dec1, 0);
        self.op(Op::Dup, 1);
        self.store(walk.steps);
        self.branch_to(Op::JNe, BranchTarget::Inside(again), -1);
        self.branch_to(Op::JumpW, BranchTarget::Target(Target::Reject), 0);
    }

    fn header_byte(&mut self, chain: Protochain, walk: &Walk, offset: u32) {
        self.load(walk.at);
        self.push(chain.header.saturating_add(offset));
        self.op(Op::Add, -1);
        self.op(Op::UpLoad8, 0);
    }

    /// Row by row, in each row field by field, word by word to the first that differs.
    pub(super) fn scan(&mut self, id: ScanId, yes: Target, no: Target, next: Option<Target>) {
        let ir = self.ir;
        let scan = &ir.scans[id.index()];
        let base = self.table(scan);
        let row = self.new_local();
        self.push(base);
        self.store(row);
        let again = self.new_place();
        self.here_is(again);
        for &field in &scan.fields {
            self.compare_row(row, field, yes);
        }
        self.load(row);
        self.push(ROW);
        self.op(Op::Add, -1);
        self.op(Op::Dup, 1);
        self.store(row);
        self.push(u32::try_from(self.data.len()).unwrap_or(u32::MAX));
        self.branch_to(Op::JCmpL, BranchTarget::Inside(again), -2);
        self.jump(no, next);
    }

    /// Goes to `yes` if the field equals the row, on if it does not, and rejects if that needs a
    /// word past the end.
    fn compare_row(&mut self, row: u32, field: Field, yes: Target) {
        let differs = self.new_place();
        for (i, word) in (0u32..).zip(Scan::words(field)) {
            self.push(word.offset.saturating_add(4));
            self.op(Op::Pbl, 1);
            self.reject_if(Op::JCmpG, 2);
            self.push(word.offset);
            self.op(Op::SpLoad32, 0);
            self.table_word(row, 16 + 4 * i);
            self.op(Op::And, -1);
            self.table_word(row, 4 * i);
            self.branch_to(Op::JCmpNeq, BranchTarget::Inside(differs), -2);
        }
        self.branch_to(Op::JumpW, BranchTarget::Target(yes), 0);
        self.here_is(differs);
    }

    fn table_word(&mut self, row: u32, offset: u32) {
        self.load(row);
        self.push(offset);
        self.op(Op::Add, -1);
        self.inst(Inst::with(Op::WcLoad, 32), 0);
    }

    /// Puts a table at the end of initialised data; gives its offset.
    fn table(&mut self, scan: &Scan) -> u32 {
        let base = u32::try_from(self.data.len()).unwrap_or(u32::MAX);
        for (value, mask) in &scan.rows {
            self.data.extend(value.to_be_bytes());
            self.data.extend(mask.to_be_bytes());
        }
        base
    }

    pub(super) fn geneve(&mut self, geneve: Geneve) {
        let header = self.new_local();
        self.value(geneve.header);
        self.store(header);
        self.check_geneve(header);
        self.load(header);
        self.push(2);
        self.op(Op::Add, -1);
        self.store_slot(geneve.linktype);
        // The options' length, in words, is in the lower six bits of the first byte.
        self.load(header);
        self.op(Op::UpLoad8, 0);
        for (constant, op) in [(0x3f, Op::And), (4, Op::Mul), (8, Op::Add)] {
            self.push(constant);
            self.op(op, -1);
        }
        self.load(header);
        self.op(Op::Add, -1);
        self.op(Op::Dup, 1);
        self.store_slot(geneve.linkhdr);
        self.op(Op::Dup, 1);
        self.store_slot(geneve.linkpl);
        self.inner_ethernet(header, geneve);
        if self.last.is_some() {
            self.push(0);
            self.note_last();
            self.op(Op::Pop, -1);
        }
    }

    fn check_geneve(&mut self, header: u32) {
        self.check_captured(4, 4);
        self.load(header);
        self.op(Op::Pbl, 1);
        self.push(4);
        self.op(Op::Sub, -1);
        self.reject_if(Op::JCmpG, 2);
    }

    /// With the end of the Geneve header on the stack: an Ethernet header there moves the payload
    /// and the type field.
    fn inner_ethernet(&mut self, header: u32, geneve: Geneve) {
        let bare = self.new_place();
        self.load(header);
        self.push(2);
        self.op(Op::Add, -1);
        self.op(Op::UpLoad16, 0);
        self.push(TRANSPARENT_ETHERNET);
        self.branch_to(Op::JCmpNeq, BranchTarget::Inside(bare), -2);
        self.op(Op::Dup, 1);
        self.push(12);
        self.op(Op::Add, -1);
        self.store_slot(geneve.linktype);
        self.op(Op::Dup, 1);
        self.push(14);
        self.op(Op::Add, -1);
        self.store_slot(geneve.linkpl);
        self.here_is(bare);
        self.op(Op::Pop, -1);
    }
}
