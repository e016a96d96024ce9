//! libpcap's own tests of filters held against netvm: the "apply" blocks of `testprogs/TESTrun`,
//! each a filter, a capture of `tests/filter` and which of its packets the filter selects. What
//! comes out otherwise is listed with the reason in `conformance-filters.txt`.
//!
//! The blocks belong to libpcap's newest version, and some hold of no released one: how many the
//! installed tcpdump comes out right on is told beside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines `NAME: REASON`.
const OTHERWISE: &str = include_str!("../conformance-filters.txt");

/// One block.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    name: String,
    capture: String,
    expression: String,
    /// Of each packet, whether it is selected.
    selected: Vec<bool>,
}

/// Runs the blocks whose names contain one of `names`, or all. True if just those came out
/// otherwise that are known to.
pub fn run(netvm: &Path, libpcap: &Path, names: &[&str]) -> io::Result<bool> {
    let blocks = blocks(&fs::read_to_string(libpcap.join("testprogs/TESTrun"))?);
    if blocks.is_empty() {
        return Err(io::Error::other("testprogs/TESTrun has no blocks that can be read"));
    }
    let scratch = std::env::temp_dir().join(format!("netvm-conformance-filters-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let of_netvm = Selector { program: netvm.to_owned(), first: &["filter"], out: scratch.join("netvm.pcap") };
    let of_tcpdump = Selector { program: "tcpdump".into(), first: &[], out: scratch.join("tcpdump.pcap") };
    let (mut right, mut theirs, mut known, mut untrue) = (0, 0, 0, 0);
    for block in blocks.iter().filter(|block| names.is_empty() || names.iter().any(|name| block.name.contains(name))) {
        let capture = libpcap.join("tests/filter").join(&block.capture);
        theirs += u32::from(of_tcpdump.judge(block, &capture).is_ok());
        let reason = OTHERWISE.lines().find_map(|line| line.strip_prefix(block.name.as_str())?.strip_prefix(": "));
        match (of_netvm.judge(block, &capture), reason) {
            (Ok(()), None) => right += 1,
            (Err(_), Some(_)) => known += 1,
            (Err(how), None) => {
                untrue += 1;
                println!("{}: `{}` on {}: {how}", block.name, block.expression, block.capture);
            }
            (Ok(()), Some(_)) => {
                untrue += 1;
                println!("{}: comes out right, and the list says that it does not", block.name);
            }
        }
    }
    fs::remove_dir_all(&scratch)?;
    println!("{right} blocks come out right, {known} otherwise as is known, {untrue} untrue; the installed tcpdump: {theirs} right");
    Ok(untrue == 0)
}

/// A program that selects packets of a capture.
struct Selector {
    program: PathBuf,
    first: &'static [&'static str],
    out: PathBuf,
}

impl Selector {
    fn judge(&self, block: &Block, capture: &Path) -> Result<(), String> {
        let all = self.select(capture, "")?;
        let selected = self.select(capture, &block.expression)?;
        if all.len() != block.selected.len() {
            return Err(format!("{} packets instead of {}", all.len(), block.selected.len()));
        }
        let wanted = all.iter().zip(&block.selected).filter(|(_, selected)| **selected).map(|(packet, _)| packet);
        let same = wanted.clone().count() == selected.len() && wanted.zip(&selected).all(|(wanted, selected)| wanted == selected);
        if same { Ok(()) } else { Err(format!("{} packets selected, and not those that should be", selected.len())) }
    }

    /// The selected packets, each with its header.
    fn select(&self, capture: &Path, expression: &str) -> Result<Vec<Vec<u8>>, String> {
        let mut command = Command::new(&self.program);
        command.args(self.first).arg("-r").arg(capture).arg("-w").arg(&self.out).arg(expression);
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it fails").to_owned());
        }
        records(&fs::read(&self.out).map_err(|error| error.to_string())?).ok_or("what it wrote is no capture".to_owned())
    }
}

/// The records of a pcap file.
fn records(file: &[u8]) -> Option<Vec<Vec<u8>>> {
    let big = matches!(file.first_chunk::<4>()?, [0xa1, 0xb2, ..]);
    let mut rest = file.get(24..)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = *rest.get(8..12)?.first_chunk::<4>()?;
        let length = if big { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
        let (record, behind) = rest.split_at_checked(16 + usize::try_from(length).ok()?)?;
        records.push(record.to_vec());
        rest = behind;
    }
    Some(records)
}

/// The blocks in the text of TESTrun.
fn blocks(text: &str) -> Vec<Block> {
    let list = text.split_once("my @filter_apply_blocks = (").and_then(|(_, rest)| rest.split_once("\n);")).map_or("", |(list, _)| list);
    list.split("\n\t},").filter_map(block).collect()
}

fn block(text: &str) -> Option<Block> {
    let string = |key: &str| {
        let (_, rest) = text.split_once(&format!("{key} => "))?;
        let quote = rest.chars().next()?;
        let value = rest[1..].split_once(&format!("{quote},"))?.0;
        Some(value.replace("\\\\", "\\"))
    };
    let (_, results) = text.split_once("results => [")?;
    let results = results.split_once(']')?.0;
    let plain: String = results.lines().map(|line| line.split('#').next().unwrap_or(line)).collect();
    let selected = plain.split(',').map(str::trim).filter(|number| !number.is_empty()).map(|number| number != "0");
    Some(Block { name: string("name")?, capture: string("savefile")?, expression: string("expr")?, selected: selected.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read() {
        let text = "my @other = (\n);\nmy @filter_apply_blocks = (\n\t{\n\t\tname => 'a',\n\t\tskip => x ('y'),\n\t\tsavefile => 'a.pcap',\n\
                    \t\texpr => 'iso proto \\\\isis',\n\t\tresults => [\n\t\t\t0, # none\n\t\t\t65535,\n\t\t],\n\t},\n);\nmore\n";
        let wanted =
            Block { name: "a".into(), capture: "a.pcap".into(), expression: "iso proto \\isis".into(), selected: vec![false, true] };
        assert_eq!(blocks(text), [wanted]);
    }

    #[test]
    fn records_of_cut_files_are_none() {
        let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1];
        file.resize(24, 0);
        file.extend([0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 8]);
        assert_eq!(records(&file), Some(vec![file[24..].to_vec()]));
        assert_eq!(records(&file[..41]), None);
    }
}
