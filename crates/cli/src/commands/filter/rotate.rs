//! `-w`: the capture that packets are written to, and the next one when it is full or its time has
//! passed (`-C`, `-G`, `-W`, `-z`).
//!
//! Names, numbers and moments are tcpdump's: a file ends before the packet that finds it larger
//! than `-C`, or older than `-G`. The age is that of this machine's clock on an interface, and of
//! the packets' times in files. A file is not begun while `-z`'s command runs with its name: it
//! would be emptied under the command's hands, and removed by it. A file with which the command
//! failed is not replaced but renamed; with `-W`, which bounds the files, only the last one of each
//! name is kept so.

use crate::failure::{self, Failure, Outcome};
use crate::input::Flow;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use netvm::io::{Burst, WriteOptions, Writer};
use netvm::netil::exec::Selection;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// When the output goes on in another file.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Output in several files")]
pub(super) struct RotateArgs {
    /// Go on in another file, OUT1, OUT2, …, when one is larger than so many million bytes; k, m, g
    /// after it: KiB, MiB, GiB
    #[arg(short = 'C', value_name = "SIZE", value_parser = size, requires = "write")]
    size: Option<u64>,

    /// Go on in another file after so many seconds; OUT may have a time in it, as strftime(3)
    /// writes it
    #[arg(short = 'G', value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..), requires = "write")]
    seconds: Option<u32>,

    /// With -C, begin again with the first after so many files; with -G alone, end after so many
    #[arg(short = 'W', value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), requires = "write")]
    files: Option<u32>,

    /// Run this command with the name of each file that was left for another
    #[arg(short = 'z', value_name = "COMMAND", requires = "write")]
    command: Option<String>,
}

/// Commands that are remembered: more of them at once are those of names that do not come again.
const MAX_COMMANDS: usize = 1024;

/// The output, in one file after the other.
pub(super) struct Output {
    args: RotateArgs,
    name: PathBuf,
    plan: WriteOptions,
    /// Files have their names from the beginning, and the clock is this machine's.
    live: bool,
    every_packet: bool,
    /// The present file; none before the first packet, where its time is part of the name.
    present: Option<(PathBuf, Writer)>,
    /// When it began, in seconds since 1970.
    began: i64,
    /// Files that were left, for each of the reasons.
    by_size: u32,
    by_time: u32,
    /// Commands that may still run or have failed, each with its file.
    children: Vec<(PathBuf, Child)>,
    /// With -W, files with which the command failed, each with the name that its last one has now.
    kept: HashMap<PathBuf, PathBuf>,
}

impl Output {
    pub(super) fn new(args: &RotateArgs, name: &Path, plan: WriteOptions, live: bool, every_packet: bool) -> Outcome<Self> {
        let args = args.clone();
        if args.files.is_some() && args.size.is_none() && args.seconds.is_none() {
            return Err(Failure::usage("-W counts files of -C or -G, and there is neither"));
        }
        if name == Path::new("-") && (args.size.is_some() || args.seconds.is_some()) {
            return Err(Failure::usage("standard output is one file: -C and -G need a name with -w"));
        }
        let wait = args.seconds.is_some() && !live;
        if args.seconds.is_some() && !has_time(name) {
            failure::warning(format_args!(
                "-w {}: without a time in the name the files of -G replace each other: write one into it, such as %H%M%S",
                name.display()
            ));
        }
        let (name, children, kept) = (name.to_owned(), Vec::new(), HashMap::new());
        let mut output = Self { args, name, plan, live, every_packet, present: None, began: now(), by_size: 0, by_time: 0, children, kept };
        if !wait {
            output.open()?;
        }
        Ok(output)
    }

    /// Takes the selected packets of a burst.
    pub(super) fn take(&mut self, burst: &Burst<'_>, selection: &Selection) -> Outcome<Flow> {
        if self.args.size.is_none() && self.args.seconds.is_none() {
            self.write(|writer| writer.write_selected(burst, &selection.bits))?;
        } else {
            for i in (0..burst.len()).filter(|&i| selection.get(i)) {
                let time = if self.live { now() } else { burst.timestamp(i).secs };
                if let Flow::Enough = self.turn(time)? {
                    return Ok(Flow::Enough);
                }
                self.write(|writer| writer.write_one(burst, i))?;
            }
        }
        if self.every_packet {
            self.flush()?;
        }
        Ok(Flow::More)
    }

    pub(super) fn flush(&mut self) -> Outcome {
        self.write(Writer::flush)
    }

    pub(super) fn finish(mut self) -> Outcome {
        if self.present.is_none() && self.by_time == 0 {
            self.open()?;
        }
        self.present.take().map_or(Ok(()), |(_, writer)| Ok(writer.finish().map(drop)?))
    }

    fn write(&mut self, work: impl FnOnce(&mut Writer) -> Result<(), netvm::io::WriteError>) -> Outcome {
        self.present.as_mut().map_or(Ok(()), |(_, writer)| Ok(work(writer)?))
    }

    /// Goes on in another file if it is time for that.
    fn turn(&mut self, time: i64) -> Outcome<Flow> {
        if self.present.is_none() {
            self.began = time;
            self.open()?;
        }
        if self.args.seconds.is_some_and(|seconds| time.saturating_sub(self.began) >= i64::from(seconds)) {
            self.close()?;
            (self.began, self.by_size, self.by_time) = (time, 0, self.by_time.saturating_add(1));
            if let (None, Some(files)) = (self.args.size, self.args.files.filter(|&files| self.by_time >= files)) {
                failure::eprint_lossy(&format!("Maximum file limit reached: {files}"));
                return Ok(Flow::Enough);
            }
            self.open()?;
        }
        let written = self.present.as_ref().map_or(0, |(_, writer)| writer.bytes());
        if self.args.size.is_some_and(|size| written > size) {
            self.close()?;
            self.by_size = self.by_size.saturating_add(1);
            if self.args.files.is_some_and(|files| self.by_size >= files) {
                self.by_size = 0;
            }
            self.open()?;
        }
        Ok(Flow::More)
    }

    /// Makes the present file another user's.
    pub(super) fn give_to(&self, user: u32, group: u32) -> Outcome {
        self.present.as_ref().map_or(Ok(()), |(_, writer)| Ok(writer.give_to(user, group)?))
    }

    fn open(&mut self) -> Outcome {
        let path = self.path()?;
        self.await_commands(&path);
        let writer = if self.live { Writer::create_growing(&path, &self.plan) } else { Writer::create(&path, &self.plan) };
        self.present = Some((path, writer?));
        Ok(())
    }

    fn close(&mut self) -> Outcome {
        let Some((path, writer)) = self.present.take() else { return Ok(()) };
        writer.finish()?;
        self.children.retain_mut(|(_, child)| !matches!(child.try_wait(), Ok(Some(status)) if status.success()));
        self.children.drain(..self.children.len().saturating_sub(MAX_COMMANDS));
        let Some(command) = &self.args.command else { return Ok(()) };
        match Command::new(command).arg(&path).stdin(Stdio::null()).spawn() {
            Ok(child) => {
                // Beside the capture, which is not to lose packets for it.
                let _ = rustix::process::setpriority_process(Some(rustix::process::Pid::from_child(&child)), 19);
                self.children.push((path, child));
            }
            Err(error) => failure::warning(format_args!("-z {command}: {error}")),
        }
        Ok(())
    }

    /// Waits for the commands that still work on the file of that name. What comes meanwhile waits
    /// in the kernel.
    fn await_commands(&mut self, path: &Path) {
        let mut failed = false;
        for (_, child) in self.children.iter_mut().filter(|(file, _)| file == path) {
            failed |= !child.wait().is_ok_and(|status| status.success());
        }
        self.children.retain(|(file, _)| file != path);
        if let (true, Some(command)) = (failed && path.is_file(), &self.args.command) {
            let before = self.kept.get(path).map(PathBuf::as_path);
            let kept = set_aside(path, before);
            let told = kept.as_ref().map_or_else(ToString::to_string, |kept| format!("it is now {}", kept.display()));
            failure::warning(format_args!("-z {command} failed with {}: {told}", path.display()));
            self.kept.extend(kept.ok().filter(|_| self.args.files.is_some()).map(|kept| (path.to_owned(), kept)));
        }
    }

    /// The name of the file that is begun: with its time and number, as tcpdump does it.
    fn path(&self) -> Outcome<PathBuf> {
        let mut name = match self.args.seconds {
            Some(_) => self.timed()?.into(),
            None => self.name.clone().into_os_string(),
        };
        // As many digits as the last number has.
        let width = self.args.files.filter(|_| self.args.size.is_some()).map_or(0, |files| digits(files - 1));
        if self.by_size > 0 || width > 0 {
            name.push(format!("{:0width$}", self.by_size));
        }
        Ok(name.into())
    }

    fn timed(&self) -> Outcome<String> {
        let wrong = |why: &dyn std::fmt::Display| Failure::usage(format_args!("-w {}: {why}", self.name.display()));
        let name = self.name.to_str().ok_or_else(|| wrong(&"with -G the name must be UTF-8"))?;
        let time = Timestamp::from_second(self.began).map_err(|error| wrong(&error))?;
        let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
        jiff::fmt::strtime::format(name, &time.to_zoned(zone)).map_err(|error| wrong(&error))
    }
}

/// Gives a file the name of one that was set aside before, which it replaces, or a number behind
/// its name that no file has.
fn set_aside(path: &Path, before: Option<&Path>) -> std::io::Result<PathBuf> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let free = || (1..=u32::MAX).map(numbered).find(|name| !name.exists()).unwrap_or_else(|| path.to_owned());
    let name = before.map_or_else(free, Path::to_owned);
    std::fs::rename(path, &name).map(|()| name)
}

/// Whether strftime(3) would put anything into a name.
fn has_time(name: &Path) -> bool {
    let name = name.as_os_str().as_encoded_bytes();
    name.windows(2).any(|pair| pair[0] == b'%' && pair[1].is_ascii_alphabetic())
}

fn digits(mut number: u32) -> usize {
    let mut digits = 0;
    while number > 0 {
        (digits, number) = (digits + 1, number / 10);
    }
    digits
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

/// A size as tcpdump takes it.
fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1_000_000),
    };
    let size = digits.parse::<u64>().ok().filter(|&number| number > 0).and_then(|number| number.checked_mul(unit));
    size.ok_or_else(|| "not a size: a number of million bytes, or of KiB, MiB, GiB with k, m, g after it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let good = [("1", 1_000_000), ("2k", 2048), ("3M", 3 << 20), ("1g", 1 << 30)];
        good.into_iter().for_each(|(text, bytes)| assert_eq!(size(text), Ok(bytes)));
        for text in ["", "0", "k", "-1", "1x", "99999999999999999999", "18446744073709551615g", "1é"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_with_a_time_are_known() {
        assert!(["a-%H.pcap", "%s"].into_iter().all(|name| has_time(Path::new(name))));
        assert!(["a.pcap", "100%", "a%%", "%", ""].into_iter().all(|name| !has_time(Path::new(name))));
    }

    #[test]
    fn numbers_have_the_digits_of_the_last() {
        assert_eq!([0, 1, 9, 10, 99, 100].map(digits), [0, 1, 1, 2, 2, 3]);
    }
}
