//! Sources on this machine: files, and what can be read only once.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_dataplane::{Source, SourceError};

use garland_terminal::failure::Failure;

/// Opens the file `path` as the source of a copy.
pub fn source(path: &Path) -> Result<Source, Failure> {
    Source::open(path).map_err(|error| {
        let failure = Failure::nothing(&error);
        match error {
            SourceError::Directory(_) => failure.hint("directories are copied with -r"),
            SourceError::NotAFile { .. } => failure.hint(format!(
                "to copy its bytes as a stream, give '|cat {}' as the source",
                printable::path(path)
            )),
            SourceError::Io { .. } => failure,
        }
    })
}

/// Whether a source is a stream: it can be read only once, and its length is unknown before its end.
pub fn is_stream(source: &Path) -> bool {
    let word = matches!(target::parse(source.as_os_str()), Ok(Target::Pipe | Target::Command(_)));
    word || source.metadata().is_ok_and(|stat| stat.file_type().is_fifo())
}
