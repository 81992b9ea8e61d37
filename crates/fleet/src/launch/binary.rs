//! The program as it is sent to nodes, identified by its digest: the one for nodes that the running
//! program carries, or else the running program itself, without sections that only debuggers read.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use aws_lc_rs::digest::{SHA256, digest};
use garland_control::program::{Carried, Image};
use garland_sys::process;

use super::error::{LaunchError, cannot};

/// The program for nodes, ready to be sent.
pub struct Binary {
    /// The bytes that are sent, once a node has needed them.
    bytes: OnceLock<Result<Vec<u8>, LaunchError>>,
    /// Where the bytes are until then; none if they are known.
    carried: Option<Carried>,
    /// The length in bytes of what is sent: the program, or its form compressed by gzip.
    pub length: u64,
    /// The program's SHA-256 digest in hexadecimal, which sha256sum on nodes can check.
    pub digest: String,
    /// The program's CPU architecture, as printed by `uname -m`.
    pub machine: String,
    /// The program's file on this machine, for nodes that share the file system; none if the file
    /// has been replaced, or has the program for nodes in compressed form only.
    pub stamp: Option<Stamp>,
}

/// A file, as identified by nodes that share its file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The file's length in bytes and modification time in seconds, as printed by `stat -c %s.%Y`.
    pub length_and_time: String,
}

impl Binary {
    /// Finds the program that the running program carries, or reads the running program itself.
    ///
    /// # Errors
    /// When the running program's file cannot be read.
    pub fn running() -> io::Result<Self> {
        let Some(carried) = Carried::running()? else { return Self::whole() };
        let length = carried.length();
        let digest = hexadecimal(carried.digest());
        let carried = Some(carried);
        Ok(Self {
            bytes: OnceLock::new(),
            carried,
            length,
            digest,
            machine: process::machine(),
            stamp: None,
        })
    }

    /// Reads the running program.
    fn whole() -> io::Result<Self> {
        let meta = std::fs::metadata(own_binary())?;
        let mut bytes = Vec::new();
        Image::running()?.read_to_end(&mut bytes)?;
        let digest = hexadecimal(digest(&SHA256, &bytes).as_ref());
        let path = std::fs::read_link(own_binary()).ok();
        // If the program was replaced, its path names another file.
        let same = |path: &PathBuf| {
            let found = std::fs::metadata(path);
            found.is_ok_and(|found| (found.dev(), found.ino()) == (meta.dev(), meta.ino()))
        };
        let stamp = path.filter(same).map(|path| Stamp {
            path,
            length_and_time: format!("{}.{}", meta.len(), meta.mtime()),
        });
        Ok(Self { stamp, ..Self::from_bytes(bytes, digest, &process::machine()) })
    }

    /// Returns the program with these `bytes`, which have this `digest`.
    pub(super) fn from_bytes(bytes: Vec<u8>, digest: String, machine: &str) -> Self {
        let length = bytes.len() as u64;
        let bytes = OnceLock::from(Ok(bytes));
        Self { bytes, carried: None, length, digest, machine: machine.to_owned(), stamp: None }
    }

    /// Whether nodes get the program in a form that gzip unpacks.
    pub fn is_compressed(&self) -> bool {
        self.carried.is_some()
    }

    /// Returns the bytes that are sent to nodes.
    ///
    /// # Errors
    /// When the running program's file cannot be read or is damaged.
    pub fn bytes(&self) -> Result<&[u8], LaunchError> {
        let read = || {
            let bytes = self.carried.as_ref().map_or(Ok(Vec::new()), Carried::bytes);
            bytes.map_err(cannot("send the program", ""))
        };
        self.bytes.get_or_init(read).as_deref().map_err(Clone::clone)
    }
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Binary({} bytes, {})", self.length, self.digest)
    }
}

/// Formats bytes in lower-case hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a path that names the running program even if its file has been replaced.
pub fn own_binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_sent_program_is_shorter_and_runs() {
        let binary = Binary::running().expect("this test can be read");
        let bytes = binary.bytes().expect("they are known");
        let whole = std::fs::metadata(own_binary()).expect("there").len();
        assert!((bytes.len() as u64) < whole, "{binary:?} of {whole}");
        let path = std::env::temp_dir().join(format!("garland-binary-{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o700).open(&path).expect("a new file");
        file.write_all(bytes).expect("room for it");
        drop(file);
        // Another test's child may hold the file open for writing for a moment, between its fork
        // and its exec.
        let ran = (0..50).find_map(|_| match Command::new(&path).arg("--list").output() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                None
            }
            result => Some(result),
        });
        let sum = Command::new("sha256sum").arg(&path).output();
        std::fs::remove_file(&path).expect("it was made above");
        let listed = ran.expect("not busy for long").expect("it runs");
        assert!(String::from_utf8_lossy(&listed.stdout).contains("the_sent_program_is_shorter"));
        let sum = String::from_utf8_lossy(&sum.expect("it ran").stdout).into_owned();
        assert!(sum.starts_with(&binary.digest), "{sum}");
    }
}
