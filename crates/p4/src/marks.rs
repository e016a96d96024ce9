//! What a program that is compiled for tracing tells of its run.
//!
//! Such a program is the same code with marks between: each mark appends its number and some values
//! to a record in data memory. Nothing reads the record, so what the program does is what it does
//! without marks. Values are little-endian, each in whole bytes. What does not fit the record is
//! left out.

/// Bytes of the record.
pub const RECORD: u32 = 256 << 10;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A parser or control begins.
    Enter,
    /// A parser is in a state.
    State,
    /// A header was extracted.
    Extract,
    /// A parser's error: its number.
    Error,
    /// A table is asked for those keys; the number is the table's in [`crate::Pipeline::tables`].
    Table(usize),
    /// An entry was found.
    Hit,
    /// No entry was found.
    Miss,
    /// An action runs with those arguments.
    Action,
    /// A place was written to: its parts before, and then after.
    Assign,
    /// Which way a condition went.
    Branch(bool),
    /// An extern, or a method of a header or stack, was called; what its arguments are then.
    Call,
    /// A header is put into the packet that goes out.
    Emit,
    /// `exit`
    Exit,
    /// The packet ends behind egress.
    Dropped,
    /// `log_msg`: the name is its text, in which values stand for `{}`; or an `assert` or `assume`
    /// that does not hold.
    Log,
}

/// A place in the program that tells when control comes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What happens there.
    pub kind: MarkKind,
    /// To what.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// Names and widths of the values.
    pub values: Vec<(String, u32)>,
}

/// Where the record is, and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// In data memory: 32 bits, how many bytes the record has, and the record.
    pub at: u32,
    /// By their numbers.
    pub all: Vec<Mark>,
    /// Names of errors by their numbers.
    pub errors: Vec<String>,
}

/// A mark that was passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its number.
    pub mark: usize,
    /// Its values.
    pub values: Vec<num_bigint::BigInt>,
}

impl Marks {
    /// Takes the record out of data memory.
    pub fn take(&self, data: &mut [u8]) -> Vec<Passed> {
        let at = self.at as usize;
        let Some(length) = data.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) else { return Vec::new() };
        let record = data.get(at + 4..at + 4 + length.min(RECORD) as usize).unwrap_or_default();
        let passed = self.decode(record);
        if let Some(length) = data.get_mut(at..at + 4) {
            length.fill(0);
        }
        passed
    }

    fn decode(&self, mut record: &[u8]) -> Vec<Passed> {
        let mut passed = Vec::new();
        while let Some((number, rest)) = record.split_first_chunk::<2>() {
            let mark = usize::from(u16::from_le_bytes(*number));
            let Some(info) = self.all.get(mark) else { break };
            let mut values = Vec::new();
            record = rest;
            for (_, width) in &info.values {
                let Some((value, rest)) = record.split_at_checked(width.div_ceil(8) as usize) else { return passed };
                values.push(num_bigint::BigInt::from_bytes_le(num_bigint::Sign::Plus, value));
                record = rest;
            }
            passed.push(Passed { mark, values });
        }
        passed
    }
}
