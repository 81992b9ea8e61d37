//! Where an export goes: a file, whole or not at all, or what can't be renamed to: a pipe, a device,
//! standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use garland_terminal::failure::{Failure, OrFailure};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Where an export goes.
pub struct Target {
    output: BufWriter<Box<dyn Write>>,
    /// The file's name until it is whole, and the one it gets then.
    names: Option<(PathBuf, PathBuf)>,
    what: String,
    written: u64,
}

impl Target {
    /// Opens `path`, or standard output.
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
                let file = File::create(&temporary).or_nothing(format!("making {what}"))?;
                (Box::new(file), Some((temporary, path.to_owned())))
            }
        };
        Ok(Self { output: BufWriter::with_capacity(BUFFER, output), names, what, written: 0 })
    }

    /// What could not be written, and why. That a reader of standard output is gone is told as such.
    pub fn failure(&self, error: &io::Error) -> Failure {
        Failure::nothing(format!("writing {}: {}", self.what, garland_sys::error::reason(error)))
    }

    /// All is written: the file gets its name. How many bytes it has.
    pub fn finish(mut self) -> Result<u64, Failure> {
        self.output.flush().map_err(|error| self.failure(&error))?;
        if let Some((temporary, path)) = self.names.take() {
            let named = fs::rename(&temporary, &path);
            if named.is_err() {
                // It is of no use; the failure to name it is what is told.
                let _ = fs::remove_file(&temporary);
            }
            named.or_nothing(format!("naming {}", self.what))?;
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
            // Part of an export; why it isn't whole is told elsewhere.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Whether an error says that whoever read has read what he wanted.
pub fn is_enough(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}
