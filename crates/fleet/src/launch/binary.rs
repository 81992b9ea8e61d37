//! The running program as it is sent to nodes: without sections that only debuggers read, and identified
//! by its digest.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};
use garland_dataplane::Image;
use garland_sys::process;

/// The running program, ready to be sent.
pub struct Binary {
    /// The bytes of the program, which nodes store.
    pub bytes: Vec<u8>,
    /// The SHA-256 digest of `bytes` in hexadecimal, which sha256sum on nodes can check.
    pub digest: String,
    /// The program's CPU architecture, as printed by `uname -m`.
    pub machine: String,
    /// The program's file on this machine, for nodes that share the file system; none if the file
    /// has been replaced.
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
    /// Reads the running program.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn running() -> io::Result<Self> {
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
        Ok(Self { bytes, digest, machine: process::machine(), stamp })
    }
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Binary({} bytes, {})", self.bytes.len(), self.digest)
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
        let whole = std::fs::metadata(own_binary()).expect("there").len();
        assert!((binary.bytes.len() as u64) < whole, "{binary:?} of {whole}");
        let path = std::env::temp_dir().join(format!("garland-binary-{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o700).open(&path).expect("a new file");
        file.write_all(&binary.bytes).expect("room for it");
        drop(file);
        // Another test's child may hold the file open for writing for a moment, between its fork and
        // its exec.
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
