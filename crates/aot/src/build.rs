//! Runs the system's C compiler.
//!
//! The compiler is what `NETVM_CC` names (with arguments, if any), else the first of `cc`, `gcc`
//! and `clang` that can be run. It reads the text from its standard input and writes a shared
//! object; it is stopped after `PATIENCE`, and earlier when it takes more processor time or memory
//! than the length of the text allows.

use crate::{AotError, io_error};
use compiler::backends::c::fused::{PART, Part};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// How long a compiler may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Processor seconds that each program of a compiler may take: so many, and one for every so many
/// bytes of text.
const SECONDS: (u64, u64) = (10, 4096);
/// Bytes of memory that each may take: so many, and so many for each byte of text.
const MEMORY: (u64, u64) = (1 << 30, 1 << 10);
/// The options every compiler gets.
pub const FLAGS: &[&str] = &["-std=gnu11", "-O2", "-fPIC", "-fno-strict-aliasing", "-w"];
/// Of a text in two parts each is compiled from so many bytes on: before, starting another compiler
/// takes longer than it saves.
const IN_PARTS: usize = 200_000;
/// What rarely runs needs no more optimisation: a translator's slow form takes half the time to
/// compile.
const SLOW: &[&str] = &["-O1"];

/// Further ones for code that runs on this machine alone.
pub const HERE: &[&str] = if cfg!(target_arch = "x86_64") { &["-march=native"] } else { &[] };

/// What decides which code [`HERE`] makes: the first processor's model and features.
pub fn machine() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = told.split("\n\n").next().unwrap_or_default();
    let decides = |line: &&str| ["vendor_id", "cpu family", "model", "flags"].iter().any(|word| line.starts_with(word));
    first.lines().filter(decides).collect::<Vec<_>>().join("\n")
}

/// What each program of a compiler may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    seconds: u64,
    bytes: u64,
}

impl Limits {
    /// For a text of so many bytes.
    fn of(text: usize) -> Self {
        let text = text as u64;
        Self { seconds: (SECONDS.0 + text / SECONDS.1).min(PATIENCE.as_secs()), bytes: MEMORY.0 + MEMORY.1.saturating_mul(text) }
    }

    /// Lets a command, and what it runs, have no more.
    fn set(self, command: &mut Command) {
        let limit = |value| Rlimit { current: Some(value), maximum: Some(value) };
        let apply = move || {
            setrlimit(Resource::Cpu, limit(self.seconds))?;
            setrlimit(Resource::As, limit(self.bytes))?;
            Ok(())
        };
        // SAFETY: between fork and exec there are two system calls, and nothing is allocated.
        unsafe { command.pre_exec(apply) };
    }
}

/// A file that is removed at the end.
struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
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
        format!("{} {} {} {} {}", self.program, self.arguments.join(" "), self.version, FLAGS.join(" "), SLOW.join(" "))
    }

    /// Compiles C text to a shared object, with further options.
    ///
    /// # Errors
    /// It cannot be run, does not take the text, or takes too long or too much memory for its
    /// length.
    pub fn compile(&self, text: &str, more: &[&str], output: &Path) -> Result<(), AotError> {
        self.compile_within(Limits::of(text.len()), text, &[&["-shared"], more].concat(), output)
    }

    /// Compiles C text in two [`Part`]s to a shared object, with further options: if it is a long
    /// one, both are compiled at the same time.
    ///
    /// # Errors
    /// See [`Compiler::compile`].
    pub fn compile_parts(&self, text: &str, more: &[&str], output: &Path) -> Result<(), AotError> {
        if text.len() < IN_PARTS {
            return self.compile(text, more, output);
        }
        let object = |part: Part| Passing(PathBuf::from(format!("{}.{}.o", output.display(), part.number())));
        let objects = [object(Part::Fast), object(Part::Slow)];
        let compile = |part: Part, flags: &[&str], object: &Passing| {
            let define = format!("-D{PART}={}", part.number());
            self.compile_within(Limits::of(text.len()), text, &[&["-c", &define], more, flags].concat(), &object.0)
        };
        let (fast, slow) = thread::scope(|scope| {
            let slow = scope.spawn(|| compile(Part::Slow, SLOW, &objects[1]));
            (compile(Part::Fast, &[], &objects[0]), slow.join())
        });
        fast?;
        slow.unwrap_or_else(|_| Err(AotError::Compiler("it was lost".to_owned())))?;
        self.link(&objects, output)
    }

    /// One shared object of several.
    fn link(&self, objects: &[Passing], output: &Path) -> Result<(), AotError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg("-shared").args(objects.iter().map(|object| &object.0)).arg("-o").arg(output);
        self.run(command, Limits::of(0), "")
    }

    fn compile_within(&self, limits: Limits, text: &str, more: &[&str], output: &Path) -> Result<(), AotError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(FLAGS).args(more).args(["-x", "c", "-", "-o"]).arg(output);
        self.run(command, limits, text)
    }

    /// Runs it with that text as its input.
    fn run(&self, mut command: Command, limits: Limits, text: &str) -> Result<(), AotError> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        limits.set(&mut command);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_takes_what_its_text_allows() {
        let Ok(compiler) = Compiler::system() else { return };
        // Each macro is its predecessor ten times: a billion additions.
        let macros: String = (1..10).map(|n| format!("#define M{n} {}\n", format!("M{} ", n - 1).repeat(10))).collect();
        let text = format!("#define M0 +1\n{macros} int f(void) {{ return 0 M9; }}\n");
        let output = std::env::temp_dir().join(format!("netvm-limits-{}.so", std::process::id()));
        let begun = Instant::now();
        for limits in [Limits { seconds: 1, bytes: 4 << 30 }, Limits { seconds: 100, bytes: 200 << 20 }] {
            let refused = compiler.compile_within(limits, &text, &[], &output);
            assert!(matches!(refused, Err(AotError::Compiler(_))), "{limits:?}: {refused:?}");
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        assert!(compiler.compile("int f(void) { return 1; }", &[], &output).is_ok());
        let _ = std::fs::remove_file(output);
    }

    #[test]
    fn two_parts_become_one_object() {
        let Ok(compiler) = Compiler::system() else { return };
        let directory = std::env::temp_dir().join(format!("netvm-parts-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let output = directory.join("both.so");
        let long = " ".repeat(IN_PARTS);
        let text = format!(
            "#if NV_PART == 0\n#error both at once\n#endif\n__attribute__((visibility(\"hidden\"))) int slow(void);\n\
             #if NV_PART != 2\nint fast(void) {{ return slow(); }}\n#endif\n#if NV_PART != 1\nint slow(void) {{ return 7; }}\n#endif\n{long}"
        );
        compiler.compile_parts(&text, HERE, &output).unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "objects are removed");
        // What only one part has an error in is told as well.
        let wrong = text.replace("return 7", "return seven");
        assert!(matches!(compiler.compile_parts(&wrong, HERE, &output), Err(AotError::Compiler(_))));
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn limits_grow_with_the_text() {
        assert_eq!(Limits::of(0), Limits { seconds: 10, bytes: 1 << 30 });
        assert_eq!(Limits::of(1 << 18), Limits { seconds: 74, bytes: (1 << 30) + (1 << 28) });
        assert_eq!(Limits::of(1 << 30).seconds, 120);
    }
}
