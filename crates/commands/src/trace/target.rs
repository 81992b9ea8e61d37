//! The output of an export: a file, which appears whole or not at all, or a pipe, a device or standard
//! output, which are written in place.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use garland_terminal::failure::{Failure, OrFailure};

/// The size of the output buffer, in bytes.
const BUFFER: usize = 256 << 10;

/// The output of an export or a report.
pub struct Target {
    output: BufWriter<Box<dyn Write>>,
    /// The temporary name of the file, and its final one; `None` if the output is written in place.
    names: Option<(PathBuf, PathBuf)>,
    what: String,
    written: u64,
}

impl Target {
    /// Opens `path` for writing; standard output if `path` is `None`.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let what =
            path.map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
        let (output, names): (Box<dyn Write>, _) = match path {
            None => (Box::new(io::stdout()), None),
            Some(path) if fs::metadata(path).is_ok_and(|file| !file.is_file()) => {
                let file = File::options().write(true).open(path);
                (Box::new(file.or_nothing(format!("opening {what}"))?), None)
            }
            Some(path) => {
                let mut temporary = path.as_os_str().to_owned();
                temporary.push(format!(".tmp{}", std::process::id()));
                let temporary = PathBuf::from(temporary);
                let file = File::create(&temporary).or_nothing(format!("creating {what}"))?;
                (Box::new(file), Some((temporary, path.to_owned())))
            }
        };
        Ok(Self { output: BufWriter::with_capacity(BUFFER, output), names, what, written: 0 })
    }

    /// Converts an error of writing to a failure that names the output.
    pub fn failure(&self, error: &io::Error) -> Failure {
        Failure::nothing(format!("writing {}: {}", self.what, garland_sys::error::reason(error)))
    }

    /// Flushes the output and gives the file its final name. Returns the output's length in bytes.
    pub fn finish(mut self) -> Result<u64, Failure> {
        self.output.flush().map_err(|error| self.failure(&error))?;
        if let Some((temporary, path)) = self.names.take() {
            let named = fs::rename(&temporary, &path);
            if named.is_err() {
                // The failure to rename is the error that is reported.
                let _ = fs::remove_file(&temporary);
            }
            named.or_nothing(format!("renaming to {}", self.what))?;
        }
        Ok(self.written)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.output.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((temporary, _)) = self.names.take() {
            // The error that left it incomplete is reported elsewhere.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Whether an error means that the reader of a pipe has closed it.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}
