//! The output of an export: a file, which appears whole or not at all, or a pipe, a device or
//! standard output, which are written in place.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use garland_core::printable;
use garland_sys::inherited;
use garland_sys::new_file::NewFile;
use garland_terminal::failure::{Failure, OrFailure};

/// The size of the output buffer, in bytes.
const BUFFER: usize = 256 << 10;

/// Where an export is written to.
enum Output {
    /// Standard output, a pipe or a device.
    InPlace(Box<dyn Write>),
    File(NewFile),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::InPlace(output) => output.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::InPlace(output) => output.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

/// The output of an export or a report.
pub struct Target {
    output: BufWriter<Output>,
    what: String,
    written: u64,
}

impl Target {
    /// Opens `path` for writing; standard output if `path` is `None`.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let what = path.map_or_else(|| "standard output".to_owned(), printable::path);
        let output = match path {
            None => {
                let stdout = inherited::output();
                Output::InPlace(Box::new(stdout.or_nothing("cannot write the trace")?))
            }
            Some(path) if fs::metadata(path).is_ok_and(|file| !file.is_file()) => {
                let file = File::options().write(true).open(path);
                Output::InPlace(Box::new(file.or_nothing(format!("cannot open {what}"))?))
            }
            Some(path) => {
                let file = NewFile::create(path);
                Output::File(file.or_nothing(format!("cannot create {what}"))?)
            }
        };
        Ok(Self { output: BufWriter::with_capacity(BUFFER, output), what, written: 0 })
    }

    /// Converts an error of writing to a failure that names the output.
    pub fn failure(&self, error: &io::Error) -> Failure {
        Failure::nothing(format!("writing {}: {}", self.what, garland_sys::error::reason(error)))
    }

    /// Flushes the output and gives the file its final name. Returns the output's length in bytes.
    pub fn finish(mut self) -> Result<u64, Failure> {
        self.output.flush().map_err(|error| self.failure(&error))?;
        // The buffer is empty.
        if let (Output::File(file), _) = self.output.into_parts() {
            file.commit().or_nothing(format!("cannot rename to {}", self.what))?;
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

/// Whether an error means that the reader of a pipe has closed it.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}
