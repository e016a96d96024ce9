//! The tests of sets, in the form that [`crate::sets`] chose, for one value and for lanes.

use super::Unsupported;
use crate::mir::{Func, Op};
use crate::sets::{ALL, Hash, MembershipTest, SOME, Search};
use netil::Module;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Tables are as long as a multiple of this: what registers hold is loaded whole.
const ROUND: usize = 32;

/// The sets that a function tests.
pub(super) struct Sets {
    sets: BTreeMap<u32, Tested>,
}

/// A set: how one value is tested, and how lanes are, if otherwise.
struct Tested {
    plan: MembershipTest,
    for_lanes: Option<MembershipTest>,
    width: u16,
}

impl Tested {
    fn by_lanes(&self) -> &MembershipTest {
        self.for_lanes.as_ref().unwrap_or(&self.plan)
    }
}

impl Sets {
    pub(super) fn new(module: &Module, func: &Func) -> Result<Self, Unsupported> {
        let mut sets = BTreeMap::new();
        for op in func.blocks.iter().flat_map(|b| &b.ops).filter_map(|v| func.op(*v)) {
            if let Op::SetHas(index, _) = op
                && !sets.contains_key(index)
            {
                let set = &module.sets[*index as usize];
                let plan = MembershipTest::choose(set).ok_or_else(|| Unsupported(format!("a set of {} bits", set.width())))?;
                let for_lanes = plan.compact(set);
                sets.insert(*index, Tested { plan, for_lanes, width: set.width() });
            }
        }
        Ok(Self { sets })
    }

    /// Whether lanes, of 32 bits, can test a set.
    pub(super) fn fits_lanes(&self, set: u32) -> bool {
        self.sets.get(&set).is_some_and(|set| set.width <= 32)
    }

    /// Tables, and a function `setN` for each.
    pub(super) fn scalar(&self) -> String {
        let mut text = String::new();
        for (index, Tested { plan, width, .. }) in &self.sets {
            let (wide, name) = (*width > 32, format!("set{index}"));
            let _ = write!(text, "\n/* set {index}: {} */\n{}", plan.describe(), data(&name, plan, wide));
            let ty = if wide { "uint64_t" } else { "uint32_t" };
            let _ = write!(text, "NV_INLINE int {name}({ty} v)\n{{\n{}}}\n", one(&name, plan, ty));
        }
        text
    }

    /// What lanes need besides: tables that are the same for all widths.
    pub(super) fn for_lanes(&self) -> String {
        let others = self.sets.iter().filter_map(|(index, set)| set.for_lanes.as_ref().map(|plan| (index, plan)));
        let table = |(index, plan): (&u32, &MembershipTest)| {
            format!("\n/* {} */\n{}", plan.describe(), data(&format!("set{index}_lanes"), plan, false))
        };
        others.map(table).collect()
    }

    /// A function `$setN` for each that lanes can test.
    pub(super) fn lanes(&self) -> String {
        let mut text = String::new();
        for (index, set) in self.sets.iter().filter(|(index, _)| self.fits_lanes(**index)) {
            let name = if set.for_lanes.is_some() { format!("set{index}_lanes") } else { format!("set{index}") };
            let _ = write!(text, "\n@LANES $m $set{index}($m k, $v v)\n{{\n{}}}\n", many(&name, set.by_lanes()));
        }
        text
    }
}

/// The tables of a set. Bitmaps are in words of 32 bits, for lanes as well.
fn data(set: &str, plan: &MembershipTest, wide: bool) -> String {
    let ty = if wide { "uint64_t" } else { "uint32_t" };
    match plan {
        MembershipTest::Compare(_) => String::new(),
        MembershipTest::Bits { mask, .. } => array("uint32_t", set, "words", &halves(&[*mask])),
        MembershipTest::Bitmap { words, .. } => array("uint32_t", set, "words", &halves(words)),
        MembershipTest::Hash(hash) => {
            let displace = if hash.displace.is_empty() { String::new() } else { array(ty, set, "displace", &hash.displace) };
            displace + &array(ty, set, "keys", &hash.keys)
        }
        MembershipTest::Search(s) => {
            let states = if wide || s.states.is_empty() { String::new() } else { array("uint32_t", set, "states", &s.states) };
            let index = array("uint32_t", set, "index", &s.index);
            states + &index + &array(ty, set, "lows", &s.lows) + &array(ty, set, "highs", &s.highs)
        }
    }
}

fn halves(words: &[u64]) -> Vec<u64> {
    words.iter().flat_map(|word| [word & 0xffff_ffff, word >> 32]).collect()
}

fn array(ty: &str, set: &str, name: &str, values: &[u64]) -> String {
    let mut text = format!("static const {ty} {set}_{name}[{}] __attribute__((aligned(64))) = {{", round(values.len()));
    for (i, value) in values.iter().enumerate() {
        let _ = write!(text, "{}{value:#x}{},", if i % 8 == 0 { "\n    " } else { " " }, if ty == "uint64_t" { "u" } else { "" });
    }
    text + "\n};\n"
}

fn round(length: usize) -> usize {
    length.next_multiple_of(ROUND)
}

/// A word of a table for each lane; the table's length says how.
fn table(k: &str, set: &str, name: &str, length: usize, index: &str) -> String {
    format!("$table({k}, {set}_{name}, {}, {index})", round(length))
}

/// The body of the test for one value.
fn one(set: &str, plan: &MembershipTest, ty: &str) -> String {
    match plan {
        MembershipTest::Compare(ranges) => {
            let each = |(low, high): &(u64, u64)| match low == high {
                true => format!("v == {low:#x}u"),
                false => format!("v - {low:#x}u <= {:#x}u", high - low),
            };
            let tests: Vec<String> = ranges.iter().map(each).collect();
            format!("    (void)v;\n    return {};\n", if tests.is_empty() { "0".to_owned() } else { tests.join(" || ") })
        }
        MembershipTest::Bits { low, .. } => bit(set, *low, 64, ty),
        MembershipTest::Bitmap { low, span, .. } => bit(set, *low, *span, ty),
        MembershipTest::Hash(hash) => {
            let Hash { multiplier, bucket_shift, slot_shift, displace, .. } = hash;
            let displaced = match displace.is_empty() {
                true => "v".to_owned(),
                false => format!("(v ^ {set}_displace[({ty})(v * {multiplier:#x}u) >> {bucket_shift}])"),
            };
            format!("    return {set}_keys[({ty})({displaced} * {multiplier:#x}u) >> {slot_shift}] == v;\n")
        }
        MembershipTest::Search(s) => {
            let first = format!("    uint32_t at = {set}_index[v >> {}];\n", s.shift);
            first
                + &format!("    for (uint32_t step = {}; step > 0; step /= 2)\n", s.step)
                + &format!(
                    "        at += {set}_lows[at + step] <= v ? step : 0;\n    return {set}_lows[at] <= v && v <= {set}_highs[at];\n"
                )
        }
    }
}

fn bit(set: &str, low: u64, span: u64, ty: &str) -> String {
    format!("    {ty} i = v - {low:#x}u;\n    return i < {span} && ({set}_words[i / 32] >> i % 32 & 1);\n")
}

/// The body of the test for lanes; lanes outside `k` may answer anything.
fn many(set: &str, plan: &MembershipTest) -> String {
    match plan {
        MembershipTest::Compare(ranges) => {
            let each = |(low, high): &(u64, u64)| match low == high {
                true => format!("$eq(v, $all({low:#x}))"),
                false => format!("$le($sub(v, $all({low:#x})), $all({:#x}))", high - low),
            };
            let any = ranges.iter().map(each).reduce(|a, b| format!("$either({a},\n        {b})"));
            format!("    (void)k, (void)v;\n    return {};\n", any.unwrap_or_else(|| "$none()".to_owned()))
        }
        MembershipTest::Bits { low, .. } => bits(set, *low, 64),
        MembershipTest::Bitmap { low, span, .. } => bits(set, *low, *span),
        MembershipTest::Hash(hash) => {
            let Hash { multiplier, bucket_shift, slot_shift, displace, keys, .. } = hash;
            let scaled = |v: &str, shift: &u32| format!("$shr($mul({v}, $all({multiplier:#x})), $all({shift}))");
            let displaced = match displace.is_empty() {
                true => "v".to_owned(),
                false => format!("$xor(v, {})", table("k", set, "displace", displace.len(), &scaled("v", bucket_shift))),
            };
            let key = table("k", set, "keys", keys.len(), "slot");
            format!("    $v slot = {};\n    return $eq({key}, v);\n", scaled(&displaced, slot_shift))
        }
        MembershipTest::Search(s) => states(set, s) + &search(set, s),
    }
}

/// Most lanes are in or out with their whole bucket; the others search.
fn states(set: &str, s: &Search) -> String {
    if s.states.is_empty() {
        return "    $m in = $none();\n".to_owned();
    }
    let word = table("k", set, "states", s.states.len(), "$shr(bucket, $all(4))");
    format!(
        "    $v bucket = $shr(v, $all({}));
    $v state = $and($shr({word}, $shl($and(bucket, $all(15)), $all(1))), $all(3));
    $m in = $eq(state, $all({ALL}));
    k = $both(k, $eq(state, $all({SOME})));
    if (!NV_RARELY($any(k)))
        return in;
",
        s.state_shift
    )
}

fn search(set: &str, s: &Search) -> String {
    let of = |name: &str, values: &[u64], at: &str| table("k", set, name, values.len(), at);
    let first = format!("    $v at = {};\n", of("index", &s.index, &format!("$shr(v, $all({}))", s.shift)));
    let closer = format!("at = $select($le({}, v), next, at)", of("lows", &s.lows, "next"));
    first
        + &format!("    for (uint32_t step = {}; step > 0; step /= 2) {{\n", s.step)
        + &format!("        $v next = $add(at, $all(step));\n        {closer};\n    }}\n")
        + &format!("    $m found = $both($le({}, v), $le(v, {}));\n", of("lows", &s.lows, "at"), of("highs", &s.highs, "at"))
        + "    return $either(in, $both(k, found));\n"
}

fn bits(set: &str, low: u64, span: u64) -> String {
    let inside = format!("    $v i = $sub(v, $all({low:#x}));\n    $m inside = $both(k, $lt(i, $all({span})));\n");
    let words = 2 * span.div_ceil(64) as usize;
    let word = format!("    $v word = {};\n", table("inside", set, "words", words, "$shr(i, $all(5))"));
    inside + &word + "    $v bit = $and($shr(word, $and(i, $all(31))), $all(1));\n    return $both(inside, $eq(bit, $all(1)));\n"
}
