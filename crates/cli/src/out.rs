//! Standard output: buffered, flushed when the input has a pause, quiet when its reader is gone.

use crate::failure::Outcome;
use std::io::{self, BufWriter, IsTerminal, Write};

const BUFFER: usize = 256 << 10;

/// Standard output behind a large buffer.
pub(crate) struct Out {
    inner: BufWriter<io::Stdout>,
}

impl Out {
    pub(crate) fn new() -> Self {
        Self { inner: BufWriter::with_capacity(BUFFER, io::stdout()) }
    }

    /// Appends text.
    pub(crate) fn put(&mut self, text: &str) -> Outcome {
        Ok(self.inner.write_all(text.as_bytes())?)
    }

    /// Appends bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Outcome {
        Ok(self.inner.write_all(bytes)?)
    }

    /// Appends a line.
    pub(crate) fn line(&mut self, text: &str) -> Outcome {
        self.put(text)?;
        self.put("\n")
    }

    /// Appends a value as JSON on a line of its own.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> Outcome {
        serde_json::to_writer(&mut self.inner, value).map_err(io::Error::from)?;
        self.put("\n")
    }

    /// Hands everything on to whoever reads.
    pub(crate) fn flush(&mut self) -> Outcome {
        Ok(self.inner.flush()?)
    }

    /// True if a person reads it.
    pub(crate) fn is_terminal() -> bool {
        io::stdout().is_terminal()
    }
}

/// Writes text to a file, or to standard output for `-`; a file is complete or untouched.
pub(crate) fn write_file(path: Option<&std::path::Path>, bytes: &[u8]) -> Outcome {
    use crate::failure::Failure;
    let Some(path) = path.filter(|p| *p != std::path::Path::new("-")) else {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        return Ok(out.flush()?);
    };
    let told = |error: io::Error| Failure::failed(format_args!("cannot write {}: {error}", path.display()));
    // Devices and pipes are written as they are; a file gets its name when it is complete.
    if path.metadata().is_ok_and(|m| !m.is_file()) {
        return std::fs::write(path, bytes).map_err(told);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        // What is left of it, if anything, is of no use to anybody.
        let _ = std::fs::remove_file(&temporary);
        told(error)
    })
}
