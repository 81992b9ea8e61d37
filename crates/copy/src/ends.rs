//! Sources on this machine: files, and what can be read only once.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_dataplane::source::{Source, SourceError};
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

/// The most links that are followed to a descriptor, as the kernel does with a path.
const LINKS_MAX: usize = 40;

/// Whether `path` names a descriptor of a process, as /dev/stdin and /dev/fd/3 do, also by links.
/// What it is depends on how the process was started, even if it is a regular file.
#[must_use]
pub fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Some(folder) = path.parent() else { return false };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(folder) = folder.canonicalize() else { return false };
        if folder.starts_with("/proc") && folder.ends_with("fd") {
            return true;
        }
        let Ok(target) = fs::read_link(&path) else { return false };
        path = folder.join(target);
    }
    false
}

/// Whether a source is a stream: it can be read only once, and its length is unknown before its
/// end.
pub fn is_stream(source: &Path) -> bool {
    let word = matches!(target::parse(source.as_os_str()), Ok(Target::Pipe | Target::Command(_)));
    word || source.metadata().is_ok_and(|stat| stat.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn descriptors_are_known_by_each_of_their_names() {
        let file = File::open("Cargo.toml").expect("a file");
        let number = file.as_raw_fd();
        let own = std::process::id();
        let link = std::env::temp_dir().join(format!("garland-descriptor-{own}"));
        symlink("/dev/stdin", &link).expect("a link");
        let names = [
            "/dev/stdin".to_owned(),
            "/dev/../dev/stdin".to_owned(),
            format!("/dev/fd/{number}"),
            format!("/proc/self/fd/{number}"),
            format!("/proc/thread-self/fd/{number}"),
            format!("/proc/{own}/fd/{number}"),
            link.display().to_string(),
        ];
        for name in &names {
            assert!(is_descriptor(Path::new(name)), "{name}");
        }
        fs::remove_file(link).expect("the link is removed");
        for name in ["Cargo.toml", "-", "missing/file", "/dev/null", "/proc/self/maps", "/", ""] {
            assert!(!is_descriptor(Path::new(name)), "{name}");
        }
    }
}
