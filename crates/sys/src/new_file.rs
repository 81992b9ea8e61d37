//! Files that appear whole under their name or not at all. They are written under a random name in
//! the same directory, since whoever else may write to that directory can give a name that is known
//! before to a link: then the file that it leads to would be overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::random;

/// A file that has not its name yet. It is removed when this is dropped before
/// [`commit`](Self::commit).
#[derive(Debug)]
pub struct NewFile {
    file: File,
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl NewFile {
    /// Creates the file that will be `path`, with the permissions that the umask allows.
    ///
    /// # Errors
    /// When the directory does not exist, or nothing can be created in it.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, 0o666)
    }

    /// Creates the file that will be `path`; `mode` and the umask determine its permissions.
    ///
    /// # Errors
    /// When the directory does not exist, or nothing can be created in it.
    pub fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        let number = u64::from_ne_bytes(random::bytes());
        // Most programs ignore names that begin with a dot.
        let temporary = path.with_file_name(format!(".garland-{number:016x}.part"));
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        Ok(Self { file, temporary: Some(temporary), path: path.to_owned() })
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name. A file or link that has the name is replaced.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The error that left it incomplete is reported elsewhere.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes the file `path`, which always has either its old content or all of `bytes`.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Writes an output that the user has named: what is there and no regular file, such as a pipe,
/// gets the bytes, and anything else is replaced, as by [`write`].
///
/// # Errors
/// When the file cannot be written.
pub fn write_or_replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => File::options().write(true).open(path)?.write_all(bytes),
        _ => write(path, bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_replaced_and_an_unfinished_file_leaves_nothing() {
        let name = format!("garland-new-file-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let precious = folder.join("precious");
        let path = folder.join("out");
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &path).unwrap();
        write(&path, b"out").unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"out");
        let mut unfinished = NewFile::create(&path).unwrap();
        unfinished.write_all(b"half").unwrap();
        drop(unfinished);
        assert_eq!(fs::read(&path).unwrap(), b"out");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
