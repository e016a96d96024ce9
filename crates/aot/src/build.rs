//! Runs the system's C compiler.
//!
//! The compiler is what `NETVM_CC` names (with arguments, if any), else the first of `cc`, `gcc` and `clang` that can be run. It reads the text from its
//! standard input and writes a shared object; it is stopped after `PATIENCE`.

use crate::{AotError, io_error};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// How long a compiler may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The options every compiler gets.
pub const FLAGS: &[&str] = &["-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-w"];

/// Further ones for code that runs on this machine alone.
pub const HERE: &[&str] = if cfg!(target_arch = "x86_64") { &["-march=native"] } else { &[] };

/// What decides which code [`HERE`] makes: the first processor's model and features.
pub fn machine() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = told.split("\n\n").next().unwrap_or_default();
    let decides = |line: &&str| ["vendor_id", "cpu family", "model", "flags"].iter().any(|word| line.starts_with(word));
    first.lines().filter(decides).collect::<Vec<_>>().join("\n")
}

/// A C compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    program: String,
    arguments: Vec<String>,
    /// What it says of itself.
    pub version: String,
}

impl Compiler {
    /// The system's compiler, looked for once.
    ///
    /// # Errors
    /// There is none, or the one in `NETVM_CC` cannot be run.
    pub fn system() -> Result<&'static Self, AotError> {
        static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref().ok_or(AotError::NoCompiler)
    }

    fn find() -> Option<Self> {
        match std::env::var("NETVM_CC") {
            Ok(command) if !command.trim().is_empty() => Self::new(&command),
            _ => ["cc", "gcc", "clang"].into_iter().find_map(Self::new),
        }
    }

    /// The compiler of that name, with arguments after it, if it can be run.
    pub fn new(command: &str) -> Option<Self> {
        let mut words = command.split_whitespace().map(String::from);
        let (program, arguments) = (words.next()?, words.collect::<Vec<_>>());
        let said = Command::new(&program).arg("--version").stdin(Stdio::null()).output().ok().filter(|out| out.status.success())?;
        let version = String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or_default().to_owned();
        Some(Self { program, arguments, version })
    }

    /// Everything about it that decides what it makes.
    pub fn identity(&self) -> String {
        format!("{} {} {} {}", self.program, self.arguments.join(" "), self.version, FLAGS.join(" "))
    }

    /// Compiles C text to a shared object, with further options.
    ///
    /// # Errors
    /// It cannot be run, does not take the text, or takes too long.
    pub fn compile(&self, text: &str, more: &[&str], output: &Path) -> Result<(), AotError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(FLAGS).args(more).args(["-x", "c", "-", "-o"]).arg(output);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(io_error(&self.program))?;
        let said = thread::scope(|scope| {
            let (input, errors) = (child.stdin.take(), child.stderr.take());
            // A compiler that gives up early does not read it all, and says why.
            scope.spawn(move || input.map(|mut pipe| drop(pipe.write_all(text.as_bytes()))));
            let listener = scope.spawn(move || {
                let mut said = String::new();
                errors.map(|mut pipe| pipe.read_to_string(&mut said));
                said
            });
            let ended = wait(&mut child);
            ended.map(|fine| (fine, listener.join().unwrap_or_default()))
        });
        match said {
            Ok((true, _)) => Ok(()),
            Ok((false, said)) => {
                Err(AotError::Compiler(said.lines().find(|l| l.contains("error")).unwrap_or("it ended with an error").to_owned()))
            }
            Err(error) => Err(io_error(&self.program)(error)),
        }
    }
}

/// Waits for the end, and brings it about if it takes too long; true if all went well.
fn wait(child: &mut Child) -> std::io::Result<bool> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the compiler took too long"));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
